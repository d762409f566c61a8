"""BatchedGame: many battles at once, stepped together into arrays that are reused."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Never

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from thud_env.arguments import as_count, given_when_made, one_of, refuse_copy, refuse_unknown
from thud_env.batch.arrays import Arrays, state_on_device, state_on_host
from thud_env.batch.one_game import Modes
from thud_env.batch.options import (
    AutoresetName,
    Device,
    Games,
    make_device,
    read_autoreset_mode,
    read_buffers,
    read_game,
    read_games,
    read_reward,
)
from thud_env.errors import IllegalMove, ThudError
from thud_env.jit.rng import seed_generators
from thud_env.position import Position
from thud_env.rules.check import RowError, as_rows, check_rows
from thud_env.rules.row import LIMITS, ONGOING, TERMINATION, new_row
from thud_env.rulesets import Reward, Rules, get_ruleset
from thud_env.views.encoding import BYTE_UNIT

_MADE_WITH = ("num_games", "rules", "autoreset_mode")
_ARRAYS = ("rows", "final_rows", "to_move", "rewards", "terminated", "truncated")
_FIXED = frozenset((*_MADE_WITH, *_ARRAYS))
"""The attributes that stay as they are made: compiled loops trust the arrays to have B entries. The
other arrays are properties.
"""


@given_when_made(*LIMITS, "reward", "device", "seed", "num_threads", "buffers")
class BatchedGame:
    """Many battles of one ruleset, stepped together.

    A batch belongs to one thread at a time: while one steps, samples, resets or sets rows, another
    that does so gets a ``RuntimeError``. It shares its own work among threads by itself. Give each
    of your threads a batch of its own.

    With B games and C planes, all arrays are written in place and never reallocated. Read them
    only: ``set_rows`` sets states. The rows of ``masks`` lie a few
    bytes apart, on whole words, unless ``buffers`` gives an array of its own for them.

    ==================  ====================  ========  ======================================
    attribute           shape                 dtype     holds
    ==================  ====================  ========  ======================================
    ``rows``            [B, 432]              int16     the games (``rules/row.py``)
    ``observations``    [B, C, 15, 15]        float32   ``encoding.PLANES``
    .. as uint8         [B, C, 15, 15]        uint8     the same times 255, rounded
    ``masks``           [B, 6470]             int8      1 where a decision is legal; 0 after the end
    .. as bits          [B, 809]              uint8     the same, least significant bit first
    ``legal_counts``    [B]                   int32     how many decisions are legal
    ``to_move``         [B]                   int8      who decides: 0 dwarfs, 1 trolls
    ``rewards``         [B, 2]                float32   of its last step, dwarfs and trolls
    ``terminated``      [B]                   bool      the battle has ended, see below
    ``truncated``       [B]                   bool      the turn limit has cut it, see below
    ``final_rows``      [B, 432]              int16     the last state of the last battle ended
    ==================  ====================  ========  ======================================

    How a battle ended is there after the step that ended it; with ``"Disabled"`` until its game is
    reset.

    Args:
        num_games: B.
        rules: a ruleset, or the name of one.
        device: ``"cpu"``, or ``"cuda"`` for an NVIDIA GPU (``batch/cuda.py``): the same arrays
            as device arrays that torch, CuPy and JAX take without a copy, bit for bit the same.
            Type checkers take them for NumPy's.
        seed: seeds ``sample_actions``; every game has a stream of its own. None seeds it anew with
            every batch.
        observations: whether to write observations: True or ``"float32"``, ``"uint8"``, False.
            ``rows``, which are always there, are the smallest observation: a network can
            expand them on its own device.
        masks: ``"bytes"``, ``"bits"`` or None.
        num_threads: threads that share the work; None for one a core, as far as each gets
            1,024 games.
        autoreset_mode: as Gymnasium names it. ``"SameStep"``: a battle that ends is reset in
            the same step, its last state kept in ``final_rows``. ``"NextStep"``: it is reset
            by the next step, which ignores its action. ``"Disabled"``: it stays as it is,
            ignores its actions and is paid nothing until ``reset``.
        reward: ``"margin"`` pays captures as they happen, in 1/32, summing to the change of
            the margin over the battle; ``"outcome"`` pays 1, 0 or -1 at its end, but nothing
            where the turn limit truncates it. None is as the ruleset scores.
        buffers: arrays to write into instead of our own, by attribute name, no two in the same
            memory; on a GPU anything with ``__cuda_array_interface__``.
        max_quiet_turns, max_turns, offer_after: the limits of a battle; None for the ruleset's.
        agreement: whether a battle may end by agreement.

    Raises:
        ThudError: for any other value.
        TypeError: for any other keyword, naming the nearest there is.
        RuntimeError: if ``device`` is ``"cuda"`` and there is no GPU, or no Numba for it.
    """

    def __init__(
        self,
        num_games: int,
        rules: Rules = "classic",
        device: Device = "cpu",
        seed: int | None = 0,
        *,
        observations: bool | Literal["float32", "uint8"] = True,
        masks: Literal["bytes", "bits"] | None = "bytes",
        num_threads: int | None = None,
        autoreset_mode: AutoresetMode | AutoresetName = AutoresetMode.SAME_STEP,
        reward: Reward | None = None,
        buffers: Mapping[str, NDArray[Any]] | None = None,
        max_quiet_turns: int | None = None,
        max_turns: int | None = None,
        offer_after: int | None = None,
        agreement: bool = False,
        **unknown: Never,
    ) -> None:
        refuse_unknown(type(self), unknown)
        one_of("masks", masks, ("bytes", "bits", None))
        self.num_games = num_games = as_count("num_games", num_games)
        self.rules = get_ruleset(rules)
        self.autoreset_mode = read_autoreset_mode(autoreset_mode)
        self._modes = Modes(
            read_reward(reward, self.rules) == "outcome",
            self.autoreset_mode is AutoresetMode.NEXT_STEP,
            self.autoreset_mode is AutoresetMode.SAME_STEP,
        )
        one_of("observations", observations, ("float32", "uint8", True, False))
        self._counted = masks is not None
        self._device = make_device(device, num_games, num_threads)
        start_row = new_row(
            self.rules,
            max_quiet_turns=max_quiet_turns,
            max_turns=max_turns,
            offer_after=offer_after,
            agreement=agreement,
        )
        self._start_row = self._device.copy(start_row)
        if seed is not None:
            seed = as_count("seed", seed, least=0)
        self._rng = self._device.copy(seed_generators(num_games, seed))
        self._sampled: NDArray[np.int64] = self._device.zeros((num_games,), np.int64)
        self._every = np.arange(num_games)
        self._at_work = Lock()
        unit = BYTE_UNIT if observations == "uint8" else float(bool(observations))
        given = read_buffers(buffers)
        self._arrays = Arrays(self._device, num_games, unit, masks, given)
        self._show_arrays()
        self._device.start_view(self._view)
        self.reset()
        self._device.assign(self.final_rows, self.rows)

    def _show_arrays(self) -> None:
        arrays = self._arrays
        self.rows = arrays.rows
        self.final_rows = arrays.final_rows
        self.to_move = arrays.to_move
        self.rewards = arrays.rewards
        self.terminated = arrays.terminated
        self.truncated = arrays.truncated
        self._view, self._results = arrays.view, arrays.results
        self._has_more_to_do = arrays.masks_are_copied or not arrays.has_masks

    __copy__ = refuse_copy

    if not TYPE_CHECKING:  # type checkers would let any name be set

        def __setattr__(self, name: str, value: Any) -> None:
            # games.rewards += 1 changes the array in place, and then sets what is set already.
            # Python looks attributes up more slowly once a __dict__ has been asked for.
            if name in _FIXED and getattr(self, name, value) is not value:
                instead = "another batch" if name in _MADE_WITH else "set_rows, which sets states,"
                raise AttributeError(
                    f"{name} of a BatchedGame cannot be replaced: {instead} would be right"
                )
            super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return state_on_host(self, (*_ARRAYS, "_view", "_results", "_at_work"))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state_on_device(state))
        self._at_work = Lock()
        self._show_arrays()
        for rows in (self.rows, self.final_rows):
            check_rows(self._device.to_host(rows), self.rules)

    def __repr__(self) -> str:
        mode = self.autoreset_mode.value
        return f"BatchedGame({self.num_games}, {self.rules.spec!r}, autoreset_mode={mode!r})"

    def to_host(self, array: Any) -> NDArray[Any]:
        """One of the batch's arrays as a NumPy array: itself, or a copy of it from a GPU."""
        return self._device.to_host(array)

    @property
    def observations(self) -> NDArray[Any]:
        """[B, C, 15, 15]: the observations.

        Raises:
            AttributeError: if the batch was made with ``observations=False``.
        """
        if not len(self._arrays.observations):
            raise AttributeError("this BatchedGame was made with observations=False")
        return self._arrays.observations

    @property
    def legal_counts(self) -> NDArray[np.int32]:
        """[B]: how many decisions are legal. Without masks they are counted on access."""
        if not self._counted:
            self._device.count(self.rows, self._arrays.legal_counts)
            self._counted = True
        return self._arrays.legal_counts

    @property
    def masks(self) -> NDArray[Any]:
        """[B, 6470] int8 or [B, 809] uint8: the legal decisions.

        Raises:
            AttributeError: if the batch was made with ``masks=None``.
        """
        if not self._arrays.has_masks:
            raise AttributeError("this BatchedGame was made with masks=None")
        return self._arrays.masks

    def reset(self, games: Games | None = None, seed: int | None = None) -> None:
        """Set games to the start of a battle.

        Args:
            games: [N] the games' numbers or [B] bool; None for all.
            seed: makes these games draw as they would in a batch made with it; None lets them
                go on drawing.

        Raises:
            ThudError: if ``games`` is neither, or a number is not in 0 .. B - 1; if ``seed`` is
                not an integer, 0 or more.
            RuntimeError: if another thread is at work on this batch.
        """
        chosen = self._chosen(games)
        self._begin()
        try:
            if seed is not None:
                seed = as_count("seed", seed, least=0)
                generators = self._device.to_host(self._rng)
                generators[chosen] = seed_generators(self.num_games, seed)[chosen]
                self._device.assign(self._rng, generators)
            self._device.reset(self.rows, chosen, self._start_row, self._results)
            self._show(chosen)
        finally:
            self._at_work.release()

    def set_rows(self, rows: Any, games: Games | None = None, *, check: bool = True) -> None:
        """Set every game, or some, to a state of its own.

        A finished state sets ``terminated`` or ``truncated`` and ``final_rows`` as a step that led
        to it would: with ``"SameStep"`` its game is reset at once, with
        ``"NextStep"`` by the next step. Nothing is paid.

        Args:
            rows: [B, 432] integers, or [N, 432] for N games: states of this batch's ruleset, with
                any limits.
            games: [N] the numbers of the games that get the rows, in this order, or [B] bool, whose
                games get them in the order of their numbers; None for all.
            check: whether to look at them first. Pass False only for rows that are known to be such
                states, int16 and as many as the games: others damage their games silently.

        Raises:
            RowError: if one is not; it names the row and the entry. No game has been changed then.
            ThudError: if ``games`` is not as above.
            RuntimeError: if another thread is at work on this batch.
        """
        chosen = self._chosen(games)
        if check:
            rows = as_rows(self._device.to_host(rows))
            if len(rows) != len(chosen):
                raise RowError(f"{len(rows)} rows for {len(chosen)} games: one each is right")
            rows = check_rows(rows, self.rules)
        self._begin()
        try:
            self._device.set_rows(self.rows, chosen, rows)
            self._device.write_ends(
                self.rows, chosen, self._start_row, self._modes.resets_at_once, self._results
            )
            self._show(chosen)
        finally:
            self._at_work.release()

    def step(self, actions: Any, games: Games | None = None, *, check: bool = True) -> None:
        """Play one decision in every game, or in some, and write all arrays anew.

        Args:
            actions: [B] legal actions, of any integer type.
            games: [N] the numbers of the games to play or [B] bool; None for all. The others'
                actions are ignored, and their entries in the arrays stay.
            check: whether to look for illegal actions first. Pass False only for actions that were
                drawn from the masks: an illegal one then damages its game silently, and one that is
                no action may end the process. On a GPU the host does not wait for the step then.

        Raises:
            IllegalMove: if an action is not legal; no game has been changed then.
            ThudError: if ``actions`` is not [B] integers, or ``games`` not as above.
            RuntimeError: if another thread is at work on this batch.
        """
        self._begin()
        try:
            taken = self._device.take_actions(actions)
            illegal = self._device.step(
                self.rows,
                self._chosen(games),
                taken,
                self._start_row,
                self._modes,
                self._results,
                self._view,
                check,
            )
            if illegal >= 0:
                self._raise_illegal(illegal, int(self._device.to_host(taken)[illegal]))
            if self._has_more_to_do:
                self._after_showing()
        finally:
            self._at_work.release()

    def sample_actions(self) -> NDArray[np.int64]:
        """[B] int64 actions drawn uniformly from the legal ones, 0 for battles that are over, in an
        array that is reused.

        Raises:
            RuntimeError: if another thread is at work on this batch.
        """
        self._begin()
        try:
            self._device.sample(self.rows, self._rng, self._sampled)
        finally:
            self._at_work.release()
        return self._sampled

    def position(self, game: int) -> Position:
        """One game as a ``Position``.

        Raises:
            ThudError: if ``game`` is not an integer in 0 .. B - 1.
        """
        number = read_game(game, self.num_games)
        return Position.unchecked(self._device.to_host(self.rows[number]))

    def final_position(self, game: int) -> Position:
        """The last state of the last battle that ended in a game.

        Raises:
            ThudError: if none has ended there yet, or ``game`` is not an integer in 0 .. B - 1.
        """
        row = self._device.to_host(self.final_rows[read_game(game, self.num_games)])
        if row[TERMINATION] == ONGOING:
            raise ThudError(f"no battle has ended in game {game} yet")
        return Position.unchecked(row)

    def close(self) -> None:
        """End the batch's threads, if it has any. It can be used on: its next work starts new ones.

        Raises:
            RuntimeError: if another thread is at work on this batch.
        """
        self._begin()
        try:
            self._device.close()
        finally:
            self._at_work.release()

    def _begin(self) -> None:
        # A context manager would say it shorter, and take five times as long.
        if not self._at_work.acquire(False):
            raise RuntimeError("two threads use this batch at once: a batch each would be right")

    def _chosen(self, games: Any) -> NDArray[np.int64]:
        """The numbers of the chosen games, [N] int64."""
        if games is None:
            return self._every
        return read_games(self._device.to_host(games), self.num_games)

    def _show(self, games: NDArray[np.int64]) -> None:
        self._device.show(self.rows, games, self._view)
        if self._has_more_to_do:
            self._after_showing()

    def _after_showing(self) -> None:
        if self._arrays.has_masks:
            self._arrays.copy_masks()
        elif self._counted:
            self._counted = False

    def _raise_illegal(self, game: int, action: int) -> Never:
        try:
            self.position(game).apply(action)
        except IllegalMove as error:
            raise IllegalMove(f"game {game}: {error}") from None
        raise AssertionError(f"game {game}: action {action} is legal")
