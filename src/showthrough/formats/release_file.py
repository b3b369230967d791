"""A release: what its TOML file describes, with the published values of every area."""

from __future__ import annotations

import os
from collections.abc import Mapping

from showthrough.errors import ReleaseError
from showthrough.files import write_text
from showthrough.formats.counts_file import read_counts
from showthrough.formats.design import read_design
from showthrough.formats.schema_file import schema_to_toml
from showthrough.formats.toml import key, quoted, table_of
from showthrough.notation import Rounding
from showthrough.release import Layout, Table
from showthrough.releases import Releases
from showthrough.schema import Schema

__all__ = [
    "design_to_toml",
    "read_release",
    "write_release",
]


def read_release(
    path: str | os.PathLike[str],
    counts: object = None,
    *,
    schema: Schema | str | os.PathLike[str] | None = None,
    by: str | None = None,
) -> Releases:
    """The release a TOML file describes, with its counts (the file's own, unless given here)."""
    design = read_design(path, schema)
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
) -> None:
    """Write the layout as a release file; ``counts`` names its counts file, relative to it."""
    write_text(path, design_to_toml(layout, counts=counts, rounding=rounding))


def design_to_toml(
    layout: Layout, *, counts: str | None = None, rounding: Mapping[str, Rounding] | None = None
) -> str:
    """The layout as TOML, cell by cell and with its schema, so that it reads back equal.

    ``rounding`` says how the counts of some tables are rounded.

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
    head = f"counts = {quoted(counts)}\n" if counts else ""
    known = rounding or {}
    tables = "".join(f"\n{_table_text(table, known.get(table.name))}" for table in layout.tables)
    return head + schema_to_toml(layout.schema) + tables


def _table_text(table: Table, rounding: Rounding | None) -> str:
    lines = ["[[tables]]", f"name = {quoted(table.name)}"]
    if table.label:
        lines.append(f"label = {quoted(table.label)}")
    if table.publisher:
        lines.append(f"publisher = {quoted(table.publisher)}")
    if rounding is not None:
        lines.append(f"rounding = {{ base = {rounding.base}, method = {quoted(rounding.method)} }}")
    lines.append("[tables.cells]")
    lines += [f"{key(cell.name)} = {table_of(cell.selection)}" for cell in table.cells]
    return "\n".join(lines) + "\n"
