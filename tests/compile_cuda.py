"""Compile every CUDA kernel to machine code for an H200 (sm_90) where there is no GPU; print a line
for each.

Numba asks the current device for its compute capability when a kernel calls a function that
is compiled for it in turn. Here the answer is patched in; nothing else is. PTX is not enough: that
a kernel has more constants than a GPU has room for shows when it is assembled.
"""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import numpy as np
from cuda.core import Linker, LinkerOptions, ObjectCode
from numba import cuda, typeof, types
from numba.cuda import dispatcher

from agents.networks import afterstates_cuda, attacks_cuda
from thud_env import BatchedGame
from thud_env.batch import cuda_kernels
from thud_env.batch.one_game import Results
from thud_env.jit.cache import CheckedCacheFile
from thud_env.jit.gpu import tables_in_global_memory
from training.selfplay import frames_cuda

H200 = (9, 0)
MODULES = (cuda_kernels, afterstates_cuda, attacks_cuda, frames_cuda)


def signatures() -> dict[str, tuple[object, ...]]:
    """Argument types of every kernel, from arrays like those of a batch."""
    games = BatchedGame(2)
    view, results = games._view, games._results
    rows, actions, rng = games.rows, np.zeros(2, np.int64), np.zeros(2, np.uint64)
    words, chosen = view.words.view(np.uint64), np.zeros(2, np.int64)
    arguments = {
        "find_illegal": (rows, chosen, actions, np.zeros(1, np.int32)),
        "step": (rows, chosen, actions, rows[0], results, games._modes),
        "write_ends": (rows, chosen, rows[0], True, results),
        "set_rows": (rows, chosen, rows),
        "reset": (rows, results, rows[0], chosen),
        "look": (rows, view.to_move),
        "forget_legal": (words, view.legal_counts),
        "mark_legal": (rows, words, view.legal_counts),
        "spread_bytes": (words, view.byte_words),
        "encode": (rows, view.planes, view.unit),
        "sample": (rows, rng, actions),
        "play": (rows, rng, np.zeros(2, np.int32), np.zeros(2, np.int16)),
        "_clear": (view.planes,),
        "_show_pieces": (rows, view.planes),
        "_show_landings": (rows, view.planes),
        "_show_threats": (rows, rows, view.planes),
        "_show_valley_strikes": (rows, view.planes),
        "_show_afterstates": (rows, chosen, chosen, rows, np.zeros((2, 8), np.float32)),
        "_map": (rows, chosen, rows),
    }
    assert isinstance(results, Results)
    return {name: tuple(typeof(value) for value in values) for name, values in arguments.items()}


def main() -> None:
    """Compile every kernel, and print the size of each."""
    device = SimpleNamespace(compute_capability=H200)
    wanted = signatures()
    made = {
        name: value
        for module in MODULES
        for name, value in vars(module).items()
        if is_kernel(value)
    }
    assert set(made) == set(wanted), f"not both here and there: {set(made) ^ set(wanted)}"
    for one in made.values():
        assert isinstance(one._cache._cache_file, CheckedCacheFile), "it should be kept on disk"
    no_gpu = mock.patch.object(dispatcher, "get_current_device", return_value=device)
    with no_gpu, tables_in_global_memory():
        for name, arguments in wanted.items():
            ptx, returned = cuda.compile_ptx(made[name].py_func, arguments, cc=H200)
            assert returned == types.void
            print(f"{name} {len(assembled(ptx))} bytes of machine code")


def assembled(ptx: str) -> bytes:
    """The machine code, which NVIDIA's linker makes of it, as when a kernel is first used."""
    options = LinkerOptions(arch=f"sm_{H200[0]}{H200[1]}")
    code: bytes = Linker(ObjectCode.from_ptx(ptx.encode()), options=options).link("cubin").code
    return code


def is_kernel(value: object) -> bool:
    return isinstance(value, dispatcher.CUDADispatcher) and not value.targetoptions.get("device")


if __name__ == "__main__":
    main()
