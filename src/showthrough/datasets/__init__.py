"""Simulated data, for demonstrations and tests."""

from showthrough.datasets.county import COUNTY_SCHEMA, COUNTY_TABLES, simulate_county

__all__ = ["COUNTY_SCHEMA", "COUNTY_TABLES", "simulate_county"]
