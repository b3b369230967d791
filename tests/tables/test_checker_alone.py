"""The checker by itself: a run folder in, a verdict and an exit code out, with NumPy and nothing else."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
from showthrough.release import UNBOUNDED
from showthrough.tables import proof as checker_package
from showthrough.tables.proof import Checker, Leaf, Proof, command, whole
from showthrough.tables.proof.failure import Unreadable
from showthrough.tables.proof.folder import Folder, parse_dataset, parse_terms
from showthrough.tables.proof.whole import CheckedRun, check_run
from showthrough.tables.proof.world import World

MEN, TWO_WOMEN, OLD = '{"sex": "m"}', '{"sex": "f"}', '{"age": ["old"]}'
OVER = ("sex", "age")

#: Three people, one of them a woman: cell 0 is everybody, cells 1 and 2 the sexes; no old man exists.
LAYOUT: dict[str, Any] = {
    "attributes": [
        {"name": "sex", "values": ["f", "m"]},
        {"name": "age", "values": ["young", "old", "oldest"]},
    ],
    "rules": [{"when": {"age": ["oldest"]}, "then": {"sex": ["f"]}, "both_ways": False}],
    "tables": [
        {"cells": [{"selection": {}}]},
        {"cells": [{"selection": {"sex": ["f"]}}, {"selection": {"sex": ["m"]}}]},
    ],
}

TWO_MEN = Proof(
    (("sex", ("m",)),),
    2,
    at_least=Leaf(((0, 1), (1, -1)), (), 1, 2),
    at_most=Leaf(((0, -1), (1, 1)), (), 1, -2),
    over=OVER,
)
NEVER_TWO_WOMEN = Proof((("sex", ("f",)),), 2, never=Leaf(((1, -1),), ((0, 1),), 1, 1), over=OVER)


def dataset(*ages: str) -> str:
    """A woman and two men of these ages."""
    first, *others = ages
    rows: list[list[Any]] = [[{"sex": "f", "age": first}, 1]]
    rows += [[{"sex": "m", "age": age}, 2 // len(others)] for age in others]
    return json.dumps(rows)


Rows = list[tuple[Any, ...]]

KINDS: dict[str, tuple[str, list[tuple[str, pa.DataType]]]] = {
    "counts": (
        "counts",
        [("area", pa.string()), ("low", pa.list_(pa.int64())), ("high", pa.list_(pa.int64()))],
    ),
    "proofs": (
        "proofs/proofs",
        [("area", pa.string()), ("proof", pa.string()), ("claims", pa.list_(pa.string()))],
    ),
    "claims": (
        "claims",
        [
            ("area", pa.string()),
            ("selection", pa.string()),
            ("multiplicity", pa.int64()),
            ("verdict", pa.string()),
        ],
    ),
    "witnesses": ("proofs/witnesses", [(n, pa.string()) for n in ("area", "selection", "first", "second")]),
}


@dataclass(frozen=True)
class Made:
    """What is in a run folder; by default two areas that hold."""

    layout: Any = None
    areas: Sequence[str] = ("one", "two")
    counts: Rows | None = None
    proofs: Rows | None = None
    claims: Rows | None = None
    witnesses: Rows | None = None

    def tables(self) -> dict[str, Rows]:
        first, second = dataset("old", "young"), dataset("young", "young", "old")
        every: dict[str, Rows] = {
            "counts": [([3, 1, 0], [3, 1, UNBOUNDED])],
            "proofs": [(TWO_MEN.to_json(), [MEN]), (NEVER_TWO_WOMEN.to_json(), [TWO_WOMEN])],
            "claims": [
                (MEN, 2, "verified"),
                (TWO_WOMEN, 2, "impossible"),
                ('{"age": "old", "sex": "m"}', 1, "refuted"),
                (OLD, 1, "undecided"),
            ],
            "witnesses": [('{"age": "old", "sex": "m"}', first, second)],
        }
        found = {name: [(a, *row) for a in self.areas for row in rows] for name, rows in every.items()}
        return {name: getattr(self, name) or rows for name, rows in found.items()}

    def write(self, folder: Path) -> Path:
        """The folder, with the hashes of its files."""
        (folder / "proofs").mkdir(parents=True, exist_ok=True)
        (folder / "release.json").write_text(json.dumps(self.layout or LAYOUT), "utf-8")
        for name, rows in self.tables().items():
            place, columns = KINDS[name]
            made = [dict(zip([c for c, _ in columns], row, strict=True)) for row in rows]
            table = pa.Table.from_pylist(made, pa.schema(columns))
            pq.write_table(table, folder / f"{place}.parquet", compression="gzip", row_group_size=3)
        seal(folder)
        return folder


def seal(folder: Path, **entries: Any) -> None:
    """Write run.json anew."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "run.json")
    hashes = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }
    said = {"outputs": hashes, "release": hashes.get("release.json")} | entries
    (folder / "run.json").write_text(json.dumps(said), "utf-8")


