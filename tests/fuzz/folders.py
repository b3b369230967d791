"""Result folders of every kind, damaged: every command that reads them says so, or still works."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.dice import Dice
from fuzz.kind import Kind
from fuzz.mutate import change_bytes, change_plain
from fuzz.words import clean, run_command
from result_folders import MADE, READ, make_folder, make_inputs

__all__ = ["KINDS"]

#: Kinds of folders that take seconds to make or to read, so that they come up less often.
SLOW = ("census audit",)


@cache
def base(kind: str) -> Path:
    """A whole folder of a kind; made once, and gone with the process."""
    return make_folder(kind, _inputs())


@cache
def _inputs() -> Path:
    holder = tempfile.TemporaryDirectory(prefix="showthrough-fuzz-")
    _HOLDERS.append(holder)
    make_inputs(Path(holder.name))
    return Path(holder.name)


_HOLDERS: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _files(kind: str) -> tuple[str, ...]:
    folder = base(kind)
    return tuple(sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()))


def make(dice: Dice) -> bytes:
    """A recipe: the kind of folder and the command, then a change on each line."""
    kinds = [kind for kind in MADE if kind not in SLOW]
    kind = dice.of(SLOW) if dice.one_in(40) else dice.of(kinds)
    lines: list[list[Any]] = [[kind, dice.below(len(READ[kind]))]]
    files = _files(kind)
    data = [file for file in files if file.endswith((".parquet", ".json", ".csv", ".toml"))]
    for _ in range(dice.of((1, 1, 1, 2, 3))):
        file = dice.of(files if dice.one_in(6) else data)
        ways = ["delete", "empty", "cut", "bytes", "swap", "folder", "link"]
        if file.endswith(".json"):
            ways += ["json"] * 20
        if file.endswith(".parquet"):
            ways += ["column"] * 20
        lines.append([dice.of(ways), file, dice.below(2**30)])
    if dice.one_in(2):
        lines.append(["sign", "", 0])
    return "\n".join(json.dumps(line) for line in lines).encode()


def check(data: bytes, folder: Path) -> str | None:
    """Copy a folder, damage it, and run a command about it."""
    lines = data.decode("utf-8", "replace").splitlines()
    try:
        kind, number = json.loads(lines[0])
        steps = [(str(way), str(file), int(seed)) for way, file, seed in map(json.loads, lines[1:])]
        call = READ[kind][number]
    except (ValueError, LookupError, TypeError):
        return None  # no recipe, as when one is made smaller
    clean(folder, keep=())
    copy = folder / "in"
    shutil.copytree(base(kind), copy)
    for way, file, seed in steps:
        path = copy / file
        if way == "sign":
            _sign(copy)
        elif path.is_file() and not path.is_symlink():
            with contextlib.suppress(ValueError, OSError, pa.ArrowException):  # damaged twice
                _damage(path, way, Dice(seed), _files(kind))
    words = call.replace("IN", str(copy)).replace("OUT", str(folder / "out")).split()
    return run_command(words, folder)


def _sign(folder: Path) -> None:
    """Write into every manifest the hashes that the files have now, as somebody with intent would."""
    for path in folder.rglob("*.json"):
        with contextlib.suppress(ValueError, OSError, RecursionError):
            content = json.loads(path.read_bytes())
            path.write_text(json.dumps(_signed(content, folder)), "utf-8")


def _signed(content: Any, folder: Path) -> Any:
    if isinstance(content, list):
        return [_signed(one, folder) for one in content]
    if not isinstance(content, dict):
        return content
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if isinstance(one, str) and len(one) == 64 and (folder / name).is_file()
        else _signed(one, folder)
        for name, one in content.items()
    }


def _damage(path: Path, way: str, dice: Dice, files: tuple[str, ...]) -> None:
    content = path.read_bytes()
    if way in ("delete", "folder", "link"):
        path.unlink()
        if way == "folder":
            path.mkdir()
        if way == "link":
            path.symlink_to(dice.of((path.name, "/dev/null", "nowhere", "..")))
        return
    if way == "empty":
        content = b""
    elif way == "cut":
        content = content[: dice.below(len(content) + 1)]
    elif way == "bytes":
        content = change_bytes(content, dice)
    elif way == "swap":
        root = next(above for above in path.parents if (above / files[0]).exists() or above.name == "in")
        other = root / dice.of(files)
        content = other.read_bytes() if other.is_file() else b""
    elif way == "json":
        content = _changed_json(content, dice)
    elif way == "column":
        content = _changed_parquet(content, dice)
    path.write_bytes(content)


def _changed_json(content: bytes, dice: Dice) -> bytes:
    if dice.one_in(30):
        return dice.of((b"[" * 200_000, b"{}", b"[]", b"null", b"1", b'{"a":' * 100_000, b"\xff", b"NaN"))
    plain = json.loads(content)
    for _ in range(dice.of((1, 1, 1, 2))):
        plain = change_plain(plain, dice)
    return json.dumps(plain).encode("utf-8", "surrogatepass")


def _changed_parquet(content: bytes, dice: Dice) -> bytes:
    """A column dropped, emptied, doubled, of another type, out of order; or rows gone."""
    table: Any = pq.read_table(pa.BufferReader(content))
    if not table.num_columns:
        return b""
    at, way = dice.below(table.num_columns), dice.below(9)
    name, column = table.column_names[at], table.column(at)
    if way == 0:
        table = table.drop_columns([name])
    elif way == 1:
        table = table.set_column(at, name, pa.nulls(len(table), column.type))
    elif way == 2:
        table = table.slice(0, dice.of((0, 1)))
    elif way == 3:
        table = pa.concat_tables([table, table.slice(0, 1)])
    elif way == 4:
        table = table.take(pa.array(dice.shuffled(range(len(table))), pa.int64()))
    elif way == 5:
        table = table.rename_columns([one + "x" if one == name else one for one in table.column_names])
    elif way == 6:
        kind, value = dice.of(_OTHERS)
        table = table.set_column(at, name, pa.array([value] * len(table), kind))
    elif way == 7:
        column = pa.array([None if dice.one_in(3) else one for one in column.to_pylist()], column.type)
        table = table.set_column(at, name, column)
    else:
        column = pa.array([_other(one, dice) for one in column.to_pylist()], column.type)
        table = table.set_column(at, name, column)
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream)
    return stream.getvalue().to_pybytes()


_OTHERS: tuple[tuple[pa.DataType, Any], ...] = (
    (pa.string(), "x"), (pa.int64(), -1), (pa.int64(), 2**62), (pa.float64(), float("nan")),
    (pa.float64(), float("inf")), (pa.float64(), -1.5), (pa.bool_(), True), (pa.binary(), b"\xff"),
    (pa.list_(pa.int64()), [1]), (pa.string(), '{"a": 1}'), (pa.string(), "[" * 5000),
    (pa.string(), ""), (pa.null(), None), (pa.string(), "k" * 3000),
)  # fmt: skip


def _other(value: Any, dice: Dice) -> Any:
    """Another value of the same type, now and then."""
    if value is None or dice.one_in(2):
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return dice.of((0, 1, value // 2, max(0, value - 1), min(value + 1, 127)))
    if isinstance(value, float):
        return dice.of((0.0, -value, float("nan"), value / 2, float("inf")))
    if isinstance(value, str):
        return dice.of(("", value + "x", value[:-1], "{}", "[]", "null", "\x00"))
    if isinstance(value, bytes):
        return dice.of((b"", value[:-1], value + b"\x00", bytes(len(value))))
    return value


KINDS = (Kind("folders", make, check, 0.12, seconds=120),)
