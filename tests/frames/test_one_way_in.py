"""All commands read alike: the same rows, the same refusals in the same words, each small file once."""

from __future__ import annotations

import builtins
import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from command import Run, runner
from showthrough.frames import content, delimited, read_table

PEOPLE = {
    "town": ["A", "A", "A", "B", "B", "B"] * 5,
    "sex": ["f", "m", "f", "m", "f", "f"] * 5,
    "ill": ["yes", "no", "no", "no", "yes", "no"] * 5,
    "x": [str(n) for n in range(30)],
}

#: Commands that read the file DATA.
COMMANDS: dict[str, str] = {
    "audit": "audit DATA --tables sex*ill --by town --no-report --out OUT",
    "protect": "protect DATA --tables sex*ill --by town --forbid singletons --no-report --out OUT",
    "bounds": "bounds DATA --tables sex*ill --by town --where sex=f",
    "schema": "schema DATA --columns town,sex,ill",
    "publish": "publish DATA --sensitive ill --public town,sex --retention 0.5 --no-report --out OUT",
    "check": "check DATA --sensitive ill --public town,sex --reconstruction 0.3:0.3 --retention 0.5",
    "compare": "compare DATA --sensitive ill --public town,sex --methods uniform --retention 0.5 --runs 1 "
    "--queries 3 --selectivity 1",
    "perturb": "perturb DATA --column x --noise uniform:2 --seed 1 --out OUT.csv",
    "attack": "attack DATA --column x --noise uniform:2 --truth DATA",
    "ratio attack": "attack DATA --sensitive ill --public town,sex --epsilon 1",
    "advise": "advise DATA --column x --share 0.5 --absolute 1 --draws 1 --confirmations 4",
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def called(command: str, data: str) -> list[str]:
    """The words of a command, with an output of its own."""
    out = f"out-{command}-{data}"
    return [word.replace("DATA", data).replace("OUT", out) for word in COMMANDS[command].split()]


def csv_of(rows: dict[str, list[str]]) -> bytes:
    lines = [",".join(rows), *(",".join(row) for row in zip(*rows.values(), strict=True))]
    return "\n".join(lines).encode() + b"\n"


GOOD = csv_of(PEOPLE)
FIRST, REST = GOOD.split(b"\n", 1)

#: What is wrong with a file, and what all commands say about it.
FAULTS: dict[str, tuple[bytes, str]] = {
    "a separator too many": (GOOD + b"A,f,no,1,\n", "row 31: the row has 5 fields, the header 4"),
    "a field too few": (GOOD + b"A,f,no\n" + REST, "row 31: the row has 3 fields, the header 4"),
    "text after a quote": (GOOD + b'"A"a,f,no,1\n', "row 31: a quote stands inside a field"),
    "a quote inside": (GOOD + b'A"a,f,no,1\n' + REST, "row 31: a quote stands inside a field"),
    "an open quote": (GOOD + b'"A,f,no,1\n' + REST, "row 31: a quote is never closed"),
    "an empty file": (b"", "the file is empty"),
    "blank lines only": (b"\n\r\n\n", "the file is empty"),
    "a name twice": (b"town,sex,ill,x,sex\n", "column sex: two columns have the same name"),
    "a name missing": (b"town,,sex,ill,x\n", "column 2 has no name"),
    "a value without a name": (
        b"town,sex,ill,x,\nA,f,no,1,\nB,f,no,1,z\n",
        "row 2: there is a value in a column that has no name",
    ),
    "no rows": (FIRST + b"\n", "there are no records"),
    "another encoding": (GOOD.decode().encode("utf-16"), "the header is not UTF-8"),
    "a long value": (GOOD + b"A,f,no," + b"1" * (2**20 + 1) + b"\n", "row 31: a value is longer than 1,048,"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_all_commands_refuse_in_the_same_words(run: Run, name: str) -> None:
    data, said = FAULTS[name]
    Path("data.csv").write_bytes(data)
    Path("data.csv.gz").write_bytes(gzip.compress(data, mtime=0))
    for file in ("data.csv", "data.csv.gz"):
        heard = {command: run(*called(command, file)) for command in COMMANDS}
        assert {ran.code for ran in heard.values()} == {2}, heard
        assert {ran.err for ran in heard.values()} == {heard["audit"].err}
        assert f"{file}" in heard["audit"].err
        assert said in heard["audit"].err
    assert sorted(path.name for path in Path().iterdir()) == ["data.csv", "data.csv.gz"]


#: The same rows, written in other ways.
WAYS: dict[str, bytes] = {
    "as it is": GOOD,
    "mixed line ends": FIRST + b"\r\n" + REST.replace(b"\n", b"\r", 3).replace(b"\n", b"\r\n", 4),
    "blank lines": b"\n\r\n" + FIRST + b"\n\n" + REST.replace(b"\n", b"\n\r\n", 5),
    "a byte order mark": b"\xef\xbb\xbf" + GOOD,
    "all in quotes": b"\n".join(
        b",".join(b'"' + field + b'"' for field in line.split(b",")) for line in GOOD.splitlines()
    ),
    "a separator at the end of each line": GOOD.replace(b"\n", b",\n"),
    "no line end at the end": GOOD[:-1],
}


@pytest.mark.parametrize("whole", [True, False], ids=["at once", "in blocks"])
def test_other_ways_to_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    if not whole:
        monkeypatch.setattr(content, "HELD", 0)
        monkeypatch.setattr(delimited, "BLOCK", 64)
    for name, data in WAYS.items():
        (tmp_path / "data.csv").write_bytes(data)
        assert read_table(tmp_path / "data.csv").to_pydict() == PEOPLE, name


def test_all_commands_read_all_formats(run: Run) -> None:
    table = pa.table(PEOPLE)
    Path("people.csv").write_bytes(GOOD)
    Path("people.tsv").write_bytes(GOOD.replace(b",", b"\t"))
    Path("people.csv.gz").write_bytes(gzip.compress(GOOD, mtime=0))
    pq.write_table(table, "people.parquet")
    feather.write_feather(table, "people.feather")
    with pa.OSFile("people.arrow", "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    Path("parts").mkdir()
    pq.write_table(table.slice(0, 11), "parts/1.parquet")
    pq.write_table(table.slice(11), "parts/2.parquet")
    Path("parts/_SUCCESS").touch()
    files = ["people.tsv", "people.csv.gz", "people.parquet", "people.feather", "people.arrow", "parts"]
    for at, command in enumerate(COMMANDS):
        expected = run(*called(command, "people.csv"))
        assert expected.code in (0, 1), (command, expected.err)
        # Every command reads two of them here; that all read alike is tested below them.
        for file in (files[at % 5], "parts"):
            found = run(*called(command, file))
            assert found.code == expected.code, (command, file, found.err)
            if command not in ("publish", "perturb"):  # these draw at random
                same = found.out.replace(file, "people.csv")
                assert " ".join(same.split()) == " ".join(expected.out.split()), (command, file)


def _watched(call: Callable[..., Any], opened: list[str]) -> Callable[..., Any]:
    """The same, with a list of the paths that are opened."""

    def watched(path: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(path, str | bytes | os.PathLike):
            opened.append(os.fsdecode(path))
        return call(path, *arguments, **named)

    return watched


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "attack"])
def test_a_small_file_is_opened_and_parsed_once(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    Path("data.csv").write_bytes(GOOD)
    parsed, parse = list[int](), arrow_csv.read_csv
    opened = list[str]()

    def counting(*arguments: Any, **named: Any) -> Any:
        parsed.append(1)
        return parse(*arguments, **named)

    monkeypatch.setattr(delimited.arrow_csv, "read_csv", counting)
    for module in (builtins, io, os):
        monkeypatch.setattr(module, "open", _watched(module.open, opened))
    assert run(*called(command, "data.csv")).code in (0, 1)
    assert ([Path(path).name for path in opened].count("data.csv"), len(parsed)) == (1, 1)
