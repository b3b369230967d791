"""Attack columns of noisy numbers, write what was found, and say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from showthrough.cli.attack_folder import PAGE, hashes, held, maybe_folder, places, say_written, write_summary
from showthrough.cli.attack_found import (
    ColumnAttack,
    Measured,
    PrivacyChoice,
    measure,
    measure_pairs,
    summarise,
    write_found,
)
from showthrough.cli.attack_options import Noisy
from showthrough.cli.options import Writing
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, RecordsError
from showthrough.folders import Description
from showthrough.frames import Source
from showthrough.numbers.attack import Attacked, check_methods, run_attacks
from showthrough.numbers.columns_file import Numbers, read_numbers
from showthrough.numbers.exposure import DIRECT, IDEAL, Exposure
from showthrough.numbers.joint_noise import CorrelatedNoise, IndependentNoise
from showthrough.numbers.noise import JointNoise, Noise, parse_noise

__all__ = [
    "attack_numbers",
    "read_noise",
]

KIND = "attack"

FILES = (
    PAGE,
    ("densities.parquet", "the rebuilt distributions"),
    ("intervals.parquet", "what the attacks on single people say about each"),
    ("exposure.parquet", "how many are disclosed, by method and privacy interval"),
    ("points.parquet", "some records of pairs of columns, as published and as rebuilt"),
    ("people.parquet", "who is disclosed by which method"),
    ("summary.json", "all figures printed here, and more"),
)


def read_noise(texts: Sequence[str], covariance: Source | None, columns: Sequence[str]) -> Noise | JointNoise:
    """The law of the noise: one for all columns, one for each, or a covariance from a file."""
    if covariance is not None and not texts:
        found = read_numbers(covariance, columns, least=1)
        if len(found) != len(columns):
            raise RecordsError(
                "a covariance has one row for each column",
                file=found.file,
                found=f"{len(found)} rows for {len(columns)} columns",
            )
        try:
            return CorrelatedNoise(found.matrix)
        except InputError as error:
            raise error.at(file=found.file) from None
    if covariance is not None or not texts:
        raise InputError(
            "the noise is given in one way: --noise or --covariance",
            remedy="for example --noise uniform:125",
        )
    laws = [parse_noise(text) for text in texts]
    if len(laws) not in (1, len(columns)):
        raise InputError(
            "there is neither one noise for all columns nor one for each",
            found=f"{len(laws)} for {len(columns)} columns",
        )
    return laws[0] if len(laws) == 1 else IndependentNoise(tuple(laws))


def attack_numbers(data: Path, asked: Noisy, how: Writing, *, out: Path | None) -> int:
    """Rebuild the distributions, measure them against the truth where it is given, write and say it."""
    with held(out):
        return _attack_numbers(data, asked, how, out=out)


def _attack_numbers(data: Path, asked: Noisy, how: Writing, *, out: Path | None) -> int:
    terminal = how.terminal()
    truth, covariance = (
        None if path is None else Source.of(path) for path in (asked.truth, asked.covariance)
    )
    noise = read_noise(asked.noise, covariance, asked.column)
    privacy = PrivacyChoice(asked.shares, asked.widths, asked.ends)
    check_methods(asked.methods, columns=len(asked.column))
    with terminal.step("reading"):
        noisy = read_numbers(data, asked.column)
        true = _read_truth(truth, noisy)
        given = None if truth is None or privacy.columns is None else read_numbers(truth, privacy.columns)
    setting = Measured(noisy, noise, true, given, privacy, asked.confidence)
    with maybe_folder(
        out, lambda: _description(setting, asked, noisy.source, truth, covariance), how, terminal
    ) as draft:
        with terminal.step("attacking"):
            attacked = _attack(setting, asked.methods)
        with terminal.step("measuring"):
            found, pairs = measure(setting, attacked), measure_pairs(setting, attacked)
            summary = summarise(found, pairs, setting)
        if draft is not None:
            with terminal.step("writing"):
                write_found(draft.path, found, pairs, setting)
                write_summary(draft.path, summary)
    code = _exit_code(found)
    if terminal.as_json:
        terminal.json({**summary, **places(out), "exit_code": code})
    for number, one in enumerate(found):
        if number:
            terminal.say()
        _say(one, noisy, terminal, asked.confidence)
    if true is None:
        terminal.say(
            "How many people this gives away cannot be said without their true values: add --truth "
            "(exit code 3)."
        )
    say_written(out, FILES, terminal)
    return code


def _description(setting: Measured, asked: Noisy, *read: Source | None) -> Description:
    parameters = {
        "columns": list(setting.noisy.columns),
        "noise": str(setting.noise),
        "methods": asked.methods or "all",
        "confidence": asked.confidence,
        "privacy": asdict(setting.privacy),
    }
    return Description(KIND, parameters, hashes(*read))


def _attack(setting: Measured, methods: Sequence[str] | None) -> Sequence[Attacked]:
    noisy = setting.noisy
    try:
        return run_attacks(noisy.matrix, setting.noise, methods=methods, confidence=setting.confidence)
    except InputError as error:
        raise _named(error, noisy) from None


def _read_truth(truth: Source | None, noisy: Numbers) -> Numbers | None:
    if truth is None:
        return None
    true = read_numbers(truth, noisy.columns)
    if len(true) != len(noisy):
        raise RecordsError(
            "the truth is about another number of people than the noisy file",
            file=true.file,
            found=f"{len(true):,} rows, not {len(noisy):,}",
            remedy="both files must list the same people in the same order",
        )
    return true


def _named(error: InputError, noisy: Numbers) -> InputError:
    """The error with the file, and with the column's name for its number."""
    column = error.column
    if column is not None and column.isdigit() and 0 < int(column) <= len(noisy.columns):
        error.column = noisy.columns[int(column) - 1]
    return error.at(file=noisy.file)


