"""Calls that cannot be run as they are: what is wrong with them, and the command to run instead.

Values that are missing are taken from the examples of the command's own help.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import CoercionError, CycloptsError, MissingArgumentError, UnusedCliTokensError

from showthrough.errors import InputError

if TYPE_CHECKING:
    from cyclopts import App

    # An argument of a command, as cyclopts describes it; its class is not public.
    Argument = Any

__all__ = [
    "CallError",
    "about_the_call",
    "examples",
    "instead",
    "required",
]

#: The longest command that is shown for copying, with the words before it.
LONGEST = 400

#: A share in percent, written where a number is expected.
PERCENT = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,9})?)\s?%")


class CallError(InputError):
    """Options that do not suffice or do not fit. ``options`` are those to add or to change."""

    def __init__(
        self, problem: str, *, options: Mapping[str, str] | None = None, **described: str | None
    ) -> None:
        super().__init__(problem, **described)  # pyright: ignore[reportArgumentType] - all are texts
        self.options = dict(options or {})


def instead(error: CallError, given: Sequence[str]) -> str:
    """What to run instead, as it follows an error.

    >>> instead(CallError("no promise given", options={"--rho": "0.1:0.5"}), ["publish", "my people.csv"])
    "; run: showthrough publish 'my people.csv' --rho 0.1:0.5"
    """
    tokens = list(given)
    for option, value in error.options.items():
        tokens = _with(tokens, option, value)
    return _run(tokens) if error.options else ""


def about_the_call(error: CycloptsError) -> str:
    """An error of the command line in one line, with the command to run instead where it is clear."""
    chain, tokens = list(error.command_chain or ()), list(error.root_input_tokens or ())
    app = _command(error.app, chain)
    unused = error.unused_tokens or []
    if isinstance(error, MissingArgumentError) and error.argument is not None and app is not None:
        if error.keyword is None and unused:
            tokens = _repeated(tokens, unused, app)
        completed = _run(_completed(tokens, chain, app), chain, before="for example:")
        return f"{_name(error.argument)} is missing{completed}"
    if isinstance(error, UnusedCliTokensError) and app is not None and unused:
        return _about_unused(unused, tokens, chain, app)
    if isinstance(error, CoercionError) and error.argument is not None and error.token is not None:
        percent = PERCENT.fullmatch(error.token.value)
        if percent and error.argument.hint is float:
            share, option = f"{float(percent[1]) / 100:.6g}", error.argument.name
            text = f"{option}: expected a number (found {error.token.value!r})"
            return f"{text}{_run(_with(tokens, option, share), chain)}"
    return _as_it_is(str(error), chain)


def _as_it_is(problem: str, chain: Sequence[str]) -> str:
    # The help lists commands better than an unfinished list of them.
    text = re.sub(r" Available commands: [^.]*(\.\.\.)$", "", " ".join(problem.split())).rstrip(".")
    command = " ".join(["showthrough", *chain])
    return f"{text[:1].lower()}{text[1:]}{'' if text.endswith('?') else ';'} see {command} --help"


def _about_unused(unused: Sequence[str], tokens: list[str], chain: Sequence[str], app: App) -> str:
    text = f"unexpected argument {unused[0]!r}"
    option = _before(unused[0], tokens, app)
    repeated = _repeated(tokens, unused, app)
    if option is None or repeated == tokens:
        return f"{text}; see {' '.join(['showthrough', *chain])} --help"
    text = f"{text}: {_name(option)} takes one value, and can be given several times"
    return f"{text}{_run(_completed(repeated, chain, app), chain)}"


def _run(tokens: Sequence[str], chain: Sequence[str] = (), *, before: str = "run:") -> str:
    """The remedy: a command for copying, or the help if that would be long or unreadable."""
    command = shlex.join(["showthrough", *tokens])
    if len(command) > LONGEST or not command.isprintable():
        return f"; see {' '.join(['showthrough', *chain])} --help"
    return f"; {before} {command}"


def _with(tokens: Sequence[str], option: str, value: str) -> list[str]:
    """Tokens in which an option has this value.

    >>> _with(["advise", "--share", "5", "--json"], "--share", "0.05")
    ['advise', '--share', '0.05', '--json']
    >>> _with(["advise", "--share=5"], "--share", "0.05"), _with(["demo"], "--out", "run/")
    (['advise', '--share=0.05'], ['demo', '--out', 'run/'])
    """
    for at, token in enumerate(tokens):
        if token.startswith(f"{option}="):
            return [*tokens[:at], f"{option}={value}", *tokens[at + 1 :]]
        if token == option:
            follows = tokens[at + 1 :]
            return [*tokens[: at + 1], value, *(follows if _is_option(follows[:1]) else follows[1:])]
    return [*tokens, option, value]


def _is_option(tokens: Iterable[str]) -> bool:
    return any(token.startswith("-") and len(token) > 1 and not token[1].isdigit() for token in tokens)


def _completed(tokens: Sequence[str], chain: Sequence[str], app: App) -> list[str]:
    """Tokens with everything that the command requires, as its examples have it."""
    made, values = list(tokens), examples(chain, app)
    for argument in required(app):
        name = argument.name
        value = values.get("" if argument.index is not None else name)
        if value is None:
            continue
        if argument.index is not None and not _positional(made, chain, app):
            made[len(chain) : len(chain)] = [value]
        elif argument.index is None and (name not in made or _is_empty(made, name)):
            made = [one for one in made if not one.startswith(f"{name}=")]
            made = _with(made, name, value)
    return made


def _is_empty(tokens: Sequence[str], option: str) -> bool:
    """Whether an option stands there without its value."""
    at = tokens.index(option)
    return at + 1 == len(tokens) or _is_option(tokens[at + 1 : at + 2])


def required(app: App) -> list[Argument]:
    """The arguments that a command cannot do without."""
    return [one for one in app.assemble_argument_collection() if one.required and one.name != "*"]


def examples(chain: Sequence[str], app: App) -> dict[str, str]:
    """What the examples of a command's help have for each option; for the empty name, its first argument."""
    found: dict[str, str] = {}
    text = str(app.help_epilogue or "").replace("\\\n", " ")
    for line in text.splitlines():
        try:
            tokens = shlex.split(line)
        except ValueError:
            continue  # a sentence with an apostrophe
        if tokens[: len(chain) + 1] != ["showthrough", *chain]:
            continue
        for at, token in enumerate(tokens[len(chain) + 1 :], len(chain) + 1):
            if _is_option([token]) and at + 1 < len(tokens) and not _is_option(tokens[at + 1 : at + 2]):
                found.setdefault(token, tokens[at + 1])
            elif at == len(chain) + 1 and not _is_option([token]):
                found.setdefault("", token)
    return found


