"""Findings about groups of unknown size: what an LP that starts warm leaves to those that start cold."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import showthrough as st
from needs import SLOW
from showthrough.tables import group_findings
from showthrough.tables.search.shorten import Shortener
from showthrough.tables.search.solver import Program
from strategies import random_case

#: In few of them it is asked at all: 47, 58 and 70, for instance.
SEEDS = range(150) if SLOW else range(45, 72)


def nothing(*_: object, **_options: object) -> None:
    """No short proof."""


@pytest.mark.slow
def test_the_warm_look_changes_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """With it and without it the same findings have the same proofs; and it spares some LPs.

    Short proofs, which are looked up before, would leave it little to do.
    """
    look, answers = group_findings._may_be_nobody, list[bool]()
    monkeypatch.setattr(Shortener, "at_least", nothing)

    def noted(program: Program, goal: NDArray[np.int64]) -> bool:
        answers.append(look(program, goal))
        return answers[-1]

    for seed in SEEDS:
        case = random_case(seed)
        monkeypatch.setattr(group_findings, "_may_be_nobody", noted)
        quick = st.audit(case.release, truth=case.records).findings
        monkeypatch.setattr(group_findings, "_may_be_nobody", lambda *_: False)
        assert st.audit(case.release, truth=case.records).findings == quick
    assert set(answers) == {True, False}
