"""The command ``check``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from showthrough.cli.app import app
from showthrough.cli.calls import CallError
from showthrough.cli.options import OUTPUT, EngineOptions, Positive, WriteOptions
from showthrough.cli.promises import (
    PUBLISHING,
    RECORDS,
    ColumnOptions,
    Merge,
    PromiseOptions,
    print_written,
)
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError

if TYPE_CHECKING:
    from showthrough.engine.backend import CountingBackend
    from showthrough.folders import Description
    from showthrough.frames import Source
    from showthrough.microdata.check import CheckResult
    from showthrough.microdata.check_summary import CheckSummary
    from showthrough.microdata.columns import Columns
    from showthrough.microdata.groups import Groups
    from showthrough.microdata.promises import Promise
    from showthrough.microdata.publication import Publication

__all__ = [
    "check",
]

PACKAGES = ("showthrough", "numpy", "scipy", "pyarrow", "duckdb")

CHECK_HELP = """Examples:

  showthrough check people.parquet --sensitive disease \\
      --reconstruction 0.3:0.3 --retention 0.5
  showthrough check public/ --reconstruction 0.3:0.3 --out checked/
  showthrough check public/ older/ --rho 0.1:0.5
  showthrough check public/ --rho 0.1:0.5 --truth people.parquet