def _positional(tokens: Sequence[str], chain: Sequence[str], app: App) -> list[str]:
    """The tokens that are no options and no values of options."""
    flags = {name for one in app.assemble_argument_collection() if _is_flag(one) for name in one.names}
    found, value = list[str](), False
    for token in tokens[len(chain) :]:
        if _is_option([token]):
            value = "=" not in token and token not in flags
        elif value:
            value = False
        else:
            found.append(token)
    return found


def _is_flag(argument: Argument) -> bool:
    return argument.token_count()[0] == 0


def _before(token: str, tokens: Sequence[str], app: App) -> Argument | None:
    """The repeatable option whose values are followed by a token that belongs to nothing."""
    if token not in tokens:
        return None
    known = {name: one for one in app.assemble_argument_collection() for name in one.names}
    options = [one for one in tokens[: tokens.index(token)] if _is_option([one])]
    found = known.get(options[-1]) if options else None
    return found if found is not None and found.token_count()[1] else None


def _repeated(tokens: Sequence[str], unused: Sequence[str], app: App) -> list[str]:
    """Tokens in which every unused one that follows a repeatable option gets that option before it.

    Where files come after, a word that is none is taken for a value, too.
    """
    option, first = _before(unused[0], tokens, app), True
    if option is None:
        return list(tokens)
    made, within = list[str](), False
    for token in tokens:
        if _is_option([token]):
            within, first = token in option.names, True
        elif within and not first and not Path(token).exists():
            made.append(option.name)
        elif within:
            first = False
        made.append(token)
    return made


def _name(argument: Argument) -> str:
    """An argument as the help names it: DATA, or --out."""
    return argument.name if argument.index is None else argument.name.lstrip("-").upper().replace("-", "_")


def _command(app: App | None, chain: Sequence[str]) -> App | None:
    """The command that was called."""
    from showthrough.cli.app import app as all_commands

    found = all_commands
    for name in chain:
        if name not in found:
            return app
        found = found[name]
    return found if chain else None
