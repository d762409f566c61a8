"""Makes agents by name: ``random``, ``policy:runs/smoke/checkpoints/latest`` and so on.

A spec is ``name``, ``name:key=value,key=value`` or, where an agent takes a path,
``name:PATH`` or ``name:PATH,key=value``. The options of an agent are the parameters of its class.
An agent of your own is ``python:MODULE:CLASS``, with options after it; commands that are run by
``python -m`` find modules in the folder where they are run.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Never

from agents.agent import Agent
from agents.specs import Spec
from thud_env.arguments import as_count, module_named, nearest, shown
from thud_env.errors import ThudError

AGENTS: dict[str, str] = {
    "random": "agents.simple:RandomAgent",
    "greedy": "agents.simple:GreedyAgent",
    "greedy2": "agents.alphabeta:Greedy2Agent",
    "alphabeta": "agents.alphabeta:AlphaBetaAgent",
    "mcts": "agents.mcts:MctsAgent",
    "policy": "agents.policy:PolicyAgent",
    "policy+mcts": "agents.policy_mcts:PolicyMctsAgent",
    "champion": "agents.champion:ChampionAgent",
}
"""Every agent of the checkout: its name in a spec, and ``module:Class``, imported when the agent is
made (some need torch, others compile)."""
OWN = "python"
"""The name in a spec of an agent of the user's own."""


def make(spec: str, seed: int | None = 0, **unknown: Never) -> Agent:
    """The agent that ``spec`` describes.

    Args:
        spec: for example ``"greedy"`` or ``"policy:runs/smoke/checkpoints/latest"``.
        seed: seeds the agent. The default is 0, so two agents of one spec make the same choices;
            None draws a seed anew.

    Raises:
        TypeError: if the spec is not a string, or for an option beside it.
        ThudError: if the spec names no agent, an option that the agent does not have, or an
            option twice; if ``seed`` is neither an integer, 0 or more, nor None.
        agents.networks.checkpoint.CheckpointError: if a checkpoint is damaged or not one of ours.
    """
    if not isinstance(spec, str):
        raise TypeError(
            f"agent {shown(spec)}: a string such as 'greedy', or 'python:MODULE:CLASS' for one of "
            "your own, would be right"
        )
    for key in unknown:
        hint = nearest(key, ("seed",)) or "options stand in the spec, as in 'alphabeta:depth=2'"
        raise TypeError(f"make() got an unexpected keyword argument {key!r}: {hint.strip()}")
    name, told = Spec.of(spec)
    words = list(told)
    kind: Callable[..., Agent] = _class_named(spec, name, words)
    parameters = dict(inspect.signature(kind).parameters)
    takes_seed = parameters.pop("seed", None) is not None
    positional = []
    if name != OWN and "path" in parameters:
        del parameters["path"]
        positional = [_path(spec, words, "PATH", (*parameters, "seed"))]
    seed = (
        random.SystemRandom().randrange(2**31) if seed is None else as_count("seed", seed, least=0)
    )
    options = _options(spec, words, parameters)
    if takes_seed:
        options["seed"] = seed
    try:
        made = kind(*positional, **options)
    except ValueError as error:
        if name != OWN or isinstance(error, ThudError):
            raise
        raise ThudError(f"agent {shown(spec)}: {error}") from error
    if not takes_seed:
        made.seed(seed)
    return made


def _class_named(spec: str, name: str, words: list[str]) -> type[Agent]:
    """The class of a spec's name; that of an agent of the user's own is removed from ``words``."""
    if name == OWN:
        where = _path(spec, words, "MODULE:CLASS", ())
    elif name in AGENTS:
        where = AGENTS[name]
    else:
        raise ThudError(f"unknown agent {shown(spec)}: {_hint(spec, name, words)}")
    try:
        return agent_class(where)
    except ThudError as error:
        cause, reason = error.__cause__, str(error)
        if name != OWN and isinstance(cause, ModuleNotFoundError):
            extra = "train" if name.startswith("policy") else "agents"
            install = f'pip install --editable ".[{extra}]"'
            reason = f"{cause.name} is missing: {install} in the checkout would be right"
        raise ThudError(f"agent {shown(spec)}: {reason}") from cause


def _hint(spec: str, name: str, words: list[str]) -> str:
    """What would be right in place of the name of an agent that there is not."""
    names = [*AGENTS, OWN]
    if name.partition(",")[0] in AGENTS:
        return "options follow a colon, NAME:KEY=VALUE,KEY=VALUE"
    hint = nearest(name, names)
    if name == "agents":  # as an environment's opponent is written
        hint = f"did you mean {shown(','.join(words))}? "
    elif not hint and name.endswith(".py") and ("/" in name or not words):
        hint = f"an agent of your own is {OWN}:MODULE:CLASS; "
    elif not hint and "/" in name:
        hint = f"did you mean {shown(f'policy:{spec}')}? "
    elif not hint and words and words[0].isidentifier():
        own = f"{OWN}:{name.removesuffix('.py')}:{','.join(words)}"
        hint = f"did you mean {shown(own)}? "
    return f"{hint}there are {', '.join(names)}"


