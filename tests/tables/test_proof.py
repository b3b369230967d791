"""The checker: what holds is accepted, what was tampered with is not."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import brute_force
import showthrough as st
from brute_force import legal_types, matches
from needs import SLOW
from showthrough.release import UNBOUNDED, Release, make_table
from showthrough.schema import Rule, Schema
from showthrough.selection import Selection
from showthrough.tables import proof as proof_module
from showthrough.tables.proof import Branch, Checker, Leaf, Node, Proof
from strategies import Case, cycles, equal_pairs, random_case

AGE_SEX = Schema.of({"age": ["young", "old"], "sex": ["f", "m"]})
MARGINS = Release.of(AGE_SEX, {make_table(AGE_SEX, "age"): [3, 1], make_table(AGE_SEX, "sex"): [4, 0]})
YOUNG_WOMEN = (("age", ("young",)), ("sex", ("f",)))


def leaf(cells: dict[int, int], total: int, *, d: int = 1, **branches: int) -> Leaf:
    """A leaf; branch rows are named b0, b1 and so on."""
    used = tuple((int(name[1:]), u) for name, u in branches.items())
    return Leaf(tuple(cells.items()), used, d, total)


class TestValidProofs:
    def test_a_cell_that_is_the_claim(self) -> None:
        """No man exists, so the young are young women."""
        proof = Proof(YOUNG_WOMEN, 3, leaf({0: 1}, 3), leaf({0: -1}, -3), over=("age", "sex"))
        st.check_proof(proof, AGE_SEX, MARGINS)
        proof.check(AGE_SEX, MARGINS)
        assert proof.cells == (0,)
        assert len(proof.leaves) == 2

    def test_a_rule_is_used(self) -> None:
        schema = Schema.of(
            {"size": ["1", "2+"], "type": ["alone", "family"]},
            rules=[Rule(Selection.of(size="1"), Selection.of(type="alone"), both_ways=True)],
        )
        release = Release.of(schema, {make_table(schema, "size"): [5, 2]})
        alone = Proof((("type", ("alone",)),), 5, leaf({0: 1}, 5), leaf({0: -1}, -5), over=("size", "type"))
        st.check_proof(alone, schema, release)
        without_rules = dataclasses.replace(schema, rules=())
        with pytest.raises(st.ProofError, match="exceed"):
            st.check_proof(alone, without_rules, release)

    def test_rounding_up_half_a_record(self) -> None:
        """Three pairs of three kinds, at least one in each pair: at least 3/2, so 2, in all."""
        schema = Schema.of({"kind": ["a", "b", "c"]})
        cells = [st.Cell(f"{x}{y}", Selection.of(kind=[x, y])) for x, y in ("ab", "bc", "ca")]
        release = Release.of(schema, {st.Table("pairs", tuple(cells)): [(1, 2)] * 3})
        everybody = Proof((), 2, leaf({0: 1, 1: 1, 2: 1}, 3, d=2), over=("kind",))
        st.check_proof(everybody, schema, release)
        with pytest.raises(st.ProofError, match="at least 2, not at least 3"):
            st.check_proof(dataclasses.replace(everybody, multiplicity=3), schema, release)

    def test_a_count_that_cannot_be(self) -> None:
        """Two disjoint pairs of equal counts cannot hold an odd number together."""
        schema = Schema.of({"kind": ["a", "b", "c"]})
        release = Release.of(
            schema,
            {
                st.Table("ab", (st.Cell("ab", Selection.of(kind=["a", "b"])),)): [2],
                st.Table("c", (st.Cell("c", Selection.of(kind="c")),)): [(0, 3)],
            },
        )
        never_six = Proof((), 6, never=leaf({0: -1, 1: -1}, 1, b0=1), over=("kind",))
        st.check_proof(never_six, schema, release)
        with pytest.raises(st.ProofError, match="add up to"):
            st.check_proof(dataclasses.replace(never_six, multiplicity=5), schema, release)
        five = Proof((), 5, never=leaf({0: -1, 1: -1}, 0, b0=1), over=("kind",))
        with pytest.raises(st.ProofError, match="never 5"):
            st.check_proof(five, schema, release)

    def test_a_branch(self) -> None:
        """Either there is an a, which then gives the bound, or there is none, and b gives it."""
        schema = Schema.of({"kind": ["a", "b"]})
        release = Release.of(schema, {make_table(schema, "total"): [1]})
        split = Branch(on=((("kind", ("a",)),),), at=0, below=leaf({0: 1}, 1), above=leaf({}, 1, b0=1))
        somebody = Proof((), 1, at_least=split, over=("kind",))
        st.check_proof(somebody, schema, release)
        assert len(somebody.leaves) == 2

    def test_a_contradiction(self) -> None:
        schema = Schema.of({"kind": ["a", "b"]})
        release = Release.of(schema, {make_table(schema, "total"): [2], make_table(schema, "kind"): [1, 2]})
        checker = Checker(schema, release)
        checker.check_contradiction(leaf({0: -1, 1: 1, 2: 1}, 1), ("kind",))
        with pytest.raises(st.ProofError, match="exceed"):
            checker.check_contradiction(leaf({0: 1}, 2), ("kind",))

    def test_multipliers_beyond_64_bits(self) -> None:
        huge = 2**70
        proof = Proof(
            YOUNG_WOMEN,
            3,
            leaf({0: huge}, 3 * huge, d=huge),
            leaf({0: -huge}, -3 * huge, d=huge),
            over=("age", "sex"),
        )
        st.check_proof(proof, AGE_SEX, MARGINS)
        wrong = dataclasses.replace(proof, at_least=leaf({0: huge + 1}, 3 * huge + 3, d=huge))
        with pytest.raises(st.ProofError, match="exceed"):
            st.check_proof(wrong, AGE_SEX, MARGINS)

    @pytest.mark.parametrize("power", [60, 61, 62, 63, 64, 70])
    def test_no_product_overflows(self, power: int) -> None:
        """2^62 times a row that counts somebody four times is not zero, as it is in 64 bits."""
        four_times = (YOUNG_WOMEN,) * 4
        none = leaf({0: 8}, 24 - 0, b0=-2)  # fewer than one, against a cell of 3
        many = leaf({}, 2**power, b0=2**power)
        false = Proof(YOUNG_WOMEN, 5, Branch(four_times, 0, none, many), over=("age", "sex"))
        with pytest.raises(st.ProofError):
            st.check_proof(false, AGE_SEX, MARGINS)

    def test_a_world(self) -> None:
        checker = Checker(AGE_SEX, MARGINS)
        young, old = {"age": "young", "sex": "f"}, {"age": "old", "sex": "f"}
        checker.check_world([(young, 3), (old, 1)])
        for rows in ([(young, 4)], [(young, 3), (old, 2)], [(young, 5), (old, -1)], []):
            with pytest.raises(st.ProofError, match="witness"):
                checker.check_world(rows)
        with pytest.raises(st.ProofError, match="impossible record"):
            checker.check_world([({"age": "teen", "sex": "f"}, 1)])

    def test_a_world_of_incomplete_records(self) -> None:
        """A record without a sex would be in the total and in neither cell: it is no record."""
        release = Release.of(AGE_SEX, {make_table(AGE_SEX, "total"): [3], make_table(AGE_SEX, "sex"): [1, 1]})
        rows = [
            ({"age": "old", "sex": "f"}, 1),
            ({"age": "old", "sex": "m"}, 1),
            ({"age": "old"}, 1),
        ]
        with pytest.raises(st.ProofError):
            Checker(AGE_SEX, release).check_world(rows)


VALID = Proof(YOUNG_WOMEN, 3, leaf({0: 1}, 3), leaf({0: -1}, -3), over=("age", "sex"))

INVALID = {
    "empty": (Proof(YOUNG_WOMEN, 3, over=("age", "sex")), "empty"),
    "negative count": (dataclasses.replace(VALID, multiplicity=-1), "cannot be -1"),
    "an attribute twice": (dataclasses.replace(VALID, over=("age", "sex", "age")), "twice"),
    "an unknown attribute": (dataclasses.replace(VALID, over=("age", "sex", "size")), "unknown"),
    "a needed attribute left out": (dataclasses.replace(VALID, over=("age",)), "leaves out"),
    "an unknown claim": (dataclasses.replace(VALID, selection=(("a", ("b",)),)), "unknown"),
    "an unknown value": (dataclasses.replace(VALID, selection=(("sex", ("x",)),)), "unknown"),
    "a cell the release lacks": (dataclasses.replace(VALID, at_least=leaf({9: 1}, 3)), "cell 9"),
    "a negative cell": (dataclasses.replace(VALID, at_least=leaf({-4: 1}, 3)), "cell -4"),
    "a cell twice": (
        dataclasses.replace(VALID, at_least=Leaf(((0, 2), (0, -1)), (), 1, 3)),
        "twice",
    ),
    "a branch that is not open": (
        dataclasses.replace(VALID, at_least=leaf({0: 1}, 3, b0=1)),
        "branch 0",
    ),
    "a denominator of zero": (dataclasses.replace(VALID, at_least=leaf({0: 1}, 3, d=0)), "denomi"),
    "a negative denominator": (
        dataclasses.replace(VALID, at_least=leaf({0: -1}, -3, d=-1)),
        "denominator",
    ),
    "a wrong total": (dataclasses.replace(VALID, at_least=leaf({0: 1}, 4)), "add up to 3"),
    "too large a multiplier": (dataclasses.replace(VALID, at_least=leaf({0: 2}, 6)), "exceed"),
    "too little": (dataclasses.replace(VALID, at_least=leaf({}, 0)), "at least 0, not at least 3"),
    "the wrong cell": (dataclasses.replace(VALID, at_least=leaf({2: 1}, 4)), "exceed"),
}


@pytest.mark.parametrize(("proof", "message"), INVALID.values(), ids=INVALID)
def test_invalid_proofs_are_rejected(proof: Proof, message: str) -> None:
    st.check_proof(VALID, AGE_SEX, MARGINS)
    with pytest.raises(st.ProofError, match=message):
        st.check_proof(proof, AGE_SEX, MARGINS)


def test_an_upper_end_that_is_not_published_is_not_used() -> None:
    release = Release.of(AGE_SEX, {make_table(AGE_SEX, "sex"): [(2, UNBOUNDED), 0]})
    few_women = Proof((("sex", ("f",)),), 2, at_most=leaf({0: -1}, -2), over=("sex",))
    with pytest.raises(st.ProofError, match="not published"):
        st.check_proof(few_women, AGE_SEX, release)


@pytest.fixture(scope="module")
def proved() -> list[tuple[Case, Proof]]:
    """Some proofs from audits of random cases."""
    found: list[tuple[Case, Proof]] = []
    seeds = range(40_000_000, 40_000_000 + (120 if SLOW else 20))
    by_hand = [cycles(2), cycles(3), equal_pairs(2), equal_pairs(3)]
    for seed, case in [*enumerate(by_hand), *((seed, random_case(seed)) for seed in seeds)]:
        audit = st.audit(case.release, truth=case.records, absent=True, gaps=True)
        proofs = [v.proof for v in audit.verdicts if v.proof is not None]
        chosen = np.random.default_rng(seed).permutation(len(proofs))[: 4 if seed in seeds else None]
        found += [(case, proofs[at]) for at in chosen]
    assert len(found) > (200 if SLOW else 30)
    assert any(isinstance(node, Branch) for _, proof in found for node in proof.nodes)
    assert any(proof.never is not None for _, proof in found)
    assert any(leaf.denominator > 1 for _, proof in found for leaf in proof.leaves)
    return found


class TestTampering:
    """Proofs from audits, altered in every place.

    A ``tampered`` proof no longer adds up or states something else: it is always rejected. A
    ``shifted`` proof adds up again after the change, and may by luck still be valid (multiplying
    less, or rounding, can leave a bound as it is): it is accepted exactly if a second checker,
    written here with plain loops, accepts it, and then what it states is true.
    """

    def test_untouched_proofs_are_accepted(self, proved: list[tuple[Case, Proof]]) -> None:
        for case, proof in proved:
            st.check_proof(proof, case.schema, case.release)
            assert plainly_valid(proof, case.schema, case.release)
            assert Proof.from_json(proof.to_json()) == proof
            assert is_true(proof, case)

    def test_tampered_proofs_are_rejected(self, proved: list[tuple[Case, Proof]]) -> None:
        rejected = 0
        for case, proof in proved:
            checker = Checker(case.schema, case.release)
            for what, altered in tampered(proof, case.release):
                with pytest.raises(st.ProofError):
                    check_or_name(checker, altered, what, proof)
                rejected += 1
        assert rejected > 2000

    def test_another_claim_is_rejected_unless_true(self, proved: list[tuple[Case, Proof]]) -> None:
        rejected = 0
        for case, proof in proved:
            checker = Checker(case.schema, case.release)
            for altered in other_claims(proof, case.schema):
                if not is_true(altered, case):
                    with pytest.raises(st.ProofError):
                        check_or_name(checker, altered, "another claim", proof)
                    rejected += 1
        assert rejected > 200

    def test_shifted_proofs_are_rejected_unless_valid(self, proved: list[tuple[Case, Proof]]) -> None:
        rejected = accepted = 0
        for case, proof in proved:
            checker = Checker(case.schema, case.release)
            for altered in shifted(proof, case.release):
                holds = accepts(checker, altered)
                assert holds == plainly_valid(altered, case.schema, case.release), altered
                assert not holds or is_true(altered, case), altered
                rejected, accepted = rejected + (not holds), accepted + holds
        assert rejected > 2000

    def test_other_published_values_are_rejected(self, proved: list[tuple[Case, Proof]]) -> None:
        rejected = 0
        for case, proof in proved:
            for at, end, by in itertools.product(proof.cells, ("low", "high"), (1, -1)):
                release = with_value(case.release, at, end, by)
                if release is not None and uses_end(proof, at, end):
                    checker = Checker(case.schema, release)
                    with pytest.raises(st.ProofError):
                        check_or_name(checker, proof, f"the {end} end of cell {at}", proof)
                    rejected += 1
        assert rejected > (300 if SLOW else 150)

    def test_unpublished_cells_are_not_used(self, proved: list[tuple[Case, Proof]]) -> None:
        """Also not the zeros, which a proof uses without naming them."""
        rejected = 0
        for case, proof in proved:
            for at, cell in enumerate(case.release.cells):
                release = unpublished(case.release, at)
                holds = accepts(Checker(case.schema, release), proof)
                if at in proof.cells and (cell.low or not uses_end(proof, at, "low")):
                    assert not holds, (at, proof)
                if at in proof.cells or cell.high == 0:
                    assert holds == plainly_valid(proof, case.schema, release), (at, proof)
                    rejected += not holds
        assert rejected > (300 if SLOW else 150)


def check_or_name(checker: Checker, altered: Proof, what: str, original: Proof) -> None:
    """Check, and if the altered proof passes, say which one it was."""
    checker.check(altered)
    pytest.fail(f"accepted after altering {what}:\n{altered.to_json()}\n{original.to_json()}")


def accepts(checker: Checker, proof: Proof) -> bool:
    try:
        checker.check(proof)
    except st.ProofError:
        return False
    return True


def is_true(proof: Proof, case: Case) -> bool:
    """Whether what the proof states holds in every dataset."""
    least, most = brute_force.count_range(case.worlds, Selection(proof.selection))
    m = proof.multiplicity
    counts = brute_force.possible_counts(case.worlds, Selection(proof.selection), up_to=m)
    return (
        (proof.at_least is None or least >= m)
        and (proof.at_most is None or (most is not None and most <= m))
        and (proof.never is None or m not in counts)
    )


PARTS = ("at_least", "at_most", "never")


def nodes_of(proof: Proof) -> Iterator[tuple[Node, Callable[[Node], Proof]]]:
    """Every node of every root, each with a way to put another in its place."""
    for part in PARTS:
        root = getattr(proof, part)
        if root is not None:
            for node, put in _below(root):
                yield (
                    node,
                    lambda new, put=put, part=part: dataclasses.replace(proof, **{part: put(new)}),
                )


def _below(node: Node) -> Iterator[tuple[Node, Callable[[Node], Node]]]:
    yield node, lambda new: new
    if isinstance(node, Branch):
        for side in ("below", "above"):
            for inner, put in _below(getattr(node, side)):
                yield (
                    inner,
                    lambda new, put=put, side=side: dataclasses.replace(node, **{side: put(new)}),
                )


def tampered(proof: Proof, release: Release) -> Iterator[tuple[str, Proof]]:
    """Changes after which the proof does not add up, or states something false."""
    if proof.never is None and None not in (proof.at_least, proof.at_most):
        for by in (1, -1):
            m = proof.multiplicity + by
            yield "multiplicity", dataclasses.replace(proof, multiplicity=m)
    for node, put in nodes_of(proof):
        if isinstance(node, Leaf):
            for by in (1, -1):
                yield "total", put(dataclasses.replace(node, total=node.total + by))
            yield "denominator", put(dataclasses.replace(node, denominator=0))
            yield "denominator", put(dataclasses.replace(node, denominator=-node.denominator))
            for cells in altered_multipliers(node.cells):
                if contribution(cells, release) != contribution(node.cells, release):
                    yield "multiplier", put(dataclasses.replace(node, cells=cells))


def altered_multipliers(
    pairs: tuple[tuple[int, int], ...],
) -> Iterator[tuple[tuple[int, int], ...]]:
    """One multiplier plus one, minus one, with the other sign, or dropped."""
    for place, (at, u) in enumerate(pairs):
        for new in {u + 1, u - 1, -u}:
            yield (*pairs[:place], (at, new), *pairs[place + 1 :])
        yield (*pairs[:place], *pairs[place + 1 :])


def contribution(cells: tuple[tuple[int, int], ...], release: Release) -> int | None:
    """What the multipliers add up to; None if one needs an upper end that is not there."""
    total = 0
    for at, u in cells:
        cell = release.cells[at]
        if u < 0 and cell.high == UNBOUNDED:
            return None
        total += u * (cell.low if u > 0 else cell.high)
    return total


def shifted(proof: Proof, release: Release) -> Iterator[Proof]:
    """Changes after which the proof adds up again, or that leave its sums alone."""
    for node, put in nodes_of(proof):
        if isinstance(node, Branch):
            for by in (1, -1):
                yield put(dataclasses.replace(node, at=node.at + by))
            for place in range(len(node.on)):
                yield put(dataclasses.replace(node, on=node.on[:place] + node.on[place + 1 :]))
            yield put(dataclasses.replace(node, below=node.above, above=node.below))
            continue
        for d in {node.denominator + 1, node.denominator - 1, 2 * node.denominator} - {0}:
            yield put(dataclasses.replace(node, denominator=d))
        sums = contribution(node.cells, release)
        assert sums is not None
        for cells in altered_multipliers(node.cells):
            new = contribution(cells, release)
            if new is not None:
                total = node.total - sums + new
                yield put(dataclasses.replace(node, cells=cells, total=total))
        for branches in altered_multipliers(node.branches):
            yield put(dataclasses.replace(node, branches=branches))
            for total in range(node.total - 2, node.total + 3):
                yield put(dataclasses.replace(node, branches=branches, total=total))


def other_claims(proof: Proof, schema: Schema) -> Iterator[Proof]:
    """The proof as it stands, for another value or for fewer attributes."""
    for place, (name, values) in enumerate(proof.selection):
        rest = (*proof.selection[:place], *proof.selection[place + 1 :])
        yield dataclasses.replace(proof, selection=rest)
        for value in set(schema[name].values) - set(values):
            selection = (*rest, (name, (value,)))
            yield dataclasses.replace(proof, selection=selection)


def uses_end(proof: Proof, at: int, end: str) -> bool:
    """Whether a leaf multiplies this end of the cell's interval."""
    signs = {u > 0 for leaf in proof.leaves for cell, u in leaf.cells if cell == at and u}
    return (end == "low") in signs


