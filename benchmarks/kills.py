"""Commands killed at random moments: what the same command makes of it, and what is left behind.

Every case is run undisturbed first. Then it is started again and again and killed: the whole group of
processes, or only the parent. Moments are drawn over the whole duration, every third of them from its
last tenth; every fourth command is killed a second time while it resumes. Then the same command must end
with the same exit code, the same words and, but for ``timing.parquet``, the same bytes, and leave nothing:
no lock, no draft, no scratch file, no process. While commands run, whatever others could read is looked at.
The exit code is 1 if anything is not as it should be.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

#: Seconds until a process whose parent was killed must be gone.
PATIENCE = 3.0

SEED = str(2**90 + 7)

COMMANDS: dict[str, tuple[str, ...]] = {
    "audit": (
        *("audit", "{inputs}/people.csv", "--by", "town", "--tables", "age*sex", "--tables", "sex*job"),
        *("--effort", "0.01", "--workers", "{workers}"),
    ),
    "census audit": (
        *("census", "audit", "{inputs}/homes.parquet", "--max-columns", "2", "--effort", "0.001"),
        *("--workers", "{workers}"),
    ),
    "publish uniform": ("publish", "{inputs}/ill.csv", "--sensitive", "ill", "--rho", "0.3:0.6"),
    "publish partitioned": (
        *("publish", "{inputs}/ill.csv", "--sensitive", "ill", "--rho", "0.3:0.6"),
        *("--method", "partitioned"),
    ),
    "publish sampled": (
        *("publish", "{inputs}/ill.csv", "--sensitive", "ill", "--reconstruction", "0.3:0.3"),
        *("--retention", "0.5"),
    ),
    "publish anatomy": ("publish", "{inputs}/ill.csv", "--sensitive", "ill", "--diversity", "2"),
    "protect": (
        *("protect", "{inputs}/few.csv", "--by", "town", "--tables", "age*sex", "--tables", "sex*job"),
        *("--forbid", "singletons", "--workers", "{workers}"),
    ),
}


@dataclass(frozen=True)
class Case:
    """A command with a number of workers."""

    name: str
    arguments: tuple[str, ...]


@dataclass
class Tally:
    """What became of the kills of a case."""

    #: Commands started and brought to their end; some of them were killed twice, some were too fast.
    commands: int = 0
    kills: int = 0
    resumed: int = 0
    identical: int = 0
    #: Killed when all was done and said, so that there was nothing to resume.
    over: int = 0
    leftovers: int = 0
    orphans: int = 0
    exposed: int = 0
    problems: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Whole:
    """A command that nobody disturbed."""

    seconds: float
    code: int
    said: str
    contents: dict[str, str]


class Place:
    """A folder to run a command in, with a folder for scratch files."""

    def __init__(self, root: Path, name: str) -> None:
        self.folder, self.scratch = root / name / "here", root / name / "scratch"
        self.said = root / name / "said.txt"
        self.folder.mkdir(parents=True)
        self.scratch.mkdir()

    def start(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "SHOWTHROUGH_SCRATCH": str(self.scratch), "COLUMNS": "80"}
        command = [sys.executable, "-m", "showthrough.cli", *arguments]
        with self.said.open("wb") as said:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=said,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                umask=0o022,
            )

    def words(self) -> str:
        """What the last command said."""
        return self.said.read_text("utf-8")

    def contents(self) -> dict[str, str]:
        """The files of the result, with their hashes."""
        out = self.folder / "out"
        return {
            str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(out.rglob("*"))
            if path.is_file() and path.name != "timing.parquet"
        }

    def left(self) -> list[str]:
        """What is there besides the result."""
        beside = [path.name for path in self.folder.iterdir() if path.name != "out"]
        within = [path.name for path in (self.folder / "out").rglob(".*")]
        return [*beside, *within, *(path.name for path in self.scratch.iterdir())]

    def exposed(self) -> list[str]:
        """Files that others could read although the result is not complete."""
        return [
            *_readable(self.scratch),
            *(
                name
                for name in _readable(self.folder)
                # What is in its place is finished, and so is a draft just before it is renamed.
                if not name.startswith("out/") and not self._is_complete(name.split("/", 1)[0])
            ),
        ]

    def _is_complete(self, name: str) -> bool:
        draft = self.folder / name
        gone = not draft.exists()
        return gone or any((draft / manifest).exists() for manifest in ("run.json", "publication.json"))


def _readable(folder: Path) -> Iterator[str]:
    """Files that others can read, given that they can reach the folder."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            for path in here.iterdir():
                mode = path.lstat().st_mode
                if stat.S_ISDIR(mode) and mode & stat.S_IXOTH:
                    waiting.append(path)
                elif stat.S_ISREG(mode) and mode & stat.S_IROTH:
                    yield path.relative_to(folder).as_posix()
        except OSError:
            continue  # gone in the meantime


