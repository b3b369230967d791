"""The ratio attack on two answers, from the command line."""

from __future__ import annotations

import re

from showthrough.cli.attack_options import Answered
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.numbers.noise import GaussianNoise, LaplaceNoise
from showthrough.numbers.ratio import RULE, RatioAttack, answer_noise, ratio_attack, ratio_interval

__all__ = [
    "attack_answers",
    "read_answer_noise",
]


def read_answer_noise(asked: Answered) -> LaplaceNoise | GaussianNoise:
    """The law of the noise on each answer."""
    given = [name for name in ("laplace", "gaussian", "epsilon") if getattr(asked, name) is not None]
    if len(given) != 1:
        raise InputError(
            "the noise on the answers is given in one way",
            found=", ".join(f"--{name}" for name in given) or "none",
            remedy="use --laplace (scale), --gaussian (standard deviation) or --epsilon",
        )
    if asked.epsilon is None and (asked.delta is not None or asked.sensitivity is not None):
        raise InputError("--delta and --sensitivity go with --epsilon", remedy="leave them out")
    if asked.laplace is not None:
        return LaplaceNoise(asked.laplace)
    if asked.gaussian is not None:
        return GaussianNoise(sd=asked.gaussian)
    return answer_noise(asked.epsilon or 0.0, sensitivity=asked.sensitivity, delta=asked.delta)


def attack_answers(asked: Answered, terminal: Terminal, *, confidence: float) -> int:
    """The attack on two counts, as x:y."""
    noise, answers = read_answer_noise(asked), asked.answers or ""
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
