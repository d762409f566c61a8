"""Frozen opponents: which are met, how often, and what is learnt from them."""

from __future__ import annotations

import dataclasses
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from small_run import SMALL_RUN

from agents.networks.checkpoint import CheckpointError, load_policy
from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from thud_env import BatchedGame
from thud_env.outcome import SIDES
from training.config import OpponentConfig, PPOConfig, TrainConfig
from training.learner.batches import batches_of
from training.process.precision import Precision
from training.process.roles import two_networks
from training.process.state import State
from training.runs.checkpoints import Checkpoints
from training.selfplay.battle_metrics import IN_TRAINING
from training.selfplay.opponents import Opponents, names_met
from training.selfplay.play import Change
from training.selfplay.rollout import MIRROR
from training.selfplay.snapshots import Pool, write_snapshot
from training.trainer import Trainer, self_play_trainer

SMALL = NetworkConfig(channels=4, blocks=1, key_size=2)
CONFIG = TrainConfig(
    total_decisions=4000,
    num_games=10,
    rollout_decisions=40,
    max_turns=12,
    precision="float32",
    network=SMALL,
    ppo=PPOConfig(minibatch_size=64),
    opponents=OpponentConfig(frozen=0.4, scripted=0.2, snapshots=10, redraw_every=2),
)


@pytest.fixture
def trainer(tmp_path: Path) -> Iterator[Trainer]:
    made = self_play_trainer(CONFIG, tmp_path)
    yield made
    made.roles.close()


def a_pool(folder: Path, scores: dict[int, float]) -> Pool:
    pool = Pool(folder)
    for decisions, score in scores.items():
        pool.add(decisions)
        pool.scores[f"{decisions:012d}"] = score
    return pool


def test_a_damaged_snapshot_is_noticed_when_a_run_goes_on_and_written_anew(tmp_path: Path) -> None:
    networks, name = (Network(SMALL), Network(SMALL)), "000000000040"
    write_snapshot(tmp_path, networks, CONFIG, 40)
    weights = tmp_path / "dwarfs" / name / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    pool = Pool(tmp_path / "dwarfs")
    with pytest.raises(CheckpointError, match=f"{name}.* is damaged"):
        pool.restore({"scores": {name: 0.5}})
    write_snapshot(tmp_path, networks, CONFIG, 40)
    assert weights.read_bytes() == whole
    pool.restore({"scores": {name: 0.5}})
    shutil.rmtree(tmp_path / "dwarfs" / name)
    with pytest.raises(CheckpointError, match=name):
        Pool(tmp_path / "dwarfs").restore({"scores": {name: 0.5}})


@pytest.mark.parametrize("there", [True, False])
def test_a_snapshot_that_is_a_link_is_replaced_but_not_what_it_points_to(
    there: bool, tmp_path: Path
) -> None:
    elsewhere, name = tmp_path / "elsewhere", "000000000040"
    if there:
        elsewhere.mkdir()
        (elsewhere / "kept").touch()
    link = tmp_path / "dwarfs" / name
    link.parent.mkdir()
    link.symlink_to(elsewhere)
    write_snapshot(tmp_path, (Network(SMALL), Network(SMALL)), CONFIG, 40)
    assert not link.is_symlink()
    assert (link / "model.safetensors").exists()
    assert (elsewhere / "kept").exists() == there


def test_a_snapshot_of_a_length_that_is_given_up_is_replaced(tmp_path: Path) -> None:
    longer = dataclasses.replace(SMALL_RUN, total_decisions=2 * SMALL_RUN.total_decisions)
    snapshots = []
    for updates in (2, 3):
        trainer = self_play_trainer(SMALL_RUN, tmp_path / str(updates))
        trainer.update()
        trainer.update()
        kept = trainer.state()
        kept = dataclasses.replace(kept, tensors={k: v.clone() for k, v in kept.tensors.items()})
        for _ in range(2, updates):  # by a run that is killed then
            trainer.update()
        trainer.roles.close()
        trainer = self_play_trainer(longer, tmp_path / str(updates))
        trainer.restore(kept)
        trainer.update()
        trainer.roles.close()
        path = tmp_path / str(updates) / "pool" / "trolls" / "000000000768"
        snapshots.append((path / "model.safetensors").read_bytes())
    assert snapshots[0] == snapshots[1]


# -- the pool ------------------------------------------------------------------------------


