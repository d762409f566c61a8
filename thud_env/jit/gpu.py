"""GPU kernels that call the rules' functions: ``kernel`` in place of ``numba.cuda.jit``.

Numba puts constant arrays, such as the tables of moves, into a GPU's constant memory, one copy for
each function that reads them. The rules' tables would need up to 165 kB there, of 64 kB. Here they
lie in global memory, once each, and are read through the cache for data that does not change.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, cuda
from numba.core import types
from numpy.typing import NDArray

from thud_env.jit.cache import warn_once
from thud_env.jit.compile import announced, keep_code

_ALIGNMENT = 16
"""Bytes, so that several entries may be read at once."""
_alone = threading.RLock()


def kernel(function: Callable[..., None]) -> Any:
    """``numba.cuda.jit``, with constant arrays in global memory, and a cache on disk as the one of
    ``compile.compiled``.
    """
    if config.ENABLE_CUDASIM:  # type: ignore[attr-defined]
        return cuda.jit(function)
    try:
        dispatcher: Any = cuda.jit(cache=True)(function)
    except RuntimeError as error:  # neither the package's folder nor the home can be written
        warn_once(str(error))
        dispatcher = cuda.jit(function)
    compiler = announced(dispatcher.compile, function.__module__)

    def compile_with_tables(signature: Any) -> Any:
        with tables_in_global_memory():
            return compiler(signature)

    dispatcher.compile = compile_with_tables
    keep_code(dispatcher, function, *_versions())
    return dispatcher


def _versions() -> list[str]:
    """That of numba-cuda, which Numba's own does not tell."""
    return [version("numba-cuda")] if find_spec("numba_cuda") is not None else []


@contextlib.contextmanager
def tables_in_global_memory() -> Iterator[None]:
    """While Numba compiles kernels so."""
    from numba.cuda.target import CUDATargetContext

    with _alone:
        usual = CUDATargetContext.make_constant_array
        CUDATargetContext.make_constant_array = _make_table
        try:
            yield
        finally:
            CUDATargetContext.make_constant_array = usual


def _make_table(context: Any, builder: Any, kind: Any, array: NDArray[Any]) -> Any:
    """A constant array, in place of the method of that name of Numba's ``CUDATargetContext``."""
    from numba.cuda.cudadrv import nvvm

    array = np.ascontiguousarray(array)
    content = array.tobytes()
    name = f"thud_table_{hashlib.sha256(content).hexdigest()[:16]}"
    table = builder.module.globals.get(name)
    if table is None:
        shape = ir.ArrayType(ir.IntType(8), len(content))
        table = ir.GlobalVariable(builder.module, shape, name, nvvm.ADDRSPACE_GLOBAL)
        table.initializer = ir.Constant(shape, bytearray(content))
        table.linkage = "linkonce_odr"  # the same in every function that is linked in
        table.global_constant = True
        table.align = _ALIGNMENT
    pointer = builder.addrspacecast(table, ir.IntType(8).as_pointer(), "generic")
    made = context.make_array(kind)(context, builder)
    context.populate_array(
        made,
        data=builder.bitcast(pointer, made.data.type),
        shape=[context.get_constant(types.intp, size) for size in array.shape],
        strides=[context.get_constant(types.intp, size) for size in array.strides],
        itemsize=made.itemsize,
        parent=made.parent,
        meminfo=None,
    )
    return made._getvalue()
