"""Add noise to a file, and find out how much of it is enough."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from showthrough.attack.advice import Advice, Family, Trial, advise
from showthrough.attack.interquantile import PrivacyIntervals
from showthrough.attack.joint_noise import correlated_like, perturb
from showthrough.attack.noise import Floats, JointNoise, Noise
from showthrough.cli.attack_jobs import read_noise
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, RecordsError, RunError
from showthrough.io.numbers import read_numbers, write_table

__all__ = ["advise_noise", "perturb_file"]

#: Seeds below this can be found by trying them all.
GUESSABLE = 2**64


def perturb_file(
    data: Path,
    columns: Sequence[str],
    out: Path,
    terminal: Terminal,
    *,
    noise: Sequence[str],
    correlated: float | None,
    covariance_out: Path | None,
    seed: int | None,
    overwrite: bool,
) -> int:
    """Write the file with noise on some columns; the seed goes nowhere."""
    for path in (out, covariance_out):
        if path is not None and path.exists() and not overwrite:
            raise RunError(
                "there is such a file already", file=str(path), remedy="choose another or add --overwrite"
            )
        if path is not None and path.exists() and path.samefile(data):
            raise RunError("this is the file with the true values", file=str(path), remedy="choose another")
    numbers = read_numbers(data, columns, whole=True, least=1)
    law = _law(numbers.matrix, noise, correlated, columns)
    if covariance_out is not None and not isinstance(law, JointNoise):
        raise InputError("--covariance-out goes with --correlated", remedy="leave it out")
    if seed is not None and 0 <= seed < GUESSABLE:
        terminal.note(
            "a seed this small can be found by trying, and who finds it can take the noise off again; "
            "leave --seed out to have one drawn and forgotten"
        )
    noisy = perturb(numbers.matrix, law, seed=secrets.randbits(128) if seed is None else _checked(seed))
    write_table(out, numbers.replaced(noisy))
    if covariance_out is not None and isinstance(law, JointNoise):
        write_table(covariance_out, pa.table(dict(zip(columns, law.covariance.T, strict=True))))
    if terminal.as_json:
        terminal.json(
            {"file": str(out), "records": len(numbers), "columns": list(columns), "noise": str(law)}
        )
    listed = ", ".join(columns)
    terminal.say(f"Wrote {out}: {len(numbers):,} records with noise ({law}) on {listed}; all else as it was.")
    terminal.say(
        "What this hides is another question: showthrough attack with --truth, or showthrough advise."
    )
    return 0


def _law(
    matrix: Floats, noise: Sequence[str], correlated: float | None, columns: Sequence[str]
) -> Noise | JointNoise:
    if correlated is None:
        return read_noise(noise, None, columns)
    if noise:
        raise InputError("the noise is given in one way: --noise or --correlated", remedy="leave one out")
    if len(columns) < 2:
        raise InputError("correlated noise needs several columns", remedy="name more with --column")
    return correlated_like(matrix, ratio=correlated)


def _checked(seed: int) -> int:
    if seed < 0:
        raise InputError("a seed is a whole number from 0", found=str(seed))
    return seed


def advise_noise(
    data: Path,
    columns: Sequence[str],
    terminal: Terminal,
    *,
    share: float,
    privacy: float | None,
    absolute: float | None,
    family: Family,
    confidence: float,
    draws: int,
    seed: int,
) -> int:
    """The least noise that is enough, with what is left of the data."""
    if (privacy is None) == (absolute is None):
        raise InputError(
            "privacy intervals are given in one way: --privacy or --absolute",
            remedy="for example --privacy 50, which is ±50 % of each value",
        )
    numbers = read_numbers(data, columns)

    def intervals(column: Floats) -> PrivacyIntervals:
        if absolute is not None:
            return PrivacyIntervals.absolute(column, absolute)
        return PrivacyIntervals.relative(column, (privacy or 0.0) / 100)

    try:
        with terminal.progress("trying", None) as progress:
            found = advise(
                numbers.matrix,
                share=share,
                privacy=intervals,
                family=family,
                confidence=confidence,
                draws=draws,
                seed=seed,
                progress=progress,
            )
    except RecordsError as error:
        if error.column is not None and error.column.isdigit():
            error.column = numbers.columns[int(error.column) - 1]
        raise error.at(file=numbers.file) from None
    label = intervals(numbers.matrix[:1, 0]).label
    if terminal.as_json:
        terminal.json(_as_json(found, numbers.columns, label, confidence))
    _say(found, numbers.columns, label, terminal, confidence)
    return 0


def _as_json(found: Advice, columns: Sequence[str], label: str, confidence: float) -> dict[str, Any]:
    noise: dict[str, Any] = {"law": str(found.noise)}
    if isinstance(found.noise, JointNoise):
        noise["covariance"] = np.asarray(found.noise.covariance).tolist()
    return {
        "noise": noise,
        "family": found.family,
        "privacy": label,
        "confidence": confidence,
        "share": found.share,
        "trial": _trial(found.trial, columns),
        "smaller": None if found.smaller is None else _trial(found.smaller, columns),
        "utility": asdict(found.utility),
        "trials": [_trial(one, columns) for one in found.trials],
        "exit_code": 0,
    }


def _trial(one: Trial, columns: Sequence[str]) -> dict[str, Any]:
    return {
        "scale": one.scale,
        "noise": one.noise,
        "disclosed": one.disclosed.value,
        "method": one.method,
        "column": columns[one.column],
        "by_method": dict(one.by_method),
    }


def _say(found: Advice, columns: Sequence[str], label: str, terminal: Terminal, confidence: float) -> None:
    trial, smaller, utility = found.trial, found.smaller, found.utility
    terminal.say(f"Noise {found.noise} is enough.", style="bold")
    terminal.say()
    terminal.say(
        f"Under it the strongest attack ({trial.method}, column {columns[trial.column]}) places "
        f"{trial.disclosed} of the people inside their privacy interval {label} with "
        f"{100 * confidence:g} % confidence; at most {100 * found.share:g} % was asked for."
    )
    if smaller is None:
        terminal.say("Even the least noise tried is enough: the values give nobody away by themselves.")
    else:
        terminal.say(f"A little less ({smaller.noise}) is not: {smaller.disclosed} by {smaller.method}.")
    if trial.ideal > found.share:
        terminal.say(
            f"Mind that the true distribution alone gives {100 * trial.ideal:.1f} % away: the people are so "
            "alike that the noise has to hide the distribution itself, and little is left to learn. Narrower "
            "privacy intervals, or a larger share, ask for far less noise."
        )
    terminal.say()
    rows = [
        ("what remains of the data", ""),
        ("information loss of the rebuilt distribution", f"{100 * utility.loss:.1f} %"),
        ("standard error of a mean grows by a factor", f"{utility.error_factor:.2f}"),
        ("correlation of published with true values", f"{utility.correlation:.2f}"),
    ]
    if utility.distortion is not None:
        rows.append(("largest change of a correlation between columns", f"{utility.distortion:.2f}"))
    terminal.table(rows)
    terminal.say()
    terminal.say(
        "This holds for these people and the attacks known here, tried out by simulation; it is no guarantee "
        "against whoever knows more."
    )
