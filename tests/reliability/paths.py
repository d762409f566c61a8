"""Every path plays the same game: what each environment shows and pays, against ``Position``.

Battles of random decisions are played once by ``Position``. Each path then plays them again, and
everything that it shows must be what the positions say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, cycle, islice
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import simulated_games
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

import thud_env
from reliability.row import THE_ENVIRONMENTS, THE_GAME, Fault, Row
from reliability.tree import counts_quiet_turns_twice, run
from thud_env import RULESETS, BatchedGame, Position, Termination, random_playouts
from thud_env.envs.base import BoardEnv
from thud_env.envs.single import ThudSeatEnv
from thud_env.envs.vector import ThudVectorEnv
from thud_env.outcome import SIDES

_PROMISE = "Every path plays the same game"
_TOGETHER = 10
"""Battles of one ruleset and the same limits."""
_ENVS = 4


class _Place:
    """A position, and what is to be seen of it, which each path is compared with."""

    def __init__(self, position: Position) -> None:
        self.position = position

    @cached_property
    def observation(self) -> NDArray[np.float32]:
        return self.position.observation()

    @cached_property
    def mask(self) -> NDArray[np.int8]:
        return self.position.action_mask()

    @cached_property
    def legal(self) -> int:
        return len(self.position.legal_actions())


@dataclasses.dataclass
class _Decision:
    before: _Place
    action: int
    after: _Place
    paid: float
    """To the dwarfs."""
    terminated: bool
    truncated: bool

    @property
    def mover(self) -> int:
        return SIDES.index(self.before.position.to_move)

    @property
    def is_last(self) -> bool:
        return self.terminated or self.truncated


def _battle(start: Position, random: Random) -> list[_Decision]:
    by_outcome = start.rules.reward == "outcome"
    position, decisions, before = start, list[_Decision](), _Place(start)
    while position.outcome is None:
        action = random.choice(position.legal_actions().tolist())
        after = position.apply(action)
        ended = after.outcome
        truncated = ended is not None and ended.termination is Termination.TURN_LIMIT
        terminated = ended is not None and not truncated
        if by_outcome:
            paid = float(np.sign(ended.margin)) if ended is not None and terminated else 0.0
        else:
            paid = (after.margin - position.margin) / 32
        decisions.append(_Decision(before, action, _Place(after), paid, terminated, truncated))
        position, before = after, decisions[-1].after
    return decisions


def check_paths(size: int, random: Random, folder: Path) -> int:
    """AEC, Gymnasium, and in each autoreset mode the vector environment and the batch."""
    done = 0
    while done < size:
        rules = random.choice(list(RULESETS))
        limits = {
            "max_turns": random.choice((6, 20, 60)),
            "max_quiet_turns": random.choice((5, 200)),
            "agreement": random.random() < 0.5,
            "offer_after": random.randrange(1, 4),
        }
        start = Position.start(rules, **limits)
        battles = [_battle(start, random) for _ in range(_TOGETHER)]
        _aec(thud_env.env(rules, **limits), battles)
        _seat(ThudSeatEnv(rules, "both", **limits), battles)
        for mode in AutoresetMode:
            _vector(
                ThudVectorEnv(_ENVS, rules, "both", autoreset_mode=mode, **limits), battles, mode
            )
            _batch(BatchedGame(_ENVS, rules, autoreset_mode=mode, **limits), battles, mode)
        done += len(battles)
    return done


def _aec(env: Any, battles: list[list[_Decision]]) -> None:
    for battle in battles:
        env.reset()
        for one in battle:
            agent = env.possible_agents[one.mover]
            assert env.agent_selection == agent
            _shows(env.observe(agent), one.before)
            env.step(one.action)
            assert list(env.rewards.values()) == [one.paid, -one.paid]
            assert set(env.terminations.values()) == {one.terminated}
            assert set(env.truncations.values()) == {one.truncated}
            assert env.infos[agent]["margin"] == one.after.position.margin
        assert env.position == battle[-1].after.position


def _shows(seen: dict[str, Any], place: _Place) -> None:
    assert np.array_equal(seen["observation"], place.observation)
    assert np.array_equal(seen["action_mask"], place.mask)


def _seat(env: ThudSeatEnv, battles: list[list[_Decision]]) -> None:
    for battle in battles:
        observation, info = env.reset()
        for one in battle:
            _shows({"observation": observation, **info}, one.before)
            observation, reward, terminated, truncated, info = env.step(one.action)
            assert reward == _to_mover(one)
            assert (terminated, truncated) == (one.terminated, one.truncated)
        assert np.array_equal(observation, battle[-1].after.observation)


def _to_mover(one: _Decision) -> float:
    return -one.paid if one.mover else one.paid


def _scripts(
    battles: list[list[_Decision]], mode: AutoresetMode
) -> Iterator[list[_Decision | None]]:
    """The decisions of some environments, step by step, each beginning with another battle; None
    where one is reset instead."""
    scripts = []
    for number in range(_ENVS):
        own: Iterator[_Decision | None]
        rotated = battles[number:] + battles[:number]
        pause = [None] if mode is AutoresetMode.NEXT_STEP else []
        own = cycle(list(chain.from_iterable([*battle, *pause] for battle in rotated)))
        scripts.append(own)
    longest = sum(map(len, battles))
    yield from (list(step) for step in islice(zip(*scripts, strict=True), longest))


def _shown(one: _Decision | None, start: _Place, mode: AutoresetMode) -> _Place:
    """What an environment shows after its step."""
    if one is None or (one.is_last and mode is AutoresetMode.SAME_STEP):
        return start
    return one.after


def _vector(env: ThudVectorEnv, battles: list[list[_Decision]], mode: AutoresetMode) -> None:
    start = battles[0][0].before
    env.reset()
    for step in _scripts(battles, mode):
        observations, rewards, terminated, truncated, infos = env.step(
            np.array([one.action if one else 0 for one in step])
        )
        for number, one in enumerate(step):
            place = _shown(one, start, mode)
            assert np.array_equal(observations[number], place.observation)
            if place.position.outcome is None:
                assert np.array_equal(infos["action_mask"][number], place.mask)
            assert rewards[number] == (_to_mover(one) if one else 0)
            assert terminated[number] == bool(one and one.terminated)
            assert truncated[number] == bool(one and one.truncated)
            if one and one.is_last and mode is AutoresetMode.SAME_STEP:
                assert np.array_equal(infos["final_obs"][number], one.after.observation)
        ended = terminated | truncated
        if mode is AutoresetMode.DISABLED and ended.any():
            observations, _ = env.reset(options={"reset_mask": ended})
            for number in np.flatnonzero(ended):
                assert np.array_equal(observations[number], start.observation)


def _batch(games: BatchedGame, battles: list[list[_Decision]], mode: AutoresetMode) -> None:
    start = battles[0][0].before
    for step in _scripts(battles, mode):
        games.step(np.array([one.action if one else 0 for one in step]))
        for number, one in enumerate(step):
            place = _shown(one, start, mode)
            assert np.array_equal(games.rows[number], place.position.row)
            assert np.array_equal(games.observations[number], place.observation)
            assert np.array_equal(games.masks[number], place.mask)
            assert games.legal_counts[number] == place.legal
            paid = one.paid if one else 0
            assert games.rewards[number].tolist() == [paid, -paid]
            assert games.terminated[number] == bool(one and one.terminated)
            assert games.truncated[number] == bool(one and one.truncated)
            if one and one.is_last:
                assert games.final_position(number) == one.after.position
        if mode is AutoresetMode.DISABLED and (games.terminated | games.truncated).any():
            games.reset(games.terminated | games.truncated)


# -- the GPU's kernels ---------------------------------------------------------------------

_STEPS = 3


def check_simulator(size: int, random: Random, folder: Path) -> int:
    """The kernels for a GPU, run by Numba's simulator of one: bit for bit the CPU's."""
    simulator = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    all_rules = list(RULESETS)
    first = random.randrange(len(all_rules))
    for number in range(size):
        rules, path = all_rules[(first + number) % len(all_rules)], folder / f"{number}.npz"
        run(simulated_games.__file__, rules, str(_STEPS), str(path), **simulator)
        expected = simulated_games.play("cpu", rules, _STEPS)
        playouts = random_playouts(1, rules, seed=3, max_turns=8)
        expected |= {"lengths": playouts.lengths, "margins": playouts.margins}
        with np.load(path) as simulated:
            assert set(simulated) == set(expected)
            for name, array in expected.items():
                np.testing.assert_array_equal(simulated[name], array, err_msg=name, strict=True)
    return size


ROWS = [
    Row(
        "AEC, Gymnasium, vector and batch in three autoreset modes",
        _PROMISE,
        "battles",
        check_paths,
        500,
        50_000,
        {
            "PettingZoo's and Gymnasium's environments pay the other side": Fault(
                lambda: mock.patch.object(BoardEnv, "_paid_to_dwarfs", lambda _env, paid: -paid),
                "list(env.rewards.values()) == [one.paid, -one.paid]",
            ),
            "a batch begins anew at once, whatever was asked for": Fault(
                lambda: mock.patch(
                    "thud_env.batch.game.read_autoreset_mode", lambda _mode: AutoresetMode.SAME_STEP
                ),
                "np.array_equal(observations[number], place.observation)",
            ),
            "planes show the opposite": Fault(
                lambda: mock.patch.object(
                    Position, "observation", lambda one, see=Position.observation: 1 - see(one)
                ),
                "place.observation",
            ),
        },
        with_fault=20,
        proves=THE_ENVIRONMENTS,
    ),
    Row(
        "the GPU's kernels in Numba's simulator",
        _PROMISE,
        "rulesets",
        check_simulator,
        1,
        5,
        {
            "a quiet turn counts twice": Fault(
                counts_quiet_turns_twice, "assert_array_equal(simulated[name], array"
            )
        },
        chunk=5,
        proves=THE_GAME,
    ),
]
