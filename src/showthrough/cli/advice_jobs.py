"""Find out how much noise is enough, write what was tried, and say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from showthrough.cli.attack_folder import PAGE, hashes, held, maybe_folder, places, say_written, write_summary
from showthrough.cli.attack_options import Advising
from showthrough.cli.options import Writing
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, RecordsError
from showthrough.folders import Description
from showthrough.numbers.advise import Advice, NoiseTrial, Privacy, advise, trials_table, try_scales
from showthrough.numbers.columns_file import Numbers, read_numbers
from showthrough.numbers.interquantile import PrivacyIntervals
from showthrough.numbers.noise import Floats, JointNoise

__all__ = [
    "advise_noise",
]

KIND = "advice"

#: The curve goes from a quarter to four times the advice, by factors of √2.
CURVE = tuple(2.0 ** (step / 2) for step in range(-4, 5))

FILES = (
    PAGE,
    ("scales.parquet", "every scale of noise that was tried, and what it gives away"),
    ("summary.json", "all figures printed here, and more"),
)


def advise_noise(
    data: Path, columns: Sequence[str], asked: Advising, how: Writing, *, out: Path | None
) -> int:
    """The least noise that is enough, with what is left of the data; with a folder, also a curve."""
    with held(out):
        return _advise_noise(data, columns, asked, how, out=out)


def _advise_noise(
    data: Path, columns: Sequence[str], asked: Advising, how: Writing, *, out: Path | None
) -> int:
    terminal, privacy = how.terminal(), _privacy(asked)
    with terminal.step("reading"):
        numbers = read_numbers(data, columns)
    parameters = {"columns": list(columns), **asdict(asked)}
    with maybe_folder(
        out, lambda: Description(KIND, parameters, hashes(numbers.source)), how, terminal
    ) as draft:
        found, curve = _try(numbers, asked, privacy, terminal, curve=draft is not None)
        summary = _summary(found, curve, numbers, privacy, asked)
        if draft is not None:
            with terminal.step("writing"):
                table = trials_table([*found.trials, *curve], numbers.columns)
                pq.write_table(table, draft.path / "scales.parquet", compression="zstd")
                write_summary(draft.path, summary)
    if terminal.as_json:
        terminal.json({**summary, **places(out), "exit_code": 0})
    _say(found, numbers.columns, summary["privacy"], terminal, asked.confidence)
    _say_relapse(found, curve, terminal)
    say_written(out, FILES, terminal)
    return 0


def _privacy(asked: Advising) -> Privacy:
    """How a privacy interval follows from a true value."""
    if (asked.privacy is None) == (asked.absolute is None):
        raise InputError(
            "privacy intervals are given in one way: --privacy or --absolute",
            remedy="for example --privacy 50, which is ±50 % of each value",
        )

    def intervals(column: Floats) -> PrivacyIntervals:
        if asked.absolute is not None:
            return PrivacyIntervals.absolute(column, asked.absolute)
        return PrivacyIntervals.relative(column, (asked.privacy or 0.0) / 100)

    return intervals


def _try(
    numbers: Numbers, asked: Advising, privacy: Privacy, terminal: Terminal, *, curve: bool
) -> tuple[Advice, tuple[NoiseTrial, ...]]:
    """The advice, and scales around it with draws of their own."""
    settings: dict[str, Any] = {
        "privacy": privacy,
        "family": asked.family,
        "confidence": asked.confidence,
        "draws": asked.draws,
        "seed": asked.seed,
    }
    try:
        with terminal.step("searching"), terminal.progress("trying", None) as progress:
            found = advise(numbers.matrix, share=asked.share, progress=progress, **settings)
        if not curve:
            return found, ()
        scales = [found.trial.scale * factor for factor in CURVE]
        with terminal.step("following the curve"), terminal.progress("trying", len(scales)) as progress:
            return found, try_scales(numbers.matrix, scales, progress=progress, **settings)
    except RecordsError as error:
        if error.column is not None and error.column.isdigit():
            error.column = numbers.columns[int(error.column) - 1]
        raise error.at(file=numbers.file) from None


def _summary(
    found: Advice, curve: Sequence[NoiseTrial], numbers: Numbers, privacy: Privacy, asked: Advising
) -> dict[str, Any]:
    columns = numbers.columns
    noise: dict[str, Any] = {"law": str(found.noise)}
    if isinstance(found.noise, JointNoise):
        noise["covariance"] = np.asarray(found.noise.covariance).tolist()
    summary = {
        "file": numbers.file,
        "people": len(numbers),
        "columns": list(columns),
        "noise": noise,
        "family": found.family,
        "privacy": privacy(numbers.matrix[:1, 0]).label,
        "confidence": asked.confidence,
        "share": found.share,
        "trial": _trial(found.trial, columns),
        "smaller": None if found.smaller is None else _trial(found.smaller, columns),
        "ideal": found.trial.ideal,
        "utility": asdict(found.utility),
        "trials": [_trial(one, columns) for one in found.trials],
    }
    return summary | {"curve": [_trial(one, columns) for one in curve]} if curve else summary


def _trial(one: NoiseTrial, columns: Sequence[str]) -> dict[str, Any]:
    low, high = one.disclosed.interval()
    return {
        "scale": one.scale,
        "noise": one.noise,
        "disclosed": one.disclosed.value,
        "low": low,
        "high": high,
        "method": one.method,
        "column": columns[one.column],
        "draws": one.draws,
        "by_method": dict(one.by_method),
    }


def _say(found: Advice, columns: Sequence[str], label: str, terminal: Terminal, confidence: float) -> None:
    trial, smaller = found.trial, found.smaller
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
    terminal.table([("what remains of the data", ""), *found.utility.words()])
    terminal.say()
    terminal.say(
        "This holds for these people and the attacks known here, tried out by simulation; it is no guarantee "
        "against whoever knows more."
    )


def _say_relapse(found: Advice, curve: Sequence[NoiseTrial], terminal: Terminal) -> None:
    """The curve is made of other draws, and may disagree with the advice."""
    above = [one for one in curve if one.scale >= found.trial.scale]
    worst = max(above, key=lambda one: one.disclosed.value, default=None)
    if worst is not None and worst.disclosed.interval()[0] > found.share:
        terminal.note(
            f"the share does not fall steadily: with other draws {worst.noise} discloses {worst.disclosed} "
            f"({worst.method}); more --draws make the search more careful"
        )
