"""Where work runs: on this machine, or on a Spark cluster."""

from showthrough.engine.local import LocalEngine
from showthrough.engine.protocol import Engine, Work
from showthrough.engine.select import open_engine
from showthrough.engine.spark import SparkEngine

__all__ = [
    "Engine",
    "LocalEngine",
    "SparkEngine",
    "Work",
    "open_engine",
]