def unpublished(release: Release, at: int) -> Release:
    """The release without what it says about one cell."""
    low, high = release.low.copy(), release.high.copy()
    low[at], high[at] = 0, UNBOUNDED
    return Release(release.layout, low, high)


def with_value(release: Release, at: int, end: str, by: int) -> Release | None:
    """The release with one end of one cell moved; None if that is no interval."""
    low, high = release.low.copy(), release.high.copy()
    (low if end == "low" else high)[at] += by
    if release.cells[at].exact:
        low[at] = high[at] = low[at] if end == "low" else high[at]
    if not 0 <= low[at] <= high[at] < UNBOUNDED:
        return None
    return Release(release.layout, low, high)


def plainly_valid(proof: Proof, schema: Schema, release: Release) -> bool:
    """The checker once more, with plain loops."""
    types = plain_types(proof.over, schema, release)
    claim = [int(matches(Selection(proof.selection), record)) for record in types]
    m = proof.multiplicity
    goals = {
        "at_least": (claim, m, []),
        "at_most": ([-c for c in claim], -m, []),
        "never": ([0] * len(types), 1, [(claim, m, m)]),
    }
    return m >= 0 and all(
        plainly_proves(getattr(proof, part), *goals[part], types, release)
        for part in PARTS
        if getattr(proof, part) is not None
    )


