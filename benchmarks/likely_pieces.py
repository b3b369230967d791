"""Claims about held-out blocks with what is true, in pieces that are kept in a folder and added up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

import showthrough as st
from showthrough.errors import Undecided
from showthrough.formats.prior_file import read_prior, write_prior
from showthrough.tables.audit import area_seed
from showthrough.tables.likely.calibration import HIGH, Curve, Measure, Told, fit_curve
from showthrough.tables.likely.certainty import ByDecider
from showthrough.tables.likely.measure import ReadClaims, some_world
from showthrough.tables.likely.posterior import Posterior, find_posterior

#: Draws of each block that stand in for its truth: what chance makes if every probability is right.
STAND_INS = 60

#: A numbered block: its exact tables, and its homes.
Block = tuple[int, tuple[st.Release, st.Records]]


@dataclass(frozen=True, eq=False)
class Asked:
    """Claims about some blocks: what was said, what is true, and what stand-ins for the truth say."""

    q: np.ndarray
    true: np.ndarray
    stand_ins: np.ndarray  # claim × stand-in
    area: np.ndarray
    size: np.ndarray
    shared_q: np.ndarray = field(default_factory=lambda: np.zeros(0))  # about the claims of exact tables
    shared_true: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def joined(cls, parts: Iterable[Asked]) -> Asked:
        every = list(parts)
        return cls(
            *(np.concatenate([getattr(one, name) for one in every]) for name in cls.__dataclass_fields__)
        )

    @property
    def measure(self) -> Measure:
        return Measure.of(self.q, self.true, self.area)

    @cached_property
    def curve(self) -> Curve:
        """The correction that fits, with its figures out of fold."""
        return fit_curve(Told(self.q, self.true, self.area, self.size, np.ones(len(self.q), np.int64)))

    @property
    def by_chance(self) -> tuple[float, float]:
        """The mean ECE, and the one that 95 of 100 stay below, if blocks were drawn as the prior says."""
        found = [Measure.of(self.q, one).ece for one in self.stand_ins.T]
        return float(np.mean(found)), float(np.quantile(found, 0.95))


@dataclass(frozen=True)
class Pieces:
    """Which blocks to look at now, and where what was found is kept."""

    folder: Path | None = None
    number: int = 1
    of: int = 1

    def prior(self, name: str, fit: Callable[[], st.Prior]) -> st.Prior:
        """A prior that is fitted once for all pieces."""
        if self.folder is None:
            return fit()
        file = self.folder / f"{name}.json"
        if not file.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            write_prior(fit(), file)
        return read_prior(file)

    def told(self, name: str, blocks: list[Block], ask: Callable[[Block], Asked | None]) -> Asked:
        """What this piece and those kept before say."""
        file = None if self.folder is None else self.folder / f"{name}.{self.number}-{self.of}.npz"
        if file is None or not file.exists():
            mine = [
                found for block in blocks[self.number - 1 :: self.of] if (found := ask(block)) is not None
            ]
            one = Asked.joined(mine)
            if file is None:
                return one
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(file, **{key: getattr(one, key) for key in Asked.__dataclass_fields__})
        kept = sorted(file.parent.glob(f"{name}.*-{self.of}.npz"))
        print(f"  {name}: {len(kept)} of {self.of} pieces", flush=True)
        return Asked.joined(Asked(**np.load(one)) for one in kept)


def ask_block(
    block: Block, prior: st.Prior, publish: Callable[[st.Release], st.Release], *, seed: int = 1
) -> Asked | None:
    """Claims of a dataset that knows what was published and no more, asked of what was published.

    Beside them claims of a dataset that agrees with the exact tables, the same whatever is published: they
    tell how much noise takes away. Whether probabilities come true they do not tell where tables have
    noise: what exact tables allow is true more often than noisy ones can say.
    """
    number, (release, truth) = block
    try:
        exact = find_posterior(release, prior, seed=seed)
        published = publish(release)
        posterior = exact if published is release else find_posterior(published, prior, seed=seed)
    except Undecided:
        return None
    if not isinstance(exact.prover, ByDecider):
        raise AssertionError("tables without noise are decided")
    shared = _unproved(_read_off(exact, seed), exact)
    claims = shared if posterior is exact else _read_off(posterior, seed)
    codes = truth.codes[:, list(posterior.universe.frame.over)].astype(np.int64)
    kept, q = claims.said(posterior)
    also, shared_q = shared.said(posterior)
    return Asked(
        q,
        claims.hold(codes)[kept],
        np.column_stack([claims.hold(one)[kept] for one in _some_draws(posterior)]),
        np.full(len(q), number, np.int64),
        np.full(len(q), len(truth), np.int64),
        shared_q,
        shared.hold(codes)[also],
    )


def _read_off(posterior: Posterior, seed: int) -> ReadClaims:
    area = posterior.release.area
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([area_seed(seed, area), 7])))
    return ReadClaims.of(some_world(posterior, rng), rng)


def _unproved(claims: ReadClaims, exact: Posterior) -> ReadClaims:
    """Those that exact tables do not prove."""
    unproved, _ = claims.said(exact)
    values = [one for one, kept in zip(claims.values, unproved, strict=True) if kept]
    return ReadClaims(values, claims.counts[unproved])


def _some_draws(posterior: Posterior) -> list[np.ndarray]:
    """Datasets that were drawn, far from each other in their chains."""
    draws = posterior.draws.reshape(-1, posterior.draws.shape[2])
    some = draws[np.linspace(0, len(draws) - 1, STAND_INS).astype(int)]
    codes = posterior.universe.codes.astype(np.int64)
    return [codes[one[one < len(codes)]] for one in some]


def print_head() -> None:
    heads = ("blocks", "n", "Brier", "ECE", "chance", "95 %", ">=.9", "said", "true")
    print(f"{'':44} " + " ".join(f"{head:>6}" for head in heads))


def print_asked(name: str, asked: Asked) -> None:
    """Two lines: what was said, and what is said after correction."""
    n_blocks = len(np.unique(asked.area))
    for what, one in ((name, asked.measure), (f"{name}, out of fold", asked.curve.corrected)):
        print_measure(what, n_blocks, one, asked.by_chance)
    if len(asked.shared_q):
        brier = float(np.mean((asked.shared_q - asked.shared_true) ** 2))
        print(f"    about the claims of exact tables: Brier {brier:.3f} of {len(asked.shared_q)}", flush=True)
    slope, intercept = asked.curve.slope, asked.curve.intercept
    earned = "earned" if asked.curve.earned else "not earned"
    print(f"    slope {slope:.2f}, intercept {intercept:.2f}, from {HIGH} on {earned}", flush=True)


def print_measure(name: str, n_blocks: int, one: Measure, chance: tuple[float, float]) -> None:
    """One line."""
    high = f"{one.said_high:6.3f} {one.true_high:6.3f}" if one.n_high else f"{'-':>6} {'-':>6}"
    print(
        f"{name:44} {n_blocks:6} {one.n:6} {one.brier:6.3f} {one.ece:6.3f} {chance[0]:6.3f} {chance[1]:6.3f} "
        f"{one.n_high / max(one.n, 1):6.3f} {high}",
        flush=True,
    )
