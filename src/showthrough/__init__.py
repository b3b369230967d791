"""showthrough: what a data release gives away, with proof."""

from showthrough.audit.area import Audit
from showthrough.audit.batch import Area, Settings
from showthrough.audit.decide import Scope, audit
from showthrough.audit.explore import bounds, worlds
from showthrough.audit.proof import Proof, check_proof
from showthrough.audit.result import Bounds, Claim, Finding, Verdict, World
from showthrough.audit.run import AuditRun, run_audit
from showthrough.audit.verify import Verification, verify_run
from showthrough.audit.words import explain_proof
from showthrough.errors import (
    Contradiction,
    InputError,
    ProofError,
    RecordsError,
    ReleaseError,
    RunError,
    SchemaError,
    ShowthroughError,
    Undecided,
)
from showthrough.estimate import Estimate
from showthrough.io import (
    Releases,
    infer_schema,
    read_counts,
    read_design,
    read_records,
    read_release,
    read_schema,
    write_counts,
    write_release,
    write_schema,
)
from showthrough.records import Records
from showthrough.release import Cell, Layout, Published, Release, Table, make_table, tabulate
from showthrough.schema import Attribute, Rule, Schema, Selection

__version__ = "0.1.0"

__all__ = [
    "Area",
    "Attribute",
    "Audit",
    "AuditRun",
    "Bounds",
    "Cell",
    "Claim",
    "Contradiction",
    "Estimate",
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
    "Releases",
    "Rule",
    "RunError",
    "Schema",
    "SchemaError",
    "Scope",
    "Selection",
    "Settings",
    "ShowthroughError",
    "Table",
    "Undecided",
    "Verdict",
    "Verification",
    "World",
    "audit",
    "bounds",
    "check_proof",
    "explain_proof",
    "infer_schema",
    "make_table",
    "read_counts",
    "read_design",
    "read_records",
    "read_release",
    "read_schema",
    "run_audit",
    "tabulate",
    "verify_run",
    "worlds",
    "write_counts",
    "write_release",
    "write_schema",
]
