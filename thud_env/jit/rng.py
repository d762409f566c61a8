"""Random numbers inside compiled code: one SplitMix64 generator a game.

A generator is one uint64 in an array [N], so that every game has a stream of its own that
does not depend on how many threads play or in which order (Steele, Lea & Flood, "Fast
splittable pseudorandom number generators", OOPSLA 2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thud_env.jit.bits import natural, product_of, sum_of
from thud_env.jit.compile import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_HALF = np.uint64(32)


def seed_generators(count: int, seed: int | None) -> NDArray[np.uint64]:
    """Independent generators, [count] uint64. The first ones of a larger count are the same.
    The seed None differs with every call.
    """
    words = np.random.SeedSequence(seed).generate_state(2, dtype=np.uint64)
    with np.errstate(over="ignore"):
        state = words[0] + np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN
        state = (state ^ (state >> _SHIFT_30)) * _MIX_1
        state = (state ^ (state >> _SHIFT_27)) * _MIX_2
        return np.asarray((state ^ (state >> _SHIFT_31)) ^ words[1])


@compiled
def next_random(rng, game):
    """The next 64 random bits of generator ``game``."""
    game = natural(game)
    rng[game] = sum_of(rng[game], _GOLDEN)
    bits = rng[game]
    bits = product_of(bits ^ (bits >> _SHIFT_30), _MIX_1)
    bits = product_of(bits ^ (bits >> _SHIFT_27), _MIX_2)
    return bits ^ (bits >> _SHIFT_31)


@compiled
def random_below(rng, game, bound):
    """An integer in 0 .. bound-1, bound up to 2**31; the bias is below bound / 2**32."""
    return natural(product_of(next_random(rng, game) >> _HALF, np.uint64(bound)) >> _HALF)
