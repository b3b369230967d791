"""Three readers, each from a file as it was downloaded to the first proven sentence in one command.

What is printed is compared with the file itself, by hand and by brute force.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

import showthrough as st
from showthrough.cli import main

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PEOPLE = EXAMPLES / "people.csv"
TOTAL = "Total"


def _printed(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.replace("\xa0", " ").split())


def _people() -> list[dict[str, str]]:
    with PEOPLE.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_an_officer_plans_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    tables = ["--tables", "age*sex", "--tables", "sex*job"]
    assert main(["audit", str(PEOPLE), *tables, "--by", "district", "--no-report", "--out", str(run)]) == 1
    sentence = "Ashford: Whoever knows that job is clerk learns that sex is female (exactly one such record)."
    assert sentence in _printed(capsys)
    ashford = [row for row in _people() if row["district"] == "Ashford"]
    assert [row["sex"] for row in ashford if row["job"] == "clerk"] == ["female"]
    # By hand: the cell of male clerks is published as 0 and that of female clerks as 1.
    cells = Counter((row["sex"], row["job"]) for row in ashford)
    assert (cells["female", "clerk"], cells["male", "clerk"]) == (1, 0)
    records = st.read_records(PEOPLE, by="district", columns=["age", "sex", "job"])
    layout = st.Layout(
        records.schema, tuple(st.make_table(records.schema, f) for f in ("age*sex", "sex*job"))
    )
    assert records.areas is not None
    part = st.Records(records.schema, records.codes[records.areas == "Ashford"])
    release = layout.tabulate(part, area="Ashford")
    for where in ("job=clerk", "job=clerk,sex=female"):
        found = st.bounds(release, where, truth=part)
        assert (found.low, found.high) == (1, 1)


def test_a_journalist_reads_published_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recover", str(EXAMPLES / "09-tidy.csv")]) == 1
    printed = _printed(capsys)
    assert "1 of 1 suppressed cell can be computed exactly." in printed
    assert "grade=5,result=failed of 09-tidy: 2" in printed
    assert "count = [grade=5] − [grade=5,result=passed] = 13 − 11 = 2" in printed
    # Every table of the four counts that agrees with all that is printed has the same count there.
    with (EXAMPLES / "09-tidy.csv").open(encoding="utf-8") as file:
        printed_counts = {(row["grade"], row["result"]): row["pupils"] for row in csv.DictReader(file)}
    inner = list(itertools.product("56", ("passed", "failed")))
    ranges = [range(27) if (shown := printed_counts[cell]) == "c" else [int(shown)] for cell in inner]
    possible: set[int] = set()
    for counts in itertools.product(*ranges):
        cells = dict(zip(inner, counts, strict=True))
        sums = {
            (grade, result): sum(
                n for (g, r), n in cells.items() if grade in (g, TOTAL) and result in (r, TOTAL)
            )
            for grade, result in printed_counts
        }
        if all(shown == "c" or int(shown) == sums[cell] for cell, shown in printed_counts.items()):
            possible.add(cells["5", "failed"])
    assert possible == {2}


def test_a_researcher_checks_records_before_publishing(capsys: pytest.CaptureFixture[str]) -> None:
    columns = ["--sensitive", "illness", "--public", "age,sex", "--rho", "0.3:0.6"]
    assert main(["check", str(PEOPLE), *columns, "--retention", "0.6"]) == 1
    found = re.search(
        r"(\d+) of 48 people are in groups with the same public values in which", _printed(capsys)
    )
    assert found is not None
    assert int(found[1]) == _exposed(retention=0.6, prior=0.3, posterior=0.6) > 0


def _exposed(*, retention: float, prior: float, posterior: float) -> int:
    """People with public values among whom a shown rare value is believed too much, by Bayes' rule."""
    people = _people()
    shares = {value: n / len(people) for value, n in Counter(row["illness"] for row in people).items()}
    sizes = Counter((row["age"], row["sex"]) for row in people)
    have = Counter((row["age"], row["sex"], row["illness"]) for row in people)
    other = (1 - retention) / len(shares)
    exposed = 0
    for group, size in sizes.items():
        beliefs = [
            share * (retention + other) / (share * retention + other)
            for value, rare in shares.items()
            if rare <= prior and (share := have[*group, value] / size)
        ]
        exposed += size if max(beliefs, default=0.0) > posterior else 0
    return exposed
