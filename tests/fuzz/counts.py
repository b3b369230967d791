"""Published counts, tidy and wide: the same values as the oracle reads, at once and area by area."""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path

from fuzz.dice import Dice
from fuzz.kind import Fault, Kind, attempt
from fuzz.mutate import change_bytes, change_tokens
from fuzz.oracle import UNBOUNDED, Meant, Refused, bounds, read_delimited
from showthrough.formats.counts_file import open_counts, read_counts
from showthrough.formats.design import Design
from showthrough.notation import Notation, Rounding, parse_value
from showthrough.release import Layout, make_table
from showthrough.releases import Releases
from showthrough.schema import Schema

__all__ = ["KINDS"]

VALUES = (
    "0", "1", "12", "007", "1-4", "1 - 4", "<5", "< 5", "<=3", "≤3", ">2", ">=2", "≥ 2", "100+", "5.0",
    "5.", "5.50", "1e5", "−3", "-3", "１２", "1,234", "", " ", "*", "unknown", "Unknown", "x", "1..4",
    "1–4", "4-1", "<0", "<1", "+", "1+", "nan", "4611686018427387903", "4611686018427387904", "9" * 30,
    "0" * 40, "0" * 40 + "7", "1-", "-", "--", "5-5", "1-4-6", "٣", "²", " 7 ", "\u00a07", "7\u2003",
    "1_0", "0x5", "true", "1 2", "<", ">", "inf", "1.0.0", "9.", ".5", ".", "10", "15", "20", "5",
)  # fmt: skip
AREAS = ("1", "2", "B 1", "", " ", "é", "01")
ODD = (
    b'"',
    b",",
    b"\n",
    b"\r",
    b"\x00",
    b"\xff",
    b"total",
    b"sex=f",
    b"sex:sex=f",
    b"table",
    b"cell",
    b"value",
    b"area",
)


@cache
def design(kind: str) -> Design:
    """Tables whose values are written plainly, with a mark, or rounded."""
    schema = Schema.of({"sex": ["f", "m"], "age": ["young", "old"]})
    tables = make_table(schema, "sex"), make_table(schema, "sex*age", totals=True)
    notation = {
        "plain": Notation(),
        "marked": Notation({"*": (1, 4), "": (0, UNBOUNDED)}),
        "rounded": Notation(rounding=Rounding(5, "random")),
    }[kind]
    return Design(Layout(schema, tables), (notation, Notation()))


def make(dice: Dice) -> bytes:
    """A file of counts; its first byte says which design it belongs to."""
    layout, quote = design("plain").layout, lambda text: '"' + text.replace('"', '""') + '"'
    areas = (
        [dice.of(AREAS) for _ in range(dice.of((1, 1, 2, 3)))]
        if dice.one_in(6)
        else ["1", "2", "3"][: dice.between(1, 3)]
    )
    odd, has_area = dice.of((2, 4, 30)), not dice.one_in(4)

    def value() -> str:
        return dice.of(VALUES) if dice.one_in(odd) else str(dice.below(4) * 5)

    if dice.one_in(2):
        rows = [["area", "table", "cell", "value"]]
        rows += [
            [area, table, cell, value()]
            for area in areas
            for table, cell in layout.names
            if not dice.one_in(8)
        ]
    else:
        rows = [["area", *(f"{table}:{cell}" for table, cell in layout.names)]]
        rows += [[area, *(value() for _ in layout.names)] for area in areas]
    if not has_area:
        rows = [row[1:] for row in rows]
    tokens = [
        token
        for row in rows
        for field in row
        for token in (quote(field).encode() if dice.one_in(9) or "," in field else field.encode(), b",")
    ]
    width = 2 * len(rows[0])
    tokens = [b"\n" if at % width == width - 1 else token for at, token in enumerate(tokens)]
    for _ in range(dice.of((0, 0, 0, 1, 2))):
        tokens = change_tokens(tokens, dice, ODD)
    data = b"".join(tokens)
    if dice.one_in(20):
        data = change_bytes(data, dice, odd=ODD)
    return dice.of((b"p", b"m", b"r")) + data


def check(data: bytes, folder: Path) -> str | None:
    """Read counts in both ways there are."""
    path = folder / "counts.csv"
    path.write_bytes(data[1:])
    chosen = design({b"m": "marked", b"r": "rounded"}.get(data[:1], "plain"))
    found = attempt(lambda: read_counts(path, chosen), file=path)
    if found.error is None:
        _compare(found.value, read_delimited(data[1:], ",", longest=2**20), chosen)
    elif _is_surely_right(data[1:], chosen):
        raise Fault(f"refused though nothing is wrong: {found.words}")
    if zlib.crc32(data) % 4 == 0:
        _check_stream(path, found.words, None if found.error is not None else found.value, chosen)
    return found.words


