"""showthrough: what a data release gives away, with proof."""

from showthrough.audit.area import Audit
from showthrough.audit.decide import audit
from showthrough.audit.explore import bounds, worlds
from showthrough.audit.proof import Proof, check_proof
from showthrough.audit.result import Bounds, Claim, Finding, Verdict, World
from showthrough.errors import (
    Contradiction,
    InputError,
    ProofError,
    RecordsError,
    ReleaseError,
    RunError,
    SchemaError,
    ShowthroughError,
)
from showthrough.records import Records
from showthrough.release import Cell, Layout, Published, Release, Table, make_table, tabulate
from showthrough.schema import Attribute, Rule, Schema, Selection

__version__ = "0.1.0"

__all__ = [
    "Attribute",
    "Audit",
    "Bounds",
    "Cell",
    "Claim",
    "Contradiction",
    "Finding",
    "InputError",
    "Layout",
    "Proof",
    "ProofError",
    "Published",
    "Records",
    "RecordsError",
    "Release",
    "ReleaseError",
    "Rule",
    "RunError",
    "Schema",
    "SchemaError",
    "Selection",
    "ShowthroughError",
    "Table",
    "Verdict",
    "World",
    "audit",
    "bounds",
    "check_proof",
    "make_table",
    "tabulate",
    "worlds",
]
