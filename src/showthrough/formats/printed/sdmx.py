"""SDMX-CSV files, versions 1.0 and 2.0, as Eurostat, the OECD and many offices hand them out.

The reader is our own. pysdmx reads such files through pandas, which takes codes for numbers: area ``01``
becomes ``1``, labels and row numbers are lost. Our tests have pysdmx read what we write.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import NoReturn

import numpy as np

from showthrough.errors import ReleaseError
from showthrough.files import write_text
from showthrough.formats.printed.cross_table import read_csv_grid
from showthrough.formats.printed.grid import TextGrid, guarded, settled
from showthrough.formats.printed.print_grid import flags_of, plain_values
from showthrough.formats.printed.table import Category, Dimension, PrintedTable, check_printed

__all__ = [
    "is_sdmx_header",
    "read_sdmx",
    "write_sdmx",
]

#: Columns that say what a row is, not what it is about.
_STRUCTURE = frozenset(
    [
        *("DATAFLOW", "STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "SERIES_KEY", "OBS_KEY"),
        *("LAST UPDATE", "LAST_UPDATE"),
    ]
)

#: Attributes, wherever they stand.
_ATTRIBUTES = frozenset(
    [
        *("UNIT_MULT", "DECIMALS", "OBS_STATUS", "OBS_FLAG", "CONF_STATUS", "OBS_CONF", "OBS_PRE_BREAK"),
        *("OBS_COM", "COMMENT_OBS", "TIME_FORMAT", "COLLECTION", "TITLE", "TITLE_COMPL"),
    ]
)

#: Flags that say nothing: a normal value, and free to be published.
_STATUS, _CONFIDENTIALITY = ("OBS_STATUS", "OBS_FLAG"), ("CONF_STATUS", "OBS_CONF")
_NOTHING = {"OBS_STATUS": "A", "OBS_FLAG": "", "CONF_STATUS": "F", "OBS_CONF": "F"}

#: Codes of CONF_STATUS that withhold a value.
_WITHHELD = frozenset(["C", "D", "N", "S", "P", "B", "G", "O", "R", "T"])

#: Marks that mean the same in other formats, in small letters.
_CONFIDENTIAL = frozenset(["c", "[c]", "(c)", "conf", "conf.", "confidential", "suppressed", "supp", "supp."])

#: Dimensions whose kind is known from their name.
_ROLES = {"TIME_PERIOD": "time", "REF_AREA": "area", "GEO": "area"}

_ID = re.compile(r"[A-Za-z0-9_@$-]+")


def is_sdmx_header(names: Sequence[str]) -> bool:
    """Whether columns are those of SDMX-CSV.

    >>> is_sdmx_header(["DATAFLOW", "geo", "OBS_VALUE"]), is_sdmx_header(["area", "OBS_VALUE"])
    (True, False)
    """
    ids = {name.partition(":")[0].strip() for name in names}
    return "OBS_VALUE" in ids and ("DATAFLOW" in ids or {"STRUCTURE", "STRUCTURE_ID"} <= ids)


def read_sdmx(path: str | os.PathLike[str]) -> list[PrintedTable]:
    """Read the data flows of an SDMX-CSV file.

    The columns before OBS_VALUE are dimensions. The status of observations and their confidentiality become
    flags; other attributes are passed over. Columns and codes may have labels (``M: Males``), or columns
    with labels beside them.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    list of PrintedTable
        One per data flow.

    Raises
    ------
    ReleaseError
        If a column is missing, an observation occurs twice, or values are not counts but thousands.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> rows = ["DATAFLOW,geo,sex: Sex,OBS_VALUE,CONF_STATUS", "X:F,01,M: Men,5,F", "X:F,01,W: Women,,C"]
    >>> with NamedTemporaryFile("w+", suffix=".csv") as file:
    ...     _ = file.write("\\n".join(rows)), file.flush()
    ...     [table] = read_sdmx(file.name)
    >>> table.dimensions[1].label, [category.label for category in table.dimensions[1].categories]
    ('Sex', ['Men', 'Women'])
    >>> table.values, table.flags
    (('5', ''), ('', 'C'))
    """
    grid = read_csv_grid(path)
    rows = [row for row in range(len(grid.rows)) if any(text.strip() for text in grid.rows[row])]
    if not rows or not is_sdmx_header(grid.rows[rows[0]]):
        raise ReleaseError(
            "not an SDMX-CSV file",
            file=grid.file,
            row=1,
            found=",".join(grid.rows[rows[0]])[:200] if rows else "",
            remedy="the first row has DATAFLOW, or STRUCTURE and STRUCTURE_ID, and OBS_VALUE",
        )
    return _Flows(grid, _columns(grid, rows[0], rows[1:]), rows[1:]).tables()


@dataclass(frozen=True)
class _Column:
    """A column: its place, its name and label, and the place of its labels if they have a column."""

    at: int
    name: str
    label: str = ""
    labels: int = -1


@dataclass(frozen=True)
class _Columns:
    """The columns by what they are."""

    flow: int
    value: int
    dimensions: tuple[_Column, ...]
    flags: tuple[_Column, ...]
    width: int
    action: int = -1
    multiplier: int = -1


def _columns(grid: TextGrid, head: int, rows: Sequence[int]) -> _Columns:
    found: list[_Column] = []
    for at, text in enumerate(grid.rows[head]):
        name, _, label = (part.strip() for part in text.partition(":"))
        found.append(_Column(at, name, label))
    names = [column.name for column in found]
    for name in names:
        if names.count(name) > 1:
            raise grid.error(
                "two columns have the same name", row=head, column=names.index(name), found=name,
                remedy="rename one",
            )  # fmt: skip
    value = names.index("OBS_VALUE")
    dimensions = [
        column
        for column in found
        if column.at < value or column.name == "TIME_PERIOD"
        if column.name.upper() not in _STRUCTURE | _ATTRIBUTES
    ]
    if "STRUCTURE_NAME" in names:  # labels have columns of their own
        dimensions = _with_labels(grid, dimensions, rows)
    if not dimensions:
        raise grid.error("no dimension stands before OBS_VALUE", row=head, column=value, remedy="add one")
    flags = tuple(column for column in found if column.name in (*_STATUS, *_CONFIDENTIALITY))
    flow = names.index("STRUCTURE_ID" if "STRUCTURE_ID" in names else "DATAFLOW")
    place = {name: names.index(name) if name in names else -1 for name in ("ACTION", "UNIT_MULT")}
    return _Columns(flow, value, tuple(dimensions), flags, len(found), place["ACTION"], place["UNIT_MULT"])


def _with_labels(grid: TextGrid, columns: Sequence[_Column], rows: Sequence[int]) -> list[_Column]:
    """The dimensions; where a column with labels stands to the right of each, these belong to them."""
    pairs = list(zip(columns[::2], columns[1::2], strict=False))
    if len(columns) % 2 or not pairs or not all(_names_codes(grid, *pair, rows) for pair in pairs):
        return list(columns)
    return [_Column(codes.at, codes.name, names.name, names.at) for codes, names in pairs]


def _names_codes(grid: TextGrid, codes: _Column, names: _Column, rows: Sequence[int]) -> bool:
    """Whether a column may hold the labels of the codes on its left, which stand in capital letters."""
    if codes.label or not re.fullmatch(r"[A-Z0-9_]+", codes.name) or re.fullmatch(r"[A-Z0-9_]+", names.name):
        return False
    pairs = {(grid.text(row, codes.at), grid.text(row, names.at)) for row in rows}
    return len(pairs) == len({code for code, _ in pairs})


@dataclass(frozen=True)
class _Flows:
    """The rows of a file on their way to tables."""

    grid: TextGrid
    columns: _Columns
    rows: Sequence[int]

    def tables(self) -> list[PrintedTable]:
        """One table per data flow, in the order of the file."""
        flows: dict[str, list[int]] = {}
        for row in self.rows:
            self._check(row)
            if not self._is_observation(row):
                continue
            flows.setdefault(self.grid.text(row, self.columns.flow), []).append(row)
        if not flows:
            raise ReleaseError("the file has no observation", file=self.grid.file, remedy="add rows")
        return [self._table(flow, rows) for flow, rows in flows.items()]

    def _check(self, row: int) -> None:
        held, head = len(self.grid.rows[row]), self.columns.width
        if held != head:
            raise self.grid.error(
                f"the row has {held} fields, the header {head}",
                row=row,
                found=",".join(self.grid.rows[row])[:200],
                remedy="put fields that hold the separator or a quote in double quotes",
            )
        if self.columns.multiplier >= 0:
            factor = self.grid.text(row, self.columns.multiplier).partition(":")[0]
            if factor not in ("", "0"):
                raise self.grid.error(
                    "the values are not counts but multiples of a power of ten",
                    row=row,
                    column=self.columns.multiplier,
                    found=factor,
                    remedy="ask for the counts; what was rounded to thousands cannot be audited as exact",
                )

    def _is_observation(self, row: int) -> bool:
        """Whether a row states a value: it deletes none, and has more than attributes of others."""
        deletes = self.columns.action >= 0 and self.grid.text(row, self.columns.action) == "D"
        return not deletes and any(self._flags_and_value(row))

    def _flags_and_value(self, row: int) -> tuple[str, str]:
        flags = [
            text
            for column in self.columns.flags
            for text in [self.grid.text(row, column.at).partition(":")[0].strip()]
            if text != _NOTHING[column.name]
        ]
        value, flag = settled(self.grid.text(row, self.columns.value), " ".join(filter(None, flags)))
        return flag, value

    def _table(self, flow: str, rows: Sequence[int]) -> PrintedTable:
        used = [
            column
            for column in self.columns.dimensions
            if any(self.grid.text(row, column.at) for row in rows)
        ]
        places = [self._coded(column, rows) for column in used]
        codes = np.array([at for _, at in places], np.int32).T.reshape(len(rows), len(used))
        self._check_once(codes, rows)
        pairs = [self._flags_and_value(row) for row in rows]
        ident, _, title = (part.strip() for part in flow.partition(": "))
        return PrintedTable(
            name=_short(ident),
            dimensions=tuple(
                Dimension(column.name, categories, column.label, _ROLES.get(column.name.upper(), ""))
                for column, (categories, _) in zip(used, places, strict=True)
            ),
            codes=codes,
            values=tuple(value for _, value in pairs),
            flags=tuple(flag for flag, _ in pairs) if any(flag for flag, _ in pairs) else (),
            rows=tuple(self.grid.line(row) for row in rows),
            columns=(self.columns.value + 1,) * len(rows),
            title=title,
            file=self.grid.file,
            across=min(1, len(used) - 1),
        )

    def _coded(self, column: _Column, rows: Sequence[int]) -> tuple[tuple[Category, ...], list[int]]:
        """The categories of a column, and each row's."""
        labels: dict[str, str] = {}
        found: list[str] = []
        for row in rows:
            text = self.grid.text(row, column.at)
            code, _, label = (part.strip() for part in text.partition(": "))
            if column.labels >= 0:
                label = self.grid.text(row, column.labels)
            if not code:
                raise self.grid.error(
                    f"the observation has no {column.name}", row=row, column=column.at, remedy="add the code"
                )
            if labels.setdefault(code, label) != label:
                self._differ(row, column, code, labels[code])
            found.append(code)
        order = {code: at for at, code in enumerate(labels)}
        categories = tuple(Category(code, label if label != code else "") for code, label in labels.items())
        return categories, [order[code] for code in found]

    def _differ(self, row: int, column: _Column, code: str, label: str) -> NoReturn:
        raise self.grid.error(
            f"the code {code} has two labels",
            row=row,
            column=column.at,
            found=label,
            remedy="give each code one label",
        )

    def _check_once(self, codes: np.ndarray, rows: Sequence[int]) -> None:
        seen: dict[tuple[int, ...], int] = {}
        for row, key in zip(rows, map(tuple, codes.tolist()), strict=True):
            if key in seen:
                raise self.grid.error(
                    f"the observation has the same codes as that in row {self.grid.line(seen[key])}",
                    row=row,
                    column=self.columns.value,
                    found=self.grid.text(row, self.columns.value),
                    remedy="keep one",
                )
            seen[key] = row


