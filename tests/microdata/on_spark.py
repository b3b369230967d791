"""Run by test_backend.py in a process of its own: publications made on a cluster.

Usage: on_spark.py MASTER FOLDER. FOLDER has people.parquet and people.csv. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from showthrough.engine.backend import open_backend
from showthrough.errors import RecordsError
from showthrough.microdata import write as expand
from showthrough.microdata import write as writing
from showthrough.microdata.partitioned import Partitioned
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.publish import publish
from showthrough.microdata.uniform import UniformPerturbation

SEED = 2**80 + 1

METHODS = {
    "partitioned": ("people.csv", ["ill", "job"], Partitioned(RhoPrivacy(0.2, 0.4))),
}


def everything(master: str, folder: Path) -> dict[str, str]:
    # Several bundles of blocks and four chunks, although there are few rows.
    expand.CHUNK, writing.PIECE = 750, 1000
    said: dict[str, str] = {}
    with open_backend(master) as backend:
        for name, (file, sensitive, method) in METHODS.items():
            out = folder / f"spark-{name}"
            publish(
                folder / file,
                out,
                sensitive=sensitive,
                method=method,
                seed=SEED,
                backend=backend,
                scratch=folder,
            )
        for name, file, sensitive in (("missing", "people.parquet", "age"), ("refused", "bad.csv", "ill")):
            try:
                source = folder / file
                publish(
                    source,
                    folder / "none",
                    sensitive=sensitive,
                    method=UniformPerturbation(0.5),
                    seed=1,
                    backend=backend,
                )
            except RecordsError as error:
                said[name] = error.problem if name == "missing" else str(error)
    return said


if __name__ == "__main__":
    sys.stdout.write(json.dumps(everything(sys.argv[1], Path(sys.argv[2]))))
