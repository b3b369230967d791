"""The commands that do more than one call: audit, bounds and worlds of many areas, and the demo."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from showthrough.census.county import COUNTY_SCHEMA, COUNTY_TABLES, simulate_county
from showthrough.cli.options import Auditing, cores
from showthrough.cli.report_jobs import one_place, page_maker
from showthrough.cli.terminal import Terminal
from showthrough.engine import open_engine
from showthrough.errors import ProofError
from showthrough.files import check_new
from showthrough.folders import REPORT, read_result
from showthrough.formats.release_file import design_to_toml
from showthrough.formats.schema_file import schema_to_toml
from showthrough.formats.subject import Subject
from showthrough.frames.write import writing_tables
from showthrough.locks import hold
from showthrough.records import Records
from showthrough.release import Layout, Release, make_table
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.audit import context_of
from showthrough.tables.bounds import bounds
from showthrough.tables.claims import Bounds
from showthrough.tables.explain import explain_proof
from showthrough.tables.headline import exit_code, figures, headline, telling, unsettled
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.folder import BATCH, AuditRun, run_audit
from showthrough.tables.run.verify import verify_run
from showthrough.tables.worlds import worlds

__all__ = [
    "audit_subject",
    "bounds_of_areas",
    "run_demo",
    "write_worlds",
]

FILES = (
    ("findings.parquet", "what shows through, as sentences"),
    ("claims.parquet", "every claim, its verdict and its evidence"),
    ("areas.parquet", "one row per area"),
    ("proofs/", "the proofs, and the datasets that refute"),
    ("schema.toml", "the schema used"),
)

DEMO = "simulated county"


def audit_subject(subject: Subject, out: Path, how: Auditing, *, settings: Settings) -> int:
    """Audit everything, write the run folder, and say what was found."""
    with hold(out):  # until all is said, so that after a kill the same command says it
        return _audit_subject(subject, out, how, settings=settings)


def _audit_subject(subject: Subject, out: Path, how: Auditing, *, settings: Settings) -> int:
    terminal = how.terminal()
    for note in subject.notes:
        terminal.note(note)
    make_page = page_maker(out, terminal, wanted=how.report)
    head = "# Inferred from the data: correct it and pass it with --schema.\n" if subject.inferred else ""
    n_areas = subject.n_areas
    with (
        open_engine(how.engine, workers=(how.workers or cores()) if n_areas > BATCH else 1) as where,
        terminal.step("auditing"),
        terminal.progress("auditing", n_areas) as progress,
    ):
        run = run_audit(
            subject.stream,
            subject.layout,
            out,
            settings=settings,
            engine=where,
            inputs=subject.inputs(),
            extra_files={"schema.toml": head + schema_to_toml(subject.layout.schema)},
            progress=progress,
            overwrite=how.overwrite,
            page=make_page,
        )
    code, page = exit_code(run), REPORT if make_page else None
    if terminal.as_json:
        report = None if page is None else str(out / page)
        terminal.json({**run.summary, "folder": str(out), "report": report, "exit_code": code})
    _say_audit(run, subject.layout.schema, terminal)
    _say_telling(run, terminal)
    _say_open(run, terminal)
    _say_files(out, terminal, page)
    return code


def _say_audit(run: AuditRun, schema: Schema, terminal: Terminal) -> None:
    summary = run.summary
    terminal.say(headline(summary, schema), style="bold")
    terminal.say()
    terminal.table([("verdict", "evidence", "claims"), *figures(run)])


def _say_telling(run: AuditRun, terminal: Terminal) -> None:
    chosen = telling(run)
    if chosen:
        terminal.say()
        terminal.say("The most telling of them:" if run.summary["findings"] > len(chosen) else "Found:")
    for area, sentence in chosen:
        terminal.say(f"- {area}: {sentence}" if area else f"- {sentence}", indent=2, hang=2)


def _say_open(run: AuditRun, terminal: Terminal) -> None:
    left = 0
    for left, text in enumerate(unsettled(run), 1):
        if left == 1:
            terminal.say()
            terminal.say("Not decided:", style="bold yellow")
        if left <= 5:
            terminal.say(f"- {text}", indent=2, hang=2)
    if left > 5:
        terminal.say(f"… and {left - 5:,} more areas (areas.parquet)", indent=2)


def _say_files(out: Path, terminal: Terminal, page: str | None) -> None:
    terminal.say()
    terminal.say(f"Written to {out}/:")
    files = ((page, "all of it as a page, for any browser"), *FILES) if page else FILES
    width = max(len(name) for name, _ in FILES)
    for name, what in files:
        terminal.line(f"{name:{width}}   {what}", indent=2)
    terminal.line(f"Check every proof again with: showthrough verify {shlex.quote(str(out))}")


def bounds_of_areas(
    subject: Subject, selection: Selection, terminal: Terminal, *, only: str | None, effort: float, seed: int
) -> int:
    """For each area the least and the largest count of a selection, with proofs."""
    for note in subject.notes:
        terminal.note(note)
    schema, rows = subject.layout.schema, list[dict[str, Any]]()
    for area in subject.areas(only):
        with terminal.step(f"bounding {area.release.area}".rstrip()):
            found = bounds(area.release, selection, truth=area.truth, effort=effort, seed=seed)
        rows.append(_bounds_row(found, area.release))
        _say_bounds(found, rows[-1], schema, terminal)
    if terminal.as_json:
        terminal.json({"where": str(selection), "areas": rows})
    terminal.say()
    terminal.say(
        "[…] is a published cell. Each line holds because it holds for every kind of record that the "
        "rules and the cells published as 0 leave possible."
    )
    return 0


def _bounds_row(found: Bounds, release: Release) -> dict[str, Any]:
    high = found.high_proof
    return {
        "area": release.area,
        "low": found.low,
        "high": found.high,
        "exact": found.exact,
        "low_attained": found.low_world is not None,
        "high_attained": found.high_world is not None,
        "arithmetic": _arithmetic(found, release),
        "proofs": [json.loads(proof.to_json()) for proof in (found.low_proof, high) if proof is not None],
    }


def _arithmetic(found: Bounds, release: Release) -> list[str]:
    """Both proofs in words; one equation where they are the same sum."""
    if found.high_proof is None:
        return explain_proof(found.low_proof, release)
    if found.low == found.high:
        return explain_proof(replace(found.low_proof, at_most=found.high_proof.at_most), release)
    return [*explain_proof(found.low_proof, release), *explain_proof(found.high_proof, release)]


def _say_bounds(found: Bounds, row: dict[str, Any], schema: Schema, terminal: Terminal) -> None:
    low, high = found.low, found.high
    if high is None:
        text = f"at least {low:,} {schema.noun(low)}, and nothing published limits them"
    elif low == high:
        text = f"exactly {low:,} {schema.noun(low)}"
    else:
        text = f"between {low:,} and {high:,} {schema.records}"
    if found.exact:
        sure = "a dataset with so many exists" if low == high else "datasets with both numbers exist"
        sure = "a dataset with so few exists" if high is None else sure
    else:
        sure = "proved, but perhaps not the narrowest interval: no dataset was found for an end"
    name = f"{row['area']}: " if row["area"] else ""
    terminal.say(f"{name}{text} ({sure})", style="bold")
    for line in row["arithmetic"]:
        terminal.line(line, indent=2)


def write_worlds(
    subject: Subject,
    out: Path,
    terminal: Terminal,
    *,
    n: int,
    only: str | None,
    effort: float,
    seed: int,
    overwrite: bool = False,
) -> int:
    """Up to n datasets for each area, one row per record, in one file."""
    check_new(out, overwrite=overwrite)
    for note in subject.notes:
        terminal.note(note)
    found: dict[str, int] = {}
    parts = _world_rows(subject, found, n=n, only=only, effort=effort, seed=seed)
    names = [only] if only is not None else list(subject.names)
    with (
        terminal.step("searching"),
        writing_tables(out, what="datasets") as write,
        terminal.progress("searching", len(names)) as progress,
    ):
        for part in parts:
            write(part)
            progress(1)
    if terminal.as_json:
        terminal.json({"file": str(out), "asked": n, "found": found})
    for name, number in found.items():
        more = "" if number == n else ", and the search found no others"
        text = f"{number:,} {'dataset' if number == 1 else 'datasets'} with the published counts{more}"
        terminal.say(f"{name}: {text}" if name else f"{text[0].upper()}{text[1:]}.")
    free = context_of(subject.layout).left_out
    if free:
        terminal.note(f"in no table and no rule, and so always the first value: {', '.join(free)}")
    terminal.say(f"Written to {out}")
    return 0


def _world_rows(
    subject: Subject, found: dict[str, int], *, n: int, only: str | None, effort: float, seed: int
) -> Iterator[pa.Table]:
    """Each area's datasets as one table; how many there are is noted in ``found``."""
    named = subject.names != ("",)
    for area in subject.areas(only):
        made = worlds(area.release, n, truth=area.truth, effort=effort, seed=seed)
        found[area.release.area] = len(made)
        codes = np.concatenate([world.codes for world in made])
        numbers = np.repeat(np.arange(len(made)), [len(world) for world in made])
        table = Records(subject.layout.schema, codes).to_arrow()
        table = table.add_column(0, "world", pa.array(numbers, pa.int64()))
        if named:
            areas = pa.array([area.release.area] * len(table), pa.string())
            table = table.add_column(0, "area", areas)
        yield table