def plain_types(over: tuple[str, ...], schema: Schema, release: Release) -> list[dict[str, str]]:
    """The record types over some attributes, by the rules and zero cells within these."""
    rules = [r for r in schema.rules if {*r.when.attributes, *r.then.attributes} <= set(over)]
    part = Schema(tuple(schema[name] for name in over), tuple(rules)) if over else None
    zeros = [c.selection for c in release.cells if c.high == 0 and set(c.selection.attributes) <= set(over)]
    types = legal_types(part) if part else [{}]
    return [record for record in types if not any(matches(zero, record) for zero in zeros)]


PlainRow = tuple[list[int], int, int | None]


def plainly_proves(
    node: Node,
    goal: list[int],
    target: int,
    rows: list[PlainRow],
    types: list[dict[str, str]],
    release: Release,
) -> bool:
    """Whether a node proves that the goal's sum over the records is at least the target."""
    if isinstance(node, Branch):
        on = [Selection(terms) for terms in node.on]
        member = [sum(matches(selection, record) for selection in on) for record in types]
        cases = [(node.below, (member, 0, node.at)), (node.above, (member, node.at + 1, None))]
        return all(plainly_proves(side, goal, target, [*rows, row], types, release) for side, row in cases)
    used: list[tuple[PlainRow, int]] = []
    for at, u in node.cells:
        cell = release.cells[at]
        member = [int(matches(cell.selection, record)) for record in types]
        high = None if cell.high == UNBOUNDED else cell.high
        used.append(((member, cell.low, high), u))
    used += [(rows[depth], u) for depth, u in node.branches]
    total = 0
    for (_, low, high), u in used:
        end = low if u >= 0 else high
        if end is None:
            return False
        total += u * end
    sums = [sum(u * row[0][t] for row, u in used) for t in range(len(types))]
    return (
        node.denominator >= 1
        and total == node.total
        and all(sums[t] <= node.denominator * goal[t] for t in range(len(types)))
        and total > node.denominator * (target - 1)
    )


