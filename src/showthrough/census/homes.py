"""The schema of homes in the 2020 Census: their columns, and the rules that every real home obeys.

A record is a housing unit, here called a home. A vacant home has the value ``vacant`` in every
column but ``vacancy``, so that no claim about households counts vacant homes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from showthrough.errors import check_type
from showthrough.schema import Attribute, Rule, Schema
from showthrough.selection import Selection

__all__ = [
    "AGES",
    "VACANT",
    "census_schema",
]

#: The value of a vacant home in every column but ``vacancy``.
VACANT = "vacant"

#: Ages of householders. Table H13 has these nine bands.
AGES = ("15-24", "25-34", "35-44", "45-54", "55-59", "60-64", "65-74", "75-84", "85+")

_SENIOR = AGES[6:]
_SIZES = ("1", "2", "3", "4", "5", "6", "7+")
_EMPTY = ("for rent", "rented", "for sale", "sold", "seasonal", "migrant workers", "other")
_OWN_CHILDREN = (
    "married with children",
    "cohabiting with children",
    "woman with children",
    "man with children",
)
_COUPLES = (
    "married with children",
    "married without children",
    "cohabiting with children",
    "cohabiting without children",
)
_NO_PARTNER_NO_CHILDREN = (
    "woman with relatives",
    "woman with nonrelatives",
    "man with relatives",
    "man with nonrelatives",
)

#: Household type → the detailed types that go with it. Cohabiting couples without own children are
#: families if a relative of the householder lives with them.
_DETAILS: Mapping[str, tuple[str, ...]] = {
    "married couple": ("married with children", "married without children"),
    "male family": (
        "cohabiting with children",
        "cohabiting without children",
        "man with children",
        "man with relatives",
    ),
    "female family": (
        "cohabiting with children",
        "cohabiting without children",
        "woman with children",
        "woman with relatives",
    ),
    "man alone": ("man alone",),
    "man with nonrelatives": ("cohabiting without children", "man with nonrelatives"),
    "woman alone": ("woman alone",),
    "woman with nonrelatives": ("cohabiting without children", "woman with nonrelatives"),
}


def census_schema(*, children: bool = False, edits: bool = False) -> Schema:
    """The ten columns of the block tables, and the rules between them.

    Parameters
    ----------
    children
        Add an eleventh column, which table H15 is about: whether a child under 18 lives there who
        is not the householder, the spouse or the partner. It differs from ``under18`` only where
        one of these is 15 to 17 years old.
    edits
        Add a rule that holds in census files only because the Census Bureau edits them: a woman
        of 75 or more has no own children under 18.

    Returns
    -------
    Schema

    Examples
    --------
    >>> census_schema().names  # doctest: +NORMALIZE_WHITESPACE
    ('tenure', 'vacancy', 'size', 'type', 'detailed_type', 'under18', 'over65', 'hispanic', 'age',
     'race')
    """
    check_type(children, bool, name="children")
    check_type(edits, bool, name="edits")
    columns = _COLUMNS if children else tuple(c for c in _COLUMNS if c.name != "children")
    rules = [*_vacant(columns), *_types(), *_people()]
    rules += _with_children() if children else _without_children()
    if edits:
        rules.append(Rule(_is(detailed_type="woman with children"), _is(age=AGES[:7])))
    return Schema(columns, tuple(rules), record="home")


def _is(**terms: str | tuple[str, ...]) -> Selection:
    return Selection.of(terms)


def _vacant(columns: tuple[Attribute, ...]) -> Iterator[Rule]:
    """Vacant in one column is vacant in all."""
    for column in columns:
        if column.name != "vacancy":
            yield Rule(_is(vacancy=_EMPTY), Selection.of({column.name: VACANT}), both_ways=True)


def _types() -> Iterator[Rule]:
    """Household type, detailed type and size."""
    yield Rule(_is(size="1"), _is(type=("man alone", "woman alone")), both_ways=True)
    for kind, details in _DETAILS.items():
        yield Rule(_is(type=kind), _is(detailed_type=details))
    at_least_three = _is(size=_SIZES[2:])
    yield Rule(_is(detailed_type=("married with children", "cohabiting with children")), at_least_three)
    families = ("male family", "female family")
    yield Rule(_is(type=families, detailed_type="cohabiting without children"), at_least_three)


def _people() -> Iterator[Rule]:
    """Who is under 18 or over 65, as far as it does not depend on the children's column."""
    yield Rule(_is(detailed_type=_OWN_CHILDREN), _is(under18="yes"))
    yield Rule(_is(age=_SENIOR), _is(over65="yes"))
    yield Rule(_is(size="1", age=AGES[:6]), _is(over65="no"))
    yield Rule(_is(size="1", under18="yes"), _is(age="15-24"))


def _with_children() -> Iterator[Rule]:
    """What ties the eleventh column to the others."""
    yield Rule(_is(detailed_type=_OWN_CHILDREN), _is(children="yes"))
    yield Rule(_is(children="yes"), _is(under18="yes"))
    yield Rule(_is(size="1"), _is(children="no"))
    yield Rule(_is(detailed_type=_COUPLES, children="yes"), _is(size=_SIZES[2:]))
    # Two people, one of them a child: nobody but the householder can be old.
    yield Rule(_is(size="2", children="yes", age=AGES[:6]), _is(over65="no"))
    # Under 18 but no child and no partner: it is the householder.
    details = _NO_PARTNER_NO_CHILDREN
    yield Rule(_is(detailed_type=details, under18="yes", children="no"), _is(age="15-24"))


