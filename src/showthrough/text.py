"""Text for people: foreign text made safe to show, short HTML for notebooks, percentages and plurals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

__all__ = [
    "escape_control",
    "escape_html",
    "html_summary",
    "join_clauses",
    "percent",
    "several",
    "split_clause",
]

# Control characters, marks that turn the direction of text, line separators, and halves of
# characters: nothing foreign may move the cursor, change colours or reorder a line.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_control(text: str) -> str:
    r"""Foreign text with everything that could steer a terminal or turn a line around made visible.

    >>> escape_control("a\x1b[31mb\n")
    'a\\u001b[31mb\\u000a'
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def html_summary(title: str, rows: Sequence[Sequence[object]], *, note: str = "") -> str:
    """A title, a table whose first row holds the heads, and a note, as HTML for a notebook.

    >>> html_summary("<b>", [["k"], [1]])
    '<div><p><strong>&lt;b&gt;</strong></p><table><tr><th>k</th></tr><tr><td>1</td></tr></table></div>'
    """
    lines = [
        "".join(f"<{tag}>{escape_html(cell)}</{tag}>" for cell in row)
        for at, row in enumerate(rows)
        for tag in ["td" if at else "th"]
    ]
    table = "".join(f"<tr>{line}</tr>" for line in lines)
    after = f"<p>{escape_html(note)}</p>" if note else ""
    return f"<div><p><strong>{escape_html(title)}</strong></p><table>{table}</table>{after}</div>"


def escape_html(value: object) -> str:
    """Anything as text that may stand in a page."""
    import html  # for notebooks only: it takes a while to load

    return html.escape(escape_control(str(value)))


def percent(share: float, places: int | None = None, *, fixed: bool = False) -> str:
    """A share in percent, with a no-break space: the one way to write percentages.

    A given share, such as a promised one, is shown to four digits. A measured one is rounded to some
    ``places`` after the point, and is 0 or 100 only if it is exactly that. In a column of a table
    places are ``fixed``: no share that is rounded is shown without them.

    >>> [percent(share).replace("\xa0", " ") for share in (0.3, 1 / 13)]
    ['30 %', '7.692 %']
    >>> [percent(share, 1).replace("\xa0", " ") for share in (0, 0.0002, 0.25, 0.1234, 0.9998, 1)]
    ['0 %', 'under 0.1 %', '25 %', '12.3 %', 'over 99.9 %', '100 %']
    >>> [percent(share, 1, fixed=True).replace("\xa0", " ") for share in (0, 0.25, 0.1234, 1)]
    ['0 %', '25.0 %', '12.3 %', '100 %']
    """
    if places is None:
        return f"{100 * share:.4g}\xa0%"
    least = 10.0**-places
    if 0 < share < least / 200:
        return f"under {least:.{places}f}\xa0%"
    if 1 - least / 200 <= share < 1:
        return f"over {100 - least:.{places}f}\xa0%"
    text = f"{100 * share:.{places}f}"
    if fixed and 0 < share < 1:
        return f"{text}\xa0%"
    return f"{text.removesuffix(f'.{0:0{places}d}') if places else text}\xa0%"


def several(count: int, noun: str) -> str:
    """A number of things.

    >>> several(1, "claim"), several(2000, "claim")
    ('1 claim', '2,000 claims')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


# "the person is" and a few plain words. Longer ends, and those with a conjunction or a comma of their own,
# would not be understood without their subject.
_SUBJECT = re.compile(r"(the (?:[^\s,]+ ){1,3}?is )((?:[^\s,]+ ){0,5}[^\s,]+)")
_CONJUNCTION = re.compile(r"\b(?:and|or|but|nor)\b")


@lru_cache(maxsize=4096)
def split_clause(clause: str) -> tuple[str, str]:
    """A clause as its subject with the verb, and the rest; no subject if the rest needs it to be understood.

    >>> split_clause("the person is not Black"), split_clause("nobody is under 18")
    (('the person is ', 'not Black'), ('', 'nobody is under 18'))
    """
    found = _SUBJECT.fullmatch(clause)
    return (found[1], found[2]) if found and not _CONJUNCTION.search(found[2]) else ("", clause)


def join_clauses(clauses: Sequence[str]) -> str:
    """Clauses as running text, without a subject that the clause before has.

    >>> join_clauses(["the person is female", "the person is White", "the person is not Black"])
    'the person is female, White and not Black'
    >>> join_clauses(["the person is not White", "the person is Black", "nobody is under 18"])
    'the person is not White, the person is Black and nobody is under 18'
    """
    said, before, denied = list[str](), "", False
    for clause in clauses:
        subject, rest = split_clause(clause)
        denies = rest.startswith("not ")
        # After a negation only another one can do without: "is not White and Black" would deny both at once.
        said.append(rest if subject and subject == before and denied <= denies else clause)
        before, denied = subject, denies
    return f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else "".join(said)