def test_even_matches_are_drawn_most(tmp_path: Path) -> None:
    pool = a_pool(tmp_path, {1: 0.5, 2: 0.9, 3: 0.1, 4: 1.0})
    random = np.random.default_rng(1)
    drawn = Counter(pool.draw(random) for _ in range(4000))
    shares = {int(name): count / 4000 for name, count in drawn.items()}
    total = 0.25 + 0.09 + 0.09
    for decisions, wanted in {1: 0.25, 2: 0.09, 3: 0.09}.items():
        assert shares[decisions] == pytest.approx(wanted / total, abs=0.03)
    assert 0 < shares[4] < 0.02, "never given up altogether"


def test_scores_follow_what_happens(tmp_path: Path) -> None:
    pool = a_pool(tmp_path, {1: 0.5, 2: 0.5})
    for _ in range(100):
        pool.record("000000000001", 1.0)
    assert pool.scores["000000000001"] > 0.95
    assert pool.scores["000000000002"] == 0.5


def test_a_snapshot_stays_as_it_was_frozen(tmp_path: Path) -> None:
    pool, network = Pool(tmp_path / "trolls"), Network(SMALL)
    write_snapshot(tmp_path, (Network(SMALL), network), CONFIG, 7)
    pool.add(7)
    wanted = network.bias.detach().clone() + 1
    with torch.no_grad():
        network.bias.add_(1)
    frozen = pool.network("000000000007")
    assert torch.equal(frozen.bias + 1, wanted)
    assert not any(parameter.requires_grad for parameter in frozen.parameters())
    loaded = load_policy(tmp_path / "trolls" / "000000000007")
    assert (loaded.role, loaded.decisions) == ("trolls", 7)


# -- the seats -----------------------------------------------------------------------------


def test_seats_are_shared_out_evenly_to_both_roles(trainer: Trainer) -> None:
    frozen = trainer.play.battles.opponents.sides.tolist()
    assert Counter(frozen) == {MIRROR: 4, 0: 3, 1: 3}
    names = trainer.play.battles.opponents.state()["names"]
    assert all((name == "") == (side == MIRROR) for name, side in zip(names, frozen, strict=True))


@pytest.mark.parametrize(
    ("games", "frozen", "scripted"), [(7, 1.0, 0.0), (6, 0.5, 0.5), (3, 0.0, 1.0), (8, 0.3, 0.2)]
)
def test_there_are_never_more_seats_than_battles(
    games: int, frozen: float, scripted: float
) -> None:
    seats = OpponentConfig(frozen=frozen, scripted=scripted).in_each_seat(games)
    assert 0 < 2 * sum(seats) <= games


def test_an_opponent_changes_only_when_its_battle_ends(trainer: Trainer) -> None:
    league = trainer.play.battles.opponents
    met: set[str] = set()
    for _ in range(8):
        trainer.update()
        before = list(league.state()["names"])
        league.redraw()
        assert league.state()["names"] == before
        rollout = trainer.play.collect(1)
        after = league.state()["names"]
        changed = {game for game in range(10) if after[game] != before[game]}
        assert changed <= set(rollout.final_games.tolist())
        met |= set(after)
    snapshots = {name for name in met if name.isdigit()}
    assert len(snapshots) > 2, "several snapshots must have been met"
    assert set(CONFIG.opponents.players) <= met


def test_each_battle_counts_for_the_opponent_that_was_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opponents = dataclasses.replace(CONFIG.opponents, players=("greedy", "random", "greedy"))
    trainer = self_play_trainer(dataclasses.replace(CONFIG, opponents=opponents), tmp_path)
    league = trainer.play.battles.opponents
    finished, ended = league.finished, []

    def noted(game: int, margin: int) -> None:
        ended.append((game, league.state()["names"][game], margin))
        finished(game, margin)

    monkeypatch.setattr(league, "finished", noted)
    met: set[str] = set()
    for _ in range(5):
        ended.clear()
        metrics = trainer.update()
        sums: dict[str, list[int]] = {}
        for game, name, margin in ended:
            if (side := int(league.sides[game])) != MIRROR:
                role, sign = ("trolls", -1) if side == 0 else ("dwarfs", 1)
                whom = name if name in opponents.players else "snapshots"
                sums.setdefault(f"{role}/{IN_TRAINING}{whom}", []).append(sign * margin)
        shown = {key: value for key, value in metrics.items() if IN_TRAINING in key}
        assert shown == {key: pytest.approx(np.mean(each)) for key, each in sums.items()}
        met |= shown.keys()
    trainer.roles.close()
    assert met == {f"{role}/{IN_TRAINING}{whom}" for role in SIDES for whom in names_met(opponents)}


