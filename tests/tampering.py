"""Every kind of tampering with a run folder that is tried, with all hashes rewritten afterwards.

``python tests/tampering.py`` prints the table of docs/methods/tampering.md.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import showthrough as st
from showthrough.files import file_digest, write_json
from showthrough.schema import Rule
from showthrough.selection import Selection
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.totals import add_up
from showthrough.tables.stored import PLACES, TABLES

__all__ = ["KINDS", "RUNS", "Kind", "rewrite_hashes", "table_of_kinds"]

Row = dict[str, Any]
Change = Callable[[Path], None]

SCHEMA = st.Schema.of(
    {"sex": ["f", "m"], "age": ["child", "adult", "old"], "job": ["none", "clerk", "baker"]},
    rules=[Rule(Selection.of(age="child"), Selection.of(job="none"))],
    record="person",
)
LAYOUT = st.Layout(SCHEMA, tuple(st.make_table(SCHEMA, f) for f in ("sex*age", "age*job", "sex*job")))


# --- the runs ---------------------------------------------------------------------------------


def _people(seed: int) -> tuple[st.Records, str]:
    """Some people, and how their counts are published."""
    draw = random.Random(seed)  # noqa: S311
    rows: list[list[int]] = []
    for _ in range(draw.randint(3, 9)):
        age = draw.randrange(3)
        rows.append([draw.randrange(2), age, 0 if age == 0 else draw.randrange(3)])
    return st.Records(SCHEMA, np.array(rows, np.uint8)), draw.choice(["exact", "suppressed", "rounded"])


def _area(name: str, seed: int, *, exact: bool = False) -> st.Area:
    records, how = _people(seed)
    release, draw = LAYOUT.tabulate(records, area=name), random.Random(seed)  # noqa: S311
    low, high = release.low.copy(), release.high.copy()
    for cell in range(0 if exact else len(low)):
        if how == "suppressed" and 0 < low[cell] < 3 and draw.random() < 0.6:
            low[cell], high[cell] = 1, 2
        elif how == "rounded" and draw.random() < 0.5:
            low[cell] = low[cell] // 3 * 3
            high[cell] = low[cell] + 2
    return st.Area(st.Release(LAYOUT, low, high, name))


def _empty(name: str) -> st.Area:
    nobody = np.zeros(len(LAYOUT.names), np.int64)
    return st.Area(st.Release(LAYOUT, nobody, nobody, name))


def _torn(name: str) -> st.Area:
    """Counts that no dataset has."""
    low = np.zeros(len(LAYOUT.names), np.int64)
    low[0] = 1
    return st.Area(st.Release(LAYOUT, low, low, name))


def _overlapping(seed: int) -> st.Release:
    """Sums over values that overlap, of which proofs by cases and impossible counts follow."""
    draw = random.Random(seed)  # noqa: S311
    values = [f"v{at}" for at in range(6)]
    schema = st.Schema.of({"v": values}, record="person")
    tables = [
        st.Table(
            f"t{at}", (st.Cell(f"c{at}", Selection.of(v=sorted(draw.sample(values, draw.randint(2, 4))))),)
        )
        for at in range(draw.randint(3, 5))
    ]
    people = [[draw.randrange(6)] for _ in range(draw.randint(2, 6))]
    return st.Layout(schema, tuple(tables)).tabulate(st.Records(schema, np.array(people, np.uint8)))


def _main(folder: Path) -> None:
    """All claims of several areas, with datasets, absences, a schema and a page."""
    from showthrough.report.page import write_page
    from showthrough.report.write import page_of

    scope = st.Scope(absent=True, gaps=True)
    areas = [_area("north", 1), _area("south", 21), _empty("islands"), _torn("east")]
    st.run_audit(
        areas,
        LAYOUT,
        folder,
        settings=st.Settings(scope=scope, refuted=True, keep_going=True),
        inputs={"counts.csv": "0" * 64},
        extra_files={"schema.toml": st.schema_to_toml(SCHEMA)},
        page=lambda draft: write_page(page_of(draft), draft / "report.html"),
    )


def _short(folder: Path) -> None:
    """Claims of at most two columns, without the refuted ones."""
    settings = st.Settings(scope=st.Scope(max_columns=2))
    st.run_audit([_area("north", 1), _area("south", 20)], LAYOUT, folder, settings=settings)


def _bare(folder: Path) -> None:
    """All claims, without the refuted ones."""
    st.run_audit([_area("north", 1), _area("south", 21)], LAYOUT, folder)


def _odd(folder: Path) -> None:
    """An impossible count, and values that nobody has."""
    release = _overlapping(29)
    settings = st.Settings(scope=st.Scope(absent=True, gaps=True), refuted=True)
    st.run_audit([release], release.layout, folder, settings=settings)


def _open(folder: Path) -> None:
    """Undecided claims."""
    release = _overlapping(105)
    st.run_audit([release], release.layout, folder, settings=st.Settings(effort=1e-4, refuted=True))


RUNS: dict[str, Change] = {"main": _main, "short": _short, "bare": _bare, "odd": _odd, "open": _open}


# --- how files are changed --------------------------------------------------------------------


def _rows(folder: Path, name: str) -> list[Row]:
    return pq.read_table(folder / PLACES[name]).to_pylist()


def _write(folder: Path, name: str, rows: list[Row]) -> None:
    pq.write_table(pa.Table.from_pylist(rows, TABLES[name]), folder / PLACES[name])


def _is(row: Row, where: Mapping[str, Any]) -> bool:
    return all(want(row[key]) if callable(want) else row[key] == want for key, want in where.items())


def _first(rows: list[Row], where: Mapping[str, Any]) -> int:
    return next(at for at, row in enumerate(rows) if _is(row, where))


def put(name: str, column: str, value: Any, **where: Any) -> Change:
    """Another value (or what a function makes of it) in the first row that is such."""

    def change(folder: Path) -> None:
        rows = _rows(folder, name)
        row = rows[_first(rows, where)]
        before = row[column]
        row[column] = value(before) if callable(value) else value
        assert row[column] != before
        _write(folder, name, rows)

    return change


def drop(name: str, **where: Any) -> Change:
    """The first row that is such is gone."""

    def change(folder: Path) -> None:
        rows = _rows(folder, name)
        del rows[_first(rows, where)]
        _write(folder, name, rows)

    return change


def drop_all(name: str, **where: Any) -> Change:
    """All rows that are such are gone."""

    def change(folder: Path) -> None:
        rows = _rows(folder, name)
        kept = [row for row in rows if not _is(row, where)]
        assert len(kept) < len(rows)
        _write(folder, name, kept)

    return change


def twice(name: str, **where: Any) -> Change:
    """The first row that is such stands there twice."""

    def change(folder: Path) -> None:
        rows = _rows(folder, name)
        at = _first(rows, where)
        _write(folder, name, [*rows[: at + 1], *rows[at:]])

    return change


def swap(name: str, column: str | None = None, **where: Any) -> Change:
    """Two neighbouring rows of an area change places, or their values of a column do."""

    def change(folder: Path) -> None:
        rows = _rows(folder, name)
        at = _first(rows, where)
        one, other = rows[at], rows[at + 1]
        assert one["area"] == other["area"]
        if column is None:
            rows[at], rows[at + 1] = other, one
        else:
            assert one[column] != other[column]
            one[column], other[column] = other[column], one[column]
        _write(folder, name, rows)

    return change


def move(name: str, to: str, **where: Any) -> Change:
    """The first row that is such goes to the end of another area's."""

    def change(folder: Path) -> None:
        rows = _rows(folder, name)
        row = rows.pop(_first(rows, where)) | {"area": to}
        ends = [at for at, one in enumerate(rows) if one["area"] == to]
        rows.insert(ends[-1] + 1, row)
        _write(folder, name, rows)

    return change


