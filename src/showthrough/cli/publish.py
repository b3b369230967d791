"""The commands ``publish`` and ``count``, and the options they share with ``check`` and ``compare``.

What they do is imported when they run, so that other commands start fast.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from showthrough.cli.app import app
from showthrough.cli.options import OUTPUT, ReadOptions, WriteOptions
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.text import percent

if TYPE_CHECKING:
    import pyarrow as pa

    from showthrough.microdata.columns import Columns
    from showthrough.microdata.manifest import Manifest, TableEntry
    from showthrough.microdata.methods import PublishingMethod
    from showthrough.microdata.product import ProductPerturbation
    from showthrough.microdata.promises import Promise, PromiseKind
    from showthrough.microdata.publication import Publication
    from showthrough.selection import Selection

__all__ = [
    "PROMISE",
    "PUBLISHING",
    "RECORDS",
    "ColumnOptions",
    "Data",
    "Given",
    "Merge",
    "PromiseOptions",
    "SamplingOptions",
    "count",
    "listed",
    "naming",
    "print_written",
    "publish",
]

PUBLISHING = Group("Records with a sensitive column", sort_key=2)
RECORDS = Group("The records", sort_key=1)
PROMISE = Group("What is promised", sort_key=2)

PUBLISH_HELP = """Examples:

  showthrough publish people.parquet --sensitive disease --rho 0.1:0.5 --out public/
  showthrough publish people.csv --sensitive disease --rho 0.1:0.5 \\
      --method partitioned --out public/
  showthrough publish people.parquet --sensitive disease \\
      --reconstruction 0.3:0.3 --out public/
  showthrough publish people.parquet --sensitive disease --diversity 4 --out public/"""

COUNT_HELP = """Examples:

  showthrough count public/ --where "age=20-29,disease=flu"
  showthrough count public/ --by age --where disease=flu --consistent"""

#: Sub-tables that are listed one by one.
MOST_LISTED = 8

#: Seeds below this can be found by trying them all.
GUESSABLE = 2**64

Data = Annotated[
    Path, Parameter(group=RECORDS, help="A CSV, TSV or Parquet file, a folder of these, or a pattern.")
]
Merge = Annotated[
    Literal["conditional", "components", "none"],
    Parameter(
        group=RECORDS,
        help="For --reconstruction, merge public values that say the same about the sensitive value: given "
        "the other public values (conditional, the default), by themselves as in the paper, or not at all.",
    ),
]

Given = Annotated[
    Literal["public"] | None,
    Parameter(
        group=PROMISE,
        help="public: keep --rho for values that are rare in the whole table, to readers who see the public "
        "values. These are merged for it, and groups get retentions of their own.",
    ),
]


@Parameter(name="*", group=RECORDS)
@dataclass(frozen=True)
class ColumnOptions:
    """Which columns are sensitive and which are public."""

    sensitive: Annotated[
        tuple[str, ...],
        Parameter(help="The sensitive column. Repeatable: several count as one compound value."),
    ] = ()
    public: Annotated[
        tuple[str, ...],
        Parameter(
            help="The public columns: a,b,c (default: all that are not sensitive). Repeatable. A column that "
            "nearly identifies people is published only if it is named here."
        ),
    ] = ()
    drop: Annotated[tuple[str, ...], Parameter(help="Columns to leave out: a,b,c. Repeatable.")] = ()
    bin: Annotated[
        tuple[str, ...],
        Parameter(
            help="Put the numbers of a public or sensitive column into bins: age=10 (a width), "
            "age=18,30,65 (ends) or age=quantiles:5. Repeatable."
        ),
    ] = ()
    order: Annotated[
        str | None,
        Parameter(
            help="For the method ordinal: the sensitive values in ascending order, as none,some,much "
            "(default: that of their numbers)."
        ),
    ] = None

    def read(self) -> Columns:
        """The columns as they were named."""
        from showthrough.microdata.bins import read_bin_rules
        from showthrough.microdata.columns import Columns

        public = [name for text in self.public for name in listed(text) or []]
        with naming("--bin"):
            bins = read_bin_rules(self.bin)
        return Columns.of(
            self.sensitive,
            public=public if self.public else None,
            drop=[name for text in self.drop for name in listed(text) or []],
            bins=bins,
        )

    def ordered(self, methods: Sequence[PublishingMethod]) -> list[PublishingMethod]:
        """The methods, with the order that was given for the values."""
        from showthrough.microdata.ordinal import OrdinalPerturbation

        order = tuple(listed(self.order) or ())
        if order and not any(isinstance(one, OrdinalPerturbation) for one in methods):
            raise InputError(
                "an order is for the method ordinal", file="--order", remedy="add --method ordinal"
            )
        return [replace(one, order=order) if isinstance(one, OrdinalPerturbation) else one for one in methods]


@Parameter(name="*", group=PROMISE)
@dataclass(frozen=True)
class PromiseOptions:
    """What is promised about each person, and how many values are kept."""

    rho: Annotated[
        tuple[str, ...],
        Parameter(
            help="PRIOR:POSTERIOR, such as 0.1:0.5: no reader becomes surer than POSTERIOR of a value that "
            "at most a share PRIOR of the people with the same public values have. To publish several "
            "sensitive columns, repeatable with one for each: income=0.3:0.6."
        ),
    ] = ()
    reconstruction: Annotated[
        str | None,
        Parameter(
            help="ERROR:CHANCE, such as 0.3:0.3: a frequency estimated from all records with the same public "
            "values is off by more than ERROR with at least this CHANCE."
        ),
    ] = None
    known_totals: Annotated[
        bool,
        Parameter(
            help="With --rho: promise it even to a reader who knows how many records have each value, and "
            "combines all rows."
        ),
    ] = False
    sets: Annotated[
        tuple[str, ...],
        Parameter(
            help="With --rho: protect sets of values too: 2 for all pairs, 3 for up to three values, or "
            '"a|b" for one set. Repeatable.'
        ),
    ] = ()
    diversity: Annotated[
        int | None, Parameter(help="L: no sensitive value has more than 1/L of a bucket.")
    ] = None
    retention: Annotated[
        float | None,
        Parameter(
            help="The share of sensitive values that are kept as they are; for sampled, the most it may be."
        ),
    ] = None

    def read(self) -> list[Promise]:
        """The promises that were given; an error names its option."""
        from showthrough.microdata.parameters import check_retention
        from showthrough.microdata.promises import read_promise

        given: dict[PromiseKind, str | int | None] = {
            "reconstruction": self.reconstruction,
            "rho": self._one_rho(),
            "diversity": self.diversity,
        }
        found: list[Promise] = []
        for kind, text in given.items():
            if text is not None:
                with naming(f"--{kind}"):
                    found.append(self._extended(read_promise(text, kind=kind)))
        for name, more in {"--known-totals": self.known_totals, "--sets": self.sets}.items():
            if more and not self.rho:
                raise InputError(
                    "this extends --rho, which is not given", file=name, remedy="add --rho 0.1:0.5"
                )
        if self.retention is not None:
            with naming("--retention"):
                check_retention(self.retention)
        return found

    @property
    def by_column(self) -> dict[str, str]:
        """The promise for each of several sensitive columns, if that was given."""
        if not any("=" in text for text in self.rho):
            return {}
        found: dict[str, str] = {}
        for text in self.rho:
            name, equals, promise = text.rpartition("=")
            if not equals or not name.strip() or name.strip() in found:
                raise InputError(
                    "give one promise, or one for each sensitive column",
                    file="--rho",
                    found=text,
                    remedy="write --rho income=0.3:0.6 --rho disease=0.1:0.5",
                )
            found[name.strip()] = promise.strip()
        return found

    def _one_rho(self) -> str | None:
        if self.by_column or len(self.rho) > 1:
            raise InputError(
                "here there is one promise for all sensitive columns",
                file="--rho",
                found=self.rho[-1],
                remedy="give --rho once, as in --rho 0.1:0.5; publish takes one for each column",
            )
        return self.rho[0] if self.rho else None

    def _extended(self, promise: Promise) -> Promise:
        """A rho promise with what was asked for besides."""
        from showthrough.microdata.promises import RhoPrivacy

        if not isinstance(promise, RhoPrivacy):
            return promise
        return replace(promise, known_totals=self.known_totals, sets=_read_sets(self.sets))


def _read_sets(given: Sequence[str]) -> int | tuple[tuple[str, ...], ...]:
    """A size, or sets whose values are separated by bars; single values if nothing was given.

    >>> _read_sets(["2"]), _read_sets(["judge|mayor"])
    (2, (('judge', 'mayor'),))
    """
    if not given:
        return 1
    if len(given) == 1 and given[0].strip().isdecimal():
        return int(given[0])
    return tuple(tuple(name.strip() for name in one.split("|")) for one in given)


def listed(text: str | None) -> list[str] | None:
    """Names that are separated by commas.

    >>> listed("age, sex")
    ['age', 'sex']
    """
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


@Parameter(name="*", group=PROMISE)
@dataclass(frozen=True)
class SamplingOptions:
    """How the method sampled chooses its groups and how many records it draws from each."""

    trials: Annotated[
        Literal["independent", "banded", "printed"],
        Parameter(
            help="Records drawn from a group by sampled: as many as keep the promise at every frequency "
            "(independent, the default), or by the group's own frequency, in bands or as the paper prints "
            "it; those two give it away."
        ),
    ] = "independent"
    bound: Annotated[
        Literal["exact", "chernoff"],
        Parameter(
            help="Banded and printed trials by exact tails (the default), or by the paper's bound, which "
            "protects too little."
        ),
    ] = "exact"
    merge: Merge = "conditional"

    def to_plain(self) -> dict[str, Any]:
        """As arguments of what chooses methods."""
        return {"trials": self.trials, "bound": self.bound, "merging": self.merge}


@contextmanager
def naming(option: str) -> Generator[None]:
    """Have an error name the option it is about."""
    try:
        yield
    except InputError as error:
        raise error.at(file=option) from None


def print_written(
    terminal: Terminal, content: Mapping[str, Any], out: Path | None, files: Sequence[str], *, has_page: bool
) -> None:
    """The result for machines, or where it was written for people."""
    from showthrough.folders import REPORT

    if terminal.as_json:
        page = str(out / REPORT) if out and has_page else None
        terminal.json({**content, "folder": None if out is None else str(out), "report": page})
    if out is not None:
        named = [*files, "run.json", *([REPORT] if has_page else [])]
        terminal.say()
        terminal.say(f"Wrote {', '.join(named)} to {out}/.")


@app.command(group=PUBLISHING, help_epilogue=PUBLISH_HELP)
def publish(
    data: Data,
    *,
    columns: ColumnOptions = ColumnOptions(),
    promises: PromiseOptions = PromiseOptions(),
    method: Annotated[
        Literal["uniform", "partitioned", "ordinal", "product", "sampled", "anatomy"] | None,
        Parameter(group=PROMISE, help="The method (default: the one that the promise asks for)."),
    ] = None,
    sampling: SamplingOptions = SamplingOptions(),
    given: Given = None,
    seed: Annotated[
        int | None,
        Parameter(
            group=OUTPUT,
            help="Makes the result repeatable. Keep it as secret as the records: a seed that somebody can "
            "guess undoes the protection. By default one is drawn and not kept.",
        ),
    ] = None,
    out: Annotated[Path, Parameter(group=OUTPUT, help="The folder to write.")],
    format: Annotated[  # noqa: A002 - the name of the option
        Literal["parquet", "csv"], Parameter(group=OUTPUT, help="How rows are written (default: parquet).")
    ] = "parquet",
    engine: Annotated[
        str, Parameter(group=OUTPUT, help="local (the default), or a Spark master: spark://host:7077.")
    ] = "local",
    scratch: Annotated[
        Path | None,
        Parameter(
            group=OUTPUT,
            help="The folder for private temporary files (default: SHOWTHROUGH_SCRATCH, or the system's "
            "temporary folder). The machines of a cluster must share it.",
        ),
    ] = None,
    writing: WriteOptions = WriteOptions(),
) -> int:
    """Publish records so that single sensitive values stay deniable and statistics can be estimated."""
    from showthrough.cli.folder import page_maker
    from showthrough.engine.backend import open_backend
    from showthrough.locks import hold
    from showthrough.microdata import publish as room
    from showthrough.microdata.methods import choose_method

    chosen = _several(method, promises)
    if chosen is None:
        how = sampling.to_plain()
        chosen = choose_method(method, promises.read(), retention=promises.retention, given=given, **how)
        (chosen,) = columns.ordered([chosen])
    named = columns.read()
    with hold(out):
        terminal = writing.terminal()
        if seed is not None and 0 <= seed < GUESSABLE:
            terminal.note(
                "a seed this small can be found by trying, and whoever finds it can undo the perturbation; "
                "leave out --seed to have one drawn and not kept"
            )
        # The page is as public as the folder: it is made from what the folder holds, and nothing else.
        page = page_maker(out, terminal, wanted=writing.report)
        with (
            open_backend(engine) as backend,
            terminal.step("publishing"),
            terminal.progress("publishing", None) as progress,
        ):
            found = room.publish(
                data,
                out,
                sensitive=named.sensitive,
                method=chosen,
                seed=seed,
                public=named.public,
                drop=named.drop,
                bins=dict(named.bins),
                file_format=format,
                overwrite=writing.overwrite,
                backend=backend,
                scratch=scratch,
                page=page,
                progress=progress,
            )
        _print_publication(found, terminal, has_page=page is not None)
    return 0


def _several(method: str | None, promises: PromiseOptions) -> ProductPerturbation | None:
    """The method that keeps a promise for each of several columns, if there are such promises."""
    by_column = promises.by_column
    if not by_column:
        return None
    other = (promises.reconstruction, promises.diversity, promises.retention)
    if promises.known_totals or promises.sets or any(one is not None for one in other):
        raise InputError(
            "a promise for each column stands alone",
            file="--rho",
            remedy="leave out --known-totals, --sets, --retention and other promises",
        )
    from showthrough.microdata.product import ProductPerturbation

    with naming("--rho"):
        return ProductPerturbation.of(by_column, method=method)


def _print_publication(found: Publication, terminal: Terminal, *, has_page: bool) -> None:
    from showthrough.folders import REPORT
    from showthrough.microdata.bins import listed_ends
    from showthrough.microdata.manifest import MANIFEST
    from showthrough.microdata.price import describe_price

    said, left_out = found.manifest, found.left_out or 0
    if terminal.as_json:
        terminal.json(
            {
                "folder": str(found.folder),
                "method": said.method,
                "records": said.records,
                "suppressed": left_out,
                "sensitive": list(said.sensitive),
                "public": list(said.public),
                "n_values": len(said.domain),
                "retention": [table.retention for table in said.tables],
                "trials": said.drawn,
                "promise": said.promise,
                "given": said.given,
                "people": None if found.people is None else asdict(found.people),
                "notes": list(found.notes),
                "report": str(found.folder / REPORT) if has_page else None,
            }
        )
    values = f"{len(said.domain):,} values of {', '.join(said.sensitive)}"
    terminal.say(f"Published {said.records:,} records with the method {said.method}, {values}.", style="bold")
    for line in _promised(found):
        terminal.say(line)
    if left_out and said.method == "anatomy":
        terminal.say(f"{left_out:,} records were left out: their values are too frequent for the buckets.")
    for line in describe_price(found):
        terminal.say(line)
    for line in _done(said):
        terminal.say(line)
    for name, entry in (said.bins or {}).items():
        terminal.say(f"{name}: put into bins that end at {listed_ends(entry.bins)}.")
    for note in found.notes:
        terminal.note(note)
    if limits := found.describe_limits():
        terminal.say(limits)
    for name, labels in said.merged.items():
        before = sum(len(members) for members in labels.values())
        terminal.say(f"{name}: {before:,} values were merged into {len(labels):,}.")
    terminal.say()
    terminal.say(f"Wrote {found.data.name} and {MANIFEST} to {found.folder}/, and counted the rows again.")
    if has_page:
        terminal.say(f"For its readers, made from the published files alone: {REPORT}.")
    if said.public:
        terminal.line(f"Count in it with: showthrough count {found.folder} --by {said.public[0]}")


def _promised(found: Publication) -> Iterator[str]:
    """What is promised to whom, and what readers of the public values learn all the same."""
    from showthrough.microdata.promises import RhoPrivacy, describe_promise

    said, people = found.manifest, found.people
    promise = said.own_promise
    if not isinstance(promise, RhoPrivacy):
        return
    yield f"Promise: {describe_promise(promise, method=said.method, given=said.given)}."
    if people is None or not people.protected_values:
        return
    yield "For you alone, since it follows from the true values:"
    yield people.headline(promise)
    yield from people.notes(promise)
    if people.broken and said.public and said.method == "uniform":
        yield "With --given public, this is avoided."


def _done(said: Manifest) -> list[str]:
    """What happened to records, in sentences."""
    from showthrough.microdata.ordinal import describe_ordinal
    from showthrough.microdata.product import describe_product

    match said.method:
        case "ordinal":
            return [describe_ordinal(said.sub_tables[0])]
        case "product":
            return describe_product(said)
        case _:
            return _kept(said.tables)


def _kept(tables: Sequence[TableEntry]) -> list[str]:
    """How often values are kept; in one line if there are many sub-tables."""
    if len(tables) > MOST_LISTED:
        kept, values = [table.retention for table in tables], [len(table.values) for table in tables]
        return [
            f"{len(tables):,} sub-tables: a record keeps its value with probability {min(kept):.4g} to "
            f"{max(kept):.4g}, or draws one of {min(values):,} to {max(values):,} values."
        ]
    return [
        f"{f'Sub-table {number}: a' if len(tables) > 1 else 'A'} record keeps its value with probability "
        f"{table.retention:.4g}, or draws one of {len(table.values):,} values."
        for number, table in enumerate(tables, 1)
    ]


@app.command(group=PUBLISHING, help_epilogue=COUNT_HELP)
def count(
    folder: Annotated[Path, Parameter(group=RECORDS, help="The folder of a publication.")],
    *,
    where: Annotated[
        str, Parameter(group=RECORDS, help='Which records: "age=20-29,disease=flu|cold" (default: all).')
    ] = "",
    by: Annotated[
        str | None, Parameter(group=RECORDS, help="Separately for each value of these columns: a,b.")
    ] = None,
    weight: Annotated[
        str | None,
        Parameter(group=RECORDS, help="A public column: each record counts as much as this says."),
    ] = None,
    mean: Annotated[
        bool,
        Parameter(group=OUTPUT, help="The mean of the sensitive column instead of a number of records."),
    ] = False,
    consistent: Annotated[
        bool,
        Parameter(group=OUTPUT, help="Estimates that are never negative and add up; unbiased otherwise."),
    ] = False,
    level: Annotated[
        float,
        Parameter(
            group=OUTPUT,
            help="The confidence level of the interval (default: 0.95); an anatomy has bounds instead.",
        ),
    ] = 0.95,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Estimate from a publication how many records match, and between which numbers they lie."""
    from showthrough.estimate import check_level
    from showthrough.microdata.means import describe_mean
    from showthrough.microdata.publication import Publication
    from showthrough.selection import Selection

    terminal = options.terminal()
    check_level(level)
    publication = Publication.open(folder)
    with naming("--where"):
        asked = Selection.parse(where)
        answered = publication.published(asked)
    if answered != asked:
        terminal.note(f"public values were merged; answered for {answered if len(answered) else 'everybody'}")
    if mean:
        if by or consistent or weight:
            raise InputError(
                "a mean is one number, over records as they are",
                file="--mean",
                remedy="leave out --by, --weight and --consistent",
            )
        with terminal.step("averaging"):
            average = publication.mean(asked)
        if terminal.as_json:
            terminal.json({"where": str(answered), **average.to_plain(level)})
        terminal.say(describe_mean(average, publication.manifest.sensitive[0], level))
        return 0
    if by:
        public = [name for name in listed(by) or [] if name not in publication.manifest.sensitive]
        with terminal.step("counting"):
            how: dict[str, Any] = {"consistent": consistent, "level": level, "weight": weight}
            table = publication.distribution(public, where=asked, **how)
        _print_counts(table, publication, asked, level, terminal)
        return 0
    with terminal.step("counting"):
        found = publication.count(asked, consistent=consistent, weight=weight)
    if terminal.as_json:
        terminal.json({"where": str(answered), "weight": weight, **found.to_plain(level)})
    if weight:
        terminal.say(f"Weighted by {weight}:")
    terminal.say(found.sentence(level))
    return 0


