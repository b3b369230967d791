"""Hierarchies in files: schemas, code lists, overlapping zonings, records with several levels."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as hs
import pyarrow as pa
import pytest
from hypothesis import given

import showthrough as st
from comparison import verified_claims
from hostile import hostile
from showthrough.errors import SchemaError
from showthrough.formats.design import read_design
from showthrough.formats.read_subject import read_subject
from showthrough.formats.records_file import open_records
from showthrough.formats.schema_file import read_schema, schema_from_mapping, schema_to_toml
from showthrough.hierarchy import Hierarchy
from showthrough.schema import Schema
from showthrough.tables.stored import layout_from_json, layout_to_json

Read = Callable[..., Schema]

HEAD = '[hierarchies.place]\nlevels = ["region", "district", "town"]\n'
CODES = "code,label,parent\nr,North,\nd1,Upper,r\nd2,,r\nt1,Aville,d1\nt2,,d1\nt3,,d2\n"
COLUMNS = "town,district,region,district_label\nt1,d1,r,Upper\nt2,d1,r,Upper\nt3,d2,r,\n"


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A schema from its text, with files beside it."""

    def reader(text: str, **files: str) -> Schema:
        for name, content in files.items():
            (tmp_path / f"{name}.csv").write_text(content, "utf-8")
        (tmp_path / "schema.toml").write_text(text, "utf-8")
        return read_schema(tmp_path / "schema.toml")

    return reader


def test_parents_groups_and_code_lists_are_the_same(read: Read) -> None:
    parents = read(HEAD + 'parents = { t1 = "d1", t2 = "d1", t3 = "d2", d1 = "r", d2 = "r" }')
    groups = 'groups.district = { d1 = ["t1", "t2"], d2 = "t3" }\ngroups.region = { r = ["d1", "d2"] }\n'
    assert parents == read(HEAD + groups)
    assert parents.names == ("region", "district", "town")
    assert parents.hierarchies == read(HEAD + 'file = "codes.csv"', codes=CODES).hierarchies
    assert parents.hierarchies == read(HEAD + 'file = "codes.csv"', codes=COLUMNS).hierarchies


def test_code_lists_bring_labels_that_the_schema_may_replace(read: Read) -> None:
    schema = read(HEAD + 'file = "codes.csv"\n[attributes.town]\nlabels = { t1 = "A" }', codes=CODES)
    assert schema["region"].labels == {"r": "North"}
    assert schema["town"].labels == {"t1": "A"}
    assert read(HEAD + 'file = "codes.csv"', codes=COLUMNS)["district"].labels == {"d1": "Upper"}


def test_the_finest_level_may_have_the_name_of_the_hierarchy(read: Read) -> None:
    schema = read(
        '[attributes.age]\nvalues = ["0-4", "5-17", "18+"]\n'
        '[attributes.life]\nvalues = ["adult", "minor"]\nlabel = "stage of life"\n'
        '[hierarchies.age]\nlevels = ["life"]\n'
        'groups.life = { minor = ["0-4", "5-17"], adult = "18+" }\n'
    )
    assert schema.names == ("age", "life")
    assert schema["life"].values == ("adult", "minor")
    assert schema.describe(st.Selection.parse("age=0-4|5-17")) == "stage of life is minor"


def test_nested_codes(read: Read) -> None:
    values = '[attributes.nuts3]\nvalues = ["DE111", "DE112", "DE121"]\n'
    head = '[hierarchies.nuts]\nlevels = ["nuts1", "nuts2", "nuts3"]\nnested = [3, 4, 5]\n'
    assert read(values + head)["nuts2"].values == ("DE11", "DE12")
    with pytest.raises(SchemaError, match="nested codes need an attribute with values"):
        read(head)


def test_zonings_that_overlap_are_made_of_their_pieces(read: Read) -> None:
    text = '[hierarchies.piece]\nzonings = ["town", "grid"]\nfile = "pieces.csv"\n'
    pieces = "town,grid\nt1,g1\nt1,g2\nt2,g2\n"
    schema = read(text, pieces=pieces)
    assert schema["piece"].values == ("t1 & g1", "t1 & g2", "t2 & g2")
    assert schema.inside("grid", "g2") == ("piece", frozenset({"t1 & g2", "t2 & g2"}))
    named = read(text, pieces="piece,town,grid\n1,t1,g1\n2,t1,g2\n3,t2,g2\n")
    assert named["piece"].values == ("1", "2", "3")
    release = st.Release.of(named, {"town": [3, 2], "grid": [1, 4]})
    assert st.bounds(release, "town=t1,grid=g2").low == 2
    with pytest.raises(SchemaError, match=r"pieces.csv, row 2, column grid: a code is missing"):
        read(text, pieces="town,grid\nt1,g1\nt1,\n")
    with pytest.raises(SchemaError, match=r"pieces.csv, row 2.*listed twice"):
        read(text, pieces="town,grid\nt1,g1\nt1,g1\n")


