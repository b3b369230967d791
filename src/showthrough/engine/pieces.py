"""A source looked through: at once on this machine, or piece by piece by the tasks of a cluster.

What is found in a piece is small, and comes back by way of Spark. So nothing needs to be shared but the
source itself, which every machine must see under the same path.
"""

from __future__ import annotations

import pickle
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from showthrough.errors import ShowthroughError
from showthrough.frames import Source

if TYPE_CHECKING:
    from showthrough.engine.spark import SparkEngine

__all__ = [
    "checked_rows",
    "cluster_of",
    "each_piece",
    "pieces_of",
]

Found = TypeVar("Found")


def cluster_of(engine: object) -> SparkEngine | None:
    """The engine, if it is a cluster; None if work is done on this machine."""
    if getattr(engine, "session", None) is None:
        return None
    from showthrough.engine.spark import SparkEngine

    return engine if isinstance(engine, SparkEngine) else None


def pieces_of(source: Source) -> list[Source]:
    """The pieces that tasks read side by side; none if there is only one, or it is in memory.

    >>> import pyarrow as pa
    >>> pieces_of(Source.of(pa.table({"a": [1]})))
    []
    """
    pieces = [] if source.held is not None else source.pieces()
    return pieces if len(pieces) > 1 else []


def each_piece(source: Source, look: Callable[[Source], Found], engine: object = None) -> list[Found]:
    """What ``look`` finds in each piece, in order; on this machine the source is a single piece.

    What it raises on purpose is raised here: that of the first piece with an error.
    """
    cluster, pieces = cluster_of(engine), pieces_of(source)
    if cluster is None or not pieces:
        return [look(source)]
    return [_unpacked(found) for found in _on_cluster(cluster, look, pieces)]


def _on_cluster(cluster: SparkEngine, look: Callable[[Source], Any], pieces: Sequence[Source]) -> list[bytes]:
    from showthrough.engine.checked_work import machine_versions
    from showthrough.engine.spark_failure import explain_failure
    from showthrough.engine.spark_watch import watch_for_resources

    listed = [(at, pickle.dumps(piece)) for at, piece in enumerate(pieces)]
    task = partial(_look, look=pickle.dumps(look), versions=machine_versions())
    try:
        with watch_for_resources(cluster.session, cluster.notice):
            tasks = cluster.session.sparkContext.parallelize(listed, len(listed))
            found = dict(tasks.mapPartitions(task).collect())
    except Exception as problem:  # noqa: BLE001  (whatever Java and the network come up with)
        raise ShowthroughError(
            f"Spark failed to read the input: {explain_failure(problem)}; run the same command again"
        ) from None
    if sorted(found) != list(range(len(pieces))):
        raise ShowthroughError(
            f"Spark was given {len(pieces)} pieces of the input and looked through {len(found)}; "
            "run the same command again"
        )
    return [found[at] for at in range(len(pieces))]


def _look(
    pieces: Iterable[tuple[int, bytes]], look: bytes, versions: dict[str, str]
) -> Iterator[tuple[int, bytes]]:
    """What is done in a task. Errors on purpose are results: trying again cannot help."""
    from showthrough.engine.checked_work import check_versions

    for at, piece in pieces:
        try:
            check_versions(versions)
            found = pickle.loads(look)(pickle.loads(piece)), None  # noqa: S301  (our own)
        except ShowthroughError as error:
            found = None, error
        yield at, pickle.dumps(found)


def _unpacked(packed: bytes) -> Any:
    found, error = pickle.loads(packed)  # noqa: S301  (pickled by our own tasks)
    if error is not None:
        raise error
    return found


def checked_rows(piece: Source, rows: int) -> int:
    """The number of rows that were read of a piece, once it is clear that these are all it has."""
    if piece.n_rows() not in (None, rows):
        raise ShowthroughError(
            f"the machine {socket.gethostname()} read {rows:,} rows of a piece with {piece.n_rows():,}: it "
            f"sees another file than this program ({', '.join(piece.files)}); use storage that all share"
        )
    return rows