def _print_counts(
    table: pa.Table, publication: Publication, asked: Selection, level: float, terminal: Terminal
) -> None:
    import pyarrow as pa

    from showthrough.estimate import whole
    from showthrough.frames.columns import texts

    names, numbers = table.column_names[:-4], table.column_names[-4:]
    shown = [texts(table[name]) for name in names]
    certain = publication.manifest.method == "anatomy"
    if terminal.as_json:
        plain = [pa.chunked_array([column]) for column in shown] + [table[name] for name in numbers]
        rows = pa.table(plain, names=table.column_names).to_pylist()
        said = {"level": None if certain else level, "left_out": publication.suppressed}
        terminal.json({"where": str(asked), **said, "rows": rows})
    value, _, low, high = (list[Any](table[name].to_pylist()) for name in numbers)
    heads = ("about", f"between ({percent(level)} confidence)")
    if certain:
        heads = ("about (if independent)", "between (whatever the pairing)")
    lines = [(*names, *heads)]
    for at in range(table.num_rows):
        most = math.inf if high[at] is None else high[at]
        about = min(max(value[at], low[at]), most)
        between = f"{whole(low[at])} and {whole(most)}"
        lines.append((*(column[at] for column in shown), whole(about), between))
    terminal.table(lines, indent=0)
    if note := publication.describe_suppressed():
        terminal.say()
        terminal.say(note)
