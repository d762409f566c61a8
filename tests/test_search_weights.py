"""The weights of the evaluation by features: read, refused, shared by rulesets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import agents
from agents.search.evaluation import POINT
from agents.search.weights import WeightsError, feature_names, load_weights
from agents.strict_yaml import read_yaml
from thud_env import RULESETS, Position
from thud_env.rulesets import TROLL_VALUE

GOOD = "{dwarfs: {dwarfs: 1}, trolls: {trolls: -4}}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- 1", "holds no weights"),
        ("classic: [", "is not YAML"),
        (f"classic: {GOOD}\nclassic: {GOOD}", "is not YAML: classic is there twice"),
        (f"chess: {GOOD}", "has weights for 'chess': no such ruleset"),
        (f"classic: {GOOD}", ": no weights for koom-valley"),
        ("classic: {dwarfs: {drawfs: 1}}", "weighs 'drawfs': no such feature, there are constant"),
        ("classic: {dwarfs: {dwarfs: 1.5}}", "dwarfs weighs 1.5: a whole number in -100000 .. 10"),
        ("classic: {dwarfs: {dwarfs: 100001}}", "weighs 100001: a whole number in -100000 .. 10"),
    ],
)
def test_the_error_for_wrong_weights_names_the_mistake(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "weights.yaml"
    path.write_text(text)
    with pytest.raises(WeightsError) as error:
        load_weights(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_published_weights_are_read_once_and_a_users_own_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "weights.yaml"
    read = []

    def counted(file: Path) -> object:
        read.append(file)
        return read_yaml(file)

    agents.make("alphabeta")
    monkeypatch.setattr("agents.search.weights.read_yaml", counted)
    agents.make("alphabeta")
    agents.make("mcts")
    for weight in (3, 4):
        good = f"{{dwarfs: {{dwarfs: {weight}}}, trolls: {{}}}}"
        path.write_text(f"classic: {good}\nkoom-valley: {good}\n")
        agents.make(f"alphabeta:evaluation=features,weights={path}")
        assert load_weights(path).of(RULESETS["classic"])[0, 1] == weight
    assert read == [path] * 4


def test_rulesets_of_a_kind_share_weights_unless_they_have_their_own(tmp_path: Path) -> None:
    path = tmp_path / "weights.yaml"
    own = "{dwarfs: {dwarfs: 7}, trolls: {dwarfs: 8}}"
    path.write_text(f"classic: {GOOD}\nkoom-valley: {GOOD}\nclassic-any: {own}\n")
    weights = load_weights(path)
    of = {rules: weights.of(ruleset) for rules, ruleset in RULESETS.items()}
    assert np.array_equal(of["classic"], of["classic-all"])
    assert of["classic-any"][:, 1].tolist() == [7, 8]
    assert of["koom-valley-football"][1, 2] == -4


@pytest.mark.parametrize("evaluation", ["learned", "features"])
def test_a_game_with_a_stone_that_moves_and_played_for_points_is_judged_in_points(
    evaluation: str,
) -> None:
    valley = RULESETS["koom-valley"]
    for own in (
        valley.replace(name="for-points", reward="margin"),
        valley.replace(name="no-goal", reward="margin", stone_wins=False),
    ):
        start = Position.start(own)
        judged = agents.make(f"alphabeta:depth=2,evaluation={evaluation}").judge(start)
        assert start.margin == -16
        assert abs(judged.margin + 16) < 4, own.name
    # Of one that is won, values are chances, near even at the start.
    five = valley.replace(name="five", trolls=valley.trolls[:5])
    assert (
        abs(
            agents.make(f"alphabeta:depth=2,evaluation={evaluation}")
            .judge(Position.start(five))
            .margin
        )
        < 0.5
    )


def test_weights_of_a_file_are_not_those_of_another_reward(tmp_path: Path) -> None:
    path = tmp_path / "weights.yaml"
    path.write_text(f"classic: {GOOD}\nkoom-valley: {GOOD}\n")
    weights, valley = load_weights(path), RULESETS["koom-valley"]
    of = weights.of(valley.replace(name="for-points", reward="margin"))
    names = feature_names(valley)
    counted = {name: of[0, i] for i, name in enumerate(names) if of[0, i]}
    assert counted == {"dwarfs": POINT, "trolls": -TROLL_VALUE * POINT}
    assert weights.of(valley.replace(name="alike")) is weights.own["koom-valley"]
