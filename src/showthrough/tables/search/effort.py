"""How much work may be done for one area, and how much was done: counted, never timed."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from showthrough.errors import InputError, check_type

__all__ = [
    "Effort",
    "Work",
]


@dataclass(frozen=True)
class Effort:
    """Limits on work, counted and not timed, so that results do not depend on the machine.

    ``types``: record types; ``idle_steps`` and ``steps``: of the walk, without success and in all;
    ``iterations``: simplex iterations of one LP; ``nodes``: branches for one question; ``tries``:
    local searches for one question; ``solver``: the solver's own work units for one question, 0 where
    it is not to be called; ``programs`` and ``solvers``: for the whole area, the former in simplex
    iterations × size; ``proofs``: linear programs for short proofs, of the whole area; where it is
    large each counts several times.
    """

    types: int = 100_000
    idle_steps: int = 12
    steps: int = 400
    iterations: int = 20_000
    nodes: int = 300
    tries: int = 48
    solver: float = 4.0
    programs: float = 1e9
    solvers: float = 60.0
    proofs: int = 160

    @classmethod
    def of(cls, scale: float) -> Effort:
        """The standard limits times a factor.

        >>> Effort.of(2).nodes
        600
        """
        check_type(scale, (int, float), name="effort")
        if not 0 < scale < inf:
            raise InputError("effort must be a positive number", found=str(scale))
        base = cls()
        return cls(
            types=int(base.types * max(scale, 1)),
            idle_steps=max(1, int(base.idle_steps * scale)),
            steps=max(1, int(base.steps * scale)),
            iterations=max(100, int(base.iterations * scale)),
            nodes=max(1, int(base.nodes * scale)),
            tries=max(1, int(base.tries * scale)),
            solver=base.solver * scale,
            programs=base.programs * scale,
            solvers=base.solvers * scale,
            proofs=max(1, int(base.proofs * scale)),
        )


@dataclass
class Work:
    """What was done, in counts."""

    steps: int = 0
    programs: int = 0
    nodes: int = 0
    solves: int = 0
    stages: dict[str, int] = field(default_factory=dict[str, int])
