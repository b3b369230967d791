"""The commands about what is likely: fitting a prior, and probabilities under it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter, validators

from showthrough.cli.app import CLOSER, app
from showthrough.cli.options import (
    INPUT,
    OUTPUT,
    SCOPE,
    Effort,
    Overwrite,
    Positive,
    ReadOptions,
    Seed,
    TableOptions,
    Workers,
    WriteOptions,
    cores,
    listed,
    print_notes,
)
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError

if TYPE_CHECKING:
    from showthrough.formats.subject import Subject
    from showthrough.records import Records
    from showthrough.release import Release
    from showthrough.tables.likely.prior import Prior
    from showthrough.tables.likely.run import LikelySummary, SamplingLimits

__all__ = [
    "LikelyOptions",
    "PriorOptions",
    "fit_to",
    "likely",
    "likely_subject",
    "prior",
]

PRIOR_HELP = """Take the records from areas that resemble those whose tables will be examined,
but not from these areas themselves. The file holds probabilities, not records;
protect it as you protect the records it was fitted to.

Examples:

  showthrough prior elsewhere.parquet --schema schema.toml --out prior.json
  showthrough prior people.csv --columns age,sex,job --model independent \\
      --out prior.json"""

LIKELY_HELP = """What tables prove is found by audit; this command finds what they make likely.
A probability of 90 % or more is stated only if the prior was calibrated on
areas whose records are known (--calibrate) and its high probabilities came true
often enough there.

Examples:

  showthrough likely run/ --prior prior.json --out likely/
  showthrough likely people.csv --tables "age*sex" --tables "sex*job" \\
      --prior prior.json --calibrate others.csv --calibrate-by town \\
      --out likely/

