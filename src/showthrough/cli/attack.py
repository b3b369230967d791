"""The commands about noisy numbers and noisy answers: attack, perturb, advise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter

from showthrough.cli.app import app
from showthrough.cli.options import OUTPUT, Positive, Telling, Told
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError

if TYPE_CHECKING:
    from showthrough.cli.answer_jobs import AnswerChoice

__all__ = ["advise", "attack", "perturb"]

# Jobs are imported where they are called: they load numerical libraries that other commands do
# without.

NOISY = Group("Noisy numbers", sort_key=3)
NUMBERS = Group("Noisy numbers", sort_key=1)
ANSWERS = Group("Noisy answers", sort_key=2)

ATTACK_HELP = """Three things can be attacked: columns of noisy numbers, two noisy answers, and
all groups of a file that noisy answers would be given about.

Examples:

  showthrough attack noisy.csv --column income --noise uniform:125 --truth t.csv
  showthrough attack --answers 501:420 --laplace 20
  showthrough attack people.csv --public age,race --sensitive ill --epsilon 0.1

Exit codes: 0 nobody is disclosed, 1 somebody is, 2 bad input, 3 nobody can
tell (without --truth)."""

PERTURB_HELP = """Examples:

  showthrough perturb t.csv --column income --noise uniform:125 --out noisy.csv
  showthrough perturb t.csv --column income --column debt --correlated 0.5 \
    --out noisy.csv"""

ADVISE_HELP = """Example:

  showthrough advise true.csv --column income --share 0.05 --privacy 50"""

Columns = Annotated[
    tuple[str, ...], Parameter(group=NUMBERS, help="A column of numbers. Repeatable.", name="--column")
]
NoiseLaw = Annotated[
    tuple[str, ...],
    Parameter(
        group=NUMBERS,
        name="--noise",
        help="uniform:125, gaussian:sd=8, gaussian:variance=8 or laplace:20; once, or once for each column.",
    ),
]
Overwrite = Annotated[bool, Parameter(group=OUTPUT, help="Replace what is there.")]
Confidence = Annotated[float, Parameter(help="The attacker's confidence (default: 0.95).")]
#: The paper's privacy intervals.
USUAL = "35,40,45,50,55,60,65,70,75,80"


@Parameter(name="*", group=ANSWERS)
@dataclass(frozen=True)
class Answered:
    """The noise on answers, and which groups are asked about."""

    answers: Annotated[
        str | None, Parameter(help="True counts: a group's size and the matching, 501:420.")
    ] = None
    laplace: Annotated[float | None, Parameter(help="The scale of Laplace noise.")] = None
    gaussian: Annotated[float | None, Parameter(help="The standard deviation of Gaussian noise.")] = None
    epsilon: Annotated[float | None, Parameter(help="The ε of differential privacy instead.")] = None
    delta: Annotated[float | None, Parameter(help="Its δ: the noise is then Gaussian.")] = None
    sensitivity: Annotated[
        float | None, Parameter(help="How far one person moves both counts (default: 2, √2 with δ).")
    ] = None
    public: Annotated[str | None, Parameter(help="Public columns: a,b,c (default: all others).")] = None
    sensitive: Annotated[str | None, Parameter(help="The sensitive column.")] = None

    def noise(self) -> AnswerChoice:
        """The noise as the jobs take it."""
        from showthrough.cli.answer_jobs import AnswerChoice

        return AnswerChoice(self.laplace, self.gaussian, self.epsilon, self.delta, self.sensitivity)


@app.command(group=NOISY, help_epilogue=ATTACK_HELP)
def attack(
    data: Annotated[Path | None, Parameter(group=NUMBERS, help="Noisy numbers, or people.")] = None,
    *,
    column: Columns = (),
    noise: NoiseLaw = (),
    covariance: Annotated[
        Path | None, Parameter(group=NUMBERS, help="A file with the covariance of correlated noise.")
    ] = None,
    truth: Annotated[
        Path | None, Parameter(group=NUMBERS, help="The true values: same columns, same order of rows.")
    ] = None,
    method: Annotated[
        tuple[Literal["as", "em", "sf", "pca", "be", "all"], ...],
        Parameter(group=NUMBERS, help="Only these attacks (default: all that fit). Repeatable."),
    ] = (),
    confidence: Annotated[Confidence, Parameter(group=NUMBERS)] = 0.95,
    privacy: Annotated[
        str | None,
        Parameter(group=NUMBERS, help="Privacy intervals in percent of each value (default: 35 to 80)."),
    ] = None,
    absolute: Annotated[
        str | None, Parameter(group=NUMBERS, help="Privacy intervals as half widths: 10,20.")
    ] = None,
    privacy_columns: Annotated[
        str | None, Parameter(group=NUMBERS, help="Columns of --truth with each person's interval: low,high.")
    ] = None,
    answered: Annotated[Answered | None, Parameter(name="*")] = None,
    out: Annotated[Path | None, Parameter(group=OUTPUT, help="A folder to write.")] = None,
    overwrite: Overwrite = False,
    told: Told = None,
) -> int:
    """Rebuild what noise was meant to hide, and say who is disclosed."""
    terminal, asked = (told or Telling()).terminal(), answered or Answered()
    if asked.answers is not None or asked.sensitive is not None:
        if column or noise or covariance or truth:
            raise InputError("numbers and answers cannot be attacked at once", remedy="run the command twice")
        return _attack_answers(data, asked, terminal, confidence=confidence, out=out, overwrite=overwrite)
    if data is None:
        raise InputError(
            "nothing to attack", remedy="name a file of noisy numbers, or give --answers 501:420"
        )
    from showthrough.cli.attack_found import PrivacyChoice
    from showthrough.cli.attack_jobs import attack_numbers, read_noise

    chosen = None if not method or "all" in method else [str(name) for name in method]
    shares = _numbers(privacy, "--privacy") if privacy is not None else ()
    if not shares and absolute is None and privacy_columns is None:
        shares = _numbers(USUAL, "--privacy")
    return attack_numbers(
        data,
        column,
        read_noise(noise, covariance, column),
        terminal,
        truth=truth,
        methods=chosen,
        confidence=confidence,
        privacy=PrivacyChoice(
            tuple(share / 100 for share in shares),
            _numbers(absolute, "--absolute") if absolute is not None else (),
            _ends(privacy_columns),
        ),
        out=out,
        overwrite=overwrite,
    )


def _attack_answers(
    data: Path | None,
    asked: Answered,
    terminal: Terminal,
    *,
    confidence: float,
    out: Path | None,
    overwrite: bool,
) -> int:
    from showthrough.cli.answer_jobs import attack_answers, attack_groups

    noise = asked.noise().noise()
    if asked.answers is not None:
        if data is not None or asked.sensitive is not None or asked.public is not None or out is not None:
            raise InputError("--answers stands alone: two counts need no file", remedy="leave the rest out")
        return attack_answers(asked.answers, noise, terminal, confidence=confidence)
    if data is None or asked.sensitive is None:
        raise InputError("groups are counted in a file", remedy="name the file with the people")
    public = [part.strip() for part in (asked.public or "").split(",") if part.strip()]
    return attack_groups(
        data, noise, terminal, public=public, sensitive=asked.sensitive, out=out, overwrite=overwrite
    )


@app.command(group=NOISY, help_epilogue=PERTURB_HELP)
def perturb(
    data: Annotated[Path, Parameter(group=NUMBERS, help="A table: CSV, TSV or Parquet.")],
    *,
    column: Columns,
    noise: NoiseLaw = (),
    correlated: Annotated[
        float | None,
        Parameter(
            group=NUMBERS, help="Normal noise with the data's covariance times this, instead of --noise."
        ),
    ] = None,
    out: Annotated[Path, Parameter(group=OUTPUT, help="The .csv, .tsv or .parquet file to write.")],
    covariance_out: Annotated[
        Path | None, Parameter(group=OUTPUT, help="A file for the covariance of correlated noise.")
    ] = None,
    seed: Annotated[
        int | None, Parameter(group=OUTPUT, help="Seed of the noise (default: one drawn and forgotten).")
    ] = None,
    overwrite: Overwrite = False,
    told: Told = None,
) -> int:
    """Add noise to columns of numbers; all other columns stay."""
    from showthrough.cli.noise_jobs import perturb_file

    return perturb_file(
        data,
        column,
        out,
        (told or Telling()).terminal(),
        noise=noise,
        correlated=correlated,
        covariance_out=covariance_out,
        seed=seed,
        overwrite=overwrite,
    )


@app.command(group=NOISY, help_epilogue=ADVISE_HELP)
def advise(
    data: Annotated[Path, Parameter(group=NUMBERS, help="The true values.")],
    *,
    column: Columns,
    share: Annotated[float, Parameter(help="The largest share of people that may be disclosed: 0.05.")],
    privacy: Annotated[float | None, Parameter(help="Privacy interval in percent of each value: 50.")] = None,
    absolute: Annotated[float | None, Parameter(help="Privacy interval as a half width instead.")] = None,
    family: Annotated[
        Literal["uniform", "gaussian", "laplace", "correlated"],
        Parameter(help="The kind of noise (default: uniform); correlated is for several columns."),
    ] = "uniform",
    confidence: Confidence = 0.95,
    draws: Annotated[Positive, Parameter(help="Draws of the noise for each scale tried (default: 3).")] = 3,
    seed: Annotated[int, Parameter(help="Seed of the simulation (default: 0).")] = 0,
    told: Told = None,
) -> int:
    """Find the least noise under which no attack discloses more than a share of the people."""
    from showthrough.cli.noise_jobs import advise_noise

    return advise_noise(
        data,
        column,
        (told or Telling()).terminal(),
        share=share,
        privacy=privacy,
        absolute=absolute,
        family=family,
        confidence=confidence,
        draws=draws,
        seed=seed,
    )


def _numbers(text: str, option: str) -> tuple[float, ...]:
    """A list of positive numbers, as written by a user.

    >>> _numbers("35, 40", "--privacy")
    (35.0, 40.0)
    """
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or not all(0 < number < float("inf") for number in numbers):
        raise InputError(
            f"cannot read {option}", found=text, remedy="write positive numbers such as 35,50,80"
        )
    return tuple(sorted(set(numbers)))


def _ends(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = [part.strip() for part in text.split(",")]
    if len(names) != 2 or not all(names):
        raise InputError("cannot read --privacy-columns", found=text, remedy="write two names: low,high")
    return names[0], names[1]
