"""Options that several commands share, among them those that say which tables of which data."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter, validators

from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from showthrough.engine.backend import CountingBackend
    from showthrough.engine.engine import Engine
    from showthrough.formats.subject import Subject
    from showthrough.tables.run.batch import Settings

__all__ = [
    "INPUT",
    "OUTPUT",
    "SCOPE",
    "AuditOptions",
    "Effort",
    "EngineOptions",
    "Overwrite",
    "Positive",
    "PrintOptions",
    "ReadOptions",
    "RunFolder",
    "Seed",
    "TableOptions",
    "Workers",
    "WriteOptions",
    "cores",
    "listed",
    "print_notes",
    "spread",
]

INPUT = Group("What is published", sort_key=1)
SCOPE = Group("What to decide", sort_key=2)
OUTPUT = Group("Output", sort_key=3)

Positive = Annotated[int, Parameter(validator=validators.Number(gte=1))]
Workers = Annotated[
    Positive | None, Parameter(group=OUTPUT, help="Number of processes (default: all cores).")
]
RunFolder = Annotated[Path, Parameter(group=OUTPUT, help="The run folder to write.")]
Overwrite = Annotated[bool, Parameter(group=OUTPUT, help="Replace the file if it exists.")]
Effort = Annotated[
    float,
    Parameter(
        group=SCOPE,
        help="Multiply all limits on work by this factor (default: 1).",
        validator=validators.Number(gt=0),
    ),
]
Seed = Annotated[int, Parameter(group=SCOPE, help="Seed of the random walks (default: 0).")]


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class PrintOptions:
    """What all commands print, and for whom."""

    json: Annotated[bool, Parameter(help="Print one JSON object instead of text.")] = False
    quiet: Annotated[bool, Parameter(help="Print nothing; only the exit code gives the result.")] = False
    verbose: Annotated[bool, Parameter(help="Also print each step and how long it took.")] = False

    def terminal(self) -> Terminal:
        """What the command prints with."""
        if self.quiet and self.verbose:
            raise InputError("--quiet and --verbose contradict each other", remedy="leave one of them out")
        return Terminal(as_json=self.json, quiet=self.quiet, verbose=self.verbose)


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class ReadOptions(PrintOptions):
    """How files are read; :func:`showthrough.cli.main` lifts the limits."""

    no_limits: Annotated[bool, Parameter(help="Read values and compressed files of any size.")] = False


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class WriteOptions(ReadOptions):
    """How a folder of results is written."""

    overwrite: Annotated[bool, Parameter(help="Replace what this command wrote before.")] = False
    report: Annotated[
        bool, Parameter(negative="--no-report", help="Write report.html too (the default).")
    ] = True


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Where work runs that needs nothing but temporary files."""

    engine: Annotated[
        str,
        Parameter(
            group=OUTPUT,
            help="local (the default), or a Spark master (spark://host:7077), worthwhile for work that "
            "takes one machine many minutes.",
        ),
    ] = "local"
    scratch: Annotated[
        Path | None,
        Parameter(
            group=OUTPUT,
            help="The folder for private temporary files (default: SHOWTHROUGH_SCRATCH, or the system's "
            "temporary folder). The machines of a cluster must share it.",
        ),
    ] = None

    def open(self, terminal: Terminal, *, workers: int = 1) -> AbstractContextManager[Engine]:
        """The engine, until the end of a ``with`` block; on this machine with this many processes."""
        from showthrough.engine.engine import open_engine

        return open_engine(self.engine, workers=workers, notice=terminal.note, scratch=self.scratch)

    def open_backend(self, terminal: Terminal) -> AbstractContextManager[CountingBackend]:
        """What counts records there, until the end of a ``with`` block."""
        from showthrough.engine.backend import open_backend

        return open_backend(self.engine, notice=terminal.note, scratch=self.scratch)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AuditOptions(WriteOptions):
    """What an audit decides, where it runs, and what it writes."""

    min_columns: Annotated[
        Positive, Parameter(group=SCOPE, help="Smallest number of columns in a claim (default: 1).")
    ] = 1
    max_columns: Annotated[
        Positive | None, Parameter(group=SCOPE, help="Largest number of columns in a claim.")
    ] = None
    multiplicity: Annotated[
        str | None, Parameter(group=SCOPE, help="Only claims about this many records: 1, or 1-3.")
    ] = None
    effort: Effort = 1.0
    seed: Seed = 0
    claims: Annotated[
        Literal["proved", "all"],
        Parameter(group=OUTPUT, help="Write proved and undecided claims (the default), or all."),
    ] = "proved"
    findings: Annotated[
        bool,
        Parameter(
            group=SCOPE,
            negative="--no-findings",
            help="Combine claims into findings (the default); with --no-findings, only decide the claims.",
        ),
    ] = True
    variability: Annotated[
        bool,
        Parameter(
            group=SCOPE,
            negative="",
            help="Also find in how many records two datasets with these tables can differ.",
        ),
    ] = False
    workers: Workers = None
    engine: Annotated[
        str,
        Parameter(
            group=OUTPUT,
            help="local (the default), or a Spark master (spark://host:7077), worthwhile for work that "
            "takes one machine many minutes.",
        ),
    ] = "local"

    @contextmanager
    def cluster(self) -> Generator[Engine | None]:
        """The cluster, which reads large inputs itself; None if the work is done on this machine."""
        if self.engine == "local":
            yield None
            return
        from showthrough.engine.engine import open_engine

        with open_engine(self.engine, workers=1, notice=self.terminal().note) as cluster:
            yield cluster

    def settings(self, *, keep_going: bool, absent: bool = False, gaps: bool = False) -> Settings:
        """The part that determines the result, as the library takes it."""
        from showthrough.tables.audit import Scope
        from showthrough.tables.run.batch import Settings

        scope = Scope(self.min_columns, self.max_columns, spread(self.multiplicity), absent, gaps)
        refuted = self.claims == "all"
        return Settings(
            scope, self.effort, self.seed, refuted, keep_going, self.findings, variability=self.variability
        )


def spread(text: str | None) -> tuple[int, int] | None:
    """A number or a range of numbers, as written by a user.

    >>> spread("1-3"), spread("2"), spread(None)
    ((1, 3), (2, 2), None)
    """
    if text is None:
        return None
    match = re.fullmatch(r"\s*([0-9]{1,9})(?:\s*[-–]\s*([0-9]{1,9}))?\s*", text)
    if match is None:
        raise InputError("invalid --multiplicity", found=text, remedy="write 1, or a range such as 1-3")
    return int(match[1]), int(match[2] or match[1])


def cores() -> int:
    """How many processors may be used."""
    from showthrough.engine.processes import n_processors

    return n_processors()


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True)
class TableOptions:
    """Which tables, of which data; shared by several commands."""

    tables: Annotated[
        tuple[str, ...], Parameter(help='A table to count, such as "age*sex". Repeatable.')
    ] = ()
    totals: Annotated[
        bool, Parameter(help="Also count the totals of these tables, at all higher levels.")
    ] = False
    release: Annotated[
        tuple[Path, ...], Parameter(help="A release.toml that describes tables. Repeatable.")
    ] = ()
    counts: Annotated[
        Path | None,
        Parameter(help="Published counts, instead of DATA, where it is not clear which kind of file it is."),
    ] = None
    schema: Annotated[Path | None, Parameter(help="A schema.toml: attributes, values, rules.")] = None
    columns: Annotated[str | None, Parameter(help="Columns to include in an inferred schema: a,b,c.")] = None
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
