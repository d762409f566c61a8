"""Long and many: battles looked at after every decision, training that keeps its memory, HTTP."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import test_web_faults
from page_server import serving

from reliability.reach import standing_on
from reliability.row import THE_GAME, Fault, Row
from reliability.runs import CONFIG, trained
from thud_env import RULESETS, BatchedGame
from thud_env.rules.check import RowError, check_rows
from thud_env.rules.row import QUIET_TURNS
from thud_env.views.results import margins
from training.trainer import Trainer

_GAMES = 128


def check_battles(size: int, random: Random, folder: Path) -> int:
    """After every decision each state is one that play can lead to, what is paid is the change of
    the score, and as many decisions are legal as the mask says.
    """
    ended = 0
    while ended < size:
        rules = random.choice(list(RULESETS))
        games = BatchedGame(
            _GAMES,
            rules,
            seed=random.randrange(2**32),
            reward=None,
            observations=False,
            autoreset_mode="Disabled",
            agreement=random.random() < 0.5,
            max_turns=random.choice((30, 200, 800)),
        )
        over = np.zeros(_GAMES, dtype=bool)
        by_outcome = games.rules.reward == "outcome"
        while not over.all():
            before = margins(games.rows, check=False)
            games.step(games.sample_actions())
            check_rows(games.rows, games.rules)
            over = over | games.terminated | games.truncated
            changed = margins(games.rows, check=False) - before
            if by_outcome:
                changed[games.truncated] = 0
            unit = 1 if by_outcome else 32
            assert np.array_equal(games.rewards[:, 0] * unit, changed)
            assert np.array_equal(games.rewards[:, 1] * unit, -changed)
            legal = games.masks.sum(axis=1, dtype=np.int16)  # far faster than in 64 bits
            assert np.array_equal(legal, games.legal_counts)
            assert np.array_equal(games.legal_counts == 0, over)
        ended += _GAMES
    return ended


@contextlib.contextmanager
def _a_state_is_damaged() -> Iterator[None]:
    step = BatchedGame.step

    def damaging(games: BatchedGame, actions: Any) -> None:
        step(games, actions)
        games.rows[3, QUIET_TURNS] = -1

    with mock.patch.object(BatchedGame, "step", damaging):
        yield


# -- training ------------------------------------------------------------------------------

MOST_GROWTH = 0.05


def _memory() -> int:
    """Pages in use, by Linux's count."""
    return int(Path("/proc/self/statm").read_text().split()[1])


def check_training(size: int, random: Random, folder: Path) -> int:
    """From a third of the updates on, a process grows by less than 5%."""
    update, seen = Trainer.update, []

    def watched(trainer: Trainer) -> dict[str, Any]:
        metrics = update(trainer)
        seen.append(_memory())
        return metrics

    updates = CONFIG.num_games * CONFIG.rollout_decisions
    config = dataclasses.replace(
        CONFIG, seed=random.randrange(2**32), total_decisions=size * updates, checkpoint_every=20
    )
    with mock.patch.object(Trainer, "update", watched):
        trained(folder, config)
    third = len(seen) // 3
    growth = max(seen[-third:]) / max(seen[: third + 1]) - 1
    assert growth < MOST_GROWTH, f"memory grew by {growth:.0%}"
    return len(seen)


@contextlib.contextmanager
def _every_update_keeps_some() -> Iterator[None]:
    kept, memory = [], _memory

    def leaking() -> int:
        kept.append(b"x" * 2**20 * 4)
        return memory()

    with mock.patch(f"{__name__}._memory", leaking):
        yield


# -- the page ------------------------------------------------------------------------------


def check_requests(size: int, random: Random, folder: Path) -> int:
    """Broken, rude and damaged requests to the page's server, beside games that go on."""
    with serving() as server:
        test_web_faults.answer_broken_requests(server, size, random.randrange(2**32))
    return size


def _sound(rng: Random) -> bytes:
    return b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


_MEMORY = "Whatever goes on for long stays sound"

ROWS = [
    Row(
        "battles, looked at after every decision",
        _MEMORY,
        "battles",
        check_battles,
        1_280,
        1_000_000,
        {"a state is damaged": Fault(_a_state_is_damaged, "row 3 is damaged", RowError)},
        with_fault=128,
        proves=THE_GAME,
    ),
    Row(
        "the memory of a training run",
        _MEMORY,
        "updates",
        check_training,
        60,
        20_000,
        {"every update keeps some": Fault(_every_update_keeps_some, "memory grew by")},
        with_fault=30,
        chunk=2_000,
        proves=standing_on("training.train"),
    ),
    Row(
        "requests to the page's server",
        "Any input is read or refused by name",
        "fuzzed inputs",
        check_requests,
        200,
        50_000,
        {
            "a request is sound": Fault(
                lambda: mock.patch.object(test_web_faults, "broken", _sound),
                "400 <= status < 500",
            )
        },
        with_fault=50,
        chunk=5_000,  # each begins with 500 that warm the server
        proves=standing_on("agents.web.serve"),
    ),
]
