"""Changes to bytes and to plain values, whatever they stand for."""

from __future__ import annotations

from typing import Any

from fuzz.dice import Dice

__all__ = ["ODD_VALUES", "change_bytes", "change_plain", "change_tokens"]

#: Values that stand where others are expected.
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308,
    float("nan"), float("inf"), "", " ", "x", "1", "01", "１２", "−3", "<5", "1-4", "\x00", "a\nb", "𝔸",
    "é", "e\u0301", "\u202e", "k" * 300, [], {}, [[]], [None], {"": ""}, {"a": None}, [1, "x"],
    ["a", "a"],
)  # fmt: skip


def change_bytes(data: bytes, dice: Dice, *, odd: tuple[bytes, ...] = ()) -> bytes:
    """One change: bytes flipped, set, taken out, put in, doubled, moved, or the end cut off."""
    if not data:
        return dice.bytes(dice.between(1, 4))
    at = dice.below(len(data))
    length = min(len(data) - at, 1 << dice.below(5))
    way = dice.below(8 if odd else 7)
    if way == 0:
        return data[:at] + bytes([data[at] ^ 1 << dice.below(8)]) + data[at + 1 :]
    if way == 1:
        return data[:at] + bytes([dice.of((0, 1, 0x7F, 0x80, 0xFF, dice.below(256)))]) + data[at + 1 :]
    if way == 2:
        return data[:at] + data[at + length :]
    if way == 3:
        return data[:at] + dice.bytes(dice.between(1, 4)) + data[at:]
    if way == 4:
        return data[: at + length] + data[at:]
    if way == 5:
        to = dice.below(len(data))
        return data[:to] + data[at : at + length] + data[to:]
    if way == 6:
        return data[:at]
    return data[:at] + dice.of(odd) + data[at:]


def change_tokens(tokens: list[bytes], dice: Dice, odd: tuple[bytes, ...]) -> list[bytes]:
    """One change to a list of tokens: one taken out, doubled, replaced, put in, or two swapped."""
    if not tokens:
        return [dice.of(odd)]
    at, to, way = dice.below(len(tokens)), dice.below(len(tokens)), dice.below(6)
    changed = list(tokens)
    if way == 0:
        del changed[at]
    elif way == 1:
        changed.insert(at, tokens[at])
    elif way == 2:
        changed[at] = dice.of(odd)
    elif way == 3:
        changed.insert(at, dice.of(odd))
    elif way == 4:
        changed[at], changed[to] = changed[to], changed[at]
    else:
        changed[at] = changed[at] + dice.of(odd)
    return changed


def change_plain(value: Any, dice: Dice, *, odd: tuple[Any, ...] = ODD_VALUES) -> Any:
    """Plain values (as JSON and TOML have them) with one of them changed, somewhere inside."""
    if isinstance(value, dict) and value and not dice.one_in(4):
        name = dice.of(list(value))
        way = dice.below(8)
        if way == 0:
            return {key: one for key, one in value.items() if key != name}
        if way == 1:
            return {
                **value,
                dice.of(("", "x", name + " ", name.upper(), "__proto__", "k" * 300)): value[name],
            }
        if way == 2:
            other = dice.of(list(value))
            return {**value, name: value[other], other: value[name]}
        return {**value, name: change_plain(value[name], dice, odd=odd)}
    if isinstance(value, list) and value and not dice.one_in(4):
        at, way = dice.below(len(value)), dice.below(6)
        if way == 0:
            return value[:at] + value[at + 1 :]
        if way == 1:
            return [*value[:at], value[at], *value[at:]]
        if way == 2:
            return dice.shuffled(value)
        return [*value[:at], change_plain(value[at], dice, odd=odd), *value[at + 1 :]]
    way = dice.below(4)
    if way == 0:
        return [value]
    if way == 1 and isinstance(value, str):
        return value + dice.of((" ", "x", "\n", "\x00", ",", "=", '"', "'", "\\", "*", "|"))
    if way == 1 and isinstance(value, int | float) and abs(value) < 1e15:
        return value + dice.of((-1, 1, 0.5, 10**20))
    return dice.of(odd)
