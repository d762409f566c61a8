"""Seeing battles turned and mirrored: each one in a frame of its own, drawn when it begins.

A network that sees every battle in one of the board's symmetries learns from each what it would
have to learn again for every other. The rows that it decides in, and what it decided, are both
kept in the frame; only what is played is mapped back. ``thud_env/rules/images.py`` maps rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thud_env.actions import ACTION_SYMMETRY
from thud_env.symmetry import INVERSE

_INVERSE = np.array(INVERSE)


def into_frames(frames: NDArray[np.int64], actions: NDArray[np.int32]) -> NDArray[np.int32]:
    """[N] actions as their frames show them."""
    return ACTION_SYMMETRY[frames, actions].astype(np.int32)


def out_of_frames(frames: NDArray[np.int64], actions: NDArray[np.int32]) -> NDArray[np.int32]:
    """[N] actions as they are played, from what was decided in the frames."""
    return into_frames(_INVERSE[frames], actions)
