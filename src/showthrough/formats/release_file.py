"""A release: what its TOML file describes, with the published values of every area.

A run of noisy counts keeps what they prove, not the values; its release file is found by its hash.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from showthrough.errors import InputError, ReleaseError, check_type
from showthrough.files import file_digest, write_text
from showthrough.formats.counts_file import read_counts
from showthrough.formats.design import read_design
from showthrough.formats.noise_file import noise_to_toml
from showthrough.formats.schema_file import schema_to_toml
from showthrough.formats.toml import counted_as, key, quoted
from showthrough.notation import Rounding
from showthrough.perturbation import Perturbation
from showthrough.release import Layout, Table
from showthrough.releases import Releases
from showthrough.schema import Schema
from showthrough.tables.run.read import AuditRun

__all__ = [
    "check_same_inputs",
    "design_to_toml",
    "noisy_release",
    "read_release",
    "table_to_toml",
    "write_release",
]


def read_release(
    path: str | os.PathLike[str],
    counts: object = None,
    *,
    schema: Schema | str | os.PathLike[str] | None = None,
    by: str | None = None,
) -> Releases:
    """Read a release: what a TOML file describes, with the published values of every area.

    Parameters
    ----------
    path
        The release file.
    counts
        The counts: a path, an Arrow table, or a pandas or polars data frame; without it the file
        that the release file names.
    schema
        A schema, or the path of a schema file, that replaces the one in the release file.
    by
        The column of the counts that names the area.

    Returns
    -------
    Releases
        One release per area.

    Raises
    ------
    ReleaseError
        If a file cannot be read or does not fit the tables; the message names file, row and column.
    """
    design = read_design(path, schema)
    if design.within is not None and by is None:
        raise ReleaseError(
            "the release is about nested areas, which are not one release each",
            file=str(path),
            found=f"area = [{design.within!r}, {design.area!r}]",
            remedy="audit the file with showthrough audit, or name one column of areas with by",
        )
    source = design.counts if counts is None else counts
    if source is None:
        raise ReleaseError(
            "the release has no counts",
            file=str(path),
            remedy='add counts = "counts.csv" to the file, or pass a counts file',
        )
    return read_counts(source, design, by=by)


def write_release(
    layout: Layout,
    path: str | os.PathLike[str],
    *,
    counts: str | None = None,
    rounding: Mapping[str, Rounding] | None = None,
    noise: Mapping[str, Perturbation] | None = None,
) -> None:
    """Write a release file (TOML): a schema and tables, cell by cell.

    Parameters
    ----------
    layout
        The schema and the tables.
    path
        The file to write; an existing file is replaced.
    counts
        The name of the counts file, relative to the release file.
    rounding
        Table → how its counts are rounded.
    noise
        Table → the noise that its counts are published with.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    write_text(path, design_to_toml(layout, counts=counts, rounding=rounding, noise=noise))


def design_to_toml(
    layout: Layout,
    *,
    counts: str | None = None,
    rounding: Mapping[str, Rounding] | None = None,
    noise: Mapping[str, Perturbation] | None = None,
) -> str:
    """A layout as TOML text, cell by cell and with its schema, so that it reads back equal.

    Parameters
    ----------
    layout
        The schema and the tables.
    counts
        The name of the counts file, relative to the release file.
    rounding
        Table → how its counts are rounded.
    noise
        Table → the noise that its counts are published with.

    Returns
    -------
    str
        The content of a release file.

    Examples
    --------
    >>> from showthrough.release import make_table
    >>> schema = Schema.of({"sex": ["f", "m"]})
    >>> print(design_to_toml(Layout(schema, (make_table(schema, "sex"),))))
    record = "record"
    <BLANKLINE>
    [attributes.sex]
    values = ["f", "m"]
    <BLANKLINE>
    [[tables]]
    name = "sex"
    [tables.cells]
    "sex=f" = { sex = ["f"] }
    "sex=m" = { sex = ["m"] }
    <BLANKLINE>
    """
    check_type(layout, Layout, name="layout", remedy="a release has one: release.layout")
    head = f"counts = {quoted(counts)}\n" if counts else ""
    known, noisy = rounding or {}, noise or {}
    tables = "".join(
        f"\n{table_to_toml(table, known.get(table.name), noisy.get(table.name))}" for table in layout.tables
    )
    return head + schema_to_toml(layout.schema) + tables


def table_to_toml(
    table: Table,
    rounding: Rounding | None = None,
    noise: Perturbation | None = None,
) -> str:
    """A table of a release file, cell by cell."""
    lines = ["[[tables]]", f"name = {quoted(table.name)}"]
    if table.label:
        lines.append(f"label = {quoted(table.label)}")
    if table.publisher:
        lines.append(f"publisher = {quoted(table.publisher)}")
    if rounding is not None:
        lines.append(f"rounding = {{ base = {rounding.base}, method = {quoted(rounding.method)} }}")
    if noise is not None:
        lines.append(f"noise = {noise_to_toml(noise)}")
    lines.append("[tables.cells]")
    lines += [f"{key(cell.name)} = {counted_as(cell)}" for cell in table.cells]
    return "\n".join(lines) + "\n"


def noisy_release(run: AuditRun, given: Sequence[Path] = ()) -> Path:
    """The release file of a run of noisy counts: the one given, or one beside the run or in this folder.

    It is told by its hash, which the run has.

    Raises
    ------
    InputError
        If the file given is another one, or if none is found.
    """
    known = set(run.manifest["inputs"].values())
    for path in given or _nearby(run):
        if path.is_file() and file_digest(path) in known and _has_tables(path):
            return path
    law, remedy = run.noise, f"name the release file: showthrough likely {run.folder} --release release.toml"
    if given:
        raise InputError(
            "not the release file that was audited, or it was changed since",
            file=str(given[0]),
            remedy="give the one that was, or audit this one and give the new run",
        )
    raise InputError(
        "the counts of this run were published with random noise, a run keeps only their bounds, and the "
        "release file that was audited is neither beside the run nor in this folder",
        file=str(run.folder),
        found=law,
        remedy=remedy,
    )


def _nearby(run: AuditRun) -> Iterator[Path]:
    for folder in dict.fromkeys((run.folder.resolve().parent, Path.cwd())):
        for name in run.manifest["inputs"]:
            if name.endswith(".toml"):
                yield folder / name


def _has_tables(path: Path) -> bool:
    """Whether it describes tables, as a schema does not."""
    return "tables" in tomllib.loads(path.read_text("utf-8"))


def check_same_inputs(run: AuditRun, inputs: dict[str, str], release: Path) -> None:
    """Raise unless what was read with a release file is what the run was made of."""
    before = set(run.manifest["inputs"].values())
    for name, digest in inputs.items():
        if digest not in before:
            raise InputError(
                "a file that the release names was changed since it was audited",
                file=str(release),
                found=name,
                remedy="audit the release again and give the new run, or give the release file itself",
            )
