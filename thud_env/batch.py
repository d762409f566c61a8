"""BatchedGame: many battles at once, stepped together into arrays that are reused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from thud_env import kernels
from thud_env.actions import NUM_ACTIONS
from thud_env.encoding import (
    NOTHING_SHOWN,
    NUM_PLANES,
    NUM_POINTS,
    OBSERVATION_SHAPE,
    clear_planes,
)
from thud_env.masks import NUM_BIT_BYTES, NUM_BYTE_WORDS, bits_view, bytes_view
from thud_env.parallel import SlicedLoop
from thud_env.position import IllegalMove, Position
from thud_env.rng import seed_generators
from thud_env.rules.legal import NUM_WORDS
from thud_env.rules.row import MAX_DECISIONS_AT_ONCE, ROW_SIZE, new_row
from thud_env.rulesets import Ruleset, get_ruleset


def wants_outcome(reward: str | None, ruleset: Ruleset) -> bool:
    """Whether rewards are by outcome; ``None`` means as the ruleset scores.

    Raises:
        ValueError: if ``reward`` is neither, or the ruleset has no margins.
    """
    kind = ruleset.reward if reward is None else reward
    if kind not in ("margin", "outcome"):
        raise ValueError(f"unknown reward {reward!r}: 'margin' or 'outcome' would be right")
    if kind == "margin" and ruleset.reward == "outcome":
        raise ValueError(f"{ruleset.name} is won or lost: it has reward='outcome' only")
    return kind == "outcome"


class BatchedGame:
    """Many battles of one ruleset, stepped together.

    With B games and C planes, all arrays are written in place and never reallocated. They are
    to be read, not written, but for ``rows`` (see ``set_rows``). The rows of ``masks`` lie a few
    bytes apart, on whole words, unless ``buffers`` gives an array of its own for them.

    ==================  ====================  ========  ======================================
    attribute           shape                 dtype     holds
    ==================  ====================  ========  ======================================
    ``rows``            [B, 432]              int16     the games (``rules/row.py``)
    ``observations``    [B, C, 15, 15]        float32   ``encoding.PLANES``
    ``masks``           [B, 6470]             int8      1 where a decision is legal
    .. as bits          [B, 809]              uint8     the same, least significant bit first
    ``legal_counts``    [B]                   int32     how many decisions are legal
    ``to_move``         [B]                   int8      who decides: 0 dwarfs, 1 trolls
    ``rewards``         [B, 2]                float32   of the last step, dwarfs and trolls
    ``terminated``      [B]                   bool      the battle ended in the last step
    ``truncated``       [B]                   bool      the turn limit cut it in the last step
    ``final_rows``      [B, 432]              int16     the last state of the last battle ended
    ==================  ====================  ========  ======================================

    Args:
        num_games: B.
        rules: the name of a ruleset.
        device: ``"cpu"``.
        seed: seeds ``sample_actions``; every game has a stream of its own.
        observations: whether to write observations.
        masks: ``"bytes"``, ``"bits"`` or None.
        num_threads: threads that share the work; None for one a core.
        autoreset_mode: as Gymnasium names it. ``"SameStep"``: a battle that ends is reset in
            the same step, its last state kept in ``final_rows``. ``"NextStep"``: it is reset
            by the next step, which ignores its action. ``"Disabled"``: it stays as it is,
            ignores its actions and is paid nothing until ``reset``.
        reward: ``"margin"`` pays captures as they happen, in 1/32, summing to the change of
            the margin over the battle; ``"outcome"`` pays 1, 0 or -1 at its end. None is as
            the ruleset scores.
        buffers: arrays to write into instead of our own, by attribute name.
        **limits: ``max_quiet_turns``, ``max_turns``, ``offer_after``, ``agreement``.

    Raises:
        ValueError: for an argument that is none of the above.
    """

    def __init__(
        self,
        num_games: int,
        rules: str | Ruleset = "classic",
        device: str = "cpu",
        seed: int = 0,
        *,
        observations: bool = True,
        masks: Literal["bytes", "bits"] | None = "bytes",
        num_threads: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        reward: str | None = None,
        buffers: Mapping[str, NDArray[Any]] | None = None,
        **limits: Any,
    ) -> None:
        if num_games < 1:
            raise ValueError(f"num_games must be 1 or more, not {num_games}")
        if device != "cpu":
            raise ValueError(f"unknown device {device!r}: 'cpu' would be right")
        self.num_games = num_games
        self.rules = get_ruleset(rules)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self._modes = (
            wants_outcome(reward, self.rules),
            self.autoreset_mode is AutoresetMode.NEXT_STEP,
            self.autoreset_mode is AutoresetMode.SAME_STEP,
        )
        self._start_row = new_row(self.rules, **limits)
        if masks not in ("bytes", "bits", None):
            raise ValueError(f"unknown masks {masks!r}: 'bytes', 'bits' or None would be right")
        self._with_masks = masks is not None
        self._as_bytes = masks == "bytes"
        self._with_observations = bool(observations)
        self._run = SlicedLoop(num_games, num_threads)
        self._counted = False
        self._rng = seed_generators(num_games, seed)
        self._sampled = np.zeros(num_games, dtype=np.int64)
        self._chosen = np.zeros(num_games, dtype=np.int64)

        given = dict(buffers or {})

        def array(name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
            return _buffer(name, (num_games, *shape), dtype, given.pop(name, None))

        self.rows = array("rows", (ROW_SIZE,), np.int16)
        self.final_rows = array("final_rows", (ROW_SIZE,), np.int16)
        self._legal_counts = array("legal_counts", (), np.int32)
        self.to_move = array("to_move", (), np.int8)
        self.rewards = array("rewards", (2,), np.float32)
        self.terminated = array("terminated", (), np.bool_)
        self.truncated = array("truncated", (), np.bool_)
        self._observations = (
            array("observations", OBSERVATION_SHAPE, np.float32)
            if observations
            else np.empty((0, *OBSERVATION_SHAPE), dtype=np.float32)
        )
        self._shown_rows = np.tile(NOTHING_SHOWN, (len(self._observations), 1))
        self._words = np.zeros((num_games if self._with_masks else 0, NUM_WORDS), np.int64)
        self._byte_words = np.zeros((num_games if self._as_bytes else 0, NUM_BYTE_WORDS), np.uint64)
        self._given_masks: NDArray[Any] | None = None
        if self._with_masks and "masks" in given:
            kept, kind = (NUM_ACTIONS, np.int8) if self._as_bytes else (NUM_BIT_BYTES, np.uint8)
            self._given_masks = array("masks", (kept,), kind)
        if given:
            raise ValueError(f"buffers has {sorted(given)}: nothing of that name is written")
        self._make_views()
        for planes in self._planes:
            clear_planes(planes)
        self.reset()

    def _make_views(self) -> None:
        """The same memory as the kernels write it: see ``masks.py`` and ``encoding.py``."""
        count = len(self._observations)
        self._planes = self._observations.reshape(count, NUM_PLANES, NUM_POINTS)
        if self._as_bytes:
            self._own_masks: NDArray[Any] = bytes_view(self._byte_words)
        else:
            self._own_masks = bits_view(self._words)
        self._view = kernels.View(
            self._shown_rows,
            self._planes,
            self._words,
            self._byte_words,
            self._legal_counts,
            self.to_move,
        )
        self._results = kernels.Results(
            self.rewards, self.terminated, self.truncated, self.final_rows
        )

    def __getstate__(self) -> dict[str, Any]:
        # A view would be copied as an array of its own, which nobody writes to.
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_planes", "_own_masks", "_view", "_results")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_views()

    @property
    def observations(self) -> NDArray[np.float32]:
        """[B, C, 15, 15]: what the players see.

        Raises:
            AttributeError: if the batch was made with ``observations=False``.
        """
        if not self._with_observations:
            raise AttributeError("this BatchedGame was made with observations=False")
        return self._observations

    @property
    def legal_counts(self) -> NDArray[np.int32]:
        """[B]: how many decisions are legal. Without masks they are counted when asked for."""
        if not self._counted:
            self._run(kernels.count_games, self.rows, self._legal_counts)
            self._counted = True
        return self._legal_counts

    @property
    def masks(self) -> NDArray[Any]:
        """[B, 6470] int8 or [B, 809] uint8: the legal decisions.

        Raises:
            AttributeError: if the batch was made with ``masks=None``.
        """
        if not self._with_masks:
            raise AttributeError("this BatchedGame was made with masks=None")
        return self._own_masks if self._given_masks is None else self._given_masks

    def reset(self, games: NDArray[Any] | None = None, seed: int | None = None) -> None:
        """Set games to the start of a battle: all of them, or those of an index or mask array."""
        if seed is not None:
            self._rng[:] = seed_generators(self.num_games, seed)
        chosen = slice(None) if games is None else games
        self.rows[chosen] = self._start_row
        self.rewards[chosen] = 0
        self.terminated[chosen] = False
        self.truncated[chosen] = False
        if games is None:
            self.final_rows[:] = self._start_row
        self._observe()

    def set_rows(self, rows: NDArray[np.int16]) -> None:
        """Set every game to a state of its own, [B, 432]."""
        self.rows[:] = rows
        self._observe()

    def step(self, actions: NDArray[Any]) -> None:
        """Play one decision in every game and write all arrays anew.

        Args:
            actions: [B] legal actions, of any integer type.

        Raises:
            IllegalMove: if one is not legal; no game has been changed then.
            ValueError: if ``actions`` is not [B] integers.
        """
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_games,) or chosen.dtype.kind not in "iu":
            raise ValueError(
                f"actions are {chosen.dtype} of shape {chosen.shape}: "
                f"integers of shape ({self.num_games},) would be right"
            )
        given, chosen = chosen, self._chosen
        chosen[:] = given
        illegal = [
            game for game in self._run(kernels.first_illegal, self.rows, chosen) if game >= 0
        ]
        if illegal:
            self._raise_illegal(illegal[0], int(given[illegal[0]]))
        self._run(
            kernels.step_games,
            self.rows,
            chosen,
            self._start_row,
            self._results,
            self._modes,
            self._view,
        )
        self._shown()

    def sample_actions(self) -> NDArray[np.int64]:
        """[B] actions drawn uniformly from the legal ones, in an array that is reused."""
        self._run(kernels.sample_games, self.rows, self._rng, self._sampled)
        return self._sampled

    def position(self, game: int) -> Position:
        """One game as a ``Position``."""
        return Position(self.rows[game])

    def final_position(self, game: int) -> Position:
        """The last state of the last battle that ended in a game."""
        return Position(self.final_rows[game])

    def _observe(self) -> None:
        self._run(kernels.show_games, self.rows, self._view)
        self._shown()

    def _shown(self) -> None:
        self._counted = self._with_masks
        if self._given_masks is not None:
            np.copyto(self._given_masks, self._own_masks)

    def _raise_illegal(self, game: int, action: int) -> None:
        try:
            self.position(game).apply(action)
        except IllegalMove as error:
            raise IllegalMove(f"game {game}: {error}") from None


def legal_lists(rows: NDArray[np.int16]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The legal decisions of many states in one list.

    Args:
        rows: [N, 432] state rows.

    Returns:
        ``decisions`` [L] and ``starts`` [N + 1]: game g's decisions, ascending, are
        ``decisions[starts[g] : starts[g + 1]]``.
    """
    starts = np.empty(len(rows) + 1, dtype=np.int64)
    decisions = np.empty(len(rows) * MAX_DECISIONS_AT_ONCE, dtype=np.int32)
    kernels.list_games(rows, starts, decisions)
    return decisions[: starts[-1]].copy(), starts