def _members(group: int) -> list[int]:
    """The processes of a group that are not dead."""
    found = list[int]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, of = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(of) == group and state not in "ZX":
                found.append(int(entry.name))
    return found


def _wait(process: subprocess.Popen[bytes], place: Place, tally: Tally, until: float | None) -> bool:
    """Look on until a moment, or until the process ends; whether it has ended."""
    while process.poll() is None:
        for name in place.exposed():
            tally.exposed += 1
            tally.problems.append(f"others could read {name}")
        if until is not None and time.monotonic() >= until:
            return False
        time.sleep(0.02 if until is None else max(0.0, min(0.02, until - time.monotonic())))
    return True


def _kill(process: subprocess.Popen[bytes], tally: Tally, *, group: bool) -> None:
    if group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    deadline = time.monotonic() + PATIENCE
    while (left := _members(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in left:
        tally.orphans += 1
        tally.problems.append(f"process {pid} outlived its parent")
        os.kill(pid, signal.SIGKILL)


def run_whole(case: Case, root: Path) -> Whole:
    """The command undisturbed, twice: the first time much has yet to be read from disk."""
    for turn in ("first", "second"):
        place, tally, started = Place(root, turn), Tally(), time.monotonic()
        process = place.start(case.arguments)
        _wait(process, place, tally, None)
        seconds, said = time.monotonic() - started, place.words()
        if process.returncode not in (0, 1, 3) or tally.problems or place.left():
            raise RuntimeError(f"{case.name}: {process.returncode} {said} {tally.problems} {place.left()}")
    return Whole(seconds, process.returncode, said, place.contents())


def disturb(case: Case, whole: Whole, place: Place, rng: np.random.Generator, tally: Tally) -> None:
    """Kill the command, perhaps twice, and have it resumed."""
    code, left_to_kill = None, 2 if rng.random() < 1 / 4 else 1
    while code is None:
        late, group = rng.random() < 1 / 3, rng.random() < 2 / 3
        moment = whole.seconds * (rng.uniform(0.9, 1.02) if late else rng.uniform(0.0, 1.0))
        process = place.start(case.arguments)
        if _wait(process, place, tally, time.monotonic() + moment if left_to_kill else None):
            code = process.returncode
            tally.resumed += not left_to_kill and (code, place.words()) == (whole.code, whole.said)
            continue
        _kill(process, tally, group=group)
        tally.kills, left_to_kill = tally.kills + 1, left_to_kill - 1
        if _is_over(place, whole):
            tally.over, code = tally.over + 1, whole.code
    tally.commands += 1
    if (code, place.words()) != (whole.code, whole.said):
        tally.problems.append(f"exit code {code}, not {whole.code}: {place.words()[-300:]}")
    same = place.contents() == whole.contents
    tally.identical += same
    if not same:
        tally.problems.append("the result is another one")
    if left := place.left():
        tally.leftovers += len(left)
        tally.problems.append(f"left behind: {', '.join(left)}")


def _is_over(place: Place, whole: Whole) -> bool:
    """Whether the command had done and said all when it was killed: only the process had yet to end."""
    return not place.left() and place.contents() == whole.contents and place.words() == whole.said


def write_inputs(folder: Path) -> None:
    """Small files that keep each command busy for a moment."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    for name, n_towns in (("people", 60), ("few", 4)):
        rows = 6 * n_towns
        table: dict[str, Any] = {
            "town": [f"town {row // 6:02d}" for row in range(rows)],
            "age": np.array(["young", "middle", "old"])[rng.integers(0, 3, rows)],
            "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
            "job": np.array(["baker", "cook", "none"])[rng.integers(0, 3, rows)],
        }
        arrow_csv.write_csv(pa.table(table), folder / f"{name}.csv")
    rows = 20_000
    ill: dict[str, Any] = {
        "age": rng.integers(2, 9, rows) * 10,
        "town": np.array(["Aldea", "Brook", "Ley"])[rng.integers(0, 3, rows)],
        "ill": np.array(["cold", "flu", "gout", "none"])[rng.integers(0, 4, rows)],
    }
    arrow_csv.write_csv(pa.table(ill), folder / "ill.csv")
    command = [sys.executable, "-m", "showthrough.cli", "simulate", "--blocks", "55", "--seed", "1"]
    homes = folder / "all.parquet"
    subprocess.run([*command, "--out", str(homes)], check=True, stdout=subprocess.DEVNULL)
    everyone = pq.read_table(homes)
    # Blocks of a home or two, so that many of them take little time.
    kept = [at for at, seen in enumerate(_seen(everyone["block"].to_pylist())) if seen < 2]
    pq.write_table(everyone.take(pa.array(kept)), folder / "homes.parquet")


def _seen(names: Sequence[object]) -> Iterator[int]:
    """How often each name came before."""
    before: dict[object, int] = {}
    for name in names:
        yield before.get(name, 0)
        before[name] = before.get(name, 0) + 1


def cases(inputs: Path) -> Iterator[Case]:
    """All commands; those with workers once with one and once with two."""
    for name, words in COMMANDS.items():
        several = "{workers}" in words
        for workers in ("1", "2") if several else ("1",):
            filled = tuple(word.format(inputs=inputs, workers=workers) for word in words)
            seed = ("--seed", SEED) if name.startswith("publish") else ()
            suffix = f", {workers} worker{'s' if workers == '2' else ''}" if several else ""
            yield Case(name + suffix, (*filled, *seed, "--out", "out"))


def main(arguments: list[str]) -> int:
    """Kill, print one line for each case, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks kills")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    options = parser.parse_args(arguments)
    columns = ("commands", "kills", "resumed", "over", "identical", "leftovers", "orphans", "exposed")
    print(f"{'case':<26}{'seconds':>8}" + "".join(f"{name:>11}" for name in columns), flush=True)
    total = Tally()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        root = Path(folder)
        write_inputs(root / "inputs")
        chosen = [case for case in cases(root / "inputs") if options.only in case.name]
        for number, case in enumerate(chosen):
            wanted = options.kills // len(chosen) + (number < options.kills % len(chosen))
            seconds, tally = kill_case(case, root / str(number), wanted, seed=options.seed + number)
            counts = [getattr(tally, name) for name in columns]
            print(f"{case.name:<26}{seconds:>8.2f}" + "".join(f"{n:>11}" for n in counts), flush=True)
            for problem in tally.problems[:5]:
                print(f"  {problem}", flush=True)
            for name in columns:
                setattr(total, name, getattr(total, name) + getattr(tally, name))
            total.problems += tally.problems
            shutil.rmtree(root / str(number))
    print(f"{'all':<26}{'':>8}" + "".join(f"{getattr(total, name):>11}" for name in columns))
    return 1 if total.problems else 0


def kill_case(case: Case, root: Path, kills: int, *, seed: int) -> tuple[float, Tally]:
    """Kill one command this many times."""
    whole, tally, rng = run_whole(case, root), Tally(), np.random.default_rng(seed)
    for turn in range(20 * kills):
        if tally.kills >= kills:
            break
        place = Place(root, str(turn))
        disturb(case, whole, place, rng, tally)
        shutil.rmtree(place.folder.parent)
    return whole.seconds, tally
