"""A plane by the name of its engine on the command line."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from showthrough.engine.duck import DuckPlane
from showthrough.engine.plane import Plane
from showthrough.engine.select import open_engine
from showthrough.engine.spark import SparkEngine
from showthrough.engine.spark_plane import SparkPlane

__all__ = ["open_plane"]


@contextmanager
def open_plane(name: str = "local", *, threads: int | None = None, memory: str = "1GB") -> Generator[Plane]:
    """``local`` with so many threads, or a Spark master such as ``spark://host:7077``.

    ``memory`` is what counting may take on this machine before it goes to disk.

    >>> with open_plane(threads=2) as plane:
    ...     plane
    DuckPlane(memory='1GB', threads=2)
    """
    if name == "local":
        yield DuckPlane(memory, threads)
        return
    with open_engine(name, workers=1) as engine:
        if isinstance(engine, SparkEngine):
            yield SparkPlane(engine)
