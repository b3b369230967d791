"""What verifying a run found: how much was checked, what does not hold, and what was not covered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from showthrough.text import several

__all__ = [
    "OPEN",
    "Verification",
]

#: What is counted, each with the word for one.
COUNTED = {
    "areas": "area",
    "proofs": "proof",
    "claims": "claim",
    "witnesses": "witness",
    "findings": "finding",
    "sentences": "sentence",
    "figures": "figure",
}

#: What is not covered, wherever it is found; {areas} is the number of areas.
OPEN = {
    "counts": "whether the counts are the published ones, and all areas are there: "
    "compare counts.parquet with the publication",
    "schema": "the schema and the tables: values, rules, wording and what the cells count are taken as given",
    "claims": "claims that were not found: whether more follows from the tables than is listed ({areas})",
    "absences": "whether more selections match nobody, or more counts are impossible, than listed ({areas})",
    "undecided": "whether undecided claims hold ({areas})",
    "refuted": "how many claims are refuted: the datasets that refute them were not kept ({areas})",
    "types": "how many record types there are, where they are too many to be listed ({areas})",
    "records": "the number of records, where no table adds up to it ({areas})",
    "determined": "whether only one dataset agrees with the tables ({areas})",
    "variability": "how different two datasets can be, where the run does not say so ({areas})",
    "wide": "which claims with as many columns as --max-columns allows are about the same records: "
    "n_claims and other_ways of their findings, and whether one of these findings is missing ({areas})",
    "findings": "what the claims mean together: findings were not asked for ({areas})",
    "groups": "whether there are more findings about groups of unknown size ({areas})",
    "earlier": "whether findings that were already out follow from the earlier tables alone, and whether "
    "these tables are those of the earlier runs",
    "failed": "why areas were not audited ({areas})",
    "work": "timing.parquet, and how much work each area took: "
    "worlds_seen, steps, programs, nodes, solves in areas.parquet",
    "settings": "what run.json says of the effort, the seed, the versions and the input files",
}


@dataclass
class Verification:
    """What was checked again, every problem found, and what was not covered.

    Attributes
    ----------
    areas, proofs, claims, witnesses, findings, sentences, figures
        How many of each were checked.
    problems
        One sentence for everything that does not hold.
    open
        What was not covered, with the number of areas that it concerns.
    files
        What was not covered of single files.
    """

    areas: int = 0
    proofs: int = 0
    claims: int = 0
    witnesses: int = 0
    findings: int = 0
    sentences: int = 0
    figures: int = 0
    problems: list[str] = field(default_factory=list[str])
    open: Counter[str] = field(default_factory=Counter[str])
    files: list[str] = field(default_factory=list[str])

    def add(self, other: Verification) -> None:
        """Take over what was checked elsewhere."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.problems += other.problems
        self.open += other.open
        self.files += other.files

    @property
    def holds(self) -> bool:
        """Whether everything that was checked holds."""
        return not self.problems

    @property
    def not_covered(self) -> list[str]:
        """One entry for everything that was not checked."""
        found = [
            said.format(areas=several(self.open[topic], "area"))
            for topic, said in OPEN.items()
            if self.open[topic]
        ]
        return [*found, *self.files]

    def sentence(self) -> str:
        """How much was checked."""
        counted = ((getattr(self, name), name, one) for name, one in COUNTED.items())
        return f"Checked {', '.join(f'{n:,} {one if n == 1 else name}' for n, name, one in counted)}."

    def to_plain(self) -> dict[str, object]:
        """As ``verify --json`` prints it."""
        counted = {name: getattr(self, name) for name in COUNTED}
        return {
            "holds": self.holds,
            **counted,
            "problems": self.problems,
            "not_covered": self.not_covered,
        }