def _exit_code(found: Sequence[ColumnAttack]) -> int:
    """1 if an attack that is right as often as it claims discloses anybody; 3 if nobody can tell."""
    measured = [one.exposure for one in found if one.exposure is not None]
    if not measured:
        return 3
    return int(any(one.strongest(privacy).disclosed.count for one in measured for privacy in one.privacies))


def _say(one: ColumnAttack, noisy: Numbers, terminal: Terminal, confidence: float) -> None:
    percent = f"{100 * confidence:g} %"
    terminal.say(f"Column {one.column}: {len(noisy):,} people, noise {one.noise}.", style="bold")
    for method, interval in one.attacked.intervals.items():
        if interval.low.ndim:
            text = f"everybody's own interval, {interval.mean_length:.4g} long on average"
        else:
            text = f"{percent} of the values between {float(interval.low):.5g} and {float(interval.high):.5g}"
        lost = f"; information loss {100 * one.losses[method]:.1f} %" if method in one.losses else ""
        terminal.say(f"- {method}: {text}{lost}", indent=2, hang=2)
    for note in one.doubts:
        terminal.note(f"{one.column}: {note}")
    if one.exposure is None:
        return
    terminal.say()
    terminal.say(_headline(one.exposure, confidence))
    terminal.say()
    terminal.table(list(_rows(one.exposure)))
    _say_wrong(one.exposure, terminal, confidence)


def _headline(exposure: Exposure, confidence: float) -> str:
    """The privacy interval in the middle of those asked for, in a sentence."""
    privacy = exposure.privacies[len(exposure.privacies) // 2]
    strongest, direct = exposure.strongest(privacy), exposure.get(DIRECT, privacy).disclosed
    low, high = strongest.disclosed.interval()
    return (
        f"Privacy interval {privacy}: the noisy value itself lies in it for {direct} of the people. The "
        f"strongest attack ({strongest.method}) places {strongest.disclosed} of them inside theirs with "
        f"{100 * confidence:g} % confidence ({100 * low:.1f} to {100 * high:.1f} % among many more people "
        "of the same kind)."
    )


def _rows(exposure: Exposure) -> list[tuple[str, ...]]:
    methods = [method for method in exposure.methods if method not in (DIRECT, IDEAL)]
    order = [DIRECT, *methods, IDEAL]
    rows = [("privacy", *order)]
    for privacy in exposure.privacies:
        shares = [f"{100 * exposure.get(method, privacy).disclosed.value:5.1f} %" for method in order]
        rows.append((privacy, *shares))
    return rows


def _say_wrong(exposure: Exposure, terminal: Terminal, confidence: float) -> None:
    """Attacks whose claims do not hold are named, so that their column is not misread."""
    for method in exposure.methods:
        row = exposure.get(method, exposure.privacies[0])
        if row.coverage is not None and not row.is_credible(confidence):
            terminal.note(
                f"{method} does not count: its intervals claim {100 * confidence:g} % and hold the values of "
                f"{row.coverage} of the people"
            )
