"""The command ``attack``: columns of noisy numbers here, noisy answers in :mod:`showthrough.cli.ratio`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter

from showthrough.cli.app import app
from showthrough.cli.options import OUTPUT, WriteOptions
from showthrough.cli.ratio import Answered, attack_answered
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.text import percent

if TYPE_CHECKING:
    from showthrough.numbers.attack_summary import AttackSummary, ColumnSummary, MethodSummary
    from showthrough.numbers.noise import JointNoise, Noise
    from showthrough.numbers.unknown_noise import KnownOfTruth

__all__ = [
    "NOISY",
    "NUMBERS",
    "Columns",
    "Confidence",
    "Folder",
    "NoiseLaw",
    "Noisy",
    "attack",
    "read_noise",
]

NOISY = Group("Noisy numbers", sort_key=3)
NUMBERS = Group("Noisy numbers", sort_key=1)

Columns = Annotated[
    tuple[str, ...], Parameter(group=NUMBERS, help="A column of numbers. Repeatable.", name="--column")
]
NoiseLaw = Annotated[
    tuple[str, ...],
    Parameter(
        group=NUMBERS,
        name="--noise",
        help="The noise: uniform:125, gaussian:sd=8, gaussian:variance=8 or laplace:20; once, or once for "
        "each column. attack also takes unknown.",
    ),
]
Confidence = Annotated[float, Parameter(help="The attacker's confidence (default: 0.95).")]
Folder = Annotated[Path | None, Parameter(group=OUTPUT, help="The folder to write.")]

HELP = """Three things can be attacked: columns of noisy numbers, two noisy answers, and
all groups of a file about which noisy answers would be given.

