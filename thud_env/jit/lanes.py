"""Short stretches of arrays taken into one vector register, for compiled code.

Sorted lists, the squares around a square, masks spread from bits to bytes: a few
instructions each, without a branch. As in ``bits.py``, the plain Python bodies are what the
functions mean, and what runs where nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from thud_env.board import CELL_STEP

_BYTE, _LANE, _INDEX = ir.IntType(8), ir.IntType(16), ir.IntType(32)
_WORD_BITS = 64


def take_out(array: Any, first: int, size: int, value: int) -> None:
    """Take a value out of the ascending list in ``array[first : first + size]``, int16, which is
    filled up with -1. ``size`` is a constant.
    """
    kept = [entry for entry in array[first : first + size] if entry not in (value, -1)]
    array[first : first + size] = kept + [-1] * (size - len(kept))


def put_in(array: Any, first: int, size: int, value: int) -> None:
    """Put a value above 0 into such a list, which has room for it."""
    kept = [entry for entry in array[first : first + size] if entry != -1]
    array[first : first + size] = sorted([*kept, value]) + [-1] * (size - len(kept) - 1)


def neighbours(board: Any, cell: int, piece: int) -> int:
    """Which of the eight neighbours of a cell hold ``piece``: bit d for direction d.

    ::

        bit  7  0  1
             6  .  2
             5  4  3
    """
    return sum(
        int(board[cell + int(step)] == piece) << direction
        for direction, step in enumerate(CELL_STEP)
    )


def spread(word: int, byte_words: Any, first: int) -> None:
    """Write 64 bits as 64 bytes of 0 or 1, the eight uint64 from ``byte_words[first]`` on."""
    for i in range(_WORD_BITS // 8):
        byte_words[first + i] = sum(((int(word) >> (8 * i + j)) & 1) << (8 * j) for j in range(8))


def differing(first_array: Any, second_array: Any, start: int) -> int:
    """Where two arrays differ: bit i is set if they do at ``start + i``, for 64 entries."""
    return sum(
        int(first_array[start + i] != second_array[start + i]) << i for i in range(_WORD_BITS)
    )


def fetch(array: Any) -> None:
    """Prefetch an array's memory."""


def _lane_constants(values: list[int]) -> Any:
    return ir.Constant(ir.VectorType(_LANE, len(values)), values)


def _order(lanes: list[int]) -> Any:
    return ir.Constant(ir.VectorType(_INDEX, len(lanes)), lanes)


