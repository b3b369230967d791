"""The commands ``perturb``, which adds noise, and ``advise``, which finds how much is enough."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from showthrough.cli.app import app
from showthrough.cli.attack import NOISY, NUMBERS, Columns, Confidence, Folder, NoiseLaw, read_noise
from showthrough.cli.calls import CallError
from showthrough.cli.options import OUTPUT, Overwrite, Positive, ReadOptions, WriteOptions
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, RunError
from showthrough.text import several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from showthrough.numbers.advice_summary import AdviceSummary
    from showthrough.numbers.advise import Advice
    from showthrough.numbers.columns_file import Numbers
    from showthrough.numbers.interquantile import PrivacyIntervals
    from showthrough.numbers.noise import Floats, JointNoise, Noise
    from showthrough.numbers.tryout import NoiseTrial

__all__ = [
    "advise",
    "perturb",
]

PERTURB_HELP = """Examples:

  showthrough perturb t.csv --column income --noise uniform:125 --out noisy.csv
  showthrough perturb t.csv --column income --column debt --correlated 0.5 \\
      --out noisy.csv"""

ADVISE_HELP = """Examples:

  showthrough advise true.csv --column income --share 0.05 --privacy 50
  showthrough advise t.csv --column income --share 0.1 --privacy 50 \\
      --out advice/"""

#: Seeds below this can be found by trying them all.
GUESSABLE = 2**64


@app.command(group=NOISY, help_epilogue=PERTURB_HELP)
def perturb(
    data: Annotated[Path, Parameter(group=NUMBERS, help="A table: CSV, TSV or Parquet.")],
    *,
    column: Columns,
    noise: NoiseLaw = (),
    correlated: Annotated[
        float | None,
        Parameter(
            group=NUMBERS,
            help="Instead of --noise: Gaussian noise with this multiple of the data's covariance.",
        ),
    ] = None,
    out: Annotated[Path, Parameter(group=OUTPUT, help="The .csv, .tsv or .parquet file to write.")],
    covariance_out: Annotated[
        Path | None, Parameter(group=OUTPUT, help="A file for the covariance of correlated noise.")
    ] = None,
    seed: Annotated[
        int | None, Parameter(group=OUTPUT, help="Seed of the noise (default: drawn and discarded).")
    ] = None,
    overwrite: Overwrite = False,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Add noise to columns of numbers; all other columns stay unchanged."""
    import secrets

    import pyarrow as pa

    from showthrough.numbers.columns_file import read_numbers, write_table
    from showthrough.numbers.noise import JointNoise
    from showthrough.numbers.perturb import check_seed
    from showthrough.numbers.perturb import perturb as add_noise

    terminal = options.terminal()
    _check_outputs(data, (out, covariance_out), overwrite=overwrite)
    with terminal.step("reading"):
        numbers = read_numbers(data, column, whole=True, least=1)
    law = _law(numbers.matrix, noise, correlated, column)
    if covariance_out is not None and not isinstance(law, JointNoise):
        raise InputError("--covariance-out goes with --correlated", remedy="leave it out")
    if seed is not None and 0 <= seed < GUESSABLE:
        terminal.note(
            "a seed this small can be found by trying, and whoever finds it can remove the noise; "
            "leave out --seed to have one drawn and discarded"
        )
    noisy = add_noise(numbers.matrix, law, seed=secrets.randbits(128) if seed is None else check_seed(seed))
    with terminal.step("writing"):
        write_table(out, numbers.replaced(noisy))
        if covariance_out is not None and isinstance(law, JointNoise):
            write_table(covariance_out, pa.table(dict(zip(column, law.covariance.T, strict=True))))
    if terminal.as_json:
        terminal.json({"file": str(out), "records": len(numbers), "columns": list(column), "noise": str(law)})
    terminal.say(
        f"Wrote {out}: {several(len(numbers), 'record')} with noise ({law}) on {', '.join(column)}; "
        "all other columns are unchanged."
    )
    terminal.say(
        "How much this hides is another question: see showthrough attack with --truth, or showthrough advise."
    )
    return 0


def _check_outputs(data: Path, paths: Sequence[Path | None], *, overwrite: bool) -> None:
    """Refuse files that exist, and the file with the true values in any case."""
    from showthrough.files import check_new

    for path in paths:
        if path is None:
            continue
        check_new(path, overwrite=overwrite)
        if path.exists() and path.samefile(data):
            raise RunError(
                "the output is the file with the true values", file=str(path), remedy="choose another file"
            )


def _law(
    matrix: Floats, noise: tuple[str, ...], correlated: float | None, columns: tuple[str, ...]
) -> Noise | JointNoise:
    from showthrough.numbers.joint_noise import correlated_like

    if correlated is None:
        return read_noise(noise, None, columns)
    if noise:
        raise InputError("give the noise in one way: --noise or --correlated", remedy="leave one out")
    if len(columns) < 2:
        raise InputError("correlated noise needs several columns", remedy="name more with --column")
    return correlated_like(matrix, ratio=correlated)


