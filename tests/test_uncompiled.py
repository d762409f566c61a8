"""``NUMBA_DISABLE_JIT=1``: the rules run as plain Python, for a debugger to step through."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLAY = """
import hashlib, warnings
warnings.simplefilter("error")
import thud_env
from thud_env.bench import signature

print(signature(games=20))
for rules in thud_env.RULESETS:
    games = thud_env.BatchedGame(3, rules, seed=1)
    digest = hashlib.sha256()
    for _ in range(20):
        games.step(games.sample_actions())
        for shown in (games.rows, games.observations, games.masks, games.legal_counts):
            digest.update(shown.tobytes())
    position = games.position(0)
    print(rules, digest.hexdigest(), position.action_mask().sum(), len(position.turns()))
"""


@pytest.mark.slow
def test_plain_python_plays_as_compiled_code_does() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", PLAY],
            cwd=ROOT,
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("0", "1")
    ]
    assert said[0] == said[1]
    assert len(said[0].splitlines()) == 6
