"""JSON files read strictly: numbers as they are written, no name twice, no value that is not JSON."""

from __future__ import annotations

import json
import os
from typing import Any, NoReturn, cast

from showthrough.errors import ReleaseError
from showthrough.files import current_limits, open_file, unreadable

__all__ = [
    "Numeral",
    "read_strict_json",
]

#: Bytes of a file beyond which it is refused.
MOST_BYTES = 2**26


class Numeral(str):
    """A number as the file writes it."""

    __slots__ = ()


def read_strict_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The object in a JSON file; its numbers are :class:`Numeral`."""
    name = os.fspath(path)
    limited = current_limits().cell is not None
    with open_file(path, error=ReleaseError) as stream:
        try:
            held = stream.read(MOST_BYTES + 1) if limited else stream.read()
        except OSError as problem:
            raise unreadable(name, problem, error=ReleaseError) from None
    if limited and len(held) > MOST_BYTES:
        remedy = "read it anyway with --no-limits"
        raise ReleaseError(f"the file has more than {MOST_BYTES:,} bytes", file=name, remedy=remedy)
    try:
        content: object = json.loads(
            held.decode("utf-8-sig"),
            parse_float=Numeral,
            parse_int=Numeral,
            parse_constant=_no_number,
            object_pairs_hook=_once,
        )
    except RecursionError:
        raise ReleaseError(
            "the file is nested too deeply", file=name, remedy="ask for the original"
        ) from None
    except ValueError as problem:
        gist = " ".join(str(problem).split())
        raise ReleaseError(
            "the file is not valid JSON", file=name, found=gist, remedy="ask for the original"
        ) from None
    if not isinstance(content, dict):
        raise ReleaseError(
            "the file holds no JSON object",
            file=name,
            found=type(content).__name__,
            remedy="name another file",
        )
    return cast("dict[str, Any]", content)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict[str, Any]()
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the name {key!r} occurs twice in an object")
        found[key] = value
    return found
