"""Golden playthroughs: whole battles written out decision by decision.

``python tests/golden/make.py`` writes them anew, after a change that is meant to change them;
``tests/test_golden.py`` makes them again and compares. A line of a file is a decision::

    position | legal actions: number, hash | observation: hash | action | rewards

in which the hash of the legal actions is of their indices, that of the observation of its
float32 bytes, and the rewards are those that dwarf_0 and troll_0 are paid for the decision.
The last line is the end: no legal action, how it ended, and the sums of the rewards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import thud_env
from thud_env.actions import NUM_MOVES, describe_action

FOLDER = Path(__file__).parent
AGENTS = ("dwarf_0", "troll_0")


@dataclass(frozen=True)
class Game:
    """A battle to be played at random."""

    rules: str
    seed: int
    limits: dict[str, Any] = field(default_factory=dict)
    start: str | None = None
    """Position text; None: the start of a battle."""

    @property
    def path(self) -> Path:
        """The file that the battle is written to."""
        return FOLDER / f"{self.rules}-{self.seed}.txt"


TALK = {"max_turns": 60, "agreement": True, "offer_after": 4}
SHORT = {"max_turns": 120, "max_quiet_turns": 60}
NEAR_THE_GOAL = "5/7/3dR1d2/4d1d4/13/15/3T7T3/15/4T1T1T6/15/d11d/3T3T3/9/7/5 d - 0 90"
GAMES = (
    # The seeds are such that every way to end and every question that may be asked occurs.
    Game("classic", 3),
    Game("classic", 55, SHORT),
    Game("classic", 89, TALK),
    Game("classic-any", 11),
    Game("classic-any", 24, SHORT),
    Game("classic-any", 89, TALK),
    Game("classic-all", 3),
    Game("classic-all", 91, TALK),
    Game("classic-all", 100, TALK),
    Game("koom-valley", 23, start=NEAR_THE_GOAL),
    Game("koom-valley", 29, SHORT),
    Game("koom-valley", 43, TALK),
    Game("koom-valley", 96),
    Game("koom-valley-football", 1, SHORT),
    Game("koom-valley-football", 43, TALK),
    Game("koom-valley-football", 104),
    Game("koom-valley-football", 130),
)


def playthrough(game: Game) -> Iterator[str]:
    """The lines of a battle's file."""
    limits = ", ".join(f"{name} {value}" for name, value in game.limits.items())
    yield f"# {game.rules}, {limits or 'the usual limits'}, seed {game.seed}"
    yield "# position | legal actions | observation | action | rewards"
    random = Random(game.seed)
    position = thud_env.Position.start(game.rules, **game.limits)
    if game.start is not None:
        position = thud_env.Position.from_text(game.start, game.rules, **game.limits)
    env = thud_env.env(rules=game.rules, **game.limits)
    env.reset(options={"position": position.text})
    paid = dict.fromkeys(AGENTS, 0.0)
    while position.outcome is None:
        legal = position.legal_actions()
        action = _chosen(legal, random)
        state = _state(position)
        seen = env.observe(env.agent_selection)
        # The environment must show what the position shows.
        assert np.array_equal(seen["observation"], position.observation())
        assert np.array_equal(np.flatnonzero(seen["action_mask"]), legal)
        position = position.apply(action)
        env.step(action)
        assert env.position == position
        for agent in AGENTS:
            paid[agent] += env.rewards[agent]
        rewards = _amounts(env.rewards)
        yield f"{state} | {action} {describe_action(action)} | {rewards}"
    outcome = position.outcome
    ending = f"{outcome.termination.name.lower()}, margin {outcome.margin}"
    yield f"{_state(position)} | {ending} | {_amounts(paid)}"


def _chosen(legal: np.ndarray, random: Random) -> int:
    """A legal action, drawn by ``random()``, whose numbers no version of Python changes. Where
    something other than a move may be decided, it often is: offers would hardly come otherwise.
    """
    words = legal[legal >= NUM_MOVES]
    among = words if len(words) and random.random() < 0.3 else legal
    return int(among[int(random.random() * len(among))])


def _state(position: thud_env.Position) -> str:
    legal = position.legal_actions().tolist()
    listed = _hash(",".join(map(str, legal)).encode())
    shown = _hash(position.observation().astype("<f4").tobytes())
    return f"{position.text} | {len(legal)} {listed} | {shown}"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:10]


def _amounts(rewards: dict[str, float]) -> str:
    return " ".join(f"{rewards[agent] + 0.0:g}" for agent in AGENTS)  # no -0


def main() -> None:
    """Write every battle's file, and remove those of no battle."""
    for path in FOLDER.glob("*.txt"):
        path.unlink()
    for game in GAMES:
        lines = list(playthrough(game))
        game.path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        print(f"{game.path.name}: {len(lines) - 3} decisions, {lines[-1].split(' | ')[3]}")


if __name__ == "__main__":
    main()
