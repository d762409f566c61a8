"""Many games with the learner in one seat of each and an opponent in the other.

The game state of ``ThudVectorEnv``: a ``BatchedGame`` of the battles on the boards, the learners'
sides, the rewards not yet returned, and the first battles of matches. Every method that takes a
mask, [B] bool, leaves the other games alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import NUM_ACTIONS
from thud_env.batch.game import BatchedGame
from thud_env.batch.options import read_reward
from thud_env.batch.states import drawn_decisions
from thud_env.envs.common import ILLEGAL_ACTION, ILLEGAL_REWARD, Seat
from thud_env.envs.games import ONE_BATTLE, TWO_BATTLES, Game
from thud_env.envs.opponents import Opponent, OpponentLike
from thud_env.envs.states import check_arrays, check_part, check_state
from thud_env.errors import IllegalMove
from thud_env.outcome import SIDES
from thud_env.position import Position
from thud_env.rules.check import check_rows
from thud_env.rules.match import Match, outcome_for_dwarfs
from thud_env.rules.row import DWARFS, TERMINATION, TROLLS
from thud_env.rulesets import Reward, Ruleset
from thud_env.views.encoding import NUM_PLANES, OBSERVATION_SHAPE
from thud_env.views.match import show_match
from thud_env.views.results import margins

_STATE = ("_sides", "_owed", "_forfeited", "_is_second", "_first_ends", "_starts")
"""The arrays that ``get_state`` returns, beside the rows."""


class SeatedGames:
    """B games, each a battle or a match, in which the learner has a seat.

    Args:
        num_games: B.
        rules: what is played.
        side: the learner's, as for ``ThudSeatEnv``.
        opponent: as for ``ThudSeatEnv``.
        match: whether a game is a match of two battles.
        reward: as for ``ThudSeatEnv``.
        pool: [S, 432] the state rows that battles start from, drawn anew for each.
        num_threads: threads that share the work; None for one a core, as far as each gets
            1,024 games.

    Raises:
        ThudError: for a reward or number out of range.
        TypeError: for an opponent that cannot play.
    """

    def __init__(
        self,
        num_games: int,
        rules: Ruleset,
        side: Seat,
        opponent: OpponentLike,
        match: bool,
        reward: Reward | None,
        pool: NDArray[np.int16],
        num_threads: int | None,
    ) -> None:
        self._game: Game = TWO_BATTLES if match else ONE_BATTLE
        self.side, self.match, self.rules = side, match, rules
        self.opponent = opponent
        # Battles are reset by ``start``, as an illegal action ends one that by the rules goes on.
        self._battles = BatchedGame(
            num_games,
            rules,
            reward=reward,
            autoreset_mode="Disabled",
            num_threads=num_threads,
        )
        kind = read_reward(reward, rules)
        self._by_total = match and kind == "outcome"
        self._made: dict[str, Any] = {
            "side": side,
            "match": match,
            "rules": rules.spec,
            "reward": kind,
        }
        """What a state depends on of the arguments, beside the number of games."""
        self._sides = np.zeros(num_games, dtype=np.int64)
        """[B] the side that the learner decides for: 0 dwarfs, 1 trolls."""
        self._owed = np.zeros(num_games)
        """[B] rewards of the learner since the last step returned."""
        self._forfeited = np.zeros(num_games, dtype=np.bool_)
        """[B] an illegal action has ended the game."""
        self._is_second = np.zeros(num_games, dtype=np.bool_)
        """[B] the second battle of a match is played."""
        self._first_ends = np.zeros((num_games, 2), dtype=np.int64)
        """[B, 2] how the first battle of a match ended, and its margin from its dwarfs' view."""
        self.pool = pool
        self._battles.set_rows(np.repeat(pool[:1], num_games, axis=0), check=False)
        self._starts = self._battles.rows.copy()
        """[B, 432] where the battles start."""
        seen = (len(self._game.planes), *OBSERVATION_SHAPE[1:])
        self._match_planes = np.empty((num_games if match else 0, *seen), dtype=np.float32)

    @property
    def opponent(self) -> Any:
        """The opponent as it was given."""
        return self._opponent.given

    @opponent.setter
    def opponent(self, opponent: OpponentLike) -> None:
        self._opponent = Opponent(opponent, self.rules, self.side, self.match)

    @property
    def pool(self) -> NDArray[np.int16]:
        """[S, 432] where battles start; others that are set hold for those that begin later."""
        return self._pool

    @pool.setter
    def pool(self, pool: NDArray[np.int16]) -> None:
        self._pool = pool
        self._made["starts"] = len(pool)

    @property
    def is_over(self) -> NDArray[np.bool_]:
        """[B] whether the game is over, by the rules or by an illegal action."""
        return self._over_by_rules | self._forfeited

    @property
    def is_truncated(self) -> NDArray[np.bool_]:
        """[B] whether the game is over by the turn limit."""
        return self._battles.truncated

    def seed(self, generator: np.random.Generator) -> None:
        """Seed the opponent, if it can be seeded."""
        self._opponent.seed(generator)

    def start(
        self,
        which: NDArray[np.bool_],
        generator: np.random.Generator,
        starts: NDArray[np.int16] | None = None,
    ) -> None:
        """Start the games that a mask chooses; it may be the opponents' turn then.

        Args:
            which: [B] bool.
            generator: draws the sides, if they are random, and the starts, if there are several.
            starts: [B, 432] where the battles start; None: each where it is drawn to.
        """
        count = int(which.sum())
        if not count:
            return
        self._starts[which] = self._drawn(count, generator) if starts is None else starts[which]
        self._battles.set_rows(self._starts[which], which, check=False)
        if self.side == "random":
            self._sides[which] = generator.integers(2, size=count)
        elif self.side != "both":
            self._sides[which] = SIDES.index(self.side)
        self._owed[which] = 0.0
        self._forfeited[which] = self._is_second[which] = False
        self._look()

    def play(self, which: NDArray[np.bool_], actions: NDArray[np.integer[Any]]) -> None:
        """Play one legal decision, [B], in the games that a mask chooses."""
        if not which.any():
            return
        signs = np.where(self._sides == DWARFS, 1, -1)
        self._battles.step(actions, which, check=False)  # which the callers have
        by_total = self._by_total
        paid = (
            outcome_for_dwarfs(self._as_matches()) if by_total else self._battles.rewards[:, DWARFS]
        )
        self._owed[which] += (signs * paid)[which]
        if self.match:
            self._begin_second(which & self._over_by_rules & ~self._is_second)
        self._look()

    def forfeit(self, which: NDArray[np.bool_]) -> None:
        """End the games that a mask chooses as an illegal action of the learner's does."""
        self._forfeited |= which
        self._owed[which] += ILLEGAL_REWARD

    def reply(self) -> None:
        """Let the opponents decide until the learner has to or a game is over."""
        if self.side == "both":
            return
        actions = np.zeros(self._battles.num_games, dtype=np.int64)
        while True:
            waiting = ~self.is_over & (self._battles.to_move != self._sides)
            if not waiting.any():
                return
            rows = self._battles.rows[waiting]
            actions[waiting] = self._opponent.choices(rows, np.flatnonzero(waiting))
            illegal = waiting & ~self.are_legal(waiting, actions)
            if illegal.any():
                self.raise_illegal("the opponent's choice", illegal, actions)
            self.play(waiting, actions)

    def are_legal(
        self, which: NDArray[np.bool_], actions: NDArray[np.integer[Any]]
    ) -> NDArray[np.bool_]:
        """[B] whether an action is legal, in the games that a mask chooses."""
        legal = np.zeros(self._battles.num_games, dtype=np.bool_)
        (games,) = np.nonzero(which & (actions >= 0) & (actions < NUM_ACTIONS))
        legal[games] = self._battles.masks[games, actions[games]] == 1
        return legal

    def raise_illegal(
        self, whose: str, which: NDArray[np.bool_], actions: NDArray[np.integer[Any]]
    ) -> None:
        """Raise for the first game that a mask chooses whose action is not legal.

        Raises:
            IllegalMove: naming whose action it is and the reason.
        """
        env = int(np.flatnonzero(which)[0])
        try:
            self._battles.position(env).apply(int(actions[env]))
        except IllegalMove as error:
            raise IllegalMove(f"{whose} in environment {env}: {error}") from None

    def sampled(self, generator: np.random.Generator) -> NDArray[np.int64]:
        """[B] actions drawn uniformly from the legal ones; 0 for games that are over."""
        return np.where(self.is_over, 0, drawn_decisions(self._battles.rows, generator))

    @property
    def rows(self) -> NDArray[np.int16]:
        """[B, 432] the battles on the boards, copied."""
        return self._battles.rows.copy()

    def position(self, game: int) -> Position:
        """The battle on the board of a game.

        Raises:
            ThudError: if ``game`` is not an integer in 0 .. B - 1.
        """
        return self._battles.position(game)

    def collect(self, which: NDArray[np.bool_]) -> NDArray[np.float64]:
        """[B] the learner's rewards since they were last collected, in the games that a mask
        chooses; 0 in the others, which go on owing them.
        """
        rewards = np.where(which, self._owed, 0.0)
        self._owed[which] = 0.0
        return rewards

    def write_masks(self, masks: NDArray[np.int8], idle_mask: int) -> None:
        """Write the learner's action masks into ``masks``, [B, 6470] int8.

        Args:
            masks: what is written.
            idle_mask: what they are filled with where the game is over.
        """
        masks[:] = self._battles.masks
        masks[self.is_over] = idle_mask

    def planes(self) -> NDArray[np.float32]:
        """[B, C, 15, 15] what is seen now, in an array that is used again."""
        if not self.match:
            return self._battles.observations
        planes = self._match_planes
        planes[:, :NUM_PLANES] = self._battles.observations
        show_match(planes, self._as_matches(), self._sides, self.rules.largest_margin)
        return planes

    def results(self) -> dict[str, NDArray[np.int64]]:
        """The infos beside the masks, [B] int64 each: how the games stand, and how they ended."""
        sides = self._sides.copy()
        return {"side": sides, **self._game.infos(self._as_matches(), sides)}

    def close(self) -> None:
        """End the threads of the batch."""
        self._battles.close()

    def get_state(self) -> dict[str, Any]:
        """Everything that ``set_state`` needs to continue exactly from here."""
        return {
            "made": dict(self._made),
            "rows": self._battles.rows.copy(),
            **{name: getattr(self, name).copy() for name in _STATE},
            "opponent": self._opponent.state(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Return to a state that ``get_state`` gave; the state is left as it is.

        Raises:
            ThudError: if it is a state of games of another kind, of an opponent that cannot be
                this one, or of none; nothing has changed then.
        """
        arrays = dict.fromkeys(("rows", *_STATE), np.ndarray)
        check_state(self, state, self._made, {**arrays, "opponent": object})
        own = {name: getattr(self, name) for name in _STATE}
        check_arrays(self, state, {"rows": self._battles.rows, **own})
        check_rows(state["_starts"], self.rules)
        sides = state["_sides"]
        check_part(self, "_sides", sides, bool(np.isin(sides, (DWARFS, TROLLS)).all()))
        owed = state["_owed"]
        check_part(self, "_owed", owed, bool(np.isfinite(owed).all()))
        with self._opponent.restored(state["opponent"]):
            self._battles.set_rows(state["rows"])
        for name in _STATE:
            setattr(self, name, state[name].copy())

    # -- inside --------------------------------------------------------------------------------

    @property
    def _over_by_rules(self) -> NDArray[np.bool_]:
        """[B] whether the battle on the board is over. No first battle of a match ever is: the
        second begins at once.
        """
        return self._battles.terminated | self._battles.truncated

    def _drawn(self, count: int, generator: np.random.Generator) -> NDArray[np.int16]:
        """Starts, [count, 432]. Of a single one nothing is drawn."""
        if len(self._pool) == 1:
            return np.repeat(self._pool, count, axis=0)
        return self._pool[generator.integers(len(self._pool), size=count)]

    def _look(self) -> None:
        """With both sides to decide for, take the side to move."""
        if self.side == "both":
            self._sides[:] = self._battles.to_move

    def _as_matches(self) -> Match:
        """The games as the rules see matches: new arrays, [B] int64 and bool."""
        rows, (first_ending, first_margin) = self._battles.rows, self._first_ends.T
        ending = np.where(self._forfeited, ILLEGAL_ACTION, rows[:, TERMINATION]).astype(np.int64)
        return Match(
            self._is_second, first_ending, first_margin, ending, margins(rows, check=False)
        )

    def _begin_second(self, which: NDArray[np.bool_]) -> None:
        """Begin the second battle of the matches that a mask chooses, with the sides changed."""
        if not which.any():
            return
        ended = self._battles.rows[which]
        self._first_ends[which] = np.column_stack(
            (ended[:, TERMINATION], margins(ended, check=False))
        )
        self._is_second[which] = True
        self._sides[which] = 1 - self._sides[which]
        self._battles.set_rows(self._starts[which], which, check=False)
