"""The policies that come with the checkout."""

from pathlib import Path

import pytest

import agents
from agents.networks.checkpoint import CheckpointError, load_policy
from agents.networks.folders import PRETRAINED, policy_folder
from thud_env import Position
from thud_env.outcome import SIDES
from training.arena.battles import play_battles
from training.config import TrainConfig
from training.config_file import load_config

ROOT = Path(__file__).parents[1]
CONFIGS = list((ROOT / "configs").glob("tune-*.yaml"))
RULESETS = sorted(path.name for path in PRETRAINED.iterdir() if path.is_dir())


@pytest.mark.parametrize("rules", RULESETS)
def test_a_folder_has_both_roles_of_the_ruleset_it_is_named_after(rules: str) -> None:
    for role in SIDES:
        loaded = load_policy(PRETRAINED / rules / role)
        assert (loaded.rules, loaded.role) == (rules, role)


@pytest.mark.parametrize("rules", sorted({path.name[5:-5] for path in CONFIGS} & set(RULESETS)))
def test_the_configuration_that_made_a_pair_makes_networks_like_its_own(rules: str) -> None:
    config = load_config(ROOT / "configs" / f"tune-{rules}.yaml", TrainConfig)
    assert config.rules == rules
    for role in SIDES:
        assert load_policy(PRETRAINED / rules / role).network.config == config.network


@pytest.mark.parametrize(
    ("rules", "opponent", "by_dwarfs", "by_trolls", "limits"),
    [
        ("classic", "greedy", 15, 15, {"max_turns": 120}),
        ("koom-valley", "greedy", 15, 15, {"max_turns": 120}),
        # Its dwarfs take more than 120 turns in one battle of six: see the card.
        ("koom-valley-football", "random", 15, 15, {}),
    ],
)
def test_both_beat_simple_play(
    rules: str,
    opponent: str,
    by_dwarfs: int,
    by_trolls: int,
    limits: dict[str, int],
    tmp_path: Path,
    monkeypatch,
) -> None:
    """From wherever the program runs."""
    monkeypatch.chdir(tmp_path)
    policy, other = agents.make(f"policy:pretrained/{rules}", 1), agents.make(opponent, 2)
    limits = {"max_quiet_turns": 60, **limits}
    as_dwarfs = play_battles(policy, other, 16, rules, **limits).margins
    as_trolls = play_battles(other, policy, 16, rules, **limits).margins
    assert (as_dwarfs > 0).sum() >= by_dwarfs
    assert (as_trolls < 0).sum() >= by_trolls


def test_a_folder_where_the_program_runs_goes_first(tmp_path: Path, monkeypatch) -> None:
    assert RULESETS
    monkeypatch.chdir(tmp_path)
    here = Path("pretrained") / RULESETS[0]
    assert policy_folder(here) == PRETRAINED / RULESETS[0]
    here.parent.mkdir()
    here.symlink_to(PRETRAINED / RULESETS[1])
    assert policy_folder(here) == PRETRAINED / RULESETS[1]


def test_the_folder_of_a_run_means_its_latest_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "latest").symlink_to(PRETRAINED / "classic")
    assert policy_folder(tmp_path) == PRETRAINED / "classic"
    position = Position.start("classic")
    found, wanted = (agents.make(f"policy:{path}") for path in (tmp_path, PRETRAINED / "classic"))
    assert found.turn(position) == wanted.turn(position)


def test_another_file_is_told_no_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("")
    with pytest.raises(CheckpointError, match="is not a policy"):
        agents.make(f"policy:{tmp_path / 'notes.md'}")


def test_a_file_of_a_policy_is_told_its_folder() -> None:
    model = PRETRAINED / "classic" / "dwarfs" / "model.safetensors"
    for read in (lambda: agents.make(f"policy:{model}"), lambda: load_policy(model)):
        with pytest.raises(CheckpointError) as error:
            read()
        assert str(error.value) == f"{model} is a file: its folder, {model.parent}, would be right"
