"""Play every search, and measure two, with nothing installed but the checkout and ``[agents]``.

`make bare` runs this in a virtual environment of its own. It takes no test runner.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import gymnasium

import agents
import thud_env
from agents.registry import AGENTS
from thud_env.errors import ThudError

ABSENT = ("torch", "safetensors", "tensorboard", "starlette", "pygame", "pytest")
QUICK = {
    "alphabeta": "alphabeta:depth=1",
    "mcts": "mcts:sims=10",
}
POLICIES = {"policy": "policy:champion", "policy+mcts": "policy+mcts:champion"}
RECORD = Path(__file__).resolve().parent / "data" / "records" / "agreed.thud"
COMMANDS = (
    "agents.play --dwarfs greedy --trolls alphabeta:depth=1 --max-turns 4 --seed 1",
    "agents.analyse --agent alphabeta:depth=1 --rules koom-valley-football --best 1",
    "training.evaluate --match alphabeta:depth=1 greedy --games 1 --max-turns 4",
    "training.ladder random greedy --games 2 --out ladder",
    f"agents.review {RECORD} --agent alphabeta:depth=1",
)


def play(spec: str) -> None:
    """Let a player decide in a battle and answer an environment."""
    position = thud_env.Position.start("classic")
    position.apply(agents.make(spec).act(position))
    env = gymnasium.make("thud/Thud-v0", opponent=f"agents:{spec}")
    _, info = env.reset(seed=1)
    env.step(int(info["action_mask"].argmax()))


def why_not(spec: str) -> str:
    """What a player that cannot be made says."""
    try:
        agents.make(spec)
    except ThudError as error:
        return str(error)
    raise AssertionError(f"{spec} plays without torch")


def run(command: str, folder: str) -> None:
    """Run a command, which must succeed."""
    words = [sys.executable, "-m", *command.split()]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def main() -> int:
    """Play everything; returns the exit code."""
    for name in ABSENT:
        assert importlib.util.find_spec(name) is None, f"{name} is installed"
    searches = [QUICK.get(name, name) for name in AGENTS if name not in POLICIES]
    for spec in searches:
        play(spec)
    for spec in POLICIES.values():
        assert 'is missing: pip install --editable ".[train]" in the checkout' in why_not(spec)
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            run(command, folder)
    print(f"{', '.join(searches)} play without torch")
    return 0


if __name__ == "__main__":
    sys.exit(main())