def _full(builder: Any, lane: Any, count: int) -> Any:
    """A vector of equal lanes."""
    blank = ir.Constant(ir.VectorType(lane.type, count), ir.Undefined)
    one = builder.insert_element(blank, lane, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(one, blank, _order([0] * count))


def _is_dense(*arrays: types.Array) -> bool:
    """Whether entries that follow each other do so in memory, as a vector's do: what is not is
    refused as it is compiled.
    """
    return all(array.layout == "C" for array in arrays)


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any, kind: Any) -> Any:
    """Where a vector of ``kind`` lies in an array, from an index on."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def _compile_on_list(
    function: Callable[[Any, int, int, int], None],
    change: Callable[[Any, Any, Any], Any],
) -> None:
    """Compile a change of a list: ``change(builder, lanes, values)`` returns the new lanes,
    ``values`` being a vector full of the value.
    """

    @intrinsic(prefer_literal=True)  # type: ignore[arg-type, unused-ignore]
    def instruction(typing_context, array, first, size, value):
        if not isinstance(size, types.IntegerLiteral) or not _is_dense(array):
            return None
        count = size.literal_value

        def generate(context, builder, signature, arguments):
            index = context.cast(builder, arguments[1], first, types.intp)
            number = context.cast(builder, arguments[3], value, types.int16)
            kind = ir.VectorType(_LANE, count)
            where = _address(context, builder, array, arguments[0], index, kind)
            lanes = builder.load(where, align=2)
            changed = change(builder, lanes, _full(builder, number, count))
            builder.store(changed, where, align=2)
            return context.get_dummy_value()

        return types.none(array, first, size, value), generate

    @overload(function, prefer_literal=True)
    def _(array, first, size, value):
        def changed(array, first, size, value):
            instruction(array, first, size, value)  # type: ignore[call-arg]

        return changed


def _close_gap(builder: Any, lanes: Any, values: Any) -> Any:
    """Lanes below the value stay, the others take what follows; -1 is above all, unsigned."""
    count = lanes.type.count
    following = builder.shuffle_vector(
        lanes, _lane_constants([-1] * count), _order(list(range(1, count + 1)))
    )
    return builder.select(builder.icmp_unsigned("<", lanes, values), lanes, following)


def _open_gap(builder: Any, lanes: Any, values: Any) -> Any:
    """Lanes below the value stay, the first other takes it, the others what came before."""
    count = lanes.type.count
    before = builder.shuffle_vector(
        lanes, _lane_constants([0] * count), _order([count, *range(count - 1)])
    )
    moved = builder.select(builder.icmp_unsigned("<", before, values), values, before)
    return builder.select(builder.icmp_unsigned("<", lanes, values), lanes, moved)


_compile_on_list(take_out, _close_gap)
_compile_on_list(put_in, _open_gap)

_LANE_OF_DIRECTION = [1, 2, 4 + 2, 8 + 2, 8 + 1, 8 + 0, 4 + 0, 0]
"""Where direction d's neighbour is among four lanes of the row above the cell, four of its own
row and four of the row below, each from the left neighbour on."""


@intrinsic  # type: ignore[arg-type, unused-ignore]
def _neighbours(typing_context, board, cell, piece):
    """Three loads of four lanes, put into the order of the directions, and one comparison."""
    if not _is_dense(board):
        return None
    quarter = ir.VectorType(_LANE, 4)

    def generate(context, builder, signature, arguments):
        above, beside, below = (
            builder.load(
                _address(
                    context,
                    builder,
                    board,
                    arguments[0],
                    builder.add(arguments[1], ir.Constant(arguments[1].type, int(step))),
                    quarter,
                ),
                align=2,
            )
            for step in CELL_STEP[[7, 6, 5]]
        )
        upper = builder.shuffle_vector(above, beside, _order(list(range(8))))
        lower = builder.shuffle_vector(below, below, _order(list(range(8))))
        around = builder.shuffle_vector(upper, lower, _order(_LANE_OF_DIRECTION))
        equal = builder.icmp_unsigned("==", around, _full(builder, arguments[2], 8))
        return builder.zext(builder.bitcast(equal, _BYTE), ir.IntType(64))

    return types.int64(board, types.int64, types.int16), generate


@overload(neighbours)
def _(board, cell, piece):
    return lambda board, cell, piece: _neighbours(board, cell, piece)  # type: ignore[call-arg]


@intrinsic  # type: ignore[arg-type, unused-ignore]
def _spread(typing_context, word, byte_words, first):
    if not _is_dense(byte_words):
        return None

    def generate(context, builder, signature, arguments):
        bits = builder.bitcast(arguments[0], ir.VectorType(ir.IntType(1), _WORD_BITS))
        kind = ir.VectorType(_BYTE, _WORD_BITS)
        where = _address(context, builder, byte_words, arguments[1], arguments[2], kind)
        builder.store(builder.zext(bits, kind), where, align=8)
        return context.get_dummy_value()

    return types.none(types.int64, byte_words, types.int64), generate


@overload(spread)
def _(word, byte_words, first):
    return lambda word, byte_words, first: _spread(word, byte_words, first)  # type: ignore[call-arg]


@intrinsic  # type: ignore[arg-type, unused-ignore]
def _differing(typing_context, first_array, second_array, start):
    if first_array.dtype != second_array.dtype or not _is_dense(first_array, second_array):
        return None

    def generate(context, builder, signature, arguments):
        entry = context.get_data_type(first_array.dtype)
        kind = ir.VectorType(entry, _WORD_BITS)
        one, other = (
            builder.load(
                _address(context, builder, array_type, array, arguments[2], kind),
                align=first_array.dtype.bitwidth // 8,
            )
            for array_type, array in zip((first_array, second_array), arguments, strict=False)
        )
        return builder.bitcast(builder.icmp_unsigned("!=", one, other), ir.IntType(_WORD_BITS))

    return types.int64(first_array, second_array, types.int64), generate


@overload(differing)
def _(first_array, second_array, start):
    return lambda first_array, second_array, start: _differing(first_array, second_array, start)  # type: ignore[call-arg]


_CACHE_LINE = 64


@intrinsic  # type: ignore[arg-type, unused-ignore]
def _fetch_line(typing_context, array, index):
    """Prefetch the cache line of one entry, to be written, and kept in all caches."""

    def generate(context, builder, signature, arguments):
        where = _address(context, builder, array, arguments[0], arguments[1], _BYTE)
        integer = ir.IntType(32)
        prefetch = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [where.type],
            ir.FunctionType(ir.VoidType(), [where.type, integer, integer, integer]),
        )
        builder.call(prefetch, [where, *(ir.Constant(integer, value) for value in (1, 3, 1))])
        return context.get_dummy_value()

    return types.none(array, types.int64), generate


@overload(fetch)
def _(array):
    stride = _CACHE_LINE // (array.dtype.bitwidth // 8)

    def fetched(array):
        for index in range(0, array.shape[0], stride):
            _fetch_line(array, index)  # type: ignore[call-arg]

    return fetched
