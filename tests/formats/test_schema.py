"""Schema files: what they mean, what is refused, and that they read back equal."""

from __future__ import annotations

import hypothesis.strategies as hs
import pytest
from hypothesis import assume, given

from hostile import hostile, hostile_names
from showthrough.errors import InputError, SchemaError
from showthrough.formats.schema_file import read_schema, schema_from_mapping, schema_to_toml, write_schema
from showthrough.schema import Attribute, Rule, Schema
from showthrough.selection import Selection

EXAMPLE = """
record = "household"
[attributes.tenure]
values = ["owned", "rented"]
label  = "tenure"
labels = { rented = "rented out" }
phrases = { rented = "the home is rented" }
missing = "owned"
[attributes.size]
values = [1, 2]
[attributes.type]
values = ["alone", "family"]
[[rules]]
if   = { size = "1" }
then = { type = ["alone"] }
[[rules]]
iff  = { size = 2 }
then = { type = ["family"] }
[[rules]]
if   = { size = [1] }
then = { type = ["alone"] }
iff  = true
"""


@pytest.fixture
def read(tmp_path):
    """Read a schema from text."""

    def reader(text: str | bytes) -> Schema:
        path = tmp_path / "schema.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_schema(path)

    return reader


def test_a_schema_file_says_what_it_says(read):
    schema = read(EXAMPLE)
    assert schema.record == "household"
    assert schema.records == "households"
    assert schema["size"].values == ("1", "2")
    assert schema["tenure"] == Attribute(
        "tenure",
        ("owned", "rented"),
        "tenure",
        {"rented": "rented out"},
        {"rented": "the home is rented"},
        "owned",
    )
    alone, family = Selection.of(type="alone"), Selection.of(type="family")
    assert schema.rules == (
        Rule(Selection.of(size="1"), alone),
        Rule(Selection.of(size="2"), family, both_ways=True),
        Rule(Selection.of(size="1"), alone, both_ways=True),
    )


def test_a_byte_order_mark_is_no_problem(read):
    assert read(b"\xef\xbb\xbf" + EXAMPLE.encode()) == read(EXAMPLE)


ATTRIBUTE = "[attributes.a]\nvalues = ['x', 'y']\n"


@pytest.mark.parametrize(
    ("text", "problem", "found", "remedy"),
    [
        ("a = ", "line 1 is not valid TOML", None, "double quotes"),
        ("x = 1\n" * 3, "line 2 is not valid TOML", None, "double quotes"),
        ("a = {", "line 1 is not valid TOML", None, "double quotes"),
        ("a = " + "9" * 5000, "line 1 is not valid TOML", None, "double quotes"),
        ("a = " + "[" * 100_000, "is not valid TOML", None, "double quotes"),
        ("atributes = {}", "unknown key", "atributes", "did you mean 'attributes'?"),
        ("[attributes.a]\nvalue = ['x']", "attributes.a: unknown key", "value", "'values'?"),
        (f"{ATTRIBUTE}labels = {{ z = 'Z' }}", "label is given for an unknown value", "z", "'x'"),
        (f"{ATTRIBUTE}missing = 'z'", "mapped to an unknown value", "z", "known: 'x', 'y'"),
        (
            "[attributes.a]\nvalues = [true]",
            "attributes.a.values[1]: should be text",
            "True",
            "quo",
        ),
        ("[attributes.a]\nvalues = [1, 2.5]", "attributes.a.values[2]: should", "2.5", "quotes"),
        ("[attributes.a]\nvalues = [[1]]", "attributes.a.values[1]", "[1]", None),
        ("[attributes.a]\nvalues = 'x'", "attributes.a.values: should be a valid list", "x", None),
        ("[attributes.a]\nvalues = []", "an attribute has no values", None, None),
        ("[attributes.a]\nvalues = [1, '1']", "listed twice", "1", None),
        ("[attributes.a]\nlabel = 'x'", "attributes.a.values: is missing", None, None),
        ("attributes = 3", "attributes: should be a valid dictionary", "3", None),
        ("[attributes]\na = 3", "attributes.a: should be a table", "3", None),
        ("record = 'x'", "the schema has no attributes", None, "declare at least one"),
        (f"{ATTRIBUTE}[[rules]]\nif = {{a='x'}}", "rules[1].then: is missing", None, None),
        (f"{ATTRIBUTE}[[rules]]\nthen = {{a='x'}}", "rules[1].if: is missing", None, None),
        (f"{ATTRIBUTE}[[rules]]\nthan = {{a='x'}}", "rules[1]: unknown key", "than", "'then'?"),
        (f"{ATTRIBUTE}[[rules]]\nif={{a='x'}}\nthen={{a='z'}}", "rule 1", "z", "known: 'x', 'y'"),
        (f"{ATTRIBUTE}[[rules]]\nif={{a='x'}}\nthen={{b='z'}}", "unknown attribute", "b", "'a'"),
        (f"{ATTRIBUTE}[[rules]]\nif={{a=[]}}\nthen={{a='x'}}", "matches no record", None, "at least"),
        (f"{ATTRIBUTE}[[rules]]\nif={{a=1.5}}\nthen={{a='x'}}", "rules[1].if.a[1]", "1.5", "quot"),
        (
            f"{ATTRIBUTE}[[rules]]\nif={{a='x'}}\niff={{a='x'}}\nthen={{a='x'}}",
            "rules[1]: a rule has both if and iff",
            None,
            "write iff",
        ),
        (f"{ATTRIBUTE}[[rules]]\nif={{}}\niff='no'\nthen={{}}", "rules[1].iff: should", "no", None),
        (b"record = '\xff'", "line 1 is not UTF-8", None, "save as UTF-8"),
    ],
)
def test_a_wrong_schema_file_is_refused(read, tmp_path, text, problem, found, remedy):
    with pytest.raises(SchemaError) as caught:
        read(text)
    assert caught.value.file == str(tmp_path / "schema.toml")
    assert problem in caught.value.problem
    assert caught.value.found == found
    assert (remedy or "") in (caught.value.remedy or "")