def _short(flow: str) -> str:
    """The name in a reference such as ``ESTAT:DEMO(1.0)``.

    >>> _short("ESTAT:DEMO(1.0)"), _short("DEMO")
    ('DEMO', 'DEMO')
    """
    return re.sub(r"\([^()]*\)$", "", flow.rpartition(":")[2]) or flow


def write_sdmx(tables: Sequence[PrintedTable], path: str | os.PathLike[str]) -> None:
    """Write tables as SDMX-CSV 2.0, a data flow for each.

    A confidential value is missing and has CONF_STATUS ``C``; other marks and flags become OBS_STATUS. Labels
    stand after their codes (``M: Males``). What is no identifier becomes a label, and gets a code.

    Parameters
    ----------
    tables
        At least one.
    path
        The file.
    """
    check_printed(tables, path)
    headers = [_ids([(one.name, one.label) for one in table.dimensions], "DIM") for table in tables]
    columns = list(dict.fromkeys(header for header, _ in (pair for found in headers for pair in found)))
    texts = {ident: f"{ident}: {label}" if label else ident for found in headers for ident, label in found}
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = [texts[column] for column in columns]
    writer.writerow(["STRUCTURE", "STRUCTURE_ID", "ACTION", *names, "OBS_VALUE", "OBS_STATUS", "CONF_STATUS"])
    flows = _ids([(table.name, table.title) for table in tables], "TABLE")
    for table, header, (flow, title) in zip(tables, headers, flows, strict=True):
        ident = f"OFFICE:{flow}(1.0)" + (f": {title}" if title else "")
        for row in _observations(table, [column for column, _ in header], columns):
            writer.writerow([guarded(text) for text in ("dataflow", ident, "I", *row)])
    write_text(path, stream.getvalue())


