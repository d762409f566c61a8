"""Bit counting and the like inside compiled code, one machine instruction each.

The plain Python bodies are what the functions mean, and what runs where nothing is
compiled; compiled code gets LLVM's intrinsics, on the CPU and on a GPU alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsInt

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from thud_env.jit.compile import inlined

_WORD = 64


def trailing_zeros(word: int) -> int:
    """Zeros below the lowest set bit of a 64-bit word; 64 if no bit is set."""
    word = int(word) & (2**_WORD - 1)
    return (word & -word).bit_length() - 1 if word else _WORD


def leading_zeros(word: int) -> int:
    """Zeros above the highest set bit of a 64-bit word; 64 if no bit is set."""
    return _WORD - (int(word) & (2**_WORD - 1)).bit_length()


def count_ones(word: int) -> int:
    """Set bits of a 64-bit word."""
    return (int(word) & (2**_WORD - 1)).bit_count()


def natural(number: SupportsInt) -> int:
    """Return the number, which the caller knows is not negative: an index made of it cannot
    count from an array's end, and compiled code need not test for it.
    """
    return int(number)


def signed(word: int) -> int:
    """The low 64 bits of a number as a signed word, which is how arrays of words keep them."""
    word = int(word) & (2**_WORD - 1)
    return word - 2**_WORD if word >> (_WORD - 1) else word


def sum_of(first: np.uint64, second: np.uint64) -> np.uint64:
    """The sum of two unsigned words, modulo 2**64."""
    return np.uint64((int(first) + int(second)) % 2**_WORD)


def product_of(first: np.uint64, second: np.uint64) -> np.uint64:
    """The product of two unsigned words, modulo 2**64."""
    return np.uint64((int(first) * int(second)) % 2**_WORD)


def choose(condition: bool, if_true: int, if_false: int) -> int:
    """Choose one of two computed numbers without a branch, where it would be unpredictable."""
    return if_true if condition else if_false


def _compile_as(function: Callable[[int], int], emit: Callable[[Any, Any], Any]) -> None:
    @intrinsic  # type: ignore[arg-type, unused-ignore]
    def instruction(typing_context, word):
        def generate(context, builder, signature, arguments):
            return emit(builder, arguments[0])

        return types.int64(types.int64), generate

    @overload(function, inline="always")
    def _(word):
        return lambda word: instruction(word)  # type: ignore[call-arg]


_DEFINED_AT_ZERO = ir.Constant(ir.IntType(1), 0)
_compile_as(trailing_zeros, lambda builder, word: builder.cttz(word, _DEFINED_AT_ZERO))
_compile_as(leading_zeros, lambda builder, word: builder.ctlz(word, _DEFINED_AT_ZERO))
_compile_as(count_ones, lambda builder, word: builder.ctpop(word))


def _promise_natural(builder: Any, number: Any) -> Any:
    builder.assume(builder.icmp_signed(">=", number, ir.Constant(number.type, 0)))
    return number


_compile_as(natural, _promise_natural)
_compile_as(signed, lambda builder, word: word)


def _compile_pair_as(function: Callable[..., Any], emit: Callable[[Any, Any, Any], Any]) -> None:
    @intrinsic  # type: ignore[arg-type, unused-ignore]
    def instruction(typing_context, first, second):
        def generate(context, builder, signature, arguments):
            return emit(builder, *arguments)

        return types.uint64(types.uint64, types.uint64), generate

    @overload(function, inline="always")
    def _(first, second):
        def paired(first, second):
            return instruction(first, second)  # type: ignore[call-arg]

        return paired


_compile_pair_as(sum_of, lambda builder, first, second: builder.add(first, second))
_compile_pair_as(product_of, lambda builder, first, second: builder.mul(first, second))


@intrinsic  # type: ignore[arg-type, unused-ignore]
def _select(typing_context, condition, if_true, if_false):
    def generate(context, builder, signature, arguments):
        return builder.select(*arguments)

    return types.int64(types.boolean, types.int64, types.int64), generate


@overload(choose, inline="always")
def _(condition, if_true, if_false):
    def chosen(condition, if_true, if_false):
        return _select(condition, if_true, if_false)  # type: ignore[call-arg]

    return chosen


@inlined
def nth_one(word, n):
    """Where the set bit of a word is that has ``n`` set bits below it."""
    for _ in range(n):
        word &= word - 1
    return trailing_zeros(word)