def is_own(spec: str) -> bool:
    """Whether a spec names an agent of the user's own, whose code runs when it is made."""
    return Spec.of(spec).name == OWN


def _path(spec: str, words: list[str], what: str, options: Iterable[str]) -> str:
    """Remove the first word of a spec, a path and none of some options, from ``words`` and return
    it.
    """
    if not words or any(words[0].startswith(f"{option}=") for option in options):
        name = Spec.of(spec).name
        raise ThudError(f"agent {shown(spec)} needs a path: {name}:{what} would be right")
    return words.pop(0)


def _options(
    spec: str, words: list[str], parameters: Mapping[str, inspect.Parameter]
) -> dict[str, Any]:
    """The options in a spec, by name, each of its parameter's type."""
    collects = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    options = [key for key, parameter in parameters.items() if parameter.kind not in collects]
    given: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in options:
            if key == "seed":
                raise ThudError(
                    f"agent {shown(spec)} has no option 'seed': make(spec, seed=1), or --seed of "
                    "the command, seeds it"
                )
            if key.strip() in options:
                raise ThudError(f"agent {shown(spec)}: {key.strip()!r} without spaces is right")
            known = f"{nearest(key, options)}its options are {', '.join(options) or 'none'}"
            hint = "" if "=" in word else ", as KEY=VALUE"
            raise ThudError(f"agent {shown(spec)} has no option {key!r}: {known}{hint}")
        if key in given:
            raise ThudError(
                f"agent {shown(spec)} has its option {key!r} twice: once would be right"
            )
        given[key] = _value(spec, parameters[key], value)
    for key in options:
        if key not in given and parameters[key].default is inspect.Parameter.empty:
            raise ThudError(
                f"agent {shown(spec)} needs its option {key!r}: {key}=... would be right"
            )
    return given


def _read_bool(text: str) -> bool:
    """``yes`` or ``no``, as a ruleset's spec has them."""
    if text not in ("yes", "no"):
        raise ThudError(f"{text!r}: yes or no would be right")
    return text == "yes"


_TYPES: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "str": (str, "a word"),
    "bool": (_read_bool, "yes or no"),
}


def _value(spec: str, parameter: inspect.Parameter, value: str) -> Any:
    """An option's value, of the type that the signature names, or of its default's type."""
    annotation, key = parameter.annotation, parameter.name
    if annotation is inspect.Parameter.empty:
        if parameter.default is inspect.Parameter.empty:
            raise ThudError(
                f"agent {shown(spec)}: option {key!r} has no type: an annotation, "
                f"{', '.join(_TYPES)}, would be right"
            )
        annotation = type(parameter.default)
    # A name as it is written, in a module that does not evaluate its annotations.
    named = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    named = named.removesuffix(" | None")
    if named not in _TYPES:
        raise ThudError(
            f"agent {shown(spec)}: option {key!r} is of type {named}, which a spec cannot give: "
            f"{', '.join(_TYPES)} would be right"
        )
    kind, what = _TYPES[named]
    try:
        return kind(value)
    except ValueError:
        raise ThudError(f"agent {shown(spec)}: {key}={value} must be {what}") from None


def agent_class(where: str) -> type[Agent]:
    """The class that ``module:Class`` names.

    Raises:
        ThudError: if there is no such module or class, or the class cannot play.
    """
    module_name, _, name = where.partition(":")
    if not (name.isidentifier() and all(map(str.isidentifier, module_name.split(".")))):
        raise ThudError(f"{where!r} names no class: MODULE:CLASS would be right")
    module = module_named(module_name)
    found = getattr(module, name, None)
    if not isinstance(found, type):
        raise ThudError(
            f"module {module_name!r} has no class {name!r}: {_players_in(module, name)}"
        )
    if not issubclass(found, Agent):
        raise ThudError(f"{where} cannot play: class {name}(agents.Agent) would be right")
    if found.act_rows is Agent.act_rows:
        raise ThudError(f"{where} cannot play: it has no method act_rows(self, rows)")
    return found


def _players_in(module: ModuleType, name: str) -> str:
    """What would be right in place of a class that a module does not have."""
    players = [
        known
        for known, kind in vars(module).items()
        if isinstance(kind, type)
        and issubclass(kind, Agent)
        and kind.act_rows is not Agent.act_rows
        and kind.__module__.partition(".")[0] != "agents"
    ]
    has = f"{nearest(name, players)}it has {', '.join(players)}" if players else "it has no agent"
    file = getattr(module, "__file__", None)  # that of a folder without an __init__.py is None
    return f"{has}, in {file}" if file else has


def own_source(spec: str) -> Path | None:
    """The file with the class of a spec, or None for an agent of the checkout."""
    name, words = Spec.of(spec)
    return Path(inspect.getfile(agent_class("".join(words[:1])))) if name == OWN else None
