"""The commands about noisy numbers and noisy answers: attack, perturb, advise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from showthrough.cli.app import app
from showthrough.cli.attack_options import NUMBERS, Advising, Answered, Columns, NoiseLaw, Noisy
from showthrough.cli.options import OUTPUT, Overwrite, Read, Reading, Writing, Written
from showthrough.errors import InputError

__all__ = [
    "advise",
    "attack",
    "perturb",
]

# Jobs are imported where they are called: they load numerical libraries that other commands do
# without.

NOISY = Group("Noisy numbers", sort_key=3)

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

ADVISE_HELP = """Examples:

  showthrough advise true.csv --column income --share 0.05 --privacy 50
  showthrough advise t.csv --column income --share 0.1 --privacy 50 --out advice/"""

Folder = Annotated[Path | None, Parameter(group=OUTPUT, help="A folder to write.")]


@app.command(group=NOISY, help_epilogue=ATTACK_HELP)
def attack(
    data: Annotated[Path | None, Parameter(group=NUMBERS, help="Noisy numbers, or people.")] = None,
    *,
    noisy: Annotated[Noisy | None, Parameter(name="*")] = None,
    answered: Annotated[Answered | None, Parameter(name="*")] = None,
    out: Folder = None,
    writing: Written = None,
) -> int:
    """Rebuild what noise was meant to hide, and say who is disclosed."""
    how, numbers, asked = writing or Writing(), noisy or Noisy(), answered or Answered()
    if asked.answers is not None or asked.sensitive is not None:
        if numbers.is_used:
            raise InputError("numbers and answers cannot be attacked at once", remedy="run the command twice")
        return _attack_answers(data, asked, how, confidence=numbers.confidence, out=out)
    if data is None:
        raise InputError(
            "nothing to attack", remedy="name a file of noisy numbers, or give --answers 501:420"
        )
    from showthrough.cli.attack_jobs import attack_numbers

    return attack_numbers(data, numbers, how, out=out)


def _attack_answers(
    data: Path | None, asked: Answered, how: Writing, *, confidence: float, out: Path | None
) -> int:
    if asked.answers is not None:
        from showthrough.cli.answer_jobs import attack_answers

        if data is not None or asked.sensitive is not None or asked.public is not None or out is not None:
            raise InputError("--answers stands alone: two counts need no file", remedy="leave the rest out")
        return attack_answers(asked, how.terminal(), confidence=confidence)
    if data is None:
        raise InputError("groups are counted in a file", remedy="name the file with the people")
    from showthrough.cli.group_jobs import attack_groups

    return attack_groups(data, asked, how, confidence=confidence, out=out)


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
    told: Read = None,
) -> int:
    """Add noise to columns of numbers; all other columns stay."""
    from showthrough.cli.noise_jobs import perturb_file

    return perturb_file(
        data,
        column,
        out,
        (told or Reading()).terminal(),
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
    advising: Annotated[Advising, Parameter(name="*")],
    out: Folder = None,
    writing: Written = None,
) -> int:
    """Find the least noise under which no attack discloses more than a share of the people."""
    from showthrough.cli.advice_jobs import advise_noise

    return advise_noise(data, column, advising, writing or Writing(), out=out)
