"""Check a run or a ledger again: its tables, and what people read beside them.

Besides the tables, a run has a schema file, a design and a page. A ledger is a chain of runs: all of them are
checked, and what each adds to the one before.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from showthrough.engine.engine import Engine, LocalEngine, check_engine
from showthrough.errors import InputError, RunError, ShowthroughError, check_each, check_function, check_type
from showthrough.files import check_file, file_digest
from showthrough.folders import MANIFEST, REPORT
from showthrough.formats.ledger import LEDGER, Ledger
from showthrough.formats.release_file import design_to_toml
from showthrough.formats.schema_file import INFERRED, read_schema, schema_to_toml
from showthrough.tables.after import COLUMNS, NEW_FINDINGS, compare_findings, is_same_audit
from showthrough.tables.earlier import EarlierRun, Following
from showthrough.tables.run.read import AreaReader, AuditRun
from showthrough.tables.run.verification import Verification
from showthrough.tables.run.verify import verify_tables
from showthrough.tables.run.verify_files import read_settings
from showthrough.tables.stored import MALFORMED, read_rows

if TYPE_CHECKING:
    from showthrough.tables.coverage import Background

__all__ = [
    "verify",
    "verify_ledger",
]

SCHEMA, DESIGN = "schema.toml", "release.toml"

#: Where a page says what made it.
GENERATOR = re.compile(r'<meta name="generator" content="([^"]*)">')

#: A block of data in a page, which is packed.
BLOCK = re.compile(r'(<script type="application/octet-stream" id="[^"]*">)([^<]*)(</script>)')


def verify(
    folder: str | PathLike[str] | AuditRun,
    *,
    workers: int = 1,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
    page: bool = True,
    inputs: Sequence[str | PathLike[str]] = (),
    background: Background | None = None,
) -> Verification:
    """Check a run folder from scratch, its proofs with a checker that shares no code with the search.

    Parameters
    ----------
    folder
        A run folder, or the run in it.
    workers
        How many processes of this machine work, where no engine is given.
    engine
        Where the work is done; by default on this machine. The result is the same everywhere.
    progress
        Called with the number of areas that have been checked since the last call.
    page
        Whether to make the page again and compare it.
    inputs
        Files that the run read: they are compared with the hashes in ``run.json``.
    background
        What the page was made with besides the folder.

    Returns
    -------
    Verification
        What was checked; its ``problems`` are empty if everything holds, and ``not_covered`` lists what
        was not checked.

    Raises
    ------
    RunError
        If there is no finished run in the folder.

    Examples
    --------
    >>> import tempfile
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> people = st.Records.of([{"sex": "f", "ill": "no"}, {"sex": "m", "ill": "yes"}], schema)
    >>> layout = st.Layout(schema, (st.make_table(schema, "sex*ill"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = st.run_audit([st.Area(layout.tabulate(people), people)], layout, f"{folder}/run")
    ...     done = st.verify(run)
    >>> done.holds, done.areas
    (True, 1)
    """
    check_type(folder, (str, PathLike, AuditRun), name="folder", remedy="give the path of a run folder")
    check_engine(engine, workers)
    check_function(progress, name="progress")
    check_each(inputs, (str, PathLike), name="inputs", remedy="list paths: ['people.csv']")
    run = AuditRun.open(folder.folder if isinstance(folder, AuditRun) else Path(folder))
    done = verify_tables(run, engine=engine or LocalEngine(workers), progress=progress)
    done.files += _other_version(run)
    done.problems += _changed_inputs(run, inputs)
    _check_schema(run, done)
    _check_design(run, done)
    if (run.folder / REPORT).is_file():
        _check_page(run, done, wanted=page, background=background)
    return done


def _other_version(run: AuditRun) -> Iterator[str]:
    """Whether another version wrote the run, so that what looks wrong may be meant."""
    own, found = metadata.version("showthrough"), run.manifest["versions"].get("showthrough", "unknown")
    if found != own:
        yield (
            f"the run names version {found} of showthrough, this is {own}: "
            "what is worded or counted in another way is listed as a problem"
        )


def _changed_inputs(run: AuditRun, inputs: Sequence[str | PathLike[str]]) -> Iterator[str]:
    """Input files that are not those that the run read."""
    listed: dict[str, str] = run.manifest["inputs"]
    for path in map(Path, inputs):
        check_file(path)
        known = [digest for name, digest in listed.items() if Path(name).name == path.name]
        if not known:
            yield f"{path}: not among the input files in {MANIFEST}"
        elif file_digest(path) not in known:
            yield f"{path}: not the file that the run read"


def _check_schema(run: AuditRun, done: Verification) -> None:
    """The schema for people must be that of the release."""
    path = run.folder / SCHEMA
    if not path.is_file():
        return
    try:
        text, own = path.read_text("utf-8"), schema_to_toml(run.layout.schema)
        if text in (own, INFERRED + own):
            return
        same = read_schema(path) == run.layout.schema
    except (OSError, ValueError, ShowthroughError):
        same = False
    if same:
        done.files.append(f"{SCHEMA}: comments, and how it is written")
    else:
        done.problems.append(f"{SCHEMA}: not the schema in release.json")


def _check_design(run: AuditRun, done: Verification) -> None:
    """A description of the tables, where it is as showthrough writes it, is covered."""
    path, said = run.folder / DESIGN, f"{DESIGN}: what it says"
    if said in done.files and path.read_bytes() == design_to_toml(run.layout).encode():
        done.files.remove(said)


def _check_page(run: AuditRun, done: Verification, *, wanted: bool, background: Background | None) -> None:
    """The page must be what the folder makes, where this version made it."""
    from showthrough.report.page import check_installed, generator
    from showthrough.report.write import rendered

    if not wanted:
        done.files.append(f"{REPORT}: it was not made again")
        return
    try:
        check_installed()
    except InputError as error:
        done.files.append(f"{REPORT}: it was not made again: {error}")
        return
    again = f"make it again with: showthrough report {run.folder}"
    try:
        text = (run.folder / REPORT).read_text("utf-8")
        found = GENERATOR.search(text[:20_000])
        maker = html.unescape(found.group(1)) if found else "another version"
        if maker == generator(more=True) and background is None:
            done.files.append(f"{REPORT}: it shows data that are not in the folder; {again}")
        elif maker not in (generator(), generator(more=True)):
            done.files.append(f"{REPORT}: made by {maker}, not by this version; {again}")
        else:
            done.problems += _other_page(text, rendered(run.folder, background))
    except (OSError, ValueError, RunError) as error:
        done.problems.append(f"{REPORT}: it cannot be compared: {' '.join(str(error).split())}")


def _other_page(text: str, expected: str) -> Iterator[str]:
    """Where a page differs from what it should be; packed data are compared unpacked."""
    if text == expected:
        return
    lines, others = _unpacked(text).split("\n"), _unpacked(expected).split("\n")
    if lines == others:
        return
    first = next((n for n, pair in enumerate(zip(lines, others, strict=False)) if pair[0] != pair[1]), None)
    where = min(len(lines), len(others)) if first is None else first
    yield f"{REPORT}: not the page of this run: it differs from line {where + 1} on"


def _unpacked(text: str) -> str:
    from showthrough.report.page import unpack

    return BLOCK.sub(lambda found: f"{found[1]}{unpack(found[2])}{found[3]}", text)


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
