"""A small finished folder of every kind, and what reads it."""

from __future__ import annotations

import os
import random
from pathlib import Path

from showthrough.cli import main

#: How each kind is made. ``OUT`` is the folder.
MADE = {
    "audit": "audit people.csv --tables sex*age --tables age*job --by town --claims all --out OUT",
    "census audit": "census audit homes.parquet --max-columns 1 --out OUT",
    "protect": "protect people.csv --tables sex*age --tables age*job --by town --forbid singletons --out OUT",
    "uniform": "publish people.csv --sensitive job --retention 0.5 --seed 1 --out OUT",
    "csv": "publish people.csv --sensitive job --retention 0.5 --seed 1 --format csv --out OUT",
    "partitioned": "publish people.csv --sensitive job --rho 0.3:0.8 --method partitioned --seed 1 --out OUT",
    "sampled": "publish people.csv --sensitive job --reconstruction 0.3:0.3 --retention 0.5 --seed 1 "
    "--out OUT",
    "anatomy": "publish people.csv --sensitive job --diversity 2 --seed 1 --out OUT",
    "check": "check people.csv --sensitive job --reconstruction 0.3:0.3 --retention 0.5 --out OUT",
    "compare": "compare people.csv --sensitive job --methods uniform --retention 0.5 --runs 2 --queries 5 "
    "--out OUT",
    "attack": "attack noisy.csv --column income --noise uniform:125 --truth true.csv --out OUT",
    "ratio attack": "attack people.csv --public age,sex --sensitive job --epsilon 0.5 --out OUT",
    "advise": "advise true.csv --column income --share 0.2 --privacy 50 --draws 1 --confirmations 4 "
    "--out OUT",
}

#: What reads each kind. ``IN`` is the folder, ``OUT`` a new file.
PAGE = "report IN --html OUT.html"
RUN = (
    PAGE,
    "verify IN --workers 1",
    "bounds IN --where sex=f",
    "worlds IN --n 1 --out OUT.csv",
    "export IN --vipr OUT --workers 1",
)
PUBLICATION = (PAGE, "count IN --by job", "check IN --reconstruction 0.3:0.3")
READ = {
    "audit": (*RUN, "census summary IN"),
    "census audit": (PAGE, "verify IN --workers 1", "census summary IN"),
    "protect": (
        PAGE,
        "verify IN --workers 1",
        "audit --release IN/release.toml IN/counts.csv --no-report --out OUT",
    ),
    **dict.fromkeys(("uniform", "csv", "partitioned", "sampled"), PUBLICATION),
    "anatomy": (PAGE, "count IN --by job", "check IN --diversity 2"),
    **dict.fromkeys(
        ("check", "compare", "attack", "ratio attack", "advise"), (PAGE, "verify IN --workers 1")
    ),
}


def make_inputs(folder: Path) -> None:
    """The files that the folders are made from."""
    draw = random.Random(1)  # noqa: S311  (made-up people)
    values = ("AB", "fm", ("young", "old"), ("clerk", "baker", "nurse"))
    rows = [",".join(map(draw.choice, values)) for _ in range(40)]  # type: ignore[arg-type]
    (folder / "people.csv").write_text("\n".join(["town,sex,age,job", *rows, ""]), "utf-8")
    incomes = [f"{draw.gauss(100, 20):.1f}" for _ in range(300)]
    (folder / "true.csv").write_text("\n".join(["income", *incomes, ""]), "utf-8")
    _run("perturb true.csv --column income --noise uniform:125 --seed 1 --out noisy.csv", folder)
    _run("simulate --blocks 2 --seed 17 --out homes.parquet", folder)


def make_folder(kind: str, folder: Path) -> Path:
    """A finished folder of this kind, beside its inputs."""
    _run(MADE[kind].replace("OUT", kind.replace(" ", "-")), folder)
    return folder / kind.replace(" ", "-")


def _run(call: str, folder: Path) -> None:
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert main([*call.split(), "--quiet"]) in (0, 1, 3), call
    finally:
        os.chdir(before)
