"""Readers and writers: schemas, records, releases and counts."""

from showthrough.frames import read_table
from showthrough.io.census import CensusCounts, read_census, write_census
from showthrough.io.counts import read_counts
from showthrough.io.design import Design, combine, read_design
from showthrough.io.infer import infer_schema
from showthrough.io.records import read_records
from showthrough.io.release import design_to_toml, read_release, write_release
from showthrough.io.releases import Releases, combine_releases, write_counts
from showthrough.io.schema import read_schema, schema_from_mapping, schema_to_toml, write_schema
from showthrough.io.values import Notation, Rounding, parse_value, parse_values

__all__ = [
    "CensusCounts",
    "Design",
    "Notation",
    "Releases",
    "Rounding",
    "combine",
    "combine_releases",
    "design_to_toml",
    "infer_schema",
    "parse_value",
    "parse_values",
    "read_census",
    "read_counts",
    "read_design",
    "read_records",
    "read_release",
    "read_schema",
    "read_table",
    "schema_from_mapping",
    "schema_to_toml",
    "write_census",
    "write_counts",
    "write_release",
    "write_schema",
]
