"""Fits the tables of the evaluation by patterns to positions, by ridge regression.

A position is described by the classes of its patterns, its lines, its pieces and their numbers,
some 600 of several thousand. The sum of their values predicts its target, in one fit for each side
to move. Values are held near a prior, so that rare classes count for little beside the pieces.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.search.bitboards import steps_between
from agents.search.lines import line_codes
from agents.search.pattern_files import Classes
from agents.search.patterns import (
    AT_STONE,
    CODE_OF_CELL,
    DIGIT,
    PATTERN_STEP,
    ROW_AND_COLUMN,
    SAME_PLACE,
)
from thud_env.board import CELL_OF_SQUARE, IS_GOAL_CELL, NUM_CELLS, SIZE, STRIDE, cell_at
from thud_env.jit.compile import compiled
from thud_env.rules.row import DWARF, STONE, TROLL
from thud_env.rulesets import MAX_DWARFS, MAX_TROLLS, TROLL_VALUE, Ruleset
from training.fit_evaluation.positions import Positions

AT_ONCE = 20_000
"""Positions whose classes are found at a time, to save memory."""
ROUNDS = 60
"""Steps of conjugate gradients: far fewer than there are values, which smooths as well."""


def class_numbers(positions: Positions, classes: Classes) -> NDArray[np.int32]:
    """[N, K] the classes of each position, after ``classes.count + 1``, the constant. Rows are
    padded with ``classes.count``, whose value is 0.
    """
    count = len(positions.boards)
    cuts = [slice(first, first + AT_ONCE) for first in range(0, count, AT_ONCE)]
    boards, stones = positions.boards.astype(np.int64), positions.stones.astype(np.int64)
    parts = [_class_numbers(boards[cut], stones[cut, np.newaxis], classes) for cut in cuts]
    numbers = np.full((count, max(part.shape[1] for part in parts)), classes.count, dtype=np.int32)
    for cut, part in zip(cuts, parts, strict=True):
        numbers[cut, : part.shape[1]] = part
    return numbers


def _class_numbers(
    boards: NDArray[np.int64], stones: NDArray[np.int64], classes: Classes
) -> NDArray[np.int32]:
    cells = CELL_OF_SQUARE.astype(np.int64)
    count = len(boards)
    whole = np.zeros((count, NUM_CELLS), dtype=np.int64)
    whole[:, cells] = np.where(boards == STONE, 0, boards)
    codes = np.where(boards == STONE, AT_STONE, CODE_OF_CELL[cells])
    for step, digit in zip(PATTERN_STEP, DIGIT, strict=True):
        codes += whole[:, cells + step] * digit
    beside = SAME_PLACE + ROW_AND_COLUMN[cells] - ROW_AND_COLUMN[stones]
    dwarfs = np.minimum((boards == DWARF).sum(axis=1, keepdims=True), MAX_DWARFS)
    trolls = np.minimum((boards == TROLL).sum(axis=1, keepdims=True), MAX_TROLLS)
    found = np.concatenate(
        (
            classes.patterns[codes],
            classes.lines[line_codes(boards)],
            classes.pieces[boards, cells],
            classes.beside_stone[boards, beside],
            classes.counts[dwarfs, trolls],
        ),
        axis=1,
    )
    found[found < 0] = classes.count
    found.sort(axis=1)
    most = int((found < classes.count).sum(axis=1).max())
    constant = np.full((count, 1), classes.count + 1)
    return np.concatenate((constant, found[:, :most]), axis=1).astype(np.int32)


def prior_values(ruleset: Ruleset, classes: Classes) -> NDArray[np.float64]:
    """[count + 2] the values of the classes before any fit, in points: the margin or, where the
    stone moves, a guess from its way to the goal and the pieces near it and near the goal.
    """
    values = np.zeros(classes.count + 2)
    if not ruleset.stone_moves:
        for piece, points in ((DWARF, 1.0), (TROLL, -float(TROLL_VALUE))):
            known = classes.pieces[piece]
            values[known[known >= 0]] = points
        return values
    goals = np.flatnonzero(IS_GOAL_CELL).tolist()
    for cell in CELL_OF_SQUARE.tolist():
        values[classes.pieces[STONE, cell]] = -0.5 * (cell // STRIDE)
        if min(steps_between(cell, goal) for goal in goals) <= 1:
            values[classes.pieces[DWARF, cell]] = 0.4
    middle = cell_at(SIZE // 2, SIZE // 2)
    for cell in CELL_OF_SQUARE.tolist():
        place = SAME_PLACE + ROW_AND_COLUMN[cell] - ROW_AND_COLUMN[middle]
        steps = steps_between(cell, middle)
        values[classes.beside_stone[DWARF, place]] = {1: 0.3, 2: 0.1}.get(steps, 0.0)
        values[classes.beside_stone[TROLL, place]] = {1: -0.8, 2: -0.3}.get(steps, 0.04 * steps)
    return values


@compiled
def _predict(numbers, values, out):
    """Sum the values of each position's classes."""
    for i in range(numbers.shape[0]):
        total = 0.0
        for k in range(numbers.shape[1]):
            total += values[numbers[i, k]]
        out[i] = total


@compiled
def _collect(numbers, errors, out):
    """Sum, for each class, the errors of the positions that it is in."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(numbers.shape[0]):
        for k in range(numbers.shape[1]):
            out[numbers[i, k]] += errors[i]


def predict(numbers: NDArray[np.int32], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """[N] the predictions for positions, by the values of their classes."""
    out = np.empty(len(numbers))
    _predict(numbers, values, out)
    return out


def fit(
    numbers: NDArray[np.int32],
    worth: NDArray[np.float64],
    prior: NDArray[np.float64],
    ridge: float,
) -> NDArray[np.float64]:
    """The values, [count + 2], that predict ``worth`` best, by conjugate gradients on the normal
    equations (Hestenes and Stiefel, "Methods of conjugate gradients", 1952), each value scaled by
    how often its class is seen.

    Args:
        numbers: [N, K] the classes of each position: ``class_numbers``.
        worth: [N] the targets.
        prior: [count + 2] the values to stay near.
        ridge: how firmly: as if so many more positions of each class had the prior's value.
    """
    nothing = len(prior) - 2
    predicted = np.empty(len(worth))
    gathered = np.empty(len(prior))

    def times_normal_matrix(values: NDArray[np.float64]) -> NDArray[np.float64]:
        _predict(numbers, values, predicted)
        _collect(numbers, predicted, gathered)
        return gathered + ridge * values

    seen = np.bincount(numbers.ravel(), minlength=len(prior)) + ridge
    values = prior.copy()
    _collect(numbers, worth - predict(numbers, values), gathered)
    left = gathered.copy()
    left[nothing] = 0
    scaled = left / seen
    step = scaled.copy()
    size = left @ scaled
    for _ in range(ROUNDS):
        if size == 0:  # nothing is left to explain, or there are no positions
            break
        product = times_normal_matrix(step)
        product[nothing] = 0
        length = size / (step @ product)
        values += length * step
        left -= length * product
        scaled = left / seen
        before, size = size, left @ scaled
        step = scaled + size / before * step
    return values