Exit codes: 0 the promise holds, 1 it is broken, 2 bad input,
3 cannot be decided from the publication alone."""


@app.command(group=PUBLISHING, help_epilogue=CHECK_HELP)
def check(
    data: Annotated[
        Path, Parameter(group=RECORDS, help="Records, as for publish, or the folder of a publication.")
    ],
    second: Annotated[
        Path | None,
        Parameter(
            group=RECORDS,
            help="Another publication of the same people, to check what both give away together (with "
            "--rho).",
        ),
    ] = None,
    /,
    *,
    columns: ColumnOptions = ColumnOptions(),
    promises: PromiseOptions = PromiseOptions(),
    merge: Merge = "conditional",
    truth: Annotated[
        Path | None,
        Parameter(
            group=RECORDS,
            help="The records that the publication was made from: --rho is then checked exactly.",
        ),
    ] = None,
    weight: Annotated[
        str | None,
        Parameter(
            group=RECORDS, help="A public column of weights: with --rho, each record counts this many times."
        ),
    ] = None,
    worst: Annotated[
        Positive, Parameter(group=OUTPUT, help="How many of the worst groups to show (default: 10).")
    ] = 10,
    out: Annotated[
        Path | None, Parameter(group=OUTPUT, help="A folder for all numbers, group by group, and a page.")
    ] = None,
    where: EngineOptions = EngineOptions(),
    writing: WriteOptions = WriteOptions(),
) -> int:
    """Check whether a promise holds, and for which groups of people it is broken."""
    from showthrough.frames import Source
    from showthrough.locks import hold
    from showthrough.microdata.check import is_publication
    from showthrough.microdata.publication import Publication

    terminal, wanted = writing.terminal(), promises.read()
    if not wanted:
        raise CallError(
            "no promise to check",
            remedy="give --reconstruction 0.3:0.3, --rho 0.1:0.5 or --diversity 4",
            options={"--rho": "0.1:0.5"},
        )
    named = columns.read()
    asked = _Checking(columns, promises, wanted, merge, truth, weight, worst)
    if second is not None:
        asked.refuse_beside_two(out)
        with where.open_backend(terminal) as backend:
            return _check_two(data, second, wanted, terminal, backend)
    with nullcontext() if out is None else hold(out), where.open_backend(terminal) as backend:
        subject = Publication.open(data, engine=backend) if is_publication(data) else Source.of(data)
        return asked.check(subject, named, out, writing, terminal, backend)


@dataclass(frozen=True)
class _Checking:
    """What is checked, and how."""

    columns: ColumnOptions
    promises: PromiseOptions
    wanted: Sequence[Promise]
    merge: Merge
    truth: Path | None
    weight: str | None
    worst: int

    def refuse_beside_two(self, out: Path | None) -> None:
        """Raise if something was given that two publications are not checked with."""
        if (
            out is not None
            or self.truth is not None
            or self.weight is not None
            or self.columns != ColumnOptions()
            or self.promises.retention is not None
        ):
            raise InputError(
                "two publications are checked without these options, and nothing is written",
                remedy="leave out --out, --truth, --retention and options for columns",
            )

    def check(
        self,
        subject: Publication | Source,
        named: Columns,
        out: Path | None,
        writing: WriteOptions,
        terminal: Terminal,
        backend: CountingBackend,
    ) -> int:
        """Check all promises, print and write what was found; the exit code."""
        from showthrough.cli.folder import page_maker
        from showthrough.folders import check_place
        from showthrough.microdata.check import checks_to_plain, write_checks
        from showthrough.microdata.publication import Publication

        published, what, page = isinstance(subject, Publication), None, None
        if out is not None:
            page = page_maker(out, terminal, wanted=writing.report)
            what = self._describe(subject, named)
            check_place(out, what, overwrite=writing.overwrite, page=page)
        found = list(self._each(subject, named, terminal, backend))
        content = checks_to_plain(found, published=published)
        files = list[str]()
        if out is not None and what is not None:
            files = write_checks(
                found, out, what, published=published, overwrite=writing.overwrite, page=page
            )
        print_written(terminal, content, out, files, has_page=page is not None)
        return content["exit_code"]

    def _describe(self, subject: Publication | Source, named: Columns) -> Description:
        """What determines the content of the folder."""
        from showthrough.folders import Description
        from showthrough.frames import Source

        parameters = {**named.to_plain(), **_parameters(self.promises), "merge": self.merge}
        parameters |= {} if self.weight is None else {"weight": self.weight}
        inputs = {**subject.digests(), **({} if self.truth is None else Source.of(self.truth).digests())}
        return Description("check", parameters, inputs, PACKAGES)

    def _each(
        self, subject: Publication | Source, named: Columns, terminal: Terminal, backend: CountingBackend
    ) -> Iterator[CheckResult]:
        """The checks, each printed as it is made."""
        from showthrough.frames import Source
        from showthrough.microdata.check import check as check_promise
        from showthrough.microdata.weights import check_weights

        given: Publication | Groups
        if isinstance(subject, Source):
            if self.weight is not None:
                check_weights(subject, self.weight)
            with terminal.step("counting groups"):
                given = named.read(subject, engine=backend)
        else:
            given = subject
        for promise in self.wanted:
            with terminal.step("checking"):
                found = check_promise(
                    given,
                    promise,
                    sensitive=named.sensitive,
                    public=named.public,
                    drop=named.drop,
                    bins=dict(named.bins),
                    retention=self.promises.retention,
                    merging=self.merge,
                    worst=self.worst,
                    truth=self.truth,
                    weight=self.weight,
                    engine=backend,
                )
            _print_summary(found.summary, terminal)
            yield found


def _check_two(
    first: Path, second: Path, wanted: Sequence[Promise], terminal: Terminal, backend: CountingBackend
) -> int:
    """What two publications give away together."""
    from showthrough.microdata.check import EXIT_CODES
    from showthrough.microdata.promises import RhoPrivacy
    from showthrough.microdata.publication import Publication
    from showthrough.microdata.together import check_together

    if len(wanted) != 1 or not isinstance(wanted[0], RhoPrivacy):
        raise InputError("two publications are checked for one promise", remedy="give --rho 0.1:0.5 alone")
    with terminal.step("checking"):
        one, other = (Publication.open(folder, engine=backend) for folder in (first, second))
        found = check_together(one, other, wanted[0])
    exit_code = EXIT_CODES[found.verdict]
    if terminal.as_json:
        terminal.json({"published": True, "checks": [found.to_plain()], "exit_code": exit_code})
    terminal.say(found.promised, style="bold")
    for line in (found.headline, *found.notes):
        terminal.say(line)
    terminal.say()
    terminal.table(found.rows())
    return exit_code


def _parameters(promises: PromiseOptions) -> dict[str, Any]:
    return {
        "rho": promises.rho[0] if promises.rho else None,
        **({"known_totals": True} if promises.known_totals else {}),
        **({"sets": list(promises.sets)} if promises.sets else {}),
        "reconstruction": promises.reconstruction,
        "diversity": promises.diversity,
        "retention": promises.retention,
    }


def _print_summary(found: CheckSummary, terminal: Terminal) -> None:
    """One check: the promise, what was found, and the worst."""
    from showthrough.microdata.check_summary import (
        BeliefSummary,
        GroupsSummary,
        SubTableBelief,
        SubTablesSummary,
    )

    if isinstance(found, GroupsSummary):
        for name, (before, after) in found.merged.items():
            terminal.say(f"{name}: {before:,} values are merged into {after:,}.")
    terminal.say(found.promised, style="bold")
    terminal.say(found.headline)
    for note in found.notes:
        terminal.say(note)
    if isinstance(found, GroupsSummary) and found.worst:
        terminal.say()
        terminal.say(
            "The worst groups, by how far they exceed s_g, the largest size the paper's bound allows:"
        )
        terminal.table(found.worst_rows())
    if isinstance(found, BeliefSummary | SubTablesSummary) and found.people and found.people.worst:
        terminal.say()
        terminal.say("The worst groups, by how sure a reader becomes:")
        terminal.table(found.people.worst_rows())
    if isinstance(found, SubTablesSummary):
        terminal.say()
        terminal.say("For readers who do not look at the public values (estimated):")
        rows = [row.cells(at) for at, row in enumerate(found.tables, 1)]
        terminal.table([SubTableBelief.HEADS, *rows])
