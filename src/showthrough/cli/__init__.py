"""The command line: parse, call, print, exit code."""

from showthrough.cli.main import main

__all__ = [
    "main",
]