def test_only_the_learners_own_decisions_are_learnt_from(trainer: Trainer) -> None:
    for _ in range(3):
        trainer.update()
    rollout = trainer.play.collect(CONFIG.rollout_decisions)
    batches = batches_of(rollout, CONFIG)
    own = [
        (rollout.movers == side)
        & ((rollout.opponent_sides == MIRROR) | (rollout.opponent_sides == 1 - side))
        for side in range(len(SIDES))
    ]
    opponents = rollout.movers == rollout.opponent_sides
    assert opponents.any()
    for side in range(len(SIDES)):
        rows = {row.tobytes() for row in rollout.rows[own[side]]}
        assert {row.tobytes() for row in batches[side].rows} <= rows
        assert 0 < own[side].sum() - len(batches[side].actions) <= 3, "one open end a battle"


def test_scores_are_the_learners_against_the_other_roles_snapshots(tmp_path: Path) -> None:
    league = Opponents(CONFIG, 10, np.random.SeedSequence(1), Precision(False), tmp_path)
    league.add_snapshots(5)
    (name,) = league.pools[0].scores
    game = int(np.flatnonzero(league.sides == 1)[-1])  # the learner has the dwarfs
    for _ in range(20):  # the first opponent was scripted
        league._names[game] = name
        league.finished(game, 32)
    assert league.pools[1].scores[name] > 0.7
    assert league.pools[0].scores[name] == 0.5


@pytest.mark.parametrize("ahead", [0.0, 0.5, -0.5])
def test_a_role_ahead_in_mirror_play_learns_from_one_rollout_in_four(
    ahead: float, monkeypatch
) -> None:
    """Without any opponents at all."""
    config = dataclasses.replace(CONFIG, opponents=OpponentConfig(pace=0.2))
    trainer = self_play_trainer(config)
    monkeypatch.setattr(trainer.pace, "follow", lambda _rollout: None)
    trainer.pace.lead = ahead
    learnt = {role: [] for role in SIDES}  # type: ignore[var-annotated]
    for _ in range(8):
        metrics = trainer.update()
        for role in SIDES:
            learnt[role].append(f"{role}/entropy" in metrics)
    trainer.roles.close()
    leader = {0.0: None, 0.5: "dwarfs", -0.5: "trolls"}[ahead]
    for role in SIDES:
        assert learnt[role] == ([True, False, False, False] * 2 if role == leader else [True] * 8)


def test_the_lead_follows_the_mirror_battles(trainer: Trainer) -> None:
    rollout = trainer.play.collect(60)
    margins = rollout.final_margins[rollout.opponent_sides[rollout.final_games] == MIRROR]
    assert len(margins) > 0
    for _ in range(200):
        trainer.pace.follow(rollout)
    assert trainer.pace.lead == pytest.approx(margins.mean() / 32)


def test_snapshots_are_taken_at_even_intervals(tmp_path: Path, trainer: Trainer) -> None:
    while trainer.decisions < CONFIG.total_decisions:
        trainer.update()
    for role in SIDES:
        kept = sorted(int(path.name) for path in (tmp_path / "pool" / role).iterdir())
        assert kept == [400 * number for number in range(1, 11)]


def test_a_run_with_frozen_opponents_needs_a_folder_and_one_with_scripted_ones_none() -> None:
    scripted = dataclasses.replace(CONFIG, opponents=OpponentConfig(scripted=0.2))
    trainer = self_play_trainer(scripted)
    assert (trainer.play.collect(1).opponent_sides != MIRROR).sum() == 2
    trainer.roles.close()
    with pytest.raises(
        ValueError, match=r"^opponents\.frozen: snapshots are kept in a folder: with"
    ):
        self_play_trainer(CONFIG)


def test_fewer_snapshots_than_updates_are_taken_at_even_intervals(tmp_path: Path) -> None:
    opponents = dataclasses.replace(CONFIG.opponents, snapshots=4)
    trainer = self_play_trainer(dataclasses.replace(CONFIG, opponents=opponents), tmp_path)
    for _ in range(10):
        trainer.update()
    trainer.roles.close()
    assert trainer.decisions == 4000
    for role in SIDES:
        taken = sorted(int(path.name) for path in (tmp_path / "pool" / role).iterdir())
        assert taken == [1200, 2000, 3200, 4000]


def test_no_snapshot_is_lost_to_rounding(tmp_path: Path) -> None:
    opponents = dataclasses.replace(CONFIG.opponents, snapshots=22)
    config = dataclasses.replace(CONFIG, rollout_decisions=1, opponents=opponents)
    config = dataclasses.replace(config, total_decisions=22 * config.decisions_per_update)
    trainer = self_play_trainer(config, tmp_path)
    for number in range(1, 23):
        trainer.update()
        assert len(list((tmp_path / "pool" / "dwarfs").iterdir())) == number
    trainer.roles.close()


