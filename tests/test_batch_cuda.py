"""A batch on a GPU is the batch on the CPU, bit for bit.

Kernels are run by Numba's simulator, thread by thread in plain Python, and compiled to PTX for
a GPU that need not be there. Where there is one (``make gpu``) 10,000 games are compared.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from simulated_games import play, show

from thud_env import BatchedGame, IllegalMove, random_playouts
from thud_env.rulesets import RULESETS

HERE = Path(__file__).parent
HAS_GPU = False
if find_spec("numba_cuda") is not None:
    from numba import cuda

    HAS_GPU = cuda.is_available()


def run(program, *arguments, **environment):
    return subprocess.run(
        [sys.executable, str(HERE / program), *arguments],
        env={**os.environ, "PYTHONPATH": str(HERE.parent), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("rules", RULESETS)
def test_simulated_kernels_play_as_the_cpu_does(rules, tmp_path):
    path = tmp_path / "shown.npz"
    simulator = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = run("simulated_games.py", rules, "3", str(path), **simulator)
    assert done.returncode == 0, done.stderr
    with np.load(path) as simulated:
        expected = play("cpu", rules, 3)
        playouts = random_playouts(1, rules, seed=3, max_turns=8)
        expected |= {"lengths": playouts.lengths, "margins": playouts.margins}
        assert set(simulated) == set(expected)
        for name, array in expected.items():
            assert simulated[name].dtype == array.dtype, name
            np.testing.assert_array_equal(simulated[name], array, err_msg=name)


@pytest.mark.skipif(
    find_spec("numba_cuda") is None or find_spec("nvidia") is None,
    reason="needs numba-cuda and NVIDIA's compiler: make cuda",
)
def test_kernels_compile_for_an_h200():
    done = run("compile_cuda.py")
    assert done.returncode == 0, done.stderr
    networks = (f"agents/networks/{name}_cuda" for name in ("afterstates", "attacks"))
    sources = ("thud_env/batch/cuda_kernels", *networks, "training/selfplay/frames_cuda")
    kernels = sum((HERE.parent / f"{name}.py").read_text().count("@kernel\n") for name in sources)
    assert done.stdout.count("bytes of machine code") == kernels > 0


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_without_a_gpu_one_clear_error():
    with pytest.raises(RuntimeError, match=r"device='cuda' (needs|finds no)"):
        BatchedGame(2, device="cuda")
    with pytest.raises(ValueError, match="'cpu' or 'cuda' would be right"):
        BatchedGame(2, device="tpu")


@pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")
@pytest.mark.parametrize("rules", RULESETS)
def test_ten_thousand_games_are_the_same_on_a_gpu(rules):
    for masks, observations in (("bytes", True), ("bits", False), (None, False)):
        batches = [
            BatchedGame(
                10_000, rules, device=device, seed=4, masks=masks, observations=observations
            )
            for device in ("cpu", "cuda")
        ]
        for step in range(400 if masks == "bits" else 40):
            for games in batches:
                games.step(games.sample_actions())
            if step % 20 == 19:
                on_cpu, on_gpu = (show(games) for games in batches)
                for name, array in on_cpu.items():
                    np.testing.assert_array_equal(on_gpu[name], array, err_msg=name)
    for one, other in zip(
        random_playouts(10_000, rules, seed=2, device="cuda"),
        random_playouts(10_000, rules, seed=2),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")
def test_a_side_stream_of_torch_changes_nothing_and_hides_no_illegal_action():
    torch = pytest.importorskip("torch")
    busy = torch.zeros(4096, 4096, device="cuda")
    on_cpu, on_gpu = (BatchedGame(1_000, device=device, seed=4) for device in ("cpu", "cuda"))
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(20):
            busy @= busy  # what follows on this stream waits for it
            for games in (on_cpu, on_gpu):
                games.step(games.to_host(games.sample_actions()))
        wrong = np.zeros(1_000, np.int64) - 1
        with pytest.raises(IllegalMove, match=r"^game 0: action -1 "):
            on_gpu.step(wrong)
        shown = show(on_gpu)
    for name, array in show(on_cpu).items():
        np.testing.assert_array_equal(shown[name], array, err_msg=name)
