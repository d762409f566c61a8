"""Run every measurement on a GPU, in one call of at most ten minutes.

::

    python tests/benchmarks/gpu.py --out build/gpu
    python tests/benchmarks/gpu.py --out build/gpu --dry-run     # small, on the CPU

1. whether it plays as the CPU does: tests/test_batch_cuda.py, tests/test_device_play.py;
2. decisions a second by number of games and by the arrays shown, each beside the rate at which the
   card's memory could move the bytes of a decision;
3. the shares of a training step (``training.bench`` on configs/gpu.yaml), for several networks;
4. what ``torch.compile`` and CUDA graphs would give the network of configs/gpu.yaml
   (``compiled.py``);
5. training: a part of configs/gpu.yaml in ``runs/gpu``, which the next call resumes.

Each part is a process of its own with a time limit. Its output is kept in OUT/PART.log, the rates
in OUT/rates.json; a part that fails or runs out of time does not stop the next.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from thud_env import BatchedGame, random_playouts
from thud_env.command import Command
from thud_env.rules.row import ROW_SIZE
from thud_env.views.encoding import NUM_PLANES, NUM_POINTS
from thud_env.views.masks import NUM_BIT_BYTES

ROOT = Path(__file__).parents[2]
FORMS: dict[str, tuple[Any, Any]] = {
    "rows": (False, None),
    "rows, bit masks": (False, "bits"),
    "uint8 planes, bit masks": ("uint8", "bits"),
    "float planes, bit masks": (True, "bits"),
}
SIZES = (4096, 16_384, 65_536, 262_144, 1_048_576)
STAGES = 700
"""Decisions that games are played before they are measured."""
NETWORKS = ((64, 6), (96, 8), (128, 12))
"""Channels and blocks."""


def bytes_moved(observations: Any, masks: Any) -> int:
    """The least bytes of a decision: the row is read and written, the arrays shown are written."""
    planes = NUM_PLANES * NUM_POINTS * {False: 0, "uint8": 1, True: 4}[observations]
    return 2 * 2 * ROW_SIZE + (NUM_BIT_BYTES if masks else 0) + planes


def bandwidth_of(device: str) -> float:
    """Bytes a second that copying the rows of many games reads and writes; the median of five."""
    size = 2**20 if device == "cuda" else 2**12
    source, target = (
        BatchedGame(size, "classic", device, observations=False, masks=None)  # type: ignore[call-overload]
        for _ in range(2)
    )
    rates = []
    for _ in range(6):
        started = time.perf_counter()
        for _ in range(10):
            if device == "cuda":
                target.rows.copy_to_device(source.rows)  # type: ignore[attr-defined]
            else:
                np.copyto(target.rows, source.rows)
        target.to_host(target.rows[:1])  # waits for the GPU
        rates.append(10 * 2 * 2 * ROW_SIZE * size / (time.perf_counter() - started))
    return median(rates[1:])


def mixed_rows(device: str, size: int) -> Any:
    """Games at all stages, as a batch that has been played for long has them."""
    games = BatchedGame(size, "classic", device, observations=False, masks=None)  # type: ignore[call-overload]
    for _ in range(STAGES if device == "cuda" else 20):
        games.step(games.sample_actions(), check=False)
    return games.rows


def rate_of(device: str, rows: Any, observations: Any, masks: Any) -> float:
    """Decisions a second: sampling and stepping; the median of five runs."""
    size = len(rows)
    games = BatchedGame(size, "classic", device, observations=observations, masks=masks)  # type: ignore[call-overload]
    games.set_rows(rows, check=False)
    steps = max(10, 2**23 // size) if device == "cuda" else 4
    rates = []
    for _ in range(6):
        started = time.perf_counter()
        for _ in range(steps):
            games.step(games.sample_actions(), check=False)
        games.to_host(games.rows[:1])  # waits for the GPU
        rates.append(steps * size / (time.perf_counter() - started))
    return median(rates[1:])  # the first compiles


def playouts_of(device: str, size: int) -> float:
    """Decisions a second of whole random battles."""
    rates = []
    for seed in range(3):
        started = time.perf_counter()
        played = random_playouts(size, "classic", seed, device=device)  # type: ignore[arg-type]
        rates.append(int(played.lengths.sum()) / (time.perf_counter() - started))
    return median(rates[1:])


def measure_rates(arguments: argparse.Namespace) -> None:
    """Part 2, in this process."""
    device, sizes = ("cpu", (256,)) if arguments.dry_run else ("cuda", SIZES)
    bandwidth = bandwidth_of(device)
    print(f"a copy moves {bandwidth / 1e9:,.0f} GB/s", flush=True)
    found = []
    for size in sizes:
        rows = mixed_rows(device, size)
        for form, (observations, masks) in FORMS.items():
            rate = rate_of(device, rows, observations, masks)
            floor = bandwidth / bytes_moved(observations, masks)
            found.append({"games": size, "shows": form, "decisions_per_second": round(rate)})
            print(
                f"{size:>9,} games, {form:24} {rate:14,.0f}/s  memory allows {floor:16,.0f}/s",
                flush=True,
            )
            _keep(arguments.out / "rates.json", found)
    for size in sizes:
        rate = playouts_of(device, size)
        found.append({"games": size, "shows": "playouts", "decisions_per_second": round(rate)})
        print(f"{size:>9,} games, {'playouts':24} {rate:14,.0f}/s", flush=True)
        _keep(arguments.out / "rates.json", found)


def _keep(path: Path, found: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def run_all(arguments: argparse.Namespace) -> int:
    """All parts; returns 1 if one has failed."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.rates:
        measure_rates(arguments)
        return 0
    python = [sys.executable, "-u"]
    small = [
        "device=cpu",
        "num_games=64",
        "rollout_decisions=2",
        "network.channels=4",
        "network.blocks=1",
        "ppo.minibatch_size=32",
        "anchor_games=2",
    ]
    more = small if arguments.dry_run else []
    dry = ["--dry-run"] if arguments.dry_run else []
    tests = ["tests/test_batch_cuda.py", "tests/test_device_play.py", "-k", "not simulat"]
    parts: dict[str, tuple[float, list[str]]] = {
        "same": (1.5, [*python, "-m", "pytest", "-q", *tests]),
        "rates": (1.5, [*python, __file__, "--rates", f"--out={arguments.out}", *dry]),
    }
    for channels, blocks in NETWORKS:
        size = (
            []
            if arguments.dry_run
            else [f"network.channels={channels}", f"network.blocks={blocks}"]
        )
        bench = [*python, "-m", "training.bench", "configs/gpu.yaml", "--updates=2", *size, *more]
        parts[f"bench-{channels}x{blocks}"] = (0.9, bench)
    sizes = (4, 1, 4, 16, 16) if arguments.dry_run else (96, 8, 32, 2048, 8192)
    names = ("channels", "blocks", "key-size", "states", "minibatch")
    options = [f"--{name}={size}" for name, size in zip(names, sizes, strict=True)]
    compiled = [*python, str(Path(__file__).with_name("compiled.py")), *options]
    device = "cpu" if arguments.dry_run else "cuda"
    parts["compiled"] = (1.2, [*compiled, f"--device={device}"])
    train = [*python, "-m", "training.train", "configs/gpu.yaml", "--resume"]
    minutes = 0.1 if arguments.dry_run else 1.4
    parts["train"] = (minutes + 0.7, [*train, f"--minutes={minutes}", *more])
    failed = []
    for name, (limit, command) in parts.items():
        started = time.monotonic()
        code = _run_part(arguments.out / f"{name}.log", command, 60 * limit)
        print(
            f"{name:14} {'ok' if code == 0 else f'exit code {code}'}, "
            f"{time.monotonic() - started:.0f} s",
            flush=True,
        )
        failed += [name] if code else []
    return 1 if failed else 0


def _run_part(log: Path, command: list[str], seconds: float) -> int:
    with log.open("w", encoding="utf-8") as out:
        print(" ".join(command), file=out, flush=True)
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 124
    return done.returncode


def main() -> int:
    """Read the command line, and measure."""
    command = Command("gpu", __doc__)
    add = command.add_argument
    add("--out", type=Path, required=True, help="a folder for what is found")
    add("--dry-run", action="store_true", help="the same on the CPU, with next to nothing to do")
    add("--rates", action="store_true", help="part 2 alone, in this process")
    return command.run(run_all)


if __name__ == "__main__":
    sys.exit(main())
