"""The command ``count``. What it does is imported when it runs, so that other commands start fast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from showthrough.cli.app import app
from showthrough.cli.options import OUTPUT, EngineOptions, ReadOptions
from showthrough.cli.promises import PUBLISHING, RECORDS, listed, naming
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.text import percent

if TYPE_CHECKING:
    import pyarrow as pa

    from showthrough.microdata.publication import Publication
    from showthrough.selection import Selection

__all__ = [
    "count",
]

COUNT_HELP = """Examples:

  showthrough count public/ --where "age=20-29,disease=flu"
  showthrough count public/ --by age --where disease=flu --consistent
  showthrough count public/ --by age --engine spark://host:7077 \\
      --scratch /shared/tmp"""


@app.command(group=PUBLISHING, help_epilogue=COUNT_HELP)
def count(
    folder: Annotated[Path, Parameter(group=RECORDS, help="The folder of a publication.")],
    *,
    where: Annotated[
        str, Parameter(group=RECORDS, help='Which records: "age=20-29,disease=flu|cold" (default: all).')
    ] = "",
    by: Annotated[
        str | None, Parameter(group=RECORDS, help="Count separately for each value of these columns: a,b.")
    ] = None,
    weight: Annotated[
        str | None,
        Parameter(group=RECORDS, help="A public column of weights: each record counts this many times."),
    ] = None,
    mean: Annotated[
        bool,
        Parameter(
            group=OUTPUT, help="Estimate the mean of the sensitive column instead of a number of records."
        ),
    ] = False,
    consistent: Annotated[
        bool,
        Parameter(
            group=OUTPUT,
            help="Give estimates that are never negative and add up; the default is unbiased estimates.",
        ),
    ] = False,
    level: Annotated[
        float,
        Parameter(
            group=OUTPUT,
            help="The confidence level of the interval (default: 0.95); an anatomy has bounds instead.",
        ),
    ] = 0.95,
    engine: EngineOptions = EngineOptions(),
    options: ReadOptions = ReadOptions(),
) -> int:
    """Estimate from a publication how many records match, with an interval."""
    from showthrough.estimate import check_level
    from showthrough.microdata.publication import Publication

    terminal = options.terminal()
    check_level(level)
    asked = _Question(where=where, by=by, weight=weight, mean=mean, consistent=consistent, level=level)
    with engine.open_backend(terminal) as backend:
        asked.answer(Publication.open(folder, engine=backend), terminal)
    return 0


@dataclass(frozen=True, kw_only=True)
class _Question:
    """What to count, and how sure to be."""

    where: str
    by: str | None
    weight: str | None
    mean: bool
    consistent: bool
    level: float

    def answer(self, publication: Publication, terminal: Terminal) -> None:
        """Print the answer of a publication."""
        from showthrough.selection import Selection

        with naming("--where"):
            asked = Selection.parse(self.where)
            answered = publication.published(asked)
        if answered != asked:
            everybody = answered if len(answered) else "everybody"
            terminal.note(f"public values were merged; answered for {everybody}")
        if self.mean:
            self._mean(publication, asked, answered, terminal)
        elif self.by:
            self._distribution(publication, asked, terminal)
        else:
            self._count(publication, asked, answered, terminal)

    def _mean(
        self, publication: Publication, asked: Selection, answered: Selection, terminal: Terminal
    ) -> None:
        from showthrough.microdata.means import describe_mean

        if self.by or self.consistent or self.weight:
            raise InputError(
                "a mean is one number over unweighted records",
                file="--mean",
                remedy="leave out --by, --weight and --consistent",
            )
        with terminal.step("averaging"):
            average = publication.mean(asked)
        if terminal.as_json:
            terminal.json({"where": str(answered), **average.to_plain(self.level)})
        terminal.say(describe_mean(average, publication.manifest.sensitive[0], self.level))

    def _distribution(self, publication: Publication, asked: Selection, terminal: Terminal) -> None:
        public = [name for name in listed(self.by) or [] if name not in publication.manifest.sensitive]
        with terminal.step("counting"):
            table = publication.distribution(
                public, where=asked, consistent=self.consistent, level=self.level, weight=self.weight
            )
        _print_counts(table, publication, asked, self.level, terminal)

    def _count(
        self, publication: Publication, asked: Selection, answered: Selection, terminal: Terminal
    ) -> None:
        with terminal.step("counting"):
            found = publication.count(asked, consistent=self.consistent, weight=self.weight)
        if terminal.as_json:
            terminal.json({"where": str(answered), "weight": self.weight, **found.to_plain(self.level)})
        if self.weight:
            terminal.say(f"Weighted by {self.weight}:")
        terminal.say(found.sentence(self.level))


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
