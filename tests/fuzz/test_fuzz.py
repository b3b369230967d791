"""Inputs of every kind, and everything that ever went wrong with one."""

from __future__ import annotations

import ast
import gzip
import os
import tomllib
from pathlib import Path

import pytest

from fuzz.coverage import guided
from fuzz.kinds import KINDS, REPORTED, numbers
from fuzz.run import check_one, fuzz, signed
from fuzz.words import run_command
from needs import SLOW
from result_folders import make_folder, make_inputs
from showthrough.errors import InputError
from showthrough.frames import read_table

CASES = tomllib.loads((Path(__file__).parent / "corpus" / "cases.toml").read_text("utf-8"))

#: JSON that no parser follows to its end.
DEEP = b"[" * 200_000


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_thousands_of_inputs_of_all_kinds(name, tmp_path):
    every, some = numbers(10_000)[name], numbers(1_200)[name]
    tally = fuzz(KINDS[name], every if SLOW else max(some, min(every, 12)), seed=12, folder=tmp_path)
    assert [(one.signature, one.data) for one in tally.failures if one.signature not in REPORTED] == []
    assert tally.refused
    assert tally.accepted


def written(pieces: list[str | list[str | int]]) -> bytes:
    """The bytes of an input in the corpus."""
    repeated = [(piece, 1) if isinstance(piece, str) else piece for piece in pieces]
    return b"".join(ast.literal_eval(f"b'''{text}'''") * times for text, times in repeated)


@pytest.mark.parametrize("case", CASES)
def test_corpus(case, tmp_path):
    must, kind, data = CASES[case]["must"], KINDS[CASES[case]["kind"]], written(CASES[case]["input"])
    if must == "reported":  # once it is mended, this fails, and the entry says what must happen instead
        with pytest.raises(Exception) as caught:  # noqa: PT011
            check_one(kind, data, tmp_path)
        assert signed(caught.value) in REPORTED
        return
    words = check_one(kind, data, tmp_path)
    assert words is None if must == "accepted" else must in str(words)


def test_guided_by_coverage(tmp_path):
    tally = guided(KINDS["csv"], 60, seed=1, folder=tmp_path)
    assert tally.inputs == tally.accepted + tally.refused == 60


def test_deep_json_of_the_census(tmp_path):
    assert "not a response of the Census API" in str(check_one(KINDS["census"], DEEP, tmp_path))
    assert "nested too deeply" in str(check_one(KINDS["json"], DEEP, tmp_path))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    make_inputs(folder)
    return folder


@pytest.mark.parametrize(
    ("kind", "file", "call"),
    [
        ("audit", "run.json", "verify IN --workers 1"),
        ("protect", "summary.json", "report IN --html OUT.html"),
        ("uniform", "publication.json", "count IN --by job"),
        ("check", "checks.json", "report IN --html OUT.html"),
    ],
)
@pytest.mark.parametrize(
    "content", [DEEP, b"[]", b"", b'{"kind": null'], ids=["deep", "list", "empty", "cut"]
)
def test_manifests_that_are_none(results, kind, file, call, content, tmp_path):
    folder = results / kind
    if not folder.exists():
        make_folder(kind, results)
    names = [path.name for path in folder.glob("*.json")]
    target = folder / (file if file in names else sorted(names)[0])
    before = target.read_bytes()
    target.write_bytes(content)
    try:
        words = call.replace("IN", str(folder)).replace("OUT", str(tmp_path / "out")).split()
        assert str(folder) in str(run_command(words, tmp_path))
    finally:
        target.write_bytes(before)


@pytest.mark.parametrize("content", [b"", b'{"areas": [', b"[]", DEEP], ids=["empty", "cut", "list", "deep"])
def test_plans_of_runs_that_were_cut_off(results, content, tmp_path):
    plan = tmp_path / "run" / ".partial" / "plan.json"
    plan.parent.mkdir(parents=True)
    plan.write_bytes(content)
    call = f"audit {results}/people.csv --tables sex*age --by town --workers 1 --no-report --out run"
    run_command(call.split(), tmp_path)  # which checks the exit code and what is said


def test_a_compressed_file_that_unpacks_to_gigabytes(tmp_path):
    member = gzip.compress((b"x" * 1000 + b"\n") * 2**14, mtime=0)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"a\n", mtime=0) + member * (2_000_000 // len(member)))
    assert path.stat().st_size < 2_100_000
    assert 16 * 2**20 * (2_000_000 // len(member)) > 5e8
    with pytest.raises(InputError, match="unpacks to more than"):
        read_table(path)


@pytest.mark.parametrize("quote", [b"", b'"'])
def test_a_cell_of_ten_megabytes(quote, tmp_path):
    path = tmp_path / "cell.csv"
    path.write_bytes(b"a,b\n1,2\n3," + quote + b"x" * 10**7 + quote + b"\n")
    with pytest.raises(InputError, match="row 2: a value is longer than 1,048,576 bytes"):
        read_table(path)


@pytest.mark.parametrize("special", ["pipe", "device", "loop", "folder", "nothing"])
def test_special_files_are_refused_and_not_waited_for(special, tmp_path):
    path = tmp_path / "data.csv"
    if special == "pipe":
        os.mkfifo(path)
    elif special == "folder":
        path.mkdir()
    elif special != "nothing":
        path.symlink_to({"device": "/dev/zero", "loop": "data.csv"}[special])
    for call in ("publish data.csv --sensitive a --retention 0.5 --out out", "schema data.csv --out s.toml"):
        assert "data.csv" in str(run_command(call.split(), tmp_path))
