"""Mutants: sources in which one expression is wrong. Tests worth having kill them.

Every comparison, sum, constant, condition and statement of the rules, the numbering of actions,
the notation and the advantages is a place for one. Nothing is compiled, so that each takes
seconds; ``battery.py`` tries it.
"""

from __future__ import annotations

import ast
import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest import mock

from reliability import battery
from reliability.row import Fault, Row
from reliability.tree import PLAIN, ROOT, copy_sources

SOURCES = (
    *(f"thud_env/rules/{name}.py" for name in ("legal", "moves", "play", "row", "traits", "turns")),
    *("thud_env/actions.py", "thud_env/notation/positions.py", "thud_env/notation/turns.py"),
    "training/learner/advantage.py",
)
MOST_SURVIVORS = 0.05

_SWAPS: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add},
    **{ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift},
    **{ast.RShift: ast.LShift, ast.In: ast.NotIn, ast.NotIn: ast.In},
}

EXPLAINED = {
    (
        "RULESET_KEY = _FIELDS + 17",
        "_FIELDS + 17 -> _FIELDS + 18",
    ): "cells behind the key are spare",
    (
        "MOVE_BASE: NDArray[np.int16] = np.full((NUM_CELLS, NUM_DIRECTIONS), -1, dtype=np.int16)",
        "-1 -> -2",
    ): "what stands where a ray has no square is not read",
    (
        "MOVE_BASE: NDArray[np.int16] = np.full((NUM_CELLS, NUM_DIRECTIONS), -1, dtype=np.int16)",
        "-1 -> +1",
    ): "what stands where a ray has no square is not read",
    (
        "_ray = [bool(IS_PERIMETER_CELL[_cell + i * _step]) for i in range(1, _length + 1)]",
        "_length + 1 -> _length + 2",
    ): "only a ray without a square gets one too many, and nothing is free there",
    (
        "if action < 0 or action >= NUM_ACTIONS or row[TERMINATION] != ONGOING:",
        "action >= NUM_ACTIONS -> action > NUM_ACTIONS",
    ): "a number beyond the last is no answer to any question, and is refused there",
    (
        "moves |= ((1 << down) - 1) << natural(MOVE_OFFSET[cell, axis + NUM_AXES])",
        "axis + NUM_AXES -> axis - NUM_AXES",
    ): "four from the end of eight is four from the beginning",
    ("MAX_TRAMPLES = 32", "MAX_TRAMPLES = 32 -> MAX_TRAMPLES = 33"): "scratch space may be larger",
    (
        "levels = depth * (MAX_TRAMPLES + 1)",
        "MAX_TRAMPLES + 1 -> MAX_TRAMPLES + 2",
    ): "scratch space may be larger",
    (
        "longest = 0",
        "longest = 0 -> longest = 1",
    ): "it is only asked where a jump is legal",
    (
        "captures = 0",
        "captures = 0 -> captures = 1",
    ): "it is only asked where a capture is legal",
    (
        "return decisions[count - 1]",
        "count - 1 -> count - 2",
    ): "one of the tickets has been drawn by then",
    (
        "return decisions[count - 1]",
        "count - 1 -> count + 1",
    ): "one of the tickets has been drawn by then",
    (
        "scratch = np.empty((MAX_TRAMPLES + 2, ROW_SIZE), dtype=np.int16)",
        "MAX_TRAMPLES + 2 -> MAX_TRAMPLES + 3",
    ): "scratch space may be larger",
    (
        "tried = np.zeros(MAX_TRAMPLES + 1, dtype=np.int64)",
        "MAX_TRAMPLES + 1 -> MAX_TRAMPLES + 2",
    ): "scratch space may be larger",
    (
        "levels = depth * (MAX_TRAMPLES + 1)",
        "MAX_TRAMPLES + 1 -> MAX_TRAMPLES - 1",
    ): "of two turns and more not all capture 32 dwarfs",
    (
        "for more in range(1, captures + 1):",
        "captures + 1 -> captures + 2",
    ): "no set is larger than all: both counts grow alike",
    (
        "last_captured[0] = -1",
        "-1 -> -2",
    ): "no capture has so low a number",
    (
        "last_captured[level] = decision if CAPTURE <= decision < CAPTURE_ALL else -1",
        "-1 -> -2",
    ): "no capture has so low a number",
    (
        "last_captured[level] = decision if CAPTURE <= decision < CAPTURE_ALL else -1",
        "CAPTURE <= decision < CAPTURE_ALL -> CAPTURE < decision < CAPTURE_ALL",
    ): "no capture comes before the first",
    (
        "return CAPTURE <= decision < CAPTURE_ALL and decision < last_captured",
        "decision < last_captured -> decision <= last_captured",
    ): "no dwarf is captured twice",
    (
        "if turn_is_over or not decide(_MOVE_BETWEEN.get(step, -1)):",
        "-1 -> +1",
    ): "what has been played must read as the turn, whatever it was",
    (
        "if turn_is_over or not decide(_MOVE_BETWEEN.get(step, -1)):",
        "-1 -> -2",
    ): "no action has a number below 0",
    (
        "last_captured = path[-1] if path and path[-1] >= CAPTURE else -1",
        "-1 -> +1",
    ): "no capture has so low a number",
    ("captured += 1", "captured += 1 -> captured += 2"): "it is only asked whether there were any",
    ("captured = 1", "captured = 1 -> captured = 2"): "it is only asked whether there were any",
    (
        "moves = decisions[decisions < NUM_MOVES]",
        "decisions < NUM_MOVES -> decisions <= NUM_MOVES",
    ): "between turns no capture is legal",
    ("MAX_ANSWERS = 16", "MAX_ANSWERS = 16 -> MAX_ANSWERS = 17"): "scratch space may be larger",
    (
        "MAX_DECISIONS_AT_ONCE = 2048",
        "MAX_DECISIONS_AT_ONCE = 2048 -> MAX_DECISIONS_AT_ONCE = 2049",
    ): "scratch space may be larger",
    (
        "for _cell, _rays in zip(CELL_OF_SQUARE, RAY_LENGTH, strict=True):",
        "strict=True -> strict=False",
    ): "both have an entry for every square",
    (
        "for _direction, (_step, _length) in enumerate(zip(CELL_STEP, _rays, strict=True)):",
        "strict=True -> strict=False",
    ): "both have an entry for every direction",
    (
        "return (directions << 4 | directions >> 4) & 0xFF",
        "(directions << 4 | directions >> 4) & 255 -> directions << 4 | directions >> 4 | 255",
    ): "what is set too much is looked at in vain: the line behind is counted, too",
    (
        "shoved = neighbours(row, cell, EMPTY) & _where_shove_has_two_trolls(row, cell)",
        "neighbours(row, cell, EMPTY) & _where_shove_has_two_trolls(row, cell)"
        " -> neighbours(row, cell, EMPTY) | _where_shove_has_two_trolls(row, cell)",
    ): "what is set too much is looked at in vain: squares and lines are counted, too",
    (
        "NUM_WORDS = (NUM_ACTIONS + 63) // 64",
        "NUM_ACTIONS + 63 -> NUM_ACTIONS + 64",
    ): "it is the same number",
    (
        "return path if decide(_AGREEMENT_ACTIONS.get(turn, -1)) else None",
        "-1 -> -2",
    ): "no action has a number below 0",
    (
        "for number, (line, columns) in enumerate(zip(lines, _ROW_COLUMNS, strict=True), start=1):",
        "strict=True -> strict=False",
    ): "the lines have been counted",
    (
        "for action, cells in enumerate(zip(MOVE_FROM.tolist(), MOVE_TO.tolist(), strict=True))",
        "strict=True -> strict=False",
    ): "both have an entry for every move",
    (
        "while captures < count and decisions[captures] < CAPTURE_ALL:",
        "captures < count -> captures <= count",
    ): "after the captures comes the decision to take all",
    (
        "tried = np.zeros(MAX_TRAMPLES + 1, dtype=np.int64)",
        "MAX_TRAMPLES + 1 -> MAX_TRAMPLES - 1",
    ): "a walk begins after a jump, and nothing is tried after the last",
    (
        "child = rows[MAX_TRAMPLES + 1]",
        "MAX_TRAMPLES + 1 -> MAX_TRAMPLES - 1",
    ): "a walk copies where it begins, so any row of scratch space would do",
    (
        "square_pairs = np.full((NUM_SQUARES, NUM_SQUARES), -1, dtype=np.int16)",
        "-1 -> -2",
    ): "moves have moves for images, so only their pairs are read",
    (
        "square_pairs = np.full((NUM_SQUARES, NUM_SQUARES), -1, dtype=np.int16)",
        "-1 -> +1",
    ): "moves have moves for images, so only their pairs are read",
    (
        "last_captured[0] = -1",
        "last_captured[0] -> last_captured[1]",
    ): "no turn begins with a capture",
    ("last_captured[0] = -1", "-1 -> +1"): "no capture has so low a number",
    (
        "last_captured[level] = decision if CAPTURE <= decision < CAPTURE_ALL else -1",
        "-1 -> +1",
    ): "no capture has so low a number",
    (
        "last_captured = path[-1] if path and path[-1] >= CAPTURE else -1",
        "path[-1] >= CAPTURE -> path[-1] > CAPTURE",
    ): "no capture comes before the first",
}
"""Mutants that are no mistakes, by line and change, and why nothing comes of them."""


