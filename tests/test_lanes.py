"""Functions on vector registers do the same as their plain Python bodies."""

import numpy as np
import pytest
from numba import njit

from thud_env.board import CELL_OF_SQUARE, CELL_STEP, NUM_CELLS
from thud_env.jit.bits import choose, nth_one
from thud_env.jit.lanes import differing, fetch, neighbours, put_in, spread, take_out

compiled_take_out = njit(lambda array, value: take_out(array, 3, 8, value))
compiled_put_in = njit(lambda array, value: put_in(array, 3, 8, value))
compiled_neighbours = njit(lambda board, cell, piece: neighbours(board, cell, piece))
compiled_spread = njit(lambda word, byte_words, first: spread(word, byte_words, first))
compiled_differing = njit(lambda one, other, start: differing(one, other, start))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def as_list(values: np.ndarray, size: int) -> np.ndarray:
    array = np.full(size + 6, 77, dtype=np.int16)
    array[3 : 3 + size] = -1
    array[3 : 3 + len(values)] = np.sort(values)
    return array


@pytest.mark.parametrize("count", range(1, 9))
def test_lists_stay_sorted(rng: np.random.Generator, count: int) -> None:
    for _ in range(50):
        *others, value = rng.choice(np.arange(1, 300), count, replace=False).tolist()
        for put, take in ((compiled_put_in, compiled_take_out), (put_python, take_python)):
            array = as_list(np.array(others, dtype=np.int16), 8)
            put(array, value)
            assert np.array_equal(array, as_list(np.array([*others, value]), 8))
            take(array, value)
            assert np.array_equal(array, as_list(np.array(others, dtype=np.int16), 8))


def put_python(array: np.ndarray, value: int) -> None:
    put_in(array, 3, 8, value)


def take_python(array: np.ndarray, value: int) -> None:
    take_out(array, 3, 8, value)


def test_neighbours(rng: np.random.Generator) -> None:
    for cell in CELL_OF_SQUARE.tolist():
        board = rng.integers(0, 4, NUM_CELLS).astype(np.int16)
        expected = [int(board[cell + step] == 2) << d for d, step in enumerate(CELL_STEP.tolist())]
        assert compiled_neighbours(board, cell, 2) == sum(expected)
        assert neighbours(board, cell, 2) == sum(expected)


def test_a_word_is_spread(rng: np.random.Generator) -> None:
    for word in (0, -1, 1, -(2**63), *rng.integers(-(2**63), 2**63, 50).tolist()):
        for function in (compiled_spread, spread):
            byte_words = np.full(10, 7, dtype=np.uint64)
            function(word, byte_words, 1)
            bits = np.array([word], dtype=np.int64).view(np.uint8)
            unpacked = np.unpackbits(bits, bitorder="little")
            assert np.array_equal(byte_words[1:9].view(np.uint8), unpacked)
            assert byte_words[0] == byte_words[9] == 7


@pytest.mark.parametrize("dtype", [np.int16, np.int64])
def test_differing(rng: np.random.Generator, dtype: type) -> None:
    for _ in range(50):
        one: np.ndarray = rng.integers(0, 2, 70).astype(dtype)
        other: np.ndarray = rng.integers(0, 2, 70).astype(dtype)
        wanted = sum(int(one[5 + i] != other[5 + i]) << i for i in range(64))
        assert differing(one, other, 5) == wanted
        assert compiled_differing(one, other, 5) & (2**64 - 1) == wanted


def test_nth_one_and_choose() -> None:
    for n, position in enumerate((1, 2, 40, 62)):
        word = sum(1 << bit for bit in (1, 2, 40, 62))
        assert nth_one(word, n) == nth_one.py_func(word, n) == position
    chosen = njit(lambda condition: choose(condition, 3, 4))
    assert [chosen(True), chosen(False), choose(True, 3, 4), choose(False, 3, 4)] == [3, 4, 3, 4]


def test_fetching_changes_nothing(rng: np.random.Generator) -> None:
    array: np.ndarray = rng.integers(0, 100, (3, 432)).astype(np.int16)
    kept = array.copy()
    njit(lambda array: fetch(array))(array[1])
    fetch(array[1])
    assert np.array_equal(array, kept)