def test_two_hierarchies_over_one_attribute(read: Read) -> None:
    schema = read(
        HEAD + 'file = "codes.csv"\n[hierarchies.squares]\nover = "place"\nlevels = ["grid"]\n'
        'parents = { t1 = "g1", t2 = "g2", t3 = "g2" }\n',
        codes=CODES,
    )
    assert schema.coarser("town") == ("district", "region", "grid")


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ("code,parent\nr,\nd1,r\nt1,d1\nt1,d1\n", r"row 4, column code: .*listed twice, first in row 3"),
        ("code,parent\nr,\nd1,r\n,d1\n", "row 3, column code: .*a code is missing"),
        ("code,parent\nr,\nd1,r\nt1,d9\n", r"row 3, column parent: .*not a code of the list \(found 'd9'\)"),
        ("code,parent\nr,\nd1,r\nt1,d1\nt2,\n", "row 4, column parent: .*no parent and no children"),
        ("code,parent\nd1,t1\nt1,d1\n", "row 1, column parent: .*in a circle"),
        (
            "code,parent\nr,\nd1,r\nt1,d1\nd2,\nt2,d2\n",
            r"row 4, .*t2 → d2 has 2 levels.*missing \(found 'd2'",
        ),
        ("region,district,town\nr,d1,t1\ns,d1,t2\n", r"row 2, column region: .*two values: r and s"),
        ("region,distrikt,town\nr,d1,t1\n", r"neither a column for each level.*did you mean 'distrikt'"),
    ],
)
def test_a_wrong_code_list_is_refused_with_its_place(read: Read, codes: str, message: str) -> None:
    with pytest.raises(SchemaError, match=rf"(?s)codes.csv.*{message}"):
        read(HEAD + 'file = "codes.csv"', codes=codes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "linked in exactly one way"),
        (HEAD + 'file = "codes.csv"\nnested = [1]', r"in exactly one way \(found 'nested, file'\)"),
        (HEAD + 'file = "/codes.csv"', "absolute path"),
        (HEAD + 'file = "nowhere.csv"', "no such file"),
        (HEAD + 'parent = { a = "b" }', "hierarchies.place: unknown key"),
        ('[hierarchies.p]\nzonings = ["a"]\nnested = [1]', "zonings need a file"),
        ('[hierarchies.p]\nparents = { a = "b" }', "two or more levels"),
    ],
)
def test_a_wrong_hierarchy_is_refused(read: Read, text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read(text)


@hs.composite
def schemas(draw: hs.DrawFn) -> Schema:
    """Schemas with a hierarchy of two or three levels, with any names."""
    names = draw(hs.lists(hostile.filter(bool), min_size=3, max_size=3, unique=True))
    towns = draw(hs.lists(hostile.filter(bool), min_size=1, max_size=4, unique=True))
    code = hs.sampled_from(draw(hs.lists(hostile.filter(bool), min_size=1, max_size=3, unique=True)))
    district = {town: draw(code) for town in towns}
    region = {one: draw(code) for one in district.values()}
    if draw(hs.booleans()):
        made = Hierarchy(draw(hostile), (names[0], names[2]), (district,))
    else:
        made = Hierarchy(draw(hostile), tuple(names), (region, district))
    return Schema.of({names[2]: towns}, hierarchies=[made])


@given(schemas())
def test_schemas_with_hierarchies_read_back_equal(schema: Schema) -> None:
    assert schema_from_mapping(tomllib.loads(schema_to_toml(schema))) == schema
    layout = st.Layout(schema, (st.Table("total", (st.Cell("total", st.Selection()),)),))
    assert layout_from_json(layout_to_json(layout)).schema == schema


def test_a_stored_layout_whose_rules_do_not_say_what_lies_in_what_is_refused() -> None:
    schema = Schema.of({"town": ["t"]}, hierarchies=[Hierarchy.of("place", ["region", "town"], {"t": "r"})])
    text = layout_to_json(st.Layout(schema, (st.make_table(schema, "town"),)))
    assert layout_from_json(text).schema == schema
    with pytest.raises(SchemaError, match="do not fit"):
        layout_from_json(json.dumps({**json.loads(text), "rules": []}))


RELEASE = (
    HEAD + 'file = "codes.csv"\n[attributes.sex]\nvalues = ["f", "m"]\n'
    '[[tables]]\nformula = "district*sex"\ntotals = true\n'
    '[[tables]]\nname = "some"\ncells = { north = { region = "r", sex = "f" } }\n'
)


def test_release_files_use_levels(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text(CODES)
    (tmp_path / "release.toml").write_text(RELEASE)
    layout = read_design(tmp_path / "release.toml").layout
    names = [name for _, name in layout.names]
    assert names[3:6] == ["district=d2,sex=m", "region=r,sex=f", "region=r,sex=m"]
    assert names[-1] == "north"
    counts = pa.table({"table": ["some"], "cell": ["north"], "value": ["3"]})
    (release,) = st.read_release(tmp_path / "release.toml", counts)
    assert st.bounds(release, "region=r,sex=f").low == 3


def test_a_changed_code_list_is_a_changed_input(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text(CODES)
    (tmp_path / "release.toml").write_text(RELEASE)
    (tmp_path / "schema.toml").write_text(HEAD + 'file = "codes.csv"\n[attributes.sex]\nvalues = ["f"]\n')
    (tmp_path / "people.csv").write_text("town,sex\nt1,f\n")
    by_release = read_subject(tmp_path / "people.csv", releases=[tmp_path / "release.toml"])
    by_schema = read_subject(
        tmp_path / "people.csv", tables=["region"], schema=tmp_path / "schema.toml", totals=True
    )
    for subject in (by_release, by_schema):
        assert any(name.endswith("codes.csv") for name in subject.inputs())


class TestRecords:
    """Microdata with columns for several levels."""

    @pytest.fixture
    def place(self, read: Read) -> Schema:
        return read(HEAD + 'file = "codes.csv"', codes=CODES)

    def test_the_coarser_columns_are_checked(self, place: Schema, tmp_path: Path) -> None:
        path = tmp_path / "people.csv"
        path.write_text("region,town,name\nr,t1,a\nr,t3,b\n")
        assert st.read_records(path, place).count("district=d2") == 1
        path.write_text("district,town\nd1,t1\nd1,t3\n")
        with pytest.raises(st.RecordsError, match=r"people.csv, row 2, column district: town t3 lies in an"):
            st.read_records(path, place)

    def test_area_by_area(self, place: Schema, tmp_path: Path) -> None:
        path = tmp_path / "people.csv"
        path.write_text("block,district,town\n1,d1,t1\n1,d2,t3\n2,d1,t2\n2,d2,t2\n")
        with pytest.raises(st.RecordsError, match=r"people.csv, row 4, column district"):
            open_records(path, place, by="block", columns=None, tolerant=False)
        stream = open_records(path, place, by="block", columns=None, tolerant=True)
        (_, good), (_, bad) = stream.areas(tmp_path)
        assert isinstance(good, st.Records)
        assert good.count("region=r") == 2
        assert "row 4, column district: town t2 lies in another district (found 'd2')" in str(bad)

    def test_pieces_follow_from_all_zonings(self, read: Read, tmp_path: Path) -> None:
        text = '[hierarchies.piece]\nzonings = ["town", "grid"]\nfile = "pieces.csv"\n'
        schema = read(text, pieces="town,grid\nt1,g1\nt1,g2\nt2,g2\n")
        path = tmp_path / "people.csv"
        path.write_text("block,grid,town\n1,g2,t1\n2,g1,t2\n")
        stream = open_records(path, schema, by="block", columns=None, tolerant=True)
        (_, good), (_, bad) = stream.areas(tmp_path)
        assert isinstance(good, st.Records)
        assert good.count({"piece": "t1 & g2"}) == 1
        assert "row 2, column grid: no piece lies in these values of town, grid" in str(bad)


def test_levels_that_no_table_uses_are_left_out_and_nothing_else_changes(read: Read, tmp_path: Path) -> None:
    schema = read(HEAD + 'file = "codes.csv"\n[attributes.sex]\nvalues = ["f", "m"]\n', codes=CODES)
    people = tmp_path / "people.csv"
    people.write_text("block,town,sex\n1,t1,f\n1,t3,m\n2,t2,m\n2,t2,f\n")
    for by in (None, "block"):
        subject = read_subject(
            people, tables=["district*sex"], schema=tmp_path / "schema.toml", by=by, streaming=True
        )
        assert subject.layout.schema.names == ("sex", "region", "district")
        assert any("levels that no table uses are left out: town" in note for note in subject.notes)
        whole = st.Layout(schema, (st.make_table(schema, "district*sex"),))
        for area in subject.areas():
            records = st.read_records(people, schema, by=by)
            rows = dict(records.by_area())[area.release.area]
            assert area.release.low.tolist() == whole.tabulate(rows).low.tolist()
            assert area.truth is not None
            full = dict(verified_claims(st.audit(whole.tabulate(rows))))
            left = dict(verified_claims(st.audit(area.release)))
            assert left == {s: m for s, m in full.items() if "town" not in s}


def test_releases_of_counts_leave_unused_levels_out_too(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text(CODES)
    (tmp_path / "release.toml").write_text(RELEASE)
    (tmp_path / "counts.csv").write_text("table,cell,value\nsome,north,3\n")
    subject = read_subject(tmp_path / "counts.csv", releases=[tmp_path / "release.toml"])
    assert subject.layout.schema.names == ("sex", "region", "district")


def test_records_may_stop_at_the_level_that_the_tables_use(read: Read, tmp_path: Path) -> None:
    read(HEAD + 'file = "codes.csv"\n[attributes.sex]\nvalues = ["f", "m"]\n', codes=CODES)
    people = tmp_path / "people.csv"
    people.write_text("district,sex\nd1,f\nd2,m\n")
    subject = read_subject(people, tables=["region*sex", "district"], schema=tmp_path / "schema.toml")
    (area,) = subject.areas()
    assert area.release.low.tolist() == [1, 1, 1, 1]
    with pytest.raises(st.RecordsError, match="column town: no such column"):
        read_subject(people, tables=["town"], schema=tmp_path / "schema.toml")
