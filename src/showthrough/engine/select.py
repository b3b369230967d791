"""An engine, or a backend that counts, by its name on the command line."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from showthrough.engine.local import LocalEngine
from showthrough.engine.protocol import Engine
from showthrough.errors import InputError, check_type

if TYPE_CHECKING:
    from showthrough.engine.backend import CountingBackend

__all__ = [
    "open_backend",
    "open_engine",
]

#: What Spark accepts as a master. A bare "local" is ours.
_SPARK = re.compile(r"(spark|k8s)://.+|yarn|local\[[^\]]+\]|local-cluster\[[0-9]+,[0-9]+,[0-9]+\]")


@contextmanager
def open_engine(name: str, *, workers: int) -> Generator[Engine]:
    """An engine to run audits on, closed at the end of the ``with`` block.

    Parameters
    ----------
    name
        ``local``, or a Spark master such as ``spark://host:7077``.
    workers
        The number of processes on this machine.

    Yields
    ------
    Engine
        The engine.

    Raises
    ------
    InputError
        If the name is unknown, or Spark cannot be used.

    Examples
    --------
    >>> with open_engine("local", workers=2) as engine:
    ...     engine
    LocalEngine(workers=2)
    >>> with open_engine("sparks", workers=2) as engine:
    ...     engine
    Traceback (most recent call last):
        ...
    showthrough.errors.InputError: unknown engine (found 'sparks'); use local, or a Spark master: \
spark://host:7077, yarn, k8s://…, local[2], local-cluster[2,1,1024]
    """
    check_type(name, str, name="name", remedy="use local, or a Spark master such as spark://host:7077")
    if name == "local":
        yield LocalEngine(workers)
        return
    if not _SPARK.fullmatch(name):
        raise InputError(
            "unknown engine",
            found=name,
            remedy="use local, or a Spark master: "
            "spark://host:7077, yarn, k8s://…, local[2], local-cluster[2,1,1024]",
        )
    from showthrough.engine.spark import SparkEngine

    engine = SparkEngine.open(name)
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def open_backend(
    name: str = "local", *, threads: int | None = None, memory: str = "1GB"
) -> Generator[CountingBackend]:
    """``local`` with so many threads, or a Spark master such as ``spark://host:7077``.

    ``memory`` is what counting may take on this machine before it goes to disk.

    >>> with open_backend(threads=2) as backend:
    ...     backend
    DuckBackend(memory='1GB', threads=2)
    """
    if name == "local":
        from showthrough.engine.duck import DuckBackend

        yield DuckBackend(memory, threads)
        return
    from showthrough.engine.spark import SparkEngine
    from showthrough.engine.spark_backend import SparkBackend

    with open_engine(name, workers=1) as engine:
        if isinstance(engine, SparkEngine):
            yield SparkBackend(engine)
