"""Release files: tables by formula and cell by cell, and how values are written."""

from __future__ import annotations

import hypothesis.strategies as hs
import pytest
from hypothesis import given

from hostile import hostile, hostile_names
from showthrough.errors import InputError, ReleaseError, SchemaError
from showthrough.formats.design import combine_designs, read_design
from showthrough.formats.release_file import design_to_toml, write_release
from showthrough.formats.schema_file import write_schema
from showthrough.notation import Notation, Rounding
from showthrough.release import UNBOUNDED, Cell, Layout, Table, make_table
from showthrough.schema import Schema
from showthrough.selection import Selection

SCHEMA = Schema.of(
    {
        "age": ["0-17", "18-64", "65+"],
        "sex": ["f", "m"],
        "vacancy": ["occupied", "vacant"],
        "tenure": ["owned", "rented", "none"],
    }
)

EXAMPLE = """
schema = "schema.toml"
counts = "counts.csv"
area = "block"
publisher = "Health Department"

[suppressed]
"*" = "1-4"
"c" = "unknown"
[rounding]
base = 5

[[tables]]
name = "age by sex"
formula = "age*sex"
where = { vacancy = ["occupied"] }
groups = { age = { child = ["0-17"], adult = ["18-64", "65+"] } }
totals = true
publisher = "Census"
rounding = { base = 3, method = "random" }
suppressed = { "x" = "1-9", "*" = 0 }

[[tables]]
formula = "sex"
rounding = false

[[tables]]
name = "H4"
label = "Tenure"
where = { vacancy = "occupied" }
[tables.cells]
H4_001 = {}
H4_002 = { tenure = ["owned"] }
"""


@pytest.fixture
def design(tmp_path):
    """Read a design from text."""
    write_schema(SCHEMA, tmp_path / "schema.toml")

    def reader(text: str, schema: Schema | None = None):
        (tmp_path / "release.toml").write_text(text)
        return read_design(tmp_path / "release.toml", schema)

    return reader


def test_a_release_file_says_what_it_says(design, tmp_path):
    read = design(EXAMPLE)
    assert read.layout.schema == SCHEMA
    assert read.counts == tmp_path / "counts.csv"
    assert read.area == "block"
    assert read.file == str(tmp_path / "release.toml")
    occupied = Selection.of(vacancy="occupied")
    assert read.layout.tables == (
        make_table(
            SCHEMA,
            "age*sex",
            name="age by sex",
            where=occupied,
            groups={"age": {"child": ["0-17"], "adult": ["18-64", "65+"]}},
            totals=True,
            publisher="Census",
        ),
        make_table(SCHEMA, "sex", publisher="Health Department"),
        Table(
            "H4",
            (Cell("H4_001", occupied), Cell("H4_002", occupied & Selection.of(tenure="owned"))),
            "Health Department",
            "Tenure",
        ),
    )
    marks = {"*": (1, 4), "c": (0, UNBOUNDED)}
    assert read.notations == (
        Notation({**marks, "x": (1, 9), "*": (0, 0)}, Rounding(3, "random")),
        Notation(marks),
        Notation(marks, Rounding(5)),
    )


def test_the_schema_may_come_from_the_file_or_the_caller(design, tmp_path):
    table = "[[tables]]\nformula = 'sex'\n"
    inline = "record = 'person'\n[attributes.sex]\nvalues = ['f', 'm']\n"
    assert design(inline + table).layout.schema == Schema.of({"sex": ["f", "m"]}, record="person")
    assert design(table, SCHEMA).layout.schema == SCHEMA
    assert design(inline + table, SCHEMA).layout.schema == SCHEMA
    assert read_design(tmp_path / "release.toml", tmp_path / "schema.toml").layout.schema == SCHEMA
    assert design(table, SCHEMA).counts is None


SEX = "schema = 'schema.toml'\n[[tables]]\nformula = 'sex'\n"
CELLS = "schema = 'schema.toml'\n[[tables]]\nname = 'H4'\n"


