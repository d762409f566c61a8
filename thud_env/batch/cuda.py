"""The same games on an NVIDIA GPU: the rules' own functions, called from CUDA kernels.

Everything stays on the device. Only one integer a step comes back: whether an action was
illegal. Kernels run on torch's current stream if torch is in use, and copies wait for it, so the
two need no synchronisation.

Needs ``numba-cuda`` (``pip install ".[cuda]"`` in the checkout) and a driver.
"""

from __future__ import annotations

import math
import sys
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from numba import config, cuda
from numpy.typing import NDArray

from thud_env.arguments import as_integers, check_integers
from thud_env.batch import cuda_kernels
from thud_env.batch.one_game import Modes, Results, View
from thud_env.errors import ThudError
from thud_env.rules.legal import NUM_WORDS
from thud_env.rules.row import ROW_SIZE
from thud_env.rulesets import MAX_DWARFS

BLOCK = 128
"""Threads a block."""
_FEW_BLOCKS = ".*Grid size .* low occupancy"
"""Numba's warning that a GPU would have room for more games. Small batches are no mistake."""


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
                "device='cuda' needs the package numba-cuda: "
                'pip install ".[cuda]" in the checkout would be right'
            )
        if not cuda.is_available():
            raise RuntimeError("device='cuda' finds no NVIDIA GPU with a driver: use device='cpu'")
        warnings.filterwarnings("ignore", _FEW_BLOCKS)
        self._num_games = num_games
        self._found = cuda.device_array(1, np.int32)
        self._none_found = _to_device(np.full(1, cuda_kernels.NO_GAME))
        self._every = _to_device(np.arange(num_games))

    def __reduce__(self) -> tuple[Any, ...]:
        return CudaDevice, (self._num_games,)

    def close(self) -> None:
        """Nothing: it has no threads."""

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A new device array of zeros."""
        return self.copy(np.zeros(shape, dtype=dtype))

    def copy(self, array: NDArray[Any]) -> Any:
        """A NumPy array's values, on the device."""
        return _to_device(array)

    def to_host(self, array: Any) -> NDArray[Any]:
        """A device array's values, in a NumPy array; what is none as it is."""
        if hasattr(array, "copy_to_host"):
            return _to_host(array)
        if hasattr(array, "__cuda_array_interface__"):
            return _to_host(cuda.as_cuda_array(array))
        return array

    def assign(self, target: Any, source: Any) -> None:
        """Overwrite a whole array by one of the host or the device."""
        _wait_for(current_stream())
        target[:] = source  # on the default stream, which Numba waits for

    def adopt(self, name: str, shape: tuple[int, ...], dtype: Any, given: Any) -> Any:
        """A caller's array to write into; see ``CpuDevice.adopt``."""
        array = cuda.as_cuda_array(given) if hasattr(given, "__cuda_array_interface__") else None
        shape_and_type = None if array is None else (array.shape, array.dtype)
        if array is None or shape_and_type != (shape, dtype) or not array.is_c_contiguous():
            raise ThudError(
                f"buffer {name!r} must be a contiguous CUDA array of shape {shape} "
                f"and dtype {np.dtype(dtype)}"
            )
        return array

    def take_actions(self, given: Any) -> Any:
        """A caller's [B] actions, of the device or the host; see ``CpuDevice.take_actions``."""
        if not hasattr(given, "__cuda_array_interface__"):
            return _to_device(as_integers("actions", given, self._num_games))
        actions = cuda.as_cuda_array(given)
        check_integers("actions", actions, self._num_games)
        return actions

    def start_view(self, view: View) -> None:
        """Nothing: every array is written in whole."""

    def reset(self, rows: Any, games: Any, start_row: Any, results: Results) -> None:
        """Set some games to the start."""
        launch(cuda_kernels.reset, len(games), rows, results, start_row, self._numbers(games))

    def _numbers(self, games: Any) -> Any:
        """The numbers of games, on the device, for a kernel to which their order is the same."""
        return self._every if len(games) == self._num_games else _to_device(games)

    def set_rows(self, rows: Any, games: Any, states: Any) -> None:
        """Set some games to states of their own, of the device or the host."""
        in_order = len(games) == self._num_games and (np.diff(games) > 0).all()
        chosen = self._every if in_order else _to_device(games)
        on_device = hasattr(states, "__cuda_array_interface__")
        given = cuda.as_cuda_array(states) if on_device else _to_device(states)
        launch(cuda_kernels.set_rows, len(games) * ROW_SIZE, rows, chosen, given)

    def write_ends(
        self, rows: Any, games: Any, start_row: Any, resets_at_once: bool, results: Results
    ) -> None:
        """See ``kernels.write_ends``."""
        chosen = self._numbers(games)
        launch(
            cuda_kernels.write_ends, len(games), rows, chosen, start_row, resets_at_once, results
        )

    def _first_illegal(self, rows: Any, games: Any, actions: Any) -> int:
        self._found.copy_to_device(self._none_found, stream=current_stream())
        launch(cuda_kernels.find_illegal, len(games), rows, games, actions, self._found)
        found = int(_to_host(self._found)[0])
        return -1 if found == cuda_kernels.NO_GAME else found

    def step(
        self,
        rows: Any,
        games: NDArray[np.int64],
        actions: Any,
        start_row: Any,
        modes: Modes,
        results: Results,
        view: View,
        check: bool,
    ) -> int:
        """Play one decision in some games, unless one is illegal; see ``CpuDevice.step``."""
        chosen = self._numbers(games)
        illegal = self._first_illegal(rows, chosen, actions) if check else -1
        if illegal < 0:
            launch(cuda_kernels.step, len(games), rows, chosen, actions, start_row, results, modes)
            self.show(rows, games, view)
        return illegal

    def show(self, rows: Any, games: Any, view: View) -> None:
        """Write what the players of every game see: on a GPU, leaving some out saves nothing."""
        show_states(rows, view)

    def count(self, rows: Any, legal_counts: Any) -> None:
        """See ``kernels.count_games``."""
        _mark(rows, cuda.device_array((0, NUM_WORDS + 1), np.uint64), legal_counts)

    def sample(self, rows: Any, rng: Any, actions: Any) -> None:
        """See ``kernels.sample_games``."""
        launch(cuda_kernels.sample, self._num_games, rows, rng, actions)

    def play(self, rows: Any, rng: Any, lengths: Any, margins: Any) -> None:
        """See ``kernels.play_games``."""
        launch(cuda_kernels.play, self._num_games, rows, rng, lengths, margins)


