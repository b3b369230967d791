"""The record of a session of ACRO: the tables of counts among its outputs, with what it says of each cell.

ACRO (github.com/AI-SDC/ACRO) checks the outputs of researchers and writes ``results.json`` with a CSV file
for every table, and its settings to ``config.json``. The record has more than counts: tables of means,
regressions, plots. What cannot be seen to be a table of counts is left out, and said to be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from showthrough.errors import InputError, ReleaseError
from showthrough.files import read_json
from showthrough.formats.printed.cross_table import read_cross_tables
from showthrough.formats.printed.table import Category, PrintedTable
from showthrough.frames.marks import is_total_label

__all__ = [
    "acro_files",
    "is_acro",
    "read_acro",
]

#: Outcomes of checks that are made of averages and sums only, never of counts.
NOT_OF_COUNTS = ("p-ratio", "nk-rule", "all-values-are-same", "negative", "missing")

#: Arguments with which a crosstab shows something else than counts of records, or totals by other names.
NOT_COUNTING = {"values", "aggfunc", "normalize", "margins_name"}

_WHOLE = re.compile(r"[0-9]+(?:\.0*)?")

REMEDY = "give the results.json that ACRO wrote, in the folder with its other files"


def is_acro(start: bytes) -> bool:
    """Whether a JSON file that begins like this is a record of ACRO.

    >>> is_acro(b'{"version": "0.4.12", "results": {'), is_acro(b'{"version": "2.0", "class": "dataset"}')
    (True, False)
    """
    return re.match(rb'\{\s*"version"\s*:\s*"[^"]*"\s*,\s*"results"\s*:\s*\{', start) is not None


def acro_files(path: Path) -> list[Path]:
    """The files that a record is made of, as far as they are read."""
    outputs, settings = _outputs(path), path.with_name("config.json")
    named = [place for one in outputs if one.left_out is None for place in one.files]
    return [path, *([settings] if settings.is_file() else []), *named]


def read_acro(path: Path) -> list[PrintedTable]:
    """The tables of counts in a record of ACRO.

    Raises
    ------
    ReleaseError
        If the file is no such record, a file of it is missing, or none of its outputs is a table of counts.
    """
    outputs, settings = _outputs(path), _settings(path)
    tables, others = list[PrintedTable](), list[str]()
    for one in outputs:
        found = [] if one.left_out is not None else [read_cross_tables(place) for place in one.files]
        printed = [table for several in found for table in several]
        why = one.left_out or _no_counts(printed)
        if why is not None:
            others.append(f"{one.name} ({why})")
            continue
        tables += _of_output(one, printed, settings)
    if not tables:
        raise ReleaseError(
            "none of the outputs is a table of counts",
            file=str(path),
            found="; ".join(others[:5]) or "no outputs",
            remedy="import the CSV file of a table itself, if it holds counts",
        )
    if others:
        said = f"outputs of the record that are not covered: {', '.join(others)}"
        tables[0] = replace(tables[0], remarks=(*tables[0].remarks, said))
    return tables


@dataclass(frozen=True)
class _Output:
    """One output of a record. ``left_out`` says why it is not covered."""

    name: str
    record: Mapping[str, Any]
    files: tuple[Path, ...]
    left_out: str | None
    question: str = ""
    across: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether cells were suppressed or rounded."""
        said = any(_reasons(text) for text in self.outcome.values())
        return self.base > 1 or (said and _is_suppressed(self.record))

    @property
    def outcome(self) -> dict[tuple[tuple[str, ...], tuple[str, ...]], str]:
        """(labels of rows, labels of columns) → what the checks found there."""
        found = self.record.get("outcome")
        return {
            (_labels(row), _labels(column)): str(said)
            for column, cells in (found.items() if isinstance(found, dict) else ())
            for row, said in (cells.items() if isinstance(cells, dict) else ())
        }

    @property
    def base(self) -> int:
        """The base to which counts were rounded; 1 if they were not."""
        properties = self.record["properties"]
        base = properties.get("round_base")
        return base if properties.get("mitigation") == "round" and isinstance(base, int) and base > 1 else 1


def _outputs(path: Path) -> list[_Output]:
    plain = read_json(path, error=ReleaseError, remedy=REMEDY)
    results = plain.get("results")
    if not isinstance(results, dict) or not all(isinstance(one, dict) for one in results.values()):
        raise ReleaseError("not an ACRO record", file=str(path), remedy=REMEDY)
    return [_output(path, str(uid), record) for uid, record in results.items()]


