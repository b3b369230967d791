"""Generate-then-verify as paper 000 prints it: K datasets, what they have in common, and its verification.

The datasets are generated in two ways: one after the other by a solver that enumerates, as the paper's pool
of solutions does, and spread out by random walks as ``st.worlds`` makes them. A claim is a choice of columns,
values and the number of homes that have them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from benchmarks.census import Simulation
from benchmarks.paper.data import Asked
from benchmarks.paper.figure import Curve, Figure, Said, written
from benchmarks.paper_formulation import PaperProgram
from numpy.typing import NDArray

import showthrough as st
from showthrough.tables.run.batch import Area

#: A claim as numbers: columns, codes, and how many homes have them.
Plain = tuple[tuple[int, ...], bytes, int]

KS = (1, 2, 5, 10, 20, 50, 100)


def claims_in(codes: NDArray[np.integer]) -> set[Plain]:
    """All claims that a dataset satisfies about values that occur in it."""
    found = set[Plain]()
    small = np.ascontiguousarray(codes.astype(np.uint8))
    for size in range(1, codes.shape[1] + 1):
        for columns in combinations(range(codes.shape[1]), size):
            counts = Counter(row.tobytes() for row in small[:, columns])
            found.update((columns, row, number) for row, number in counts.items())
    return found


def left_by(
    datasets: Iterable[NDArray[np.integer]], ks: Sequence[int] = KS
) -> tuple[set[Plain], dict[int, int]]:
    """What datasets have in common, and how many claims that were after the first, the second, …"""
    common, sizes = set[Plain](), dict[int, int]()
    for number, codes in enumerate(datasets, start=1):
        common = claims_in(codes) if number == 1 else common & claims_in(codes)
        # Where there are no more datasets, nothing more is ruled out.
        sizes |= {k: len(common) for k in ks if k >= number}
    return common, sizes


@dataclass(frozen=True, eq=False)
class Block:
    """One block, its audit, and the paper's program for it."""

    area: Area
    audit: st.Audit
    seconds: float
    limit: float = 60.0

    @classmethod
    def of(cls, homes: int, seed: int, limit: float) -> Block:
        """A simulated block of so many homes."""
        simulation = Simulation.of(120, seed)
        (area,) = simulation.areas(simulation.of_size(homes, homes)[:1])
        st.audit(area.release, truth=area.truth)  # what all blocks share is made on the way
        started = time.process_time()
        audit = st.audit(area.release, truth=area.truth)
        return cls(area, audit, time.process_time() - started, limit)

    @property
    def homes(self) -> int:
        """How many homes it has."""
        return 0 if self.area.truth is None else len(self.area.truth)

    def program(self, *, as_printed: bool = False) -> PaperProgram:
        """The paper's program, corrected or with its constraint (16) as printed."""
        return PaperProgram(
            self.area.release, self.homes, ordered=True, as_printed=as_printed, seconds=self.limit
        )

    @cached_property
    def pool(self) -> list[NDArray[np.integer]]:
        """Up to 100 datasets as a solver's pool has them."""
        return list(self.program().pool(KS[-1]))

    def verified(self) -> set[Plain]:
        """What the audit verifies, as plain claims about values that occur."""
        return {
            self.plain(verdict.claim)
            for verdict in self.audit.of_kind("verified")
            if verdict.claim.multiplicity
        }

    def plain(self, claim: st.Claim) -> Plain:
        """A claim as numbers."""
        encoded = sorted(self.area.release.schema.encode(claim.selection).items())
        codes = bytes(next(iter(code)) for _, code in encoded)
        return tuple(at for at, _ in encoded), codes, claim.multiplicity

    def claim(self, plain: Plain) -> st.Claim:
        """Numbers as a claim."""
        columns, codes, number = plain
        attributes = self.area.release.schema.attributes
        values = {
            attributes[at].name: attributes[at].values[code] for at, code in zip(columns, codes, strict=True)
        }
        return st.Claim(st.Selection.of(values), number)

    def spread_out(self, k: int, seed: int) -> list[NDArray[np.integer]]:
        """K datasets by random walks."""
        return [world.records().codes for world in st.worlds(self.area.release, k, seed=seed)]


