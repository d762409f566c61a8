"""Play every environment with nothing installed but thud_env and its core dependencies.

`make bare` runs this in a virtual environment of its own. It imports nothing from the checkout
and takes no test runner.
"""

from __future__ import annotations

import copy
import importlib.util
import sys

import gymnasium
import numpy as np
import pettingzoo

import thud_env
from thud_env.render import svg

ABSENT = (
    "torch",
    "pygame",
    "starlette",
    "uvicorn",
    "rich",
    "yaml",
    "safetensors",
    "tensorboard",
    "pytest",
    "agents",
    "training",
)
AEC = ("thud", "koom-valley", "koom-valley-football", "thud-match")
RULES = {f"{name}-v0": name for name in AEC[1:3]}
SEATS = ("Thud", "KoomValley", "KoomValleyFootball", "ThudMatch")


def legal(mask: np.ndarray, rng: np.random.Generator) -> int:
    """Draw a legal action."""
    return int(rng.choice(np.flatnonzero(mask)))


def play_aec(name: str, rng: np.random.Generator) -> str:
    """Play a game to its end, and a copy of it alongside; returns how it ended."""
    options = {"render_mode": "rgb_array", "max_turns": 120}
    if hasattr(pettingzoo, "make"):  # from 1.27 on
        env = pettingzoo.make("aec", f"thud/{name}", **options)
    else:
        make = thud_env.match_env if name.startswith("thud-match") else thud_env.env
        env = make(rules=RULES.get(name, "classic"), **options)
    env.reset()
    twin = copy.deepcopy(env)
    while env.agents:
        over = env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
        action = None if over else legal(env.action_masks(), rng)
        env.step(action)
        twin.step(action)
    assert twin.position == env.position
    assert env.render().shape == (544, 544, 3)
    assert svg(env.position).startswith("<svg")
    return str(env.position.outcome)


def play_seat(name: str, rng: np.random.Generator) -> str:
    """Play one seat to the end, against an opponent."""
    env = gymnasium.make(f"thud/{name}", side="random", render_mode="ansi", max_turns=120)
    _, info = env.reset(seed=1)
    over = False
    while not over:
        _, _, terminated, truncated, info = env.step(legal(info["action_mask"], rng))
        over = terminated or truncated
    assert isinstance(env.render(), str)
    ending = info["termination"] if "termination" in info else info["second_termination"]
    return thud_env.Termination(ending).name.lower()


def play_vector(name: str, rng: np.random.Generator) -> str:
    """Step many seats until some battles have ended."""
    envs = gymnasium.make_vec(f"thud/{name}", num_envs=8, max_turns=60)
    _, infos = envs.reset(seed=1)
    ended = 0
    while ended < 8:
        actions = [legal(mask, rng) for mask in infos["action_mask"]]
        _, _, terminated, truncated, infos = envs.step(np.array(actions))
        ended += int((terminated | truncated).sum())
    return f"{ended} ended"


def main() -> None:
    """Play every environment, and print what was played."""
    found = [name for name in ABSENT if importlib.util.find_spec(name)]
    if found:
        sys.exit(f"not bare: {', '.join(found)} can be imported")
    print(f"thud_env {thud_env.__version__} from {thud_env.__file__}")
    rng = np.random.default_rng(1)
    for name in AEC:
        print(f"pettingzoo.make('aec', 'thud/{name}-v0'): {play_aec(f'{name}-v0', rng)}")
    for name in SEATS:
        print(f"gymnasium.make('thud/{name}-v0'): {play_seat(f'{name}-v0', rng)}")
    for name in SEATS:
        print(f"gymnasium.make_vec('thud/{name}-v0'): {play_vector(f'{name}-v0', rng)}")
    for rules in thud_env.RULESETS:
        lengths, _ = thud_env.random_playouts(100, rules)
        print(f"random_playouts(100, {rules!r}): {int(lengths.sum()):,} decisions")


if __name__ == "__main__":
    main()
