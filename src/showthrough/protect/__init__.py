"""Protecting tables: the least to withhold, round or merge so that nothing forbidden follows."""

from showthrough.protect.classical import Outcome, compare_rules
from showthrough.protect.moves import Drop, Mark, Merge, Round, Suppress, apply_moves
from showthrough.protect.policy import Change, Cost, Forbidden, Narrow, Policy
from showthrough.protect.result import Protection, SafeArea, Step
from showthrough.protect.search import protect, protect_alike

__all__ = [
    "Change",
    "Cost",
    "Drop",
    "Forbidden",
    "Mark",
    "Merge",
    "Narrow",
    "Outcome",
    "Policy",
    "Protection",
    "Round",
    "SafeArea",
    "Step",
    "Suppress",
    "apply_moves",
    "compare_rules",
    "protect",
    "protect_alike",
]
