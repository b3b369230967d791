"""The checker's own decisions, one by one: on witnesses, rows, record types and numbers of any size."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

import showthrough as st
from brute_force import legal_types, matches
from showthrough.release import UNBOUNDED, Cell, Release, Table, make_table
from showthrough.schema import Rule, Schema
from showthrough.selection import Selection
from showthrough.tables.proof import Branch, Checker, Leaf, Proof, possible
from showthrough.tables.proof.possible import Possible
from showthrough.tables.proof.tree import Terms

HOMES = Schema.of(
    {"size": ["1", "2", "3+"], "type": ["alone", "couple", "family"], "rent": ["yes", "no"]},
    rules=[
        Rule(Selection.of(size="1"), Selection.of(type="alone"), both_ways=True),
        Rule(Selection.of(type="couple"), Selection.of(size="2")),
    ],
)
KINDS = Schema.of({"kind": ["a", "b"]})
HUGE = 2**70
A, B = (("kind", ("a",)),), (("kind", ("b",)),)


def leaf(cells: dict[int, int], total: int, *, d: int = 1, branches: dict[int, int] | None = None) -> Leaf:
    return Leaf(tuple(cells.items()), tuple((branches or {}).items()), d, total)


def kinds(total: object, a: object = None, b: object = None) -> Release:
    """A release about kinds: cell 0 is everybody, cells 1 and 2 are the kinds."""
    tables = {make_table(KINDS, "total"): [total], make_table(KINDS, "kind"): [a, b]}
    return Release.of(KINDS, tables)  # pyright: ignore[reportArgumentType]


def refused(check: Callable[[], object]) -> str:
    """What the checker says against it; nothing if it is content."""
    try:
        check()
    except st.ProofError as error:
        return str(error)
    return ""


class TestWitnesses:
    def test_every_small_dataset(self) -> None:
        """Of all sets of at most three households exactly those pass that rules and cells allow."""
        release = Release.of(
            HOMES,
            {make_table(HOMES, "size"): [(1, 2), (0, 1), (0, 1)], make_table(HOMES, "rent"): [1, (1, 9)]},
        )
        checker, legal = Checker(HOMES, release), legal_types(HOMES)
        names = [attribute.name for attribute in HOMES.attributes]
        every = [
            dict(zip(names, values, strict=True))
            for values in itertools.product(*(attribute.values for attribute in HOMES.attributes))
        ]
        accepted = 0
        for n in range(4):
            for records in itertools.combinations_with_replacement(every, n):
                agrees = all(record in legal for record in records) and all(
                    cell.low <= sum(matches(cell.selection, record) for record in records) <= cell.high
                    for cell in release.cells
                )
                world = [(record, 1) for record in records]
                assert (not refused(lambda w=world: checker.check_world(w))) == agrees, records
                accepted += agrees
        assert accepted > 5

    def test_what_is_wrong_is_said(self) -> None:
        checker = Checker(HOMES, Release.of(HOMES, {make_table(HOMES, "total"): [(1, 2)]}))
        good = {"size": "1", "type": "alone", "rent": "no"}
        odd = {**good, "size": "2"}
        checker.check_world([(good, 2)])
        assert (
            refused(lambda: checker.check_world([(good, 1), (odd, 1)])) == f"a witness breaks a rule: {odd}"
        )
        # Nobody is like that, so nobody breaks a rule; but there is no such size at all.
        checker.check_world([(good, 1), (odd, 0)])
        none = {**good, "size": "0"}
        told = f"a witness holds an impossible record: {none}"
        assert refused(lambda: checker.check_world([(good, 1), (none, 0)])) == told
        assert refused(lambda: checker.check_world([(good, 3)])) == "a witness has 3 records in a cell of 1-2"
        assert "impossible" in refused(lambda: checker.check_world([(good, 2), (good, -1)]))

    def test_rules_of_several_parts(self) -> None:
        """Who matches all of the condition must match all of what follows."""
        rule = Rule(Selection.of(size="2", type="couple"), Selection.of(rent="no", size="2"))
        schema = Schema.of({a.name: a.values for a in HOMES.attributes}, rules=[rule])
        checker = Checker(schema, Release.of(schema, {make_table(schema, "total"): [1]}))
        for size, kind, rent in itertools.product(*(attribute.values for attribute in schema.attributes)):
            told = refused(lambda r={"size": size, "type": kind, "rent": rent}: checker.check_world([(r, 1)]))
            assert bool(told) == ((size, kind, rent) == ("2", "couple", "yes"))
        world = checker.check_world([({"size": "1", "type": "alone", "rent": "no"}, 1)])
        assert (world.count((("size", ("1",)),)), world.count((("size", ("2",)),))) == (1, 0)


class TestRows:
    def test_rows_are_those_of_their_types(self) -> None:
        """The same cell is another row where the attributes come in another order."""
        schema = Schema.of({"a": ["0", "1"], "b": ["0", "1"]})
        checker = Checker(schema, Release.of(schema, {make_table(schema, "a"): [1, 2]}))
        true = Proof((("a", ("0",)),), 1, leaf({0: 1}, 1), over=("a", "b"))
        false = Proof((("b", ("0",)),), 1, leaf({0: 1}, 1), over=("b", "a"))
        for _ in range(2):
            checker.check(true)
            checker.check(dataclasses.replace(true, over=("b", "a")))
            assert "exceed" in refused(lambda: checker.check(false))
        assert checker.n_types(("a", "b")) == 4

    def test_cells_are_those_of_the_release(self) -> None:
        checker = Checker(KINDS, kinds(3, 1, 2))
        for at, claim, count in ((0, (), 3), (1, A, 1), (2, B, 2)):
            checker.check(Proof(claim, count, leaf({at: 1}, count), leaf({at: -1}, -count), over=("kind",)))
        for at in (3, -1):
            proof = Proof((), 3, leaf({at: 1}, 3), over=("kind",))
            assert (
                refused(lambda p=proof: checker.check(p)) == f"the proof names cell {at}, the release has 3"
            )

    def test_branches_are_those_that_are_open(self) -> None:
        """Of nine at most there are never ten: rows 0, "there are ten", and 1, the branch, are open."""
        checker = Checker(KINDS, kinds((0, 9)))

        def never_ten(depth: int) -> Proof:
            cases = [leaf({0: -1}, 1, branches={at: 1}) for at in (0, depth)]
            return Proof((), 10, never=Branch((A,), 1, *cases), over=("kind",))

        checker.check(never_ten(0))
        assert "add up to -7" in refused(lambda: checker.check(never_ten(1)))
        for depth in (2, -1):
            told = f"the proof uses branch {depth}, but only 2 are open there"
            assert refused(lambda d=depth: checker.check(never_ten(d))) == told

    def test_a_count_is_over_the_branch_or_not(self) -> None:
        """Branch rows say: at most ``at``, from 0; or ``at`` + 1 and more, without an upper end."""
        checker = Checker(KINDS, kinds((0, 9)))
        goal = {"selection": A, "over": ("kind",)}
        few = Branch((A,), 4, leaf({}, -4, branches={0: -1}), leaf({0: -1}, -9))
        checker.check(Proof(multiplicity=9, at_most=few, **goal))
        assert "at most 9, not at most 8" in refused(
            lambda: checker.check(Proof(multiplicity=8, at_most=few, **goal))
        )
        many = Branch((A,), 4, leaf({}, 0, branches={0: 1}), leaf({}, 5, branches={0: 1}))
        checker.check(Proof(multiplicity=0, at_least=many, **goal))
        assert "at least 0, not at least 1" in refused(
            lambda: checker.check(Proof(multiplicity=1, at_least=many, **goal))
        )
        lone = Branch((A,), 4, leaf({0: -1}, -9), leaf({}, -5, branches={0: -1}))
        assert "not published" in refused(lambda: checker.check(Proof(multiplicity=9, at_most=lone, **goal)))

    def test_each_of_several_counts_is_added_in_a_branch(self) -> None:
        """If a + a + b ≥ 4 there are two records or more, for each is counted at most twice."""
        checker = Checker(KINDS, kinds(2))

        def proof(on: tuple[Terms, ...], d: int) -> Proof:
            above = leaf({}, 4, d=d, branches={0: 1})
            return Proof((), 2, Branch(on, 3, leaf({0: 1}, 2), above), over=("kind",))

        checker.check(proof((A, A, B), 2))
        assert "exceed" in refused(lambda: checker.check(proof((A, A, B), 1)))
        checker.check(proof((A, B), 1))
        checker.check(proof((A,), 1))
        # Nothing adds up to 0, never to 4 and more.
        checker.check(proof((), 1))

    def test_a_row_is_used_once(self) -> None:
        """The first cell and the first branch are two rows; a cell or a branch twice is refused."""
        checker = Checker(KINDS, kinds(3, 1))
        both = Leaf(((0, -1),), ((0, 1),), 1, 1)
        checker.check(Proof((), 4, never=both, over=("kind",)))
        for twice in (Leaf(((0, -1), (0, 0)), ((0, 1),), 1, 1), Leaf(((0, -1),), ((0, 1), (0, 0)), 1, 1)):
            proof = Proof((), 4, never=twice, over=("kind",))
            assert refused(lambda p=proof: checker.check(p)) == "a row is multiplied twice"

    def test_only_a_negative_multiplier_needs_an_upper_end(self) -> None:
        checker = Checker(KINDS, kinds((2, UNBOUNDED), 1))
        for u in (0, 1):
            checker.check(Proof((), 2 * u, leaf({0: u}, 2 * u), over=("kind",)))
        told = "a multiplier uses an upper bound that is not published"
        proof = Proof((), 2, at_most=leaf({0: -1}, -2), over=("kind",))
        assert refused(lambda: checker.check(proof)) == told

    @pytest.mark.parametrize(("high", "is_published"), [(2**62 - 1, True), (2**62, False), (2**63, False)])
    def test_upper_ends_from_two_to_the_62_on_are_none(self, high: int, is_published: bool) -> None:
        @dataclass
        class OneCell:
            cells: Sequence[Cell]

        @dataclass
        class Bare:
            terms: tuple[tuple[int, Selection], ...]
            low: int
            high: int

        checker = Checker(KINDS, OneCell([Bare(((1, Selection(())),), 0, high)]))  # pyright: ignore[reportArgumentType]
        proof = Proof((), high, at_most=leaf({0: -1}, -high), over=("kind",))
        assert (not refused(lambda: checker.check(proof))) == is_published


class TestClaims:
    def test_nobody_is_a_number(self) -> None:
        checker = Checker(KINDS, kinds(3, 0))
        checker.check(Proof(A, 0, leaf({}, 0), leaf({}, 0), over=("kind",)))
        # No a can exist, so everybody is a b.
        checker.check(Proof(B, 3, leaf({0: 1}, 3), leaf({0: -1}, -3), over=("kind",)))
        some = Checker(KINDS, kinds(3))
        assert "exceed" in refused(lambda: some.check(Proof(A, 0, at_most=leaf({}, 0), over=("kind",))))
        told = refused(lambda: checker.check(Proof((), 0, at_most=leaf({0: -1}, -3), over=("kind",))))
        assert told == "the multipliers prove at most 3, not at most 0"
        assert (
            refused(lambda: checker.check(Proof(A, -1, leaf({}, 0), over=("kind",))))
            == "a count cannot be -1"
        )

    def test_never(self) -> None:
        """There is one a: that there are two leads to a contradiction, that there is one does not."""
        checker = Checker(KINDS, kinds(3, 1))
        checker.check(Proof(A, 2, never=leaf({1: -1}, 1, branches={0: 1}), over=("kind",)))
        one = Proof(A, 1, never=leaf({}, 1, branches={0: 1}), over=("kind",))
        assert "exceed" in refused(lambda: checker.check(one))
        none = Proof(A, 1, never=leaf({1: -1}, 0, branches={0: 1}), over=("kind",))
        assert refused(lambda: checker.check(none)) == "the multipliers prove at least 0, not never 1"

    def test_one_record_type_too_many_refutes_a_bound(self) -> None:
        """For a proof over nothing there is one type, a record; over kinds there are two."""
        checker = Checker(KINDS, kinds(3))
        checker.check(Proof((), 3, leaf({0: 1}, 3), over=()))
        assert "exceed" in refused(lambda: checker.check(Proof((), 6, leaf({0: 2}, 6), over=())))
        assert "exceed" in refused(lambda: checker.check(Proof(A, 3, leaf({0: 1}, 3), over=("kind",))))

    def test_a_release_without_anybody(self) -> None:
        """A total of zero is a cell of zero without attributes: no type is left to refute anything."""
        checker = Checker(KINDS, kinds(0))
        checker.check(Proof(A, 0, at_most=leaf({0: -5}, 0), over=("kind",)))
        checker.check(Proof(A, 0, at_least=leaf({0: 7}, 0), over=("kind",)))
        checker.check(Proof(A, 0, leaf({0: HUGE}, 0), leaf({0: HUGE}, 0, d=HUGE), over=("kind",)))
        checker.check(Proof(A, 0, leaf({}, 0, d=HUGE), over=("kind",)))
        assert "at least 0, not a contradiction" in refused(
            lambda: checker.check_contradiction(leaf({0: 1}, 0), ("kind",))
        )

    def test_a_contradiction_needs_more_than_nothing(self) -> None:
        checker = Checker(KINDS, kinds(3, 1, 1))
        checker.check_contradiction(leaf({0: 1, 1: -1, 2: -1}, 1), ("kind",))
        checker.check_contradiction(leaf({0: 2, 1: -2, 2: -2}, 2, d=5), ("kind",))
        consistent = Checker(KINDS, kinds(2, 1, 1))
        assert refused(lambda: consistent.check_contradiction(leaf({0: 1, 1: -1, 2: -1}, 0), ("kind",))) == (
            "the multipliers prove at least 0, not a contradiction"
        )

    def test_a_proof_checks_itself(self) -> None:
        good = Proof(A, 1, leaf({1: 1}, 1), over=("kind",))
        good.check(KINDS, kinds(3, 1))
        assert "exceed" in refused(lambda: dataclasses.replace(good, selection=B).check(KINDS, kinds(3, 1)))

    def test_the_same_of_another_selection(self) -> None:
        """What is proved of a is proved of everybody where no b can be, and of nobody else."""
        only = Proof(A, 3, leaf({0: 1}, 3), leaf({0: -1}, -3), over=("kind",))
        checker = Checker(KINDS, kinds(3, None, 0))
        for terms in ((), A, (("kind", ("a", "b")),), (("kind", ("b", "a")),)):
            checker.check_all(only, [terms])
        assert "exceed" in refused(lambda: checker.check_all(only, [B]))
        # Another proof in between, and the first again; what counts is the selection and ``over``.
        nobody = Proof(B, 0, leaf({}, 0), leaf({}, 0), over=("kind",))
        for _ in range(2):
            checker.check_all(nobody, [B])
            assert "at least 0, not at least 3" in refused(
                lambda: checker.check_all(dataclasses.replace(nobody, multiplicity=3), [A])
            )
            checker.check_all(only, [()])
        bare = Proof((), 3, leaf({0: 1}, 3), over=())
        checker.check_all(bare, [()])
        assert "leaves out" in refused(lambda: checker.check_all(bare, [A]))
        with_b = Checker(KINDS, kinds(3))
        # Types differ, but the multipliers prove as much of the larger selection.
        at_least = Proof(A, 1, leaf({1: 1}, 1), over=("kind",))
        both = Checker(KINDS, kinds(3, 1))
        both.check(at_least)
        both.check_all(at_least, [()])
        assert "exceed" in refused(lambda: both.check_all(at_least, [B]))
        assert "exceed" in refused(lambda: with_b.check_all(only, [B]))

    def test_never_of_several_selections(self) -> None:
        """There are never three a, but three records: what holds of the smaller set says nothing."""
        checker = Checker(KINDS, kinds(3, 1))
        never = Proof(A, 3, never=leaf({1: -1}, 2, branches={0: 1}), over=("kind",))
        checker.check_all(never, [A, A])
        assert "exceed" in refused(lambda: checker.check_all(never, [()]))
        assert "exceed" in refused(lambda: checker.check_all(never, [A, B]))


class TestNumbersOfAnySize:
    """What would wrap around in 64 bits does not."""

    @staticmethod
    def copies(n: int) -> Release:
        """The same total of one, published n times."""
        return Release.of(KINDS, {Table(str(at), (Cell("all", Selection(())),)): [1] for at in range(n)})

    @pytest.mark.parametrize("power", range(58, 66))
    def test_sums_of_many_rows(self, power: int) -> None:
        """Together 2^power times n, which may be 0 or negative in 64 bits: far over one record."""
        for n in (1, 2, 3, 4, 8, 16, 32):
            check, u = Checker(KINDS, self.copies(n)).check, 2**power
            false = Proof((), n * u, leaf(dict.fromkeys(range(n), u), n * u), over=("kind",))
            assert "exceed" in refused(partial(check, false))
            true = Proof((), n * u, at_most=leaf(dict.fromkeys(range(n), -u), -n * u), over=("kind",))
            check(true)

    def test_a_huge_multiplier_of_a_row_without_types(self) -> None:
        """No a can exist, so its cell may be multiplied by anything: 2⁷⁰ times nothing is nothing."""
        checker = Checker(KINDS, kinds(3, 0))
        for u in (HUGE, -HUGE):
            checker.check(Proof(B, 3, leaf({0: 1, 1: u}, 3), leaf({0: -1, 1: u}, -3), over=("kind",)))

    def test_a_huge_denominator(self) -> None:
        """1/2⁷⁰ of a record, rounded up, is one."""
        checker = Checker(KINDS, kinds(1))
        checker.check(Proof((), 1, leaf({0: 1}, 1, d=HUGE), over=("kind",)))
        assert "at least 1, not at least 2" in refused(
            lambda: checker.check(Proof((), 2, leaf({0: 1}, 1, d=HUGE), over=("kind",)))
        )
        impossible = Checker(KINDS, kinds(2, 1, 0))
        assert not refused(lambda: impossible.check_contradiction(leaf({0: 1, 1: -1}, 1, d=HUGE), ("kind",)))
        assert "exceed" in refused(lambda: impossible.check_contradiction(leaf({0: 1}, 2, d=HUGE), ("kind",)))


class TestPossibleTypes:
    def test_every_order_of_attributes_and_every_part(self) -> None:
        """Against all combinations: types over some attributes, by rules and zeros within these."""
        age = Schema.of(
            {"age": ["0", "1", "2"], "sex": ["f", "m"], "home": ["x", "y", "z"]},
            rules=[
                Rule(Selection.of(age="0"), Selection.of(sex="f", home=["x", "y"])),
                Rule(Selection.of(home="z"), Selection.of(age="2"), both_ways=True),
                # The age may be anything, so this is a rule between sex and home.
                Rule(Selection.of(age=["0", "1", "2"], sex="f"), Selection.of(home=["x", "z"])),
                Rule(Selection.of(home="x"), Selection.of(age=["0", "1", "2"])),
            ],
        )
        release = Release.of(age, {make_table(age, "age*sex"): [None, None, 0, 2, None, (0, 1)]})
        everything = {a.name: a.values for a in age.attributes}
        checked = Possible(age, release.cells)
        for over in (p for n in range(1, 4) for p in itertools.permutations(everything, n)):
            legal: list[dict[str, str]] = []
            for values in itertools.product(*(everything[name] for name in over)):
                record = dict(zip(over, values, strict=True))
                if all(holds(rule, record, everything) for rule in age.rules) and not (
                    record.get("age") == "1" and record.get("sex") == "f"
                ):
                    legal.append(record)
            assert checked.types(over).n == len(legal)
            for name in over:
                for value in everything[name]:
                    terms: Terms = ((name, (value,)),)
                    assert checked.types(over).selected(terms).bit_count() == sum(
                        r[name] == value for r in legal
                    )

    def test_a_rule_is_used_as_soon_as_it_is_decided(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Four and four and four values, of which pairs must agree: never more than 16 types at once."""
        four = [str(n) for n in range(4)]
        names = ("one", "two", "three")
        rules = [
            Rule(Selection(((a, (v,)),)), Selection(((b, (v,)),)))
            for a, b in itertools.pairwise(names)
            for v in four
        ]
        schema = Schema.of(dict.fromkeys(names, four), rules=rules)
        release = Release.of(schema, {make_table(schema, "total"): [1]})
        monkeypatch.setattr(possible, "MOST_TYPES", 16)
        assert Possible(schema, release.cells).types(names).n == 4
        with pytest.raises(st.ProofError, match="more than 16 record types: too many to check"):
            Possible(schema, release.cells).types(("one", "three", "two"))
        monkeypatch.setattr(possible, "MOST_TYPES", 15)
        with pytest.raises(st.ProofError, match="more than 15 record types"):
            Possible(schema, release.cells).types(names)

    def test_a_rule_about_something_unknown_rules_out_nobody(self) -> None:
        @dataclass
        class Odd:
            attributes: Sequence[Any]
            rules: Sequence[Rule]

        rule = Rule(Selection.of(kind="a"), Selection.of(size="1"), both_ways=True)
        odd = Possible(Odd(KINDS.attributes, [rule]), kinds(3).cells)
        assert odd.types(("kind",)).n == 2

    def test_what_is_remembered_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Types and sets of types are found once, until there are too many of them."""
        schema = Schema.of({"a": ["0", "1"], "b": ["0", "1"]})
        grown, found = list[object](), list[object]()
        extended, allowed = possible.Types.extended, possible.Types._allowed  # pyright: ignore
        monkeypatch.setattr(possible.Types, "extended", lambda t, n: (grown.append(n), extended(t, n))[1])
        monkeypatch.setattr(possible.Types, "_allowed", lambda t, *n: (found.append(n), allowed(t, *n))[1])
        monkeypatch.setattr(possible, "MOST_TYPES", 4)
        monkeypatch.setattr(possible, "MOST_REMEMBERED", 4)
        checked = Possible(schema, ())
        for over, expected in (
            ("a", 1),
            ("b", 2),
            ("a", 2),
            ("b", 2),
            ("ab", 4),
            ("a", 5),
            ("a", 5),
            ("ab", 7),
        ):
            checked.types(tuple(over))
            assert len(grown) == expected
        types, names = Possible(schema, ()).types(("a",)), (("0",), ("1",), ("0", "1"), ("1", "0"))
        for at, expected in ((0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (1, 3), (3, 4), (0, 5), (0, 5)):
            types.selected((("a", names[at]),))
            assert len(found) == expected

    @pytest.mark.parametrize(("n_values", "left_out"), [(40_000, 39_999), (70_000, 35_000)])
    def test_more_values_than_16_bits_count(self, n_values: int, left_out: int) -> None:
        """A record may have any of the values, so three records need not have one of the others."""
        many = Schema.of({"id": [str(n) for n in range(n_values)]})
        release = Release.of(many, {make_table(many, "total"): [3]})
        others = (("id", tuple(str(n) for n in range(n_values) if n != left_out)),)
        false = Proof(others, 3, leaf({0: 1}, 3), over=("id",))
        assert "exceed" in refused(lambda: st.check_proof(false, many, release))

    def test_unknown_names(self) -> None:
        checker = Checker(KINDS, kinds(3))
        for proof, told in (
            (Proof((("size", ("1",)),), 0, leaf({}, 0), over=("kind",)), "names an unknown attribute: size"),
            (Proof((), 0, leaf({}, 0), over=("size",)), "names an unknown attribute: size"),
            (Proof(A, 0, leaf({}, 0), over=()), "leaves out an attribute it needs: kind"),
            (Proof((("kind", ("c",)),), 0, leaf({}, 0), over=("kind",)), "names an unknown value of kind: c"),
        ):
            assert refused(lambda p=proof: checker.check(p)) == f"the proof {told}"


def holds(rule: Rule, record: dict[str, str], everything: dict[str, tuple[str, ...]]) -> bool:
    """Whether a part of a record keeps those parts of a rule that it decides."""

    def ways() -> list[tuple[Selection, Selection]]:
        both = [(rule.when, rule.then)]
        return [*both, (rule.then, rule.when)] if rule.both_ways else both

    def trimmed(selection: Selection) -> list[tuple[str, tuple[str, ...]]]:
        return [(n, v) for n, v in selection.terms if set(v) != set(everything[n])]

    for when, then in ways():
        if not all(name in record for name, _ in trimmed(when)):
            continue
        if all(record[name] in values for name, values in trimmed(when)):
            for name, values in trimmed(then):
                if name in record and record[name] not in values:
                    return False
    return True


class TestText:
    def test_it_is_short_and_readable(self) -> None:
        """One line without spaces, with letters as they are."""
        proof = Proof((("größe", ("1 bis 2",)),), 2, at_most=leaf({3: -1}, -2, d=4), over=("größe",))
        assert proof.to_json() == (
            '{"selection":{"größe":["1 bis 2"]},"multiplicity":2,"over":["größe"],'
            '"at_most":{"cells":[[3,-1]],"branches":[],"denominator":4,"total":-2}}'
        )
        assert Proof.from_json(proof.to_json()) == proof

    def test_cells_and_leaves_in_order(self) -> None:
        split = Branch((A,), 0, leaf({4: 1, 2: 1}, 1), leaf({4: -1, 0: 3}, 2))
        proof = Proof(A, 1, leaf({9: 1}, 0), split, leaf({2: 5}, 3), over=("kind",))
        assert proof.cells == (0, 2, 4, 9)
        assert [one.total for one in proof.leaves] == [0, 1, 2, 3]
        assert proof.nodes == (proof.at_least, split, proof.never)

    @pytest.mark.parametrize(
        "change",
        [
            {"cells": [[0, True]]},
            {"cells": [[False, 1]]},
            {"branches": [[0, None]]},
            {"branches": [[1.0, 1]]},
            {"denominator": True},
            {"total": False},
            {"denominator": None},
            {"on": [{"kind": ["a"]}], "at": True, "below": {}, "above": {}},
            {"on": [{"kind": ["a"]}], "at": "0"},
        ],
        ids=str,
    )
    def test_what_is_no_integer_is_refused(self, change: dict[str, object]) -> None:
        plain = json.loads(Proof(A, 1, leaf({0: 1}, 1), over=("kind",)).to_json())
        plain["at_least"].update(change)
        told = refused(lambda: Proof.from_json(json.dumps(plain)))
        assert told.startswith("the proof cannot be read: ")
        assert "is not an integer" in told


def test_a_proof_is_a_value() -> None:
    """Equal if all its parts are, usable as a key, and not to be changed once it is checked."""
    make = lambda: Proof(A, 1, Branch((A,), 0, leaf({0: 1}, 1), leaf({}, 1)), over=("kind",))  # noqa: E731
    assert len({make(), make()}) == 1
    for part, name in ((make(), "multiplicity"), (make().at_least, "at"), (make().leaves[0], "total")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, name, 2)
