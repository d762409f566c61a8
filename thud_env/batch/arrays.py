"""The arrays that a batch of games is written into, and how the kernels see them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import NUM_ACTIONS
from thud_env.arguments import nearest
from thud_env.batch.cpu import CpuDevice
from thud_env.batch.one_game import Results, View
from thud_env.errors import ThudError
from thud_env.rules.row import ROW_SIZE
from thud_env.views.encoding import BYTE_UNIT, NUM_PLANES, NUM_POINTS, OBSERVATION_SHAPE
from thud_env.views.masks import NUM_BIT_BYTES, NUM_BYTE_WORDS, bits_view, bytes_view

if TYPE_CHECKING:
    from thud_env.batch.cuda import CudaDevice

Masks = Literal["bytes", "bits"]


class Arrays:
    """The arrays of B games, as ``BatchedGame`` tables them, all on one device and none ever
    reallocated. What is not wanted has no entries.

    Args:
        device: where they lie.
        num_games: B.
        unit: the value of 1 in observations: 255 makes them uint8; 0: they are not wanted.
        masks: the kind of masks; None: they are not wanted.
        given: the caller's arrays, by name, to be written in place of new ones.

    Raises:
        ThudError: if one of the caller's is not what a batch writes.
    """

    def __init__(
        self,
        device: CpuDevice | CudaDevice,
        num_games: int,
        unit: float,
        masks: Masks | None,
        given: dict[str, Any],
    ) -> None:
        self._device = device
        self._unit = unit
        self._as_bytes = masks == "bytes"
        self.has_masks = masks is not None
        kind = np.uint8 if unit == BYTE_UNIT else np.float32
        left, written = dict(given), []

        def array(name: str, shape: tuple[int, ...], dtype: Any) -> Any:
            written.append(name)
            if name in left:
                return device.adopt(name, (num_games, *shape), dtype, left.pop(name))
            return device.zeros((num_games, *shape), dtype)

        self.rows: NDArray[np.int16] = array("rows", (ROW_SIZE,), np.int16)
        self.final_rows: NDArray[np.int16] = array("final_rows", (ROW_SIZE,), np.int16)
        self.legal_counts: NDArray[np.int32] = (  # without masks they are made when asked for
            array("legal_counts", (), np.int32)
            if self.has_masks
            else device.zeros((num_games,), np.int32)
        )
        self.to_move: NDArray[np.int8] = array("to_move", (), np.int8)
        self.rewards: NDArray[np.float32] = array("rewards", (2,), np.float32)
        self.terminated: NDArray[np.bool_] = array("terminated", (), np.bool_)
        self.truncated: NDArray[np.bool_] = array("truncated", (), np.bool_)
        self.observations: NDArray[Any] = (
            array("observations", OBSERVATION_SHAPE, kind)
            if unit
            else device.zeros((0, *OBSERVATION_SHAPE), kind)
        )
        shown = len(self.observations) if device.writes_changes else 0
        self._shown_rows = device.zeros((shown, ROW_SIZE), np.int16)
        with_words = num_games if self.has_masks else 0
        with_bytes = num_games if self._as_bytes else 0
        self._words = device.zeros((with_words, device.words_per_game), np.int64)
        self._byte_words = device.zeros((with_bytes, NUM_BYTE_WORDS), np.uint64)
        self._given_masks: Any = None
        if self.has_masks and "masks" in left:
            self._given_masks = (
                array("masks", (NUM_ACTIONS,), np.int8)
                if self._as_bytes
                else array("masks", (NUM_BIT_BYTES,), np.uint8)
            )
        if left:
            wrong = next(iter(left))
            hint = nearest(str(wrong), [*written, "masks"] if self.has_masks else written)
            raise ThudError(f"buffers has {wrong!r}: {hint}no array of that name is written")
        self.masks_are_copied = self._given_masks is not None
        self._make_views()

    def _make_views(self) -> None:
        """View the same memory as the kernels write it: see ``masks.py`` and ``encoding.py``."""
        count = len(self.observations)
        self._own_masks: Any = None
        if self.has_masks:
            own = bytes_view(self._byte_words) if self._as_bytes else bits_view(self._words)
            self._own_masks = own
        self.view = View(
            self._shown_rows,
            self.observations.reshape(count, NUM_PLANES, NUM_POINTS),
            self._unit or 1.0,
            self._words,
            self._byte_words,
            self.legal_counts,
            self.to_move,
        )
        self.results = Results(self.rewards, self.terminated, self.truncated, self.final_rows)

    @property
    def masks(self) -> NDArray[Any]:
        """The masks, in the caller's array if there is one."""
        return self._own_masks if self._given_masks is None else self._given_masks

    def copy_masks(self) -> None:
        """Bring the caller's masks up to date."""
        self._device.assign(self._given_masks, self._own_masks)

    def __getstate__(self) -> dict[str, Any]:
        # A view would be copied as an array of its own, and never written again.
        return state_on_host(self, ("_own_masks", "view", "results"))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state_on_device(state))
        self._make_views()


def state_on_host(owner: Any, left_out: Collection[str]) -> dict[str, Any]:
    """An object's attributes as they can be copied: those on its ``_device`` brought to the host.

    Args:
        owner: the object.
        left_out: attributes that are not wanted.
    """
    state = {}
    on_device = []
    for name, value in vars(owner).items():
        if name not in left_out:
            state[name] = owner._device.to_host(value)
            if state[name] is not value:
                on_device.append(name)
    return {**state, "on_device": on_device}


def state_on_device(state: dict[str, Any]) -> dict[str, Any]:
    """The attributes that ``state_on_host`` was given, back where they were."""
    on_device = state.pop("on_device")
    return state | {name: state["_device"].copy(state[name]) for name in on_device}
