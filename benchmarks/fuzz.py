"""Mutated files, folders and calls of every kind: each is read as it is meant, or refused by name.

What an input is, and what must be true of it, is in tests/fuzz/.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

if TYPE_CHECKING:
    from fuzz.kind import Kind
    from fuzz.run import Tally

#: Seconds after which a process that comes back from nothing is ended.
PATIENCE = 300

#: Readers of bytes, which coverage can guide.
READERS = ("csv", "tsv", "gz", "parquet", "arrow", "schema", "release", "policy", "census", "json", "counts")

HEAD = "kind         inputs  accepted  refused  messages  reported  faults   per s"


def main(arguments: Sequence[str]) -> int:
    """Print a line for each kind; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(prog="scripts/bench fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="how many in all (default: 100,000)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other inputs (default: 0)")
    parser.add_argument("--only", action="append", help="inputs of this kind only; repeatable")
    parser.add_argument("--corpus", type=Path, help="a folder for inputs that something goes wrong with")
    parser.add_argument(
        "--coverage",
        action="store_true",
        help="keep and change inputs that reach new lines of the readers (by atheris, if installed)",
    )
    parser.add_argument(
        "--number", type=int, help="with --only: just the input with this number, with its trace"
    )
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.child is not None:
        return _child(asked)
    if asked.number is not None:
        return _one(asked)
    return _all(asked)


def _all(asked: argparse.Namespace) -> int:
    """Each kind in a process of its own: a library that crashes ends that one only."""
    from fuzz.kinds import KINDS, numbers

    names = asked.only or [name for name in KINDS if not asked.coverage or name in READERS]
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        print(f"there is no kind {unknown[0]!r}; known: {', '.join(KINDS)}", file=sys.stderr)
        return 2
    among = numbers(asked.inputs)
    whole = sum(among[name] for name in names)
    print(HEAD)
    faults = 0
    for name in names:
        number = max(1, among[name] * asked.inputs // whole)
        found = _in_process(name, number, asked)
        faults += len(found["failures"])
        rate = found["inputs"] / max(found["seconds"], 1e-9)
        print(
            f"{name:<10}{found['inputs']:>9,}{found['accepted']:>10,}{found['refused']:>9,}{found['messages']:>10,}"
            f"{found['reported']:>10,}{len(found['failures']):>8,}{rate:>8,.0f}",
            flush=True,
        )
        for failure in found["failures"]:
            _tell(name, failure, asked)
    print(f"{faults} faults")
    return int(faults > 0)


def _in_process(name: str, number: int, asked: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="showthrough-fuzz-", dir=_memory()) as folder:
        call = [sys.executable, "-m", "benchmarks", "fuzz", "--child", folder, "--only", name]
        call += ["--inputs", str(number), "--seed", str(asked.seed)]
        ran = subprocess.run(
            [*call, "--coverage"] if asked.coverage else call, cwd=ROOT, stdout=subprocess.PIPE, check=False
        )
        result = Path(folder) / "result.json"
        if result.exists():
            return json.loads(result.read_text("utf-8"))
        # The file that was being read is still there.
        left = sorted((Path(folder) / "work").rglob("*"), key=lambda path: path.stat().st_mtime)
        data = next((path.read_bytes() for path in reversed(left) if path.is_file()), b"")
        failure = {
            "number": -1,
            "signature": f"the process ended with {ran.returncode}",
            "trace": "",
            "data": data.hex(),
        }
        return {
            "inputs": number, "accepted": 0, "refused": 0, "messages": 0, "reported": 0, "seconds": 1.0,
            "failures": [failure],
        }  # fmt: skip


def _memory() -> str | None:
    """A folder in memory, where there is one: disks are slow, and none of it is kept."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108


def _tell(name: str, failure: dict[str, Any], asked: argparse.Namespace) -> None:
    data = bytes.fromhex(failure["data"])
    print(f"  {failure['signature']}: {data[:120]!r}{'…' if len(data) > 120 else ''}")
    if failure["number"] >= 0 and not asked.coverage:
        print(f"  again: scripts/bench fuzz --only {name} --seed {asked.seed} --number {failure['number']}")
    if asked.corpus is not None:
        asked.corpus.mkdir(parents=True, exist_ok=True)
        path = asked.corpus / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
        path.write_bytes(data)
        about = {
            "kind": name,
            "seed": asked.seed,
            **{key: failure[key] for key in ("number", "signature", "trace")},
        }
        path.with_suffix(".json").write_text(json.dumps(about, indent=1), "utf-8")
        print(f"  kept: {path}")


def _child(asked: argparse.Namespace) -> int:
    """The inputs of one kind, in this process."""
    faulthandler.enable()
    by_atheris = asked.coverage and importlib.util.find_spec("atheris") is not None
    with _instrumented() if by_atheris else nullcontext():
        from fuzz.kinds import KINDS, REPORTED
        from fuzz.run import fuzz, smallest

    kind, work = KINDS[asked.only[0]], asked.child / "work"
    work.mkdir()
    run: Callable[..., Tally] = fuzz
    if by_atheris:
        return _guided_by_atheris(kind, asked.inputs, asked.seed, work, asked.child / "result.json")
    if asked.coverage:
        from fuzz.coverage import guided as run
    tally = run(kind, asked.inputs, seed=asked.seed, folder=work, stop=_alive())
    failures = [
        {
            "number": one.number,
            "signature": one.signature,
            "trace": one.trace,
            "data": smallest(kind, one, work).hex(),
        }
        for one in tally.failures
        if one.signature not in REPORTED
    ]
    found = {
        "inputs": tally.inputs,
        "accepted": tally.accepted,
        "refused": tally.refused,
        "messages": len(tally.messages),
        "reported": len(tally.failures) - len(failures),
        "seconds": tally.seconds,
        "failures": failures,
    }
    (asked.child / "result.json").write_text(json.dumps(found), "utf-8")
    return 0


def _alive() -> Callable[[], bool]:
    """Asked after each input; a process that has not been for long is ended from outside Python."""
    done = [0]

    def stop() -> bool:
        done[0] += 1
        if done[0] % 16 == 1:
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
        return False

    return stop


def _one(asked: argparse.Namespace) -> int:
    from fuzz.kinds import KINDS
    from fuzz.run import check_one, make_input

    kind = KINDS[asked.only[0]]
    data = make_input(kind, asked.seed, asked.number)
    print(repr(data))
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        words = check_one(kind, data, Path(folder))
    print("accepted" if words is None else f"refused: {words}")
    return 0


def _instrumented() -> AbstractContextManager[Any]:
    """Modules of the readers that are imported meanwhile note which of their lines are reached."""
    import atheris  # pyright: ignore[reportMissingImports]

    return atheris.instrument_imports(
        include=["showthrough.frames", "showthrough.formats", "showthrough.census"]
    )


def _guided_by_atheris(kind: Kind, number: int, seed: int, work: Path, result: Path) -> int:
    """Coverage of the readers, as libFuzzer uses it; it ends the process when it is done."""
    import atheris  # pyright: ignore[reportMissingImports]

    from fuzz.dice import Dice
    from fuzz.run import Tally, check_one, make_input, signed

    tally, turn = Tally(), [0]

    def one(data: bytes) -> None:
        tally.inputs += 1
        try:
            tally.add(check_one(kind, bytes(data), work))
        except Exception as problem:  # noqa: BLE001
            tally.failures.append(
                {"number": -1, "signature": signed(problem), "trace": "", "data": bytes(data).hex()}
            )
        if tally.inputs >= number:
            found = {
                "inputs": tally.inputs, "accepted": tally.accepted, "refused": tally.refused,
                "messages": len(tally.messages), "reported": 0, "seconds": 1.0, "failures": tally.failures,
            }  # fmt: skip
            result.write_text(json.dumps(found), "utf-8")

    def mutate(data: bytes, most: int, chosen: int) -> bytes:
        turn[0] += 1
        if Dice(chosen, turn[0]).one_in(4):
            return make_input(kind, seed, turn[0])[:most]
        return atheris.Mutate(data, most)

    atheris.Setup(
        ["fuzz", f"-runs={number}", f"-seed={seed + 1}", "-max_len=4096", "-verbosity=0"],
        one,
        custom_mutator=mutate,
    )
    atheris.Fuzz()
    return 0