def problems(made: Made, folder: Path) -> tuple[str, ...]:
    return check_run(made.write(folder)).problems


def changed(name: str, *rows: tuple[Any, ...], made: Made | None = None) -> Made:
    """The same folder with other rows in one table."""
    return replace(made or Made(), **{name: list(rows)})


class TestWhatHolds:
    def test_a_run(self, tmp_path: Path) -> None:
        told: list[tuple[int, int]] = []
        found = check_run(Made().write(tmp_path), lambda *done: told.append(done))
        assert found == CheckedRun(2, 4, 4, 2, (), 0)
        assert found.holds
        assert told == [(1, 2), (2, 4)]

    def test_a_run_of_an_audit(self, tmp_path: Path) -> None:
        """What ``audit`` writes, with every kind of claim; and ``verify`` counts the same."""
        schema = st.Schema.of({"sex": ["f", "m"], "age": ["young", "old"], "ill": ["no", "yes"]})
        layout = st.Layout(schema, tuple(st.make_table(schema, one) for one in ("sex*age", "age*ill", "sex")))
        rng = np.random.default_rng(3)
        records = [st.Records(schema, rng.integers(0, 2, (5, 3)).astype(np.uint8)) for _ in range(3)]
        areas = [st.Area(layout.tabulate(one, area=f"a{n}"), one) for n, one in enumerate(records)]
        settings = st.Settings(scope=st.Scope(absent=True, gaps=True), refuted=True)
        st.run_audit(areas, layout, tmp_path / "run", settings=settings)
        found = check_run(tmp_path / "run")
        verified = st.verify(tmp_path / "run")
        assert found.holds
        assert verified.holds
        assert found.areas == verified.areas == 3
        assert (found.proofs, found.claims) == (verified.proofs, verified.claims)
        assert found.witnesses == verified.witnesses > 10

    def test_an_empty_run(self, tmp_path: Path) -> None:
        assert check_run(Made(areas=()).write(tmp_path)) == CheckedRun(0, 0, 0, 0, (), 0)