def add(name: str, new: Row, **like: Any) -> Change:
    """A row like the first one that is such, with other values, comes after it."""

    def change(folder: Path) -> None:
        rows = _rows(folder, name)
        at = _first(rows, like)
        rows.insert(at + 1, rows[at] | new)
        _write(folder, name, rows)

    return change


def in_json(file: str, edit: Callable[[Any], object]) -> Change:
    """A JSON file is edited."""

    def change(folder: Path) -> None:
        plain = json.loads((folder / file).read_text("utf-8"))
        before = json.dumps(plain)
        edit(plain)
        assert json.dumps(plain) != before
        text = json.dumps(plain, ensure_ascii=False, indent=1)
        (folder / file).write_text(text + "\n", "utf-8")

    return change


def in_text(file: str, old: str, new: str, *, count: int = -1) -> Change:
    """A text file is edited."""

    def change(folder: Path) -> None:
        text = (folder / file).read_text("utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new, count), "utf-8")

    return change


def in_proof(edit: Callable[[Row], object], **where: Any) -> Change:
    """A proof is edited."""

    def changed(text: str) -> str:
        plain = json.loads(text)
        edit(plain)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))

    return put("proofs", "proof", changed, **where)


def all_of(*changes: Change) -> Change:
    """Several changes together."""

    def change(folder: Path) -> None:
        for one in changes:
            one(folder)

    return change


def recount(folder: Path) -> None:
    """Rewrite the figures of the areas and the summary as the tables have them."""
    claims, findings, areas = (_rows(folder, name) for name in ("claims", "findings", "areas"))
    for row in areas:
        mine = [claim for claim in claims if claim["area"] == row["area"]]
        found = [one["kind"] for one in findings if one["area"] == row["area"]]
        for verdict in ("verified", "refuted", "undecided", "impossible"):
            counted = sum(claim["verdict"] == verdict for claim in mine)
            row[verdict] = row[verdict] if verdict == "refuted" and not counted else counted
        row["direct"] = sum(claim["direct"] for claim in mine)
        row["findings"], row["singletons"] = len(found), found.count("singleton")
        if row["status"] in ("decided", "partly decided"):
            row["status"] = "partly decided" if row["undecided"] else "decided"
    _write(folder, "areas", areas)
    sum_up(folder)


def sum_up(folder: Path) -> None:
    """Rewrite summary.json as the tables have it."""
    write_json(folder / "summary.json", add_up(AuditRun(folder)).to_plain())


def rewrite_hashes(folder: Path) -> None:
    """Make run.json list the files as they are."""
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    for name in manifest["outputs"]:
        if (folder / name).is_file():
            manifest["outputs"][name] = file_digest(folder / name)
    if manifest["release"] != "forged":
        manifest["release"] = manifest["outputs"]["release.json"]
    write_json(folder / "run.json", manifest)


def _parameter(name: str, value: Any, *, scope: bool = False) -> Change:
    def edit(plain: Any) -> None:
        (plain["parameters"]["scope"] if scope else plain["parameters"])[name] = value

    return in_json("run.json", edit)


def _new_file(name: str, text: str = "Nothing shows through.", *, listed: bool) -> Change:
    def change(folder: Path) -> None:
        (folder / name).write_text(text, "utf-8")
        if listed:
            in_json("run.json", lambda plain: plain["outputs"].update({name: "?"}))(folder)

    return change


def _rename_everywhere(old: str, new: str) -> Change:
    """One area is called like another one, and the other way round, in all tables."""
    names = {old: new, new: old}

    def change(folder: Path) -> None:
        for name in PLACES:
            rows = [row | {"area": names.get(row["area"], row["area"])} for row in _rows(folder, name)]
            _write(folder, name, rows)

    return change


def _without_area(area: str) -> Change:
    def change(folder: Path) -> None:
        for name in PLACES:
            _write(folder, name, [row for row in _rows(folder, name) if row["area"] != area])
        sum_up(folder)

    return change


def _failed(area: str) -> Change:
    """An area is said to contradict itself."""

    def change(folder: Path) -> None:
        for name in ("claims", "findings", "proofs", "witnesses"):
            _write(folder, name, [row for row in _rows(folder, name) if row["area"] != area])
        rows = _rows(folder, "areas")
        at = _first(rows, {"area": area})
        rows[at] = dict.fromkeys(rows[at], 0) | {
            "area": area,
            "status": "contradiction: the counts disagree",
            "records": None,
            "unique": None,
        }
        _write(folder, "areas", rows)
        sum_up(folder)

    return change


def _reordered_areas(folder: Path) -> None:
    rows = _rows(folder, "areas")
    _write(folder, "areas", [rows[1], rows[0], *rows[2:]])


def _extra_column(name: str) -> Change:
    def change(folder: Path) -> None:
        table = pq.read_table(folder / PLACES[name])
        notes = pa.array(["approved"] * table.num_rows)
        pq.write_table(table.append_column("note", notes), folder / PLACES[name])

    return change


def _other_counts(folder: Path) -> None:
    """Everything is redone, honestly, for other counts; run.json names the old inputs."""
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    shutil.rmtree(folder)
    st.run_audit([_area("north", 2), _area("south", 22)], LAYOUT, folder, inputs=manifest["inputs"])


def _without_group(folder: Path) -> None:
    """A finding about a group of unknown size is gone, with its proofs."""
    drop("findings", kind="group of unknown size")(folder)
    drop_all("proofs", area="north", claims=[])(folder)
    recount(folder)


def _promote(folder: Path) -> None:
    """A refuted claim is said to be proved, wherever it occurs."""
    rows = _rows(folder, "claims")
    row = rows[_first(rows, {"verdict": "refuted"})]
    proof = next(one for one in rows if one["verdict"] == "verified" and not one["direct"])
    said = row["sentence"].removeprefix("Does not follow: that ")
    row |= {"verdict": "verified", "evidence": proof["evidence"], "n_tables_added": proof["n_tables_added"]}
    row["sentence"] = f"{said[0].upper()}{said[1:]}"
    _write(folder, "claims", rows)
    drop("witnesses", area=row["area"], selection=row["selection"])(folder)
    proofs = _rows(folder, "proofs")
    mine = next(one for one in proofs if one["area"] == row["area"] and one["claims"])
    mine["claims"] = sorted([*mine["claims"], row["selection"]])
    _write(folder, "proofs", proofs)
    recount(folder)


