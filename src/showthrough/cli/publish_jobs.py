"""Publish records, and count in a publication."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from showthrough.cli.options import Writing
from showthrough.cli.promises import Columns
from showthrough.cli.report_jobs import page_maker
from showthrough.cli.terminal import Terminal
from showthrough.engine.backend import CountingBackend, Tally
from showthrough.engine.select import open_backend
from showthrough.errors import InputError
from showthrough.estimate import Estimate
from showthrough.folders import REPORT, Description
from showthrough.frames import Source
from showthrough.frames.columns import texts
from showthrough.locks import hold
from showthrough.microdata.manifest import KIND, MANIFEST
from showthrough.microdata.method import Plan
from showthrough.microdata.publication import Publication
from showthrough.microdata.publish import publish
from showthrough.microdata.utility import Comparable
from showthrough.microdata.write import FileFormat
from showthrough.scratch import private_scratch
from showthrough.selection import Selection

__all__ = [
    "count_published",
    "publish_records",
]

#: Seeds below this can be found by trying them all.
GUESSABLE = 2**64


@dataclass(frozen=True)
class _Noting:
    """A method that notes how many records it was given."""

    method: Comparable
    records: list[int] = field(default_factory=list[int])

    @property
    def name(self) -> str:
        return self.method.name

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        self.records.append(tally.records)
        return self.method.plan(tally, seed=seed)


def publish_records(
    data: Path,
    out: Path,
    columns: Columns,
    how: Writing,
    *,
    method: Comparable,
    seed: int | None,
    file_format: FileFormat,
    engine: str,
    scratch: Path | None = None,
) -> int:
    """Write a publication with its page and say what it is."""
    with hold(out) as lock:
        terminal = how.terminal()
        if seed is not None and 0 <= seed < GUESSABLE:
            terminal.note(
                "a seed this small can be found by trying, and who finds it can undo the perturbation; "
                "leave --seed out to have one drawn and forgotten"
            )
        # The page is as public as the folder: it is made from what the folder holds, and nothing else.
        page = page_maker(out, terminal, wanted=how.report)
        noting = _Noting(method)
        opened = Source.of(data)
        plan = _plan(opened, columns, noting, file_format, engine, page=page is not None)
        with open_backend(engine) as plane:
            if seed is None and lock.finished(plan):  # drawn again, the two together would say more
                with terminal.step("counting"):
                    _count_records(opened, columns, plane, noting, scratch)
            else:
                with terminal.step("publishing"), terminal.progress("publishing", None) as progress:
                    publish(
                        opened,
                        out,
                        sensitive=columns.sensitive,
                        method=noting,
                        # The seed is drawn here and kept nowhere.
                        seed=secrets.randbits(128) if seed is None else seed,
                        public=columns.public_names,
                        plane=plane,
                        file_format=file_format,
                        progress=progress,
                        overwrite=how.overwrite,
                        page=page,
                        scratch=scratch,
                        plan=plan,
                    )
        _say_publication(Publication.open(out), noting.records[0], terminal, page=REPORT if page else None)
    return 0


def _plan(
    data: Source, columns: Columns, method: _Noting, file_format: str, engine: str, *, page: bool
) -> str:
    """What tells the same command again from another one, but for the seed.

    Files are known by their size and time: a publication has no hash of them, not even for a while.
    """
    found = [(file, Path(file).stat()) for file in data.files]
    parameters = {
        "method": repr(method.method),
        "sensitive": list(columns.sensitive),
        "public": columns.public_names,
        "format": file_format,
        "engine": engine,
    }
    inputs = {file: f"{known.st_size} {known.st_mtime_ns}" for file, known in found}
    return Description(KIND, parameters, inputs, ("showthrough",)).plan(page=page)


def _count_records(
    data: Source, columns: Columns, plane: CountingBackend, noting: _Noting, scratch: Path | None
) -> None:
    """Note how many records there are without publishing them."""
    public, sensitive = columns.public_names, columns.sensitive
    with (
        private_scratch(scratch) as files,
        plane.tally(data, public=public, sensitive=sensitive, scratch=files) as tally,
    ):
        noting.records.append(tally.records)


def _say_publication(found: Publication, given: int, terminal: Terminal, *, page: str | None) -> None:
    said = found.manifest
    missing = given - said.records
    facts: dict[str, Any] = {
        "folder": str(found.folder),
        "method": said.method,
        "records": said.records,
        "suppressed": missing,
        "sensitive": list(said.sensitive),
        "public": list(said.public),
        "n_values": len(said.domain),
        "retention": [table.retention for table in said.tables],
        "promise": said.promise,
        "report": None if page is None else str(found.folder / page),
    }
    if terminal.as_json:
        terminal.json(facts)
    values = f"{len(said.domain):,} values of {', '.join(said.sensitive)}"
    terminal.say(f"Published {said.records:,} records, {said.method}, {values}.", style="bold")
    if missing:
        terminal.say(f"{missing:,} records were left out: their values are too frequent for the buckets.")
    for number, table in enumerate(said.tables, 1):
        name = f"Sub-table {number}: a" if len(said.tables) > 1 else "A"
        terminal.say(
            f"{name} record keeps its value with probability {table.retention:.4g}, or draws one of "
            f"{len(table.values):,}."
        )
    if tiny := found.tiny_tables():
        terminal.note(f"{tiny}; --method uniform avoids it")
    for name, labels in said.merged.items():
        before = sum(len(members) for members in labels.values())
        terminal.say(f"{name}: {before:,} values were merged to {len(labels):,}.")
    terminal.say()
    terminal.say(f"Written to {found.folder}/ and counted again: {found.data.name}, {MANIFEST}.")
    if page:
        terminal.say(f"For its readers, from the published files alone: {page}.")
    if said.public:
        terminal.line(f"Count in it with: showthrough count {found.folder} --by {said.public[0]}")


def count_published(
    folder: Path,
    terminal: Terminal,
    *,
    where: str,
    by: list[str],
    consistent: bool,
    level: float,
) -> int:
    """Estimate how many records match, with error bars."""
    Estimate(0.0, 0.0).interval(level)
    publication = Publication.open(folder)
    try:
        asked = Selection.parse(where)
        answered = publication.published(asked)
    except InputError as error:
        raise error.at(file="--where") from None
    if answered != asked:
        terminal.note(f"public values were merged; answered for {answered if len(answered) else 'everybody'}")
    if by:
        return _count_by(publication, asked, terminal, by=by, consistent=consistent, level=level)
    with terminal.step("counting"):
        found = publication.count(asked, consistent=consistent)
    low, high = found.interval(level)
    if terminal.as_json:
        terminal.json(
            {
                "where": str(answered),
                "value": found.value,
                "error": found.error,
                "low": low,
                "high": high,
                "level": level,
                "published": found.records,
            }
        )
    number = _whole(found.value)
    if found.error:
        terminal.say(
            f"About {number} records, between {_whole(low)} and {_whole(high)} ({100 * level:.4g} % sure)."
        )
    else:
        terminal.say(f"Exactly {number} records.")
    return 0


def _count_by(
    publication: Publication,
    asked: Selection,
    terminal: Terminal,
    *,
    by: list[str],
    consistent: bool,
    level: float,
) -> int:
    sensitive = publication.manifest.sensitive
    public = [name for name in by if name not in sensitive]
    with terminal.step("counting"):
        table = publication.distribution(public, where=asked, consistent=consistent, level=level)
    names, numbers = table.column_names[:-4], table.column_names[-4:]
    shown = [texts(table[name]) for name in names]
    if terminal.as_json:
        plain = [pa.chunked_array([column]) for column in shown] + [table[name] for name in numbers]
        rows = pa.table(plain, names=table.column_names).to_pylist()
        terminal.json({"where": str(asked), "level": level, "rows": rows})
    columns: list[list[Any]] = [table[name].to_pylist() for name in numbers]
    value, _, low, high = columns
    lines = [(*names, "about", f"between ({100 * level:.4g} % sure)")]
    for at in range(table.num_rows):
        between = f"{_whole(low[at])} and {_whole(high[at])}"
        lines.append((*(column[at] for column in shown), _whole(value[at]), between))
    terminal.table(lines, indent=0)
    return 0


def _whole(number: float) -> str:
    """To the next whole number, and zero without a sign.

    >>> _whole(-0.3), _whole(1234.5)
    ('0', '1,234')
    """
    return f"{number:,.0f}".replace("-0", "0", 1) if -0.5 <= number < 0 else f"{number:,.0f}"