Methods for numbers: as (iterated Bayes' rule, Agrawal and Srikant), em
(expectation maximisation), sf (spectral filter), pca (principal components), be
(Bayes estimate). The last three need correlated columns.

Noise that is not known (--noise unknown) is estimated from what is known of the
true values: --true-step, --true-atom, --true-components, or --truth.

Examples:

  showthrough attack noisy.csv --column income --noise uniform:125 --truth t.csv
  showthrough attack --answers 501:420 --laplace 20
  showthrough attack people.csv --public age,race --sensitive ill --epsilon 0.1

Exit codes: 0 nobody is disclosed, 1 somebody is, 2 bad input, 3 cannot be
determined (without --truth, or if the noise does not follow the law given)."""


@Parameter(name="*", group=NUMBERS)
@dataclass(frozen=True, kw_only=True)
class Noisy:
    """Which columns are noisy, how, and the privacy intervals to measure at."""

    column: Columns = ()
    noise: NoiseLaw = ()
    covariance: Annotated[Path | None, Parameter(help="A file with the covariance of correlated noise.")] = (
        None
    )
    truth: Annotated[Path | None, Parameter(help="The true values: same columns, same order of rows.")] = None
    true_step: Annotated[
        float | None, Parameter(help="For unknown noise: true values are multiples of this, such as 1.")
    ] = None
    true_atom: Annotated[
        str | None,
        Parameter(help="For unknown noise: a value and the smallest share of people who have it: 0:0.3."),
    ] = None
    true_components: Annotated[
        int | None,
        Parameter(help="For unknown noise: the largest number of directions in which the true values vary."),
    ] = None
    method: Annotated[
        tuple[Literal["as", "em", "sf", "pca", "be", "all"], ...],
        Parameter(help="Only these attacks (default: all that apply). Repeatable."),
    ] = ()
    confidence: Confidence = 0.95
    privacy: Annotated[
        str | None, Parameter(help="Privacy intervals as percentages of each value (default: 35 to 80).")
    ] = None
    absolute: Annotated[str | None, Parameter(help="Privacy intervals as half-widths: 10,20.")] = None
    floor: Annotated[float, Parameter(help="The smallest half-width of --privacy, for values near 0.")] = 0.0
    privacy_columns: Annotated[
        str | None, Parameter(help="Columns of --truth with each person's interval: low,high.")
    ] = None

    @property
    def is_used(self) -> bool:
        """Whether noisy numbers are to be attacked."""
        return bool(self.column or self.noise or self.covariance or self.truth)

    @property
    def is_unknown(self) -> bool:
        """Whether the law of the noise is to be estimated."""
        return self.noise == ("unknown",)

    def known(self) -> KnownOfTruth:
        """What is known about the true values, for unknown noise."""
        from showthrough.numbers.unknown_noise import KnownOfTruth

        if not self.is_unknown and (self.true_step, self.true_atom, self.true_components) != (None,) * 3:
            raise InputError(
                "--true-step, --true-atom and --true-components are for unknown noise",
                remedy="leave them out, or write --noise unknown",
            )
        try:
            value, share = (None, None) if self.true_atom is None else map(float, self.true_atom.split(":"))
        except ValueError:
            raise InputError(
                "cannot read --true-atom",
                found=str(self.true_atom),
                remedy="write 0:0.3 for at least 30\xa0% zeros",
            ) from None
        atom = None if value is None or share is None else (value, share)
        return KnownOfTruth(self.true_step, atom, self.true_components)

    @property
    def methods(self) -> list[str] | None:
        """The methods asked for; None for all that fit."""
        return None if not self.method or "all" in self.method else [str(name) for name in self.method]

    @property
    def shares(self) -> tuple[float, ...] | None:
        """Privacy intervals as shares of each value; None for the usual ones."""
        if self.privacy is not None:
            return tuple(share / 100 for share in _numbers(self.privacy, "--privacy"))
        return None if self.absolute is None and self.privacy_columns is None else ()

    @property
    def widths(self) -> tuple[float, ...]:
        """Privacy intervals as half-widths."""
        return () if self.absolute is None else _numbers(self.absolute, "--absolute")

    @property
    def ends(self) -> tuple[str, str] | None:
        """The columns with everybody's own privacy interval."""
        if self.privacy_columns is None:
            return None
        names = [part.strip() for part in self.privacy_columns.split(",")]
        if len(names) != 2 or not all(names):
            raise InputError(
                "cannot read --privacy-columns",
                found=self.privacy_columns,
                remedy="write two names: low,high",
            )
        return names[0], names[1]


@app.command(group=NOISY, help_epilogue=HELP)
def attack(
    data: Annotated[Path | None, Parameter(group=NUMBERS, help="Noisy numbers, or people.")] = None,
    *,
    noisy: Annotated[Noisy | None, Parameter(name="*")] = None,
    answered: Annotated[Answered | None, Parameter(name="*")] = None,
    out: Folder = None,
    writing: WriteOptions = WriteOptions(),
) -> int:
    """Reconstruct what noise was meant to hide, and report who is disclosed."""
    how, numbers, asked = writing, noisy or Noisy(), answered or Answered()
    if asked.is_used:
        if numbers.is_used:
            raise InputError(
                "numbers and answers cannot be attacked together", remedy="run the command twice"
            )
        return attack_answered(data, asked, how, confidence=numbers.confidence, out=out)
    if data is None:
        raise InputError(
            "nothing to attack", remedy="name a file of noisy numbers, or give --answers 501:420"
        )
    from showthrough.cli.folder import locked

    with locked(out):
        return _attack_numbers(data, numbers, how, out=out)


def _attack_numbers(data: Path, asked: Noisy, how: WriteOptions, *, out: Path | None) -> int:
    """Rebuild the distributions, measure them against the truth where it is given, write and print."""
    from showthrough.cli.folder import input_hashes, maybe_folder, places, print_files
    from showthrough.folders import Description
    from showthrough.frames import Source
    from showthrough.numbers.attack import USUAL_SHARES, PrivacyLevels, attack, check_truth
    from showthrough.numbers.attack_summary import FILES, NO_TRUTH, AttackSummary, write_attack
    from showthrough.numbers.attack_unknown import attack_unknown
    from showthrough.numbers.columns_file import read_numbers
    from showthrough.numbers.methods import check_methods

    terminal = how.terminal()
    truth, covariance = (
        None if path is None else Source.of(path) for path in (asked.truth, asked.covariance)
    )
    known = asked.known()
    noise = "unknown" if asked.is_unknown else read_noise(asked.noise, covariance, asked.column)
    shares, widths, ends = asked.shares, asked.widths, asked.ends
    check_methods(asked.methods, columns=len(asked.column))
    with terminal.step("reading"):
        noisy = read_numbers(data, asked.column)
        true = None if truth is None else check_truth(read_numbers(truth, noisy.columns), noisy)
        own = None if truth is None or ends is None else read_numbers(truth, ends)
    privacy = PrivacyLevels(USUAL_SHARES if shares is None else shares, widths, ends, own, asked.floor)

    def describe() -> Description:
        parameters = {
            "columns": list(noisy.columns),
            "noise": str(noise),
            "methods": asked.methods or "all",
            "confidence": asked.confidence,
            "privacy": privacy.to_plain(),
            **({"known": asdict(known)} if asked.is_unknown else {}),
        }
        return Description("attack", parameters, input_hashes(noisy.source, truth, covariance))

    with maybe_folder(out, describe, how, terminal) as draft:
        with terminal.step("attacking"):
            methods, sure = asked.methods, asked.confidence
            if isinstance(noise, str):
                found = attack_unknown(noisy, known, true, methods=methods, privacy=privacy, confidence=sure)
            else:
                found = attack(noisy, noise, true, methods=methods, privacy=privacy, confidence=sure)
        with terminal.step("measuring"):
            summary = AttackSummary.of(found)
        if draft is not None:
            with terminal.step("writing"):
                write_attack(draft.path, found, summary)
    code = 3 if found.discloses is None else int(found.discloses)
    if terminal.as_json:
        terminal.json({**summary.to_plain(), **places(out), "exit_code": code})
    _print(summary, terminal)
    if true is None:
        terminal.say(f"{NO_TRUTH} (Exit code 3.)")
    print_files(out, FILES, terminal)
    return code


def read_noise(texts: tuple[str, ...], covariance: object, columns: tuple[str, ...]) -> Noise | JointNoise:
    """The law of the noise: one for all columns, one for each, or a covariance from a file."""
    from showthrough.numbers.columns_file import read_covariance
    from showthrough.numbers.joint_noise import as_noise

    if (covariance is None) == (not texts):
        raise InputError(
            "give the noise in one way: --noise or --covariance", remedy="for example --noise uniform:125"
        )
    if covariance is not None:
        return read_covariance(covariance, columns)
    return as_noise(list(texts), columns=len(columns))


def _print(summary: AttackSummary, terminal: Terminal) -> None:
    from showthrough.numbers.methods import explain_methods

    if summary.unknown is not None:
        terminal.say(summary.unknown.sentence)
        terminal.say()
    for number, column in enumerate(summary.columns):
        if number:
            terminal.say()
        terminal.say(
            f"Column {column.column}: {summary.people:,} people, noise {column.noise}.", style="bold"
        )
        for name, method in column.methods.items():
            terminal.say(f"- {name}: {_found(method, summary.confidence)}", indent=2, hang=2)
        for doubt in column.doubts:
            terminal.note(f"{column.column}: {doubt}")
        _print_exposure(summary, column, terminal)
    if summary.together:
        terminal.say()
        terminal.say(summary.together)
    shown = [name for column in summary.columns for name in (*column.measured_methods, *column.methods)]
    terminal.say()
    terminal.say(f"Methods. {explain_methods(shown)}")


def _found(method: MethodSummary, confidence: float) -> str:
    if method.interval is None:
        text = f"everybody's own interval, {method.mean_length:.4g} long on average"
    else:
        low, high = method.interval
        text = f"{percent(confidence)} of the values between {low:.5g} and {high:.5g}"
    if method.information_loss is None:
        return text
    return f"{text}; information loss {percent(method.information_loss, 1)}"


def _print_exposure(summary: AttackSummary, column: ColumnSummary, terminal: Terminal) -> None:
    """How many people are disclosed; attacks that are wrong too often are named as such."""
    headline = summary.headline(column)
    if headline is None:
        return
    terminal.say()
    terminal.say(" ".join(headline))
    terminal.say()
    methods, shares = column.measured_methods, column.shares
    rows = [
        (level, *(percent(shares[level, method], 1, fixed=True) for method in methods))
        for level in column.levels
    ]
    terminal.table([("privacy", *methods), *rows])
    for method, coverage in column.wrong.items():
        terminal.note(
            f"{method} does not count: its intervals claim {percent(summary.confidence)} but hold the "
            f"values of {percent(coverage, 1)} of the people"
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
