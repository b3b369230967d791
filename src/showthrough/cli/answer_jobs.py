"""The ratio attack from the command line: on two answers, and on all groups of a file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.attack.noise import Gaussian, Laplace
from showthrough.attack.ratio import (
    RULE,
    RatioAttack,
    answer_noise,
    leaking_groups,
    ratio_attack,
    ratio_interval,
    safe_epsilon,
)
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, shorten
from showthrough.io.folder import file_digest, make_folder, write_manifest
from showthrough.publish.groups import Groups

__all__ = ["AnswerChoice", "attack_answers", "attack_groups"]

KIND = "ratio attack"

#: Groups shown on the terminal.
SHOWN = 12


@dataclass(frozen=True)
class AnswerChoice:
    """How the noise on answers was given."""

    laplace: float | None = None
    gaussian: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    sensitivity: float | None = None

    def noise(self) -> Laplace | Gaussian:
        """The law of the noise on each answer."""
        given = [name for name in ("laplace", "gaussian", "epsilon") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InputError(
                "the noise on the answers is given in one way",
                found=", ".join(f"--{name}" for name in given) or "none",
                remedy="use --laplace (scale), --gaussian (standard deviation) or --epsilon",
            )
        if self.epsilon is None and (self.delta is not None or self.sensitivity is not None):
            raise InputError("--delta and --sensitivity go with --epsilon", remedy="leave them out")
        if self.laplace is not None:
            return Laplace(self.laplace)
        if self.gaussian is not None:
            return Gaussian(sd=self.gaussian)
        return answer_noise(self.epsilon or 0.0, sensitivity=self.sensitivity, delta=self.delta)


def attack_answers(answers: str, noise: Laplace | Gaussian, terminal: Terminal, *, confidence: float) -> int:
    """The attack on two counts, as x:y."""
    match = re.fullmatch(r"\s*([0-9]{1,15})\s*:\s*([0-9]{1,15})\s*", answers)
    if match is None:
        raise InputError(
            "cannot read --answers",
            found=answers,
            remedy="write the group's size and those with the sensitive value: 501:420",
        )
    attack = ratio_attack(int(match[1]), int(match[2]), noise)
    low, middle, high = (
        float(share) for share in attack.quantiles([(1 - confidence) / 2, 0.5, (1 + confidence) / 2])
    )
    seen = ratio_interval(attack.group, attack.matching, noise, confidence=confidence)
    code = int(attack.leaks)
    if terminal.as_json:
        terminal.json(
            {
                "group": attack.group,
                "matching": attack.matching,
                "noise": str(noise),
                "confidence": attack.confidence,
                "scale_ratio": attack.scale_ratio,
                "rule": RULE,
                "leaks": attack.leaks,
                "bias": attack.bias,
                "bias_bound": attack.bias_bound,
                "sd": attack.sd,
                "level": confidence,
                "quantiles": [low, middle, high],
                "read_from_answers": [float(seen.low), float(seen.high)],
                "within_5_points": attack.within(0.05),
                "no_answer": attack.no_answer,
                "exit_code": code,
            }
        )
    _say_answers(attack, (low, middle, high), terminal, confidence)
    return code


def _say_answers(
    attack: RatioAttack, quantiles: tuple[float, float, float], terminal: Terminal, confidence: float
) -> None:
    low, middle, high = (f"{100 * share:.1f}" for share in quantiles)
    share = f"{100 * attack.confidence:.1f} %"
    verdict = "The two answers give the share away." if attack.leaks else "The two answers hide the share."
    terminal.say(verdict, style="bold")
    terminal.say()
    terminal.say(
        f"Of {attack.group:,.0f} people with the same public values, {attack.matching:,.0f} ({share}) have "
        f"the sensitive value. Noise {attack.noise} on both counts leaves whoever divides them with a median "
        f"of {middle} %, and with {100 * confidence:g} % probability between {low} and {high} %; within 5 "
        f"points of the truth with probability {100 * attack.within(0.05):.1f} %."
    )
    terminal.say(
        f"The noise's scale is {100 * attack.scale_ratio:.2g} % of the group's size; the rule of thumb is "
        f"that {100 * RULE:g} % or less discloses. Bias at most {attack.bias_bound:.2g}, standard deviation "
        f"about {attack.sd:.2g}."
    )
    if attack.no_answer > 1e-4:
        terminal.say(
            f"With probability {100 * attack.no_answer:.2g} % the larger count comes out as 0 or less, and "
            "nothing is learnt. A mean of the ratio does not exist; the quantiles leave these cases out."
        )


def attack_groups(
    data: Path,
    noise: Laplace | Gaussian,
    terminal: Terminal,
    *,
    public: Sequence[str],
    sensitive: str,
    out: Path | None,
    overwrite: bool,
) -> int:
    """Which groups of equal public values would leak, were they asked about under this noise."""
    groups = Groups.read(str(data), sensitive=sensitive, public=list(public) or None)
    table = _leaks(groups, noise, sensitive)
    leaking = table.filter(np.asarray(table["leaks"]))
    code = int(leaking.num_rows > 0)
    summary: dict[str, Any] = {
        "file": str(data),
        "records": groups.records,
        "groups": len(groups),
        "noise": str(noise),
        "rule": RULE,
        "leaking_groups": leaking.num_rows,
        "leaking_records": int(np.asarray(leaking["size"]).sum()),
        "largest_group": int(groups.sizes.max()),
        "safe_epsilon": safe_epsilon(float(groups.sizes.max())),
    }
    if out is not None:
        with make_folder(out, kind=KIND, overwrite=overwrite) as folder:
            pq.write_table(table, folder / "groups.parquet", compression="zstd")
            text = json.dumps(summary, indent=1, ensure_ascii=False) + "\n"
            (folder / "summary.json").write_text(text, "utf-8")
            parameters = {"public": list(public), "sensitive": sensitive, "noise": str(noise), "rule": RULE}
            inputs = {str(data): file_digest(data)}
            packages = ("showthrough", "numpy", "scipy", "pyarrow", "duckdb")
            write_manifest(folder, kind=KIND, parameters=parameters, inputs=inputs, packages=packages)
    if terminal.as_json:
        listed = leaking.slice(0, 1000).to_pylist()
        folder_name = None if out is None else str(out)
        terminal.json({**summary, "leaks": listed, "folder": folder_name, "exit_code": code})
    _say_groups(summary, leaking, groups.public.column_names, sensitive, terminal)
    if out is not None:
        terminal.say(f"All groups are in {out}/groups.parquet.")
    return code


def _leaks(groups: Groups, noise: Laplace | Gaussian, sensitive: str) -> pa.Table:
    """Each group with its commonest value, the most telling first."""
    commonest = np.asarray(groups.counts.argmax(axis=1)).ravel()
    matching = np.asarray(groups.counts.max(axis=1).toarray()).ravel()
    found = leaking_groups(groups.sizes, matching, noise)
    overall = (groups.totals / groups.records)[commonest]
    columns: dict[str, Any] = {name: groups.public[name] for name in groups.public.column_names}
    figures: dict[str, Any] = {
        sensitive: groups.domain[sensitive].take(pa.array(commonest, pa.int64())),
        "size": groups.sizes,
        "matching": matching,
        "confidence": found.confidence,
        "overall": overall,
        "scale_ratio": found.scale_ratio,
        "bias_bound": found.bias_bound,
        "sd": found.sd,
        "leaks": found.leaks,
    }
    for name, values in figures.items():
        columns[name if name not in columns else f"{name} (found)"] = values
    order = np.lexsort((-groups.sizes, -(found.confidence - overall), ~found.leaks))
    return pa.table(columns).take(pa.array(order, pa.int64()))


def _say_groups(
    summary: dict[str, Any], leaking: pa.Table, public: Sequence[str], sensitive: str, terminal: Terminal
) -> None:
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
    rows = [("whoever has", "has", "of", "confidence", "overall")]
    for row in leaking.slice(0, SHOWN).to_pylist():
        who = ", ".join("" if row[name] is None else str(row[name]) for name in public)
        shares = (f"{100 * row['confidence']:.1f} %", f"{100 * row['overall']:.1f} %")
        rows.append((shorten(who), shorten(f"{sensitive} {row[sensitive]}"), f"{row['size']:,}", *shares))
    terminal.table(rows)
    if n_leaking > SHOWN:
        terminal.say(f"… and {n_leaking - SHOWN:,} more", indent=2)
