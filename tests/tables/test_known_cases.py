"""Cases small enough to be worked out by hand; every number is written down."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import showthrough as st
from comparison import verified_claims
from showthrough.tables.proof import Branch
from strategies import cycles

Value = int | tuple[int, int] | None

TWO_BY_TWO = st.Schema.of({"row": ["1", "2"], "column": ["1", "2"]})
THREE_BY_THREE = st.Schema.of({"row": ["1", "2", "3"], "column": ["1", "2", "3"]})


def cell(**values: str | Sequence[str]) -> st.Selection:
    return st.Selection.of(values)


def release(schema: st.Schema, **tables: Sequence[Value]) -> st.Release:
    """Tables by formula, with ``_x_`` for ``*``."""
    formulas = {name: name.replace("_x_", "*") for name in tables}
    return st.Release.of(
        schema,
        {st.make_table(schema, formulas[name]): values for name, values in tables.items()},
    )


def claims(made: st.Release) -> dict[st.Selection, int]:
    audit = st.audit(made)
    assert all(verdict.kind != "undecided" for verdict in audit.verdicts)
    return dict(verified_claims(audit))


def verdict_on(made: st.Release, selection: st.Selection) -> st.Verdict:
    (found,) = [v for v in st.audit(made).verdicts if v.claim.selection == selection]
    return found


class TestMarginsOfATwoByTwoTable:
    def test_margins_of_one_each_leave_the_joint_open(self) -> None:
        """Both diagonals fit: {11, 22} and {12, 21}."""
        made = release(TWO_BY_TWO, row=[1, 1], column=[1, 1])
        assert claims(made) == {
            cell(row="1"): 1,
            cell(row="2"): 1,
            cell(column="1"): 1,
            cell(column="2"): 1,
        }
        audit = st.audit(made)
        assert audit.unique is False
        assert len(st.worlds(made, 5)) == 2
        bounds = st.bounds(made, cell(row="1", column="1"))
        assert (bounds.low, bounds.high) == (0, 1)

    def test_an_empty_row_gives_the_joint_away(self) -> None:
        made = release(TWO_BY_TWO, row=[2, 0], column=[1, 1])
        assert claims(made) == {
            cell(row="1"): 2,
            cell(column="1"): 1,
            cell(column="2"): 1,
            cell(row="1", column="1"): 1,
            cell(row="1", column="2"): 1,
        }
        assert st.audit(made).unique is True
        assert len(st.worlds(made, 5)) == 1

    def test_a_margin_that_leaves_no_room(self) -> None:
        """Three in row 1, three in column 2, four in all: at least two, at most three in 12."""
        made = release(TWO_BY_TWO, row=[3, 1], column=[1, 3])
        bounds = st.bounds(made, cell(row="1", column="2"))
        assert (bounds.low, bounds.high) == (2, 3)
        assert bounds.low_proof is not None
        assert bounds.high_proof is not None
        st.check_proof(bounds.low_proof, made.schema, made)
        st.check_proof(bounds.high_proof, made.schema, made)
        assert cell(row="1", column="2") not in claims(made)


class TestSuppressedCells:
    """A 3×3 table of 1 to 9 with its margins; the margins are 6, 15, 24 and 12, 15, 18."""

    ROWS, COLUMNS, TOTAL = [6, 15, 24], [12, 15, 18], [45]

    def published(self, inner: Sequence[Value]) -> st.Release:
        return release(
            THREE_BY_THREE, row_x_column=inner, row=self.ROWS, column=self.COLUMNS, total=self.TOTAL
        )

    def test_one_suppressed_cell_is_recomputed_by_subtraction(self) -> None:
        made = self.published([(1, 4), 2, 3, 4, 5, 6, 7, 8, 9])
        corner = cell(row="1", column="1")
        found = verdict_on(made, corner)
        assert (found.kind, found.claim.multiplicity) == ("verified", 1)
        assert found.proof is not None
        st.check_proof(found.proof, made.schema, made)
        tables = {made.cells[at].table for at in found.proof.cells}
        assert len(tables) == 2
        assert (found.n_tables_added, found.direct) == (2, False)
        audit = st.audit(made)
        assert audit.unique is True
        rows = audit.claims.to_pylist()
        (row,) = [row for row in rows if row["selection"] == corner.to_json()]
        assert row["sentence"] == "For exactly one record, row is 1 and column is 1."
        assert (row["k"], row["multiplicity"], row["verdict"]) == (2, 1, "verified")
        assert (row["n_tables_added"], row["direct"]) == (2, False)

    def test_what_one_cell_says_is_read_directly(self) -> None:
        made = self.published([(1, 4), 2, 3, 4, 5, 6, 7, 8, 9])
        found = verdict_on(made, cell(row="3", column="3"))
        assert (found.kind, found.claim.multiplicity) == ("verified", 9)
        assert (found.n_tables_added, found.direct) == (1, True)

    def test_four_suppressed_cells_in_a_rectangle_protect_each_other(self) -> None:
        """Row 1 leaves 3 for its two: 1 + 2 or 2 + 1, and the other two follow."""
        hidden = (1, 20)
        made = self.published([hidden, hidden, 3, hidden, hidden, 6, 7, 8, 9])
        for selection, ends in {
            cell(row="1", column="1"): (1, 2),
            cell(row="1", column="2"): (1, 2),
            cell(row="2", column="1"): (3, 4),
            cell(row="2", column="2"): (5, 6),
        }.items():
            bounds = st.bounds(made, selection)
            assert (bounds.low, bounds.high) == ends
            assert selection not in claims(made)
        assert st.audit(made).unique is False
        assert len(st.worlds(made, 10)) == 2

    def test_an_interval_too_narrow_for_its_rectangle(self) -> None:
        """Row 2 leaves 8 for two cells of at most 4: both are 4, and the rest follows."""
        hidden = (1, 4)
        made = release(
            THREE_BY_THREE,
            row_x_column=[hidden, hidden, 3, hidden, hidden, 6, 7, 8, 9],
            row=[6, 14, 24],
            column=[12, 14, 18],
        )
        found = claims(made)
        assert found[cell(row="2", column="1")] == 4
        assert found[cell(row="2", column="2")] == 4
        assert found[cell(row="1", column="1")] == 1
        assert found[cell(row="1", column="2")] == 2

    def test_a_suppressed_cell_without_margins_stays_hidden(self) -> None:
        made = release(THREE_BY_THREE, row_x_column=[(1, 4), 2, 3, 4, 5, 6, 7, 8, 9])
        bounds = st.bounds(made, cell(row="1", column="1"))
        assert (bounds.low, bounds.high) == (1, 4)
        assert cell(row="1", column="1") not in claims(made)

    def test_a_total_that_does_not_fit_is_a_contradiction(self) -> None:
        made = release(THREE_BY_THREE, row=self.ROWS, column=self.COLUMNS, total=[sum(self.ROWS) + 1])
        with pytest.raises(st.Contradiction) as caught:
            st.audit(made)
        tables = {table for table, _, _ in caught.value.cells}
        assert tables in ({"row", "total"}, {"column", "total"})
        assert len(caught.value.cells) == 4


class TestTwoGeographies:
    """A municipality of 16 and four grid cells of 5, 4, 4 and 4, of which only a straddles.

    All four hold 17, so exactly one person of grid cell a lives outside the municipality.
    """

    SCHEMA = st.Schema.of(
        {"grid": ["a", "b", "c", "d"], "inside": ["yes", "no"]},
        rules=[st.Rule(cell(grid=["b", "c", "d"]), cell(inside="yes"))],
        record="person",
    )

    def published(self) -> st.Release:
        inside = st.Table("municipality", (st.Cell("inside", cell(inside="yes")),), "municipality")
        grid = st.make_table(self.SCHEMA, "grid", publisher="statistics office")
        return st.Release.of(self.SCHEMA, {grid: [5, 4, 4, 4], inside: [16]})

    def test_the_difference_is_one_person(self) -> None:
        found = claims(self.published())
        assert found == {
            cell(grid="a"): 5,
            cell(grid="b"): 4,
            cell(grid="c"): 4,
            cell(grid="d"): 4,
            cell(inside="yes"): 16,
            cell(inside="no"): 1,
            cell(grid="a", inside="no"): 1,
            cell(grid="a", inside="yes"): 4,
            cell(grid="b", inside="yes"): 4,
            cell(grid="c", inside="yes"): 4,
            cell(grid="d", inside="yes"): 4,
        }

    def test_the_proof_subtracts_one_publisher_from_the_other(self) -> None:
        made = self.published()
        outside = verdict_on(made, cell(grid="a", inside="no"))
        assert outside.kind == "verified"
        assert outside.proof is not None
        st.check_proof(outside.proof, made.schema, made)
        assert outside.proof.cells == (0, 1, 2, 3, 4)
        assert outside.n_tables_added == 2
        sentence = outside.claim.sentence(made.schema)
        assert sentence == "For exactly one person, inside is no."  # which implies that grid is a

    def test_neither_publisher_alone_gives_it_away(self) -> None:
        both = self.published()
        grid = st.Release.of(self.SCHEMA, {both.tables[0]: [5, 4, 4, 4]})
        assert cell(grid="a", inside="no") not in claims(grid)
        municipality = st.Release.of(self.SCHEMA, {both.tables[1]: [16]})
        assert claims(municipality) == {cell(inside="yes"): 16}

    def test_absence_and_gaps(self) -> None:
        audit = st.audit(self.published(), absent=True, gaps=True)
        absent = {v.claim.selection for v in audit.verdicts if v.claim.multiplicity == 0}
        assert absent == {cell(grid=value, inside="no") for value in "bcd"}


class TestCycles:
    """See :func:`strategies.cycles`: no linear combination of cells proves what is true here."""

    @pytest.mark.parametrize("n", [2, 3])
    @pytest.mark.parametrize("with_truth", [True, False])
    def test_one_person_speaks_d(self, n: int, with_truth: bool) -> None:
        case = cycles(n)
        audit = st.audit(case.release, truth=case.records if with_truth else None)
        found = dict(verified_claims(audit))
        assert found[cell(speaks="d")] == 1
        assert found[cell(hall="0", speaks="d")] == 1
        assert found[cell(hall="0")] == 2
        assert found[cell(hall="1")] == 1
        assert len(found) == 2 + n
        assert all(verdict.kind != "undecided" for verdict in audit.verdicts)

    def test_the_proof_tells_cases_apart(self) -> None:
        case = cycles(2)
        found = verdict_on(case.release, cell(speaks="d"))
        assert found.proof is not None
        assert isinstance(found.proof.at_least, Branch)
        st.check_proof(found.proof, case.schema, case.release)


class TestAUniqueBlock:
    """Three households known completely from their one- and two-way tables."""

    SCHEMA = st.Schema.of(
        {
            "size": ["1", "2", "3+"],
            "tenure": ["owned", "rented"],
            "age": ["under 35", "35-64", "65+"],
        },
        record="household",
    )
    HOUSEHOLDS = (
        {"size": "1", "tenure": "rented", "age": "under 35"},
        {"size": "1", "tenure": "owned", "age": "65+"},
        {"size": "3+", "tenure": "owned", "age": "35-64"},
    )

    def made(self) -> tuple[st.Records, st.Release]:
        records = st.Records.of(self.HOUSEHOLDS, self.SCHEMA)
        return records, st.tabulate(records, ["size*tenure", "tenure*age"])

    @pytest.mark.parametrize("with_truth", [True, False])
    def test_every_household_is_laid_open(self, with_truth: bool) -> None:
        """Owners: sizes 1 and 3+, ages 35-64 and 65+; a third table tells who is who."""
        records, two = self.made()
        loose = st.audit(two, truth=records if with_truth else None)
        assert loose.unique is False
        whole = dict(self.HOUSEHOLDS[0])
        assert (st.Selection.of(whole), 1) in verified_claims(loose)
        assert (st.Selection.of(self.HOUSEHOLDS[1]), 1) not in verified_claims(loose)
        tight = two.merged(st.tabulate(records, ["size*age"]))
        audit = st.audit(tight, truth=records if with_truth else None)
        assert audit.unique is True
        found = dict(verified_claims(audit))
        for household in self.HOUSEHOLDS:
            assert found[st.Selection.of(household)] == 1
        assert found[cell(tenure="owned")] == 2
        assert found[cell(size="1")] == 2
        assert len(st.worlds(tight, 3)) == 1
