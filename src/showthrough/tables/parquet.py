"""The Parquet files of a run: the columns of each table, and its place in the folder."""

from __future__ import annotations

import pyarrow as pa

__all__ = [
    "AREA_COLUMNS",
    "CLAIM_COLUMNS",
    "COUNT_COLUMNS",
    "FINDING_COLUMNS",
    "PLACES",
    "PROOF_COLUMNS",
    "TABLES",
    "TIMING_COLUMNS",
    "WITNESS_COLUMNS",
]

CLAIM_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("selection", pa.string()),
        ("k", pa.int32()),
        ("multiplicity", pa.int64()),
        ("verdict", pa.string()),
        ("evidence", pa.string()),
        ("direct", pa.bool_()),
        ("n_tables", pa.int32()),
        ("sentence", pa.string()),
    ]
)

FINDING_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("kind", pa.string()),
        ("multiplicity", pa.int64()),
        ("k", pa.int32()),
        ("knows", pa.string()),
        ("learns", pa.string()),
        ("other_ways", pa.string()),
        ("n_claims", pa.int32()),
        ("n_tables", pa.int32()),
        ("sentence", pa.string()),
    ]
)

AREA_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("status", pa.string()),
        ("records", pa.int64()),
        ("record_types", pa.int64()),
        ("worlds_seen", pa.int64()),
        ("unique", pa.bool_()),
        ("verified", pa.int64()),
        ("refuted", pa.int64()),
        ("undecided", pa.int64()),
        ("impossible", pa.int64()),
        ("direct", pa.int64()),
        ("findings", pa.int64()),
        ("singletons", pa.int64()),
        ("steps", pa.int64()),
        ("programs", pa.int64()),
        ("nodes", pa.int64()),
        ("solves", pa.int64()),
    ]
)

PROOF_COLUMNS = pa.schema([("area", pa.string()), ("proof", pa.string()), ("claims", pa.list_(pa.string()))])

WITNESS_COLUMNS = pa.schema(
    [("area", pa.string()), ("selection", pa.string()), ("first", pa.string()), ("second", pa.string())]
)

COUNT_COLUMNS = pa.schema(
    [("area", pa.string()), ("low", pa.list_(pa.int64())), ("high", pa.list_(pa.int64()))]
)

TIMING_COLUMNS = pa.schema([("area", pa.string()), ("core_seconds", pa.float64())])

#: Every table of a run and its columns.
TABLES: dict[str, pa.Schema] = {
    "claims": CLAIM_COLUMNS,
    "areas": AREA_COLUMNS,
    "findings": FINDING_COLUMNS,
    "proofs": PROOF_COLUMNS,
    "witnesses": WITNESS_COLUMNS,
    "counts": COUNT_COLUMNS,
    "timing": TIMING_COLUMNS,
}

#: The file of each table in the run folder.
PLACES = {
    "claims": "claims.parquet",
    "areas": "areas.parquet",
    "findings": "findings.parquet",
    "proofs": "proofs/proofs.parquet",
    "witnesses": "proofs/witnesses.parquet",
    "counts": "counts.parquet",
    "timing": "timing.parquet",
}
