"""showthrough: what a data release gives away, with proof.

Names are looked up when they are first used, so that ``import showthrough`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from showthrough.attribute import Attribute
    from showthrough.census.additivity import check_people
    from showthrough.census.counts import CensusCounts, read_census, write_census
    from showthrough.census.county import COUNTY_SCHEMA, COUNTY_TABLES, simulate_county
    from showthrough.census.homes import census_schema
    from showthrough.census.people import person_schema
    from showthrough.census.people_simulator import iter_people, simulate_people, write_people
    from showthrough.census.people_tables import people_labels, people_layout
    from showthrough.census.simulator import iter_households, simulate_households, write_households
    from showthrough.census.tables_2020 import census_labels, census_layout, census_tables, check_additivity
    from showthrough.engine.engine import Engine, LocalEngine, open_engine
    from showthrough.engine.spark import SparkEngine
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
    from showthrough.formats.counts_file import read_counts
    from showthrough.formats.design import Design, combine_designs, read_design
    from showthrough.formats.meaning.understood import Understood
    from showthrough.formats.noise_file import read_perturbation_table
    from showthrough.formats.planned import PlannedAreas, read_areas
    from showthrough.formats.policy_file import read_policy
    from showthrough.formats.prior_file import read_prior, write_prior
    from showthrough.formats.read_tables import read_tables
    from showthrough.formats.records_file import read_records
    from showthrough.formats.release_file import design_to_toml, read_release, write_release
    from showthrough.formats.schema_file import (
        infer_schema,
        read_schema,
        schema_from_mapping,
        schema_to_toml,
        write_schema,
    )
    from showthrough.formats.vipr.vipr_folder import Exported, export_vipr
    from showthrough.frames.source import read_table
    from showthrough.hierarchy import Hierarchy
    from showthrough.microdata.anatomy import Anatomized
    from showthrough.microdata.check import CheckResult, check
    from showthrough.microdata.compare import Comparison, compare
    from showthrough.microdata.count import count
    from showthrough.microdata.generalize import Generalization
    from showthrough.microdata.groups import Groups
    from showthrough.microdata.ordinal import OrdinalPerturbation
    from showthrough.microdata.partitioned import Partitioned
    from showthrough.microdata.product import ProductPerturbation
    from showthrough.microdata.promises import LDiversity, RhoPrivacy
    from showthrough.microdata.publication import Publication
    from showthrough.microdata.publish import publish
    from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
    from showthrough.microdata.sampled import Sampled
    from showthrough.microdata.together import check_together
    from showthrough.microdata.uniform import UniformPerturbation
    from showthrough.noise_law import DiscreteGaussian, DiscreteLaplace, RandomRounding, parse_law
    from showthrough.notation import Notation, Rounding, parse_value, parse_values
    from showthrough.numbers.advise import Advice, advise
    from showthrough.numbers.attack import Attack, PrivacyLevels, attack
    from showthrough.numbers.attack_unknown import attack_unknown
    from showthrough.numbers.columns_file import Numbers, read_numbers
    from showthrough.numbers.density import Distribution, Grid
    from showthrough.numbers.ellipsoids import Ellipsoids
    from showthrough.numbers.exposure import Exposure, Rate, expose
    from showthrough.numbers.given_noise import SampledNoise, TabulatedNoise
    from showthrough.numbers.interquantile import PrivacyIntervals
    from showthrough.numbers.iteration import Converged, Fixed, HeldOut
    from showthrough.numbers.joint_noise import CorrelatedNoise, IndependentNoise, correlated_like
    from showthrough.numbers.joint_reconstruction import JointReconstruction, reconstruct_joint
    from showthrough.numbers.leaks import GroupLeaks, attack_groups, leaking_groups
    from showthrough.numbers.methods import ColumnAttack
    from showthrough.numbers.noise import GaussianNoise, LaplaceNoise, UniformNoise, parse_noise
    from showthrough.numbers.pairs import Pair, compare_pairs
    from showthrough.numbers.perturb import perturb
    from showthrough.numbers.posterior import posterior_intervals
    from showthrough.numbers.ratio import PrivacyBudget, RatioAttack, ratio_attack, ratio_interval
    from showthrough.numbers.reconstruction import Reconstruction, reconstruct, reconstruct_columns
    from showthrough.numbers.spectral import Rebuilt, bayes_estimate, principal_components, spectral_filter
    from showthrough.numbers.tryout import NoiseTrial, try_scales
    from showthrough.numbers.unknown_noise import KnownOfTruth, NoiseEstimate, estimate_noise
    from showthrough.perturbation import BoundedNoise, PerturbationTable, TransitionTable
    from showthrough.records import Records
    from showthrough.release import Cell, Layout, Published, Release, Table, make_table
    from showthrough.releases import Releases, combine_releases, tabulate, write_counts
    from showthrough.report import report
    from showthrough.report.verify import verify
    from showthrough.schema import Rule, Schema
    from showthrough.selection import Selection
    from showthrough.tables.audit import Scope, audit
    from showthrough.tables.bounds import bounds
    from showthrough.tables.claims import Bounds, Claim, Finding, Variability, Verdict, World
    from showthrough.tables.explain import explain_proof
    from showthrough.tables.likely.calibration import Calibration
    from showthrough.tables.likely.chances import Chances, probability
    from showthrough.tables.likely.fit import fit_prior
    from showthrough.tables.likely.likely import likely
    from showthrough.tables.likely.measure import add_noise, calibrate
    from showthrough.tables.likely.prior import Prior
    from showthrough.tables.likely.statement import Likely, Statement
    from showthrough.tables.proof import Proof, check_proof
    from showthrough.tables.protect.cell_rules import CellOrder, CellRule, Distance
    from showthrough.tables.protect.change import Change, Cost
    from showthrough.tables.protect.classical import Outcome, compare_rules
    from showthrough.tables.protect.controlled import ControlledRounding, controlled_rounding
    from showthrough.tables.protect.moves import Drop, Mark, Merge, Round, Suppress, apply_moves
    from showthrough.tables.protect.policy import Forbidden, Narrow, Policy
    from showthrough.tables.protect.protect import protect, protect_alike
    from showthrough.tables.protect.protection import PlanStep, Protection, SafeArea
    from showthrough.tables.recover import RecoveredCell, Recovery, recover
    from showthrough.tables.result import Audit
    from showthrough.tables.run.batch import Area, Settings
    from showthrough.tables.run.folder import run_audit
    from showthrough.tables.run.read import AuditRun
    from showthrough.tables.run.verification import Verification
    from showthrough.tables.variability import variability
    from showthrough.tables.worlds import worlds

__version__ = "0.1.0"

__all__ = [
    "COUNTY_SCHEMA",
    "COUNTY_TABLES",
    "Advice",
    "Anatomized",
    "Area",
    "Attack",
    "Attribute",
    "Audit",
    "AuditRun",
    "BoundedNoise",
    "Bounds",
    "Calibration",
    "Cell",
    "CellOrder",
    "CellRule",
    "CensusCounts",
    "Chances",
    "Change",
    "CheckResult",
    "Claim",
    "ColumnAttack",
    "Comparison",
    "Contradiction",
    "ControlledRounding",
    "Converged",
    "CorrelatedNoise",
    "Cost",
    "Design",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Distance",
    "Distribution",
    "Drop",
    "Ellipsoids",
    "Engine",
    "Estimate",
    "Exported",
    "Exposure",
    "Finding",
    "Fixed",
    "Forbidden",
    "GaussianNoise",
    "Generalization",
    "Grid",
    "GroupLeaks",
    "Groups",
    "HeldOut",
    "Hierarchy",
    "IndependentNoise",
    "InputError",
    "JointReconstruction",
    "KnownOfTruth",
    "LDiversity",
    "LaplaceNoise",
    "Layout",
    "Likely",
    "LocalEngine",
    "Mark",
    "Merge",
    "Narrow",
    "NoiseEstimate",
    "NoiseTrial",
    "Notation",
    "Numbers",
    "OrdinalPerturbation",
    "Outcome",
    "Pair",
    "Partitioned",
    "PerturbationTable",
    "PlanStep",
    "PlannedAreas",
    "Policy",
    "Prior",
    "PrivacyBudget",
    "PrivacyIntervals",
    "PrivacyLevels",
    "ProductPerturbation",
    "Proof",
    "ProofError",
    "Protection",
    "Publication",
    "Published",
    "RandomRounding",
    "Rate",
    "RatioAttack",
    "Rebuilt",
    "Reconstruction",
    "ReconstructionPrivacy",
    "Records",
    "RecordsError",
    "RecoveredCell",
    "Recovery",
    "Release",
    "ReleaseError",
    "Releases",
    "RhoPrivacy",
    "Round",
    "Rounding",
    "Rule",
    "RunError",
    "SafeArea",
    "Sampled",
    "SampledNoise",
    "Schema",
    "SchemaError",
    "Scope",
    "Selection",
    "Settings",
    "ShowthroughError",
    "SparkEngine",
    "Statement",
    "Suppress",
    "Table",
    "TabulatedNoise",
    "TransitionTable",
    "Undecided",
    "Understood",
    "UniformNoise",
    "UniformPerturbation",
    "Variability",
    "Verdict",
    "Verification",
    "World",
    "add_noise",
    "advise",
    "apply_moves",
    "attack",
    "attack_groups",
    "attack_unknown",
    "audit",
    "bayes_estimate",
    "bounds",
    "calibrate",
    "census_labels",
    "census_layout",
    "census_schema",
    "census_tables",
    "check",
    "check_additivity",
    "check_people",
    "check_proof",
    "check_together",
    "combine_designs",
    "combine_releases",
    "compare",
    "compare_pairs",
    "compare_rules",
    "controlled_rounding",
    "correlated_like",
    "count",
    "design_to_toml",
    "estimate_noise",
    "explain_proof",
    "export_vipr",
    "expose",
    "fit_prior",
    "infer_schema",
    "iter_households",
    "iter_people",
    "leaking_groups",
    "likely",
    "make_table",
    "open_engine",
    "parse_law",
    "parse_noise",
    "parse_value",
    "parse_values",
    "people_labels",
    "people_layout",
    "person_schema",
    "perturb",
    "posterior_intervals",
    "principal_components",
    "probability",
    "protect",
    "protect_alike",
    "publish",
    "ratio_attack",
    "ratio_interval",
    "read_areas",
    "read_census",
    "read_counts",
    "read_design",
    "read_numbers",
    "read_perturbation_table",
    "read_policy",
    "read_prior",
    "read_records",
    "read_release",
    "read_schema",
    "read_table",
    "read_tables",
    "reconstruct",
    "reconstruct_columns",
    "reconstruct_joint",
    "recover",
    "report",
    "run_audit",
    "schema_from_mapping",
    "schema_to_toml",
    "simulate_county",
    "simulate_households",
    "simulate_people",
    "spectral_filter",
    "tabulate",
    "try_scales",
    "variability",
    "verify",
    "worlds",
    "write_census",
    "write_counts",
    "write_households",
    "write_people",
    "write_prior",
    "write_release",
    "write_schema",
]

#: Where the names are defined.
_PLACES = {
    "attribute": "Attribute",
    "census.additivity": "check_people",
    "census.counts": "CensusCounts read_census write_census",
    "census.county": "COUNTY_SCHEMA COUNTY_TABLES simulate_county",
    "census.homes": "census_schema",
    "census.people": "person_schema",
    "census.people_simulator": "iter_people simulate_people write_people",
    "census.people_tables": "people_labels people_layout",
    "census.simulator": "iter_households simulate_households write_households",
    "census.tables_2020": "census_labels census_layout census_tables check_additivity",
    "engine.engine": "Engine LocalEngine open_engine",
    "engine.spark": "SparkEngine",
    "errors": (
        "Contradiction InputError ProofError RecordsError ReleaseError RunError SchemaError "
        "ShowthroughError Undecided"
    ),
    "estimate": "Estimate",
    "formats.counts_file": "read_counts",
    "formats.noise_file": "read_perturbation_table",
    "formats.planned": "PlannedAreas read_areas",
    "formats.policy_file": "read_policy",
    "formats.prior_file": "read_prior write_prior",
    "formats.records_file": "read_records",
    "formats.design": "Design combine_designs read_design",
    "formats.read_tables": "read_tables",
    "formats.release_file": "design_to_toml read_release write_release",
    "formats.meaning.understood": "Understood",
    "formats.schema_file": "infer_schema read_schema schema_from_mapping schema_to_toml write_schema",
    "formats.vipr.vipr_folder": "Exported export_vipr",
    "frames.source": "read_table",
    "hierarchy": "Hierarchy",
    "microdata.anatomy": "Anatomized",
    "microdata.check": "CheckResult check",
    "microdata.compare": "Comparison compare",
    "microdata.count": "count",
    "microdata.generalize": "Generalization",
    "microdata.groups": "Groups",
    "microdata.ordinal": "OrdinalPerturbation",
    "microdata.partitioned": "Partitioned",
    "microdata.promises": "LDiversity RhoPrivacy",
    "microdata.product": "ProductPerturbation",
    "microdata.publication": "Publication",
    "microdata.publish": "publish",
    "microdata.reconstruction_privacy": "ReconstructionPrivacy",
    "microdata.sampled": "Sampled",
    "microdata.together": "check_together",
    "microdata.uniform": "UniformPerturbation",
    "noise_law": "DiscreteGaussian DiscreteLaplace RandomRounding parse_law",
    "notation": "Notation Rounding parse_value parse_values",
    "numbers.advise": "Advice advise",
    "numbers.attack": "Attack PrivacyLevels attack",
    "numbers.attack_unknown": "attack_unknown",
    "numbers.columns_file": "Numbers read_numbers",
    "numbers.density": "Distribution Grid",
    "numbers.ellipsoids": "Ellipsoids",
    "numbers.pairs": "Pair compare_pairs",
    "numbers.exposure": "Exposure Rate expose",
    "numbers.given_noise": "SampledNoise TabulatedNoise",
    "numbers.interquantile": "PrivacyIntervals",
    "numbers.iteration": "Converged Fixed HeldOut",
    "numbers.joint_noise": "CorrelatedNoise IndependentNoise correlated_like",
    "numbers.joint_reconstruction": "JointReconstruction reconstruct_joint",
    "numbers.leaks": "GroupLeaks attack_groups leaking_groups",
    "numbers.methods": "ColumnAttack",
    "numbers.noise": "GaussianNoise LaplaceNoise UniformNoise parse_noise",
    "numbers.perturb": "perturb",
    "numbers.posterior": "posterior_intervals",
    "numbers.ratio": "PrivacyBudget RatioAttack ratio_attack ratio_interval",
    "numbers.reconstruction": "Reconstruction reconstruct reconstruct_columns",
    "numbers.spectral": "Rebuilt bayes_estimate principal_components spectral_filter",
    "numbers.tryout": "NoiseTrial try_scales",
    "numbers.unknown_noise": "KnownOfTruth NoiseEstimate estimate_noise",
    "perturbation": "BoundedNoise PerturbationTable TransitionTable",
    "records": "Records",
    "release": "Cell Layout Published Release Table make_table",
    "releases": "Releases combine_releases tabulate write_counts",
    "report": "report",
    "report.verify": "verify",
    "schema": "Rule Schema",
    "selection": "Selection",
    "tables.audit": "Scope audit",
    "tables.bounds": "bounds",
    "tables.explain": "explain_proof",
    "tables.likely.calibration": "Calibration",
    "tables.likely.fit": "fit_prior",
    "tables.likely.chances": "Chances probability",
    "tables.likely.likely": "likely",
    "tables.likely.measure": "add_noise calibrate",
    "tables.likely.prior": "Prior",
    "tables.likely.statement": "Likely Statement",
    "tables.proof": "Proof check_proof",
    "tables.protect.cell_rules": "CellOrder CellRule Distance",
    "tables.protect.change": "Change Cost",
    "tables.protect.classical": "Outcome compare_rules",
    "tables.protect.controlled": "ControlledRounding controlled_rounding",
    "tables.protect.moves": "Drop Mark Merge Round Suppress apply_moves",
    "tables.protect.policy": "Forbidden Narrow Policy",
    "tables.protect.protect": "protect protect_alike",
    "tables.protect.protection": "PlanStep Protection SafeArea",
    "tables.claims": "Bounds Claim Finding Variability Verdict World",
    "tables.recover": "RecoveredCell Recovery recover",
    "tables.result": "Audit",
    "tables.run.batch": "Area Settings",
    "tables.run.folder": "run_audit",
    "tables.run.read": "AuditRun",
    "tables.run.verification": "Verification",
    "tables.variability": "variability",
    "tables.worlds": "worlds",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULES[name]}")
    # The package ``report`` is a verb as well: it can be called.
    found = globals()[name] = module if name == _MODULES[name] else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
