"""Publications: written, read back, asked, and not believed when they are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import crowd
from crowd import METHODS, SEED
from showthrough.errors import InputError, RecordsError, SchemaError
from showthrough.microdata.anatomy import kept_totals
from showthrough.microdata.groups import Groups
from showthrough.microdata.promises import LDiversity
from showthrough.microdata.publication import Publication
from showthrough.microdata.publish import publish
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.selection import Selection


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_answers(name: str, file_format: Any, tmp_path: Path) -> None:
    table = crowd.people()
    found = publish(
        table,
        tmp_path / "out",
        sensitive="ill",
        method=METHODS[name],
        seed=SEED,
        file_format=file_format,
    )
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out"]
    records = found.manifest.records
    kept = kept_totals(Groups.read(table, sensitive="ill").totals, LDiversity(2)).sum()
    assert records == (kept if name == "anatomy" else 3000)
    # Public attributes are published as they are.
    town = Selection.of(town="Aldea", age=["", "10"])
    if name not in ("sampled", "banded", "exact rates", "anatomy"):
        there = pc.and_(pc.equal(table["town"], "Aldea"), pc.equal(pc.fill_null(table["age"], 10), 10))
        assert (found.count(town).value, found.count(town).error) == (pc.sum(there).as_py(), 0)
    # Sensitive ones are estimated; 6 standard errors. An anatomy has the totals themselves.
    both = Selection.of(ill="flu")
    truth = pc.sum(pc.equal(table["ill"], "flu")).as_py()
    answer = found.count(both)
    assert answer.records == records
    low, high = answer.interval(1 - 1e-9)
    assert low <= truth <= high
    assert 0 <= low <= answer.shown <= high <= 3000
    each = found.distribution()
    assert each.column_names == ["ill", "value", "error", "low", "high"]
    assert each["ill"].to_pylist() == list(crowd.ILLS)
    assert each["value"][1].as_py() == pytest.approx(answer.value)
    assert each["error"][1].as_py() == (None if name == "anatomy" else pytest.approx(answer.error))
    low, high = answer.interval(0.95)
    assert each["low"][1].as_py() == low
    assert each["high"][1].as_py() == high
    consistent = found.distribution("town", consistent=True)
    assert pc.min(consistent["value"]).as_py() >= 0
    assert pc.sum(consistent["value"]).as_py() == pytest.approx(records)
    part = found.count(Selection.of(ill=["flu", "gout"]), consistent=True)
    sums = found.distribution(consistent=True, where=Selection.of(ill=["flu", "gout"]))
    assert part.value == pytest.approx(pc.sum(sums["value"]).as_py())


def test_original_values_are_answered_for_the_merged_ones(tmp_path: Path) -> None:
    found = publish(crowd.people(), tmp_path / "out", sensitive="ill", method=METHODS["sampled"], seed=SEED)
    (label,) = found.manifest.merged["job"]
    assert label == "baker | cook"
    assert found.published(Selection.of(job="cook", ill="flu")) == Selection.of(ill="flu")
    assert found.count(Selection.of(job="cook")).value == 3000
    assert found.count(Selection.of(job=label)).value == 3000
    with pytest.raises(SchemaError, match=r"column job: unknown value .*did you mean 'cook'"):
        found.count(Selection.of(job="cok"))


def test_compound_values(tmp_path: Path) -> None:
    table = crowd.people()
    found = publish(
        table, tmp_path / "o", sensitive=["ill", "job"], method=UniformPerturbation(0.4), seed=SEED
    )
    assert len(found.manifest.domain) == 8
    truth = pc.sum(pc.and_(pc.equal(table["ill"], "flu"), pc.equal(table["job"], "cook"))).as_py()
    answer = found.count(Selection.of(ill="flu", job="cook"))
    assert abs(answer.value - truth) < 6 * answer.error
    assert found.count(Selection.of(job="cook")).error > 0
    assert found.distribution("town").num_rows == 24


def test_selections_are_checked(tmp_path: Path) -> None:
    found = publish(
        crowd.people(), tmp_path / "out", sensitive="ill", method=UniformPerturbation(0.4), seed=SEED
    )
    with pytest.raises(SchemaError, match=r"unknown attribute .*did you mean 'town'"):
        found.count(Selection.of(twn="Aldea"))
    with pytest.raises(SchemaError, match=r"column ill: unknown value .*did you mean 'gout'"):
        found.count(Selection.of(ill="goat"))
    with pytest.raises(SchemaError, match=r"no such public column \(found 'ill'\)"):
        found.distribution("ill")
    assert found.count(Selection()).value == 3000


def test_empty_selections_and_odd_values(tmp_path: Path) -> None:
    texts, numbers = ["", None, "x", "x"] * 20, [1.0, 2.5, 1.0, 1.0] * 20
    table = pa.table({"a": texts, "b": numbers, "value": ["p", "q"] * 40, "low": ["u"] * 80})
    found = publish(table, tmp_path / "out", sensitive="value", method=UniformPerturbation(0.5), seed=1)
    assert found.schema["a"].values == ("(missing)", "", "x")
    assert found.schema["b"].values == ("1", "2.5")
    assert found.count(Selection.of(a="(missing)")).value == 20
    assert found.count(Selection.of(a="x", b="2.5")) == found.count(Selection.of(a="x", b="2.5", value="p"))
    assert found.distribution("low").column_names == ["low", "value", "value_", "error", "low_", "high"]
    with pytest.raises(RecordsError, match="column a: two values of the column look the same as text"):
        publish(
            table,
            tmp_path / "csv",
            sensitive="value",
            method=UniformPerturbation(0.5),
            seed=1,
            file_format="csv",
        )
    assert not (tmp_path / "csv").exists()


def test_sql(tmp_path: Path) -> None:
    folder = tmp_path / "it's"
    found = publish(crowd.people(), folder, sensitive="ill", method=METHODS["partitioned"], seed=SEED)
    with duckdb.connect() as connection:
        found.register(connection, 'my "data"')
        query = (
            "SELECT sum((o - (1 - retention) / n_values * n) / retention) FROM ("
            "SELECT part, count(*) AS n, count(*) FILTER (ill = 'cold') AS o FROM {0} GROUP BY part"
            ") JOIN {1} USING (part)"
        )
        shown = connection.execute(query.format('"my ""data"""', '"my ""data""_tables"')).fetchall()
    # Correct where every sub-table can show the value, as here.
    assert all(0 in table.values for table in found.manifest.tables)
    assert shown[0][0] == pytest.approx(found.count(Selection.of(ill="cold")).value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda said: said.update(version=2), "manifest is damaged"),
        (lambda said: said.update(seed=1), "column seed: the manifest is damaged: Extra inputs"),
        (lambda said: said["tables"][0].update(retention=0), "greater than 0"),
        (lambda said: said["tables"][0].update(retention="NaN"), "manifest is damaged"),
        (lambda said: said["tables"][0].update(values=[0, 9]), "not in the domain"),
        (lambda said: said.update(tables=[]), "every other publication has one"),
        (lambda said: said.update(domain=[["a"], ["a"]]), "listed twice"),
        (lambda said: said.update(public=["../../etc/passwd"]), "a column of the publication is missing"),
        (lambda said: said.update(records=2999), "has 3,000 rows, but its manifest states 2,999"),
        (lambda said: said.update(format="../data"), "manifest is damaged"),
        (lambda said: said.update(format="csv"), "rows of the publication are missing"),
    ],
)
def test_a_damaged_manifest(change: Any, said: str, tmp_path: Path) -> None:
    publish(crowd.people(), tmp_path / "out", sensitive="ill", method=UniformPerturbation(0.4), seed=SEED)
    path = tmp_path / "out" / "publication.json"
    plain = json.loads(path.read_text())
    change(plain)
    path.write_text(json.dumps(plain))
    with pytest.raises(InputError, match=said):
        Publication.open(tmp_path / "out")


def test_damaged_rows(tmp_path: Path) -> None:
    method = METHODS["partitioned"]
    found = publish(crowd.people(), tmp_path / "out", sensitive="ill", method=method, seed=SEED)
    rows = pq.read_table(found.data)
    for name, value, said in (("ill", "plague", "not in the domain"), ("part", 77, "does not exist")):
        at = rows.column_names.index(name)
        damaged = rows.set_column(at, name, pa.array([value] * 3000))
        pq.write_table(damaged, found.data)
        with pytest.raises(InputError, match=said):
            Publication.open(tmp_path / "out").count(Selection.of(ill="flu"))
    found.data.write_bytes(b"PAR1 no more")
    with pytest.raises(InputError, match="the file is damaged"):
        Publication.open(tmp_path / "out")
    for text in ("", "{", "[1]", "\xff", "[" * 100_000):
        (tmp_path / "out" / "publication.json").write_text(text, "latin-1")
        with pytest.raises(InputError, match=r"publication\.json: the file is damaged"):
            Publication.open(tmp_path / "out")
    with pytest.raises(InputError, match="this is not a publication; name a folder"):
        Publication.open(tmp_path / "nowhere")
