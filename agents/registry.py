"""Agents by name: ``random``, ``policy:runs/smoke/checkpoints/latest`` and so on.

A spec is ``name``, ``name:key=value,key=value`` or, where an agent takes a path,
``name:PATH`` or ``name:PATH,key=value``.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from agents.agent import Agent
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


AGENTS: dict[str, Callable[..., Agent]] = {
    "random": RandomAgent,
    "greedy": GreedyAgent,
    "greedy2": _greedy2,
    "alphabeta": _alphabeta,
    "mcts": _mcts,
    "policy": _policy,
    "policy+mcts": _policy_mcts,
}
"""Every kind of agent: its name in a spec, and what makes it."""


def make(spec: str, seed: int = 0) -> Agent:
    """The agent that ``spec`` describes.

    Args:
        spec: for example ``"greedy"`` or ``"policy:runs/smoke/checkpoints/latest"``.
        seed: seeds whatever the agent draws.

    Raises:
        ValueError: if the spec names no agent or an option that the agent does not have.
        agents.checkpoint.CheckpointError: if a checkpoint is damaged or not one of ours.
    """
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
            raise ValueError(f"agent {spec!r} needs a path: {name}:PATH would be right")
        positional = [words.pop(0)]
    options = [key for key in parameters if key not in ("seed", "path")]
    given: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in options:
            known = ", ".join(options) or "none"
            raise ValueError(f"agent {spec!r} has no option {key!r}: its options are {known}")
        given[key] = _value(spec, key, value, parameters[key].annotation)
    return factory(*positional, seed=seed, **given)


def _value(spec: str, key: str, value: str, annotation: Any) -> Any:
    """An option's value, of the type that the agent's signature names."""
    kind = {"int": int, "float": float, "str": str}[getattr(annotation, "__name__", annotation)]
    what = {int: "a whole number", float: "a number", str: "a word"}[kind]
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"agent {spec!r}: {key}={value} must be {what}") from None
