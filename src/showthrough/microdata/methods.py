"""The methods of publishing: chosen by name and promise, varied by parameter, described in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from types import NoneType
from typing import Final, get_args

from showthrough.errors import InputError, check_each, check_type, closest
from showthrough.microdata.anatomy import Anatomized
from showthrough.microdata.generalize import Merging
from showthrough.microdata.given import UniformGivenPublic
from showthrough.microdata.groups import Groups
from showthrough.microdata.ordinal import OrdinalPerturbation
from showthrough.microdata.parameters import check_retention
from showthrough.microdata.partitioned import Partitioned
from showthrough.microdata.promises import (
    LDiversity,
    Promise,
    PromiseKind,
    PromiseLike,
    RhoPrivacy,
    promise_kind,
    read_promises,
)
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled, Trials
from showthrough.microdata.sets import Family, largest_shares, value_names
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.microdata.violations import Bound

__all__ = [
    "PARAMETERS",
    "MethodOptions",
    "PublishingMethod",
    "Setting",
    "choose_method",
    "choose_methods",
    "describe_method",
    "explain_symbols",
    "on_equal_terms",
    "settings",
    "vary",
]

PublishingMethod = (
    UniformPerturbation | UniformGivenPublic | Partitioned | OrdinalPerturbation | Sampled | Anatomized
)

#: The promise each method can keep, and what it needs, as a user may write it.
_KEEPS: Final[dict[str, PromiseKind]] = {
    "uniform": "rho",
    "partitioned": "rho",
    "ordinal": "rho",
    "sampled": "reconstruction",
    "anatomy": "diversity",
}
_NEEDS: Final = {
    "uniform": "retention=0.3 or rho=0.1:0.5",
    "partitioned": "rho=0.1:0.5",
    "ordinal": "rho=0.1:0.5",
    "sampled": "reconstruction=0.3:0.3",
    "anatomy": "diversity=4",
}
#: The method for a promise if none is named.
_USUAL: Final[dict[PromiseKind, str]] = {
    "rho": "uniform",
    "reconstruction": "sampled",
    "diversity": "anatomy",
}

#: What a comparison can vary, and what it is.
PARAMETERS: Final = {
    "retention": "the retention p of uniform publications, and its limit for sampled ones",
    "error": "the error λ of reconstruction privacy",
    "chance": "the chance δ of reconstruction privacy",
    "prior": "the prior ρ1",
    "posterior": "the posterior ρ2",
    "l": "the l of an anatomy, and 1/l as the posterior ρ2 of the others: both limit belief to 1/l",
}


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """What else determines a method, besides its name and its promise.

    With ``given="public"`` the promise is to readers who see the public values. ``bound``, ``trials`` and
    ``merging`` are those of :class:`~showthrough.Sampled`.
    """

    retention: float | None = None
    bound: Bound = "exact"
    trials: Trials = "independent"
    merging: Merging = "conditional"
    given: str | None = None

    def sampled(self, promise: ReconstructionPrivacy) -> Sampled:
        """The sampled method with these options."""
        return Sampled(promise, self.retention, bound=self.bound, trials=self.trials, merging=self.merging)

    @property
    def is_given(self) -> bool:
        """Whether the promise is to readers who see the public values."""
        if self.given not in (None, "public"):
            raise InputError("unknown readers", found=str(self.given), remedy="write public, or leave it out")
        return self.given is not None


NO_OPTIONS: Final = MethodOptions()


def choose_method(
    name: str | None = None,
    promise: PromiseLike | Sequence[PromiseLike] | None = None,
    options: MethodOptions = NO_OPTIONS,
) -> PublishingMethod:
    """The method that keeps a promise; by default the one that the promise asks for.

    >>> choose_method("partitioned", "0.1:0.5")
    Partitioned(promise=RhoPrivacy(prior=0.1, posterior=0.5), confidence=0.95, cost='variance')
    >>> choose_method(options=MethodOptions(retention=0.3))
    UniformPerturbation(retention=0.3, promise=None)
    """
    _check_name(name)
    promises = read_promises(promise, kind=None if name is None else _KEEPS[name])
    if len(promises) > 1:
        raise InputError(
            "a publication keeps one promise", remedy="choose one of rho, reconstruction and diversity"
        )
    retention = options.retention
    if not promises and retention is None and name is None:
        raise InputError("no promise given", remedy=f"give {', or '.join(_NEEDS.values())}")
    kinds: list[PromiseKind] = [promise_kind(one) for one in promises]
    name = name or (_USUAL[kinds[0]] if kinds else "uniform")
    found = list(_variants(name, promises, options))
    if options.is_given:
        found = _given_public(name, promises, retention)
    for kind in kinds:
        if kind != _KEEPS[name]:
            raise InputError(
                f"the method {name} cannot keep this promise", found=kind, remedy=f"give {_NEEDS[name]}"
            )
    if len(found) > 1 or (retention is not None and name in ("partitioned", "ordinal", "anatomy")):
        raise InputError(
            "the retention follows from the promise", found="retention", remedy="give one of them only"
        )
    return found[0]


def choose_methods(
    methods: str | Sequence[str | PublishingMethod],
    promises: PromiseLike | Sequence[PromiseLike] = (),
    options: MethodOptions = NO_OPTIONS,
) -> list[PublishingMethod]:
    """Each method by its name or as it is; uniform twice if it has both a retention and a promise.

    With ``given="public"``, uniform is compared with the form that keeps its promise to readers who see
    the public values.

    >>> kept = MethodOptions(retention=0.3)
    >>> [method.name for method in choose_methods("uniform, anatomy", ["rho=0.1:0.5", 4], kept)]
    ['uniform', 'uniform', 'anatomy']
    """
    names = methods.split(",") if isinstance(methods, str) else methods
    check_each(
        names, (str, *get_args(PublishingMethod)), name="methods", remedy="for example uniform,partitioned"
    )
    read, found = read_promises(promises), list[PublishingMethod]()
    is_given = options.is_given
    for one in names:
        if isinstance(one, PublishingMethod):
            found.append(one)
        elif one.strip():
            _check_name(one.strip())
            found += _variants(one.strip(), read, options)
            if is_given and one.strip() == "uniform":
                found += _given_public("uniform", read, None)
    if not found:
        raise InputError("no method given", remedy="for example uniform,partitioned")
    return list(dict.fromkeys(found))


def _given_public(name: str, promises: Sequence[Promise], retention: float | None) -> list[PublishingMethod]:
    """Uniform perturbation that keeps its promise to readers who see the public values."""
    fitting = [promise for promise in promises if isinstance(promise, RhoPrivacy)]
    if name != "uniform" or not fitting or retention is not None:
        raise InputError(
            "only the method uniform keeps a promise given the public values, by a promise of its own",
            found=name if name != "uniform" else "no promise rho" if not fitting else "retention",
            remedy="give rho=0.1:0.5, and no other method and no retention",
        )
    return [UniformGivenPublic(promise) for promise in fitting]


def _check_name(name: str | None) -> None:
    if name is not None and name not in _KEEPS:
        raise InputError("unknown method", found=name, remedy=closest(name, _KEEPS))


def _variants(name: str, promises: Sequence[Promise], options: MethodOptions) -> Iterator[PublishingMethod]:
    """All ways in which what was given makes up a method."""
    retention = options.retention
    if retention is not None:
        check_type(retention, Real, name="retention", remedy="for example 0.5")
        check_retention(retention)
    fitting = [promise for promise in promises if promise_kind(promise) == _KEEPS[name]]
    number = 0
    if name == "uniform" and retention is not None:
        yield UniformPerturbation(retention)
        number += 1
    for promise in fitting:
        match promise:
            case RhoPrivacy() if name == "uniform":
                yield UniformPerturbation(promise=promise)
            case RhoPrivacy() if name == "ordinal":
                yield OrdinalPerturbation(promise)
            case RhoPrivacy():
                yield Partitioned(promise)
            case ReconstructionPrivacy():
                yield options.sampled(promise)
            case LDiversity():
                yield Anatomized(promise)
        number += 1
    if not number:
        raise InputError(f"the method {name} needs more than was given", remedy=f"give {_NEEDS[name]}")


@dataclass(frozen=True, eq=False)
class Setting:
    """A method, and which parameter was given which value in it (none for the method as it is)."""

    method: PublishingMethod
    parameter: str | None = None
    value: float | None = None
    #: The promise that was asked for, where the method was given a narrower one to be on equal terms.
    asked: Promise | None = None


def settings(
    methods: Sequence[PublishingMethod], sweeps: Mapping[str, Sequence[float]] | None = None
) -> list[Setting]:
    """Every method as it is, or, with sweeps, every method with each value of its swept parameters.

    A sweep changes one parameter at a time. A method without the parameter is measured once as it is,
    for comparison.
    """
    check_type(sweeps, (Mapping, NoneType), name="sweeps", remedy="write {'retention': [0.3, 0.5]}")
    if not sweeps:
        return [Setting(method) for method in methods]
    found = list[Setting]()
    for parameter, values in sweeps.items():
        check_type(parameter, str, name="a swept parameter", remedy=closest("retention", PARAMETERS))
        check_each(values, Real, name=f"the values of {parameter}", remedy="list numbers")
        swept = {method: [vary(method, parameter, value) for value in values] for method in methods}
        if not any(changed for many in swept.values() for changed in many):
            raise InputError(
                "none of the compared methods has this parameter",
                found=parameter,
                remedy=f"{parameter} is {PARAMETERS[parameter]}",
            )
        for method, many in swept.items():
            if not any(many):
                found.append(Setting(method, parameter, None))
            found += [
                Setting(changed, parameter, value)
                for changed, value in zip(many, values, strict=True)
                if changed is not None
            ]
    return found


def on_equal_terms(chosen: Sequence[Setting], groups: Groups) -> list[Setting]:
    """Uniform perturbation with the prior that a partition beside it goes by.

    A partition follows the largest share of a protected value that there is, on its grid, not the prior of
    the promise, which may be larger. To compare like with like, uniform perturbation gets this share for
    its prior where both are to keep the same promise.

    >>> groups = Groups.of({"sex": ["f"]}, {"ill": ["a", "b", "c"]}, [[20, 30, 50]])
    >>> promise = RhoPrivacy(0.4, 0.6)
    >>> both = [Setting(UniformPerturbation(promise=promise)), Setting(Partitioned(promise))]
    >>> [describe_method(setting.method) for setting in on_equal_terms(both, groups)]
    ['ρ 0.3134:0.6', 'ρ 0.4:0.6']
    """
    partitioned = {one.method.promise for one in chosen if isinstance(one.method, Partitioned)}
    found = list[Setting]()
    for one in chosen:
        match one.method:
            case UniformPerturbation(promise=RhoPrivacy() as promise) if promise in partitioned:
                family = Family.of(promise, value_names(groups.domain))
                share = largest_shares(groups.totals[None, :], promise, family)
                prior = min(promise.prior, float(promise.rounded(share)[0]))
                if prior:
                    method = replace(one.method, promise=promise.for_frequency(prior))
                    one = replace(one, method=method, asked=promise)
            case _:
                pass
        found.append(one)
    return found


def vary(method: PublishingMethod, parameter: str, value: float) -> PublishingMethod | None:
    """The method with one parameter changed; None for a method that does not have it.

    >>> vary(UniformPerturbation(0.5), "retention", 0.3)
    UniformPerturbation(retention=0.3, promise=None)
    >>> vary(UniformPerturbation(promise=RhoPrivacy(0.1, 0.5)), "l", 4)
    UniformPerturbation(retention=None, promise=RhoPrivacy(prior=0.1, posterior=0.25))
    >>> vary(UniformPerturbation(0.5), "l", 4) is None
    True
    """
    if parameter not in PARAMETERS:
        raise InputError("unknown parameter", found=parameter, remedy=closest(parameter, PARAMETERS))
    match method:
        case UniformPerturbation(retention=float()) | Sampled() if parameter == "retention":
            return replace(method, retention=value)
        case Sampled(promise=promise) if parameter in ("error", "chance"):
            return replace(method, promise=replace(promise, **{parameter: value}))
        case (
            UniformPerturbation(promise=RhoPrivacy() as promise)
            | UniformGivenPublic(promise=promise)
            | Partitioned(promise=promise)
            | OrdinalPerturbation(promise=promise)
        ) if parameter in ("prior", "posterior", "l"):
            changed = {"posterior": 1 / value} if parameter == "l" else {parameter: value}
            return replace(method, promise=replace(promise, **changed))
        case Anatomized() if parameter == "l":
            return replace(method, promise=LDiversity(_whole(value)))
        case _:
            return None


def _whole(value: float) -> int:
    if value != int(value):
        raise InputError("l must be a whole number of at least 2", found=str(value), remedy="for example 4")
    return int(value)


def describe_method(method: PublishingMethod) -> str:
    """What a method promises, in a few symbols.

    >>> describe_method(Partitioned(RhoPrivacy(0.1, 0.5)))
    'ρ 0.1:0.5'
    """
    match method:
        case UniformGivenPublic(promise=promise):
            return f"ρ {promise.prior:.4g}:{promise.posterior:.4g}, given public"
        case (
            UniformPerturbation(promise=RhoPrivacy() as promise)
            | Partitioned(promise=promise)
            | OrdinalPerturbation(promise=promise)
        ):
            sets = "" if promise.sets == 1 else ", sets"
            known = ", totals known" if promise.known_totals else ""
            return f"ρ {promise.prior:.4g}:{promise.posterior:.4g}{known}{sets}"
        case Sampled(promise=promise, bound=bound, trials=trials):
            exact = ", exact" if bound == "exact" else ""
            how = "" if trials == "independent" else f", {trials}{exact}"
            return f"λ {promise.error:.4g}, δ {promise.chance:.4g}{how}"
        case Anatomized(promise=promise):
            return f"l {promise.l}"
        case _:
            return "–"


#: What the symbols of :func:`describe_method` mean.
_SYMBOLS: Final = {
    "ρ": "ρ: the largest prior and the largest posterior of a protected value.",
    "λ": "λ and δ: the relative error and its least probability, in reconstruction privacy.",
    "l": "l: no value has more than 1/l of a bucket.",
}


_GIVEN: Final = (
    "given public: kept to readers who see the public values; an estimate for merged groups is divided "
    "evenly among them."
)


def explain_symbols(described: Iterable[str]) -> str:
    """What the symbols in these descriptions of methods mean, of those that occur.

    >>> explain_symbols(["–", "l 4"])
    'l: no value has more than 1/l of a bucket.'
    """
    texts = list(described)
    used = {text[:1] for text in texts}
    found = [meaning for symbol, meaning in _SYMBOLS.items() if symbol in used]
    return " ".join([*found, *([_GIVEN] if any(text.endswith("given public") for text in texts) else [])])
