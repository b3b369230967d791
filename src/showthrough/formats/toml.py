"""TOML at the edge: text to checked shapes with errors that name the place, and back to text."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from showthrough.cell import Cell
from showthrough.errors import InputError, closest
from showthrough.files import check_file
from showthrough.selection import Selection

__all__ = [
    "Conditions",
    "Shape",
    "Text",
    "check_shape",
    "counted_as",
    "key",
    "quoted",
    "read_toml",
    "table_of",
]

Made = TypeVar("Made", bound="Shape")


def _as_text(value: object) -> object:
    if isinstance(value, bool | float):
        kind = "true or false" if isinstance(value, bool) else "a decimal number"
        raise PydanticCustomError(
            "not_text",
            "should be text, not {kind}",
            {"kind": kind, "remedy": "put it in quotes, exactly as it is written in the data"},
        )
    return str(value) if isinstance(value, int) else value


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str | int | float) else value


#: Text; whole numbers are taken as they are written.
Text = Annotated[str, BeforeValidator(_as_text)]

#: A list of texts; one text stands for a list of one.
Texts = Annotated[list[Text], BeforeValidator(_as_list)]

#: Ways to write what a cell counts; they are no part of the place that an error names.
ONE, SUM = "<one>", "<sum>"

#: Attribute → allowed values, as a selection is written in TOML.
Conditions = dict[str, Texts]


class Shape(BaseModel):
    """What a TOML table must look like; unknown keys are refused with a suggestion."""

    model_config = ConfigDict(frozen=True, populate_by_name=False, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, plain: object) -> object:
        if not isinstance(plain, Mapping):
            raise PydanticCustomError("not_a_table", "should be a table (key = value)")
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for name in plain:
            if name not in known:
                raise PydanticCustomError(
                    "unknown_key",
                    "unknown key",
                    {"found": str(name), "remedy": closest(str(name), known)},
                )
        return cls.arranged(dict(plain))

    @classmethod
    def arranged(cls, plain: dict[str, object]) -> dict[str, object]:
        """The same with other spellings brought to one form."""
        return plain


def read_toml(path: str | os.PathLike[str], *, error: type[InputError]) -> dict[str, object]:
    """A TOML file as plain values; bad syntax is an error that names file and line."""
    file = str(path)
    raw = check_file(path, error=error).read_bytes()
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise error(f"line {line} is not UTF-8", file=file, remedy="save as UTF-8") from None
    except (ValueError, RecursionError) as problem:
        place = re.fullmatch(r"(?s)(.*) \(at line (\d+), column (\d+)\)", str(problem))
        line = int(place[2]) if place else raw.count(b"\n") + 1
        raise error(
            f"line {line} is not valid TOML: {place[1] if place else problem}",
            file=file,
            remedy="put text in double quotes, lists in [ ]",
        ) from None


def check_shape(
    shape: type[Made], plain: Mapping[str, object], *, file: str | None, error: type[InputError]
) -> Made:
    """The plain values in their shape; the first thing wrong is an error with its dotted place."""
    try:
        return shape.model_validate(plain)
    except ValidationError as problems:
        raise _first_problem(problems.errors(include_url=False)[0], file, error) from None


def _first_problem(problem: ErrorDetails, file: str | None, error: type[InputError]) -> InputError:
    context = problem.get("ctx", {})
    what = problem["msg"].replace("Input should", "should").replace("Field required", "is missing")
    found = context.get("found", problem["input"])
    shown = None if problem["type"] == "missing" or isinstance(found, dict) else _shown(found)
    place = dotted(part for part in problem["loc"] if part not in (ONE, SUM))
    return error(
        f"{place}: {what}" if place else what,
        file=file,
        found=shown,
        remedy=context.get("remedy"),
    )


def _shown(value: object) -> str | None:
    try:
        return str(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists without end
        return None


def dotted(place: Iterable[str | int]) -> str:
    """A place in a TOML file; tables of a list are counted from 1.

    >>> dotted(["rules", 0, "if", "size"])
    'rules[1].if.size'
    """
    text = ""
    for part in place:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def quoted(text: str) -> str:
    r"""A TOML string that reads back as this text, whatever it holds.

    >>> print(quoted('say "hi"\n'))
    "say \"hi\"\n"
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def key(text: str) -> str:
    """A TOML key, bare where that is allowed."""
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else quoted(text)


def table_of(items: Mapping[str, str | Iterable[str]] | Selection) -> str:
    """An inline table of texts or lists of texts, or of a selection.

    >>> table_of({"size": ["1", "2"], "type of home": "flat"})
    '{ size = ["1", "2"], "type of home" = "flat" }'
    """
    pairs = items.terms if isinstance(items, Selection) else items.items()
    inside = [
        f"{key(name)} = {quoted(value) if isinstance(value, str) else list_of(value)}"
        for name, value in pairs
    ]
    return f"{{ {', '.join(inside)} }}" if inside else "{}"


def counted_as(cell: Cell) -> str:
    """What a cell counts: an inline table, or for a sum a list of them with weights."""
    if not cell.is_sum:
        return table_of(cell.selection)
    terms = [f"{{ weight = {weight}, where = {table_of(one)} }}" for weight, one in cell.terms]
    return f"[{', '.join(terms)}]"


def list_of(values: Iterable[str]) -> str:
    """A list of texts on one line."""
    return f"[{', '.join(quoted(value) for value in values)}]"
