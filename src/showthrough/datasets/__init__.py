"""Simulated data, and the columns and tables of the 2020 Census."""

from showthrough.datasets.census import (
    census_labels,
    census_layout,
    census_schema,
    census_tables,
    check_additivity,
)
from showthrough.datasets.county import COUNTY_SCHEMA, COUNTY_TABLES, simulate_county
from showthrough.datasets.households import iter_households, simulate_households, write_households

__all__ = [
    "COUNTY_SCHEMA",
    "COUNTY_TABLES",
    "census_labels",
    "census_layout",
    "census_schema",
    "census_tables",
    "check_additivity",
    "iter_households",
    "simulate_county",
    "simulate_households",
    "write_households",
]