Exit codes: 0 no statement reaches 90 % that was at most 50 % without the
tables, 1 at least one does, 2 bad input, 3 none does, but some were withheld."""

FILES = {
    "likely.parquet": "every statement with its probability",
    "areas.parquet": "one row per area",
    "summary.json": "the figures of all areas",
    "prior.json": "the prior, with its calibration",
}

#: Statements that are printed.
MOST_SHOWN: dict[Literal["claim", "finding"], int] = {"finding": 5, "claim": 3}

Share = Annotated[float, Parameter(validator=validators.Number(gte=0.5, lte=1))]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PriorOptions(ReadOptions):
    """What is fitted, and what it is called."""

    model: Annotated[
        Literal["bayes-nets", "latent-classes", "independent", "uniform"],
        Parameter(group=SCOPE, help="The kind of model to fit (default: bayes-nets)."),
    ] = "bayes-nets"
    name: Annotated[
        str | None, Parameter(group=SCOPE, help="The name of the prior (default: the name of the file).")
    ] = None
    seed: Seed = 0
    overwrite: Overwrite = False


@app.command(group=CLOSER, help_epilogue=PRIOR_HELP)
def prior(
    data: Annotated[Path, Parameter(group=INPUT, help="Records.")],
    *,
    out: Annotated[Path, Parameter(group=OUTPUT, help="The .json file to write.")],
    schema: Annotated[
        Path | None, Parameter(group=INPUT, help="A schema.toml: attributes, values, rules.")
    ] = None,
    columns: Annotated[str | None, Parameter(group=INPUT, help="Only these columns: a,b,c.")] = None,
    by: Annotated[
        str | None, Parameter(group=INPUT, help="The column that names the area; it is left out.")
    ] = None,
    how: PriorOptions = PriorOptions(),
) -> int:
    """Fit a prior to records: how likely each record type is before any table is read."""
    from showthrough.formats.records_file import read_records

    return fit_to(data, lambda: read_records(data, schema, by=by, columns=listed(columns)), out, how)


def fit_to(data: Path, read: Callable[[], Records], out: Path, how: PriorOptions) -> int:
    """Read records, fit a prior to them, write it, and print what it is."""
    from showthrough.files import check_new
    from showthrough.formats.prior_file import write_prior
    from showthrough.tables.likely.fit import fit_prior

    terminal = how.terminal()
    check_new(out, overwrite=how.overwrite)
    with terminal.step("reading"):
        records = read()
    with terminal.step("fitting"):
        found = fit_prior(records, model=how.model, name=how.name or data.name, seed=how.seed)
    write_prior(found, out)
    if terminal.as_json:
        terminal.json({"file": str(out), "name": found.name, "description": found.description})
    terminal.say(f"Prior “{found.name}”: {found.description}.", style="bold")
    terminal.say(f"Written to {out}")
    return 0


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LikelyOptions(WriteOptions):
    """Under which prior, what is looked for, and how hard."""

    prior: Annotated[Path, Parameter(group=INPUT, help="The prior, as written by showthrough prior.")]
    calibrate: Annotated[
        Path | None,
        Parameter(group=INPUT, help="Records of other areas, to measure how often such statements are true."),
    ] = None
    calibrate_by: Annotated[
        str | None,
        Parameter(group=INPUT, help="The column of these records that names the area (default: as --by)."),
    ] = None
    area: Annotated[str | None, Parameter(group=SCOPE, help="Only this area.")] = None
    least: Annotated[Share, Parameter(group=SCOPE, help="Smallest probability to write (default: 0.8).")] = (
        0.8
    )
    max_columns: Annotated[
        Positive, Parameter(group=SCOPE, help="Largest number of columns in a statement (default: 3).")
    ] = 3
    effort: Effort = 1.0
    seed: Seed = 0
    workers: Workers = None

    @property
    def limits(self) -> SamplingLimits:
        """As the library takes them."""
        from showthrough.tables.likely.run import SamplingLimits

        return SamplingLimits(self.least, self.max_columns, self.effort, self.seed)

    def parameters(self, name: str) -> dict[str, object]:
        """What is kept in the folder, with the name of the prior."""
        measured = None if self.calibrate is None else str(self.calibrate)
        return {
            "prior": name,
            "least": self.least,
            "max_columns": self.max_columns,
            "effort": self.effort,
            "seed": self.seed,
            "area": self.area,
            "calibrated_on": measured,
        }


Known = Callable[[Path], "Iterable[tuple[Release, Records]]"]


@app.command(group=CLOSER, help_epilogue=LIKELY_HELP)
def likely(
    data: Annotated[
        Path | None, Parameter(group=INPUT, help="A run folder, release.toml, microdata or counts.")
    ] = None,
    *,
    source: TableOptions = TableOptions(),
    out: Annotated[Path, Parameter(group=OUTPUT, help="The folder to write.")],
    how: LikelyOptions,
) -> int:
    """Estimate what tables of counts make likely without proving it."""
    with how.terminal().step("reading"):
        subject = _read(data, source)

    def known(file: Path) -> Iterator[tuple[Release, Records]]:
        """Areas whose records are known, with tables like the subject's."""
        return _known(file, how.calibrate_by or source.by, subject)

    return likely_subject(subject, out, how, known)


def _read(data: Path | None, source: TableOptions) -> Subject:
    """What is asked about; of a run of noisy counts the release that was audited, which has their values."""
    if data is None or not (data / "run.json").is_file():
        return source.read(data)
    from showthrough.tables.run.read import AuditRun

    run = AuditRun.open(data)
    if not run.noise:
        return source.read(data)
    from showthrough.formats.release_file import check_same_inputs, noisy_release

    release = noisy_release(run, source.release)
    subject = replace(source, release=()).read(release)
    check_same_inputs(run, subject.inputs(), release)
    return subject