@Parameter(name="*", group=NUMBERS)
@dataclass(frozen=True, kw_only=True)
class Advising:
    """How much may be disclosed, and how advice is searched for."""

    share: Annotated[float, Parameter(help="The largest share of people that may be disclosed: 0.05.")]
    privacy: Annotated[
        float | None, Parameter(help="Privacy interval as a percentage of each value: 50.")
    ] = None
    absolute: Annotated[float | None, Parameter(help="Privacy interval as a half-width instead.")] = None
    floor: Annotated[float, Parameter(help="The smallest half-width of --privacy, for values near 0.")] = 0.0
    family: Annotated[
        Literal["uniform", "gaussian", "laplace", "correlated"],
        Parameter(help="The kind of noise (default: uniform); correlated is for several columns."),
    ] = "uniform"
    confidence: Confidence = 0.95
    draws: Annotated[Positive, Parameter(help="Draws of the noise for each scale tried (default: 3).")] = 3
    confirmations: Annotated[
        Positive, Parameter(help="Fresh draws that must all keep within the limit in the end (default: 72).")
    ] = 72
    seed: Annotated[int, Parameter(help="Seed of the simulation (default: 0).")] = 0

    def check_share(self) -> None:
        """Raise for what can be no share; a number of percent is answered with the share it means."""
        if 0 <= self.share < 1:
            return
        meant = f"{self.share / 100:.6g}" if 1 <= self.share < 100 else "0.05"
        raise CallError(
            "a share is at least 0 and less than 1",
            file="--share",
            found=f"{self.share:g}",
            remedy=f"write {float(meant) * 100:g} % as {meant}",
            options={"--share": meant},
        )

    def intervals(self, column: Floats) -> PrivacyIntervals:
        """Everybody's privacy interval, for the true values of one column."""
        from showthrough.numbers.interquantile import PrivacyIntervals

        if self.absolute is not None:
            return PrivacyIntervals.absolute(column, self.absolute)
        return PrivacyIntervals.relative(column, (self.privacy or 0.0) / 100, floor=self.floor)


@app.command(group=NOISY, help_epilogue=ADVISE_HELP)
def advise(
    data: Annotated[Path, Parameter(group=NUMBERS, help="The true values.")],
    *,
    column: Columns,
    advising: Annotated[Advising, Parameter(name="*")],
    out: Folder = None,
    writing: WriteOptions = WriteOptions(),
) -> int:
    """Find the least noise under which no attack tried discloses more than a given share of people."""
    from showthrough.cli.folder import locked

    advising.check_share()
    if (advising.privacy is None) == (advising.absolute is None):
        raise InputError(
            "give the privacy interval in one way: --privacy or --absolute",
            remedy="for example --privacy 50, which is ±50\xa0% of each value",
        )
    with locked(out):
        return _advise(data, column, advising, writing, out=out)


def _advise(
    data: Path, columns: tuple[str, ...], asked: Advising, how: WriteOptions, *, out: Path | None
) -> int:
    """The least noise that is enough, with what is left of the data; with a folder, also a curve."""
    import pyarrow.parquet as pq

    from showthrough.cli.folder import input_hashes, maybe_folder, places, print_files
    from showthrough.files import write_json
    from showthrough.folders import Description
    from showthrough.numbers.advice_summary import FILES, AdviceSummary
    from showthrough.numbers.columns_file import read_numbers
    from showthrough.numbers.tryout import trials_table

    terminal = how.terminal()
    with terminal.step("reading"):
        numbers = read_numbers(data, columns)

    def describe() -> Description:
        parameters = {"columns": list(columns), **asdict(asked)}
        return Description("advice", parameters, input_hashes(numbers.source))

    with maybe_folder(out, describe, how, terminal) as draft:
        found, curve = _search(numbers, asked, terminal, follow=draft is not None)
        label = asked.intervals(numbers.matrix[:1, 0]).label
        summary = AdviceSummary.of(found, numbers, privacy=label, confidence=asked.confidence, curve=curve)
        if draft is not None:
            with terminal.step("writing"):
                table = trials_table([*found.trials, *curve], numbers.columns)
                pq.write_table(table, draft.path / "scales.parquet", compression="zstd")
                write_json(draft.path / "summary.json", summary.to_plain())
    if terminal.as_json:
        terminal.json({**summary.to_plain(), **places(out), "exit_code": 0})
    _print(summary, terminal)
    print_files(out, FILES, terminal)
    return 0


def _search(
    numbers: Numbers, asked: Advising, terminal: Terminal, *, follow: bool
) -> tuple[Advice, tuple[NoiseTrial, ...]]:
    """The advice and, to follow the curve, scales around it with draws of their own."""
    from showthrough.numbers.advice_summary import CURVE_FACTORS
    from showthrough.numbers.advise import advise as find_noise
    from showthrough.numbers.tryout import try_scales

    settings: dict[str, Any] = {
        "privacy": asked.intervals,
        "family": asked.family,
        "confidence": asked.confidence,
        "draws": asked.draws,
        "seed": asked.seed,
    }
    try:
        with terminal.step("searching"), terminal.progress("trying", None) as progress:
            found = find_noise(
                numbers.matrix,
                share=asked.share,
                confirmations=asked.confirmations,
                progress=progress,
                **settings,
            )
        if not follow:
            return found, ()
        scales = [found.trial.scale * factor for factor in CURVE_FACTORS]
        with terminal.step("following the curve"), terminal.progress("trying", len(scales)) as progress:
            return found, try_scales(numbers.matrix, scales, progress=progress, **settings)
    except InputError as error:
        raise numbers.named(error) from None


def _print(found: AdviceSummary, terminal: Terminal) -> None:
    from showthrough.numbers.advice_summary import LIMITS

    terminal.say(f"Noise {found.noise.law} is enough.", style="bold")
    terminal.say()
    terminal.say(found.verdict)
    terminal.say(found.how_often)
    terminal.say(found.less)
    if found.alike:
        terminal.say(found.alike)
    terminal.say()
    terminal.table([("what remains of the data", ""), *found.utility.words()])
    terminal.say()
    terminal.say(LIMITS)
    if found.relapse:
        terminal.note(found.relapse)
