"""Options of the commands about records with a sensitive column: which columns, and what is promised."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from showthrough.cli.calls import CallError
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError

if TYPE_CHECKING:
    from showthrough.microdata.columns import Columns
    from showthrough.microdata.methods import MethodOptions, PublishingMethod
    from showthrough.microdata.promises import Promise, PromiseKind

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
    "listed",
    "naming",
    "print_written",
]

PUBLISHING = Group("Records with a sensitive column", sort_key=2)
RECORDS = Group("The records", sort_key=1)
PROMISE = Group("What is promised", sort_key=2)

Data = Annotated[
    Path, Parameter(group=RECORDS, help="A CSV, TSV or Parquet file, a folder of these, or a pattern.")
]
Merge = Annotated[
    Literal["conditional", "components", "none"],
    Parameter(
        group=RECORDS,
        help="With --reconstruction: merge public values between which a test finds no difference in the "
        "sensitive value: given the other public values (conditional, the default), column by column "
        "as in the paper (components), or not at all (none).",
    ),
]

Given = Annotated[
    Literal["public"] | None,
    Parameter(
        group=PROMISE,
        help="public: keep --rho for values that are rare in the whole table, for readers who see the "
        "public values. For this, public values are merged, and groups get their own retentions.",
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
    records: Annotated[
        bool, Parameter(help="Every row is a record, even if the file looks like published counts.")
    ] = False
    order: Annotated[
        str | None,
        Parameter(
            help="For the method ordinal: the sensitive values in ascending order, such as none,some,much "
            "(default: numeric order)."
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
            records=self.records,
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
            "at most a share PRIOR of the people with the same public values have. With several "
            "sensitive columns, publish takes one for each: income=0.3:0.6. Repeatable."
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
            help="With --rho: make the promise even to a reader who knows how many records have each value "
            "and combines all rows."
        ),
    ] = False
    sets: Annotated[
        tuple[str, ...],
        Parameter(
            help="With --rho: also protect sets of values: 2 for all pairs, 3 for sets of up to three "
            'values, or "a|b" for one set. Repeatable.'
        ),
    ] = ()
    diversity: Annotated[
        int | None, Parameter(help="L: no sensitive value has more than 1/L of a bucket.")
    ] = None
    retention: Annotated[
        float | None,
        Parameter(
            help="The probability that a sensitive value is kept as it is; for sampled, its upper limit."
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

    def check_given(self, method: str | None = None) -> None:
        """Raise if nothing is promised and no method says what else to do."""
        given = (self.reconstruction, self.diversity, self.retention, method)
        if not self.rho and all(one is None for one in given):
            raise CallError(
                "no promise given",
                remedy="choose --rho 0.1:0.5, --reconstruction 0.3:0.3, --diversity 4, or --retention 0.5",
                options={"--rho": "0.1:0.5"},
            )

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
            help="How many records sampled draws from a group: as many as keep the promise at every "
            "frequency (independent, the default), or a number that follows from the group's own "
            "frequency, in bands (banded) or as printed in the paper (printed). The last two give "
            "that frequency away."
        ),
    ] = "independent"
    bound: Annotated[
        Literal["exact", "chernoff"],
        Parameter(
            help="How banded and printed trials are limited: by exact tails (the default), or by the "
            "paper's bound, which protects too little."
        ),
    ] = "exact"
    merge: Merge = "conditional"

    def read(self, *, retention: float | None, given: str | None) -> MethodOptions:
        """With what other options say, as options of a method."""
        from showthrough.microdata.methods import MethodOptions

        return MethodOptions(
            retention=retention, bound=self.bound, trials=self.trials, merging=self.merge, given=given
        )


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
