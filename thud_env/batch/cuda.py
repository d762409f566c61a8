"""The same games on an NVIDIA GPU: the rules' own functions, called from CUDA kernels.

Everything stays on the device. Only one integer a step comes back, which says whether an
action was illegal. Kernels run on torch's current stream if torch is in use, so nothing
needs to be waited for between the two.

====================  ============================  ==========================================
kernel                one thread for                because
====================  ============================  ==========================================
step, draw, play      a game                        a turn is one thing after another
legal decisions       a game and one of 32 pieces   pieces move independently of each other
byte masks            eight bytes of a game         neighbouring threads write neighbours
observations          a value of a game             the same
====================  ============================  ==========================================

Needs ``numba-cuda`` (``pip install "thud-env[cuda]"``) and a driver.
"""

from __future__ import annotations

import math
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
from numba import config, cuda, types
from numpy.typing import NDArray

from thud_env.actions import MOVE_BASE, OFFER
from thud_env.batch.kernels import Results, View, play_game, step_game, tell_game
from thud_env.jit.bits import count_ones, natural
from thud_env.rules.draw import draw_legal
from thud_env.rules.legal import NUM_WORDS, is_legal, legal_actions, may_offer
from thud_env.rules.moves import piece_moves
from thud_env.rules.row import (
    NO_QUESTION,
    ONGOING,
    PENDING,
    TERMINATION,
    TO_MOVE,
    copy_row,
    movable_pieces,
)
from thud_env.rulesets import MAX_DWARFS
from thud_env.views.encoding import NUM_PLANES, NUM_POINTS, value_at
from thud_env.views.masks import NUM_BYTE_WORDS

BLOCK = 128
"""Threads a block."""
MAX_ANSWERS = 16
"""More than any question has answers."""

_EACH_BYTE = np.uint64(0x0101010101010101)
_OWN_BIT = np.uint64(0x8040201008040201)
_FILL = np.uint64(0x7F7F7F7F7F7F7F7F)
_SEVEN, _ONE, _LAST_BIT = np.uint64(7), np.uint64(1), np.uint64(63)
NO_GAME = np.int32(2**31 - 1)


@cuda.jit
def _find_illegal(rows, games, actions, found):
    index = cuda.grid(1)
    if index < games.shape[0]:
        game = games[index]
        row = rows[game]
        if row[TERMINATION] == ONGOING and not is_legal(row, actions[game]):
            cuda.atomic.min(found, 0, game)


@cuda.jit
def _step(rows, games, actions, start_row, results, modes):
    index = cuda.grid(1)
    if index < games.shape[0]:
        by_outcome, resets_first, resets_at_once = modes
        game = games[index]
        row = rows[game]
        step_game(
            row, actions[game], start_row, results, game, by_outcome, resets_first, resets_at_once
        )


@cuda.jit
def _tell(rows, games, start_row, resets_at_once, results):
    index = cuda.grid(1)
    if index < games.shape[0]:
        game = games[index]
        tell_game(rows[game], start_row, results, game, resets_at_once)


@cuda.jit
def _set(rows, games, states):
    index = cuda.grid(1)
    if index < games.shape[0]:
        copy_row(rows[games[index]], states[index])


@cuda.jit
def _start(rows, results, start_row, games):
    index = cuda.grid(1)
    if index < games.shape[0]:
        game = games[index]
        copy_row(rows[game], start_row)
        results.rewards[game, 0] = 0
        results.rewards[game, 1] = 0
        results.terminated[game] = False
        results.truncated[game] = False


@cuda.jit
def _look(rows, to_move):
    game = cuda.grid(1)
    if game < rows.shape[0]:
        to_move[game] = rows[game, TO_MOVE]


@cuda.jit
def _forget_legal(words, legal_counts):
    """Before ``_mark_legal``. ``words`` are [B, 103] or [0, 103]."""
    index = cuda.grid(1)
    game, word = index // (NUM_WORDS + 1), index % (NUM_WORDS + 1)
    if game < legal_counts.shape[0]:
        if word == 0:
            legal_counts[game] = 0
        if game < words.shape[0]:
            words[game, word] = 0


@cuda.jit(device=True)
def _put(words, game, first, moves):
    """Set bits from bit ``first`` on, beside other threads that set other bits."""
    if words.shape[0] == 0 or moves == 0:
        return
    bits = np.uint64(moves)
    word, shift = first >> 6, np.uint64(first & 63)
    cuda.atomic.or_(words, (game, word), bits << shift)
    spilt = (bits >> _ONE) >> (_LAST_BIT - shift)
    if spilt != 0:
        cuda.atomic.or_(words, (game, word + 1), spilt)


