"""What a nation costs, by a sample whose times are known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.nation import KINDS, TAIL, Drawn, Measured

from showthrough.report.audit_page import MOST_READ

SIZES = np.concatenate([np.arange(1, 2000) % 100 + 1, [400, 500, 800]])


def drawn() -> Drawn:
    names = np.array([f"{at:05d}" for at in range(len(SIZES))])
    return Drawn(KINDS[0], pa.table({}), names, SIZES, seed=0)


def measured() -> Measured:
    sizes = np.arange(1.0, 101.0)
    return Measured(
        drawn(), sizes, 0.001 * sizes**1.5, np.array([400.0]), np.array([0.001 * 400**1.5]), besides=0.5
    )


def test_the_sample_has_no_blocks_of_the_tail_and_the_tail_begins_where_it_ends() -> None:
    blocks = drawn()
    assert 100 <= blocks.begin < 500
    assert len(set(blocks.sample(50).tolist())) == 50
    assert not {blocks.names[-1], blocks.names[-2]} & set(blocks.sample(len(SIZES)).tolist())
    assert blocks.largest(1).tolist() == [blocks.names[-3]]


def test_times_of_the_tail_are_carried_on_by_the_power_that_the_sample_has() -> None:
    found = measured()
    assert found.exponent == pytest.approx(1.5)
    assert found.carried_on(np.array([400, 1600])) == pytest.approx([8.0, 64.0])
    tail = 0.001 * SIZES[found.drawn.begin < SIZES] ** 1.5
    expected = (1 - TAIL) * found.seconds.mean() + TAIL * tail.mean() + 0.5
    assert found.mean == pytest.approx(expected)


def test_what_every_run_takes_is_left_out() -> None:
    many, few = measured(), measured()
    few.sizes = few.sizes[:2]
    many.joining, few.joining = (10 + 100 * 0.25) / 100, (10 + 2 * 0.25) / 2
    many.leave_out(few)
    assert many.joining == pytest.approx(0.25)


def test_a_page_of_many_blocks_has_more_evidence_than_that_of_a_sample() -> None:
    found = measured()
    found.page, found.proved = 3.0, MOST_READ // 4
    assert found.largest_page == pytest.approx(12.0)
    found.proved = 5 * MOST_READ
    assert found.largest_page == 3.0
