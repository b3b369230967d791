"""What is likely in many areas: one folder with all statements, figures per area, and the prior.

Readers see the most telling statements of the folder first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.engine.engine import in_order
from showthrough.errors import Undecided
from showthrough.files import write_json
from showthrough.release import Release
from showthrough.schema import Schema
from showthrough.tables.likely.calibration import HIGH, UNEARNED, Kind
from showthrough.tables.likely.likely import likely
from showthrough.tables.likely.prior import Prior
from showthrough.tables.likely.statement import COLUMNS, LEAST, UNSURPRISING
from showthrough.text import percent, several

__all__ = [
    "AREAS",
    "STATEMENTS",
    "SUMMARY",
    "AreaFigures",
    "LikelySummary",
    "SamplingLimits",
    "StoredStatement",
    "exit_code",
    "look",
    "most_telling",
    "write_likely",
]

STATEMENTS, AREAS, SUMMARY = "likely.parquet", "areas.parquet", "summary.json"

#: From here on a statement is as good as sure, under its prior.
NEARLY_SURE = 0.99


@dataclass(frozen=True)
class SamplingLimits:
    """What is looked for, and how hard."""

    least: float = LEAST
    max_columns: int = 3
    effort: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class AreaFigures:
    """One area: how many statements are likely, and what could not be said.

    ``records`` is None, and ``problem`` says why, where nothing could be said at all.
    """

    area: str
    records: int | None
    statements: int = 0
    telling: int = 0
    nearly_sure: int = 0
    people: float = 0.0
    beyond: float = 0.0
    certain: int = 0
    withheld: int = 0
    listed: bool = False
    problem: str = ""
    by_columns: tuple[ByColumns, ...] = ()


@dataclass(frozen=True)
class ByColumns:
    """Statements about this many columns: certain ones, and telling ones that are likely."""

    columns: int
    certain: int = 0
    likely: int = 0


AREA_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("records", pa.int64()),
        ("statements", pa.int64()),
        ("telling", pa.int64()),
        ("nearly_sure", pa.int64()),
        ("people", pa.float64()),
        ("beyond", pa.float64()),
        ("certain", pa.int64()),
        ("withheld", pa.int64()),
        ("listed", pa.bool_()),
        ("problem", pa.string()),
    ]
)


@dataclass(frozen=True)
class LikelySummary:
    """The figures of a folder.

    Attributes
    ----------
    prior, description
        The prior's name, and what it is.
    calibrated, earned
        Whether it was calibrated, and whether high probabilities have come true often enough to be said.
    areas, records
        How many areas, and records in them.
    statements, telling, nearly_sure
        How many statements; those of at least 90 % that were at most 50 % without the tables; those of
        at least 99 % among these.
    people, beyond
        The expected number of records that telling findings are about, and of those among them that no
        certain finding is about.
    certain, withheld
        Statements left out because they hold in every dataset, and because chains disagree on them.
    listed, problems
        Areas of which all datasets were listed, and areas about which nothing could be said.
    by_columns
        By number of columns how many statements are certain and how many are likely and telling.
    """

    prior: str
    description: str
    calibrated: bool
    earned: bool
    areas: int
    records: int
    statements: int
    telling: int
    nearly_sure: int
    people: float
    beyond: float
    certain: int
    withheld: int
    listed: int
    problems: int
    by_columns: tuple[ByColumns, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """As in ``summary.json``."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> LikelySummary:
        """From ``summary.json``."""
        given = {one.name: plain[one.name] for one in fields(cls) if one.name != "by_columns"}
        return cls(**given, by_columns=tuple(ByColumns(**one) for one in plain.get("by_columns", ())))

    def headline(self, schema: Schema | None = None) -> str:
        """The result in a sentence."""
        one, noun = ("record", "records") if schema is None else (schema.record, schema.records)
        if not self.telling:
            return f"No statement that was unlikely without the tables reaches {percent(HIGH)}."
        many = several(self.telling, "statement")
        about = f" Those about a single {one} concern about {self.people:,.0f} of {self.records:,} {noun}."
        return (
            f"Likely, not proved: the tables lift {many} from at most {percent(UNSURPRISING)} to at least "
            f"{percent(HIGH)}.{about if self.people >= 0.5 else ''}"
        )

    def caveats(self) -> list[str]:
        """What must be said beside it."""
        found = [
            "Likely is not proved. All probabilities rest on a prior, which is what is believed about such "
            f"records before any table is read: “{self.prior}” ({self.description})."
        ]
        if not self.calibrated:
            found.append(
                "The prior is not calibrated here: how often its statements are true was not "
                f"measured, so no probability above {percent(UNEARNED)} is stated."
            )
        elif not self.earned:
            found.append(
                "On areas with known truth too few of its high probabilities came true, or there were "
                f"too few of them, so no probability above {percent(UNEARNED)} is stated."
            )
        if self.withheld:
            found.append(
                f"{several(self.withheld, 'statement')} withheld, because sampling chains disagree on them."
            )
        if self.problems:
            found.append(
                f"No statement could be made about {several(self.problems, 'area')} (areas.parquet "
                "gives the reasons)."
            )
        return found


