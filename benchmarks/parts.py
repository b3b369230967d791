"""Benchmarks in parts: the option that names which of them to run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


class Parts(argparse.ArgumentParser):
    """A parser with ``--only``; the options it reads have the parts to run as ``parts``."""

    def __init__(self, name: str, known: Sequence[str], *, about: str | None = None) -> None:
        super().__init__(
            prog=f"python -m benchmarks {name}",
            description=about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.known = tuple(known)
        self.add_argument(
            "--only", default=",".join(self.known), help=f"parts to run: {','.join(self.known)}"
        )

    def read(self, arguments: list[str]) -> argparse.Namespace:
        """The options; an unknown part ends the program."""
        options = self.parse_args(arguments)
        options.parts = options.only.split(",")
        if unknown := set(options.parts) - set(self.known):
            self.error(f"unknown parts: {', '.join(sorted(unknown))}")
        return options
