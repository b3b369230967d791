"""From options to a method of publishing."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import get_args

from showthrough.cli.promises import MethodName, Promises
from showthrough.errors import InputError, closest
from showthrough.microdata.anatomy import Anatomized
from showthrough.microdata.parameters import check_retention
from showthrough.microdata.partitioned import Partitioned
from showthrough.microdata.promises import LDiversity, RhoPrivacy
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.microdata.utility import Comparable
from showthrough.microdata.violations import Bound

__all__ = [
    "choose_method",
    "choose_methods",
    "read_diversity",
    "read_reconstruction",
    "read_retention",
    "read_rho",
]

#: What a method needs, as a user writes it.
NEEDS: dict[str, str] = {
    "uniform": "--retention 0.3 or --rho 0.1:0.5",
    "partitioned": "--rho 0.1:0.5",
    "sampled": "--reconstruction 0.3:0.3 and --retention 0.5",
    "anatomy": "--diversity 4",
}


def read_rho(promises: Promises) -> RhoPrivacy | None:
    """The promise of ``--rho``, if there is one."""
    if promises.rho is None:
        return None
    with _naming("--rho"):
        return RhoPrivacy.parse(promises.rho)


def read_reconstruction(promises: Promises) -> ReconstructionPrivacy | None:
    """The promise of ``--reconstruction``, if there is one."""
    if promises.reconstruction is None:
        return None
    with _naming("--reconstruction"):
        return ReconstructionPrivacy.parse(promises.reconstruction)


def read_diversity(promises: Promises) -> LDiversity | None:
    """The promise of ``--diversity``, if there is one."""
    if promises.diversity is None:
        return None
    with _naming("--diversity"):
        return LDiversity(promises.diversity)


def read_retention(promises: Promises) -> float | None:
    """``--retention``, checked."""
    if promises.retention is not None:
        with _naming("--retention"):
            check_retention(promises.retention)
    return promises.retention


def choose_method(promises: Promises, *, name: MethodName | None, bound: Bound) -> Comparable:
    """The method that keeps what is promised; an error if options do not go together."""
    rho, reconstruction, diversity = (
        read_rho(promises),
        read_reconstruction(promises),
        read_diversity(promises),
    )
    given = [promise for promise in (rho, reconstruction, diversity) if promise is not None]
    if len(given) > 1:
        raise InputError(
            "a publication keeps one promise", remedy="choose one of --rho, --reconstruction, --diversity"
        )
    if not given and promises.retention is None and name is None:
        raise InputError("nothing is promised", remedy="; ".join(f"{NEEDS[one]}" for one in NEEDS))
    if name is None:
        name = "anatomy" if diversity else "sampled" if reconstruction else "uniform"
    found = list(_of_name(name, promises, bound=bound))
    used = {"rho": rho, "reconstruction": reconstruction, "diversity": diversity}
    fitting = {"uniform": ("rho",), "partitioned": ("rho",), "sampled": ("reconstruction",)}
    for option, promise in used.items():
        if promise is not None and option not in fitting.get(name, ("diversity",)):
            raise InputError(
                f"a publication by the method {name} does not keep this promise",
                found=f"--{option}",
                remedy=f"give {NEEDS[name]}",
            )
    if len(found) > 1 or (promises.retention is not None and name in ("partitioned", "anatomy")):
        raise InputError(
            "the retention follows from the promise", found="--retention", remedy="leave one of them out"
        )
    return found[0]


def choose_methods(names: Sequence[str], promises: Promises, *, bound: Bound) -> list[Comparable]:
    """Each method as the options describe it; uniform twice where it has a retention and a promise."""
    found = list[Comparable]()
    for name in names:
        if name not in get_args(MethodName):
            raise InputError(
                "an unknown method", file="--methods", found=name, remedy=closest(name, get_args(MethodName))
            )
        found += _of_name(name, promises, bound=bound)
    if not found:
        raise InputError("no method is named", file="--methods", remedy="for example uniform,partitioned")
    return list(dict.fromkeys(found))


def _of_name(name: str, promises: Promises, *, bound: Bound) -> Iterator[Comparable]:
    kept, rho, reconstruction, diversity = (
        read_retention(promises),
        read_rho(promises),
        read_reconstruction(promises),
        read_diversity(promises),
    )
    number = 0
    if name == "uniform" and kept is not None:
        yield UniformPerturbation(kept)
        number += 1
    if name == "uniform" and rho is not None:
        yield UniformPerturbation(promise=rho)
        number += 1
    if name == "partitioned" and rho is not None:
        yield Partitioned(rho)
        number += 1
    if name == "sampled" and reconstruction is not None and kept is not None:
        yield Sampled(reconstruction, kept, bound)
        number += 1
    if name == "anatomy" and diversity is not None:
        yield Anatomized(diversity)
        number += 1
    if not number:
        raise InputError(f"the method {name} needs more", remedy=f"give {NEEDS[name]}")


@contextmanager
def _naming(option: str) -> Generator[None]:
    """Say which option an error is about."""
    try:
        yield
    except InputError as error:
        raise error.at(file=option) from None