def _by_rules(folder: Path) -> None:
    """A finding that says what the rules say."""
    rows = _rows(folder, "findings")
    row = rows[_first(rows, {"kind": "group of unknown size"})]
    made = st.Finding(row["kind"], 1, Selection.of(age="child"), Selection.of(job="none"))
    row |= {"knows": made.knows.to_json(), "learns": made.learns.to_json(), "k": 2}
    row["sentence"] = made.sentence(SCHEMA)
    _write(folder, "findings", rows)


def _forge_finding(folder: Path) -> None:
    """A finding that does not follow, with its sentence and all figures."""
    knows, learns = Selection.of(sex="f"), Selection.of(age="old", job="clerk")
    made = st.Finding("singleton", 1, knows, learns)
    rows = _rows(folder, "findings")
    new = rows[0] | {
        "kind": "singleton",
        "multiplicity": 1,
        "k": 3,
        "knows": knows.to_json(),
        "learns": learns.to_json(),
        "other_ways": "[]",
        "sentence": made.sentence(SCHEMA),
    }
    _write(folder, "findings", [new, *rows])
    recount(folder)
    in_text("report.html", "<h1>", "<h1>Beware. ", count=1)(folder)


def _hide_finding(folder: Path) -> None:
    """A finding is gone from the table, the figures and the page's headline."""
    rows = _rows(folder, "findings")
    _write(folder, "findings", rows[1:])
    recount(folder)


def _hide_claims(folder: Path, **which: Any) -> None:
    """All claims of a finding are gone, with their proofs, the finding and the figures."""
    findings = _rows(folder, "findings")
    finding = findings[_first(findings, which)]
    values = json.loads(finding["knows"]) | json.loads(finding["learns"])
    gone = {
        row["selection"]
        for row in _rows(folder, "claims")
        if row["area"] == finding["area"]
        and row["multiplicity"] == finding["multiplicity"]
        and row["verdict"] == "verified"
        and json.loads(row["selection"]).items() <= values.items()
    }
    mine = {"area": finding["area"], "selection": gone.__contains__}
    drop_all("claims", **mine)(folder)
    proofs = _rows(folder, "proofs")
    for row in proofs:
        if row["area"] == finding["area"] and row["claims"]:
            row["claims"] = [one for one in row["claims"] if one not in gone] or ["gone"]
    _write(folder, "proofs", [row for row in proofs if row["claims"] != ["gone"]])
    drop("findings", **finding)(folder)
    recount(folder)


def _sure(folder: Path) -> None:
    """Undecided claims are gone, as if all had been decided."""
    drop_all("claims", verdict="undecided")(folder)
    recount(folder)


def _unsure(folder: Path) -> None:
    """A verified claim is called undecided, and nothing that rests on it is left."""
    rows = _rows(folder, "claims")
    row = rows[_first(rows, {"verdict": "verified"})]
    said = row["sentence"]
    row |= {"verdict": "undecided", "evidence": "effort", "n_tables_added": 0, "n_tables": None}
    row["sentence"] = f"Not decided: whether {said[0].lower()}{said[1:]}"
    _write(folder, "claims", rows)
    drop("proofs", claims=[row["selection"]])(folder)
    recount(folder)


def _hide_undecided(folder: Path) -> None:
    """Undecided claims are called refuted, without datasets."""
    rows = _rows(folder, "claims")
    for row in rows:
        if row["verdict"] == "undecided":
            said = row["sentence"].removeprefix("Not decided: whether ")
            row |= {"verdict": "refuted", "evidence": "worlds", "sentence": f"Does not follow: that {said}"}
    _write(folder, "claims", rows)
    recount(folder)


def _without_absence(folder: Path) -> None:
    """A selection that matches nobody is gone, with its proof."""
    rows = _rows(folder, "claims")
    row = rows.pop(_first(rows, {"multiplicity": 0, "verdict": "verified"}))
    _write(folder, "claims", rows)
    proofs = _rows(folder, "proofs")
    kept = [one for one in proofs if (one["area"], one["claims"]) != (row["area"], [row["selection"]])]
    assert len(kept) == len(proofs) - 1
    _write(folder, "proofs", kept)
    recount(folder)


def _relabelled(folder: Path) -> None:
    """Another label, in both places."""

    def label(plain: Any) -> None:
        plain["attributes"][0]["label"] = "gender"

    in_json("release.json", label)(folder)
    _schema_again(folder)


def _schema_again(folder: Path) -> None:
    (folder / "schema.toml").write_text(st.schema_to_toml(AuditRun(folder).layout.schema), "utf-8")


def _rules(edit: Callable[[list[Any]], object], *, schema: bool = True) -> Change:
    change = in_json("release.json", lambda plain: edit(plain["rules"]))
    return all_of(change, _schema_again) if schema else change


def _cell(edit: Callable[[Any], object], table: int = 0, cell: int = 0) -> Change:
    return in_json("release.json", lambda plain: edit(plain["tables"][table]["cells"][cell]))


def _fewer_findings_in_the_data(folder: Path) -> None:
    """The page's data lose their first finding; its text stays."""
    text = (folder / "report.html").read_text("utf-8")
    start = text.index('id="index">') + len('id="index">')
    end = text.index("</script>", start)
    plain = json.loads(gzip.decompress(base64.b64decode(text[start:end])))
    for name in ("area", "kind", "m", "k", "before", "learnt", "after", "knows", "learns"):
        plain[name] = plain[name][1:]
    block = base64.b64encode(gzip.compress(json.dumps(plain).encode())).decode()
    (folder / "report.html").write_text(text[:start] + block + text[end:], "utf-8")


def _without_static_finding(folder: Path) -> None:
    text = (folder / "report.html").read_text("utf-8")
    start = text.index('<li class="card">')
    end = text.index("</li>\n", text.index("</details>", start))
    (folder / "report.html").write_text(text[:start] + text[end + 6 :], "utf-8")


def _twice_in_json(file: str, name: str) -> Change:
    """An entry stands in a JSON file twice."""

    def change(folder: Path) -> None:
        text = (folder / file).read_text("utf-8")
        entry = f'"{name}": '
        assert entry in text
        (folder / file).write_text(text.replace(entry, f"{entry}0, {entry}", 1), "utf-8")

    return change