def _output(path: Path, uid: str, record: dict[str, Any]) -> _Output:
    name, kind, properties = uid.strip() or "output", record.get("type"), record.get("properties")
    if kind != "table" or not isinstance(properties, dict) or properties.get("method") != "crosstab":
        said = str(properties.get("method") or kind) if isinstance(properties, dict) else str(kind)
        return _Output(name, record, (), said)
    why, question, across = _counting(str(record.get("command", "")))
    if why is None and _is_aggregated(record):
        why = "no counts: averages or sums were checked"
    files = tuple(_place(path, one) for one in record.get("files") or ()) if why is None else ()
    if why is None and not files:
        why = "no file"
    return _Output(name, record, files, why, question, across)


def _place(path: Path, file: object) -> Path:
    """A file of the record, which stands beside it."""
    name = file.get("name") if isinstance(file, dict) else None
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", ".."):
        raise ReleaseError(
            "a file of the record must be named by a plain file name", file=str(path), found=str(name)
        )
    place = path.with_name(name)
    if not place.is_file():
        raise ReleaseError("a file of the record is missing", file=str(place), remedy=REMEDY)
    return place


def _counting(command: str) -> tuple[str | None, str, tuple[str, ...]]:
    """Why a command does not count records, what is unsure about it, and the names of columns it names."""
    try:
        calls = [node for node in ast.walk(ast.parse(command)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        calls = []
    called = next((one for one in calls if _name(one.func) == "crosstab"), None)
    if called is None:
        unsure = "it is assumed that it holds counts: the record does not show the whole command that made it"
        return None, f"{unsure}; if it does not, take the other tables: --sheet", ()
    named = {keyword.arg: keyword.value for keyword in called.keywords}
    odd = sorted(NOT_COUNTING & {*map(str, named)})
    other = next((name for name in odd if not _is_none(named[name])), None)
    if other is not None or len(called.args) > 2 or None in named:
        return f"crosstab with {other or 'further arguments'}", "", ()
    columns = named.get("columns", called.args[1] if len(called.args) > 1 else None)
    listed = columns.elts if isinstance(columns, ast.List | ast.Tuple) else [columns]
    return None, "", tuple(_name(one) for one in listed)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (None, False)


def _name(node: ast.expr | None) -> str:
    """What an expression such as ``df.year`` or ``df["year"]`` names; empty if that is not clear."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        node = node.slice
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _reasons(said: str) -> set[str]:
    """Which checks a cell failed.

    >>> _reasons("threshold; p-ratio; ") == {"threshold", "p-ratio"}, _reasons("ok")
    (True, set())
    """
    return {part.strip() for part in said.split(";")} - {"", "ok"}


def _summaries(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for file in record.get("files") or ():
        sdc = file.get("sdc") if isinstance(file, dict) else None
        summary = sdc.get("summary") if isinstance(sdc, dict) else None
        yield summary if isinstance(summary, dict) else {}


def _is_suppressed(record: Mapping[str, Any]) -> bool:
    """Whether cells that failed were suppressed; so it is taken unless the record denies it."""
    return any(summary.get("suppressed") is not False for summary in _summaries(record))


def _is_aggregated(record: Mapping[str, Any]) -> bool:
    """Whether checks found something that no table of counts has."""
    return any(summary.get(name) for summary in _summaries(record) for name in NOT_OF_COUNTS)


def _no_counts(tables: Sequence[PrintedTable]) -> str | None:
    """Why tables do not hold counts."""
    values = [value for table in tables for value in table.values if value]
    odd = next((value for value in values if not _WHOLE.fullmatch(value)), None)
    return None if odd is None else f"no counts: {odd}"


def _settings(path: Path) -> dict[str, Any]:
    place = path.with_name("config.json")
    try:
        return read_json(place, error=ReleaseError) if place.is_file() else {}
    except InputError:
        return {}


def _labels(text: str) -> tuple[str, ...]:
    """The labels in a head as ACRO writes it: one, or several as a tuple.

    >>> _labels("('usual', 'inconv')"), _labels("usual"), _labels("(2010, '')")
    (('usual', 'inconv'), ('usual',), ('2010', ''))
    """
    try:
        found = ast.literal_eval(text) if text.startswith("(") else text
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = text
    return tuple(map(str, found)) if isinstance(found, tuple) else (text,)


def _of_output(
    one: _Output, tables: Sequence[PrintedTable], settings: Mapping[str, Any]
) -> Iterator[PrintedTable]:
    for number, table in enumerate(tables, 1):
        name = one.name if len(tables) == 1 else f"{one.name} {number}"
        remarks = list(table.remarks)
        if status := str(one.record.get("status") or ""):
            remarks.append(f"ACRO's status: {status}")
        changed = one.changed or any(not value for value in table.values)
        kept = _with_dropped(_without_totals(table), one, remarks) if changed else table
        if len(kept.values) < len(table.values):
            remarks.append("its totals are left out: ACRO makes them of the cells that it shows")
        values = list(_values(kept, one, _suppressed(settings), remarks))
        dimensions = list(kept.dimensions)
        places = range(len(dimensions) - kept.across, len(dimensions))
        for at, said in zip(places, one.across, strict=False):
            if said and not dimensions[at].name and len(one.across) == kept.across:
                dimensions[at] = replace(dimensions[at], name=said)
        yield replace(
            kept,
            name=name,
            values=values,
            dimensions=tuple(dimensions),
            remarks=tuple(remarks),
            questions=(*kept.questions, *([one.question] if one.question else [])),
        )


def _without_totals(table: PrintedTable) -> PrintedTable:
    """A table without the cells that are totals."""
    keep = np.ones(len(table.values), bool)
    for at, dimension in enumerate(table.dimensions):
        total = np.array([is_total_label(category.code) for category in dimension.categories], bool)
        keep &= ~total[table.codes[:, at]]
    rows = np.flatnonzero(keep).tolist()

    def chosen(items: Sequence[Any]) -> list[Any]:
        return [items[row] for row in rows] if items else []

    dimensions, codes = list(table.dimensions), table.codes[keep].copy()
    for at, dimension in enumerate(dimensions):
        used = sorted({*codes[:, at].tolist()})
        dimensions[at] = replace(dimension, categories=tuple(dimension.categories[code] for code in used))
        codes[:, at] = np.searchsorted(used, codes[:, at])
    return replace(
        table,
        dimensions=tuple(dimensions),
        codes=codes,
        values=chosen(table.values),
        flags=chosen(table.flags),
        rows=chosen(table.rows),
        columns=chosen(table.columns),
    )


def _with_dropped(table: PrintedTable, one: _Output, remarks: list[str]) -> PrintedTable:
    """A table with the categories that ACRO checked but does not show, for lack of a cell to show."""
    dimensions, added = list(table.dimensions), list[str]()
    split = len(dimensions) - table.across
    for rows, columns in one.outcome:
        if (len(rows), len(columns)) != (split, table.across) or any(map(is_total_label, (*rows, *columns))):
            continue
        for at, label in enumerate((*rows, *columns)):
            if label and label not in {category.code for category in dimensions[at].categories}:
                categories = (*dimensions[at].categories, Category(label))
                dimensions[at] = replace(dimensions[at], categories=categories)
                added.append(label)
    if added:
        remarks.append(f"no cell is shown of {', '.join(added)}: not published")
    return replace(table, dimensions=tuple(dimensions))


def _suppressed(settings: Mapping[str, Any]) -> str:
    """What a count below the threshold may be, as an interval; empty if the settings do not say."""
    threshold = settings.get("safe_threshold")
    if type(threshold) is not int or not 1 < threshold < 2**31:
        return ""
    least = 1 if settings.get("zeros_are_disclosive") is False else 0
    return f"{least}-{threshold - 1}"


def _values(table: PrintedTable, one: _Output, below: str, remarks: list[str]) -> Iterator[str]:
    """The values as counts or intervals; empty where nothing is known."""
    outcome, rounded, hidden = one.outcome, one.base > 1, 0
    for value, codes in zip(table.values, table.codes.tolist(), strict=True):
        labels = [d.categories[code].code for d, code in zip(table.dimensions, codes, strict=True)]
        split = len(labels) - table.across
        said = outcome.get((tuple(labels[:split]), tuple(labels[split:])), "")
        if value and rounded:
            count, half = int(float(value)), one.base // 2
            yield f"{max(0, count - half)}-{count + half}"
        elif not value and below and _reasons(said) == {"threshold"}:
            hidden += 1
            yield below
        else:
            yield value
    if hidden:
        remarks.append(f"cells suppressed by the threshold ({hidden:,}) are {below.replace('-', ' to ')}")
    if rounded:
        remarks.append(f"counts are rounded to the nearest multiple of {one.base}")
