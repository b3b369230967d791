"""Attack numbers whose noise is not known: under every law that agrees, with the worst of them named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from showthrough.errors import InputError
from showthrough.numbers.attack import Attack, PrivacyLevels, UnknownNoise, attack, check_truth
from showthrough.numbers.columns_file import Numbers, as_numbers
from showthrough.numbers.joint_noise import IndependentNoise
from showthrough.numbers.noise import JointNoise, Noise
from showthrough.numbers.unknown_noise import KnownOfTruth, NoiseEstimate, estimate_noise, short

__all__ = [
    "attack_unknown",
]


def attack_unknown(
    noisy: Numbers | ArrayLike | str,
    known: KnownOfTruth | None = None,
    truth: Numbers | ArrayLike | str | None = None,
    *,
    methods: Sequence[str] | None = None,
    privacy: float | Sequence[float] | PrivacyLevels | None = None,
    confidence: float = 0.95,
) -> Attack:
    """Find the laws that agree with what is published, attack under each, and keep the worst.

    Parameters
    ----------
    noisy, truth, methods, privacy, confidence
        As for :func:`showthrough.attack`.
    known
        What is known about the true values. Without it the noise is estimated from ``truth``.

    Returns
    -------
    Attack
        The attack under the worst law; ``unknown`` has the range over all of them.

    Raises
    ------
    InputError
        If the noise cannot be identified.

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.random.default_rng(1).integers(18, 90, 400).astype(float)
    >>> noisy = ages + np.random.default_rng(2).normal(0, 0.15, 400)
    >>> found = attack_unknown(noisy, KnownOfTruth(step=1), ages, privacy=0.1, methods=["em"])
    >>> found.unknown.low <= found.unknown.high == 1.0
    True
    """
    numbers = as_numbers(noisy, None)
    true = None if truth is None else check_truth(as_numbers(truth, numbers.columns), numbers)
    try:
        estimates = estimate_noise(numbers.matrix, known, truth=None if true is None else true.matrix)
    except InputError as error:
        raise numbers.named(error) from None
    tried = [
        attack(numbers, law, true, methods=methods, privacy=privacy, confidence=confidence)
        for law in _laws(estimates)
    ]
    worst = max(tried, key=_danger)
    unknown = _unknown(estimates, tried, worst)
    placing = known is not None and known.components is None  # directions are used by the attacks
    return replace(worst, unknown=replace(unknown, known=known.sentence if known and placing else ""))


def _laws(estimates: Sequence[NoiseEstimate]) -> list[Noise | JointNoise]:
    """Laws from end to end of what agrees; the columns go from end to end together."""
    each = [found.laws for found in estimates]
    if len(each) == 1:
        return list(each[0])
    most = max(map(len, each))
    return [IndependentNoise([laws[min(at, len(laws) - 1)] for laws in each]) for at in range(most)]


def _danger(found: Attack) -> tuple[bool, float, float]:
    """How bad a law is: whether it discloses anybody, how many, and (or) how narrow its intervals are."""
    lengths = [one.mean_length for column in found.columns for one in column.attacked.intervals.values()]
    share = found.largest
    return bool(found.discloses), -1.0 if share is None else share, -min(lengths)


def _unknown(estimates: Sequence[NoiseEstimate], tried: Sequence[Attack], worst: Attack) -> UnknownNoise:
    shares = [one.largest for one in tried if one.largest is not None]
    answers = [one.discloses for one in tried]
    return UnknownNoise(
        tuple(dict.fromkeys(found.sentence for found in estimates)),
        len(tried),
        ", ".join(dict.fromkeys(short(column.noise) for column in worst.columns)),
        worst.columns[0].exposure.middle if worst.columns[0].exposure else None,
        min(shares, default=None),
        max(shares, default=None),
        True if True in answers else None if None in answers else False,
    )