@cuda.jit
def _mark_legal(rows, words, legal_counts):
    index = cuda.grid(1)
    game, slot = index // MAX_DWARFS, index % MAX_DWARFS
    if game >= rows.shape[0] or rows[game, TERMINATION] != ONGOING:
        return
    row = rows[game]
    if row[PENDING] != NO_QUESTION:
        if slot == 0:
            answers = cuda.local.array(MAX_ANSWERS, types.int32)
            count = legal_actions(row, answers)
            legal_counts[game] = count
            for i in range(count):
                _put(words, game, answers[i], 1)
        return
    first, pieces = movable_pieces(row)
    if slot < pieces:
        cell = natural(row[first + slot])
        moves = piece_moves(row, cell)
        _put(words, game, natural(MOVE_BASE[cell, 0]), moves)
        cuda.atomic.add(legal_counts, game, count_ones(moves))
    if slot == 0 and may_offer(row):
        _put(words, game, OFFER, 1)
        cuda.atomic.add(legal_counts, game, 1)


@cuda.jit
def _spread_bytes(words, byte_words):
    """Eight bits are copied into each of eight bytes, byte i keeps bit i only, and a carry out of
    its lower seven bits, or its own top bit, becomes the 1.
    """
    index = cuda.grid(1)
    game, part = index // NUM_BYTE_WORDS, index % NUM_BYTE_WORDS
    if game < byte_words.shape[0]:
        eight = (words[game, part >> 3] >> np.uint64(8 * (part & 7))) & np.uint64(0xFF)
        kept = (eight * _EACH_BYTE) & _OWN_BIT
        byte_words[game, part] = ((kept + _FILL) >> _SEVEN) & _EACH_BYTE


@cuda.jit
def _encode(rows, planes, unit):
    index = cuda.grid(1)
    value = index % (NUM_PLANES * NUM_POINTS)
    game = index // (NUM_PLANES * NUM_POINTS)
    if game < planes.shape[0]:
        plane, point = value // NUM_POINTS, value % NUM_POINTS
        planes[game, plane, point] = value_at(rows[game], plane, point, unit)


@cuda.jit
def _sample(rows, rng, actions):
    game = cuda.grid(1)
    if game < rows.shape[0]:
        scratch = cuda.local.array(MAX_ANSWERS, types.int32)
        row = rows[game]
        actions[game] = 0 if row[TERMINATION] != ONGOING else draw_legal(row, rng, game, scratch)


@cuda.jit
def _play(rows, rng, lengths, margins):
    game = cuda.grid(1)
    if game < rows.shape[0]:
        scratch = cuda.local.array(MAX_ANSWERS, types.int32)
        play_game(rows[game], rng, game, lengths, margins, scratch)


