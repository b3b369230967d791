"""The ratio attack on all groups of a file: which of them noisy answers would give away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.cli.answer_jobs import read_answer_noise
from showthrough.cli.attack_folder import PAGE, hashes, held, maybe_folder, places, say_written, write_summary
from showthrough.cli.attack_options import Answered
from showthrough.cli.options import Writing
from showthrough.cli.terminal import Terminal
from showthrough.errors import shorten
from showthrough.folders import Description
from showthrough.frames import Source
from showthrough.microdata.groups import Groups
from showthrough.numbers.noise import GaussianNoise, LaplaceNoise
from showthrough.numbers.ratio import (
    RULE,
    answer_noise,
    error_curve,
    leaking_groups,
    leaks_by_noise,
    ratio_attack,
    safe_epsilon,
    simulate_ratios,
)

__all__ = [
    "attack_groups",
]

KIND = "ratio attack"

#: Groups shown on the terminal, and told one by one in the summary.
SHOWN, WORST = 12, 20

#: The seed of the one draw of noise that shows how wrong readings are.
SEED = 0

#: How many amounts of noise the shares of leaking groups are counted for, and points of a curve.
STEPS, CURVE = 40, 32

FILES = (
    PAGE,
    ("groups.parquet", "every group, how sure an attacker gets, and one drawn reading"),
    ("summary.json", "all figures printed here, and more"),
)


@dataclass(frozen=True, eq=False)
class GroupLeaks:
    """All groups as a table, the most telling first; ``names`` are its columns of figures."""

    groups: Groups
    sensitive: str
    noise: LaplaceNoise | GaussianNoise
    table: pa.Table
    names: dict[str, str]

    @property
    def leaking(self) -> pa.Table:
        """The groups that leak."""
        return self.table.filter(np.asarray(self.table[self.names["leaks"]]))

    def rows(self, table: pa.Table) -> list[dict[str, Any]]:
        """Groups with their public values apart from the figures, so that no name hides another."""
        public = self.groups.public.column_names
        return [
            {
                "public": {name: row[name] for name in public},
                **{figure: row[name] for figure, name in self.names.items()},
            }
            for row in table.to_pylist()
        ]


def attack_groups(data: Path, asked: Answered, how: Writing, *, confidence: float, out: Path | None) -> int:
    """Which groups of equal public values would leak, were they asked about under this noise."""
    with held(out):
        return _attack_groups(data, asked, how, confidence=confidence, out=out)


def _attack_groups(data: Path, asked: Answered, how: Writing, *, confidence: float, out: Path | None) -> int:
    terminal, noise = how.terminal(), read_answer_noise(asked)
    sensitive, public = asked.sensitive or "", asked.public_names
    with terminal.step("reading"):
        opened = Source.of(data)
        groups = Groups.read(opened, sensitive=sensitive, public=public or None)
    parameters = {
        "public": groups.public.column_names,
        "sensitive": sensitive,
        "noise": str(noise),
        "epsilon": asked.epsilon,
        "rule": RULE,
        "seed": SEED,
    }
    packages = ("showthrough", "numpy", "scipy", "pyarrow", "duckdb")

    def what() -> Description:
        return Description(KIND, parameters, hashes(opened), packages)

    with maybe_folder(out, what, how, terminal) as draft:
        with terminal.step("attacking"):
            found = _leaks(groups, noise, sensitive)
        with terminal.step("measuring"):
            summary = _summary(found, asked, str(data), confidence)
        if draft is not None:
            with terminal.step("writing"):
                pq.write_table(found.table, draft.path / "groups.parquet", compression="zstd")
                write_summary(draft.path, summary)
    code = int(summary["leaking_groups"] > 0)
    if terminal.as_json:
        listed = [
            {name: _for_json(value) for name, value in row.items()}
            for row in found.leaking.slice(0, 1000).to_pylist()
        ]
        terminal.json({**summary, "leaks": listed, **places(out), "exit_code": code})
    _say(found, summary, terminal)
    say_written(out, FILES, terminal)
    return code


def _leaks(groups: Groups, noise: LaplaceNoise | GaussianNoise, sensitive: str) -> GroupLeaks:
    """Each group with its commonest value, the most telling first."""
    commonest = np.asarray(groups.counts.argmax(axis=1)).ravel()
    matching = np.asarray(groups.counts.max(axis=1).toarray()).ravel()
    found = leaking_groups(groups.sizes, matching, noise)
    overall = (groups.totals / groups.records)[commonest]
    reading = simulate_ratios(groups.sizes, matching, noise, seed=SEED)
    figures: dict[str, Any] = {
        "value": groups.domain[sensitive].take(pa.array(commonest, pa.int64())),
        "size": groups.sizes,
        "matching": matching,
        "confidence": found.confidence,
        "overall": overall,
        "scale_ratio": found.scale_ratio,
        "bias_bound": found.bias_bound,
        "sd": found.sd,
        "leaks": found.leaks,
        "reading": pa.array(reading, from_pandas=True),
    }
    columns: dict[str, Any] = {name: groups.public[name] for name in groups.public.column_names}
    names = dict[str, str]()
    for figure, values in figures.items():
        name = sensitive if figure == "value" else figure
        while name in columns:
            name += " (found)"
        names[figure], columns[name] = name, values
    order = np.lexsort((-groups.sizes, -(found.confidence - overall), ~found.leaks))
    return GroupLeaks(groups, sensitive, noise, pa.table(columns).take(pa.array(order, pa.int64())), names)


def _summary(found: GroupLeaks, asked: Answered, file: str, confidence: float) -> dict[str, Any]:
    groups, leaking = found.groups, found.leaking
    largest = int(groups.sizes.max())
    # Where none leaks, the largest groups come nearest to it.
    nearest = leaking if leaking.num_rows else found.table.sort_by([(found.names["size"], "descending")])
    return {
        "file": file,
        "records": groups.records,
        "groups": len(groups),
        "noise": str(found.noise),
        "epsilon": asked.epsilon,
        "rule": RULE,
        "leaking_groups": leaking.num_rows,
        "leaking_records": int(np.asarray(leaking[found.names["size"]]).sum()),
        "largest_group": largest,
        "safe_epsilon": safe_epsilon(float(largest)),
        "sensitive": found.sensitive,
        "public": groups.public.column_names,
        "names": found.names,
        "level": confidence,
        "worst": [_told(row, found.noise, confidence) for row in found.rows(nearest.slice(0, WORST))],
        "errors": _errors(found, confidence),
        "by_size": _by_size(found),
        "by_noise": _by_noise(found, asked),
    }


def _told(row: dict[str, Any], noise: LaplaceNoise | GaussianNoise, confidence: float) -> dict[str, Any]:
    """A group with what an attacker reads at this confidence."""
    attack = ratio_attack(row["size"], row["matching"], noise)
    low, high = attack.quantiles([(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    texts = {name: None if value is None else str(value) for name, value in row["public"].items()}
    kept = {name: row[name] for name in ("size", "matching", "confidence", "overall", "leaks")}
    return {"public": texts, "value": str(row["value"]), **kept, "low": low, "high": high}


def _errors(found: GroupLeaks, confidence: float) -> dict[str, Any]:
    """How wrong a reading is in theory, by the group's size, for a group of the usual share."""
    share = float(np.asarray(found.table[found.names["matching"]]).sum()) / found.groups.records
    largest = max(float(found.groups.sizes.max()), 2.0)
    sizes = np.geomspace(1.0, largest, CURVE).tolist()
    median = error_curve(sizes, share, found.noise, level=0.5)
    most = error_curve(sizes, share, found.noise, level=confidence)
    rows = [
        {"size": size, "median": half, "most": all_but_few}
        for size, half, all_but_few in zip(sizes, median, most, strict=True)
    ]
    return {"share": share, "least_size": _least(found.noise), "curve": rows}


