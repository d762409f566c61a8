"""Golden playthroughs: whole battles written out decision by decision.

``python tests/golden/make.py`` writes them anew, after a change that is meant to change them;
``tests/test_golden.py`` makes them again and compares. A line of a file is a decision::

    position | legal actions: number, hash | observation: hash | action | rewards

in which the hash of the legal actions is of their indices, that of the observation of its
float32 bytes, and the rewards are those that dwarf_0 and troll_0 are paid for the decision.
The last line is the end: no legal action, how it ended, and the sums of the rewards.

A game of two battles (``match-...``) is written in the same way, with player_0 and player_1 for
dwarf_0 and troll_0, and the agent that decides before the position. A comment stands where a
battle ended, with its margin from its dwarfs' view.
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
from thud_env.envs.base import BoardEnv
from thud_env.outcome import Outcome
from thud_env.views.encoding import NUM_PLANES

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Game:
    """A battle, or a game of two, to be played at random."""

    rules: str
    seed: int
    limits: dict[str, Any] = field(default_factory=dict)
    start: str | None = None
    """Position text; None: the start of a battle."""
    is_match: bool = False
    """Whether it is a game of two battles."""

    @property
    def path(self) -> Path:
        """The file that it is written to."""
        return FOLDER / f"{'match-' * self.is_match}{self.rules}-{self.seed}.txt"


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


MATCHES = (
    Game("classic", 33, TALK, is_match=True),
    Game("koom-valley-football", 36, {"max_quiet_turns": 25}, NEAR_THE_GOAL, is_match=True),
)


def playthrough(game: Game) -> Iterator[str]:
    """The lines of a game's file."""
    limits = ", ".join(f"{name} {value}" for name, value in game.limits.items())
    yield f"# {game.rules}, {limits or 'the usual limits'}, seed {game.seed}"
    yield "# position | legal actions | observation | action | rewards"
    random = Random(game.seed)
    make = thud_env.match_env if game.is_match else thud_env.env
    env = make(rules=game.rules, **game.limits)
    env.reset(options={"position": game.start} if game.start else None)
    paid = dict.fromkeys(env.agents, 0.0)
    while not (env.terminations[env.agents[0]] or env.truncations[env.agents[0]]):
        legal = env.position.legal_actions()
        action = _chosen(legal, random)
        state = _state(env, env.agent_selection, game)
        after = env.position.apply(action)
        env.step(action)
        for agent in env.agents:
            paid[agent] += env.rewards[agent]
        yield f"{state} | {action} {describe_action(action)} | {_amounts(env.rewards)}"
        if after.outcome is None:
            assert env.position == after
        elif game.is_match:
            yield f"# battle {len(env.battles)}: {_words_of(env.battles[-1])}"
    last = _state(env, env.possible_agents[0], game)
    yield f"{last} | {_words_of(env.position.outcome)} | {_amounts(paid)}"


def _chosen(legal: np.ndarray, random: Random) -> int:
    """A legal action, drawn by ``random()``, whose numbers no version of Python changes. Where
    something other than a move may be decided, it often is: offers would hardly come otherwise.
    """
    words = legal[legal >= NUM_MOVES]
    among = words if len(words) and random.random() < 0.3 else legal
    return int(among[int(random.random() * len(among))])


def _state(env: BoardEnv, agent: str, game: Game) -> str:
    """The position, what is legal in it, and what the agent sees of it."""
    position = env.position
    seen = env.observe(agent)
    legal = position.legal_actions()
    # The environment must show what the position shows.
    assert np.array_equal(seen["observation"][:NUM_PLANES], position.observation())
    assert np.array_equal(np.flatnonzero(seen["action_mask"]), legal)
    listed = _hash(",".join(map(str, legal.tolist())).encode())
    shown = _hash(seen["observation"].astype("<f4").tobytes())
    decider = f"{agent} " if game.is_match else ""
    return f"{decider}{position.text} | {len(legal)} {listed} | {shown}"


def _words_of(outcome: Outcome) -> str:
    return f"{outcome.termination.name.lower()}, margin {outcome.margin}"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:10]


def _amounts(rewards: dict[str, float]) -> str:
    return " ".join(f"{reward + 0.0:g}" for reward in rewards.values())  # no -0


def main() -> None:
    """Write every game's file, and remove those of no game."""
    for path in FOLDER.glob("*.txt"):
        path.unlink()
    for game in (*GAMES, *MATCHES):
        lines = list(playthrough(game))
        game.path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        print(f"{game.path.name}: {len(lines)} lines, {lines[-1].split(' | ')[3]}")


if __name__ == "__main__":
    main()
