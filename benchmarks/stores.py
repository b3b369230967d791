"""Commands on a real S3 server, killed in the middle of their work and of their copies, and resumed.

The server is that of AWS_ENDPOINT_URL, for example of moto: ``moto_server -p 5055``, with
AWS_ENDPOINT_URL=http://127.0.0.1:5055 and any keys. An audit and a publication are written to a new bucket;
each is killed once while it works and once while its result is copied. Until the manifest is there no
command may take the result for one; then the same command must write the same bytes as an undisturbed one.
The exit code is 1 if anything is not as it should be.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from pyarrow import fs

SEED = str(2**90 + 7)

#: What writes a result, how it ends, and the commands that read it.
CASES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "audit": (
        "audit {bucket}/people.csv --by town --tables age*sex --tables sex*job*ill --workers 2",
        1,
        ("verify", "report"),
    ),
    "publish": (
        f"publish {{bucket}}/people.csv --sensitive ill --rho 0.3:0.6 --drop town --seed {SEED}",
        0,
        ("count", "report"),
    ),
}

#: Files that depend on the machine.
NOT_COMPARED = ("timing.parquet",)


@dataclass(frozen=True)
class Bucket:
    """A new bucket on the server, and the environment of commands that use it."""

    name: str
    system: Any
    environment: dict[str, str]

    @classmethod
    def make(cls, scratch: str) -> Bucket:
        """With some people in it."""
        endpoint = os.environ["AWS_ENDPOINT_URL"]
        system = fs.S3FileSystem(endpoint_override=endpoint, allow_bucket_creation=True)
        found = cls(f"b{secrets.token_hex(6)}", system, {**os.environ, "SHOWTHROUGH_SCRATCH": scratch})
        system.create_dir(found.name)
        with system.open_output_stream(f"{found.name}/people.csv") as stream:
            arrow_csv.write_csv(people(), stream)
        return found

    def objects(self, folder: str) -> dict[str, bytes]:
        """What is in a folder, by name."""
        place = f"{self.name}/{folder}"
        there = self.system.get_file_info(fs.FileSelector(place, recursive=True, allow_not_found=True))
        files = [one.path for one in there if one.type == fs.FileType.File]
        names = [path for path in files if path.rpartition("/")[2] not in NOT_COMPARED]
        return {path[len(place) + 1 :]: self.system.open_input_file(path).read() for path in names}

    def start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a command that prints nothing."""
        return subprocess.Popen(
            [sys.executable, "-m", "showthrough.cli", *command, "--quiet"],
            env=self.environment,
            stderr=subprocess.DEVNULL,
        )

    def run(self, *command: str) -> int:
        """How a command ends."""
        return self.start(command).wait()


def main(arguments: Sequence[str]) -> int:
    """Print what was seen, a line for each kill."""
    argparse.ArgumentParser(prog="scripts/bench stores", description=__doc__).parse_args(arguments)
    if not os.environ.get("AWS_ENDPOINT_URL"):
        print("set AWS_ENDPOINT_URL to that of an S3 server, and keys for it", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        bucket = Bucket.make(scratch)
        wrong = [problem for case in CASES for problem in tried(bucket, case)]
        wrong += [f"left behind: {name}" for name in Path(scratch).iterdir()]
    for problem in wrong:
        print(f"WRONG: {problem}")
    return 1 if wrong else 0


def people(n: int = 1500) -> pa.Table:
    """Records of 120 towns."""
    rng = np.random.default_rng(1)
    values = {"age": ["young", "middle", "old"], "sex": ["f", "m"], "job": list("abcd"), "ill": ["no", "yes"]}
    columns = [pa.array(np.array(some)[rng.integers(0, len(some), n)]) for some in values.values()]
    towns = pa.array([f"town {at:03d}" for at in rng.integers(0, 120, n)])
    return pa.Table.from_arrays([towns, *columns], names=["town", *values])


def tried(bucket: Bucket, case: str) -> list[str]:
    """Run a case undisturbed, killed at work and killed while it is copied; what was not as it should be."""
    words, code, readers = CASES[case]
    command, wrong = words.format(bucket=f"s3://{bucket.name}").split(), list[str]()
    began = time.monotonic()
    if bucket.run(*command, "--out", f"s3://{bucket.name}/{case}-whole") != code:
        wrong.append(f"{case}: it does not end with {code}")
    took, whole = time.monotonic() - began, bucket.objects(f"{case}-whole")
    half = time.monotonic() + took / 2
    moments: dict[str, Callable[[str], bool]] = {
        "at work": lambda _: time.monotonic() > half,
        "while copied": lambda folder: bool(bucket.objects(folder)),
    }
    for moment, come in moments.items():
        folder = f"{case}-{moment.replace(' ', '-')}"
        out = (*command, "--out", f"s3://{bucket.name}/{folder}")
        there = killed(bucket, out, folder, come)
        early = bucket.run(readers[0], f"s3://{bucket.name}/{folder}")
        again, found = bucket.run(*out), bucket.objects(folder)
        reading = [bucket.run(reader, f"s3://{bucket.name}/{folder}") for reader in readers]
        same = found == whole
        print(
            f"{case}, killed {moment} with {there} objects there: readers end with {early}; resumed it ends"
        )
        print(f"  with {again}, the same bytes: {same}; {', '.join(readers)} end with {reading}", flush=True)
        if (early, again, same, set(reading)) != (2, code, True, {0}):
            wrong.append(f"{case}, killed {moment}")
    return wrong


def killed(bucket: Bucket, command: Sequence[str], folder: str, come: Callable[[str], bool]) -> int:
    """Kill a command when its moment has come; how many objects are there then."""
    process = bucket.start(command)
    while process.poll() is None and not come(folder):
        time.sleep(0.05)
    process.kill()
    process.wait()
    return len(bucket.objects(folder))
