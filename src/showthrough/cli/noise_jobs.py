"""Add noise to a file."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from showthrough.cli.attack_jobs import read_noise
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, RunError
from showthrough.files import check_new
from showthrough.numbers.columns_file import read_numbers, write_table
from showthrough.numbers.joint_noise import correlated_like, perturb
from showthrough.numbers.noise import Floats, JointNoise, Noise

__all__ = [
    "perturb_file",
]

#: Seeds below this can be found by trying them all.
GUESSABLE = 2**64


def perturb_file(
    data: Path,
    columns: Sequence[str],
    out: Path,
    terminal: Terminal,
    *,
    noise: Sequence[str],
    correlated: float | None,
    covariance_out: Path | None,
    seed: int | None,
    overwrite: bool,
) -> int:
    """Write the file with noise on some columns; the seed goes nowhere."""
    for path in (out, covariance_out):
        if path is not None:
            check_new(path, overwrite=overwrite)
        if path is not None and path.exists() and path.samefile(data):
            raise RunError("this is the file with the true values", file=str(path), remedy="choose another")
    with terminal.step("reading"):
        numbers = read_numbers(data, columns, whole=True, least=1)
    law = _law(numbers.matrix, noise, correlated, columns)
    if covariance_out is not None and not isinstance(law, JointNoise):
        raise InputError("--covariance-out goes with --correlated", remedy="leave it out")
    if seed is not None and 0 <= seed < GUESSABLE:
        terminal.note(
            "a seed this small can be found by trying, and who finds it can take the noise off again; "
            "leave --seed out to have one drawn and forgotten"
        )
    noisy = perturb(numbers.matrix, law, seed=secrets.randbits(128) if seed is None else _checked(seed))
    with terminal.step("writing"):
        write_table(out, numbers.replaced(noisy))
        if covariance_out is not None and isinstance(law, JointNoise):
            write_table(covariance_out, pa.table(dict(zip(columns, law.covariance.T, strict=True))))
    if terminal.as_json:
        terminal.json(
            {"file": str(out), "records": len(numbers), "columns": list(columns), "noise": str(law)}
        )
    listed = ", ".join(columns)
    terminal.say(f"Wrote {out}: {len(numbers):,} records with noise ({law}) on {listed}; all else as it was.")
    terminal.say(
        "What this hides is another question: showthrough attack with --truth, or showthrough advise."
    )
    return 0


def _law(
    matrix: Floats, noise: Sequence[str], correlated: float | None, columns: Sequence[str]
) -> Noise | JointNoise:
    if correlated is None:
        return read_noise(noise, None, columns)
    if noise:
        raise InputError("the noise is given in one way: --noise or --correlated", remedy="leave one out")
    if len(columns) < 2:
        raise InputError("correlated noise needs several columns", remedy="name more with --column")
    return correlated_like(matrix, ratio=correlated)


def _checked(seed: int) -> int:
    if seed < 0:
        raise InputError("a seed is a whole number from 0", found=str(seed))
    return seed
