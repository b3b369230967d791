"""What is otherwise in tests than in a process of its own, because it would take most of their time."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from functools import cache
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from showthrough.engine import processes
from showthrough.microdata.reconstruction_privacy import Tails
from showthrough.microdata.trials import IndependentTrials
from showthrough.numbers import leaks_summary
from showthrough.numbers.methods import run_attacks
from showthrough.report import audit_page, charts, group_charts


@contextmanager
def one_worker() -> Generator[None]:
    """Commands that are not told how many processes to use start none: tests share the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "n_processors", lambda: 1)
        yield


@contextmanager
def fresh_options() -> Generator[None]:
    """Options are read as in a process of their own, where nothing has loaded pydantic by then.

    If something has, cyclopts has it check every option once more. And what cyclopts finds out about
    the signature of a command is found out once; every call gets it without what was typed before.
    """
    with pytest.MonkeyPatch.context() as patch:
        with suppress(ImportError, AttributeError):  # other versions of cyclopts may be built otherwise
            _read_options_once(patch)
        yield


def _read_options_once(patch: pytest.MonkeyPatch) -> None:
    from cyclopts import field_info
    from cyclopts.argument import _argument, _collection

    groups: dict[Any, Any] = {}
    known: dict[Any, Any] = {}
    find = _collection._resolve_groups_from_callable
    collect = _collection.ArgumentCollection._from_callable

    def once(command: Any, *parameters: Any, **more: Any) -> Any:
        if command not in groups:
            groups[command] = find(command, *parameters, **more)
        return groups[command]

    def collected(command: Any, *parameters: Any, reserved: Any = (), **more: Any) -> Any:
        short = tuple(reserved or ())
        key = command, short, more.get("parse_docstring"), more.get("_resolve_groups")
        if key not in known:
            known[key] = collect(command, *parameters, reserved=short, **more)
        return _untouched(known[key])

    patch.setattr(_collection.ArgumentCollection, "_from_callable", collected)
    patch.setattr(_argument, "sys", SimpleNamespace(modules={}))
    patch.setattr(_collection, "_resolve_groups_from_callable", once)
    patch.setattr(field_info, "get_type_hints", cache(field_info.get_type_hints))


def _untouched(arguments: Any) -> Any:
    """The same arguments for a new call; those that are parts of others stay parts of them."""
    copies: dict[int, Any] = {}

    def copied(argument: Any) -> Any:
        if id(argument) not in copies:
            one = copies[id(argument)] = copy(argument)
            one.tokens = []
            one.children = type(arguments)(map(copied, argument.children))
        return copies[id(argument)]

    return type(arguments)(map(copied, arguments))


@contextmanager
def known_versions() -> Generator[None]:
    """Every result folder tells the versions of packages: they are looked up once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("showthrough.folders.metadata", SimpleNamespace(version=cache(metadata.version)))
        yield


@contextmanager
def nothing_synced() -> Generator[None]:
    """Results need not survive a power cut; who tests that they are synced watches for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@contextmanager
def known_limits() -> Generator[None]:
    """The largest groups and trials that a promise allows follow from its numbers: each is found once.

    Pages are drawn again and again of the same publications, and this is most of their time.
    """
    limits: dict[Any, Any] = {}
    size, largest = Tails.exact_size, IndependentTrials.largest

    def exact_size(self: Tails, chance: float, frequency: Any, **more: Any) -> Any:
        asked = np.asarray(frequency, np.float64)
        key = self, chance, asked.tobytes(), asked.shape, *more.items()
        if key not in limits:
            limits[key] = size(self, chance, asked, **more)
        return limits[key].copy()

    def largest_trials(self: IndependentTrials, sizes: Any) -> Any:
        asked = np.asarray(sizes, np.int64)
        key = self.promise, self.retention, self.n_values, asked.tobytes(), asked.shape
        if key not in limits:
            limits[key] = largest(self, asked)
        return limits[key].copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tails, "exact_size", exact_size)
        patch.setattr(IndependentTrials, "largest", largest_trials)
        yield


@contextmanager
def known_attacks() -> Generator[None]:
    """Advice tries the same attacks on the same numbers whenever a command is run again: each is run once."""
    found: dict[bytes, Any] = {}

    def once(values: Any, noise: Any, **more: Any) -> Any:
        key = pickle.dumps((np.asarray(values), noise, more))
        if key not in found:
            found[key] = run_attacks(values, noise, **more)
        return found[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("showthrough.numbers.tryout.run_attacks", once)
        yield


_DRAW = charts.draw

#: One picture of each kind of chart, with the name its parts have.
_PICTURES: dict[str, tuple[str, str]] = {}


@contextmanager
def one_picture_of_a_kind() -> Generator[None]:
    """Each kind of chart is drawn once, and stands for all others: drawing is half the time of a page.

    Charts are of a kind if all but their data and numbers is the same.
    """

    def drawn(specification: str, name: str) -> str:
        kind = json.dumps(_kind(json.loads(specification)), sort_keys=True)
        if kind not in _PICTURES:
            _PICTURES[kind] = _DRAW(specification, name), name
        picture, other = _PICTURES[kind]
        return picture.replace(f"{other}-", f"{name}-")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charts, "draw", drawn)
        yield


#: How many findings of a page come with their evidence: all that stand in the page itself, and a few more.
_WITH_EVIDENCE = 2 * audit_page.STATIC

_COLLECT = audit_page.collect_evidence


@contextmanager
def evidence_of_the_first() -> Generator[None]:
    """Pages have the evidence of their most telling findings only: that of all is most of their time."""

    def collected(run: Any, findings: Any, chosen: Any) -> Iterator[Any]:
        return _COLLECT(run, findings, [at for at in chosen if at < _WITH_EVIDENCE])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit_page, "collect_evidence", collected)
        yield


#: Numbers of points of curves on pages, each of which is searched for: as they are, and as tests have them.
_POINTS = (
    (group_charts, "STEPS", group_charts.STEPS, 7),
    (leaks_summary, "CURVE", leaks_summary.CURVE, 9),
)


@contextmanager
def few_points() -> Generator[None]:
    """Curves on pages have few points."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, _, few in _POINTS:
            patch.setattr(module, name, few)
        yield


_SETTINGS = (
    one_worker,
    fresh_options,
    known_versions,
    nothing_synced,
    known_limits,
    known_attacks,
    one_picture_of_a_kind,
    evidence_of_the_first,
    few_points,
)


@contextmanager
def all_shortcuts() -> Generator[None]:
    """The settings above."""
    with ExitStack() as stack:
        for setting in _SETTINGS:
            stack.enter_context(setting())
        yield


@contextmanager
def whole_pages() -> Generator[None]:
    """Charts are drawn, evidence is there, and curves have all their points, as in a process of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charts, "draw", _DRAW)
        patch.setattr(audit_page, "collect_evidence", _COLLECT)
        for module, name, usual, _ in _POINTS:
            patch.setattr(module, name, usual)
        yield


def _kind(part: Any) -> Any:
    """A specification without its numbers; of data only the columns are left."""
    if isinstance(part, dict):
        return {key: _kind(value) for key, value in part.items()}
    if isinstance(part, list):
        rows = part and all(isinstance(row, dict) and "mark" not in row for row in part[:1])
        return sorted(part[0]) if rows else [_kind(value) for value in part]
    return part if isinstance(part, str) else type(part).__name__