def generate_then_verify(asked: Asked) -> list[Figure]:
    """How many candidates K datasets leave, and what verifying costs beside an audit of all claims."""
    sizes = (5, 7) if asked.quick else (6, 8, 10, 12)
    blocks = [Block.of(homes, asked.seed, 10 if asked.quick else 30) for homes in sizes]
    return [_left(blocks, asked), _verifying(blocks, asked)]


def _left(blocks: Sequence[Block], asked: Asked) -> Figure:
    curves, spare = list[Curve](), list[str]()
    for block in blocks:
        verified = block.verified()
        common, by_walks = left_by(block.spread_out(KS[-1], asked.seed))
        pool, by_pool = left_by(block.pool)
        named = f"{block.homes} homes"
        for way, found in (("pool", by_pool), ("walks", by_walks)):
            curves.append(Curve.of(f"{named}, {way}", KS, [found[k] for k in KS]))
        curves.append(Curve.of(f"{named}, verified", KS, [len(verified)] * len(KS)))
        spare.append(
            f"{named}: {len(pool):,} by a pool of {len(block.pool)}, {len(common):,} by walks, "
            f"{len(verified):,} verified"
        )
        missed = len(verified - common) + len(verified - pool)
        if missed:
            spare.append(f"{missed} verified claims are not among the candidates")
    held = not any("not among" in one for one in spare)
    return Figure(
        "000",
        "candidates",
        "Claims that K datasets have in common, and claims that are verified",
        "K",
        "claims",
        tuple(curves),
        (
            Said(
                "what is guaranteed is among what the datasets have in common",
                "for every block" if held else "NOT for every block",
                held,
            ),
        ),
        f"Left after K = 100: {'; '.join(spare)}.",
        (
            "A pool of solutions holds neighbours of each other, so much is left to verify; walks spread "
            "datasets out. Here "
            "datasets refute as well, but proofs verify, all claims at once.",
        ),
        log=True,
    )


def _verifying(blocks: Sequence[Block], asked: Asked) -> Figure:
    theirs, ours, false, tried = list[list[float]](), list[float](), 0, 0
    undecided = wrong = 0
    for block in blocks:
        verified = block.verified()
        pool, _ = left_by(block.pool)
        rng = np.random.default_rng(asked.seed)
        ordered = sorted(pool)
        chosen = [ordered[int(at)] for at in rng.permutation(len(ordered))[: asked.claims]]
        seconds = list[float]()
        for plain in chosen:
            started = time.process_time()
            answer = block.program().verify(block.claim(plain))
            seconds.append(time.process_time() - started)
            undecided += answer == "undecided"
            wrong += answer == ("refuted" if plain in verified else "verified")
        theirs.append(seconds)
        ours.append(block.seconds / len(block.audit.verdicts))
        refuted = sorted(claims_in(block.spread_out(1, asked.seed)[0]) - verified)
        some = [refuted[int(at)] for at in rng.permutation(len(refuted))[: asked.claims]]
        tried += len(some)
        false += sum(
            block.program(as_printed=True).verify(block.claim(plain)) == "verified" for plain in some
        )
    at = [f"{block.homes} homes" for block in blocks]
    times = np.mean([np.mean(one) / mine for one, mine in zip(theirs, ours, strict=True)])
    return Figure(
        "000",
        "verification",
        "Core-seconds for one claim: the paper's program, and an audit of all claims divided by their number",
        "block",
        "core-seconds",
        (
            Curve.of("the program, one claim", at, np.array(theirs).T),
            Curve.of("the audit, per claim", at, ours),
        ),
        (
            Said(
                "constraint (16) as printed verifies what is true",
                f"it verifies {false} of {tried} false claims of one dataset",
                false == 0,
            ),
            Said(
                "verification decides each candidate",
                f"{undecided} ran out of time, {wrong} differ from the audit",
                not undecided and not wrong,
            ),
        ),
        f"The audit takes {1 / times:.2g} of the program's time for a claim, {times:,.0f} times less. As "
        "printed, (16) has a wrong "
        "sign: only larger counts are searched for, and false claims pass "
        f"({written(false / max(tried, 1), '%')} of those tried).",
        log=True,
    )
