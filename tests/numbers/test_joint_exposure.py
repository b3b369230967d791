"""All columns of a person at once."""

from __future__ import annotations

import numpy as np
import pytest

from showthrough.errors import InputError
from showthrough.numbers.attack import attack
from showthrough.numbers.attack_summary import AttackSummary
from showthrough.numbers.ellipsoids import Ellipsoids
from showthrough.numbers.exposure import expose_jointly
from showthrough.numbers.interquantile import PrivacyIntervals


def people(n: int = 600) -> np.ndarray:
    rng = np.random.default_rng(2)
    common = rng.normal(50, 8, (n, 1))
    return np.hstack([common + rng.normal(0, 2, (n, 1)) for _ in range(3)])


def test_ellipsoids_inside_boxes_by_their_surface() -> None:
    """Points all over the surface are inside the box if and only if the projections are."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        root = rng.normal(size=(3, 3))
        covariance, centre = root @ root.T, rng.normal(20, 5, (1, 3))
        made = Ellipsoids(centre, covariance, confidence=0.9)
        directions = rng.normal(size=(4_000, 3))
        directions = np.vstack([directions, np.linalg.inv(root @ root.T) @ covariance, covariance])
        scaled = (
            directions
            / np.sqrt(np.einsum("ij,jk,ik->i", directions, np.linalg.inv(covariance), directions))[:, None]
        )
        surface = centre + np.sqrt(made.squared_radius) * scaled
        boxes = [PrivacyIntervals.absolute(centre[:, at], float(rng.uniform(1, 12))) for at in range(3)]
        inside = all(
            ((one.low <= surface[:, at]) & (surface[:, at] <= one.high + 1e-9)).all()
            for at, one in enumerate(boxes)
        )
        found = expose_jointly(centre, made, privacy=boxes).jointly.count
        assert found <= inside  # what is said to be inside is
        if not found:
            low, high = made.projections()
            assert any(
                (low[0, at] < one.low[0]) or (high[0, at] > one.high[0]) for at, one in enumerate(boxes)
            )


def test_together_is_less_than_one_by_one_and_holds() -> None:
    truth = people(3_000)
    noisy = truth + np.random.default_rng(3).normal(0, 3, truth.shape)
    found = attack(noisy, "gaussian:sd=3", truth, privacy=[0.1, 0.2, 0.4])
    assert len(found.joint) == 3
    for row in found.joint:
        assert row.jointly.count <= row.one_by_one.count
        assert row.coverage.value > 0.9
        assert row.is_credible(0.95)
    shares = [row.jointly.value for row in found.joint]
    assert shares == sorted(shares)
    summary = AttackSummary.of(found)
    assert summary.together.startswith("In all 3 columns together, ")
    assert AttackSummary.from_plain(summary.to_plain()).joint == summary.joint


def test_ellipsoids_that_do_not_hold_are_not_believed() -> None:
    truth = people()
    noisy = truth + np.random.default_rng(3).normal(0, 12, truth.shape)
    found = attack(noisy, "gaussian:sd=2", truth, privacy=0.3)
    assert not found.joint[0].is_credible(0.95)
    assert "cannot be determined" in AttackSummary.of(found).together


def test_one_column_has_no_joint_share() -> None:
    truth = people()[:, 0]
    found = attack(truth + np.random.default_rng(3).normal(0, 6, len(truth)), "gaussian:sd=6", truth)
    assert found.joint == ()


def test_other_people() -> None:
    made = Ellipsoids([[0.0, 0.0]], np.eye(2))
    with pytest.raises(InputError, match="not about the same people"):
        expose_jointly([[0.0, 0.0]], made, privacy=[PrivacyIntervals.absolute([0.0], 1.0)])