class TestJson:
    def test_round_trip(self) -> None:
        split = Branch(on=(YOUNG_WOMEN, ()), at=0, below=leaf({0: 1}, 3), above=leaf({}, 1, b0=-2))
        proof = Proof(YOUNG_WOMEN, 3, split, leaf({0: -1}, -3, d=5), split, over=("age", "sex"))
        assert Proof.from_json(proof.to_json()) == proof
        assert "\n" not in proof.to_json()

    @pytest.mark.parametrize(
        "text",
        ["", "{", "null", "[]", "3", '"a"', "{}", '{"selection": {}}', "[" * 100_000],
        ids=lambda text: text[:8] or "nothing",
    )
    def test_malformed_text(self, text: str) -> None:
        with pytest.raises(st.ProofError, match="cannot be read"):
            Proof.from_json(text)

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (("multiplicity",), "3"),
            (("multiplicity",), 3.0),
            (("multiplicity",), True),
            (("multiplicity",), None),
            (("selection",), ["age"]),
            (("selection", "age"), 3),
            (("over",), None),
            (("at_least",), None),
            (("at_least",), []),
            (("at_least", "cells"), [[0]]),
            (("at_least", "cells"), [[0, 1, 2]]),
            (("at_least", "cells"), [[0, 0.5]]),
            (("at_least", "cells"), 7),
            (("at_least", "branches"), [["a", "b"]]),
            (("at_least", "denominator"), "1"),
            (("at_least", "total"), 1e3),
            (("at_least", "on"), [3]),
        ],
        ids=str,
    )
    def test_malformed_parts(self, path: tuple[str, ...], value: object) -> None:
        plain = json.loads(VALID.to_json())
        inner = plain
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        with pytest.raises(st.ProofError, match="cannot be read"):
            Proof.from_json(json.dumps(plain))

    @pytest.mark.parametrize("part", ["selection", "multiplicity", "over"])
    def test_missing_parts(self, part: str) -> None:
        plain = json.loads(VALID.to_json())
        del plain[part]
        with pytest.raises(st.ProofError, match="cannot be read"):
            Proof.from_json(json.dumps(plain))


CHECKER = sorted(Path(proof_module.__file__).parent.glob("*.py"))


def test_the_checker_imports_nothing_it_checks() -> None:
    """Only the standard library, NumPy, each other and the error classes, anywhere in its files."""
    own = {file.stem for file in CHECKER}
    imported: set[str] = set()
    for node in (node for file in CHECKER for node in ast.walk(ast.parse(file.read_text("utf-8")))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 or (node.level == 1 and node.module in own)
            imported |= set() if node.level else {node.module or ""}
        elif isinstance(node, ast.Name):
            assert node.id not in {"__import__", "importlib", "exec", "eval"}
    outside = {name for name in imported if name.split(".")[0] not in sys.stdlib_module_names}
    assert outside == {"numpy", "numpy.typing", "showthrough.errors"}
