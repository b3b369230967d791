"""Running commands in tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from showthrough.cli import main


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def text(self) -> str:
        """What it printed, on one line."""
        return " ".join(self.out.split())


Run = Callable[..., Ran]


def runner(capsys: pytest.CaptureFixture[str], *, words: bool = False) -> Run:
    """A function that runs a command in this process; with ``words``, given as texts of several words."""

    def call(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main([word for text in arguments for word in text.split()] if words else arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Ran(code, out, err)

    return call