@pytest.mark.parametrize(
    ("text", "problem", "found", "remedy"),
    [
        ("schema = ", "line 1 is not valid TOML", None, "double quotes"),
        ("[[tables]]\nformula = 'sex'", "the release has no schema", None, "pass --schema"),
        ("schema = 'schema.toml'", "the release has no tables", None, "at least one table"),
        (f"schama = 'x'\n{SEX}", "unknown key", "schama", "did you mean 'schema'?"),
        (f"{SEX}wher = {{}}", "tables[1]: unknown key", "wher", "did you mean 'where'?"),
        (f"{SEX}totals = 'yes'", "tables[1].totals: should be", "yes", None),
        (f"{SEX}rounding = true", "tables[1].rounding: should be a table", "True", None),
        (f"{SEX}rounding = {{ bas = 5 }}", "tables[1].rounding: unknown key", "bas", "'base'?"),
        (f"{SEX}rounding = {{ base = 0 }}", "table sex: impossible rounding base", "0", "from 1"),
        (f"{SEX}rounding = {{ base = 2.0 }}", "rounding.base: should be a valid int", "2.0", None),
        (f"{SEX}rounding = {{ base = 2, method = 'x' }}", "unknown rounding method", "x", "'up'"),
        (f"{SEX}suppressed = {{ x = 'few' }}", "meaning of the mark 'x'", "few", '"1-4"'),
        (f"{SEX}suppressed = {{ x = '4-1' }}", "meaning of the mark 'x'", "4-1", '"1-4"'),
        (f"{SEX}where = {{ vacancy = 'full' }}", "table sex: unknown value", "full", "occupied"),
        (f"{SEX}where = {{ vacancy = 1.5 }}", "tables[1].where.vacancy[1]", "1.5", "quotes"),
        (f"{SEX}groups = {{ age = {{ x = ['0-17'] }} }}", "groups an attribute", "age", None),
        (f"{SEX}groups = {{ sex = {{ x = ['x'] }} }}", "group x of sex", "x", "'f', 'm'"),
        (
            f"{SEX}cells = {{ a = {{}} }}",
            "table sex: the table needs a formula or cells",
            None,
            "[",
        ),
        (SEX.replace("sex", "six"), "table six uses an attribute", "six", "did you mean 'sex'?"),
        (f"{SEX}[[tables]]\nformula = 'sex'", "two tables have the same name", "sex", "rename"),
        (CELLS, "table H4: the table needs a formula or cells", None, "[tables.cells]"),
        (
            f"{CELLS}totals = true\ncells = {{}}",
            "table H4: a table listed cell by cell",
            None,
            "cell",
        ),
        (
            f"{CELLS}cells = {{ a = {{ tenur = 'x' }} }}",
            "cell a of table H4: unknown attribute",
            "tenur",
            "did you mean 'tenure'?",
        ),
        (
            f"{CELLS}where = {{ sex = 'f' }}\ncells = {{ a = {{ sex = 'm' }} }}",
            "table H4: a selection allows no value",
            None,
            "at least one value",
        ),
        (
            f"{SEX}[attributes.a]\nvalues = ['x']",
            "the file both names a schema and defines one",
            "schema.toml",
            "not both",
        ),
        (SEX.replace("'sch", "'/sch"), "absolute path", "/schema.toml", "relative to this file"),
        (f"counts = '/x.csv'\n{SEX}", "absolute path", "/x.csv", "relative to this file"),
    ],
)
def test_a_wrong_release_file_is_refused(design, tmp_path, text, problem, found, remedy):
    with pytest.raises(ReleaseError) as caught:
        design(text)
    assert caught.value.file == str(tmp_path / "release.toml")
    assert problem in caught.value.problem
    assert caught.value.found == found
    assert (remedy or "") in (caught.value.remedy or "")


def test_files_that_are_not_there(design, tmp_path):
    with pytest.raises(ReleaseError, match=r"none.toml: no such file"):
        read_design(tmp_path / "none.toml")
    with pytest.raises(SchemaError, match=r"none.toml: no such file"):
        design(SEX.replace("schema.toml", "none.toml"))


def test_several_publishers(design):
    ours = design(SEX)
    theirs = design(f"area = 'block'\n{SEX}name = 'theirs'\nrounding = {{ base = 3 }}")
    both = combine_designs([ours, theirs])
    assert [table.name for table in both.layout.tables] == ["sex", "theirs"]
    assert both.notations == (Notation(), Notation({}, Rounding(3)))
    assert (both.counts, both.area) == (None, None)
    assert combine_designs([theirs]).area == "block"
    with pytest.raises(ReleaseError, match="two tables have the same name"):
        combine_designs([ours, ours])
    with pytest.raises(ReleaseError, match="over different schemas"):
        combine_designs([ours, design("[[tables]]\nformula = 'sex'", Schema.of({"sex": ["f"]}))])
    with pytest.raises(ReleaseError, match="no releases to combine"):
        combine_designs([])


@hs.composite
def layouts(draw: hs.DrawFn) -> Layout:
    """Layouts whose every text is hostile."""
    names = draw(hostile_names)
    values = {name: draw(hs.lists(hostile, min_size=1, max_size=3, unique=True)) for name in names}
    selections = hs.fixed_dictionaries(
        {},
        optional={name: hs.lists(hs.sampled_from(values[name]), min_size=1, unique=True) for name in names},
    ).map(Selection.of)
    cells = hs.dictionaries(hostile, selections, max_size=4)
    tables = [
        Table(
            name,
            tuple(Cell(cell, selection) for cell, selection in draw(cells).items()),
            draw(hostile),
            draw(hostile),
        )
        for name in draw(hostile_names)
    ]
    return Layout(Schema.of(values), tuple(tables))


@given(layouts())
def test_a_written_design_reads_back_equal(tmp_path_factory, layout):
    path = tmp_path_factory.mktemp("design") / "release.toml"
    write_release(layout, path)
    read = read_design(path)
    assert read.layout.schema == layout.schema
    assert read.layout.tables == layout.tables
    assert design_to_toml(read.layout) == design_to_toml(layout)


def test_a_written_design_may_name_its_counts(tmp_path):
    layout = Layout(SCHEMA, (make_table(SCHEMA, "age*sex", totals=True),))
    write_release(layout, tmp_path / "release.toml", counts="counts.csv")
    assert read_design(tmp_path / "release.toml").counts == tmp_path / "counts.csv"


@given(hs.text(max_size=60))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "release.toml"
    path.write_text(text, newline="")
    with pytest.raises(InputError) as caught:
        read_design(path, SCHEMA)
    assert caught.value.file == str(path)
