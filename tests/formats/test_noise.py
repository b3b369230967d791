"""Counts with bounded noise: what a value means is found by trying every count and every noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import showthrough as st
from showthrough.formats.design import ReleaseShape
from showthrough.formats.noise_file import noise_to_toml
from showthrough.formats.toml import check_shape, read_toml
from showthrough.perturbation import ZEROS, BoundedNoise, PerturbationTable, TransitionTable

TOP = 40

SCHEMA = '[attributes.sex]\nvalues = ["f", "m"]\n'


def published(count: int, at_most: int, zeros: str) -> set[int]:
    """Every value that a count may be published as, by the words of the definition."""
    values = {max(0, count + noise) for noise in range(-at_most, at_most + 1)}
    if zeros != "changed" and count == 0:
        return {0}
    return values - {0} if zeros == "exact" and count > 0 else values


@pytest.mark.parametrize("zeros", ZEROS)
@pytest.mark.parametrize("at_most", [1, 2, 3, 5])
def test_a_value_stands_for_every_count_that_noise_can_make_it(at_most: int, zeros: str) -> None:
    noise = BoundedNoise(at_most, zeros)
    for value in range(TOP - 6):
        counts = [count for count in range(TOP) if value in published(count, at_most, zeros)]
        assert noise.bounds(value) == (min(counts), max(counts)), value
        below, above = noise.reach
        assert value - below <= min(counts) <= max(counts) <= value + above


def random_changes(rng: np.random.Generator) -> list[list[int]]:
    """Some changes of each count, with gaps."""
    n_classes = int(rng.integers(1, 7))
    every = [list(range(-min(count, 3), 4)) for count in range(n_classes)]
    return [rng.choice(one, size=rng.integers(1, len(one) + 1)).tolist() for one in every]


@pytest.mark.parametrize("seed", range(40))
def test_a_value_stands_for_every_count_that_a_table_can_make_it(seed: int) -> None:
    changes = random_changes(np.random.default_rng(seed))
    table = PerturbationTable(tuple(tuple(one) for one in changes))
    for value in range(TOP - 6):
        counts = [c for c in range(TOP) if value - c in changes[min(c, len(changes) - 1)]]
        if counts:
            assert table.bounds(value) == (min(counts), max(counts)), (changes, value)
        else:
            with pytest.raises(st.ReleaseError, match="publishes no count as this value"):
                table.bounds(value)


METHODS = [BoundedNoise(2), BoundedNoise(3, "kept"), BoundedNoise(1, "exact"), BoundedNoise(10**9)]
METHODS += [PerturbationTable(((0,), (-1, 2), (-2, 0, 1), (-1, 0, 1)))]


@pytest.mark.parametrize("noise", METHODS, ids=repr)
def test_the_value_of_an_interval_is_found_again(noise: BoundedNoise | PerturbationTable) -> None:
    possible = [v for v in range(30) if _can_be_published(noise, v)]
    for value in possible:
        again = noise.value(*noise.bounds(value))
        assert again is not None
        assert noise.bounds(again) == noise.bounds(value)
    known = {noise.bounds(value) for value in range(40) if _can_be_published(noise, value)}
    for low in range(12):
        for high in range(low, 20):
            assert (noise.value(low, high) is not None) == ((low, high) in known)


def _can_be_published(noise: BoundedNoise | PerturbationTable, value: int) -> bool:
    try:
        noise.bounds(value)
    except st.ReleaseError:
        return False
    return True


@pytest.mark.parametrize("noise", METHODS, ids=repr)
def test_columns_are_read_as_single_values_are(noise: BoundedNoise | PerturbationTable) -> None:
    notation = st.Notation({"*": (1, 4)}, noise=noise)
    texts = ["0", "3", "12", "*", "1-4", "12.0", "unknown", "<5"]
    low, high = st.parse_values(pa.array(texts), notation)
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == [
        st.parse_value(text, notation) for text in texts
    ]
    assert st.parse_value("1-4", notation) == (1, 4)


@pytest.mark.parametrize("noise", METHODS, ids=repr)
def test_a_noisy_release_reads_back(tmp_path: Path, noise: BoundedNoise | PerturbationTable) -> None:
    schema = st.Schema.of({"sex": ["f", "m"], "age": ["young", "old"]})
    layout = st.Layout(schema, (st.make_table(schema, "sex*age"), st.make_table(schema, "total")))
    ends = [noise.bounds(5), noise.bounds(0), (3, 3), (2, 9), (7, 7)]
    release = st.Release(layout, *np.array(ends).T)
    noisy = {"sex*age": noise}
    st.write_release(layout, tmp_path / "release.toml", counts="counts.csv", noise=noisy)
    st.write_counts(release, tmp_path / "counts.csv", noise=noisy)
    (again,) = st.read_release(tmp_path / "release.toml")
    assert list(zip(again.low.tolist(), again.high.tolist(), strict=True)) == ends
    assert (tmp_path / "counts.csv").read_text().splitlines()[1].endswith('"5"')
    assert f"noise = {noise_to_toml(noise)}" in (tmp_path / "release.toml").read_text()
    assert [n.noise for n in st.read_design(tmp_path / "release.toml").notations] == [noise, None]


def write(folder: Path, noise: str, tables: str = '[[tables]]\nformula = "sex"\n', ptable: str = "") -> Path:
    """A release file with noise, and perhaps a perturbation table beside it."""
    (folder / "release.toml").write_text(f"{SCHEMA}{noise}\n{tables}")
    (folder / "ptable.csv").write_text(ptable)
    return folder / "release.toml"


def test_a_table_has_its_own_noise_or_none(tmp_path: Path) -> None:
    tables = "\n".join(
        f'[[tables]]\nname = "{name}"\nformula = "sex"\n{noise}'
        for name, noise in [
            ("a", ""),
            ("b", "noise = false"),
            ("c", "noise = { at_most = 1, zeros = 'exact' }"),
            ("d", "noise = { ptable = 'ptable.csv' }"),
            ("e", "noise = false\nrounding = { base = 3 }"),
        ]
    )
    path = write(tmp_path, "[noise]\nat_most = 2\nzeros = 'kept'", tables, "i,j,p\n0,0,1\n")
    design = st.read_design(path)
    assert [n.noise for n in design.notations] == [
        BoundedNoise(2, "kept"),
        None,
        BoundedNoise(1, "exact"),
        TransitionTable(((0,),), ((1.0,),)),
        None,
    ]
    said = "table a: published with noise of at most 2, and a count of 0 is published as 0: "
    assert design.notes[0] == f"{said}10 stands for 8 to 12"
    shape = check_shape(
        ReleaseShape, read_toml(path, error=st.ReleaseError), file=None, error=st.ReleaseError
    )
    assert shape.ptables(path) == [tmp_path / "ptable.csv"]


WRONG = {
    "nothing": ("[noise]", "noise must be declared in one way"),
    "twice": ("[noise]\nat_most = 2\nptable = 'ptable.csv'", "found 'at_most, ptable'"),
    "negative": ("[noise]\nat_most = -1", "impossible size of noise"),
    "huge": (f"[noise]\nat_most = {10**30}", "a number of over 20 digits"),
    "fraction": ("[noise]\nat_most = 1.5", "valid integer"),
    "zeros": ("[noise]\nat_most = 2\nzeros = 'keep'", "unknown treatment of zeros"),
    "zeros of a table": ("[noise]\nchanges = [[0]]\nzeros = 'kept'", "zeros does not go with changes"),
    "key": ("[noise]\nbase = 2", "unknown key"),
    "rounding": ("[noise]\nat_most = 2\n[rounding]\nbase = 5", "noise = { at_most = 4 }"),
    "no changes": ("[noise]\nchanges = []", "needs changes for the counts from 0"),
    "no change": ("[noise]\nchanges = [[0], []]", "no changes for a count of 1"),
    "below zero": ("[noise]\nchanges = [[0], [-2]]", "makes a count of 1 negative"),
    "wild": ("[noise]\nchanges = [[0], [20000]]", "by too much"),
    "elsewhere": ("[noise]\nptable = '/etc/ptable.csv'", "absolute path"),
    "missing": ("[noise]\nptable = 'other.csv'", "other.csv"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_noise_is_refused(tmp_path: Path, name: str) -> None:
    noise, message = WRONG[name]
    with pytest.raises(st.InputError) as error:
        st.read_design(write(tmp_path, noise))
    assert message in str(error.value), str(error.value)


def test_rounded_and_noisy_counts_lie_within_what_the_remedy_says() -> None:
    """The noise that the message offers in place of both covers every way to add noise and then round."""
    both = {
        (st.Rounding(base, method), at_most) for base in (2, 3, 5) for method in _SHOWN for at_most in (1, 2)
    }
    for rounding, at_most in both:
        with pytest.raises(st.ReleaseError) as error:
            st.Notation(rounding=rounding, noise=BoundedNoise(at_most))
        offered = BoundedNoise(int((error.value.remedy or "").rpartition("at_most = ")[2].rstrip(" }")))
        for count in range(25):
            for noisy in range(max(0, count - at_most), count + at_most + 1):
                for value in _SHOWN[rounding.method](noisy, rounding.base):
                    low, high = offered.bounds(value)
                    assert low <= count <= high


_SHOWN = {
    "conventional": lambda n, base: {(2 * n + base) // (2 * base) * base},
    "random": lambda n, base: {n // base * base, -(-n // base) * base},
    "down": lambda n, base: {n // base * base},
    "up": lambda n, base: {-(-n // base) * base},
}


PTABLE = "i,j,p\n0,0,1\n1,0,0.5\n1,2,0.5\n2,1,0.25\n2,2,0.5\n2,3,0.25\n"


@pytest.mark.parametrize(
    "text",
    [
        PTABLE,
        PTABLE.replace("i,j,p", "I,J,P"),
        "i,v,p,p_int_ub\n0,0,1,1\n1,-1,0.5,.5\n1,1,0.5,1\n2,-1,0.25,1\n2,0,0.5,1\n2,1,0.25,1\n",
        "i,j,v,p\n1,0,-1,0.5\n1,1,0,0\n1,2,1,.5\n2,1,-1,2.5e-1\n2,2,0,0.5\n2,3,1,0.25\n0,0,0,1\n",
        "i,v,p\n0,0,1\n1,−1,0.5\n1,+1,0.5\n2,-1,0.25\n2,0,0.5\n2,1,0.25\n",
    ],
    ids=["j", "capitals", "v", "both", "signs"],
)
def test_perturbation_tables_are_read_in_every_layout(tmp_path: Path, text: str) -> None:
    (tmp_path / "ptable.csv").write_text(text)
    assert st.read_perturbation_table(tmp_path / "ptable.csv").changes == ((0,), (-1, 1), (-1, 0, 1))


WRONG_TABLES = {
    "no p": ("i,j\n0,0\n", "has no column p"),
    "no j": ("i,p\n0,1\n", "has no column j"),
    "empty": ("i,j,p\n", "there are no records"),
    "gap": ("i,j,p\n0,0,1\n2,2,1\n", "no rows for a count of 1"),
    "no zero": ("i,j,p\n1,1,1\n", "no rows for a count of 0"),
    "sum": ("i,j,p\n0,0,1\n1,0,0.333\n1,1,0.333\n1,2,0.333\n", "for a count of 1 do not add up to 1"),
    "twice": ("i,j,p\n0,0,0.5\n0,0,0.5\n", "row 2"),
    "text": ("i,j,p\n0,zero,1\n", "row 1, column j"),
    "fraction": ("i,j,p\n0,0.5,1\n", "not a whole number"),
    "probability": ("i,j,p\n0,0,2\n", "not a probability"),
    "not a number": ("i,j,p\n0,0,nan\n", "not a probability"),
    "negative": ("i,j,p\n-1,0,1\n", "impossible count"),
    "published negative": ("i,j,p\n0,0,1\n1,-1,1\n", "makes a count of 1 negative"),
    "disagree": ("i,j,v,p\n0,0,1,1\n", "v is not j - i"),
}


@pytest.mark.parametrize("name", WRONG_TABLES)
def test_wrong_perturbation_tables_are_refused(tmp_path: Path, name: str) -> None:
    text, message = WRONG_TABLES[name]
    path = write(tmp_path, "[noise]\nptable = 'ptable.csv'", ptable=text)
    with pytest.raises(st.ReleaseError) as error:
        st.read_design(path)
    assert message in str(error.value), str(error.value)
    assert "ptable.csv" in str(error.value)


def test_an_impossible_value_names_its_row(tmp_path: Path) -> None:
    """A count of 1 becomes 0 or 2 and everything else stays, so nothing is published as 1."""
    path = write(tmp_path, "[noise]\nchanges = [[0], [-1, 1], [0]]")
    (tmp_path / "counts.csv").write_text("table,cell,value\nsex,sex=f,2\nsex,sex=m,1\n")
    with pytest.raises(st.ReleaseError, match="publishes no count as this value") as error:
        st.read_release(path, tmp_path / "counts.csv")
    assert error.value.row == 2


def test_noise_hides_what_exact_counts_prove_and_no_more(tmp_path: Path) -> None:
    """Zeros that are kept leave nobody where 0 is published only if positive counts never become 0."""
    schema = '[attributes.sex]\nvalues = ["f", "m"]\n[attributes.ill]\nvalues = ["no", "yes"]\n'
    (tmp_path / "counts.csv").write_text(
        'table,cell,value\nsex*ill,"sex=f,ill=yes",1\nsex*ill,"sex=f,ill=no",0\n'
        'sex*ill,"sex=m,ill=yes",1\nsex*ill,"sex=m,ill=no",4\n'
    )
    found: dict[str, tuple[int, int | None]] = {}
    for zeros in ZEROS:
        noise = f"[noise]\nat_most = 1\nzeros = '{zeros}'\n[[tables]]\nformula = 'sex*ill'\n"
        (tmp_path / "release.toml").write_text(f"counts = 'counts.csv'\n{schema}{noise}")
        (release,) = st.read_release(tmp_path / "release.toml")
        bounds = st.bounds(release, "sex=f")
        found[zeros] = bounds.low, bounds.high
    assert found == {"changed": (0, 3), "kept": (1, 3), "exact": (1, 2)}