def _buffer(
    name: str, shape: tuple[int, ...], dtype: Any, given: NDArray[Any] | None
) -> NDArray[Any]:
    if given is None:
        return np.zeros(shape, dtype=dtype)
    fits = isinstance(given, np.ndarray) and given.shape == shape and given.dtype == dtype
    if not fits or not given.flags.c_contiguous or not given.flags.writeable:
        raise ValueError(
            f"buffer {name!r} must be a writeable, contiguous NumPy array of shape {shape} "
            f"and dtype {np.dtype(dtype)}"
        )
    return given


class Playouts(NamedTuple):
    """Random battles played to their ends."""

    lengths: NDArray[np.int32]
    """[N] decisions played."""
    margins: NDArray[np.int16]
    """[N] final margins, from the dwarfs' view."""


def random_playouts(
    num_games: int,
    rules: str | Ruleset = "classic",
    seed: int = 0,
    *,
    num_threads: int | None = None,
    **limits: Any,
) -> Playouts:
    """Play whole battles by decisions drawn uniformly from the legal ones.

    Args:
        num_games: N.
        rules: the name of a ruleset.
        seed: the same seed plays the same battles.
        num_threads: threads that share the work; None for one a core.
        **limits: ``max_quiet_turns``, ``max_turns``, ``offer_after``, ``agreement``.

    Raises:
        ValueError: for an argument that is none of the above.
    """
    if num_games < 1:
        raise ValueError(f"num_games must be 1 or more, not {num_games}")
    rows = np.tile(new_row(get_ruleset(rules), **limits), (num_games, 1))
    lengths = np.zeros(num_games, dtype=np.int32)
    margins = np.zeros(num_games, dtype=np.int16)
    run = SlicedLoop(num_games, num_threads)
    run(kernels.play_games, rows, seed_generators(num_games, seed), lengths, margins)
    return Playouts(lengths, margins)
