"""The options that say which tables, of which data; shared by the commands about tables of counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from showthrough.cli.options import INPUT
from showthrough.cli.terminal import Terminal

if TYPE_CHECKING:
    from showthrough.engine.engine import Engine
    from showthrough.formats.subject import Subject

__all__ = [
    "TableOptions",
    "listed",
    "print_notes",
]


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True)
class TableOptions:
    """Which tables, of which data; shared by several commands."""

    tables: Annotated[tuple[str, ...], Parameter(help='A table to count: "age*sex". Repeatable.')] = ()
    totals: Annotated[
        bool, Parameter(help="Count the totals of these tables too, with all levels above.")
    ] = False
    release: Annotated[
        tuple[Path, ...], Parameter(help="A release.toml that describes tables. Repeatable.")
    ] = ()
    counts: Annotated[Path | None, Parameter(help="Published counts, where DATA could be either.")] = None
    schema: Annotated[Path | None, Parameter(help="A schema.toml: attributes, values, rules.")] = None
    columns: Annotated[str | None, Parameter(help="Columns to take into an inferred schema: a,b,c.")] = None
    by: Annotated[str | None, Parameter(help="The column that names the area.")] = None
    records: Annotated[
        bool, Parameter(help="Every row is a record, even if the file looks like published counts.")
    ] = False

    def read(
        self,
        data: Path | None,
        *,
        protected: bool = False,
        streaming: bool = False,
        keep_going: bool = False,
        engine: Engine | None = None,
    ) -> Subject:
        """The areas and releases described."""
        from showthrough.formats.read_subject import read_subject

        return read_subject(
            data,
            tables=self.tables,
            totals=self.totals,
            releases=self.release,
            counts=self.counts,
            schema=self.schema,
            columns=listed(self.columns),
            by=self.by,
            records=self.records,
            protected=protected,
            streaming=streaming,
            keep_going=keep_going,
            engine=engine,
        )


def print_notes(subject: Subject, terminal: Terminal) -> None:
    """Print how the files were read."""
    for note in subject.notes:
        terminal.note(note)


def listed(text: str | None) -> list[str] | None:
    """The parts of a list that is written with commas."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
