"""Damage to folders of results, as disks, people and hasty scripts do it, file by file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

#: JSON that no parser follows to its end.
DEEP = "[" * 200_000


@dataclass(frozen=True)
class Damage:
    """What is done to which file."""

    file: str
    what: str
    do: Callable[[Path], None]

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


def damages(folder: Path) -> Iterator[Damage]:
    """Every damage to a folder that is tried."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    for file in files:
        content = (folder / file).read_bytes()
        other = (folder / next(name for name in files if name != file)).read_bytes()
        yield Damage(file, "removed", Path.unlink)
        yield Damage(file, "empty", lambda path: _write(path, b""))
        yield Damage(file, "cut in half", lambda path, whole=content: _write(path, whole[: len(whole) // 2]))
        yield Damage(file, "another file", lambda path, found=other: _write(path, found))
        yield Damage(file, "a folder", _folder)
        if file.endswith(".json"):
            yield from _json(file, json.loads(content))
        if file.endswith(".parquet"):
            yield from _parquet(file, pq.read_table(folder / file))


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _json(file: str, content: Any) -> Iterator[Damage]:
    for what, text in (("nested without end", DEEP), ("a list", "[]"), ("null", "null"), ("{}", "{}")):
        yield Damage(file, what, lambda path, text=text: _write(path, text.encode()))
    for place in _places(content):
        shown = ".".join(map(str, place))
        yield Damage(file, f"{shown} dropped", lambda path, place=place: _change(path, place, drop=True))
        here = _at(content, place)
        for value in (None, _other(here)) if here is not None else (_other(here),):
            what = f"{shown} = {json.dumps(value)[:40]}"
            yield Damage(file, what, lambda path, place=place, value=value: _change(path, place, value))


def _places(content: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values are: all keys of objects, the first entry of lists."""
    inner = content if isinstance(content, dict) else range(min(len(content), 1))
    for key in inner:
        yield (*above, key)
        if isinstance(content[key], dict | list):
            yield from _places(content[key], (*above, key))


def _at(content: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        content = content[key]
    return content


def _other(value: Any) -> Any:
    """A value of another type."""
    if isinstance(value, dict):
        return ["x"]
    if isinstance(value, list):
        return {"x": 1}
    return 10**30 if isinstance(value, str | bool) else "x"


def _change(path: Path, place: tuple[Any, ...], value: Any = None, *, drop: bool = False) -> None:
    content = json.loads(path.read_text("utf-8"))
    inner = _at(content, place[:-1])
    if drop:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    path.write_text(json.dumps(content), "utf-8")


def _parquet(file: str, table: pa.Table) -> Iterator[Damage]:
    yield Damage(file, "no rows", lambda path: pq.write_table(table.slice(0, 0), path))
    yield Damage(file, "no columns", lambda path: pq.write_table(table.select([]), path))
    for at, field in enumerate(table.schema):
        changed = {
            "dropped": table.remove_column(at),
            "null": table.set_column(at, field.name, pa.nulls(table.num_rows, field.type)),
            "of another type": table.set_column(at, field.name, _cast(table.num_rows, field.type)),
            "garbled": table.set_column(at, field.name, _garbled(table.num_rows, field.type)),
            "renamed": table.rename_columns([*table.column_names[:at], "x", *table.column_names[at + 1 :]]),
        }
        if pa.types.is_list(field.type):
            inner = pa.array([[None]] * table.num_rows, field.type)
            changed["of nulls"] = table.set_column(at, field.name, inner)
        for what, made in changed.items():
            yield Damage(
                file, f"column {field.name} {what}", lambda path, made=made: pq.write_table(made, path)
            )


def _garbled(n_rows: int, kind: pa.DataType) -> pa.Array:
    """Values of the right type that cannot be."""
    if pa.types.is_list(kind):
        return pa.array([[_garbled(1, kind.value_type)[0].as_py()]] * n_rows, kind)
    if pa.types.is_boolean(kind):
        return pa.array([n % 2 == 0 for n in range(n_rows)], kind)
    text = not (pa.types.is_integer(kind) or pa.types.is_floating(kind))
    return pa.array(["x" if text else -1] * n_rows).cast(kind)


def _cast(n_rows: int, kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array([7] * n_rows, pa.int64())
    return pa.array(["x"] * n_rows, pa.string())