def run_demo(out: Path, terminal: Terminal, *, areas: int, seed: int, workers: int) -> int:
    """Simulate, audit, verify, and show what was found."""
    with hold(out):
        return _run_demo(out, terminal, areas=areas, seed=seed, workers=workers)


def _run_demo(out: Path, terminal: Terminal, *, areas: int, seed: int, workers: int) -> int:
    with terminal.step("simulating"):
        county = simulate_county(areas, seed=seed)
    tables = tuple(make_table(COUNTY_SCHEMA, formula) for formula in COUNTY_TABLES)
    layout = Layout(COUNTY_SCHEMA, tables)
    subject = Subject(layout, county)
    terminal.say(
        f"A simulated county: {len(county):,} households in {areas:,} blocks, {len(COUNTY_SCHEMA.names)} "
        f"columns. The statistics office plans {len(tables)} tables of counts for every block, "
        f"{len(layout.names)} cells in all. What would they give away?"
    )
    terminal.say()
    again = _is_demo(out)
    make_page = page_maker(out, terminal, wanted=True, background=one_place(county, "county"))
    with terminal.step("auditing"), terminal.progress("auditing", areas) as progress:
        run = run_audit(
            subject.areas(),
            layout,
            out,
            workers=workers if areas > BATCH else 1,
            inputs={DEMO: f"{areas} areas, seed {seed}"},
            extra_files=_demo_files(county, layout),
            progress=progress,
            overwrite=again,
            page=make_page,
        )
    with terminal.step("checking"), terminal.progress("checking", areas) as progress:
        checked = verify_run(out, progress=progress)
    if not checked.holds:
        raise ProofError(f"the run does not hold: {checked.problems[0]}")
    page = REPORT if make_page else None
    if terminal.as_json:
        report = None if page is None else str(out / page)
        found = {"checked": checked.proofs, "folder": str(out), "report": report, "exit_code": 0}
        terminal.json({**run.summary, **found})
    _say_audit(run, COUNTY_SCHEMA, terminal)
    _say_open(run, terminal)
    terminal.say()
    terminal.say(
        f"The checker, which shares no code with the search, went over all {checked.proofs:,} proofs "
        f"of {checked.claims:,} claims again: all hold."
    )
    _say_files(out, terminal, page)
    _say_telling(run, terminal)
    if page:
        terminal.say()
        terminal.line(f"Now open {out / page} in a browser.")
    return 0


def _demo_files(county: Records, layout: Layout) -> dict[str, str]:
    """The simulated data and the tables, to play with."""
    text = io.BytesIO()
    arrow_csv.write_csv(county.to_arrow(), text)
    return {
        "schema.toml": schema_to_toml(layout.schema),
        "release.toml": design_to_toml(layout),
        "households.csv": text.getvalue().decode(),
    }


def _is_demo(folder: Path) -> bool:
    """Whether a folder holds a finished demonstration, which may be replaced."""
    found = read_result(folder) or {}
    return isinstance(found.get("inputs"), dict) and DEMO in found["inputs"]
