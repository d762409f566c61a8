"""Thud as a Gymnasium vector environment: many seats at once over one ``BatchedGame``.

``gymnasium.make_vec("thud/Thud-v0", num_envs=B)`` makes it. Each of the B environments behaves
as ``ThudSeatEnv`` does, whose page holds for all that is not said here: spaces, rewards, sides,
opponents, illegal actions. Nothing is looped over in Python but the opponents' decisions within
a turn, and each of those is one call of ``act_rows`` for all games that wait for one.

| returned | shape and dtype |
|---|---|
| observations | [B, 14, 15, 15] float32, or a dictionary of that and [B, 6470] int8 |
| rewards | [B] float64 |
| terminations, truncations | [B] bool |
| `infos["action_mask"]` | [B, 6470] int8 |
| `infos["side"]` | [B] object, `"dwarfs"` or `"trolls"` |
| `infos["termination"]`, `infos["margin"]` | [B], where a battle ended |

As everywhere in Gymnasium, `infos["_key"]` tells for which environments `infos["key"]` holds.

| `autoreset_mode` | a battle that ended |
|---|---|
| `"NextStep"` | is started anew by the next step, which ignores its action (the default) |
| `"SameStep"` | is started anew in the same step; its end is in `infos["final_obs"]`, [B] object, \
and `infos["final_info"]` |
| `"Disabled"` | stays as it is until `reset(options={"reset_mask": mask})`, mask [B] bool |

With `copy=False`, observations and masks are not copied: every call returns the same arrays,
which the next call overwrites. All else is new with every call.

### Version history

* v0: first release.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from thud_env.actions import NUM_ACTIONS
from thud_env.batch.game import BatchedGame, wants_outcome
from thud_env.envs.aec import ThudEnv
from thud_env.envs.arguments import read_options
from thud_env.envs.opponents import (
    make_opponent,
    opponent_state,
    restore_opponent,
    seed_opponent,
)
from thud_env.envs.seat import (
    ILLEGAL_ACTIONS,
    ILLEGAL_REWARD,
    OBSERVATION_KINDS,
    SEATS,
    Seat,
    one_of,
    seat_observation_space,
)
from thud_env.envs.seat_kernels import judge, play
from thud_env.envs.vector_parts import as_final, ends, integers, read_mask, read_starts
from thud_env.position import SIDES, IllegalMove, Position
from thud_env.rules.row import DWARFS, ONGOING, TERMINATION, TO_MOVE, TURN_LIMIT
from thud_env.rulesets import Ruleset

RANDOM = SEATS.index("random")
AUTORESET_MODES = tuple(mode.value for mode in AutoresetMode)
_SIDE_NAMES = np.array(SIDES, dtype=object)


class ThudVectorEnv(VectorEnv[Any, NDArray[Any], NDArray[Any]]):
    """B seats, each in a battle of its own, with opponents in the others.

    Args:
        num_envs: B.
        rules, side, opponent, observation, illegal_action, reward, idle_mask, **limits: as for
            ``ThudSeatEnv``. All games have the same; with ``side="random"`` every game draws
            its own.
        autoreset_mode: as Gymnasium names it, see above.
        copy: whether observations and masks are copies.
        num_threads: threads that share the work; None for one a core.
        render_mode: None; a single environment renders.

    Raises:
        ValueError: for an argument that is none of the above.
        TypeError: for an opponent that cannot play.
    """

    def __init__(
        self,
        num_envs: int = 1,
        rules: str | Ruleset = "classic",
        side: Seat = "dwarfs",
        opponent: Any = "random",
        *,
        observation: str = "planes",
        illegal_action: str = "lose",
        reward: str | None = None,
        idle_mask: str = "zeros",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        num_threads: int | None = None,
        render_mode: str | None = None,
        **limits: Any,
    ) -> None:
        self.render_mode = one_of("render_mode", render_mode, (None,))
        self.side: Seat = one_of("side", side, SEATS)
        self._is_dict = one_of("observation", observation, OBSERVATION_KINDS) == "dict"
        self._illegal_action = one_of("illegal_action", illegal_action, ILLEGAL_ACTIONS)
        mode = getattr(autoreset_mode, "value", autoreset_mode)
        self.autoreset_mode = AutoresetMode(one_of("autoreset_mode", mode, AUTORESET_MODES))
        # Reads starts, and checks the arguments that it shares with this class.
        self._reader = ThudEnv(rules, reward=reward, idle_mask=idle_mask, **limits)
        self._reader.reset()
        self._start_row = self._reader.position.row
        self.rules = self._reader.rules
        self._by_outcome = wants_outcome(reward, self.rules)
        self._idle_mask = int(idle_mask == "ones")
        self._copy = bool(copy)
        self._opponent = make_opponent(opponent)
        self._games = BatchedGame(
            num_envs,
            self.rules,
            autoreset_mode=AutoresetMode.DISABLED,
            num_threads=num_threads,
            # Masks that are handed out are also written: idle ones.
            buffers=None if copy else {"masks": np.empty((num_envs, NUM_ACTIONS), np.int8)},
            **limits,
        )
        self.num_envs = num_envs
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = seat_observation_space(self._reader, observation)
        self.single_action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

        self._seats = np.zeros(num_envs, dtype=np.int8)
        """[B] the learner's, as an index of SEATS; never RANDOM."""
        self._owed = np.zeros(num_envs, dtype=np.float64)
        """[B] what the dwarfs were paid and no step has returned yet."""
        self._ended = np.zeros(num_envs, dtype=np.bool_)
        """[B] the last step returned the end of the battle."""
        self._needs_reset = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start battles, and play them up to the learner's first decisions.

        Args:
            seed: seeds the draws of sides and the opponent, if it can be seeded.
            options: ``"position"``, position text or a ``Position``, or a list of B of them,
                to start from; ``"reset_mask"``, [B] bool, to start these battles only.

        Raises:
            ValueError: if a position is damaged, of another ruleset, or over, the mask is not
                [B] bool, or there is no such option.
            ResetNeeded: if the mask leaves out any before the first reset of all.
        """
        options = read_options(options, ("position", "reset_mask"))
        chosen = read_mask(options.get("reset_mask"), self.num_envs)
        if self._needs_reset and not chosen.all():
            raise ResetNeeded(
                f"environments {np.flatnonzero(~chosen).tolist()} have never been reset: "
                "call reset() without reset_mask first"
            )
        super().reset(seed=seed)
        if seed is not None:
            seed_opponent(self._opponent, self.np_random)
        starts = read_starts(options.get("position"), self._reader, self.num_envs)
        self._start(chosen, starts)
        self._needs_reset = False
        self._games.set_rows(self._rows)
        infos = self._infos(chosen)
        return self._observations(infos["action_mask"]), infos

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play a decision of the learner's in every game, then the opponents'.

        Args:
            actions: [B], of any integer type.

        Raises:
            ResetNeeded: before the first reset, and with ``autoreset_mode="Disabled"`` while a
                battle that ended has not been reset.
            ValueError: if ``actions`` is not [B] integers.
            IllegalMove: if one is not in 0 .. 6469; if one is not legal, only with
                ``illegal_action="raise"``, and no game has been changed then. Actions that are
                ignored may be anything.
        """
        chosen = self._checked(actions)
        rows, restarted = self._rows, self._ended.copy()
        signs = self._signs()
        deciding = np.flatnonzero((rows[:, TERMINATION] == ONGOING) & ~restarted)
        legal = self._judged(deciding, chosen[deciding])
        play(rows, deciding[legal], chosen[deciding[legal]], self._by_outcome, self._owed)
        forfeited = np.zeros(self.num_envs, dtype=np.bool_)
        forfeited[deciding[~legal]] = True
        self._reply(~restarted & ~forfeited)

        rewards = signs * self._owed + ILLEGAL_REWARD * forfeited
        self._owed[:] = 0.0
        truncated = (rows[:, TERMINATION] == TURN_LIMIT) & ~restarted
        terminated = (rows[:, TERMINATION] != ONGOING) & ~restarted & ~truncated | forfeited
        ended = terminated | truncated
        infos = ends(rows, ended, forfeited) if ended.any() else {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            if infos:
                infos |= {"side": self._sides(), "_side": ended}
                infos = as_final(rows, ended, infos, self._idle_mask, self._is_dict)
            self._start(ended)
        else:
            self._start(restarted)
            self._ended = ended
        self._games.set_rows(rows)
        infos |= self._infos(np.ones(self.num_envs, dtype=np.bool_))
        return self._observations(infos["action_mask"]), rewards, terminated, truncated, infos

    def action_masks(self) -> NDArray[np.int8]:
        """The action masks, [B, 6470] int8, as in ``infos["action_mask"]``."""
        masks = self._games.masks.copy() if self._copy else self._games.masks
        masks[self._ended] = self._idle_mask
        return masks

    def position(self, env: int) -> Position:
        """The state of one of the battles as a ``Position``."""
        return self._games.position(env)

    def get_state(self) -> dict[str, Any]:
        """Everything that ``set_state`` needs to continue exactly from here: see
        ``ThudSeatEnv.get_state``.
        """
        return {
            "rows": self._rows.copy(),
            "seats": self._seats.copy(),
            "owed": self._owed.copy(),
            "ended": self._ended.copy(),
            "needs_reset": self._needs_reset,
            "np_random": self.np_random.bit_generator.state,
            "opponent": opponent_state(self._opponent),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Return to a state that ``get_state`` gave; the state is left as it is.

        Raises:
            ValueError: if it is a state of another game, or of more or fewer environments;
                nothing has changed then.
        """
        given, rules = len(state["rows"]), Position(state["rows"][0]).rules
        if given != self.num_envs or rules != self.rules:
            raise ValueError(
                f"a state of {given} environments of {rules.name} cannot be set in "
                f"{self.num_envs} of {self.rules.name}"
            )
        self._games.set_rows(state["rows"])
        self._seats = state["seats"].copy()
        self._owed = state["owed"].copy()
        self._ended = state["ended"].copy()
        self._needs_reset = state["needs_reset"]
        self.np_random.bit_generator.state = state["np_random"]
        restore_opponent(self._opponent, state["opponent"])

    # -- playing -------------------------------------------------------------------------------

    @property
    def _rows(self) -> NDArray[np.int16]:
        return self._games.rows

    def _start(self, which: NDArray[np.bool_], starts: NDArray[np.int16] | None = None) -> None:
        """Start the battles that a mask chooses, from [B, 432] rows or the usual start."""
        chosen = np.flatnonzero(which)
        if not len(chosen):
            return
        self._rows[chosen] = self._start_row if starts is None else starts[chosen]
        seat = SEATS.index(self.side)
        self._seats[chosen] = (
            self.np_random.integers(2, size=len(chosen)) if seat == RANDOM else seat
        )
        self._owed[chosen] = 0.0
        self._ended[chosen] = False
        self._reply(which)

    def _reply(self, which: NDArray[np.bool_]) -> None:
        """Let the opponents decide until the learner is asked or a battle is over."""
        if self.side == "both":
            return
        rows = self._rows
        while True:
            others_turn = (rows[:, TERMINATION] == ONGOING) & (rows[:, TO_MOVE] != self._seats)
            waiting = np.flatnonzero(which & others_turn)
            if not len(waiting):
                return
            chosen = self._opponent.act_rows(rows[waiting])
            replies = integers("the opponent's choices", chosen, len(waiting)).astype(np.int32)
            legal = self._are_legal(waiting, replies)
            if not legal.all():
                self._raise_illegal("the opponent's choice", waiting[~legal], replies[~legal])
            play(rows, waiting, replies, self._by_outcome, self._owed)

    def _are_legal(self, games: NDArray[np.int64], actions: NDArray[np.int32]) -> NDArray[np.bool_]:
        legal = np.empty(len(games), dtype=np.bool_)
        judge(self._rows, games, actions, legal)
        return legal

    def _raise_illegal(self, whose: str, games: NDArray[np.int64], actions: NDArray[Any]) -> None:
        try:
            self.position(int(games[0])).apply(int(actions[0]))
        except IllegalMove as error:
            raise IllegalMove(f"{whose} in environment {games[0]}: {error}") from None

    def _signs(self) -> NDArray[np.int64]:
        """[B] 1 where the learner's next reward is the dwarfs', -1 where it is the trolls'."""
        deciding = self._rows[:, TO_MOVE] if self.side == "both" else self._seats
        return np.where(deciding == DWARFS, 1, -1)

    # -- reading arguments ---------------------------------------------------------------------

    def _checked(self, actions: Any) -> NDArray[np.int32]:
        if self._needs_reset:
            raise ResetNeeded("call reset() before step(): no battle is being played")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            raise ResetNeeded(
                f"environments {np.flatnonzero(self._ended).tolist()} are over: "
                "reset(options={'reset_mask': terminated | truncated}) before step()"
            )
        chosen = integers("actions", actions, self.num_envs)
        # A battle that has ended is about to be started anew, which ignores its action.
        outside = np.flatnonzero(((chosen < 0) | (chosen >= NUM_ACTIONS)) & ~self._ended)
        if len(outside):
            self._raise_illegal("the action", outside, chosen[outside])
        return chosen.astype(np.int32)

    def _judged(self, games: NDArray[np.int64], actions: NDArray[np.int32]) -> NDArray[np.bool_]:
        legal = self._are_legal(games, actions)
        if self._illegal_action == "raise" and not legal.all():
            self._raise_illegal("the action", games[~legal], actions[~legal])
        return legal

    # -- what is returned ----------------------------------------------------------------------

    def _observations(self, masks: NDArray[np.int8]) -> Any:
        planes = self._games.observations
        if self._copy:
            planes = planes.copy()
        return {"observation": planes, "action_mask": masks} if self._is_dict else planes

    def _infos(self, which: NDArray[np.bool_]) -> dict[str, Any]:
        return {
            "action_mask": self.action_masks(),
            "_action_mask": which,
            "side": self._sides(),
            "_side": which.copy(),
        }

    def _sides(self) -> NDArray[Any]:
        deciding = self._rows[:, TO_MOVE] if self.side == "both" else self._seats
        return _SIDE_NAMES[deciding]