def _by_size(found: GroupLeaks) -> list[dict[str, Any]]:
    """How many groups of each order of size leak, and how many people are in them."""
    sizes, leaks = (np.asarray(found.table[found.names[name]]) for name in ("size", "leaks"))
    power = np.floor(np.log10(sizes) + 1e-12).astype(np.int64)
    rows = list[dict[str, Any]]()
    for order in range(int(power.max()) + 1):
        mine = power == order
        rows.append(
            {
                "from": 10**order,
                "to": 10 ** (order + 1) - 1,
                "groups": int(mine.sum()),
                "leaking_groups": int((mine & leaks).sum()),
                "records": int(sizes[mine].sum()),
                "leaking_records": int(sizes[mine & leaks].sum()),
            }
        )
    return rows


def _least(noise: LaplaceNoise | GaussianNoise) -> float:
    """The size from which on groups leak."""
    return float(np.sqrt(noise.variance / 2)) / RULE


def _by_noise(found: GroupLeaks, asked: Answered) -> list[dict[str, Any]]:
    """The share of groups and of people given away, from noise that hides all to noise that hides few.

    By ε where there is one (of Laplace noise: of two counts with one person in both), else by the
    standard deviation.
    """
    sizes = np.sort(found.groups.sizes)
    people = np.cumsum(sizes) / sizes.sum()
    ends = [1.5 * float(sizes[-1]), float(sizes[int(np.searchsorted(people, 0.1))]), _least(found.noise)]
    # Amounts of noise by the size from which on groups leak, as multiples of that of the noise at hand.
    steps = np.geomspace(min(ends) / 1.5, max(ends), STEPS) / _least(found.noise)
    if asked.gaussian is not None:
        sds = np.unique(np.append(asked.gaussian * steps, asked.gaussian))
        table = leaks_by_noise(sizes, [GaussianNoise(sd=sd) for sd in sds.tolist()])
        return table.add_column(0, "sd", pa.array(sds)).to_pylist()
    now = asked.epsilon or 2 / (asked.laplace or 1.0)
    epsilons = np.unique(np.append(now / steps, now))
    noises = [answer_noise(e, sensitivity=asked.sensitivity, delta=asked.delta) for e in epsilons.tolist()]
    return leaks_by_noise(sizes, noises).add_column(0, "epsilon", pa.array(epsilons)).to_pylist()