def look(release: Release, *, prior: Prior, limits: SamplingLimits) -> tuple[AreaFigures, pa.Table]:
    """What is likely in one area, as figures and as rows."""
    try:
        found = likely(
            release,
            prior,
            least=limits.least,
            max_columns=limits.max_columns,
            effort=limits.effort,
            seed=limits.seed,
        )
    except Undecided as problem:
        return AreaFigures(release.area, None, problem=str(problem)), COLUMNS.empty_table()
    telling = found.telling
    figures = AreaFigures(
        release.area,
        found.n_records,
        len(found.statements),
        len(telling),
        sum(one.q >= NEARLY_SURE for one in telling),
        found.n_people,
        found.n_beyond,
        found.n_certain,
        found.n_withheld,
        found.exact,
        by_columns=_by_columns(found.certain, Counter(one.n_columns for one in telling)),
    )
    return figures, found.to_arrow()


def _by_columns(certain: Mapping[int, int], likely: Mapping[int, int]) -> tuple[ByColumns, ...]:
    return tuple(ByColumns(k, certain.get(k, 0), likely.get(k, 0)) for k in sorted({*certain, *likely}))


def write_likely(
    folder: Path,
    releases: Iterable[Release],
    prior: Prior,
    *,
    limits: SamplingLimits,
    workers: int = 1,
    progress: Callable[[int], object] = lambda _: None,
) -> LikelySummary:
    """Look at all areas and write statements, figures per area and a summary to a folder.

    Areas are looked at one by one, by several processes, and written in their order.
    """
    work = partial(look, prior=prior, limits=limits)
    totals = dict.fromkeys(("statements", "telling", "nearly_sure", "certain", "withheld"), 0)
    areas = records = listed = problems = 0
    people = beyond = 0.0
    certain_by, likely_by = Counter[int](), Counter[int]()
    with _Rows(folder / STATEMENTS, COLUMNS) as statements, _Rows(folder / AREAS, AREA_COLUMNS) as of_areas:
        for figures, table in in_order(work, releases, workers=workers):
            statements.add(table)
            of_areas.add(pa.Table.from_pylist([asdict(figures)], AREA_COLUMNS))
            for name in totals:
                totals[name] += getattr(figures, name)
            areas, records = areas + 1, records + (figures.records or 0)
            listed, problems = listed + figures.listed, problems + bool(figures.problem)
            people, beyond = people + figures.people, beyond + figures.beyond
            for one in figures.by_columns:
                certain_by[one.columns] += one.certain
                likely_by[one.columns] += one.likely
            progress(1)
    calibration = prior.calibration
    summary = LikelySummary(
        prior=prior.name,
        description=prior.description,
        calibrated=calibration is not None,
        earned=calibration is not None and (calibration.claims.earned or calibration.findings.earned),
        areas=areas,
        records=records,
        people=round(people, 3),
        beyond=round(beyond, 3),
        listed=listed,
        problems=problems,
        by_columns=_by_columns(certain_by, likely_by),
        **totals,
    )
    write_json(folder / SUMMARY, summary.to_plain())
    return summary


#: Rows that are written together.
_ROWS = 20_000


class _Rows:
    """A Parquet file that is written some thousand rows at a time, whoever brings them."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.writer = pq.ParquetWriter(path, schema, compression="zstd")
        self.waiting: list[pa.Table] = []

    def __enter__(self) -> _Rows:
        return self

    def __exit__(self, *_: object) -> None:
        self._write()
        self.writer.close()

    def add(self, table: pa.Table) -> None:
        """Rows to be written."""
        self.waiting.append(table)
        if sum(map(len, self.waiting)) >= _ROWS:
            self._write()

    def _write(self) -> None:
        rows = pa.concat_tables(self.waiting) if self.waiting else None
        self.waiting.clear()
        if rows is not None and len(rows):
            self.writer.write_table(rows.combine_chunks())


def exit_code(summary: LikelySummary) -> int:
    """1 if something telling is likely, 3 if nothing is but something could not be said, else 0."""
    if summary.telling:
        return 1
    return 3 if summary.withheld or summary.problems else 0


@dataclass(frozen=True)
class StoredStatement:
    """A statement of a folder: its sentence, and figures of its ``Statement``."""

    area: str
    sentence: str
    q: float
    low: float
    high: float
    ess: float | None
    baseline: float


def most_telling(folder: Path, kind: Kind, most: int) -> list[StoredStatement]:
    """Statements of a kind, at least 90 % and at most 50 % without the tables, the most surprising first.

    Read in parts, so that any number of statements fits.
    """
    best: pa.Table | None = None
    with pq.ParquetFile(folder / STATEMENTS) as file:
        for batch in file.iter_batches():
            table = pa.Table.from_batches([batch])
            q, before = table["q"].to_numpy(), table["baseline"].to_numpy()
            mine = np.array(table["kind"].to_pylist()) == kind
            part = table.filter(pa.array(mine & (q >= HIGH) & (before <= UNSURPRISING), pa.bool_()))
            best = _first(part if best is None else pa.concat_tables([best, part]), most)
    columns = [one.name for one in fields(StoredStatement)]
    return [] if best is None else [StoredStatement(**row) for row in best.select(columns).to_pylist()]


def _first(table: pa.Table, most: int) -> pa.Table:
    """The statements whose odds the tables moved most."""
    inside = [np.clip(table[name].to_numpy(), 1e-6, 1 - 1e-6) for name in ("q", "baseline")]
    odds = [np.log(one) - np.log1p(-one) for one in inside]
    order = np.argsort(odds[1] - odds[0], kind="stable")[:most]
    return table.take(pa.array(order.tolist(), pa.int64()))
