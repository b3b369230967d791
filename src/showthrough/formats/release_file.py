"""A release: what its TOML file describes, with the published values of every area."""

from __future__ import annotations

import os
from collections.abc import Mapping

from showthrough.errors import ReleaseError, check_type
from showthrough.files import write_text
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

__all__ = [
    "design_to_toml",
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
