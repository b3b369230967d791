"""The command ``count``. What it does is imported when it runs, so that other commands start fast."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from showthrough.cli.app import app
from showthrough.cli.options import OUTPUT, ReadOptions
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
  showthrough count public/ --by age --where disease=flu --consistent"""


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