class Mutant(NamedTuple):
    """A source in which one expression is wrong."""

    path: str
    line: int
    before: str
    """The line as it was."""
    change: str
    text: str
    """The whole source."""

    @property
    def is_explained(self) -> bool:
        return (self.before, self.change) in EXPLAINED

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.change}"


def _changes(node: Any) -> Iterator[Callable[[Any], None]]:
    """What may be wrong at one node; each changes a node like it in place."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        yield lambda one: one.ops.__setitem__(0, _SWAPS[type(one.ops[0])]())
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in _SWAPS:
        yield lambda one: setattr(one, "op", _SWAPS[type(one.op)]())
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield lambda one: setattr(one, "value", not one.value)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield lambda one: setattr(one, "value", one.value + 1)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield lambda one: setattr(one, "test", ast.UnaryOp(ast.Not(), one.test))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield lambda one: setattr(one, "op", ast.UAdd())


def _nodes(tree: ast.Module) -> list[ast.AST]:
    """All that is run: not imports and annotations."""
    annotations = {
        part
        for node in ast.walk(tree)
        for name in ("annotation", "returns")
        if (annotation := getattr(node, name, None)) is not None
        for part in ast.walk(annotation)
    }
    return [
        node
        for statement in tree.body
        if not isinstance(statement, ast.Import | ast.ImportFrom)
        for node in ast.walk(statement)
        if node not in annotations
    ]


def _parent(tree: ast.Module, node: ast.AST) -> ast.AST:
    return next(one for one in ast.walk(tree) if node in ast.iter_child_nodes(one))


def places() -> list[tuple[str, int]]:
    """Of every source, the numbers of the nodes that may be wrong."""
    return [
        (path, number)
        for path in SOURCES
        for number, node in enumerate(_nodes(ast.parse((ROOT / path).read_text(encoding="utf-8"))))
        if any(_changes(node))
    ]


def mutant(path: str, number: int) -> Mutant:
    """The source in which this node is wrong."""
    source = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(source)
    node: Any = _nodes(tree)[number]
    shown = _parent(tree, node) if isinstance(node, ast.Constant) else node
    before = ast.unparse(shown)
    next(_changes(node))(node)
    ast.fix_missing_locations(tree)
    change = " -> ".join(text.splitlines()[0] for text in (before, ast.unparse(shown)))
    line = source.splitlines()[node.lineno - 1].strip()
    return Mutant(path, node.lineno, line, change, ast.unparse(tree))


_battery = {"run": battery.survives}


def survives(wrong: Mutant, folder: Path) -> bool:
    """Whether nothing notices it, in a folder that has the sources."""
    path = wrong.path
    (folder / path).write_text(wrong.text, encoding="utf-8")
    # A process has one fork server, and another row's may have compiled the sources as they are.
    context = multiprocessing.get_context("spawn")
    with mock.patch.dict(os.environ, PLAIN):
        process = context.Process(target=_battery["run"], args=(path, folder))
        process.start()
    process.join()
    (folder / path).write_bytes((ROOT / path).read_bytes())
    return process.exitcode == 0


def check(size: int, random: Random, folder: Path) -> int:
    """So many mutants, drawn from all; few survive that are not explained."""
    copy_sources(folder)
    chosen, survivors = random.sample(places(), size), []
    for place in chosen:
        wrong = mutant(*place)
        if not wrong.is_explained and survives(wrong, folder):
            survivors.append(str(wrong))
            print(f"survived  {wrong}", flush=True)
    assert len(survivors) <= max(1, MOST_SURVIVORS * size), survivors
    return size


ROWS = [
    Row(
        "mutants of the rules, actions, notation and advantages",
        "The tests notice what is wrong",
        "mutants",
        check,
        2,
        1_000,
        {
            "nothing is asserted": Fault(
                lambda: mock.patch.dict(_battery, {"run": battery.asserts_nothing}), "survivors"
            ),
        },
        with_fault=4,
        chunk=20,
        proves=SOURCES,
    )
]
