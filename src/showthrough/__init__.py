"""showthrough: what a data release gives away, with proof.

Names are looked up when they are first used, so that ``import showthrough`` costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from showthrough import attack as attack
    from showthrough import datasets as datasets
    from showthrough import engine as engine
    from showthrough import io as io
    from showthrough import protect as protect
    from showthrough import publish as publish
    from showthrough import report as report
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

#: Where the names are defined.
_PLACES = {
    "audit.area": "Audit",
    "audit.batch": "Area Settings",
    "audit.decide": "Scope audit",
    "audit.explore": "bounds worlds",
    "audit.proof": "Proof check_proof",
    "audit.result": "Bounds Claim Finding Verdict World",
    "audit.run": "AuditRun run_audit",
    "audit.verify": "Verification verify_run",
    "audit.words": "explain_proof",
    "errors": (
        "Contradiction InputError ProofError RecordsError ReleaseError RunError SchemaError "
        "ShowthroughError Undecided"
    ),
    "estimate": "Estimate",
    "io": (
        "Releases infer_schema read_counts read_design read_records read_release read_schema "
        "write_counts write_release write_schema"
    ),
    "records": "Records",
    "release": "Cell Layout Published Release Table make_table tabulate",
    "schema": "Attribute Rule Schema Selection",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

#: Packages whose names are used with theirs in front: ``st.publish.Uniform``.
_PACKAGES = ("attack", "datasets", "engine", "io", "protect", "publish", "report")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})


class _Package(ModuleType):
    """A package in which ``audit`` is the function, also once the package of that name is imported."""

    @property
    def audit(self) -> Any:
        return vars(self).get("audit") or __getattr__("audit")

    @audit.setter
    def audit(self, value: object) -> None:
        if not isinstance(value, ModuleType):
            vars(self)["audit"] = value


sys.modules[__name__].__class__ = _Package
