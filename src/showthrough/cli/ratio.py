"""The ratio attack of the command ``attack``: two noisy answers, or all groups of a file."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from showthrough.cli.options import WriteOptions
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, shorten
from showthrough.text import percent

if TYPE_CHECKING:
    from showthrough.numbers.leaks_summary import LeaksSummary
    from showthrough.numbers.ratio import AnswerNoise, PrivacyBudget, RatioSummary

__all__ = [
    "Answered",
    "attack_answered",
]

ANSWERS = Group("Noisy answers", sort_key=2)

#: Groups shown on the terminal, and groups that leak in JSON.
SHOWN, LISTED = 12, 1000


@Parameter(name="*", group=ANSWERS)
@dataclass(frozen=True)
class Answered:
    """The noise on answers, and which groups are asked about."""

    answers: Annotated[
        str | None,
        Parameter(help="True counts: the size of a group, and how many have the sensitive value: 501:420."),
    ] = None
    laplace: Annotated[float | None, Parameter(help="The scale of Laplace noise.")] = None
    gaussian: Annotated[float | None, Parameter(help="The standard deviation of Gaussian noise.")] = None
    epsilon: Annotated[float | None, Parameter(help="Instead of these, the ε of differential privacy.")] = (
        None
    )
    delta: Annotated[float | None, Parameter(help="Its δ: the noise is then Gaussian.")] = None
    sensitivity: Annotated[
        float | None, Parameter(help="How much one person changes both counts (default: 2, √2 with δ).")
    ] = None
    public: Annotated[str | None, Parameter(help="Public columns: a,b,c (default: all others).")] = None
    sensitive: Annotated[str | None, Parameter(help="The sensitive column.")] = None

    @property
    def is_used(self) -> bool:
        """Whether noisy answers are to be attacked."""
        return self.answers is not None or self.sensitive is not None

    @property
    def public_names(self) -> list[str]:
        """The public columns; none for all others."""
        return [part.strip() for part in (self.public or "").split(",") if part.strip()]

    @property
    def noise(self) -> AnswerNoise | PrivacyBudget:
        """The noise on each answer, or the ε that it follows from."""
        from showthrough.numbers.noise import GaussianNoise, LaplaceNoise
        from showthrough.numbers.ratio import PrivacyBudget

        given = [name for name in ("laplace", "gaussian", "epsilon") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InputError(
                "give the noise on the answers in one way",
                found=", ".join(f"--{name}" for name in given) or "none",
                remedy="use --laplace (scale), --gaussian (standard deviation) or --epsilon",
            )
        if self.epsilon is not None:
            return PrivacyBudget(self.epsilon, self.sensitivity, self.delta)
        if self.delta is not None or self.sensitivity is not None:
            raise InputError("--delta and --sensitivity go with --epsilon", remedy="leave them out")
        if self.laplace is not None:
            return LaplaceNoise(self.laplace)
        return GaussianNoise(sd=self.gaussian)


def attack_answered(
    data: Path | None, asked: Answered, how: WriteOptions, *, confidence: float, out: Path | None
) -> int:
    """Attack two answers, or all groups of a file."""
    if asked.answers is not None:
        if data is not None or asked.sensitive is not None or asked.public is not None or out is not None:
            raise InputError("--answers takes no file, columns or folder", remedy="leave them out")
        return _attack_answers(asked.answers, asked, how.terminal(), confidence=confidence)
    if data is None:
        raise InputError("no file to count groups in", remedy="name the file with the people")
    from showthrough.cli.folder import locked

    with locked(out):
        return _attack_groups(data, asked, how, confidence=confidence, out=out)


def _attack_answers(answers: str, asked: Answered, terminal: Terminal, *, confidence: float) -> int:
    """The attack on two counts, given as x:y."""
    from showthrough.numbers.ratio import PrivacyBudget, ratio_attack

    noise = asked.noise
    match = re.fullmatch(r"\s*([0-9]{1,15})\s*:\s*([0-9]{1,15})\s*", answers)
    if match is None:
        raise InputError(
            "cannot read --answers",
            found=answers,
            remedy="write the group's size and how many have the sensitive value: 501:420",
        )
    law = noise.noise if isinstance(noise, PrivacyBudget) else noise
    summary = ratio_attack(int(match[1]), int(match[2]), law).summary(confidence)
    code = int(summary.leaks)
    if terminal.as_json:
        terminal.json({**asdict(summary), "exit_code": code})
    _print_answers(summary, terminal)
    return code


def _print_answers(found: RatioSummary, terminal: Terminal) -> None:
    low, middle, high = (percent(share, 1) for share in found.quantiles)
    verdict = "The two answers give the share away." if found.leaks else "The two answers hide the share."
    terminal.say(verdict, style="bold")
    terminal.say()
    terminal.say(
        f"Of {found.group:,.0f} people with the same public values, {found.matching:,.0f} "
        f"({percent(found.confidence, 1)}) have the sensitive value. With noise {found.noise} on both "
        f"counts, an attacker who divides them reads a median of {middle}, and between {low} and {high} "
        f"with {percent(found.level)} probability; within 5 points of the truth with probability "
        f"{percent(found.within_5_points, 1)}."
    )
    terminal.say(
        f"The noise's scale is {percent(found.scale_ratio, 1)} of the group's size; as a rule of thumb, "
        f"{percent(found.rule)} or less discloses the share. Bias at most {found.bias_bound:.2g}, standard "
        f"deviation about {found.sd:.2g}."
    )
    if found.no_answer > 1e-4:
        terminal.say(
            f"With probability {percent(found.no_answer, 2)} the larger count comes out as 0 or less, and "
            "nothing is learnt. The ratio has no mean; the quantiles leave these cases out."
        )


def _attack_groups(
    data: Path, asked: Answered, how: WriteOptions, *, confidence: float, out: Path | None
) -> int:
    """Which groups of equal public values would leak if they were asked about under this noise."""
    import pyarrow.parquet as pq

    from showthrough.cli.folder import input_hashes, maybe_folder, places, print_files
    from showthrough.files import write_json
    from showthrough.folders import Description
    from showthrough.frames import Source
    from showthrough.microdata.groups import Groups
    from showthrough.numbers.leaks import SEED, attack_groups
    from showthrough.numbers.leaks_summary import FILES, LeaksSummary
    from showthrough.numbers.ratio import RULE, PrivacyBudget

    terminal, noise, sensitive = how.terminal(), asked.noise, asked.sensitive or ""
    law = noise.noise if isinstance(noise, PrivacyBudget) else noise
    with terminal.step("reading"):
        opened = Source.of(data)
        groups = Groups.read(opened, sensitive=sensitive, public=asked.public_names or None)

    def describe() -> Description:
        parameters = {
            "public": groups.public.column_names,
            "sensitive": sensitive,
            "noise": str(law),
            "epsilon": asked.epsilon,
            "rule": RULE,
            "seed": SEED,
        }
        packages = ("showthrough", "numpy", "scipy", "pyarrow", "duckdb")
        return Description("ratio attack", parameters, input_hashes(opened), packages)

    with maybe_folder(out, describe, how, terminal) as draft:
        with terminal.step("attacking"):
            found = attack_groups(groups, noise)
        with terminal.step("measuring"):
            summary = LeaksSummary.of(found, file=str(data), level=confidence)
        if draft is not None:
            with terminal.step("writing"):
                pq.write_table(found.table, draft.path / "groups.parquet", compression="zstd")
                write_json(draft.path / "summary.json", summary.to_plain())
    code = int(summary.leaking_groups > 0)
    if terminal.as_json:
        rows = found.leaking.slice(0, LISTED).to_pylist()
        listed = [{name: _for_json(value) for name, value in row.items()} for row in rows]
        terminal.json({**summary.to_plain(), "leaks": listed, **places(out), "exit_code": code})
    _print_groups(summary, terminal)
    print_files(out, FILES, terminal)
    return code


def _for_json(value: object) -> object:
    """Dates and the like as text."""
    return value if isinstance(value, str | int | float | None) else str(value)


def _print_groups(found: LeaksSummary, terminal: Terminal) -> None:
    n_leaking = found.leaking_groups
    terminal.say(
        f"{n_leaking:,} of {found.groups:,} groups of people with the same public values would leak"
        + (":" if n_leaking else "."),
        style="bold",
    )
    terminal.say(
        f"Noise {found.noise} on both counts. {found.rule_text} {found.leaking_records:,} of "
        f"{found.records:,} records are in such groups. With Laplace noise, no group leaks for ε below "
        f"{found.safe_epsilon:.3g} (two counts, one person in both)."
    )
    if not n_leaking:
        return
    rows = [("whoever has", "has", "of", "confidence", "overall")]
    for row in found.worst[:SHOWN]:
        who = ", ".join(value or "" for value in row.public.values())
        shares = percent(row.confidence, 1, fixed=True), percent(row.overall, 1, fixed=True)
        rows.append((shorten(who), shorten(f"{found.sensitive} {row.value}"), f"{row.size:,}", *shares))
    terminal.say()
    terminal.table(rows)
    if n_leaking > SHOWN:
        terminal.say(f"… and {n_leaking - SHOWN:,} more", indent=2)
