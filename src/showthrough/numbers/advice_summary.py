"""Advice on noise as plain data, and the sentences about it for terminals and pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from showthrough.numbers.advise import Advice, Confirmation, NoiseUtility
from showthrough.numbers.columns_file import Numbers
from showthrough.numbers.noise import JointNoise
from showthrough.numbers.tryout import NoiseTrial
from showthrough.text import percent, several

__all__ = [
    "AdviceSummary",
    "NoiseSummary",
    "TrialSummary",
]

#: The curve goes from a quarter to four times the advice, by factors of √2.
CURVE_FACTORS = tuple(2.0 ** (step / 2) for step in range(-4, 5))

#: The files of a folder, and what they hold.
FILES = {
    "scales.parquet": "every scale of noise that was tried, and what it discloses",
    "summary.json": "all figures printed here, and more",
}

#: How far advice can be trusted.
LIMITS = (
    "This holds for these people and the attacks implemented here, tried out by simulation; it is no "
    "guarantee against an attacker who knows more. Before you publish, also attack the noisy values "
    "themselves, with --truth: their noise is one more draw."
)


@dataclass(frozen=True)
class NoiseSummary:
    """The noise that is advised; the covariance for several columns."""

    law: str
    covariance: tuple[tuple[float, ...], ...] | None = None


@dataclass(frozen=True)
class TrialSummary:
    """What one scale of noise discloses: the worst attack in the worst column and draw."""

    scale: float
    noise: str
    disclosed: float
    low: float
    high: float
    method: str
    column: str
    draws: int
    by_method: dict[str, float]
    group: str = ""
    exceeding: int = 0

    @classmethod
    def of(cls, trial: NoiseTrial, columns: Sequence[str]) -> TrialSummary:
        """The summary of a trial, with the names of the columns."""
        low, high = trial.disclosed.interval()
        return cls(
            trial.scale,
            trial.noise,
            trial.disclosed.value,
            low,
            high,
            trial.method,
            columns[trial.column],
            trial.draws,
            dict(trial.by_method),
            trial.group,
            trial.exceeding,
        )


@dataclass(frozen=True)
class AdviceSummary:
    """All figures of advice, as ``summary.json`` has them; a curve only where it was asked for."""

    file: str
    people: int
    columns: tuple[str, ...]
    noise: NoiseSummary
    family: str
    privacy: str
    confidence: float
    share: float
    trial: TrialSummary
    smaller: TrialSummary | None
    ideal: float
    utility: NoiseUtility
    trials: tuple[TrialSummary, ...]
    confirmation: Confirmation
    curve: tuple[TrialSummary, ...] = ()

    @classmethod
    def of(
        cls,
        advice: Advice,
        numbers: Numbers,
        *,
        privacy: str,
        confidence: float,
        curve: Sequence[NoiseTrial] = (),
    ) -> AdviceSummary:
        """The summary of advice about these numbers; ``privacy`` is the label of the privacy interval."""
        covariance = None
        if isinstance(advice.noise, JointNoise):
            covariance = tuple(tuple(row) for row in np.asarray(advice.noise.covariance).tolist())
        names, smaller = numbers.columns, advice.smaller
        return cls(
            numbers.file,
            len(numbers),
            names,
            NoiseSummary(str(advice.noise), covariance),
            advice.family,
            privacy,
            confidence,
            advice.share,
            TrialSummary.of(advice.trial, names),
            None if smaller is None else TrialSummary.of(smaller, names),
            advice.trial.ideal,
            advice.utility,
            tuple(TrialSummary.of(trial, names) for trial in advice.trials),
            advice.confirmation,
            tuple(TrialSummary.of(trial, names) for trial in curve),
        )

    @classmethod
    def from_plain(cls, content: object) -> AdviceSummary:
        """From what :meth:`to_plain` made, if it is complete."""
        from pydantic import TypeAdapter  # only pages read summaries

        return TypeAdapter(cls).validate_python(content)

    def to_plain(self) -> dict[str, object]:
        """As plain data, for JSON; what there is not is left out."""
        content = asdict(self)
        if self.noise.covariance is None:
            content["noise"] = {"law": self.noise.law}
        if not self.curve:
            del content["curve"]
        return content

    @property
    def verdict(self) -> str:
        """What the strongest attack still discloses under the noise advised."""
        where = f"column {self.trial.column}, " if len(self.columns) > 1 else ""
        return (
            f"Under noise {self.noise.law} the strongest attack ({where}{self.trial.method}) places "
            f"{percent(self.trial.disclosed, 1)} of the people{self._group} inside their privacy interval "
            f"{self.privacy} with {percent(self.confidence)} confidence; at most {percent(self.share)} is "
            "allowed."
        )

    @property
    def how_often(self) -> str:
        """How often a draw of the noise may disclose more than is allowed."""
        return self.confirmation.sentence(self.share)

    @property
    def _group(self) -> str:
        return f" {self.trial.group}" if self.trial.group else ""

    @property
    def less(self) -> str:
        """What less noise would do."""
        if self.smaller is None:
            return f"This is the least noise tried: {percent(self.trial.disclosed, 1)} are disclosed even so."
        return (
            f"A little less ({self.smaller.noise}) is not enough: {percent(self.smaller.disclosed, 1)} are "
            f"disclosed ({self.smaller.method}) in {self.smaller.exceeding} of "
            f"{several(self.smaller.draws, 'draw')}."
        )

    @property
    def alike(self) -> str:
        """A warning where the true distribution alone discloses more than is allowed; empty otherwise."""
        if self.ideal <= self.share:
            return ""
        return (
            f"The true distribution alone discloses {percent(self.ideal, 1)}: the people are so alike that "
            "the noise has to hide the distribution itself, and little is left to learn. Narrower privacy "
            "intervals, or a larger share, need far less noise."
        )

    @property
    def relapse(self) -> str:
        """A warning where other draws of as much noise or more disclose too many; empty otherwise."""
        above = [trial for trial in self.curve if trial.scale >= self.trial.scale]
        worst = max(above, key=lambda trial: trial.disclosed, default=None)
        if worst is None or worst.low <= self.share:
            return ""
        return (
            f"The share does not fall steadily: at {worst.scale:.2g} times the data's standard deviation, "
            f"other draws disclose {percent(worst.disclosed, 1)} ({worst.method}). Chance decides here; use "
            "more draws."
        )