class CudaDevice:
    """What ``BatchedGame`` needs of the device that its arrays lie on; see ``CpuDevice``.

    Args:
        num_games: B.

    Raises:
        RuntimeError: if there is no GPU, or no numba-cuda.
    """

    words_per_game = NUM_WORDS + 1
    writes_changes = False

    def __init__(self, num_games: int) -> None:
        if find_spec("numba_cuda") is None and not config.ENABLE_CUDASIM:  # type: ignore[attr-defined]
            raise RuntimeError(
                "device='cuda' needs the package numba-cuda: pip install 'thud-env[cuda]'"
            )
        if not cuda.is_available():
            raise RuntimeError("device='cuda' finds no NVIDIA GPU with a driver: use device='cpu'")
        self._num_games = num_games
        self._found = cuda.device_array(1, np.int32)
        self._every = cuda.to_device(np.arange(num_games))

    def _launch(self, kernel: Any, threads: int, *arguments: Any) -> None:
        if threads > 0:
            kernel[math.ceil(threads / BLOCK), BLOCK, current_stream()](*arguments)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A new device array of zeros."""
        return self.copy(np.zeros(shape, dtype=dtype))

    def copy(self, array: NDArray[Any]) -> Any:
        """A NumPy array's values, on the device."""
        return cuda.to_device(array)

    def to_host(self, array: Any) -> NDArray[Any]:
        """A device array's values, in a NumPy array."""
        if hasattr(array, "copy_to_host"):
            return array.copy_to_host()
        if hasattr(array, "__cuda_array_interface__"):
            return cuda.as_cuda_array(array).copy_to_host()
        return np.asarray(array)

    def assign(self, target: Any, source: Any) -> None:
        """Overwrite a whole array by one of the host or the device."""
        target[...] = source

    def adopt(self, name: str, shape: tuple[int, ...], dtype: Any, given: Any) -> Any:
        """A caller's array to write into; see ``CpuDevice.adopt``."""
        array = cuda.as_cuda_array(given) if hasattr(given, "__cuda_array_interface__") else None
        shape_and_type = None if array is None else (array.shape, array.dtype)
        if array is None or shape_and_type != (shape, dtype) or not array.is_c_contiguous():
            raise ValueError(
                f"buffer {name!r} must be a contiguous CUDA array of shape {shape} "
                f"and dtype {np.dtype(dtype)}"
            )
        return array

    def take_actions(self, given: Any) -> Any:
        """A caller's [B] actions, of the device or the host; see ``CpuDevice.take_actions``."""
        on_device = hasattr(given, "__cuda_array_interface__")
        actions = cuda.as_cuda_array(given) if on_device else np.asarray(given)
        if actions.shape != (self._num_games,) or np.dtype(actions.dtype).kind not in "iu":
            raise ValueError(
                f"actions are {actions.dtype} of shape {actions.shape}: "
                f"integers of shape ({self._num_games},) would be right"
            )
        return actions if on_device else cuda.to_device(actions)

    def start_view(self, view: View) -> None:
        """Nothing: every array is written in whole."""

    def reset(self, rows: Any, results: Results, start_row: Any, games: Any) -> None:
        """Set some games to the start."""
        self._launch(_start, len(games), rows, results, start_row, self._numbers(games))

    def _numbers(self, games: Any) -> Any:
        """The numbers of games, on the device."""
        return self._every if len(games) == self._num_games else cuda.to_device(games)

    def set_rows(self, rows: Any, games: Any, states: Any) -> None:
        """Set some games to states of their own, of the device or the host."""
        if len(games) == self._num_games:
            rows[...] = states
        else:
            on_device = hasattr(states, "__cuda_array_interface__")
            given = cuda.as_cuda_array(states) if on_device else cuda.to_device(states)
            self._launch(_set, len(games), rows, self._numbers(games), given)

    def tell(
        self, rows: Any, games: Any, start_row: Any, resets_at_once: bool, results: Results
    ) -> None:
        """See ``kernels.tell_games``."""
        chosen = self._numbers(games)
        self._launch(_tell, len(games), rows, chosen, start_row, resets_at_once, results)

    def _first_illegal(self, rows: Any, games: Any, actions: Any) -> int:
        self._found[:] = NO_GAME
        self._launch(_find_illegal, len(games), rows, games, actions, self._found)
        found = int(self._found.copy_to_host()[0])
        return -1 if found == NO_GAME else found

    def step(
        self,
        rows: Any,
        games: NDArray[np.int64],
        actions: Any,
        start_row: Any,
        modes: Any,
        results: Results,
        view: View,
        check: bool,
    ) -> int:
        """Play one decision in some games, unless one is illegal; see ``CpuDevice.step``."""
        chosen = self._numbers(games)
        illegal = self._first_illegal(rows, chosen, actions) if check else -1
        if illegal < 0:
            self._launch(_step, len(games), rows, chosen, actions, start_row, results, modes)
            self.show(rows, games, view)
        return illegal

    def show(self, rows: Any, games: Any, view: View) -> None:
        """Write what the players of every game see: on a GPU, leaving some out saves nothing."""
        self._launch(_look, self._num_games, rows, view.to_move)
        if len(view.words) > 0:
            words = view.words.view(np.uint64)
            self._mark(rows, words, view.legal_counts)
            num_parts = len(view.byte_words) * NUM_BYTE_WORDS
            self._launch(_spread_bytes, num_parts, words, view.byte_words)
        num_values = len(view.planes) * NUM_PLANES * NUM_POINTS
        self._launch(_encode, num_values, rows, view.planes, view.unit)

    def count(self, rows: Any, legal_counts: Any) -> None:
        """See ``kernels.count_games``."""
        self._mark(rows, cuda.device_array((0, NUM_WORDS + 1), np.uint64), legal_counts)

    def _mark(self, rows: Any, words: Any, legal_counts: Any) -> None:
        num_words = self._num_games * (NUM_WORDS + 1)
        self._launch(_forget_legal, num_words, words, legal_counts)
        self._launch(_mark_legal, self._num_games * MAX_DWARFS, rows, words, legal_counts)

    def sample(self, rows: Any, rng: Any, actions: Any) -> None:
        """See ``kernels.sample_games``."""
        self._launch(_sample, self._num_games, rows, rng, actions)

    def play(self, rows: Any, rng: Any, lengths: Any, margins: Any) -> None:
        """See ``kernels.play_games``."""
        self._launch(_play, self._num_games, rows, rng, lengths, margins)


def current_stream() -> Any:
    """Torch's, if torch is in use, or else the default stream."""
    torch = sys.modules.get("torch")
    handle = 0
    if torch is not None and torch.cuda.is_available():
        handle = torch.cuda.current_stream().cuda_stream
    return cuda.external_stream(handle) if handle else 0