def _say(found: GroupLeaks, summary: dict[str, Any], terminal: Terminal) -> None:
    n_leaking, n_groups = summary["leaking_groups"], summary["groups"]
    terminal.say(
        f"{n_leaking:,} of {n_groups:,} groups of people with equal public values would leak"
        + (":" if n_leaking else "."),
        style="bold",
    )
    terminal.say(
        f"Noise {summary['noise']} on both counts; a group leaks where the noise's scale is at most "
        f"{100 * RULE:g} % of its size. {summary['leaking_records']:,} of {summary['records']:,} records are "
        f"in such groups. With Laplace noise, none leaks for ε below {summary['safe_epsilon']:.3g} (two "
        "counts, one person in both)."
    )
    if not n_leaking:
        return
    terminal.say()
    terminal.table(_shown(found.rows(found.leaking.slice(0, SHOWN)), found.sensitive))
    if n_leaking > SHOWN:
        terminal.say(f"… and {n_leaking - SHOWN:,} more", indent=2)


def _for_json(value: Any) -> Any:
    """Dates and the like as text."""
    return value if isinstance(value, str | int | float | None) else str(value)


def _shown(rows: Sequence[dict[str, Any]], sensitive: str) -> list[tuple[str, ...]]:
    shown = [("whoever has", "has", "of", "confidence", "overall")]
    for row in rows:
        who = ", ".join("" if value is None else str(value) for value in row["public"].values())
        shares = (f"{100 * row['confidence']:.1f} %", f"{100 * row['overall']:.1f} %")
        shown.append((shorten(who), shorten(f"{sensitive} {row['value']}"), f"{row['size']:,}", *shares))
    return shown
