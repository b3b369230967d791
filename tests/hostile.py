"""Text that tries to break out of whatever it is written to."""

from __future__ import annotations

import hypothesis.strategies as hs

#: Quotes, escapes, ends of lines, and the marks of TOML and CSV, among all of Unicode.
MARKS = "\"'\\\n\r\t\x00\x1f\x7f\x85\u2028🧨=.#[]{},:"

hostile = hs.text(hs.one_of(hs.characters(codec="utf-8"), hs.sampled_from(MARKS)), max_size=6)

#: Different texts, none of them empty, as columns and tables are named.
hostile_names = hs.lists(hostile.filter(bool), min_size=1, max_size=3, unique=True)
