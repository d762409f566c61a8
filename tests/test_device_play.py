"""Self-play on a device is self-play on the host, decision for decision.

Without a GPU the same code runs on tensors of the CPU, and, as a program of its own, on the kernels
in Numba's simulator (``simulated_play.py``).
"""

import dataclasses
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from opposed import against, mirror_play
from test_batch_cuda import run

from agents.networks.config import NetworkConfig
from agents.networks.inputs import Inputs
from agents.networks.kinds import make_network
from agents.networks.network import PolicyNetwork
from agents.networks.on_device import inputs_on_device
from thud_env import BatchedGame
from thud_env.rulesets import RULESETS
from training.process.precision import Precision
from training.process.roles import Roles
from training.selfplay.battle_metrics import strikes_in
from training.selfplay.battles import OngoingBattles
from training.selfplay.device_play import DeviceCollector
from training.selfplay.host_play import HostCollector
from training.selfplay.opponents import Opponents
from training.selfplay.rollout import Rollout

GAMES, STEPS, TURNS = 24, 40, 9
HAS_GPU = torch.cuda.is_available()


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as workers:
        yield workers


def networks() -> tuple[PolicyNetwork, PolicyNetwork]:
    torch.manual_seed(3)
    made = [make_network(NetworkConfig(channels=4, blocks=1, key_size=2)) for _ in range(2)]
    for network in made:
        with torch.no_grad():  # far from uniform, so that the draws depend on the scores
            for parameter in network.parameters():
                parameter.copy_(torch.randn_like(parameter) * 0.3)
    return made[0], made[1]


def rows_of(rules: str, count: int = 200, steps: int = 37) -> np.ndarray:
    games = BatchedGame(count, rules, seed=5, observations=False, masks=None, agreement=True)
    for _ in range(steps):
        games.step(games.sample_actions())
    return games.rows.copy()


@pytest.mark.parametrize("attacks", [False, True])
@pytest.mark.parametrize("rules", RULESETS)
def test_inputs_from_tensors_equal_inputs_from_arrays(rules: str, attacks: bool) -> None:
    rows = rows_of(rules)
    wanted = Inputs.of_rows(rows, attacks)
    for count in (200, 1, 130):  # the batch behind it is as large as the largest so far
        made = inputs_on_device(torch.from_numpy(rows[:count]), attacks)
        stretch = int(wanted.starts[count])
        assert torch.equal(made.planes, wanted.planes[:count])
        assert made.planes.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(made.decisions, wanted.decisions[:stretch])
        assert torch.equal(made.game, wanted.game[:stretch])
        np.testing.assert_array_equal(made.starts, wanted.starts[: count + 1])


def test_inputs_are_split_between_the_roles() -> None:
    rows = rows_of("classic")
    inputs = Inputs.of_rows(rows)
    for number in (0, 1, 77, len(rows)):
        parts = inputs.split(number)
        for part, own in zip(parts, (rows[:number], rows[number:]), strict=True):
            if len(own):
                wanted = Inputs.of_rows(own)
                for name in ("planes", "decisions", "game", "counts"):
                    assert torch.equal(getattr(part, name), getattr(wanted, name)), name
            else:
                assert len(part.planes) == len(part.decisions) == 0


def test_inputs_stay_as_they_are_when_the_next_are_made() -> None:
    rows = torch.from_numpy(rows_of("classic"))
    first = inputs_on_device(rows[:100])
    kept = first.planes.clone()
    inputs_on_device(rows[100:])
    assert torch.equal(first.planes, kept)


def collected(
    kind: Callable[[OngoingBattles, Roles], HostCollector | DeviceCollector],
    threads: ThreadPoolExecutor,
    rules: str,
    opponents: Opponents,
    device: str = "cpu",
) -> list[Rollout]:
    """Two rollouts, one of them after a state was taken and restored."""
    games = BatchedGame(
        GAMES, rules, device, observations=False, masks=None, max_turns=TURNS, max_quiet_turns=4
    )  # type: ignore[call-overload]
    for _ in range(3):
        games.step(games.sample_actions())
    starts = games.to_host(games.rows).copy()
    random = np.random.default_rng(7)
    battles = OngoingBattles(games, opponents, random, symmetric_frames=True, starts=starts)
    play = kind(battles, Roles(networks(), threads=threads))
    first = play.collect(STEPS)
    battles.restore(battles.state())
    return [first, play.collect(STEPS)]


@pytest.mark.parametrize("player", [None, "greedy"])
@pytest.mark.parametrize("rules", RULESETS)
def test_it_is_self_play_decision_for_decision(
    rules: str, player: str | None, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = DeviceCollector._sent  # to a GPU, which shares no memory
    monkeypatch.setattr(DeviceCollector, "_sent", lambda self, array: sent(self, array).clone())

    def met() -> Opponents:
        return mirror_play(GAMES) if player is None else against(player, GAMES)

    host = collected(HostCollector, threads, rules, met())
    device = collected(DeviceCollector, threads, rules, met())
    for wanted, found in zip(host, device, strict=True):
        for field in dataclasses.fields(Rollout):
            one, other = getattr(found, field.name), getattr(wanted, field.name)
            assert one.dtype == other.dtype, field.name
            if field.name in ("log_probs", "values", "last_values"):
                np.testing.assert_allclose(one, other, atol=1e-5, err_msg=field.name)
            else:
                np.testing.assert_array_equal(one, other, err_msg=field.name)
        assert len(wanted.final_games) > GAMES
        assert strikes_in(wanted, RULESETS[rules]).any() or rules == "koom-valley-football"


def test_with_a_gpu_one_role_follows_the_other_in_the_callers_thread(
    threads: ThreadPoolExecutor,
) -> None:
    for device, alone in (("cuda", True), ("cpu", False)):
        roles = Roles(networks(), Precision(bfloat16=False, device=device), threads)
        done = roles.at_once(lambda side: (side, threading.get_ident()))
        assert [side for side, _ in done] == [0, 1]
        assert all((thread == threading.get_ident()) == alone for _, thread in done)


def test_a_step_that_is_not_checked_plays_as_one_that_is() -> None:
    checked, unchecked = (BatchedGame(50, "classic", seed=2) for _ in range(2))
    for _ in range(60):
        actions = checked.sample_actions()
        unchecked.step(actions, check=False)
        checked.step(actions)
        np.testing.assert_array_equal(unchecked.rows, checked.rows)
        np.testing.assert_array_equal(unchecked.masks, checked.masks)


def test_kernels_in_the_simulator_play_as_the_host_does() -> None:
    simulator = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = run("simulated_play.py", **simulator)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "the same"


@pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")
@pytest.mark.parametrize("rules", RULESETS)
def test_on_a_gpu_inputs_are_those_of_the_host(rules: str) -> None:
    rows = rows_of(rules, 5000)
    reads = {"attacks": True, "threats": True, "afterstates": True}
    wanted = Inputs.of_rows(rows, **reads)
    made = inputs_on_device(torch.from_numpy(rows).cuda(), **reads)
    for name in ("planes", "decisions", "game", "counts", "afterstates"):
        assert torch.equal(getattr(made, name).cpu(), getattr(wanted, name)), name
