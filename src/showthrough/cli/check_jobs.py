"""Check promises, say what was found, and write it to a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from showthrough.cli.check_found import (
    CheckResult,
    published_buckets,
    published_groups,
    published_tables,
    raw_diversity,
    raw_groups,
    raw_rho,
)
from showthrough.cli.check_said import say_check
from showthrough.cli.methods import read_diversity, read_reconstruction, read_retention, read_rho
from showthrough.cli.options import Writing
from showthrough.cli.promises import Columns, Promises
from showthrough.cli.report_jobs import page_maker
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.files import file_digest, write_json
from showthrough.folders import REPORT, Description, result_folder
from showthrough.frames import Source
from showthrough.locks import hold
from showthrough.microdata.count import PublishedFile
from showthrough.microdata.groups import Groups
from showthrough.microdata.manifest import MANIFEST
from showthrough.microdata.parameters import check_domain
from showthrough.microdata.promises import LDiversity, RhoPrivacy
from showthrough.microdata.publication import Publication
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy

__all__ = [
    "check_promises",
]

KIND = "check"
PACKAGES = ("showthrough", "numpy", "scipy", "pyarrow", "duckdb")


def check_promises(
    data: Path,
    columns: Columns,
    promises: Promises,
    how: Writing,
    *,
    keep_values: bool,
    worst: int,
    out: Path | None,
) -> int:
    """Check every promise given, say and write what was found, and return the exit code."""
    with nullcontext() if out is None else hold(out):
        return _check_promises(data, columns, promises, how, keep_values=keep_values, worst=worst, out=out)


def _check_promises(
    data: Path,
    columns: Columns,
    promises: Promises,
    how: Writing,
    *,
    keep_values: bool,
    worst: int,
    out: Path | None,
) -> int:
    terminal = how.terminal()
    published = (data / MANIFEST).is_file()
    opened = None if published else Source.of(data)
    checks = (
        _of_publication(data, columns, promises, worst=worst)
        if opened is None
        else _of_records(opened, columns, promises, terminal, worst=worst, keep_values=keep_values)
    )
    place, page = nullcontext(), None
    if out is not None:
        parameters = {**_parameters(columns, promises), "keep_values": keep_values}
        what = Description(KIND, parameters, _inputs(data, opened), PACKAGES)
        page = page_maker(out, terminal, wanted=how.report)
        place = result_folder(out, what, overwrite=how.overwrite, page=page)
    with place as draft:
        found = list[CheckResult]()
        for check in checks:
            with terminal.step("checking"):
                found.append(check())
            say_check(found[-1].facts, terminal)
        codes = {one.code for one in found}
        code = 1 if 1 in codes else max(codes)
        content = {
            "published": published,
            "checks": [one.facts for one in found],
            "exit_code": code,
        }
        if draft is not None:
            _write(draft.path, found, content)
    if terminal.as_json:
        written = None if out is None else str(out)
        terminal.json({**content, "folder": written, "report": str(out / REPORT) if out and page else None})
    if out is not None:
        files = ["checks.json", *(f"{name}.parquet" for one in found for name in one.tables), "run.json"]
        terminal.say()
        terminal.say(f"Written to {out}/: {', '.join([*files, *([REPORT] if page else [])])}.")
    return code


def _of_publication(
    data: Path, columns: Columns, promises: Promises, *, worst: int
) -> Iterator[Callable[[], CheckResult]]:
    """The checks of a publication, each done when it is called."""
    rho, reconstruction, diversity = _promised(promises)
    if promises.retention is not None or columns.sensitive or columns.public is not None:
        raise InputError(
            "a publication says itself what is sensitive and what was kept",
            file=str(data),
            remedy="leave --sensitive, --public and --retention out",
        )
    publication = Publication.open(data)
    if reconstruction:
        yield lambda: published_groups(publication, reconstruction, worst=worst)
    if rho:
        yield lambda: published_tables(publication, rho)
    if diversity:
        yield lambda: published_buckets(publication, diversity)


def _of_records(
    data: Source, columns: Columns, promises: Promises, terminal: Terminal, *, worst: int, keep_values: bool
) -> Iterator[Callable[[], CheckResult]]:
    """The checks of records, each done when it is called."""
    rho, reconstruction, diversity = _promised(promises)
    kept = promises.retention
    with terminal.step("counting groups"):
        groups = Groups.read(data, sensitive=columns.sensitive, public=columns.public_names)
    check_domain(len(groups.totals))
    if reconstruction:
        yield lambda: raw_groups(groups, reconstruction, kept, worst=worst, keep_values=keep_values)
    if rho:
        yield lambda: raw_rho(groups, rho, kept)
    if diversity:
        yield lambda: raw_diversity(groups, diversity)


def _promised(
    promises: Promises,
) -> tuple[RhoPrivacy | None, ReconstructionPrivacy | None, LDiversity | None]:
    given = read_rho(promises), read_reconstruction(promises), read_diversity(promises)
    read_retention(promises)
    if not any(given):
        raise InputError(
            "there is nothing to check",
            remedy="name a promise with --reconstruction 0.3:0.3, --rho 0.1:0.5 or --diversity 4",
        )
    return given


def _parameters(columns: Columns, promises: Promises) -> dict[str, Any]:
    return {
        "sensitive": list(columns.sensitive),
        "public": columns.public_names,
        "rho": promises.rho,
        "reconstruction": promises.reconstruction,
        "diversity": promises.diversity,
        "retention": promises.retention,
    }


def _inputs(data: Path, opened: Source | None) -> dict[str, str]:
    """The files that are read, with their hashes."""
    if opened is not None:
        return opened.digests()
    rows = PublishedFile(Publication.open(data).data, ()).source
    return {MANIFEST: file_digest(data / MANIFEST), **rows.digests()}


def _write(folder: Path, found: Sequence[CheckResult], content: dict[str, Any]) -> None:
    write_json(folder / "checks.json", content)
    for one in found:
        for name, table in one.tables.items():
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
