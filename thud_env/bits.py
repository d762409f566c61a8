"""Bit counting inside compiled code, one machine instruction each.

The plain Python bodies are what the functions mean, and what runs where nothing is
compiled; compiled code gets LLVM's intrinsics, on the CPU and on a GPU alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

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


def _compile_as(function: Callable[[int], int], emit: Callable[[Any, Any], Any]) -> None:
    @intrinsic  # type: ignore[arg-type, unused-ignore]
    def instruction(typing_context, word):
        def generate(context, builder, signature, arguments):
            return emit(builder, arguments[0])

        return types.int64(types.int64), generate

    @overload(function)
    def _(word):
        return lambda word: instruction(word)  # type: ignore[call-arg]


_DEFINED_AT_ZERO = ir.Constant(ir.IntType(1), 0)
_compile_as(trailing_zeros, lambda builder, word: builder.cttz(word, _DEFINED_AT_ZERO))
_compile_as(leading_zeros, lambda builder, word: builder.ctlz(word, _DEFINED_AT_ZERO))
_compile_as(count_ones, lambda builder, word: builder.ctpop(word))