class TestWhatDoesNotHold:
    def test_a_proof_of_something_else(self, tmp_path: Path) -> None:
        for other, told in (
            (replace(TWO_MEN, multiplicity=3), "the multipliers prove at least 2, not at least 3"),
            (
                replace(NEVER_TWO_WOMEN, never=Leaf((), (), 1, 0)),
                "the multipliers prove at least 0, not never 2",
            ),
            (replace(TWO_MEN, at_least=None, at_most=None), "the proof is empty"),
        ):
            made = changed("proofs", ("two", other.to_json(), []))
            assert f"area two: {told}" in problems(made, tmp_path)

    def test_a_claim_that_is_listed_and_not_proved(self, tmp_path: Path) -> None:
        made = changed("proofs", ("one", TWO_MEN.to_json(), [MEN, TWO_WOMEN]), made=Made(areas=["one"]))
        found = problems(made, tmp_path)
        assert found[0] == "area one: the multipliers exceed what a record type can contribute"
        # Nothing counts that is listed with a proof that fails.
        assert f"area one: no proof for {MEN} x2" in found

    @pytest.mark.parametrize(
        ("row", "told"),
        [
            ((MEN, 3, "verified"), f"no proof for {MEN} x3"),
            ((MEN, 2, "impossible"), f"no proof for {MEN} x2"),
            ((TWO_WOMEN, 2, "verified"), f"no proof for {TWO_WOMEN} x2"),
            (('{"sex":"m"}', 2, "verified"), 'no proof for {"sex":"m"} x2'),
            ((OLD, 1, "refuted"), f"no witnesses against {OLD}"),
            ((OLD, 1, "sure"), f"an unknown verdict on {OLD}: sure"),
        ],
    )
    def test_claims_without_evidence(self, row: tuple[Any, ...], told: str, tmp_path: Path) -> None:
        assert problems(changed("claims", ("two", *row)), tmp_path) == (f"area two: {told}",)

    def test_half_a_proof_verifies_nothing(self, tmp_path: Path) -> None:
        for part in ({"at_most": None}, {"at_least": None}):
            half = replace(TWO_MEN, **part)
            made = changed("proofs", ("one", half.to_json(), [MEN]), made=Made(areas=["one"]))
            assert f"area one: no proof for {MEN} x2" in problems(made, tmp_path)

    def test_a_proof_of_another_area(self, tmp_path: Path) -> None:
        """What is proved about one area is not proved about the next."""
        made = changed(
            "proofs", ("one", TWO_MEN.to_json(), [MEN]), ("one", NEVER_TWO_WOMEN.to_json(), [TWO_WOMEN])
        )
        assert problems(made, tmp_path) == (
            f"area two: no proof for {MEN} x2",
            f"area two: no proof for {TWO_WOMEN} x2",
        )

    @pytest.mark.parametrize(
        ("second", "told"),
        [
            (dataset("oldest", "young"), 'the witnesses agree on {"age": "old", "sex": "m"}'),
            (dataset("old", "old", "oldest"), "a witness breaks a rule: {'sex': 'm', 'age': 'oldest'}"),
            (json.dumps([[{"sex": "m", "age": "old"}, 3]]), "a witness has 0 records in a cell of 1-1"),
            (json.dumps([[{"sex": "m", "age": "teen"}, 3]]), "a witness holds an impossible record: "),
            ("[[3, 4]]", "cannot be checked: TypeError: "),
            ('[[{"sex": "m", "age": ["old"]}, 3]]', "cannot be checked: TypeError: "),
            ('[[{"sex": "m", "sex": "f"}, 3]]', "cannot be checked: ValueError: a name occurs twice"),
            ('[[{"sex": "f", "age": "old"}, true]]', "cannot be checked: TypeError: "),
            ('[[{"sex": "f", "age": "old"}, 1.0]]', "cannot be checked: TypeError: "),
            ("{", "cannot be checked: JSONDecodeError: "),
            ("[" * 5000, "cannot be checked: RecursionError: "),
        ],
    )
    def test_witnesses(self, second: str, told: str, tmp_path: Path) -> None:
        selection = '{"age": "old", "sex": "m"}'
        made = changed(
            "witnesses", ("one", selection, dataset("old", "young"), second), made=Made(areas=["one"])
        )
        found = problems(made, tmp_path)
        assert found[0].startswith(f"area one: {told}")
        assert found[1:] == (f"area one: no witnesses against {selection}",)

    @pytest.mark.parametrize(
        "selection",
        ['{"age": "teen"}', '{"size": "1"}', '{"age": []}', "[]", '{"age": 3}', '{"age": ["old", "teen"]}',
         '{"sex": "f", "sex": "m"}', "{", '{"age": null}'],
    )  # fmt: skip
    def test_selections_that_say_nothing(self, selection: str, tmp_path: Path) -> None:
        worlds = dataset("old", "young"), dataset("young", "young", "old")
        made = Made(areas=["one"], proofs=[("one", TWO_MEN.to_json(), [selection])])
        made = replace(made, witnesses=[("one", selection, *worlds)])
        found = problems(made, tmp_path)
        assert sum("cannot be checked" in one for one in found) == 2

    def test_proofs_that_cannot_be_read(self, tmp_path: Path) -> None:
        texts = ("", "{}", "[1]", '{"selection": {}, "multiplicity": 1.5, "over": []}', "[" * 5000)
        made = changed("proofs", *(("one", text, []) for text in texts), made=Made(areas=["one"]))
        found = problems(made, tmp_path)
        assert [one for one in found[:5] if one.startswith("area one: the proof cannot be read")] == list(
            found[:5]
        )

    def test_rows_without_counts(self, tmp_path: Path) -> None:
        three = Made(areas=("one", "two", "three")).tables()
        for name in ("proofs", "claims", "witnesses"):
            made = replace(Made(), **{name: three[name]})
            assert problems(made, tmp_path) == (
                f"area three: rows about it in the table {name}, but no counts in their order",
            )
        swapped = replace(Made(), counts=Made().tables()["counts"][::-1])
        assert "area two: rows about it in the table proofs, but no counts in their order" in problems(
            swapped, tmp_path
        )
        # The first counts are those that count.
        counts = [("one", [3, 1, 0], [3, 1, UNBOUNDED]), ("one", [4, 1, 0], [4, 1, UNBOUNDED])]
        twice = replace(Made(areas=["one"]), counts=counts)
        assert problems(twice, tmp_path) == ("area one: has counts more than once",)

    def test_only_the_first_problems_are_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(whole, "MOST_TOLD", 3)
        made = changed("claims", *(("one", MEN, n, "verified") for n in range(3, 9)))
        found = check_run(made.write(tmp_path))
        assert (len(found.problems), found.n_problems, found.holds) == (3, 6, False)

    @pytest.mark.parametrize(("most", "checked"), [(2, 2), (1, 4), (4096, 2)])
    def test_few_datasets_are_remembered(
        self, most: int, checked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And what is forgotten is checked again."""
        monkeypatch.setattr(whole, "MOST_WORLDS", most)
        calls: list[object] = []
        real = Checker.check_world
        monkeypatch.setattr(
            Checker, "check_world", lambda self, rows: (calls.append(rows), real(self, rows))[1]
        )
        made = Made(areas=["one"])
        assert not problems(replace(made, witnesses=2 * made.tables()["witnesses"]), tmp_path)
        assert len(calls) == checked

    def test_an_area_without_a_name(self, tmp_path: Path) -> None:
        made = changed("claims", ("", MEN, 3, "verified"), made=Made(areas=[""]))
        assert problems(made, tmp_path) == (f"no proof for {MEN} x3",)


class TestFiles:
    def test_changed_files(self, tmp_path: Path) -> None:
        folder = Made().write(tmp_path)
        (folder / "summary.json").write_text("{}")
        seal(folder)
        assert check_run(folder).holds
        (folder / "summary.json").write_text("{} ")
        assert list(Folder(folder).changed()) == ["summary.json: changed since the run"]
        (folder / "summary.json").unlink()
        assert list(Folder(folder).changed()) == ["summary.json: missing"]
        (folder / "summary.json").mkdir()
        assert check_run(folder).problems == ("summary.json: missing",)

    def test_files_that_are_not_listed(self, tmp_path: Path) -> None:
        folder = Made().write(tmp_path)
        for entries in ({"outputs": {}}, {"outputs": None}, {"outputs": ["claims.parquet"]}):
            seal(folder, release=None, **entries)
            assert list(Folder(folder).changed()) == [
                f"{name}: not listed in run.json"
                for name in (
                    *("claims.parquet", "counts.parquet", "proofs/proofs.parquet"),
                    *("proofs/witnesses.parquet", "release.json"),
                )
            ]
        seal(folder, release="other")
        assert list(Folder(folder).changed()) == ["release.json: not the release named in run.json"]

    def test_only_files_of_the_folder(self, tmp_path: Path) -> None:
        folder = Made().write(tmp_path / "run")
        (tmp_path / "other").write_text("x")
        said = json.loads((folder / "run.json").read_text())["outputs"]
        for name in ("../other", str(tmp_path / "other"), "proofs/../../other"):
            seal(folder, outputs={**said, name: hashlib.sha256(b"x").hexdigest()})
            assert list(Folder(folder).changed()) == [f"{name}: not a file of the folder"]

    @pytest.mark.parametrize(
        "change",
        [
            lambda said: said.pop("attributes"),
            lambda said: said.pop("rules"),
            lambda said: said.pop("tables"),
            lambda said: said.update(attributes=[]),
            lambda said: said["attributes"][0].update(values=[]),
            lambda said: said["attributes"][0].update(values=["f", "f"]),
            lambda said: said["attributes"][0].update(values=["f", 1]),
            lambda said: said["attributes"][0].update(name="age"),
            lambda said: said["attributes"][0].update(name=1),
            lambda said: said["attributes"].append({"name": "x", "values": []}),
            lambda said: said["attributes"].append({"name": "x", "values": ["a", "a"]}),
            lambda said: said["attributes"].append({"name": "x", "values": ["a", 1]}),
            lambda said: said["attributes"].append({"name": 1, "values": ["a"]}),
            lambda said: said["attributes"].append(said["attributes"][1]),
            lambda said: said.update(attributes=[], rules=[], tables=[{"cells": 3 * [{"selection": {}}]}]),
            lambda said: said["rules"][0].update(both_ways=0),
            lambda said: said["rules"][0]["when"].update(age=["teen"]),
            lambda said: said["rules"][0]["then"].update(size=["1"]),
            lambda said: said["tables"][1]["cells"][0].update(selection={"sex": "f"}),
            lambda said: said["tables"][1]["cells"][0].update(selection={"sex": []}),
            lambda said: said["tables"][1]["cells"].pop(),
            lambda said: said["tables"][1]["cells"].append({"selection": {}}),
        ],
    )
    def test_a_release_that_cannot_be(self, change: Callable[[Any], object], tmp_path: Path) -> None:
        said = json.loads(json.dumps(LAYOUT))
        change(said)
        with pytest.raises(Unreadable, match=str(tmp_path)):
            check_run(Made(layout=said).write(tmp_path))

    @pytest.mark.parametrize(
        ("low", "high"),
        [([3, 1], [3, 1, 2]), ([3, 1, 0], [3, 1]), ([3, 1, -1], [3, 1, 2]), ([3, 2, 0], [3, 1, 2])],
    )
    def test_counts_that_cannot_be(self, low: list[int], high: list[int], tmp_path: Path) -> None:
        with pytest.raises(Unreadable, match="area 'one' has"):
            check_run(changed("counts", ("one", low, high), made=Made(areas=["one"])).write(tmp_path))

    def test_folders_without_a_run(self, tmp_path: Path) -> None:
        for content, told in (
            (None, "not the folder of a finished run"),
            ("{", "cannot be read"),
            ("[" * 5000, "cannot be read"),
            ('{"a": 1, "a": 2}', "a name occurs twice"),
            ('{"kind": "publication"}', "not the folder of an audit, but of: 'publication'"),
            ("{}", "release.json: No such file"),
        ):
            if content is not None:
                (tmp_path / "run.json").write_text(content)
            with pytest.raises(Unreadable, match=told):
                check_run(tmp_path)

    def test_a_rule_both_ways(self, tmp_path: Path) -> None:
        """Whoever is a woman is among the oldest, too: the witnesses break that."""
        said = json.loads(json.dumps(LAYOUT))
        said["rules"][0]["both_ways"] = True
        told = "area one: a witness breaks a rule: {'sex': 'f', 'age': 'old'}"
        assert told in problems(Made(layout=said), tmp_path)

    def test_a_file_that_cannot_be_hashed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> None:
            raise OSError(5, "Input/output error")

        folder = Made().write(tmp_path)
        monkeypatch.setattr(hashlib, "file_digest", broken)
        with pytest.raises(Unreadable, match="Input/output error"):
            check_run(folder)

    def test_texts(self, tmp_path: Path) -> None:
        schema = Folder(Made().write(tmp_path)).schema
        assert parse_terms('{"age": ["old", "young"], "sex": "f"}', schema) == (
            ("age", ("old", "young")),
            ("sex", ("f",)),
        )
        assert parse_terms('{"sex": ["f", "m"]}', schema) == (("sex", ("f", "m")),)
        assert parse_terms("{}", schema) == ()
        assert parse_dataset('[[{"a": "1"}, 2]]') == [({"a": "1"}, 2)]
        assert parse_dataset("[]") == []


class TestWorlds:
    def test_counts(self) -> None:
        """Against adding up, for numbers of all sizes."""
        rng = np.random.default_rng(1)
        rows = [
            ({"a": str(a), "b": str(b)}, int(rng.integers(0, 2**n)))
            for n, (a, b) in enumerate(rng.integers(0, 3, (40, 2)))
        ]
        rows.append(({"a": "0", "b": "0"}, 2**100))
        world = World(rows)
        for a in ((), ("0",), ("0", "2"), ("1", "9")):
            for b in (("0", "1", "2"), ("1",)):
                terms = (("a", a), ("b", b))
                expected = sum(times for record, times in rows if record["a"] in a and record["b"] in b)
                assert world.count(terms) == expected
        assert world.count(()) == sum(times for _, times in rows)
        assert World([]).count(()) == 0
        assert world.count((("c", ("0",)),)) == 0


class TestCommand:
    def test_what_it_prints(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        folder = Made().write(tmp_path)
        assert command.main([str(folder)]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "Checked 2 areas, 4 proofs, 4 claims, 2 witnesses.",
            "All of it holds.",
            "Not checked here: that the counts are the published ones; findings, sentences, totals and the "
            "page (showthrough verify).",
        ]
        assert command.main([str(folder), "--json"]) == 0
        plain = json.loads(capsys.readouterr().out)
        assert plain.pop("not_checked").startswith("Not checked here")
        assert plain == {
            "holds": True, "areas": 2, "proofs": 4, "claims": 4, "witnesses": 2,
            "n_problems": 0, "problems": [],
        }  # fmt: skip

    def test_problems(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        name = "a\x1b[2J\n" + "x" * 1000
        made = Made(areas=[name], claims=[(name, MEN, n, "verified") for n in range(2, 40)])
        folder = made.write(tmp_path)
        assert command.main([str(folder)]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines[:2] == ["Checked 1 area, 2 proofs, 38 claims, 1 witness.", "37 problems:"]
        assert lines[2].startswith("  area a\\x1b[2J\\nxxx")
        assert max(map(len, lines)) < 410
        assert lines[22] == "..."
        assert len(lines) == 24
        assert command.main([str(folder), "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["n_problems"] == 37
        one = replace(made, claims=[(name, MEN, 1, "verified")])
        assert command.main([str(one.write(tmp_path))]) == 1
        assert "\n1 problem:\n" in capsys.readouterr().out

    def test_errors(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.main([str(tmp_path)]) == 2
        assert capsys.readouterr().err == (
            f"error: {tmp_path}: not the folder of a finished run: there is no run.json\n"
        )
        folder = Made().write(tmp_path)
        (folder / "claims.parquet").write_bytes(b"PAR1")
        assert command.main([str(folder)]) == 2
        assert "claims.parquet: the file cannot be read" in capsys.readouterr().err
        with pytest.raises(SystemExit) as stopped:
            command.main([])
        assert stopped.value.code == 2

    def test_letters_that_cannot_be_shown(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stderr", stream)
        assert command.main([str(tmp_path / "größe")]) == 2
        stream.flush()
        assert b"gr\\xf6\\xdfe: not the folder" in stream.buffer.getvalue()  # pyright: ignore

    def test_progress_on_a_terminal(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(command, "PAUSE", -1)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        assert command.main([str(Made().write(tmp_path))]) == 0
        assert capsys.readouterr().err == "\r1 areas, 2 proofs \r\r2 areas, 4 proofs \r"


#: Runs a program with NumPy and the standard library, and nothing else that is installed.
ALONE = """
import runpy, sys

class OnlyNumPy:
    def find_spec(self, name, path=None, target=None):
        base = name.partition(".")[0]
        if base in sys.stdlib_module_names or base in ("__main__", "numpy", "proof_checker"):
            return None
        raise ImportError(f"{name} is not there")

sys.meta_path.insert(0, OnlyNumPy())
sys.argv = sys.argv[1:]
sys.dont_write_bytecode = True
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_copy_needs_numpy_and_nothing_else(tmp_path: Path) -> None:
    """Copied elsewhere under another name, where nothing of showthrough can be imported."""
    folder = Made().write(tmp_path / "run")
    copy = tmp_path / "my checker"
    source = Path(checker_package.__file__).parent
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(copy), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[1] == "All of it holds."
    assert done.returncode == 0
