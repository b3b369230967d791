"""Check a whole ledger again: the chain, every run in it, and what each adds to the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

from showthrough.engine.engine import Engine
from showthrough.errors import RunError
from showthrough.formats.ledger import LEDGER, Ledger
from showthrough.report.verify import verify
from showthrough.tables.after import COLUMNS, NEW_FINDINGS, compare_findings, is_same_audit
from showthrough.tables.earlier import EarlierRun, Following
from showthrough.tables.run.read import AreaReader, AuditRun
from showthrough.tables.run.verification import Verification
from showthrough.tables.run.verify_files import read_settings
from showthrough.tables.stored import MALFORMED, read_rows

__all__ = [
    "verify_ledger",
]


def verify_ledger(
    folder: str | Path,
    *,
    workers: int = 1,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
    page: bool = True,
) -> Verification:
    """Check every release of a ledger as :func:`verify` does, and that each comes after the one before.

    Raises
    ------
    RunError
        If there is no ledger in the folder, or it is empty.
    """
    ledger, done = Ledger.open(folder), Verification()
    if not ledger.entries:
        raise RunError("the ledger is empty", file=str(folder), remedy="add a release: audit … --ledger")
    done.problems += ledger.check()
    before: AuditRun | None = None
    for entry in ledger.entries:
        path = ledger.folder / entry.folder
        if not path.is_dir():
            before = None
            continue
        try:
            found = verify(path, workers=workers, engine=engine, progress=progress, page=page)
            run = AuditRun.open(path)
        except RunError as error:
            done.problems.append(f"{entry.folder}: {' '.join(str(error).split())}")
            before = None
            continue
        if before is not None and found.holds and _same_settings(run, before):
            found.problems += _other_findings(run, before)
            del found.open["earlier"]
        found.problems = [f"{entry.folder}: {problem}" for problem in found.problems]
        found.files = [f"{entry.folder}: {text}" for text in found.files]
        done.add(found)
        before = run
    done.files.append(f"whether there were releases after the last one in {LEDGER}")
    return done


def _same_settings(run: AuditRun, before: AuditRun) -> bool:
    """Whether the run before decided, about the same records, all that this one did."""
    settings = read_settings(run.manifest)
    if settings is None:
        return False
    earlier = EarlierRun.open(before.folder)
    plan = Following(run.layout, run.layout, (earlier,), ((),))
    return is_same_audit(plan, settings)


def _other_findings(run: AuditRun, before: AuditRun) -> Iterator[str]:
    """Whether other findings are new than the run says, given the run before."""
    try:
        size, old = len(before.layout.names), AreaReader(before, "counts")
        new = AreaReader(run, "counts")
        while (area := old.next_area()) is not None:
            while (mine := new.next_area()) is not None and mine < area:
                new.take(mine)
            (row, *_), ours = old.take(area).to_pylist(), new.take(area).to_pylist()
            if not ours or (row["low"], row["high"]) != (ours[0]["low"][:size], ours[0]["high"][:size]):
                yield f"counts.parquet: other counts of earlier tables than in the release before: {area}"
                break
        cells = [(cell.name, cell.terms) for table in before.layout.tables for cell in table.cells]
        ours = [(cell.name, cell.terms) for table in run.layout.tables for cell in table.cells]
        if ours[:size] != cells:
            yield "release.json: other earlier tables than in the release before"
        stored = (row for part in read_rows(run.folder / NEW_FINDINGS, COLUMNS) for row in part.to_pylist())
        again = (row for part in compare_findings(run, before, [before]) for row in part.to_pylist())
        if any(one != other for one, other in zip_longest(stored, again)):
            yield f"{NEW_FINDINGS}: other findings are new, given the release before"
    except (RunError, OSError, *MALFORMED) as error:
        yield f"{NEW_FINDINGS}: it cannot be compared: {' '.join(str(error).split())}"
