"""Certificates: their form, their steps, and that they say no more than what is published."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given

import showthrough as st
from hostile import hostile
from needs import SLOW
from showthrough.formats.vipr.certificates import CLAIM, Part, broken_rules, certify, parts_of, row_names
from showthrough.formats.vipr.vipr_file import (
    Certificate,
    DerivationStep,
    Row,
    check_certificate,
    plain_name,
    read_certificate,
    write_certificate,
)
from strategies import Case, cycles, equal_pairs, random_case
from tiny_cases import random_plan, random_tiny

VIPRCHK = shutil.which("viprchk")

#: x is a whole number, 2x = 1.
HALF = """% half of something
VER 1.1
VAR 1
x
INT 1 0
OBJ min 0
CON 1 0
half E 1  1 0 2
RTP infeas
SOL 0
DER 5
low L 0  1 0 1 { asm } -1
high G 1  1 0 1 { asm } 4
a G 1 0 { lin 2  0 1  1 -2 } -1
b G 1/1 0 { lin 2  0 -1.0  2 2 } -1
end G 1 0 { uns 3 1  4 2 } -1
"""

#: x − y = 1/2 cannot be rounded to equality, but 2x − 2y ≥ 1 rounds x − y up.
ROUNDED = """VER 1.0
VAR 2 x y INT 2 0 1 OBJ max 1 0 1
CON 2 0
a G 1 2 0 2 1 -2
b L 1/2 2 0 1 1 -1
RTP infeas SOL 0 DER 2
up G 1 2 0 1 1 -1 { rnd 1 0 1/2 } -1
end G 1/2 0 { lin 2 2 1 1 -1 } -1
"""


def accepted(text: str) -> bool:
    try:
        check_certificate(read_certificate(text))
    except st.ProofError:
        return False
    return True


@pytest.mark.parametrize("text", [HALF, ROUNDED])
def test_what_others_write_is_read(text: str) -> None:
    read = read_certificate(text)
    check_certificate(read)
    assert read_certificate(write_certificate(read)) == read


def test_numbers_are_read_exactly() -> None:
    steps = read_certificate(HALF.replace("-1.0", "-0.50").replace("1/1", "2/6")).steps
    assert steps[3].row.value == Fraction(1, 3)
    assert steps[3].uses[0] == (0, Fraction(-1, 2))


#: What is changed in HALF or ROUNDED, and what is said of it.
WRONG = {
    (HALF, "VER 1.1", "VER 2.0"): "version 2.0",
    (HALF, "VAR 1", "VAR -1"): "how many",
    (HALF, "VAR 1", "VAR ¹"): "how many",
    (HALF, "VAR 1", "VAR 99"): "ends too early",
    (HALF, "VAR 1", "RAV 1"): "should say VAR",
    (HALF, "INT 1 0", "INT 1 1"): "there are 1 so far",
    (HALF, "OBJ min", "OBJ most"): "min or max",
    (HALF, "half E 1", "half X 1"): "E, G or L",
    (HALF, "half E 1", "half E 1/0"): "have a number",
    (HALF, "half E 1", "half E 1e0"): "have a number",
    (HALF, "half E 1  1 0 2", "half E 1  2 0 2 0 2"): "twice",
    (HALF, "RTP infeas", "RTP range 1 1"): "should say infeas",
    (HALF, "SOL 0", "SOL 1"): "should say 0",
    (HALF, "{ asm } 4", "{ asm } -2"): "how long",
    (HALF, "{ asm } 4", "{ guess } 4"): "not known",
    (HALF, "lin 2  0 1", "lin weak { 0 } 2 0 1"): "how many",
    (HALF, "lin 2  0 1", "lin 2  3 1"): "there are 3 so far",
    (HALF, "4 2 } -1\n", "4 2 } -1\nmore"): "goes on",
    (HALF, "uns 3 1  4 2", "uns 3 1  3 1"): "leave something out",
    (HALF, "uns 3 1  4 2", "uns 3 2  4 1"): "rests on an assumption",
    (HALF, "uns 3 1  4 2", "lin 1 4 1"): "rests on an assumption",
    (HALF, "uns 3 1  4 2", "uns 0 1  4 2"): "one of the cases",
    (HALF, "high G 1", "high G 2"): "leave something out",
    (HALF, "low L 0", "low L 1/2"): "does not follow",
    (HALF, "end G 1", "end G 0"): "does not end with a contradiction",
    (HALF, "INT 1 0", "INT 0"): "leave something out",
    (HALF, "1 -2 }", "1 -1 }"): "does not follow",
    (HALF, "1 -2 }", "1 2 }"): "does not follow",
    (ROUNDED, "rnd 1 0 1/2", "lin 1 0 1/2"): "does not follow",
    (ROUNDED, "rnd 1 0 1/2", "rnd 1 0 1/4"): "cannot be rounded",
    (ROUNDED, "INT 2 0 1", "INT 1 0"): "cannot be rounded",
    (ROUNDED, "1 -1 } -1\n", "1 1 } -1\n"): "opposite directions",
    (ROUNDED, "b L 1/2", "b L 1"): "does not end|does not follow",
}


@pytest.mark.parametrize(("change", "said"), WRONG.items(), ids=[str(n) for n in range(len(WRONG))])
def test_what_is_wrong_is_refused(change: tuple[str, str, str], said: str) -> None:
    text, old, new = change
    assert text.count(old) >= 1
    with pytest.raises(st.ProofError, match=said):
        check_certificate(read_certificate(text.replace(old, new, 1)))


def test_positions_are_checked_even_if_nobody_read_them() -> None:
    end = DerivationStep(Row("end", "G", 1), "lin", ((1, 1),))
    for step in (end, replace(end, row=Row("end", "G", 1, ((0, 1),)), uses=())):
        with pytest.raises(st.ProofError, match=r"not known yet|does not exist"):
            check_certificate(Certificate((), (), (Row("a", "G", 0),), (step,)))


@given(hostile)
def test_names_are_plain(text: str) -> None:
    name = plain_name(text)
    assert re.fullmatch(r"[!-~]{1,80}", name)
    assert "@" not in name
    assert not name.startswith("%")


def test_no_two_rows_have_one_name() -> None:
    names = row_names([("t", "x y"), ("t", "x_y"), ("t", "a" * 200), ("t", "a" * 200 + "b")])
    assert len(set(names)) == 4


# --- Certificates of proofs ---------------------------------------------------------------------------------


#: What a row counts: weights and selections.
Counted = tuple[tuple[int, st.Selection], ...]


def variable_columns(certificate: Certificate) -> list[dict[str, int]]:
    """For each variable the rows that it stands in, and how often."""
    columns: list[dict[str, int]] = [{} for _ in certificate.variables]
    for row in certificate.rows[certificate.n_bounds :]:
        for variable, factor in row.terms:
            assert factor >= 1
            columns[variable][row.name] = int(factor)
    return columns


def meaning(
    certificate: Certificate, part: Part, claim: st.Selection, m: int, release: st.Release
) -> dict[str, tuple[str, Counted]]:
    """What each row is about, once it is known to say no more than what is published."""
    published = dict(zip(row_names(release.layout.names), release.cells, strict=True))
    excluded = {one.name: st.Selection(one.terms) for one in broken_rules(release.schema)}
    found: dict[str, tuple[str, Counted]] = {}
    for row in certificate.rows[certificate.n_bounds :]:
        name = row.name.partition("@")[0]
        if name == CLAIM:
            assert {"at_least": row.value == m - 1, "at_most": row.value == m + 1, "never": row.value == m}[
                part
            ]
            assert row.sense in {"at_least": "L", "at_most": "G", "never": "LG"}[part]
            found[row.name] = row.sense, ((1, claim),)
        elif name in excluded:
            assert (row.sense, row.value) == ("L", 0)
            found[row.name] = "L", ((1, excluded[name]),)
        else:
            cell = published[name]
            assert row.value <= cell.low if row.sense == "G" else row.value >= cell.high
            found[row.name] = row.sense, cell.terms
    for row in certificate.rows[: certificate.n_bounds]:
        assert (row.sense, row.value, len(row.terms)) == ("G", 0, 1)
    return found


def check_meaning(
    certificate: Certificate, part: Part, claim: st.Selection, m: int, release: st.Release
) -> None:
    """Every record type has a variable: in all "at least" rows that count it, in no wrong "at most" row."""
    about = meaning(certificate, part, claim, m, release)
    assert certificate.whole == tuple(range(len(certificate.variables)))
    columns = variable_columns(certificate)
    attributes = release.schema.attributes
    for values in itertools.product(*(attribute.values for attribute in attributes)):
        record = dict(zip((a.name for a in attributes), values, strict=True))
        times = {name: sum(w for w, s in terms if s.matches(record)) for name, (_, terms) in about.items()}
        least = {name for name, count in times.items() if count and about[name][0] == "G"}
        assert not least or any(
            all(column.get(name, 0) >= times[name] for name in least)
            and all(count <= times[name] for name, count in column.items() if about[name][0] == "L")
            for column in columns
        ), record


def proofs_of(release: st.Release) -> Iterator[st.Proof]:
    found = st.audit(release, scope=st.Scope(absent=True, gaps=True))
    for verdict in found.verdicts:
        if verdict.proof is not None:
            yield replace(verdict.proof, selection=verdict.claim.selection.terms)
    for finding in found.findings:
        yield from finding.proofs


def run_viprchk(text: str, folder: Path) -> bool:
    assert VIPRCHK is not None
    (folder / "one.vipr").write_text(text, "ascii")
    return subprocess.run([VIPRCHK, folder / "one.vipr"], capture_output=True, check=False).returncode == 0


def check_case(release: st.Release, folder: Path) -> int:
    """Every proof of a release as certificates, checked in every way; how many there are."""
    names, n_found = row_names(release.layout.names), 0
    for proof, number in zip(proofs_of(release), itertools.count()):
        selection = st.Selection(proof.selection)
        for part in parts_of(proof):
            certificate = certify(proof, part, [proof.selection], release, names, ["for a test"])
            text = write_certificate(certificate)
            assert read_certificate(text) == certificate
            check_certificate(read_certificate(text))
            check_meaning(certificate, part, selection, proof.multiplicity, release)
            if VIPRCHK and number % 10 == 0:
                assert run_viprchk(text, folder), text
            n_found += 1
    return n_found


@pytest.mark.parametrize("seed", range(25 if SLOW else 10))
def test_certificates_of_random_releases(seed: int, tmp_path: Path) -> None:
    check_case(random_case(seed).release, tmp_path)


@pytest.mark.parametrize("seed", [*range(8 if SLOW else 4), 30, 31])
def test_certificates_of_sums_and_weights(seed: int, tmp_path: Path) -> None:
    plan = random_plan(seed, sums=True)
    cases = [random_tiny(plan, seed, draw) for draw in range(3)]
    assert sum(check_case(case.release, tmp_path) for case in cases if len(case.counts))


@pytest.mark.parametrize("case", [cycles(3), cycles(5), equal_pairs(2)], ids=["3", "5", "pairs"])
def test_certificates_with_halves_and_gaps(case: Case, tmp_path: Path) -> None:
    assert check_case(case.release, tmp_path)


def four_kinds() -> st.Release:
    schema = st.Schema.of({"kind": ["A", "B", "C", "D"]})
    cells = [
        st.Cell("+".join(kinds), st.Selection.of(kind=list(kinds))) for kinds in ("AD", "AB", "BC", "BD")
    ]
    return st.Release.of(schema, {st.Table("sums", tuple(cells)): [2, 3, 3, (0, 2)]})


def certificate_with_cases() -> tuple[Certificate, st.Proof, st.Release]:
    release = four_kinds()
    proof = st.bounds(release, st.Selection.of(kind=["A", "C"])).low_proof
    assert proof is not None
    names = row_names(release.layout.names)
    return certify(proof, "at_least", [proof.selection], release, names), proof, release


def test_cases_are_told_apart() -> None:
    certificate, proof, release = certificate_with_cases()
    assert [step.reason for step in certificate.steps] == ["asm", "asm", "lin", "lin", "uns"]
    check_meaning(certificate, "at_least", st.Selection(proof.selection), 4, release)


@pytest.mark.skipif(VIPRCHK is None, reason="viprchk, a checker that others wrote, is not on PATH")
def test_another_checker_agrees_about_changed_numbers(tmp_path: Path) -> None:
    """Every number of a certificate, one up: whatever we accept the other accepts too, and the reverse."""
    text = write_certificate(certificate_with_cases()[0])
    assert run_viprchk(text, tmp_path)
    start = text.index("CON")
    refused = 0
    for found in re.finditer(r"(?<= )-?[0-9]+(?=[ \n])", text[start:]):
        at = start + found.start()
        changed = text[:at] + str(int(found[0]) + 1) + text[at + len(found[0]) :]
        mine = accepted(changed)
        refused += not mine
        if changed.count("} -1") == text.count("} -1"):  # how long a row is needed is left to its reader
            assert mine == run_viprchk(changed, tmp_path), changed
    assert refused > 20


def test_multipliers_that_prove_less_are_refused() -> None:
    _, proof, release = certificate_with_cases()
    names = row_names(release.layout.names)
    for wrong in (
        replace(proof, multiplicity=5),
        replace(proof, over=()),
        replace(proof, over=("kind", "kind")),
    ):
        with pytest.raises(st.ProofError):
            certify(wrong, "at_least", [proof.selection], release, names)
    for claims in ([()], [(("kind", ("A",)),)], [(("kind", ("A", "C")),), (("kind", ("A",)),)]):
        if claims != [()]:
            with pytest.raises(st.ProofError, match="exceed"):
                certify(proof, "at_least", claims, release, names)


def test_claims_that_differ_only_in_impossible_records_share_a_certificate() -> None:
    schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    release = st.Release.of(schema, {"sex*ill": [0, 3, 2, 1]})
    names = row_names(release.layout.names)
    verdicts: Mapping[str, st.Verdict] = {str(v.claim.selection): v for v in st.audit(release).verdicts}
    proof = verdicts["sex=f"].proof
    assert proof is not None
    both = [st.Selection.parse(text) for text in ("sex=f", "ill=yes,sex=f")]
    for part in parts_of(proof):
        certificate = certify(proof, part, [claim.terms for claim in both], release, names)
        for claim in both:
            check_meaning(certificate, part, claim, 3, release)


def test_numbers_beyond_64_bits() -> None:
    schema = st.Schema.of({"sex": ["f", "m"]})
    release = st.Release.of(schema, {"total": [3], "sex": [1, None]})
    proof = st.bounds(release, "sex=m").low_proof
    assert proof is not None
    leaf = proof.leaves[0]
    large = 10**30
    cells = tuple((at, u * large) for at, u in leaf.cells)
    scaled = replace(leaf, cells=cells, denominator=large, total=leaf.total * large)
    names = row_names(release.layout.names)
    certificate = certify(replace(proof, at_least=scaled), "at_least", [proof.selection], release, names)
    check_meaning(certificate, "at_least", st.Selection(proof.selection), 2, release)
