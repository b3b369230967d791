"""What is to be decided together, as a file that any process on any machine reads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import RecordsError
from showthrough.records import Records, code_dtype
from showthrough.release import Layout, Release
from showthrough.tables.run.inputs import Area, Broken, Input, Nested, Planned, names_of

__all__ = [
    "DIGEST_BYTES",
    "digest_area",
    "digest_input",
    "digest_of",
    "join_digests",
    "pointer_of",
    "read_input",
    "write_input",
    "write_pointer",
]

INPUT_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("low", pa.list_(pa.int64())),
        ("high", pa.list_(pa.int64())),
        ("codes", pa.binary()),
        ("why", pa.string()),
        ("n_parts", pa.int64()),
    ]
)


#: Under which names a file has the digest of what it holds, and where else that is.
_DIGEST, _POINTER = b"showthrough-digest", b"showthrough-pointer"

#: How long the digest of an area is.
DIGEST_BYTES = 16


def write_input(path: Path, areas: Sequence[Input], layout: Layout) -> str:
    """Write areas to a file, with a digest of them, which is returned."""
    rows = [list(_rows(area, layout)) for area in areas]
    content = join_digests(map(_digest, rows))
    table = pa.Table.from_pylist([row for mine in rows for row in mine], INPUT_COLUMNS)
    pq.write_table(table.replace_schema_metadata({_DIGEST: content.encode()}), path, compression="zstd")
    return content


def write_pointer(path: Path, content: str, pointer: str) -> None:
    """Write down where areas with this digest are to be found, instead of the areas."""
    metadata = {_DIGEST: content.encode(), _POINTER: pointer.encode()}
    pq.write_table(INPUT_COLUMNS.empty_table().replace_schema_metadata(metadata), path)


def pointer_of(path: Path) -> str:
    """Where the areas of a file are to be found; nothing if they are in the file."""
    return (pq.read_schema(path).metadata or {}).get(_POINTER, b"").decode()


def digest_input(areas: Sequence[Input], layout: Layout) -> str:
    """A few letters by which areas in a row are known: their names, counts and records."""
    return join_digests(digest_area(area, layout) for area in areas)


def digest_area(area: Input, layout: Layout) -> bytes:
    """A few bytes by which an area is known."""
    return _digest(_rows(area, layout))


def join_digests(digests: Iterable[bytes]) -> str:
    """The digest of areas in a row, from those of each.

    >>> join_digests([b"a", b"b"])[:8]
    'fb8e20fc'
    """
    return hashlib.sha256(b"".join(digests)).hexdigest()


def digest_of(path: Path) -> str:
    """The digest of the areas in a file."""
    return (pq.read_schema(path).metadata or {}).get(_DIGEST, b"").decode()


def _digest(rows: Iterable[Mapping[str, object]]) -> bytes:
    found = hashlib.sha256()
    for row in rows:
        for name in INPUT_COLUMNS.names:
            content = _bytes(row.get(name))
            found.update(b"-" if content is None else b"%d:%b" % (len(content), content))
    return found.digest()[:DIGEST_BYTES]


def _bytes(value: object) -> bytes | None:
    """A value in bytes, of which a column never has two kinds."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value, "<i8").tobytes()
    return str(value).encode("utf-8", "surrogatepass")


def _rows(area: Input, layout: Layout) -> Iterator[dict[str, object]]:
    """An area as a row; with parts a row for the whole, which counts them, and one for each."""
    if not isinstance(area, Nested):
        yield _row(area, layout)
        return
    whole = area.whole
    yield {"area": whole.area, "low": whole.low, "high": whole.high, "n_parts": len(area.parts)}
    yield from (_row(part, layout) for part in area.parts)


def _row(area: Area | Planned | Broken, layout: Layout) -> dict[str, object]:
    row: dict[str, object] = {"area": names_of(area)[0]}
    if isinstance(area, Broken):
        return row | {"why": area.why}
    if isinstance(area, Area):
        row |= {"low": area.release.low, "high": area.release.high, "why": area.problem or None}
    records = area.truth if isinstance(area, Area) else area.records
    if records is None:
        return row
    if records.schema is not layout.schema and records.schema != layout.schema:
        raise RecordsError("the records have another schema than the release", file=names_of(area)[0] or None)
    return row | {"codes": records.codes.astype(code_dtype(layout.schema)).tobytes()}


def read_input(path: Path, layout: Layout) -> list[Area | Broken | Nested]:
    """The areas in such a file."""
    rows = iter(pq.read_table(path, use_threads=False).to_pylist())
    found: list[Area | Broken | Nested] = []
    for row in rows:
        n_parts = row.pop("n_parts")
        area = _area(layout=layout, **row)
        if n_parts is None:
            found.append(area)
            continue
        parts = [
            _area(layout=layout, **{k: v for k, v in one.items() if k != "n_parts"})
            for one in islice(rows, n_parts)
        ]
        if isinstance(area, Area):
            found.append(Nested(area.release, tuple(part for part in parts if isinstance(part, Area))))
    return found


def _area(
    *,
    area: str,
    low: list[int] | None,
    high: list[int] | None,
    codes: bytes | None,
    why: str | None,
    layout: Layout,
) -> Area | Broken:
    records = None if codes is None else _records(codes, layout)
    if low is not None and high is not None:
        release = Release(layout, np.array(low, np.int64), np.array(high, np.int64), area)
        return Area(release, records, why or "")
    if records is None:
        return Broken(area, why or "no counts and no records")
    return Area(layout.tabulate(records, area=area), records)


def _records(codes: bytes, layout: Layout) -> Records:
    schema = layout.schema
    flat = np.frombuffer(codes, code_dtype(schema))
    return Records(schema, flat.reshape(-1, len(schema.attributes)))
