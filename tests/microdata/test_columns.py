"""Columns as they come: identifiers are not published by mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import showthrough as st
from crowd import METHODS, SEED, people
from showthrough.errors import InputError, RecordsError
from showthrough.microdata.columns import FEW, Columns


def numbered(n_rows: int = 400) -> pa.Table:
    """People with a number each."""
    table = people(n_rows)
    return table.append_column("number", pa.array(np.arange(n_rows)))


class TestIdentifiers:
    @pytest.mark.parametrize("method", METHODS)
    def test_an_identifier_is_refused_by_every_method(self, tmp_path: Path, method: str) -> None:
        """Published as it was before: 400 rows, each with its number beside the perturbed illness."""
        with pytest.raises(RecordsError) as caught:
            st.publish(numbered(), tmp_path / "p", sensitive="ill", method=METHODS[method], seed=SEED)
        said = str(caught.value)
        assert "number has 400 different values in 400 records" in said
        assert "--drop number" in said
        assert "--bin number=" in said
        assert "--public" in said
        assert not (tmp_path / "p").exists()

    def test_what_was_consented_to_or_left_out_is_fine(self, tmp_path: Path) -> None:
        table = numbered()
        known: dict[str, Any] = {"sensitive": "ill", "method": METHODS["uniform"], "seed": SEED}
        found = st.publish(table, tmp_path / "a", public=["age", "number"], **known)
        assert found.manifest.public == ("age", "number")
        found = st.publish(table, tmp_path / "b", drop=["number", "job"], **known)
        assert found.manifest.public == ("age", "town")
        assert found.notes == ()
        plain = st.publish(table.drop_columns(["number"]), tmp_path / "c", drop="job", **known)
        assert plain.to_arrow().equals(found.to_arrow())

    @pytest.mark.parametrize(
        ("n_rows", "n_values", "refused"),
        [(40, 20, False), (40, 21, True), (1000, 500, False), (1000, 501, True), (FEW, FEW, False)],
    )
    def test_the_rule_has_an_edge(self, n_rows: int, n_values: int, refused: bool) -> None:
        """More than half as many different values as records, of more than 20 records."""
        table = people(n_rows).append_column("code", pa.array(np.arange(n_rows) % n_values))
        table = table.append_column("ill_too", table["ill"])
        for ask in (
            lambda: st.check(table, "diversity=2", sensitive="ill"),
            lambda: st.compare(table, "uniform", sensitive="ill", retention=0.5, runs=1, queries=5),
            lambda: Columns.of("ill").read(table),
        ):
            if refused:
                with pytest.raises(RecordsError, match=f"code has {n_values} different values"):
                    ask()
            else:
                ask()

    def test_texts_and_decimals_are_identifiers_too(self) -> None:
        table = people(300)
        table = table.append_column("name", pa.array([f"person {at}" for at in range(300)]))
        table = table.append_column("income", pa.array(np.random.default_rng(1).lognormal(10, 1, 300)))
        with pytest.raises(RecordsError) as caught:
            Columns.of("ill").read(table)
        said = str(caught.value)
        assert "name has 300 and income has 300 different values" in said
        assert "--drop name,income" in said
        assert "--bin income=" in said
        table = table.drop_columns(["income"])
        with pytest.raises(RecordsError) as caught:
            Columns.of("ill").read(table)
        assert "--bin" not in str(caught.value)

    def test_a_tiny_table_is_published_with_a_note(self, tmp_path: Path) -> None:
        table = numbered(12)
        found = st.publish(table, tmp_path / "p", sensitive="ill", retention=0.3, seed=SEED)
        (note,) = found.notes
        assert "number has 12 different values in 12 records" in note
        assert st.Publication.open(tmp_path / "p").notes == ()

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            ({"drop": ["nimber"]}, "did you mean 'number'"),
            ({"drop": "ill"}, "both left out and sensitive"),
            ({"drop": "age", "public": ["age"]}, "both left out and public"),
            ({"drop": 3}, "drop must be"),
            ({"public": ["nimber"]}, "did you mean 'number'"),
        ],
    )
    def test_wrong_names(self, tmp_path: Path, options: dict[str, Any], why: str) -> None:
        with pytest.raises(InputError, match=why):
            st.publish(numbered(), tmp_path / "p", sensitive="ill", retention=0.3, seed=SEED, **options)
        assert not (tmp_path / "p").exists()

    def test_a_check_of_a_publication_takes_no_columns(self, tmp_path: Path) -> None:
        st.publish(people(), tmp_path / "p", sensitive="ill", promise="rho=0.45:0.8", seed=SEED)
        with pytest.raises(InputError, match="leave out sensitive"):
            st.check(tmp_path / "p", "rho=0.45:0.8", drop="age")