def _compare(found: Releases, meant: Meant, chosen: Design) -> None:
    """Every value that was read is the one that stands there."""
    read: dict[tuple[str, str], tuple[int, int]] = {}
    for release in found:
        at = found.areas.index(release.area)
        for place in range(found.starts[at], found.starts[at + 1]):
            cell = int(found.cells[place])
            key = release.area, ":".join(found.layout.names[cell])
            read[key] = int(found.low[place]), int(found.high[place])
    said = _said(meant, chosen.layout)
    wanted = {key: _bounds(text, key, chosen) for key, text in said}
    if len(said) != len(wanted) or read != wanted:
        raise Fault(f"read as {read}, not as {wanted}")


def _said(meant: Meant, layout: Layout) -> list[tuple[tuple[str, str], str | None]]:
    """(area, table:cell) and what is written there."""
    columns = dict(zip(meant.names, meant.columns, strict=True))
    areas = columns.get("area", ("",) * meant.n_rows)
    by_cell = {
        cell: [f"{table}:{cell}" for table, inner in layout.names if inner == cell]
        for _, cell in layout.names
    }

    def full(name: str) -> str:
        return by_cell[name][0] if name in by_cell and len(by_cell[name]) == 1 else name

    if "cell" in columns or "table" in columns:
        cells, tables = columns["cell"], columns.get("table")
        names = (
            [f"{table}:{cell}" for table, cell in zip(tables, cells, strict=True)]
            if tables
            else [full(cell or "") for cell in cells]
        )
        return [
            ((area or "", name), text)
            for area, name, text in zip(areas, names, columns["value"], strict=True)
        ]
    return [
        ((area or "", full(name)), text)
        for name, column in columns.items()
        if name != "area"
        for area, text in zip(areas, column, strict=True)
    ]


def _bounds(text: str | None, key: tuple[str, str], chosen: Design) -> tuple[int, int] | None:
    notation = chosen.notations[0 if key[1].startswith("sex:") else 1]
    text = text or ""
    for symbol in (text, text.strip()):
        if symbol in notation.suppressed:
            return notation.suppressed[symbol]
    found = bounds(text)
    is_count = found is not None and found[0] == found[1] and not set(text.strip()) - set("0123456789.")
    if notation.rounding is None or not is_count or found is None or ".." in text:
        return found
    if found[0] % 5:
        return None
    return max(0, found[0] - 4), min(UNBOUNDED, found[0] + 4)


def _is_surely_right(data: bytes, chosen: Design) -> bool:
    """Whether the file is tidy, complete in its columns, and every value has a meaning."""
    try:
        meant = read_delimited(data, ",", longest=2**20)
    except Refused:
        return False
    if meant.names != ("area", "table", "cell", "value"):
        return False
    known = {":".join(name) for name in chosen.layout.names}
    said = _said(meant, chosen.layout)
    keys = [key for key, _ in said]
    return (
        len(set(keys)) == len(keys)
        and all(area and name in known for area, name in keys)
        and all(_bounds(text, key, chosen) is not None for key, text in said)
    )


def _check_stream(path: Path, words: str | None, found: Releases | None, chosen: Design) -> None:
    """Area by area the same comes out as at once."""

    def read() -> dict[str, tuple[list[int], list[int]]] | None:
        stream = open_counts(path, chosen, by=None, tolerant=False)
        if stream is None:
            return None
        areas = dict(stream.areas(path.parent))
        if len(areas) != stream.n_areas:
            raise Fault(f"{stream.n_areas} areas were announced, {len(areas)} came")
        return {area: (one.low.tolist(), one.high.tolist()) for area, one in areas.items()}

    streamed = attempt(read, file=path)
    if found is None:
        if streamed.error is None and streamed.value is not None:
            raise Fault(f"read area by area, but at once: {words}")
    elif streamed.error is not None:
        raise Fault(f"read at once, but area by area: {streamed.words}")
    elif streamed.value is not None and streamed.value != {
        one.area: (one.low.tolist(), one.high.tolist()) for one in found
    }:
        raise Fault("area by area other counts than at once")


def make_value(dice: Dice) -> bytes:
    """A value as somebody may write it."""
    text = dice.of(VALUES)
    for _ in range(dice.of((0, 1, 1, 2))):
        at = dice.below(len(text) + 1)
        text = dice.of(
            (
                text[:at] + dice.of(VALUES) + text[at:],
                text[:at] + text[at + 1 :],
                text[:at] + dice.of("0123456789+-<>=.– \t\n") + text[at:],
            )
        )
    return text.encode()


def check_value(data: bytes, _: Path) -> str | None:
    """One value means what the oracle says."""
    text = data.decode("utf-8", "replace")
    found = attempt(lambda: parse_value(text, Notation()))
    meant = bounds(text)
    if (found.value if found.error is None else None) != meant:
        raise Fault(f"{text!r} read as {found.value or found.words}, not as {meant}")
    return found.words


KINDS = (
    Kind("counts", make, check, 2),
    Kind("values", make_value, check_value, 18),
)
