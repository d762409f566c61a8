"""Thud as an OpenSpiel game, ``thud``, for algorithms and bots that take any game.

Importing this module registers nothing; ``register()`` does. As a script it runs OpenSpiel's
``random_sim_test`` on every ruleset, and then its MCTS bot plays the trolls against random
decisions. Nothing is trained: the table compares the bot with random decisions.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyspiel
from numpy.typing import NDArray

from thud_env import CLASSIC, RULESETS, Position
from thud_env.actions import NUM_ACTIONS, describe_action
from thud_env.command import Command, bounded
from thud_env.outcome import SIDES
from thud_env.rulesets import get_ruleset
from thud_env.views.encoding import OBSERVATION_SHAPE
from training.arena.intervals import Interval, mean_interval
from training.integrations.before_after import show

PARAMETERS: dict[str, Any] = {
    "rules": "classic",
    "max_turns": 0,
    "max_quiet_turns": 0,
    "agreement": False,
    "offer_after": 0,
}
"""Those of ``Position.start``; limits of 0 are the ruleset's."""
DECISIONS_A_TURN = 32
"""More than any turn takes: a step captures at most 7 dwarfs, and tramples at most 16."""

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
    parameter_specification=PARAMETERS,
)


class ThudGame(pyspiel.Game):
    """A battle. Player 0 has the dwarfs, player 1 the trolls.

    A ruleset of one's own is given by its spec. OpenSpiel writes a game as ``thud(rules=...)``, in
    which a spec is percent-encoded, as in URLs: its commas would separate parameters.

    The return is the final margin as a share of the largest: in Classic Thud margin / 32, in the
    Koom Valley games 1, 0 or -1.
    """

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        params = PARAMETERS | (params or {})
        rules = get_ruleset(unquote(params["rules"]))
        params["rules"] = quote(rules.spec, safe=":")
        self.start = Position.start(
            rules,
            max_turns=params["max_turns"] or None,
            max_quiet_turns=params["max_quiet_turns"] or None,
            agreement=params["agreement"],
            offer_after=params["offer_after"] or None,
        )
        info = pyspiel.GameInfo(
            num_distinct_actions=NUM_ACTIONS,
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=self.start.limits["max_turns"] * DECISIONS_A_TURN,
        )
        super().__init__(GAME_TYPE, info, params)

    def __reduce__(self) -> tuple[Callable[[str], pyspiel.Game], tuple[str]]:
        """Pickled as text: OpenSpiel's own way forgets what Python has added to a game."""
        return _load, (str(self),)

    def new_initial_state(self) -> ThudState:
        """The start of a battle."""
        return ThudState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> ThudObserver:
        """An observer that writes tensors; a game of perfect information has one kind."""
        return ThudObserver()


class ThudState(pyspiel.State):
    """A ``Position`` with OpenSpiel's method names."""

    def __init__(self, game: ThudGame) -> None:
        super().__init__(game)
        self.position = game.start

    def current_player(self) -> int:
        """The number of the side that decides."""
        over = self.position.outcome is not None
        return pyspiel.PlayerId.TERMINAL if over else SIDES.index(self.position.to_move)

    def _legal_actions(self, player: int) -> list[int]:
        return self.position.legal_actions().tolist()

    def _apply_action(self, action: int) -> None:
        self.position = self.position.apply(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return describe_action(action)

    def is_terminal(self) -> bool:
        """Whether the battle is over."""
        return self.position.outcome is not None

    def returns(self) -> list[float]:
        """The returns of the dwarfs and the trolls; 0 before the end."""
        outcome = self.position.outcome
        if outcome is None:
            return [0.0, 0.0]
        share = outcome.margin / self.position.rules.largest_margin
        return [share, -share]

    def __str__(self) -> str:
        return str(self.position)


class ThudObserver:
    """The observation planes, the same for both players."""

    def __init__(self) -> None:
        self.tensor: NDArray[np.float32] = np.zeros(np.prod(OBSERVATION_SHAPE), np.float32)
        self.dict = {"observation": self.tensor.reshape(OBSERVATION_SHAPE)}

    def set_from(self, state: ThudState, player: int) -> None:
        """Write a state into the tensor."""
        self.dict["observation"][:] = state.position.observation()

    def string_from(self, state: ThudState, player: int) -> str:
        """The position text, which is different for different states."""
        return state.position.text


def register() -> None:
    """Register the game, once, for ``pyspiel.load_game("thud(rules=koom-valley)")``."""
    if GAME_TYPE.short_name not in pyspiel.registered_names():
        pyspiel.register_game(GAME_TYPE, ThudGame)


def _load(text: str) -> pyspiel.Game:
    register()  # it may be another process
    return pyspiel.load_game(text)


def play(game: ThudGame, dwarfs: pyspiel.Bot, trolls: pyspiel.Bot) -> int:
    """Play a battle, and return its margin from the trolls' view."""
    state = game.new_initial_state()
    while not state.is_terminal():
        action = (dwarfs, trolls)[state.current_player()].step(state)
        state.apply_action(action)
    return -state.position.margin


def run(args: argparse.Namespace) -> None:
    """Check the game, let MCTS play it, and print the table."""
    register()
    for rules in RULESETS:
        game = pyspiel.load_game("thud", {"rules": rules, "max_turns": 40})
        pyspiel.random_sim_test(game, num_sims=2, serialize=True, verbose=False)
        print(f"random_sim_test passed: {game}", flush=True)

    game = pyspiel.load_game("thud(max_turns=40)")
    evaluator = pyspiel.RandomRolloutEvaluator(n_rollouts=1, seed=1)

    def random_bot(player: int, seed: int) -> pyspiel.Bot:
        return pyspiel.make_uniform_random_bot(player, seed)

    def mcts_bot(player: int, seed: int) -> pyspiel.Bot:
        # Rewards are a few 32nds: exploration as large as for chess would drown them.
        return pyspiel.MCTSBot(game, evaluator, 0.2, args.simulations, 100, False, seed, False)

    def mean_margin(make_trolls: Any) -> Interval:
        battles = range(args.battles)
        own = [play(game, random_bot(0, seed), make_trolls(1, seed)) for seed in battles]
        return mean_interval(np.array(own), CLASSIC.margins)

    library = f"MCTSBot of OpenSpiel {version('open_spiel')}, {args.simulations} simulations"
    show(library, mean_margin(random_bot), mean_margin(mcts_bot), names=("random", "MCTS"))


def main() -> int:
    """Read the command line, and run."""
    command = Command("training.integrations.open_spiel_game", __doc__)
    add, count = command.add_argument, bounded(int, 2)
    add("--simulations", type=count, default=20, help="a decision of the MCTS bot")
    add("--battles", type=count, default=12, help="for each row of the table")
    return command.run(run)


if __name__ == "__main__":
    sys.exit(main())
