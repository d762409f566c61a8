"""The benchmark of a training step: what it prints, not how fast it is."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import torch

from training.bench import main
from training.process.clock import Clock

SMOKE = str(Path(__file__).parents[1] / "configs" / "smoke.yaml")
TINY = (
    "num_games=8",
    "rollout_decisions=16",
    "network.channels=4",
    "network.blocks=1",
    "ppo.minibatch_size=32",
    "opponents.frozen=0.25",
    "opponents.scripted=0.25",
)


def test_it_prints_shares_and_what_the_networks_allow(capsys) -> None:
    assert main([SMOKE, *TINY, "--updates", "2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    shares = [result[f"share_{part}"] for part in ("environment", "forward", "learn")]
    assert sum(shares) == pytest.approx(1, abs=0.2)  # medians, each by itself
    assert all(value > 0 for name, value in result.items() if name != "config")


def test_it_prints_lines_for_people(capsys) -> None:
    assert main([SMOKE, *TINY, "--updates", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("smoke: 4 channels, 1 blocks\n  environment ")
    assert "that the networks allow" in out


class Event:
    """As ``torch.cuda.Event``, of a GPU that is never behind."""

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, later: Event) -> float:
        return 1000 * (later.at - self.at)


def test_a_clock_adds_up_what_passes_between_marks_of_a_gpu(monkeypatch) -> None:
    times = iter([1.0, 1.5, 2.0, 2.25, 4.0, 5.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(times))
    monkeypatch.setattr(torch.cuda, "Event", Event)
    waited: list[bool] = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append(True))
    clock = Clock("cuda")
    for part in ("forward", "learn", "forward"):
        with clock.on(part):
            pass
    assert not waited, "nothing waits for the GPU before the sums are asked for"
    assert clock.take() == {"environment": 0.0, "forward": 1.5, "learn": 0.25}
    assert waited
    assert set(clock.take().values()) == {0.0}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_it_names_the_time_that_it_measures(device: str, capsys, monkeypatch) -> None:
    monkeypatch.setattr("training.process.roles.Clock", lambda _: Clock(device))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    words = [SMOKE, *TINY, "device=cpu", "--updates", "1"]
    assert main(words) == 0
    of_processor = "decisions a second of processor," in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    per = {"cpu": "cpu_second", "cuda": "second"}[device]
    assert {name for name in result if "_per_" in name} == {
        f"decisions_per_{per}",
        f"networks_own_per_{per}",
    }
    assert of_processor == (device == "cpu")
    reached, allowed = (result[f"{name}_per_{per}"] for name in ("decisions", "networks_own"))
    assert result["share_of_networks_own"] == pytest.approx(reached / allowed)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope.yaml"], "nope.yaml: there is no such file or folder: "),
        ([SMOKE, "--updates", "0"], "--updates: '0': a whole number, 1 or more, would be right"),
        (
            [SMOKE, "opponents.scripted=0.25", "opponents.players=[greedi]"],
            "opponents.players: unknown agent 'greedi': did you mean 'greedy'?",
        ),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, capsys) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_one_line(capsys) -> None:
    assert main([SMOKE, "device=cuda"]) == 2
    assert "there is no GPU" in capsys.readouterr().err