def show_states(rows: Any, view: View) -> None:
    """Write what the players of N states see, [N, 432] int16; ``shown_rows`` is not read."""
    launch(cuda_kernels.look, len(rows), rows, view.to_move)
    if len(view.words) > 0:
        words = view.words.view(np.uint64)
        _mark(rows, words, view.legal_counts)
        launch_blocks(cuda_kernels.spread_bytes, len(view.byte_words), words, view.byte_words)
    launch_blocks(cuda_kernels.encode, len(view.planes), rows, view.planes, view.unit)


def _mark(rows: Any, words: Any, legal_counts: Any) -> None:
    launch_blocks(cuda_kernels.forget_legal, len(rows), words, legal_counts)
    launch(cuda_kernels.mark_legal, len(rows) * MAX_DWARFS, rows, words, legal_counts)


def launch(kernel: Any, threads: int, *arguments: Any) -> None:
    """Run a kernel with so many threads, or some more."""
    launch_blocks(kernel, math.ceil(threads / BLOCK), *arguments)


def launch_blocks(kernel: Any, blocks: int, *arguments: Any) -> None:
    """Run a kernel with ``BLOCK`` threads for each block."""
    if blocks > 0:
        kernel[blocks, BLOCK, current_stream()](*arguments)


def _to_device(array: NDArray[Any]) -> Any:
    copied = cuda.to_device(array)  # given a stream, Numba would keep it as the array's own
    if current_stream():
        cuda.default_stream().synchronize()
    return copied


def _to_host(array: Any) -> NDArray[Any]:
    stream = current_stream()
    copied = array.copy_to_host(stream=stream)
    _wait_for(stream)
    return copied


def _wait_for(stream: Any) -> None:
    """Wait for what has been begun on a stream; all else waits for the default stream by itself."""
    if stream:
        stream.synchronize()


def current_stream() -> Any:
    """Torch's, if torch is in use, or else the default stream."""
    torch = sys.modules.get("torch")
    handle = 0
    if torch is not None and torch.cuda.is_initialized():
        handle = torch.cuda.current_stream().cuda_stream
    return cuda.external_stream(handle) if handle else 0