def likely_subject(subject: Subject, out: Path, how: LikelyOptions, known: Known) -> int:
    """Look at the areas of a subject and write the folder; ``known`` reads areas to calibrate on."""
    from showthrough.cli.folder import maybe_folder, places, print_files
    from showthrough.folders import Description
    from showthrough.formats.prior_file import read_prior, write_prior
    from showthrough.locks import hold
    from showthrough.tables.likely.run import exit_code, write_likely

    terminal, area = how.terminal(), how.area
    believed = read_prior(how.prior)
    print_notes(subject, terminal)
    total = 1 if area is not None else subject.n_areas
    inputs = {**subject.inputs(), **_hashes(how.prior, how.calibrate)}
    described = Description("likely", how.parameters(believed.name), inputs)
    with hold(out):
        with maybe_folder(out, lambda: described, how, terminal) as draft:
            if draft is None:
                raise AssertionError("a folder was asked for")
            if how.calibrate is not None:
                believed = _calibrated(believed, known(how.calibrate), how, terminal)
            with terminal.step("sampling"), terminal.progress("sampling", total) as progress:
                summary = write_likely(
                    draft.path,
                    (one.release for one in subject.areas(area)),
                    believed,
                    limits=how.limits,
                    workers=max(1, min(total, how.workers or cores())),
                    progress=progress,
                )
            write_prior(believed, draft.path / "prior.json")
        code = exit_code(summary)
        if terminal.as_json:
            terminal.json({**summary.to_plain(), **places(out), "exit_code": code})
        _print(summary, out, subject, terminal)
        print_files(out, FILES, terminal)
    return code


def _hashes(*files: Path | None) -> dict[str, str]:
    from showthrough.frames import Source

    found: dict[str, str] = {}
    for file in files:
        if file is not None and file.suffix == ".json":
            from showthrough.files import file_digest

            found[str(file)] = file_digest(file)
        elif file is not None:
            found |= Source.of(file).digests()
    return found


def _known(file: Path, by: str | None, subject: Subject) -> Iterator[tuple[Release, Records]]:
    """Areas of a file of records with the same tables, published with the same noise."""
    from showthrough.formats.records_file import read_records
    from showthrough.releases import Releases
    from showthrough.tables.likely.measure import noise_like

    if by is None:
        raise InputError(
            "--calibrate needs areas",
            file=str(file),
            remedy="name the column with the area of each record: --calibrate-by town",
        )
    records = read_records(file, subject.layout.schema, by=by)
    first = next(iter(subject.source), None) if isinstance(subject.source, Releases) else None
    for name, one in records.by_area():
        exact = subject.layout.tabulate(one, area=name)
        noise = None if first is None else first.noise
        yield exact if noise is None else noise_like(exact, noise, seed=_NOISE), one


#: The seed of the noise that tables of known areas are published with.
_NOISE = 1


def _calibrated(
    believed: Prior, known: Iterable[tuple[Release, Records]], how: LikelyOptions, terminal: Terminal
) -> Prior:
    """The prior, measured on areas with the same tables."""
    from showthrough.tables.likely.measure import calibrate

    with terminal.step("calibrating"):
        areas = list(known)
        with terminal.progress("calibrating", len(areas)) as progress:
            return calibrate(
                believed,
                areas,
                where=how.calibrate.name if how.calibrate is not None else "",
                effort=how.effort,
                seed=how.seed,
                workers=max(1, min(how.workers or cores(), len(areas))),
                progress=progress,
            )


def _print(summary: LikelySummary, out: Path, subject: Subject, terminal: Terminal) -> None:
    from showthrough.tables.likely.run import most_telling

    terminal.say(summary.headline(subject.layout.schema), style="bold magenta")
    for text in summary.caveats():
        terminal.say(text)
    for one in summary.by_columns:
        many = "1 column" if one.columns == 1 else f"{one.columns} columns"
        terminal.say(f"Statements about {many}: {one.certain:,} certain, {one.likely:,} likely.")
    chosen = [one for kind, most in MOST_SHOWN.items() for one in most_telling(out, kind, most)]
    if chosen:
        terminal.say()
    for one in chosen:
        where = f"{one.area}: " if one.area else ""
        terminal.say(f"- {where}{one.sentence}", indent=2, hang=2)
