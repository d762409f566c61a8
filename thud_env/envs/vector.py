"""Thud as a Gymnasium vector environment: many seats at once over one ``BatchedGame``.

``gymnasium.make_vec("thud/Thud-v0", num_envs=B)`` makes it, and so with the other names. Each of
the B environments behaves as ``ThudSeatEnv``, whose docstring holds for all else: spaces, rewards,
sides, opponents, illegal actions, matches. The only loop in Python is over the opponents' decisions
within a turn; each is one call of ``act_rows`` for all games that wait for one.

| returned | shape and dtype |
|---|---|
| observations | [B, 14, 15, 15] float32 (of matches 16 planes), or a dictionary of that and \
[B, 6470] int8 |
| rewards | [B] float64 |
| terminations, truncations | [B] bool |
| `infos["action_mask"]` | [B, 6470] int8 |
| `infos["side"]`, `infos["termination"]`, `infos["margin"]` | [B] int64 |

As everywhere in Gymnasium, `infos["_key"]`, [B] bool, says for which environments `infos["key"]`
holds: for all, except after a `reset` of some. Matches have the five keys of `thud_env.envs.match`
instead of `termination` and `margin`.

| `autoreset_mode` | a battle that ended |
|---|---|
| `"NextStep"` | is started anew by the next step, which ignores its action (the default) |
| `"SameStep"` | is started anew in the same step; its last observation and infos are in \
`infos["final_obs"]`, [B] object, and `infos["final_info"]` |
| `"Disabled"` | stays as it is until `reset(options={"reset_mask": mask})`, mask [B] bool; until \
then no environment can step |

With `copy=False`, observations and masks are not copied: every call returns the same arrays, in
which the next call writes what has changed. Only read them: what you write there stays. All else
is new with every call. A training loop that keeps what it needs in buffers of its own can do with
that; docs/performance.md has what it saves.

For `render_mode` and `max_episode_steps`, pass `vectorization_mode="sync"` to `make_vec`: this
environment does not render, and a limit on decisions would be a clock outside the observation.

### Version history

* v0: first release.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Never, get_args

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from thud_env.actions import NUM_ACTIONS
from thud_env.arguments import (
    as_count,
    as_integers,
    given_when_made,
    one_of,
    refuse_copy,
    refuse_unknown,
)
from thud_env.batch.options import AutoresetName, read_autoreset_mode
from thud_env.envs.common import (
    GIVEN_WHEN_MADE,
    HINTS,
    IdleMask,
    IllegalAction,
    ObservationKind,
    Seat,
    idle_value,
    is_lost_by,
    observation_space,
)
from thud_env.envs.opponents import OpponentLike
from thud_env.envs.reset_options import read_mask, read_options
from thud_env.envs.seated_games import SeatedGames
from thud_env.envs.states import check_arrays, check_generator, check_state
from thud_env.errors import ThudError
from thud_env.position import Position
from thud_env.rulesets import Reward, Rules, Ruleset, get_ruleset
from thud_env.starts import Starts, limits_asked_for, read_pool, read_starts
from thud_env.views.encoding import PLANES
from thud_env.views.match import MATCH_PLANES

_STATE = {
    "games": dict,
    "ended": np.ndarray,
    "needs_reset": bool,
    "np_random": dict,
    "sampling": dict,
}
"""The parts of a state, beside ``"made"``, and their types."""
_SINGLE_ONLY = 'make_vec(..., vectorization_mode="sync") makes single environments, which have it'


@given_when_made(*GIVEN_WHEN_MADE, "match", "copy", "num_threads")
class ThudVectorEnv(VectorEnv[Any, NDArray[Any], NDArray[Any]]):
    """B seats, each in a battle or a match of its own, with opponents in the others.

    Args:
        num_envs: B.
        rules, side, opponent, match, observation, illegal_action, reward, idle_mask: as for
            ``ThudSeatEnv``. All games have the same; with ``side="random"`` every game draws
            its own.
        starts: as for ``ThudSeatEnv``; each battle that begins, by itself or not, draws its own.
        max_quiet_turns, max_turns, offer_after, agreement: as for ``ThudSeatEnv``.
        autoreset_mode: as Gymnasium names it, see above.
        copy: whether observations and masks are copies.
        num_threads: threads that share the work; None for one a core, as far as each gets
            1,024 games.
        render_mode: None; single environments render.

    Raises:
        ThudError: for any other value; for an opponent that refuses the game (``check_plays``).
        TypeError: for an opponent that cannot play, and for any other keyword, naming the nearest
            there is.
    """

    def __init__(
        self,
        num_envs: int = 1,
        rules: Rules = "classic",
        side: Seat = "dwarfs",
        opponent: OpponentLike = "random-decisions",
        *,
        match: bool = False,
        observation: ObservationKind = "planes",
        illegal_action: IllegalAction = "lose",
        reward: Reward | None = None,
        idle_mask: IdleMask = "ones",
        starts: Starts | None = None,
        max_quiet_turns: int | None = None,
        max_turns: int | None = None,
        offer_after: int | None = None,
        agreement: bool | None = None,
        autoreset_mode: AutoresetMode | AutoresetName = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        num_threads: int | None = None,
        render_mode: None = None,
        **unknown: Never,
    ) -> None:
        refuse_unknown(type(self), unknown, {**HINTS, "max_episode_steps": _SINGLE_ONLY})
        if render_mode is not None:
            raise ThudError(f"render_mode {render_mode!r}: {_SINGLE_ONLY}")
        self.num_envs = num_envs = as_count("num_envs", num_envs)
        seat: Seat = one_of("side", side, get_args(Seat))
        self._is_dict = one_of("observation", observation, get_args(ObservationKind)) == "dict"
        self._loses = is_lost_by(illegal_action)
        self._idle_mask = idle_value(idle_mask)
        self._autoreset_mode = read_autoreset_mode(autoreset_mode)
        self.metadata = {"autoreset_mode": self._autoreset_mode}
        ruleset = get_ruleset(rules)
        self._limits = limits_asked_for(max_quiet_turns, max_turns, offer_after, agreement)
        match = one_of("match", match, (True, False))
        pool = read_pool(starts, ruleset, self._limits)
        self._games = SeatedGames(
            num_envs, ruleset, seat, opponent, match, reward, pool, num_threads
        )
        space = observation_space(len(MATCH_PLANES if match else PLANES))
        self.single_observation_space = space if self._is_dict else space["observation"]
        self.single_action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._copy = one_of("copy", copy, (True, False))
        self._masks = np.empty((num_envs, NUM_ACTIONS), dtype=np.int8)
        """[B, 6470] what is returned with ``copy=False``: the masks, with idle ones filled."""
        self._ended = np.zeros(num_envs, dtype=np.bool_)
        """[B] the last step returned the end of the game."""
        self._needs_reset = True
        self._sampling = np.random.default_rng()
        self._made = {"num_envs": num_envs, "autoreset_mode": self._autoreset_mode.value}
        """The arguments that a state depends on, beside those of the games."""

    @property
    def opponent(self) -> Any:
        """The opponent as it was given. Another that is set here, of any kind that can be given,
        plays from its next decision on; ``reset(seed=...)`` seeds it.

        Raises:
            ThudError, TypeError: for one that could not be given; the one before plays on.
        """
        return self._games.opponent

    @opponent.setter
    def opponent(self, opponent: OpponentLike) -> None:
        self._games.opponent = opponent

    @property
    def starts(self) -> NDArray[np.int16]:
        """[S, 432] the state rows that battles start from, a copy. Others that are set here, of any
        kind that ``starts`` can be given, hold for every battle, or match, that begins from then
        on, by itself or not.

        Raises:
            ThudError, TypeError: for what could not be given; nothing has changed then.
        """
        return self._games.pool.copy()

    @starts.setter
    def starts(self, starts: Starts | None) -> None:
        self._games.pool = read_pool(starts, self.rules, self._limits)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start battles, and play them up to the learner's first decisions.

        Args:
            seed: seeds the draws of sides and starts, the opponent, if it can be seeded, and
                ``sample_actions``.
            options: ``"position"``, to start from: position text, or a ``Position``, or a list of B
                of them, or [B, 432] state rows, with the environment's limits or, where it was
                given none, their own; ``"reset_mask"``, [B] bool, to start these battles only.

        Raises:
            ThudError: if a position is damaged (``RowError`` for a row), of another ruleset, or
                over, the mask is not
                [B] bool, an option is unknown, or the seed is not an integer, 0 or more.
            TypeError: if a position is neither text nor a ``Position``, or ``options`` is not a
                dictionary.
            ResetNeeded: if the mask leaves out any before the first reset of all, or after an
                opponent has failed.
        """
        options = read_options(options, ("position", "reset_mask"))
        chosen = read_mask(options.get("reset_mask"), self.num_envs)
        if self._needs_reset and not chosen.all():
            raise ResetNeeded(
                f"environments {np.flatnonzero(~chosen).tolist()} must be reset, too: "
                "call reset() without reset_mask first"
            )
        if isinstance(seed, Sequence) and not isinstance(seed, str):
            raise ThudError(
                "seed: one for all environments would be right; make_vec(..., "
                "vectorization_mode='sync') takes one for each"
            )
        if seed is not None:
            seed = as_count("seed", seed, least=0)
        start = options.get("position")
        starts = None
        if start is not None:
            starts = read_starts(start, self.rules, self._limits, chosen)
        self._needs_reset = True  # until the opponents have replied
        super().reset(seed=seed)
        if seed is not None:
            self._games.seed(self.np_random)
            (stream,) = np.random.SeedSequence(seed).spawn(1)
            self._sampling = np.random.default_rng(stream)
        self._games.start(chosen, self.np_random, starts)
        self._games.reply()
        self._ended[chosen] = False
        self._needs_reset = False
        return self._seen(chosen)

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play a decision of the learner's in every game, then the opponents'.

        Args:
            actions: [B], of any integer type.

        Returns:
            Observations, [B, C, 15, 15] float32 or a dictionary of them and the masks; rewards,
            [B] float64; terminations and truncations, [B] bool; infos, with ``action_mask``,
            [B, 6470] int8, of the decisions that are now to be made.

        Raises:
            ResetNeeded: before the first reset, after an opponent has failed, and with
                ``autoreset_mode="Disabled"`` while a battle that ended has not been reset.
            ThudError: if ``actions``, or an opponent's choices, are not [B] integers.
            IllegalMove: if one is not in 0 .. 6469; if one is not legal, only with
                ``illegal_action="raise"``, and no game has been changed then. Actions that are
                ignored may be anything.
        """
        chosen = self._checked(actions)
        games, restarted = self._games, self._ended
        deciding = ~restarted & ~games.is_over  # an opponent's opening may have ended it
        illegal = deciding & ~games.are_legal(deciding, chosen)
        if illegal.any() and not self._loses:
            games.raise_illegal("the action", illegal, chosen)
        self._needs_reset = True  # until the opponents have replied
        games.start(restarted, self.np_random)
        games.play(deciding & ~illegal, chosen)
        games.forfeit(illegal)
        games.reply()

        rewards = games.collect(~restarted)  # an opening is paid with the first step
        over = games.is_over & ~restarted
        truncated = over & games.is_truncated
        final = {}
        if self._autoreset_mode is AutoresetMode.SAME_STEP and over.any():
            final = self._final(over)
            games.start(over, self.np_random)
            games.reply()
        else:
            self._ended = over
        self._needs_reset = False
        observations, infos = self._seen(np.ones(self.num_envs, dtype=np.bool_))
        return observations, rewards, over & ~truncated, truncated, final | infos

    def action_masks(self) -> NDArray[np.int8]:
        """The action masks, [B, 6470] int8, as in ``infos["action_mask"]``.

        Raises:
            ResetNeeded: before the first reset, and after an opponent has failed.
        """
        self._check_playing("action_masks")
        masks = np.empty_like(self._masks) if self._copy else self._masks
        self._games.write_masks(masks, self._idle_mask)
        return masks

    def sample_actions(self) -> NDArray[np.int64]:
        """[B] actions drawn uniformly from the legal ones; 0 for battles that are over.

        They have a generator of their own, which ``reset(seed=...)`` seeds: which sides and starts
        are drawn does not depend on how often this is called.

        Raises:
            ResetNeeded: as ``action_masks`` does.
        """
        self._check_playing("sample_actions")
        return self._games.sampled(self._sampling)

    def close(self, **kwargs: Any) -> None:
        """End the environment's threads, if it has any. As with our other environments, it can be
        used on: a step starts new ones, which another ``close`` ends.
        """
        if hasattr(self, "_games"):  # Gymnasium 1.2 closes one whose arguments were refused, too
            self._games.close()
        super().close(**kwargs)

    @property
    def rules(self) -> Ruleset:
        """The ruleset that is played."""
        return self._games.rules

    @property
    def side(self) -> Seat:
        """The side that the environment was made with."""
        return self._games.side

    @property
    def autoreset_mode(self) -> AutoresetMode:
        """What happens after the end of a battle, as the environment was made."""
        return self._autoreset_mode

    @property
    def rows(self) -> NDArray[np.int16]:
        """[B, 432] int16 state rows of the battles on the boards, new: what ``act_rows``
        and ``encode_rows`` take, and ``Position`` one by one.
        """
        return self._games.rows

    def position(self, env: int) -> Position:
        """The state of one of the battles as a ``Position``.

        Raises:
            ThudError: if ``env`` is not an integer in 0 .. B - 1.
        """
        return self._games.position(env)

    def get_state(self) -> dict[str, Any]:
        """Everything that ``set_state`` needs to continue exactly from here.

        The opponent is part of it if it has ``get_state`` itself, as ``"random-decisions"`` has.
        Before the first reset, and after an opponent has failed, it is a state that needs a reset.
        """
        return {
            "made": dict(self._made),
            "games": self._games.get_state(),
            "ended": self._ended.copy(),
            "needs_reset": self._needs_reset,
            "np_random": self.np_random.bit_generator.state,
            "sampling": self._sampling.bit_generator.state,
        }

    __copy__ = refuse_copy

    def set_state(self, state: dict[str, Any]) -> None:
        """Return to a state that ``get_state`` gave; the state is left as it is.

        Raises:
            ThudError: if it is a state of an environment with another ``num_envs``, ``side``,
                ``match``, ``rules``, ``reward`` or ``autoreset_mode``, with an opponent's state
                that this environment's cannot take, or of none; nothing has changed then.
        """
        check_state(self, state, self._made, _STATE)
        check_arrays(self, state, {"ended": self._ended})
        check_generator(self, "np_random", self.np_random, state["np_random"])
        check_generator(self, "sampling", self._sampling, state["sampling"])
        self._games.set_state(state["games"])
        self._ended = state["ended"].copy()
        self._needs_reset = state["needs_reset"]
        self.np_random.bit_generator.state = state["np_random"]
        self._sampling.bit_generator.state = state["sampling"]

    # -- inside --------------------------------------------------------------------------------

    def _check_playing(self, method: str) -> None:
        if self._needs_reset:
            raise ResetNeeded(f"call reset() before {method}(): no battle is being played")

    def _checked(self, actions: Any) -> NDArray[np.integer[Any]]:
        self._check_playing("step")
        if self._autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            raise ResetNeeded(
                f"environments {np.flatnonzero(self._ended).tolist()} are over: "
                "reset(options={'reset_mask': terminated | truncated}) before step()"
            )
        chosen = as_integers("actions", actions, self.num_envs)
        ignored = self._ended | self._games.is_over
        outside = ((chosen < 0) | (chosen >= NUM_ACTIONS)) & ~ignored
        if outside.any():
            self._games.raise_illegal("the action", outside, chosen)
        return chosen

    def _seen(self, which: NDArray[np.bool_]) -> tuple[Any, dict[str, Any]]:
        """Observations and infos, and for which environments these hold."""
        masks, planes = self.action_masks(), self._games.planes()
        if self._copy:
            planes = planes.copy()
        own = masks.copy() if self._is_dict and self._copy else masks
        infos = {"action_mask": own, **self._games.results()}
        infos |= {f"_{name}": which.copy() for name in infos}
        if not self._is_dict:
            return planes, infos
        return {"observation": planes, "action_mask": masks}, infos

    def _final(self, over: NDArray[np.bool_]) -> dict[str, Any]:
        """``final_obs`` and ``final_info`` of the games that are over, before they start anew."""
        planes, masks = self._games.planes(), np.zeros((self.num_envs, NUM_ACTIONS), dtype=np.int8)
        masks[over] = self._idle_mask
        seen = np.full(self.num_envs, None, dtype=object)
        for env in np.flatnonzero(over):
            copy = planes[env].copy()
            seen[env] = (
                {"observation": copy, "action_mask": masks[env].copy()} if self._is_dict else copy
            )
        info = {"action_mask": masks} | {
            name: np.where(over, values, 0) for name, values in self._games.results().items()
        }
        holds = {f"_{name}": over.copy() for name in info}
        return {
            "final_obs": seen,
            "_final_obs": over.copy(),
            "final_info": info | holds,
            "_final_info": over.copy(),
        }
