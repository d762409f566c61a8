"""Sums to which many threads of a GPU add at once. On the CPU each array belongs to one thread."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

_ATOMIC_ADD = "llvm.nvvm.atomic.load.add.f32.p0f32"


def add(array: Any, row: int, column: int, amount: float) -> None:
    """Add to an entry of a [N, M] float32 array; on a GPU, atomically."""
    array[row, column] += amount


@intrinsic  # type: ignore[arg-type, unused-ignore]
def _instruction(typing_context, array, row, column, amount):
    if not (isinstance(array, types.Array) and array.ndim == 2 and array.dtype == types.float32):
        return None

    def generate(context, builder, signature, arguments):
        made = context.make_array(array)(context, builder, arguments[0])
        place = [
            context.cast(builder, arguments[1], row, types.intp),
            context.cast(builder, arguments[2], column, types.intp),
        ]
        entry: Any = cgutils.get_item_pointer(context, builder, array, made, place)
        more = context.cast(builder, arguments[3], amount, types.float32)
        if builder.module.triple.startswith("nvptx"):
            taken = ir.FunctionType(ir.FloatType(), [entry.type, ir.FloatType()])
            atomic = cgutils.get_or_insert_function(builder.module, taken, _ATOMIC_ADD)
            builder.call(atomic, [entry, more])
        else:
            builder.store(builder.fadd(builder.load(entry), more), entry)
        return context.get_dummy_value()

    return types.none(array, row, column, amount), generate


@overload(add)
def _(array, row, column, amount):
    def added(array, row, column, amount):
        _instruction(array, row, column, amount)  # type: ignore[call-arg]

    return added
