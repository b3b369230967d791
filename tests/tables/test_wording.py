"""Sentences of claims: what a table of them says is what each says by itself, with subjects left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

import showthrough as st
from showthrough.text import join_clauses

_PHRASES = (
    "the person is {}", "the person is not {}", "the home is {}", "nobody there is {}",
    "the person is {} or ill",
    "the person is not {}, says the register", "{} lives there", "the person with a dog is {}",
)  # fmt: skip


@some.composite
def _schemas(draw: some.DrawFn) -> st.Schema:
    names = ["a", "b", "c", "d"]
    values = {name: [f"{name}{at}" for at in range(2)] for name in names}
    attributes = [
        st.Attribute(
            name,
            tuple(of),
            phrases={value: draw(some.sampled_from(_PHRASES)).format(value) for value in of},
        )
        for name, of in values.items()
    ]
    return st.Schema(tuple(attributes))


@given(_schemas(), some.lists(some.tuples(*[some.integers(0, 1)] * 4), min_size=1, max_size=4))
def test_a_table_says_what_each_claim_says(schema: st.Schema, rows: list[tuple[int, ...]]) -> None:
    people = st.Records.of(
        [
            {one.name: one.values[code] for one, code in zip(schema.attributes, row, strict=True)}
            for row in rows
        ],
        schema,
    )
    found = st.audit(st.tabulate(people, "a*b*c*d"), truth=people)
    table = found.table(refuted=True).to_pylist()
    assert table
    for row in table:
        claim = st.Claim(st.Selection.from_json(row["selection"]), row["multiplicity"])
        assert row["sentence"] == claim.sentence(schema, row["verdict"])


@pytest.mark.parametrize(
    ("clauses", "said"),
    [
        (["the person is ill", "the person is old"], "the person is ill and old"),
        (["the person is ill", "the dog is old"], "the person is ill and the dog is old"),
        # Never a sentence that could be read in another way.
        (["the person is not ill", "the person is old"], "the person is not ill and the person is old"),
        (["nobody is ill", "nobody is old"], "nobody is ill and nobody is old"),
        (
            ["the person is ill or lame", "the person is old"],
            "the person is ill or lame and the person is old",
        ),
        (
            ["the person is ill", "the person is old, or lame"],
            "the person is ill and the person is old, or lame",
        ),
        (["the person is a man with one or two children"], "the person is a man with one or two children"),
        (["the man who wins is ill", "the man who wins is not old"], "the man who wins is ill and not old"),
    ],
)
def test_subjects_are_left_out_only_where_the_sentence_stays_clear(clauses: list[str], said: str) -> None:
    assert join_clauses(clauses) == said
