"""The commands about records with a sensitive column: publish, check, count and compare.

What they do is imported when they run, so that other commands start fast.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from showthrough.cli.app import app
from showthrough.cli.options import OUTPUT, Positive, Read, Reading, Writing, Written
from showthrough.cli.promises import (
    PROMISE,
    PUBLISHING,
    RECORDS,
    Bound,
    Columns,
    MethodName,
    Named,
    Promised,
    Promises,
    listed,
)

__all__ = [
    "check",
    "compare",
    "count",
    "publish",
]

PUBLISH_HELP = """Examples:

  showthrough publish people.parquet --sensitive disease --rho 0.1:0.5 --out public/
  showthrough publish people.csv --sensitive disease --rho 0.1:0.5 \\
      --method partitioned --out public/
  showthrough publish people.parquet --sensitive disease \\
      --reconstruction 0.3:0.3 --retention 0.5 --out public/
  showthrough publish people.parquet --sensitive disease --diversity 4 --out public/"""

CHECK_HELP = """Examples:

  showthrough check people.parquet --sensitive disease \\
      --reconstruction 0.3:0.3 --retention 0.5
  showthrough check public/ --reconstruction 0.3:0.3 --out checked/

Exit codes: 0 the promise holds, 1 it is broken, 2 bad input,
3 the publication alone does not tell."""

COUNT_HELP = """Examples:

  showthrough count public/ --where "age=20-29,disease=flu"
  showthrough count public/ --by age --where disease=flu --consistent"""

COMPARE_HELP = """Examples:

  showthrough compare people.parquet --sensitive disease --out errors/ \\
      --methods uniform,partitioned,anatomy --rho 0.1:0.5 --diversity 2
  showthrough compare people.parquet --sensitive disease --out errors/ \\
      --methods uniform,sampled --reconstruction 0.3:0.3 --retention 0.5 \\
      --sweep retention=0.1,0.3,0.5"""

Data = Annotated[
    Path, Parameter(group=RECORDS, help="A CSV, TSV or Parquet file, a folder of these, or a pattern.")
]
Published = Annotated[Path, Parameter(group=RECORDS, help="The folder of a publication.")]
KeepValues = Annotated[
    bool,
    Parameter(
        group=RECORDS, help="Leave public values as they are (default: merge those that tell the same)."
    ),
]


@app.command(group=PUBLISHING, help_epilogue=PUBLISH_HELP)
def publish(
    data: Data,
    *,
    columns: Named = None,
    promises: Promised = None,
    method: Annotated[
        MethodName | None, Parameter(group=PROMISE, help="How (default: what the promise asks for).")
    ] = None,
    bound: Bound = "chernoff",
    seed: Annotated[
        int | None,
        Parameter(
            group=OUTPUT,
            help="Makes the result repeatable. It is as secret as the records: a seed somebody can guess "
            "undoes the protection. By default one is drawn and kept nowhere.",
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
            help="Where to put private scratch files (default: SHOWTHROUGH_SCRATCH, or the system's "
            "temporary folder). The machines of a cluster must share it.",
        ),
    ] = None,
    written: Written = None,
) -> int:
    """Publish records so that single sensitive values stay deniable and statistics learnable."""
    from showthrough.cli.methods import choose_method
    from showthrough.cli.publish_jobs import publish_records

    return publish_records(
        data,
        out,
        columns or Columns(),
        written or Writing(),
        method=choose_method(promises or Promises(), name=method, bound=bound),
        seed=seed,
        file_format=format,
        engine=engine,
        scratch=scratch,
    )


@app.command(group=PUBLISHING, help_epilogue=CHECK_HELP)
def check(
    data: Annotated[
        Path, Parameter(group=RECORDS, help="Records, as for publish, or the folder of a publication.")
    ],
    *,
    columns: Named = None,
    promises: Promised = None,
    keep_values: KeepValues = False,
    worst: Annotated[
        Positive, Parameter(group=OUTPUT, help="How many of the worst groups to show (default: 10).")
    ] = 10,
    out: Annotated[
        Path | None, Parameter(group=OUTPUT, help="A folder for all numbers, group by group, and a page.")
    ] = None,
    written: Written = None,
) -> int:
    """Say which groups of people a release gives away too much about."""
    from showthrough.cli.check_jobs import check_promises

    return check_promises(
        data,
        columns or Columns(),
        promises or Promises(),
        written or Writing(),
        keep_values=keep_values,
        worst=worst,
        out=out,
    )


@app.command(group=PUBLISHING, help_epilogue=COUNT_HELP)
def count(
    folder: Published,
    *,
    where: Annotated[
        str, Parameter(group=RECORDS, help='Which records: "age=20-29,disease=flu|cold" (default: all).')
    ] = "",
    by: Annotated[
        str | None, Parameter(group=RECORDS, help="For each value of these columns apart: a,b.")
    ] = None,
    consistent: Annotated[
        bool, Parameter(group=OUTPUT, help="Never negative, and adding up; unbiased otherwise.")
    ] = False,
    level: Annotated[
        float, Parameter(group=OUTPUT, help="How sure the interval is to be (default: 0.95).")
    ] = 0.95,
    told: Read = None,
) -> int:
    """Estimate from a publication how many records match, with error bars."""
    from showthrough.cli.publish_jobs import count_published

    return count_published(
        folder,
        (told or Reading()).terminal(),
        where=where,
        by=listed(by) or [],
        consistent=consistent,
        level=level,
    )


@app.command(group=PUBLISHING, help_epilogue=COMPARE_HELP)
def compare(
    data: Data,
    *,
    columns: Named = None,
    promises: Promised = None,
    methods: Annotated[
        str, Parameter(group=PROMISE, help="Which to compare: uniform,partitioned,sampled,anatomy.")
    ],
    bound: Bound = "chernoff",
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
        str, Parameter(group=OUTPUT, help="Least percentages of the records (default: 0.1,0.5,1).")
    ] = "0.1,0.5,1",
    runs: Annotated[Positive, Parameter(group=OUTPUT, help="How often to repeat (default: 10).")] = 10,
    seed: Annotated[int, Parameter(group=OUTPUT, help="Seed of queries and runs (default: 0).")] = 0,
    keep_values: KeepValues = False,
    out: Annotated[Path | None, Parameter(group=OUTPUT, help="A folder for the numbers and a page.")] = None,
    written: Written = None,
) -> int:
    """Compare methods by how far answers to random queries are off."""
    from showthrough.cli.compare_jobs import Asking, compare_methods, read_shares, read_sweeps
    from showthrough.cli.methods import choose_methods, read_reconstruction

    return compare_methods(
        data,
        columns or Columns(),
        choose_methods(listed(methods) or [], promises or Promises(), bound=bound),
        read_sweeps(sweep),
        written or Writing(),
        asking=Asking(pool, queries, read_shares(selectivity), runs, seed, keep_values),
        promise=read_reconstruction(promises or Promises()),
        out=out,
    )
