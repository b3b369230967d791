"""The command ``compare``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from showthrough.cli.app import app
from showthrough.cli.options import OUTPUT, EngineOptions, Positive, WriteOptions
from showthrough.cli.promises import (
    PROMISE,
    PUBLISHING,
    ColumnOptions,
    Data,
    Given,
    PromiseOptions,
    SamplingOptions,
    naming,
    print_written,
)
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.text import percent, several

if TYPE_CHECKING:
    from showthrough.microdata.compare import Comparison

__all__ = [
    "compare",
    "read_shares",
    "read_sweeps",
]

COMPARE_HELP = """Examples:

  showthrough compare people.parquet --sensitive disease --out errors/ \\
      --methods uniform,partitioned,anatomy --rho 0.1:0.5 --diversity 2
  showthrough compare people.parquet --sensitive disease --out errors/ \\
      --methods uniform,sampled --reconstruction 0.3:0.3 --retention 0.5 \\
      --sweep retention=0.1,0.3,0.5"""

POOLS = {"crossed": "random conditions, each with every sensitive value", "single": "random queries"}


@app.command(group=PUBLISHING, help_epilogue=COMPARE_HELP)
def compare(
    data: Data,
    *,
    columns: ColumnOptions = ColumnOptions(),
    promises: PromiseOptions = PromiseOptions(),
    methods: Annotated[
        str,
        Parameter(group=PROMISE, help="The methods to compare: uniform,partitioned,ordinal,sampled,anatomy."),
    ],
    sampling: SamplingOptions = SamplingOptions(),
    given: Given = None,
    sweep: Annotated[
        tuple[str, ...],
        Parameter(
            group=PROMISE,
            help="Vary retention, error, chance, prior, posterior or l: retention=0.1,0.3. Repeatable.",
        ),
    ] = (),
    pool: Annotated[
        Literal["crossed", "single"],
        Parameter(
            group=OUTPUT, help="Conditions with every sensitive value (the default), or single queries."
        ),
    ] = "crossed",
    queries: Annotated[
        Positive | None,
        Parameter(group=OUTPUT, help="Conditions (default: 200) or single queries (default: 5000)."),
    ] = None,
    selectivity: Annotated[
        str,
        Parameter(
            group=OUTPUT,
            help="The smallest percentages of the records that queries count (default: 0.1,0.5,1).",
        ),
    ] = "0.1,0.5,1",
    runs: Annotated[Positive, Parameter(group=OUTPUT, help="Number of runs (default: 10).")] = 10,
    seed: Annotated[int, Parameter(group=OUTPUT, help="Seed of queries and runs (default: 0).")] = 0,
    out: Annotated[Path | None, Parameter(group=OUTPUT, help="A folder for the numbers and a page.")] = None,
    where: EngineOptions = EngineOptions(),
    writing: WriteOptions = WriteOptions(),
) -> int:
    """Compare methods by the errors of their answers to random queries."""
    from showthrough.cli.folder import page_maker
    from showthrough.folders import check_place
    from showthrough.frames import Source
    from showthrough.locks import hold
    from showthrough.microdata.compare import (
        Comparison,
        QueryPlan,
        comparison_description,
        draw_queries,
        reconstruction_promise,
        write_comparison,
    )
    from showthrough.microdata.methods import choose_methods, settings

    promised, named = promises.read(), columns.read()
    with naming("--methods"):
        options = sampling.read(retention=promises.retention, given=given)
        chosen = choose_methods(methods, promised, options)
    chosen = columns.ordered(chosen)
    plan = QueryPlan(pool, queries, read_shares(selectivity), runs, seed)
    chosen = settings(chosen, read_sweeps(sweep))
    terminal, page, files = writing.terminal(), None, list[str]()
    with nullcontext() if out is None else hold(out), where.open_backend(terminal) as backend:
        source = Source.of(data)
        inputs = source.digests()
        if out is not None:
            page = page_maker(out, terminal, wanted=writing.report)
            check_place(out, comparison_description(plan, inputs), overwrite=writing.overwrite, page=page)
        with terminal.step("counting groups and drawing queries"):
            groups = named.read(source, engine=backend)
            drawn = draw_queries(groups, chosen, plan)
        with terminal.step("comparing"), terminal.progress("comparing", len(chosen)) as progress:
            measured = plan.measure(chosen, drawn, progress=progress, engine=backend)
        found = Comparison(measured, groups, drawn, plan, reconstruction_promise(promised))
        if out is not None:
            with terminal.step("writing"):
                files = write_comparison(found, out, inputs, overwrite=writing.overwrite, page=page)
        _print_comparison(found, terminal)
        print_written(terminal, found.to_plain(inputs), out, files, has_page=page is not None)
    return 0


def read_sweeps(texts: Sequence[str]) -> dict[str, list[float]]:
    """Swept parameters and their values, as ``retention=0.1,0.3``.

    >>> read_sweeps(["retention=0.1,0.3", "l=2,4"])
    {'retention': [0.1, 0.3], 'l': [2.0, 4.0]}
    """
    found: dict[str, list[float]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        try:
            found[name.strip()] = [float(value) for value in values.split(",")]
        except ValueError:
            equals = ""
        if not equals or name.strip() not in found:
            raise InputError(
                "cannot read this sweep",
                file="--sweep",
                found=text,
                remedy="write a parameter and its values: retention=0.1,0.3,0.5",
            )
    return found


def read_shares(text: str) -> tuple[float, ...]:
    """Percentages separated by commas, as shares in ascending order.

    >>> read_shares("0.1,1")
    (0.001, 0.01)
    """
    try:
        shares = tuple(sorted(float(part) / 100 for part in text.split(",")))
    except ValueError:
        shares = ()
    if not shares or not all(0 <= share < 1 for share in shares):
        raise InputError(
            "selectivities must be percentages from 0 to below 100",
            file="--selectivity",
            found=text,
            remedy="for example 0.1,0.5,1",
        )
    return shares


def _print_comparison(found: Comparison, terminal: Terminal) -> None:
    from showthrough.microdata.methods import describe_method, explain_symbols

    facts, asked = found.summary(), found.queries
    terminal.say(
        f"{several(facts.records, 'record')} in {several(facts.groups, 'group')}, "
        f"{several(facts.sensitive_values, 'sensitive value')}; "
        f"{facts.drawn:,} {POOLS[asked.pool]}; {several(facts.runs, 'run')}.",
        style="bold",
    )
    if found.is_merged:
        n = len(found.pool.groups)
        terminal.say(
            "Public values with the same sensitive distribution are merged, for all methods and queries: "
            f"{n:,} {'groups are' if n != 1 else 'group is'} left."
        )
    terminal.say(
        "Mean relative error, ± its standard error over runs, of queries that count at least the given share "
        "of the records:"
    )
    terminal.say()
    first = found.measured[0][1]
    heads = [
        f"≥ {percent(share)} ({number:,})"
        for share, number in zip(asked.selectivities, first.queries.tolist(), strict=True)
    ]
    swept = any(setting.parameter for setting, _ in found.measured)
    lines = [["method", "promise", *(["swept"] if swept else []), "retention", "used", *heads]]
    for setting, utility in found.measured:
        value = "" if setting.value is None else f"{setting.parameter} {setting.value:.4g}"
        kept = "–" if utility.retention is None else f"{utility.retention:.4f}"
        errors = [
            f"{100 * mean:.2f} ± {100 * error:.2f}\xa0%"
            for mean, error in zip(utility.mean, utility.standard_error, strict=True)
        ]
        name = [setting.method.name, describe_method(setting.method), *([value] if swept else [])]
        lines.append([*name, kept, percent(utility.used, 1), *errors])
    terminal.table(lines, indent=0)
    terminal.say()
    terminal.say(found.headline)
    symbols = explain_symbols(describe_method(setting.method) for setting, _ in found.measured)
    if symbols:
        terminal.say()
        terminal.say(symbols)