def _observations(table: PrintedTable, own: Sequence[str], columns: Sequence[str]) -> list[list[str]]:
    codes = [
        [
            f"{ident}: {label}" if label else ident
            for ident, label in _ids([(one.code, one.label) for one in dimension.categories], "C")
        ]
        for dimension in table.dimensions
    ]
    flags, values = flags_of(table), plain_values(table)
    rows: list[list[str]] = []
    for at, key in enumerate(table.codes.tolist()):
        texts = {column: codes[k][code] for k, (column, code) in enumerate(zip(own, key, strict=True))}
        rows.append([*(texts.get(column, "") for column in columns), *_observation(values[at], flags[at])])
    return rows


def _observation(value: str, flag: str) -> tuple[str, str, str]:
    """Value, status and confidentiality of a cell.

    >>> [_observation(*cell) for cell in (("5", ""), ("c", ""), ("", "Q C"), ("<5", "")) ]
    [('5', 'A', 'F'), ('', 'Q', 'C'), ('', 'Q', 'C'), ('', '<5', '')]
    """
    number = re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", value) is not None
    if not number and value.casefold() in _CONFIDENTIAL:
        return "", " ".join(filter(None, ["Q", flag])), "C"
    tokens = [*([] if number or not value else [value]), *flag.split()]
    held = [token for token in tokens if token in _WITHHELD]
    status = " ".join(token for token in tokens if token not in held)
    plain = number and not tokens
    return value if number else "", status or ("A" if plain else ""), " ".join(held) or ("F" if plain else "")


def _ids(pairs: Sequence[tuple[str, str]], stem: str) -> list[tuple[str, str]]:
    """Identifiers that differ, with labels; a name that is no identifier becomes a label.

    >>> _ids([("age", ""), ("Age group", ""), ("sex", "Sex")], "DIM")
    [('age', ''), ('AGE_GROUP', 'Age group'), ('sex', 'Sex')]
    """
    taken = {name for name, _ in pairs if _ID.fullmatch(name)}
    taken |= _STRUCTURE | _ATTRIBUTES | {"OBS_VALUE"}
    found: list[tuple[str, str]] = []
    for at, (name, label) in enumerate(pairs, 1):
        if _ID.fullmatch(name) and name.upper() not in _STRUCTURE | _ATTRIBUTES | {"OBS_VALUE"}:
            found.append((name, label))
            continue
        base = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")[:40] or f"{stem}_{at}"
        others = (f"{base}_{number}" for number in count(2))
        ident = next(one for one in chain([base], others) if one not in taken)
        taken.add(ident)
        found.append((ident, " ".join((label or name).split())))
    return found
