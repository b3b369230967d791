"""What ``audit`` and ``protect`` do after earlier releases: read both, compare, and print what is new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from showthrough.cli.calls import CallError
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, RunError

if TYPE_CHECKING:
    from showthrough.cli.options import AuditOptions, TableOptions
    from showthrough.engine.engine import Engine
    from showthrough.folders import PageMaker
    from showthrough.formats.follow import SubjectAfter
    from showthrough.formats.subject import Subject
    from showthrough.tables.run.batch import Settings
    from showthrough.tables.run.read import AuditRun

__all__ = [
    "audit_after",
    "code_after",
    "comparing",
    "plain_after",
    "print_after",
    "read_after_runs",
    "tables_before",
]

#: New findings that are listed.
MOST_LISTED = 5


def read_after_runs(
    source: TableOptions,
    data: Path | None,
    after: Sequence[Path],
    *,
    protected: bool = False,
    streaming: bool = False,
    keep_going: bool = False,
) -> SubjectAfter:
    """The new tables that options describe, after the runs in some folders."""
    from showthrough.formats.follow import read_following

    def read(schema: Path | None) -> Subject:
        chosen = source if schema is None else replace(source, schema=schema, columns=None)
        return chosen.read(data, protected=protected, streaming=streaming, keep_going=keep_going)

    return read_following(read, after, keep_going=keep_going)


def tables_before(subject: Subject) -> tuple[str, ...]:
    """The tables of a subject that are already out."""
    from showthrough.formats.follow import SubjectAfter

    if not isinstance(subject, SubjectAfter):
        return ()
    return tuple(name for names in subject.following.named for name in names)


def comparing(subject: SubjectAfter, settings: Settings, engine: Engine, terminal: Terminal) -> PageMaker:
    """What writes into a run folder which of its findings are new."""
    from showthrough.tables.after import deriving

    derive = deriving(subject.following, settings, engine)

    def make(draft: Path) -> None:
        with terminal.step("comparing with the earlier releases"):
            derive(draft)

    return make


def _compare(subject: Subject, settings: Settings) -> Callable[[Engine, Terminal], PageMaker] | None:
    from showthrough.formats.follow import SubjectAfter

    return partial(comparing, subject, settings) if isinstance(subject, SubjectAfter) else None


def code_after(run: AuditRun, code: int) -> int:
    """The exit code of an audit: after earlier releases 1 stands for new findings only."""
    from showthrough.tables.after import read_after
    from showthrough.tables.headline import exit_code_without

    totals = read_after(run)
    if totals is None or code != 1 or totals.new:
        return code
    return exit_code_without(run)


def print_after(run: AuditRun, terminal: Terminal) -> None:
    """Print what is new, if the run came after others."""
    from showthrough.tables.after import read_after
    from showthrough.tables.headline import telling_new

    totals = read_after(run)
    if totals is None:
        return
    terminal.say()
    terminal.say(totals.headline(run.summary), style="bold")
    for line in totals.lines():
        terminal.say(line)
    for finding in telling_new(run, MOST_LISTED):
        area = f"{finding.area}: " if finding.area else ""
        terminal.say(f"- {area}{finding.sentence} {finding.reason()}", indent=2, hang=2)
    if totals.new > MOST_LISTED:
        terminal.say(f"… and {totals.new - MOST_LISTED:,} more (after.parquet)", indent=2)


def plain_after(run: AuditRun) -> dict[str, object]:
    """What is new, for JSON; nothing if the run did not come after others."""
    from showthrough.tables.after import read_after

    totals = read_after(run)
    return {} if totals is None else {"after": {**asdict(totals), "new": totals.new}}


def audit_after(
    source: TableOptions,
    data: Path | None,
    after: Sequence[Path],
    *,
    out: Path | None,
    ledger: Path | None,
    how: AuditOptions,
    settings: Settings,
) -> int:
    """Audit new tables after earlier releases: those of some runs, or all of a ledger, which then grows."""
    from showthrough.cli.audit import audit_subject
    from showthrough.locks import hold

    if not settings.findings and (after or ledger is not None):
        raise InputError(
            "--no-findings leaves nothing to compare with earlier releases",
            remedy="leave out --no-findings: --after and --ledger report which findings are new",
        )
    if out is not None and ledger is None:
        subject = _read(source, data, after, how, settings)
        return audit_subject(subject, out, how, settings=settings, compare=_compare(subject, settings))
    if ledger is None:
        raise CallError(
            "no output folder given",
            remedy="name one: --out run/, or --ledger ledger/",
            options={"--out": "run/"},
        )
    if out is not None:
        raise InputError(
            "both --out and --ledger are given",
            found=str(out),
            remedy="leave out --out: a ledger names its own folders",
        )
    from showthrough.formats.ledger import Ledger

    with hold(ledger):
        book = Ledger.open(ledger)
        for problem in book.check(growing=True) if book.entries else ():
            raise RunError(
                f"the ledger failed its check: {problem}",
                file=str(ledger),
                remedy=f"for details, run: showthrough verify {ledger}",
            )
        before = [*after, *([] if book.last is None else [book.last])]
        place = book.next_folder(_name(source, data))
        subject = _read(source, data, before, how, settings)
        ledger.mkdir(exist_ok=True)
        compare = _compare(subject, settings)
        code = audit_subject(subject, place, replace(how, overwrite=True), settings=settings, compare=compare)
        book = book.with_run(place)
        terminal = how.terminal()
        terminal.say()
        terminal.table(book.rows())
    return code


def _read(
    source: TableOptions, data: Path | None, after: Sequence[Path], how: AuditOptions, settings: Settings
) -> Subject:
    going = settings.keep_going
    with how.terminal().step("reading"):
        if after:
            return read_after_runs(source, data, after, streaming=True, keep_going=going)
        return source.read(data, streaming=True, keep_going=going)


def _name(source: TableOptions, data: Path | None) -> str:
    """What a release is called, after its files."""
    given = [*source.release, *([] if source.counts is None else [source.counts])]
    path = data if data is not None else given[0] if given else Path("release")
    plain = path.resolve().parent if path.name == "release.toml" else path
    return plain.stem or "release"