@pytest.mark.parametrize("agreement", [False, True])
def test_the_policies_of_a_run_know_whether_they_have_learnt_to_agree(
    agreement: bool, tmp_path: Path
) -> None:
    config = dataclasses.replace(CONFIG, agreement=agreement)
    networks = two_networks(config.network)
    write_snapshot(tmp_path, networks, config, 40)
    Checkpoints(tmp_path / "checkpoints", config).write(40, networks, [State()], {})
    for folder in (tmp_path, tmp_path / "checkpoints" / "latest"):
        for role in SIDES:
            path = folder / role if folder.name == "latest" else folder / role / f"{40:012d}"
            assert load_policy(path).agreement == agreement


def a_league(folder: Path) -> Opponents:
    return Opponents(CONFIG, 10, np.random.SeedSequence(1), Precision(False), folder)


@pytest.mark.parametrize("side", [0, 1])
def test_a_snapshot_plays_by_the_network_of_its_role(side: int, tmp_path: Path) -> None:
    networks = []
    for seed in range(2):
        torch.manual_seed(seed)
        networks.append(Network(SMALL))
        with torch.no_grad():
            for parameter in networks[-1].parameters():
                parameter.copy_(0.3 * torch.randn_like(parameter))
    write_snapshot(tmp_path, (networks[0], networks[1]), CONFIG, 5)
    league = Opponents(CONFIG, 10, np.random.SeedSequence(1), Precision(False), tmp_path)
    league.add_snapshots(5)
    league._names = [f"{5:012d}" if taken == side else "" for taken in league.sides.tolist()]
    mine = np.flatnonzero(league.sides == side)
    games = BatchedGame(len(mine), observations=False, masks=None)
    if side == 1:
        games.step(games.sample_actions())
    uniforms = np.linspace(0.1, 0.9, len(mine))
    played = league.act(side, mine, games.rows, uniforms).tolist()
    own, other = (
        Precision(False).draw(networks[role], games.rows, uniforms).tolist()
        for role in (side, 1 - side)
    )
    assert played == own != other


def test_snapshots_are_drawn_anew_as_often_as_the_run_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = self_play_trainer(CONFIG, tmp_path)
    drawn: list[bool] = []
    change = trainer.play.change

    def noted(wanted: Change) -> None:
        drawn.append(wanted.redraw)
        change(wanted)

    monkeypatch.setattr(trainer.play, "change", noted)
    for _ in range(4):
        trainer.update()
    trainer.roles.close()
    assert CONFIG.opponents.redraw_every == 2
    assert drawn == [False, True, False, True]


@pytest.mark.parametrize("side", [0, 1])
def test_a_snapshots_score_is_from_the_view_of_the_learner_that_met_it(
    side: int, tmp_path: Path
) -> None:
    league = a_league(tmp_path)
    league.add_snapshots(5)
    (name,) = league.pools[side].scores
    game = int(np.flatnonzero(league.sides == side)[-1])
    for _ in range(20):
        league._names[game] = name
        league.finished(game, 32)  # the dwarfs win by as much as can be
    score = league.pools[side].scores[name]
    assert 0.7 < score < 1 if side == 1 else 0 < score < 0.3
    assert league.pools[1 - side].scores[name] == 0.5


def test_scripted_seats_stay_scripted_when_there_are_snapshots(tmp_path: Path) -> None:
    league = a_league(tmp_path)
    league.add_snapshots(5)
    taken = np.flatnonzero(league.sides != MIRROR).tolist()
    for game in 3 * taken:
        league.finished(game, 0)
    names = league.state()["names"]
    assert [names[game].isdigit() for game in taken] == [False] * 2 + [True] * 4


def test_new_snapshots_are_not_met_before_others_are_drawn(tmp_path: Path) -> None:
    league = a_league(tmp_path)
    for decisions in range(5, 40):
        league.add_snapshots(decisions)
    assert league.state()["drawn"] == ["000000000005"] * 2
    league.redraw()
    assert league.state()["drawn"] != ["000000000005"] * 2


def test_scripted_opponents_draw_by_the_seed_of_the_run_and_each_side_by_its_own() -> None:
    opponents = OpponentConfig(scripted=1.0, players=("random",))
    config = dataclasses.replace(CONFIG, opponents=opponents)
    rows = BatchedGame(8, observations=False, masks=None).rows

    def decided(seed: int, side: int) -> tuple[int, ...]:
        seats = Opponents(config, 2, np.random.SeedSequence(seed), Precision(False))
        games = np.full(8, 1 - side)  # the seats are a troll, then a dwarf
        return tuple(seats.act(side, games, rows, np.zeros(8)).tolist())

    assert decided(1, 0) == decided(1, 0)
    assert len({decided(1, 0), decided(2, 0), decided(1, 1)}) == 3
