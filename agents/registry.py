"""Agents by name: ``random``, ``policy:runs/smoke/checkpoints/latest`` and so on.

A spec is ``name``, ``name:key=value,key=value`` or, where an agent takes a path,
``name:PATH`` or ``name:PATH,key=value``. The path of ``python`` is ``MODULE:CLASS``, and its
options are those of the class.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from agents.agent import Agent
from agents.own import KIND, own_class
from agents.simple import GreedyAgent, RandomAgent


def _policy(path: str, seed: int = 0, temperature: float = 1.0) -> Agent:
    """The policy of a checkpoint. Imported here because it needs torch, which others do not."""
    from agents.policy import PolicyAgent

    return PolicyAgent(path, seed=seed, temperature=temperature)


def _greedy2(seed: int = 0) -> Agent:
    """Imported here, like the other searching players, because importing it takes a while."""
    from agents.alphabeta import Greedy2Agent

    return Greedy2Agent(seed)


def _alphabeta(
    depth: int = 0,
    time: float = 0.0,
    nodes: int = 0,
    quiescence: int = 4,
    weights: str = "",
    seed: int = 0,
) -> Agent:
    from agents.alphabeta import AlphaBetaAgent

    return AlphaBetaAgent(depth, time, nodes, quiescence, weights, seed)


def _mcts(
    sims: int = 1000,
    playouts: str = "eval",
    length: int = 20,
    priors: str = "eval",
    time: float = 0.0,
    c: float = 1.5,
    fpu: float = 0.2,
    temperature: float = 60.0,
    seed: int = 0,
) -> Agent:
    from agents.mcts import MctsAgent

    return MctsAgent(sims, playouts, length, priors, time, c, fpu, temperature, seed)


def _policy_mcts(
    path: str,
    sims: int = 200,
    c: float = 1.5,
    fpu: float = 0.2,
    root: str = "puct",
    considered: int = 16,
    noise: float = 0.0,
    scale: float = 1.0,
    time: float = 0.0,
    seed: int = 0,
) -> Agent:
    from agents.policy_mcts import PolicyMctsAgent

    return PolicyMctsAgent(path, sims, c, fpu, root, considered, noise, scale, time, seed)


def _own(path: str, /, seed: int = 0, **options: Any) -> Agent:
    return own_class(path)(seed=seed, **options)  # type: ignore[call-arg] # own_class has looked


AGENTS: dict[str, Callable[..., Agent]] = {
    "random": RandomAgent,
    "greedy": GreedyAgent,
    "greedy2": _greedy2,
    "alphabeta": _alphabeta,
    "mcts": _mcts,
    "policy": _policy,
    "policy+mcts": _policy_mcts,
    KIND: _own,
}
"""Every kind of agent: its name in a spec, and what makes it."""


def make(spec: str, seed: int = 0) -> Agent:
    """The agent that ``spec`` describes.

    Args:
        spec: for example ``"greedy"`` or ``"policy:runs/smoke/checkpoints/latest"``.
        seed: seeds whatever the agent draws.

    Raises:
        TypeError: if the spec is no string.
        ValueError: if the spec names no agent, an option that the agent does not have, or an
            option twice.
        agents.networks.checkpoint.CheckpointError: if a checkpoint is damaged or not one of ours.
    """
    if not isinstance(spec, str):
        raise TypeError(f"agent {spec!r}: a string such as 'greedy' would be right")
    name, _, rest = spec.partition(":")
    if name not in AGENTS:
        near = difflib.get_close_matches(name, AGENTS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"unknown agent {spec!r}: {hint}there are {', '.join(AGENTS)}")
    factory = AGENTS[name]
    parameters = inspect.signature(factory).parameters
    words = rest.split(",") if rest else []
    positional = []
    if "path" in parameters:
        if not words or "=" in words[0]:
            path = "MODULE:CLASS" if name == KIND else "PATH"
            raise ValueError(f"agent {spec!r} needs a path: {name}:{path} would be right")
        positional = [words.pop(0)]
    if name == KIND:
        try:
            parameters = inspect.signature(own_class(positional[0])).parameters
        except ValueError as error:
            raise ValueError(f"agent {spec!r}: {error}") from error.__cause__
    told_apart = ("seed",) if name == KIND else ("seed", "path")
    collects = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    options = [
        key
        for key, parameter in parameters.items()
        if key not in told_apart and parameter.kind not in collects
    ]
    given: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in options:
            known = ", ".join(options) or "none"
            raise ValueError(f"agent {spec!r} has no option {key!r}: its options are {known}")
        if key in given:
            raise ValueError(f"agent {spec!r} has its option {key!r} twice: once would be right")
        given[key] = _value(spec, parameters[key], value)
    for key in options:
        if key not in given and parameters[key].default is inspect.Parameter.empty:
            raise ValueError(f"agent {spec!r} needs its option {key!r}: {key}=... would be right")
    return factory(*positional, seed=seed, **given)


_KINDS: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "str": (str, "a word"),
}


def _value(spec: str, parameter: inspect.Parameter, value: str) -> Any:
    """An option's value, of the type that the agent's signature names, or else of its default's."""
    annotation, key = parameter.annotation, parameter.name
    if annotation is inspect.Parameter.empty:
        annotation = type(parameter.default)
    named = getattr(annotation, "__name__", annotation)
    if named not in _KINDS:
        raise ValueError(
            f"agent {spec!r}: option {key!r} is of type {named}, which a spec cannot give: "
            f"{', '.join(_KINDS)} would be right"
        )
    kind, what = _KINDS[named]
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"agent {spec!r}: {key}={value} must be {what}") from None
