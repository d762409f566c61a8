"""Thud as an OpenSpiel game, ``thud``, for the algorithms and bots that take any game.

Importing this module registers nothing; ``register()`` does. Run as a script it lets
OpenSpiel's own ``random_sim_test`` check the game, and its MCTS bot play it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import IIGObserverForPublicInfoGame

from thud_env import RULESETS, Position
from thud_env.actions import NUM_ACTIONS, describe_action
from thud_env.encoding import OBSERVATION_SHAPE
from thud_env.position import SIDES
from training.integrations.before_after import TASK, arguments, margins, show

LIMITS = {"max_turns": 800, "max_quiet_turns": 200}
DECISIONS_A_TURN = 8
"""At most: a step, and seven captures one by one; a trampling troll takes a dwarf with each."""

GAME_TYPE = pyspiel.GameType(
    short_name="thud",
    long_name="Thud",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
    information=pyspiel.GameType.Information.PERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=False,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={"rules": "classic", **LIMITS},
)


class ThudGame(pyspiel.Game):
    """A battle: player 0 has the dwarfs, player 1 the trolls.

    Parameters: ``rules``, ``max_turns``, ``max_quiet_turns``. The end pays the margin, as a
    share of the largest there is.
    """

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        params = {"rules": "classic", **LIMITS, **(params or {})}
        self.start = Position.start(**params)
        info = pyspiel.GameInfo(
            num_distinct_actions=NUM_ACTIONS,
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=params["max_turns"] * DECISIONS_A_TURN,
        )
        super().__init__(GAME_TYPE, info, params)

    def new_initial_state(self, state: str | None = None) -> ThudState:
        """The start, or the state of a position text."""
        return ThudState(self, state)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
        """What makes tensors of states."""
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return ThudObserver()
        return IIGObserverForPublicInfoGame(iig_obs_type, params)