def test_a_schema_file_that_is_not_there(tmp_path):
    with pytest.raises(SchemaError, match=r"nowhere.toml: no such file; check"):
        read_schema(tmp_path / "nowhere.toml")
    with pytest.raises(SchemaError, match="is a folder"):
        read_schema(tmp_path)


@hs.composite
def schemas(draw: hs.DrawFn) -> Schema:
    """Schemas whose every text is hostile."""
    names = draw(hostile_names)
    attributes: list[Attribute] = []
    for name in names:
        values = draw(hs.lists(hostile, min_size=1, max_size=4, unique=True))
        some = hs.dictionaries(hs.sampled_from(values), hostile, max_size=2)
        missing = draw(hs.none() | hs.sampled_from(values))
        attributes.append(Attribute(name, tuple(values), draw(hostile), draw(some), draw(some), missing))

    def selection() -> Selection:
        chosen = draw(hs.lists(hs.sampled_from(attributes), unique_by=lambda a: a.name, max_size=2))
        return Selection.of(
            {a.name: draw(hs.lists(hs.sampled_from(a.values), min_size=1, unique=True)) for a in chosen}
        )

    n_rules = draw(hs.integers(0, 2))
    rules = [Rule(selection(), selection(), draw(hs.booleans())) for _ in range(n_rules)]
    try:
        return Schema(tuple(attributes), tuple(rules), draw(hostile), draw(hostile))
    except SchemaError:
        assume(False)
        raise


@given(schemas())
def test_a_written_schema_reads_back_equal(tmp_path_factory, schema):
    path = tmp_path_factory.mktemp("schema") / "schema.toml"
    write_schema(schema, path)
    assert read_schema(path) == schema
    assert schema_to_toml(read_schema(path)) == schema_to_toml(schema)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text("old")
    with pytest.raises(InputError, match="cannot be written"):
        write_schema(Schema.of({"a": ["\ud800"]}), path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["schema.toml"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot be written.*check that the folder exists"):
        write_schema(Schema.of({"a": ["x"]}), tmp_path / "no" / "schema.toml")


def test_plain_values_need_no_file():
    with pytest.raises(SchemaError) as caught:
        schema_from_mapping({"attributes": {"a": {"values": [None]}}})
    assert caught.value.file is None
    assert "attributes.a.values[1]" in caught.value.problem