# --- the kinds --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A kind of tampering: what is done to which run, and what verify says.

    ``caught`` is part of a problem; otherwise ``left`` is part of what is said not to be covered. With
    ``late`` the change comes after the hashes were rewritten.
    """

    name: str
    do: Change
    caught: str = ""
    left: str = ""
    run: str = "main"
    late: bool = False
    inputs: bool = False

    @property
    def about_page(self) -> bool:
        """Whether the page is made again."""
        return self.name.startswith("report.html")


def _singleton(row_learns: str) -> bool:
    return row_learns != "{}"


KNOWS = {"area": "north", "knows": _singleton, "kind": "singleton"}
HIDDEN = {"area": "north", "verdict": "verified", "direct": False, "multiplicity": 1}
STATED = {"area": "north", "verdict": "verified", "direct": True}
PROVED = {"area": "north", "claims": lambda claims: len(claims) > 0}


def _claims() -> Iterator[Kind]:
    where = "claims.parquet"
    yield Kind(f"{where}: a claim moved to another area", move("claims", "south", **HIDDEN), "out of order")
    yield Kind(f"{where}: area", put("claims", "area", "nowhere", **HIDDEN), "unexpected rows")
    yield Kind(
        f"{where}: selection, another value",
        put("claims", "selection", '{"sex": "m"}', area="north", selection='{"sex": "f"}'),
        "claims.parquet: rows out of order",
    )
    yield Kind(
        f"{where}: selection, one attribute less",
        put("claims", "selection", lambda s: json.dumps(dict([*json.loads(s).items()][1:])), **HIDDEN, k=2),
        "k is wrong",
    )
    yield Kind(
        f"{where}: selection written in another way",
        put("claims", "selection", lambda s: s.replace(": ", ":"), **HIDDEN),
        "not written as selections are",
    )
    yield Kind(f"{where}: k", put("claims", "k", lambda k: k + 1, **HIDDEN), "k is wrong")
    yield Kind(f"{where}: multiplicity", put("claims", "multiplicity", 2, **HIDDEN), "no proof for")
    yield Kind(
        f"{where}: multiplicity of a refuted claim",
        put("claims", "multiplicity", lambda m: m + 5, verdict="refuted"),
        "the claim says",
    )
    yield Kind(
        f"{where}: multiplicity of an impossible count",
        put("claims", "multiplicity", lambda m: m + 1, verdict="impossible"),
        "no proof for",
        run="odd",
    )
    yield Kind(
        f"{where}: verdict, verified to undecided", put("claims", "verdict", "undecided", **HIDDEN), "unknown"
    )
    yield Kind(
        f"{where}: verdict, refuted to verified",
        put("claims", "verdict", "verified", verdict="refuted"),
        "no proof for",
    )
    yield Kind(
        f"{where}: verdict, undecided to verified",
        put("claims", "verdict", "verified", verdict="undecided"),
        "no proof for",
        run="open",
    )
    yield Kind(
        f"{where}: verdict, impossible to verified",
        put("claims", "verdict", "verified", verdict="impossible"),
        "no proof for",
        run="odd",
    )
    yield Kind(f"{where}: verdict, an unknown word", put("claims", "verdict", "safe", **HIDDEN), "unknown")
    yield Kind(
        f"{where}: evidence", put("claims", "evidence", "cases", **HIDDEN), "evidence or n_tables_added"
    )
    yield Kind(
        f"{where}: evidence of a refuted claim",
        put("claims", "evidence", "cell", verdict="refuted"),
        "unknown",
    )
    yield Kind(f"{where}: direct, to hide less", put("claims", "direct", False, **STATED), "direct is wrong")
    yield Kind(f"{where}: direct, to hide more", put("claims", "direct", True, **HIDDEN), "direct is wrong")
    yield Kind(
        f"{where}: n_tables_added",
        put("claims", "n_tables_added", lambda n: n + 1, **HIDDEN),
        "evidence or n_tables_added",
    )
    yield Kind(
        f"{where}: n_tables",
        put("claims", "n_tables", lambda n: n + 1, area="north", n_tables=lambda n: n is not None),
        "n_tables is wrong",
    )
    yield Kind(
        f"{where}: n_tables where none was counted",
        put("claims", "n_tables", 1, area="north", verdict="refuted"),
        "without a proof",
    )
    yield Kind(
        f"{where}: sentence, another number",
        put("claims", "sentence", lambda s: s.replace("one", "two"), **HIDDEN),
        "the sentence of a claim",
    )
    yield Kind(
        f"{where}: sentence, another value",
        put(
            "claims",
            "sentence",
            lambda s: s.replace("old", "adult"),
            **HIDDEN,
            selection=lambda s: "old" in s,
        ),
        "the sentence of a claim",
    )
    yield Kind(
        f"{where}: sentence, a word more",
        put("claims", "sentence", lambda s: s + " Really.", **HIDDEN),
        "sentence",
    )
    yield Kind(
        f"{where}: sentence of a refuted claim",
        put("claims", "sentence", lambda s: s.replace("Does not follow: that for", "For"), verdict="refuted"),
        "the sentence of a claim",
    )
    yield Kind(f"{where}: a verified claim gone", drop("claims", **HIDDEN), "belongs to nothing")
    yield Kind(f"{where}: a refuted claim gone", drop("claims", verdict="refuted"), "not refuted")
    yield Kind(
        f"{where}: a refuted claim gone, with its datasets and figures",
        all_of(drop("claims", verdict="refuted"), drop("witnesses"), recount),
        "claims of the scope are missing",
    )
    yield Kind(
        f"{where}: an undecided claim gone, with the figures",
        _sure,
        "not those of a dataset that agrees",
        run="open",
    )
    yield Kind(
        f"{where}: a verified claim called undecided, with proof, findings, sentence and figures",
        _unsure,
        left="whether undecided claims hold",
        run="odd",
    )
    yield Kind(
        f"{where}: a claim that a cell states called undecided",
        put("claims", "verdict", "undecided", **STATED),
        "not among the verified claims",
    )
    yield Kind(f"{where}: undecided claims called refuted", _hide_undecided, "no witnesses", run="open")
    yield Kind(
        f"{where}: all claims of a finding gone, with proofs, finding and figures",
        _hide_claims,
        "claims of the scope are missing",
    )
    yield Kind(
        f"{where}: the same where refuted claims were not kept",
        lambda folder: _hide_claims(folder, knows="{}"),
        left="claims that were not found",
        run="bare",
    )
    yield Kind(
        f"{where}: a claim that a cell states gone, with its proof, where refuted claims were not kept",
        all_of(drop("claims", **STATED), drop("proofs", **PROVED)),
        "not among the verified claims",
        run="bare",
    )
    yield Kind(
        f"{where}: an absence gone, with its proof and figures",
        _without_absence,
        left="match nobody",
    )
    yield Kind(f"{where}: a claim twice", twice("claims", **HIDDEN), "out of order")
    yield Kind(f"{where}: rows in another order", swap("claims", **STATED), "out of order")
    yield Kind(
        f"{where}: a claim more, without a proof",
        add("claims", {"multiplicity": 7}, **HIDDEN),
        "no proof for",
    )
    yield Kind(
        f"{where}: a claim outside the scope",
        add("claims", {"multiplicity": 0}, area="south", verdict="verified"),
        "not in the scope",
        run="bare",
    )
    yield Kind(f"{where}: a column more", _extra_column("claims"), "a column that no run has")


def _findings() -> Iterator[Kind]:
    where = "findings.parquet"
    yield Kind(f"{where}: area", put("findings", "area", "nowhere", **KNOWS), "unexpected rows")
    yield Kind(
        f"{where}: a finding moved to another area", move("findings", "south", **KNOWS), "does not follow"
    )
    yield Kind(f"{where}: kind", put("findings", "kind", "group", **KNOWS), "kind is wrong")
    yield Kind(f"{where}: kind, an unknown word", put("findings", "kind", "none", **KNOWS), "kind is wrong")
    yield Kind(f"{where}: multiplicity", put("findings", "multiplicity", 2, **KNOWS), "multiplicity is wrong")
    yield Kind(f"{where}: k", put("findings", "k", lambda k: k + 1, **KNOWS), "k is wrong in a finding")
    yield Kind(f"{where}: knows", put("findings", "knows", '{"sex": "f"}', **KNOWS), "does not follow")
    yield Kind(
        f"{where}: knows less than is needed", put("findings", "knows", "{}", **KNOWS), "does not follow"
    )
    yield Kind(
        f"{where}: learns another value",
        put(
            "findings",
            "learns",
            lambda s: s.replace("f", "m") if '"f"' in s else s.replace("none", "clerk"),
            **KNOWS,
        ),
        "does not follow",
    )
    yield Kind(
        f"{where}: learns less",
        put(
            "findings",
            "learns",
            lambda s: json.dumps(dict([*json.loads(s).items()][:1])),
            kind="singleton",
            knows=_singleton,
            learns=lambda s: len(json.loads(s)) > 1,
        ),
        "does not follow",
    )
    yield Kind(
        f"{where}: learns more, of a group of unknown size",
        put("findings", "learns", '{"job": "none", "sex": "f"}', kind="group of unknown size"),
        "a finding says nothing",
    )
    yield Kind(
        f"{where}: knows, of a group of unknown size",
        put("findings", "knows", '{"sex": "f"}', kind="group of unknown size"),
        "no proof of",
    )
    yield Kind(
        f"{where}: multiplicity of a group of unknown size",
        put("findings", "multiplicity", 2, kind="group of unknown size"),
        "multiplicity is wrong",
    )
    yield Kind(
        f"{where}: other_ways, one less",
        put("findings", "other_ways", "[]", other_ways=lambda ways: ways != "[]"),
        "other_ways is wrong",
    )
    yield Kind(
        f"{where}: other_ways, one more",
        put("findings", "other_ways", '[{"sex": "f"}]', other_ways="[]"),
        "other_ways is wrong",
    )
    yield Kind(
        f"{where}: n_claims", put("findings", "n_claims", lambda n: n + 1, **KNOWS), "n_claims is wrong"
    )
    yield Kind(
        f"{where}: n_tables_added",
        put("findings", "n_tables_added", lambda n: n + 1, **KNOWS),
        "n_tables_added is wrong",
    )
    yield Kind(
        f"{where}: n_tables",
        put("findings", "n_tables", lambda n: n + 1, n_tables=lambda n: n is not None),
        "n_tables is wrong",
    )
    yield Kind(
        f"{where}: sentence, another number",
        put("findings", "sentence", lambda s: s.replace("one", "two"), **KNOWS),
        "the sentence is wrong",
    )
    yield Kind(
        f"{where}: sentence, what is learnt",
        put("findings", "sentence", lambda s: s.replace("learns", "may guess"), **KNOWS),
        "the sentence is wrong",
    )
    yield Kind(
        f"{where}: knows, written in another way",
        put(
            "findings",
            "knows",
            lambda s: s.replace("{", '{"sex": "?", ', 1),
            knows=lambda s: s.startswith('{"sex"'),
        ),
        "not written as findings are",
    )
    yield Kind(
        f"{where}: a group of unknown size that the rules tell all about",
        _by_rules,
        "says nothing new",
    )
    yield Kind(f"{where}: a finding gone", drop("findings", **KNOWS), "a finding is missing")
    yield Kind(f"{where}: a finding gone, with the figures", _hide_finding, "a finding is missing")
    yield Kind(
        f"{where}: all findings gone", lambda folder: _write(folder, "findings", []), "a finding is missing"
    )
    yield Kind(
        f"{where}: a finding about a group of unknown size gone",
        all_of(drop("findings", kind="group of unknown size"), recount),
        "belongs to nothing",
    )
    yield Kind(
        f"{where}: the same with its proofs",
        _without_group,
        left="more findings about groups of unknown size",
    )
    yield Kind(
        f"{where}: n_claims of a finding with as many columns as allowed",
        put("findings", "n_claims", lambda n: n + 1, area="south", k=2, knows=_singleton),
        left="as many columns as --max-columns allows",
        run="short",
    )
    yield Kind(
        f"{where}: learns, with as many columns as allowed",
        put("findings", "learns", '{"job": "baker"}', area="south", k=2, knows=_singleton),
        "does not follow",
        run="short",
    )
    yield Kind(f"{where}: a finding twice", twice("findings", **KNOWS), "finding")
    yield Kind(f"{where}: rows in another order", swap("findings", area="north"), "out of order")
    yield Kind(f"{where}: a finding that does not follow", _forge_finding, "does not follow")
    yield Kind(f"{where}: a column more", _extra_column("findings"), "a column that no run has")


def _areas() -> Iterator[Kind]:
    where = "areas.parquet"
    for name in ("verified", "refuted", "undecided", "impossible", "direct", "findings", "singletons"):
        yield Kind(
            f"{where}: {name}",
            all_of(put("areas", name, lambda n: n + 1, area="north"), sum_up),
            f"areas.parquet: {name} is",
        )
    yield Kind(f"{where}: status", put("areas", "status", "partly decided", area="north"), "status is")
    yield Kind(
        f"{where}: status of undecided claims",
        put("areas", "status", "decided", status="partly decided"),
        "status is",
        run="open",
    )
    yield Kind(
        f"{where}: records",
        all_of(put("areas", "records", lambda n: n + 1, area="south"), sum_up),
        "records is",
    )
    yield Kind(
        f"{where}: records where no table adds up to them",
        all_of(put("areas", "records", 4, area="north"), sum_up),
        left="the number of records",
    )
    yield Kind(
        f"{where}: record_types", put("areas", "record_types", lambda n: n + 1, area="north"), "record_types"
    )
    yield Kind(
        f"{where}: unique, true to false",
        all_of(put("areas", "unique", False, area="south"), sum_up),
        "unique is",
    )
    yield Kind(
        f"{where}: unique, false to true",
        all_of(put("areas", "unique", True, area="north"), sum_up),
        "unique is",
    )
    yield Kind(
        f"{where}: refuted, where these were not kept",
        all_of(put("areas", "refuted", lambda n: n + 1, area="north"), sum_up),
        left="how many claims are refuted",
        run="bare",
    )
    yield Kind(
        f"{where}: unique, where the folder does not tell",
        all_of(put("areas", "unique", None, area="north"), sum_up),
        left="whether only one dataset agrees",
        run="bare",
    )
    for name in ("worlds_seen", "steps", "programs", "nodes", "solves"):
        yield Kind(
            f"{where}: {name}", put("areas", name, lambda n: n + 1, area="north"), left="how much work"
        )
    yield Kind(f"{where}: area", put("areas", "area", "nowhere", area="north"), "unexpected rows")
    yield Kind(f"{where}: an area gone", all_of(drop("areas", area="north"), sum_up), "unexpected rows")
    yield Kind(f"{where}: an area twice", all_of(twice("areas", area="north"), sum_up), "several rows")
    yield Kind(f"{where}: rows in another order", _reordered_areas, "unexpected rows")
    yield Kind(
        f"{where}: why an area was not audited",
        put("areas", "status", "contradiction: bad luck", area="east"),
        left="why areas were not audited",
    )
    yield Kind(
        f"{where}: an area said to contradict itself", _failed("north"), left="why areas were not audited"
    )
    yield Kind(
        f"{where}: an area said to contradict itself, with findings",
        all_of(put("areas", "status", "contradiction: the counts disagree", area="north"), sum_up),
        "was not audited, but has",
    )
    yield Kind(
        f"{where}: an area that was not audited called decided",
        all_of(put("areas", "status", "decided", area="east"), sum_up),
        "areas.parquet",
    )
    yield Kind("all tables: an area gone everywhere", _without_area("south"), left="all areas are there")
    yield Kind(
        "all tables: two areas change their names",
        _rename_everywhere("north", "south"),
        left="whether the counts are the published ones",
    )


def _evidence() -> Iterator[Kind]:
    where = "proofs.parquet"

    def multiplier(plain: Row) -> None:
        plain["at_least"]["cells"][0][1] += 1

    def total(plain: Row) -> None:
        plain["at_least"]["total"] += 1

    def fewer(plain: Row) -> None:
        plain["over"] = plain["over"][1:]

    simple = {**PROVED, "proof": lambda text: '"at_least":{"cells":[[' in text}
    yield Kind(f"{where}: a multiplier", in_proof(multiplier, **simple), "the multipliers")
    yield Kind(f"{where}: a sum", in_proof(total, **simple), "the multipliers add up to")
    yield Kind(
        f"{where}: a sum and what it proves",
        in_proof(
            lambda plain: (total(plain), plain.update(multiplicity=plain["multiplicity"] + 1)), **simple
        ),
        "the multipliers",
    )
    yield Kind(
        f"{where}: a denominator",
        in_proof(lambda plain: plain["at_least"].update(denominator=2), **simple),
        "the multipliers",
    )
    yield Kind(
        f"{where}: a denominator of 0",
        in_proof(lambda p: p["at_least"].update(denominator=0), **simple),
        "denominator",
    )
    yield Kind(
        f"{where}: multiplicity",
        in_proof(lambda plain: plain.update(multiplicity=plain["multiplicity"] + 1), **simple),
        "the multipliers prove",
    )
    yield Kind(
        f"{where}: another selection",
        in_proof(lambda plain: plain.update(selection={"sex": ["m"], "age": ["old"]}), **simple),
        "",
    )
    yield Kind(
        f"{where}: an entry twice",
        put(
            "proofs",
            "proof",
            lambda text: text.replace('"over"', '"multiplicity":9,"over"').replace(
                '{"sel', '{"multiplicity":9,"sel', 1
            ),
            **simple,
        ),
        "",
    )
    yield Kind(
        f"{where}: a remark",
        in_proof(lambda plain: plain.update(note="approved"), **simple),
        "not written as",
    )
    yield Kind(f"{where}: attributes left out", in_proof(fewer, **simple), "leaves out an attribute")
    yield Kind(
        f"{where}: another cell",
        in_proof(lambda p: p["at_least"]["cells"][0].__setitem__(0, 9999), **simple),
        "names cell",
    )
    yield Kind(
        f"{where}: no proof at all",
        put("proofs", "proof", '{"selection":{},"multiplicity":0,"over":[]}', **simple),
        "",
    )
    yield Kind(f"{where}: not a proof", put("proofs", "proof", "trust me", **simple), "cannot be read")
    yield Kind(
        f"{where}: a case",
        in_proof(lambda p: _node(p).update(at=_node(p)["at"] + 1), proof=_is_case),
        "",
        run="odd",
    )
    yield Kind(
        f"{where}: a false claim listed",
        put("proofs", "claims", lambda claims: [*claims, '{"age": "old", "sex": "f"}'], **simple),
        "",
    )
    yield Kind(
        f"{where}: a claim no longer listed", put("proofs", "claims", lambda claims: claims[1:], **PROVED), ""
    )
    yield Kind(f"{where}: two proofs change places", swap("proofs", "proof", **PROVED), "")
    yield Kind(f"{where}: a proof gone", drop("proofs", **PROVED), "no proof for")
    yield Kind(f"{where}: a proof twice", twice("proofs", **PROVED), "belongs to nothing")
    yield Kind(f"{where}: a proof moved to another area", move("proofs", "south", **PROVED), "no proof for")
    yield Kind(f"{where}: area", put("proofs", "area", "nowhere", **PROVED), "unexpected rows")
    yield Kind(
        f"{where}: a proof that belongs to nothing",
        add("proofs", {"claims": []}, **PROVED),
        "belongs to nothing",
    )
    yield Kind(f"{where}: a column more", _extra_column("proofs"), "a column that no run has")
    where = "witnesses.parquet"

    def other_record(text: str) -> str:
        plain = json.loads(text)
        plain[0][1] += 1
        return _dataset(plain)

    def negative(text: str) -> str:
        plain = json.loads(text)
        return _dataset([*plain, [plain[0][0], 1], [plain[0][0], -1]])

    yield Kind(f"{where}: a record more", put("witnesses", "first", other_record), "")
    yield Kind(f"{where}: a record less than none", put("witnesses", "second", negative), "impossible record")
    yield Kind(
        f"{where}: a value that does not exist",
        put("witnesses", "first", lambda text: text.replace('"none"', '"king"')),
        "impossible record",
    )
    yield Kind(
        f"{where}: a record that breaks a rule",
        put("witnesses", "first", _breaking, first=lambda text: '"child"' in text),
        "a witness",
    )
    yield Kind(
        f"{where}: an attribute that does not exist",
        put("witnesses", "first", lambda text: text.replace('{"sex"', '{"name":"Ann","sex"', 1)),
        "not written as datasets are",
    )
    yield Kind(
        f"{where}: a number that is none",
        put("witnesses", "first", lambda text: text.replace(",1]", ",1.5]", 1)),
        "not written as datasets are",
    )
    yield Kind(f"{where}: one dataset twice", _same_dataset, "the witnesses agree")
    yield Kind(f"{where}: datasets exchanged", _exchanged, "the claim says")
    yield Kind(f"{where}: not a dataset", put("witnesses", "second", "[[]]"), "cannot be read")
    yield Kind(
        f"{where}: against another claim",
        put("witnesses", "selection", '{"sex": "m"}', selection=lambda s: s != '{"sex": "m"}'),
        "witnesses",
    )
    yield Kind(f"{where}: datasets gone", drop("witnesses"), "no witnesses against")
    yield Kind(f"{where}: datasets twice", twice("witnesses"), "or twice")
    yield Kind(f"{where}: area", put("witnesses", "area", "nowhere"), "unexpected rows")


def _node(plain: Row) -> Row:
    return next(node for node in (plain.get(part) for part in ("never", "at_least", "at_most")) if node)


def _is_case(text: str) -> bool:
    return "on" in _node(json.loads(text))


def _breaking(text: str) -> str:
    plain = json.loads(text)
    record = next(record for record, _ in plain if record["age"] == "child")
    record["job"] = "clerk"
    return _dataset(plain)


def _dataset(plain: Any) -> str:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def _same_dataset(folder: Path) -> None:
    rows = _rows(folder, "witnesses")
    rows[0]["second"] = rows[0]["first"]
    _write(folder, "witnesses", rows)


def _exchanged(folder: Path) -> None:
    rows = _rows(folder, "witnesses")
    rows[0]["first"], rows[0]["second"] = rows[0]["second"], rows[0]["first"]
    _write(folder, "witnesses", rows)


def _counts() -> Iterator[Kind]:
    where = "counts.parquet"

    def more(cells: list[int]) -> list[int]:
        at = next(at for at, n in enumerate(cells) if n)
        return [n + (cell == at) for cell, n in enumerate(cells)]

    yield Kind(
        f"{where}: a count",
        all_of(put("counts", "low", more, area="south"), put("counts", "high", more, area="south")),
        "",
    )
    yield Kind(
        f"{where}: a lower end", put("counts", "low", lambda cells: [0] * len(cells), area="south"), ""
    )
    yield Kind(
        f"{where}: an upper end", put("counts", "high", lambda cells: [9] * len(cells), area="south"), ""
    )
    yield Kind(
        f"{where}: an end that cannot be",
        put("counts", "low", lambda cells: [9] * len(cells), area="south"),
        "cannot be checked",
    )
    yield Kind(
        f"{where}: a cell less",
        put("counts", "low", lambda cells: cells[1:], area="south"),
        "cannot be checked",
    )
    yield Kind(f"{where}: counts of two areas exchanged", _exchanged_counts, "")
    yield Kind(f"{where}: an area gone", drop("counts", area="south"), "counts.parquet has 0 rows")
    yield Kind(f"{where}: an area twice", twice("counts", area="south"), "counts.parquet has 2 rows")
    yield Kind(
        f"{where}: other counts, and everything else redone",
        _other_counts,
        left="whether the counts are the published ones",
        run="bare",
    )
    yield Kind(
        "timing.parquet: the time", put("timing", "core_seconds", 1e6, area="north"), left="timing.parquet"
    )


def _exchanged_counts(folder: Path) -> None:
    rows = _rows(folder, "counts")
    for end in ("low", "high"):
        rows[0][end], rows[1][end] = rows[1][end], rows[0][end]
    _write(folder, "counts", rows)


def _descriptions() -> Iterator[Kind]:
    where = "release.json"
    yield Kind(
        f"{where}: a value",
        in_text(where, '"baker"', '"judge"'),
        "cannot be",
    )
    yield Kind(
        f"{where}: a label",
        in_json(where, lambda plain: plain["attributes"][0].update(label="gender")),
        "schema.toml: not the schema",
    )
    yield Kind(f"{where}: a label, in schema.toml too", _relabelled, "the sentence")
    yield Kind(
        f"{where}: a phrase",
        in_json(where, lambda plain: plain["attributes"][2]["phrases"].update(none="rich")),
        "the sentence",
    )
    yield Kind(
        f"{where}: the word for a record",
        in_json(where, lambda plain: plain.update(record="fish", records="fish")),
        "the sentence",
    )
    yield Kind(f"{where}: a rule gone", _rules(lambda rules: rules.clear()), "")
    yield Kind(
        f"{where}: a rule weakened",
        _rules(lambda rules: rules[0]["then"].update(job=["none", "clerk"])),
        "",
    )
    yield Kind(f"{where}: a rule both ways", _rules(lambda rules: rules[0].update(both_ways=True)), "")
    yield Kind(
        f"{where}: a rule more",
        _rules(
            lambda rules: rules.append(
                {"when": {"sex": ["m"]}, "then": {"job": ["clerk", "none"]}, "both_ways": False}
            )
        ),
        "",
    )
    yield Kind(
        f"{where}: what a cell counts",
        _cell(lambda cell: cell.update(selection={"sex": ["m"], "age": ["child"]})),
        "",
    )
    yield Kind(
        f"{where}: two cells change places",
        in_json(
            where, lambda plain: plain["tables"][0]["cells"].insert(0, plain["tables"][0]["cells"].pop(1))
        ),
        "",
    )
    yield Kind(
        f"{where}: the name of a cell",
        _cell(lambda cell: cell.update(name="another")),
        left="the schema and the tables",
    )
    yield Kind(
        f"{where}: a publisher",
        in_json(where, lambda plain: plain["tables"][0].update(publisher="somebody")),
        left="the schema and the tables",
    )
    yield Kind(
        f"{where}: a table gone",
        in_json(where, lambda plain: plain["tables"].pop()),
        "cannot be checked",
    )
    yield Kind(
        f"{where}: an entry more",
        in_json(where, lambda plain: plain.update(note="approved")),
        "not written as",
    )
    yield Kind(f"{where}: an entry twice", _twice_in_json(where, "label"), "twice")
    where = "schema.toml"
    yield Kind(f"{where}: a value", in_text(where, "baker", "judge"), "not the schema")
    yield Kind(f"{where}: a rule", in_text(where, "child", "adult"), "not the schema")
    yield Kind(
        f"{where}: a remark",
        in_text(where, "\n", "\n# Checked by nobody\n", count=1),
        left="schema.toml: comments",
    )
    yield Kind(f"{where}: not a schema", in_text(where, "=", "is"), "not the schema")
    where = "summary.json"
    for name in ("areas", "areas_unique", "records", "verified", "refuted", "findings", "singletons"):

        def one_less(plain: Any, name: str = name) -> None:
            plain[name] -= 1

        yield Kind(f"{where}: {name}", in_json(where, one_less), "summary.json: figures differ")
    yield Kind(
        f"{where}: claims by evidence",
        in_json(where, lambda plain: plain["verified_by_evidence"].update(cell=0)),
        "summary.json: figures differ",
    )
    yield Kind(
        f"{where}: findings by kind",
        in_json(where, lambda plain: plain["findings_by_kind"].pop("singleton")),
        "summary.json: figures differ",
    )
    yield Kind(
        f"{where}: an entry more", in_json(where, lambda plain: plain.update(safe=True)), "summary.json"
    )
    yield Kind(f"{where}: an entry twice", _twice_in_json(where, "findings"), "twice")


def _manifest() -> Iterator[Kind]:
    where = "run.json"
    for name, value in (("effort", 5.0), ("seed", 99)):
        yield Kind(f"{where}: {name}", _parameter(name, value), left="what run.json says")
    yield Kind(f"{where}: refuted", _parameter("refuted", False), "not in the scope")
    yield Kind(f"{where}: refuted, where they were not kept", _parameter("refuted", True), "", run="bare")
    yield Kind(f"{where}: findings", _parameter("findings", False), "findings where none were asked for")
    yield Kind(f"{where}: keep_going", _parameter("keep_going", False), "the run was to stop")
    yield Kind(f"{where}: absent", _parameter("absent", False, scope=True), "not in the scope")
    yield Kind(f"{where}: gaps", _parameter("gaps", False, scope=True), "not in the scope", run="odd")
    yield Kind(f"{where}: max_columns", _parameter("max_columns", 2, scope=True), "not in the scope")
    yield Kind(
        f"{where}: max_columns, a wider scope than was decided",
        _parameter("max_columns", None, scope=True),
        "",
        run="short",
    )
    yield Kind(f"{where}: min_columns", _parameter("min_columns", 2, scope=True), "not in the scope")
    yield Kind(f"{where}: multiplicity", _parameter("multiplicity", [1, 1], scope=True), "not in the scope")
    yield Kind(
        f"{where}: a parameter of the wrong type", _parameter("seed", "7"), "the parameters are invalid"
    )
    yield Kind(f"{where}: a parameter more", _parameter("exact", True), "the parameters are invalid")
    yield Kind(
        f"{where}: versions",
        in_json(where, lambda plain: plain["versions"].update(numpy="99.0")),
        left="what run.json says",
    )
    yield Kind(
        f"{where}: the version of showthrough",
        in_json(where, lambda plain: plain["versions"].update(showthrough="99.0")),
        left="the run names version 99.0",
    )
    yield Kind(
        f"{where}: versions gone",
        in_json(where, lambda plain: plain["versions"].clear()),
        "the versions are missing",
    )
    yield Kind(
        f"{where}: the hash of an input",
        in_json(where, lambda plain: plain["inputs"].update({"counts.csv": "1" * 64})),
        left="what run.json says",
    )
    yield Kind(
        f"{where}: the hash of an input, with the file at hand",
        in_json(where, lambda plain: plain["inputs"].update({"counts.csv": "1" * 64})),
        "not the file that the run read",
        inputs=True,
    )
    yield Kind(
        f"{where}: the size of a batch",
        in_json(where, lambda plain: plain.update(batch="many")),
        "the size of a batch",
    )
    yield Kind(
        f"{where}: an entry more",
        in_json(where, lambda plain: plain.update(approved="yes")),
        "an entry that no run has",
    )
    yield Kind(f"{where}: an entry twice", _twice_in_json(where, "batch"), "twice", late=True)
    yield Kind(
        f"{where}: another release",
        in_json(where, lambda plain: plain.update(release="forged")),
        "release.json: not the release",
    )
    yield Kind(
        f"{where}: a file not hashed",
        in_json(where, lambda plain: plain["not_hashed"].append("notes.txt")),
        "not_hashed lists other files",
    )
    yield Kind(
        f"{where}: a file listed under two names",
        in_json(where, lambda plain: plain["outputs"].update({"./claims.parquet": "?"})),
        "not the name of a file",
    )
    yield Kind(
        f"{where}: a file outside the folder",
        in_json(where, lambda plain: plain["outputs"].update({"../notes.txt": "?"})),
        "not the name of a file",
    )
    yield Kind(
        f"{where}: a table not listed",
        in_json(where, lambda plain: plain["outputs"].pop("claims.parquet")),
        "claims.parquet: not listed",
    )
    yield Kind(
        f"{where}: the page not listed",
        in_json(where, lambda plain: plain["outputs"].pop("report.html")),
        "report.html: not listed",
    )
    yield Kind(
        "the folder: a file that is not listed",
        _new_file("safe.txt", listed=False),
        left="safe.txt: not listed",
    )
    yield Kind(
        "the folder: a file that is listed", _new_file("safe.txt", listed=True), left="safe.txt: what it says"
    )
    yield Kind(
        "the folder: a page that is not listed",
        _new_file("page.html", listed=False),
        left="page.html: not listed",
    )
    yield Kind("the folder: a page more", _new_file("page.html", listed=True), left="page.html: what it says")
    yield Kind(
        "the folder: a link",
        lambda folder: (folder / "safe.txt").symlink_to("/etc/hostname"),
        left="safe.txt: not listed",
    )


def _pages() -> Iterator[Kind]:
    where, other = "report.html", "not the page of this run"
    yield Kind(f"{where}: the headline", in_text(where, "<h1>", "<h1>Not so: ", count=1), other)
    yield Kind(
        f"{where}: a sentence", in_text(where, "Whoever knows", "Hardly anybody who knows", count=1), other
    )
    yield Kind(f"{where}: a figure", in_text(where, "<dd>", "<dd>1", count=1), other)
    yield Kind(f"{where}: a proof", in_text(where, "count = ", "count ≠ ", count=1), other)
    yield Kind(f"{where}: a finding gone", _without_static_finding, other)
    yield Kind(f"{where}: a finding gone from the data", _fewer_findings_in_the_data, other)
    yield Kind(
        f"{where}: a hash of a file", in_text(where, "claims.parquet", "other.parquet", count=1), other
    )
    yield Kind(f"{where}: a script", in_text(where, "</body>", "<script>alert(1)</script></body>"), other)
    yield Kind(f"{where}: the end cut off", _cut_page, other)
    yield Kind(
        f"{where}: a block of data that is none",
        in_text(where, 'id="index">', 'id="index">?'),
        "cannot be compared",
    )
    yield Kind(
        f"{where}: made by another version",
        in_text(
            where,
            'name="generator" content="showthrough ',
            'name="generator" content="showthrough 9',
            count=1,
        ),
        left="not by this version",
    )
    yield Kind(
        f"{where}: made with other data",
        in_text(
            where, '">\n<meta name="color-scheme"', '; with other data">\n<meta name="color-scheme"', count=1
        ),
        left="data that are not in the folder",
    )
    yield Kind(f"{where}: gone", _without_page, "report.html: missing")


def _cut_page(folder: Path) -> None:
    text = (folder / "report.html").read_text("utf-8")
    (folder / "report.html").write_text(text[: len(text) // 2], "utf-8")


def _without_page(folder: Path) -> None:
    (folder / "report.html").unlink()


def _together() -> Iterator[Kind]:
    yield Kind(
        "together: a refuted claim called proved, with sentence, proof, datasets and figures", _promote, ""
    )
    yield Kind(
        "together: a count and the proofs that use it",
        all_of(
            put("counts", "low", lambda cells: [n + 1 for n in cells], area="south"),
            put("counts", "high", lambda cells: [n + 1 for n in cells], area="south"),
            recount,
        ),
        "the multipliers",
    )
    yield Kind(
        "together: nothing shows through in an area, its findings, figures and headline gone",
        all_of(drop_all("findings", area="south"), recount, in_text("report.html", "<h1>", "<h1>Nothing. ")),
        "a finding is missing",
    )


KINDS = [
    *_claims(),
    *_findings(),
    *_areas(),
    *_evidence(),
    *_counts(),
    *_descriptions(),
    *_manifest(),
    *_pages(),
    *_together(),
]


def table_of_kinds() -> str:
    """The kinds, as the documentation lists them."""
    rows = [
        f"| {kind.name} | {'caught' if not kind.left else f'not covered: “{kind.left}”'} |" for kind in KINDS
    ]
    return "\n".join(["| what is changed | `verify` |", "|---|---|", *rows])


if __name__ == "__main__":
    print(table_of_kinds())  # noqa: T201
