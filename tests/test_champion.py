"""The champions: the strongest player, and the pair of networks for the game that is played."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.analysis import Analysis
from agents.networks.checkpoint import CheckpointError
from agents.networks.folders import PRETRAINED
from thud_env import CLASSIC, RULESETS, Position
from thud_env.rules.row import ROW_SIZE

SHIPPED = sorted(path.name for path in PRETRAINED.iterdir() if path.is_dir())


def test_the_search_of_a_champion_is_seen() -> None:
    analysis = Analysis("champion:time=0.05", Position.start())
    analysis.run()
    assert analysis.finding is not None
    assert analysis.finding.margin is not None
    assert analysis.finding.depth is not None


@pytest.mark.parametrize("rules", [*RULESETS, CLASSIC.replace(name="fewer", trolls="G7 H7 J7")])
def test_the_champion_plays_every_ruleset(rules: str) -> None:
    position = Position.start(rules)
    champion = agents.make("champion:time=0.05", seed=1)
    assert champion.turn(position) in position.turns()


def test_a_champion_goes_on_from_its_state_and_can_be_seeded() -> None:
    start = Position.start("classic")
    champion = agents.make("champion:time=0.05", seed=1)
    champion.act(start)
    other = agents.make("champion:time=0.05", seed=2)
    other.set_state(champion.get_state())
    assert other.get_state() == champion.get_state()
    other.seed(3)
    assert other.get_state() == agents.make("champion", seed=3).get_state()


def test_a_champion_can_be_stopped() -> None:
    champion = agents.make("champion:time=600")
    start = Position.start("classic")
    chosen: list[int] = []
    thinking = threading.Thread(target=lambda: chosen.append(champion.act(start)), daemon=True)
    thinking.start()
    for _ in range(3000):  # a stop before the search begins, which may compile, has no effect
        champion.stop()
        thinking.join(0.1)
        if not thinking.is_alive():
            break
    assert chosen[0] in start.legal_actions()


@pytest.mark.parametrize("spec", ["champion", "policy:champion", "policy+mcts:champion", "mcts"])
def test_who_is_asked_about_no_battle_answers_with_no_action(spec: str) -> None:
    actions = agents.make(spec).act_rows(np.zeros((0, ROW_SIZE), dtype=np.int16))
    assert (actions.shape, actions.dtype) == ((0,), np.int32)


def test_the_time_of_a_champion_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"time=0\.0 must be in 1e-06 \.\. "):
        agents.make("champion:time=0")


@pytest.mark.parametrize("rules", SHIPPED)
@pytest.mark.parametrize("kind", ["policy:{},temperature=0", "policy+mcts:{},sims=8"])
def test_the_champion_pair_is_that_of_the_ruleset(
    kind: str, rules: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From wherever the program runs."""
    monkeypatch.chdir(tmp_path)
    start = Position.start(rules)
    champion, named = (
        agents.make(kind.format(path)) for path in ("champion", f"pretrained/{rules}")
    )
    assert champion.act(start) == named.act(start)


def test_one_champion_plays_several_games() -> None:
    champion = agents.make("policy:champion,temperature=0")
    for rules in SHIPPED:
        start = Position.start(rules)
        assert champion.act(start) in start.legal_actions()


@pytest.mark.parametrize("kind", ["policy:champion", "policy+mcts:champion,sims=4"])
def test_a_champion_pair_refuses_battles_of_several_rulesets_at_once(kind: str) -> None:
    rows = np.stack([Position.start(rules).row for rules in ("classic", "classic", "koom-valley")])
    with pytest.raises(ValueError, match="battles of classic and koom-valley: a policy decides"):
        agents.make(kind).act_rows(rows)


def test_the_error_for_a_game_without_a_pair_names_it() -> None:
    champion = agents.make("policy:champion")
    rules = CLASSIC.replace(name="fewer", trolls="G7 H7 J7")
    with pytest.raises(CheckpointError, match="no policy comes with the checkout for fewer: "):
        champion.act(Position.start(rules))


def test_a_folder_named_champion_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("champion").symlink_to(PRETRAINED / "koom-valley")
    with pytest.raises(CheckpointError, match="was trained for koom-valley, not classic"):
        agents.make("policy:champion").act(Position.start("classic"))
    rows = np.stack([Position.start("koom-valley").row] * 2)
    assert len(agents.make("policy:champion").act_rows(rows)) == 2
