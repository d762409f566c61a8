"""The player believed to be the strongest at each game.

By earlier tables ``mcts`` lost to ``alphabeta`` in equal time in Koom Valley Thud and
``classic-all``; on their ladders and that of ``classic`` it is not above ``alphabeta:depth=3`` in
two to four times the time. Nor has ``policy+mcts`` been shown to beat that in ``classic``, in ten
times the time (docs/log.md, docs/strength.md). In ``classic-any`` and football they have not been
compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.agent import Agent
from agents.registry import make
from agents.search.planning import PlanningAgent, Thought
from thud_env.rules.row import Row, ruleset_of

STRONGEST = {
    "classic": "alphabeta",
    "classic-any": "alphabeta",
    "classic-all": "alphabeta",
    "koom-valley": "alphabeta",
    "koom-valley-football": "alphabeta",
}
"""By ruleset, the spec of the player believed to win most at a second a turn, without its time."""
ELSEWHERE = "alphabeta"
"""The player in rulesets of the user's own."""


class ChampionAgent(Agent):
    """Plays as the player believed to be the strongest at the game that is played.

    Args:
        time: seconds for a turn. Its play depends on the machine.
        seed: seeds that player.

    Raises:
        ValueError: if the time is out of range.
    """

    stochastic = True
    timed = True

    def __init__(self, time: float = 1.0, seed: int = 0) -> None:
        if not 0 < time <= 1e6:
            raise ValueError(f"time={time} must be more than 0, and 1e+06 at most")
        self._time = time
        self._seed = seed
        self._players: dict[str, PlanningAgent] = {}

    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int32]:
        """See ``BatchPolicy``; all rows are of one ruleset."""
        if len(rows) == 0:
            return np.empty(0, dtype=np.int32)
        return self._player(STRONGEST.get(ruleset_of(rows[0]).name, ELSEWHERE)).act_rows(rows)

    def _player(self, spec: str) -> PlanningAgent:
        if spec not in self._players:
            joint = "," if ":" in spec else ":"
            player = make(f"{spec}{joint}time={self._time}", self._seed)
            assert isinstance(player, PlanningAgent)
            self._players[spec] = player
        return self._players[spec]

    def seed(self, seed: int) -> None:
        """See ``Agent``."""
        self._seed = seed
        self._players.clear()

    def get_state(self) -> dict[str, Any]:
        """See ``Agent``."""
        players = {spec: player.get_state() for spec, player in self._players.items()}
        return {"seed": self._seed, "players": players}

    def set_state(self, state: dict[str, Any]) -> None:
        """See ``Agent``."""
        self._seed = state["seed"]
        self._players.clear()
        for spec, kept in state["players"].items():
            self._player(spec).set_state(kept)

    def glimpse(self, row: Row) -> Thought | None:
        """See ``PlanningAgent``."""
        found = (player.glimpse(row) for player in list(self._players.values()))
        return next((thought for thought in found if thought is not None), None)

    def stop(self) -> None:
        """Make a search in another thread return the best found so far."""
        for player in list(self._players.values()):
            player.stop()