def _without_children() -> Iterator[Rule]:
    """What the rules of the eleventh column leave when that column is not there."""
    for details, ages in (
        (("woman with children", "man with children"), AGES[:6]),
        (_NO_PARTNER_NO_CHILDREN, AGES[1:6]),  # at 15 to 24 the householder may be the one under 18
    ):
        yield Rule(_is(size="2", detailed_type=details, under18="yes", age=ages), _is(over65="no"))


def _column(name: str, label: str, values: Mapping[str, tuple[str, str]]) -> Attribute:
    """A column from value → (label, phrase); the value for vacant homes is added."""
    full = dict(values)
    if name != "vacancy":
        full[VACANT] = ("vacant", "the home is vacant")
    return Attribute(
        name,
        tuple(full),
        label,
        {value: words[0] for value, words in full.items()},
        {value: words[1] for value, words in full.items()},
    )


def _yes_no(name: str, label: str, no: str, yes: str) -> Attribute:
    return _column(name, label, {"no": ("no", no), "yes": ("yes", yes)})


_NUMBERS = (
    "one person lives",
    "two people live",
    "three people live",
    "four people live",
    "five people live",
    "six people live",
    "seven or more people live",
)

_COLUMNS = (
    _column(
        "tenure",
        "tenure",
        {
            "mortgage": ("owned with a mortgage", "the home is owned with a mortgage or loan"),
            "owned": ("owned free and clear", "the home is owned free and clear"),
            "rented": ("rented", "the home is rented"),
            "no rent": ("occupied without rent", "the home is occupied without payment of rent"),
        },
    ),
    _column(
        "vacancy",
        "vacancy status",
        {
            "occupied": ("occupied", "the home is occupied"),
            "for rent": ("for rent", "the home is vacant and for rent"),
            "rented": ("rented but not occupied", "the home is rented but not yet occupied"),
            "for sale": ("for sale", "the home is vacant and for sale"),
            "sold": ("sold but not occupied", "the home is sold but not yet occupied"),
            "seasonal": ("for seasonal use", "the home is kept for seasonal or occasional use"),
            "migrant workers": ("for migrant workers", "the home is kept for migrant workers"),
            "other": ("vacant for another reason", "the home is vacant for another reason"),
        },
    ),
    _column(
        "size",
        "the number of people",
        {size: (size, f"{words} there") for size, words in zip(_SIZES, _NUMBERS, strict=True)},
    ),
    _column(
        "type",
        "household type",
        {
            "married couple": ("married couple", "the householder is married"),
            "male family": (
                "male householder with relatives, no spouse",
                "the householder is a man with relatives but no spouse there",
            ),
            "female family": (
                "female householder with relatives, no spouse",
                "the householder is a woman with relatives but no spouse there",
            ),
            "man alone": ("man living alone", "a man lives alone"),
            "man with nonrelatives": (
                "man with nonrelatives only",
                "the householder is a man who lives with nonrelatives only",
            ),
            "woman alone": ("woman living alone", "a woman lives alone"),
            "woman with nonrelatives": (
                "woman with nonrelatives only",
                "the householder is a woman who lives with nonrelatives only",
            ),
        },
    ),
    _column(
        "detailed_type",
        "detailed household type",
        {
            "married with children": (
                "married couple with own children under 18",
                "a married couple lives with own children under 18",
            ),
            "married without children": (
                "married couple without own children under 18",
                "a married couple lives without own children under 18",
            ),
            "cohabiting with children": (
                "cohabiting couple with own children under 18",
                "an unmarried couple lives with own children under 18",
            ),
            "cohabiting without children": (
                "cohabiting couple without own children under 18",
                "an unmarried couple lives without own children under 18",
            ),
            "woman alone": ("woman living alone", "a woman lives alone"),
            "woman with children": (
                "woman with own children under 18, no partner",
                "a woman without a partner lives with own children under 18",
            ),
            "woman with relatives": (
                "woman with relatives, no partner, no own children under 18",
                "a woman without a partner lives with relatives but no own children under 18",
            ),
            "woman with nonrelatives": (
                "woman with nonrelatives only, no partner",
                "a woman without a partner lives with nonrelatives only",
            ),
            "man alone": ("man living alone", "a man lives alone"),
            "man with children": (
                "man with own children under 18, no partner",
                "a man without a partner lives with own children under 18",
            ),
            "man with relatives": (
                "man with relatives, no partner, no own children under 18",
                "a man without a partner lives with relatives but no own children under 18",
            ),
            "man with nonrelatives": (
                "man with nonrelatives only, no partner",
                "a man without a partner lives with nonrelatives only",
            ),
        },
    ),
    _yes_no("under18", "somebody under 18", "nobody there is under 18", "somebody there is under 18"),
    _yes_no("over65", "somebody 65 or older", "nobody there is 65 or older", "somebody there is 65 or older"),
    _yes_no(
        "hispanic",
        "Hispanic householder",
        "the householder is not Hispanic",
        "the householder is Hispanic",
    ),
    _column(
        "age",
        "the householder's age",
        {
            **{
                age: (age.replace("-", " to "), f"the householder is {age.replace('-', ' to ')}")
                for age in AGES
            },
            "85+": ("85 or older", "the householder is 85 or older"),
        },
    ),
    _column(
        "race",
        "the householder's race",
        {
            "white": ("White", "the householder is White"),
            "black": ("Black", "the householder is Black"),
            "native": (
                "American Indian or Alaska Native",
                "the householder is American Indian or Alaska Native",
            ),
            "asian": ("Asian", "the householder is Asian"),
            "pacific": ("Pacific Islander", "the householder is Native Hawaiian or Pacific Islander"),
            "other": ("another race", "the householder is of another race"),
            "several": ("several races", "the householder is of two or more races"),
        },
    ),
    _yes_no(
        "children",
        "children (not counting householder, spouse and partner)",
        "no child under 18 lives there",
        "a child under 18 lives there",
    ),
)
