"""The best checkpoint of each role is kept, and pointed to."""

from __future__ import annotations

import dataclasses
import io
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from resumed_run import (
    TINY,
    PowerCut,
    bests,
    lines,
    power_cut,
    quietly,
    stopping,
    unbroken_run,
)
from rich.console import Console
from untrained import link_untrained

from agents.networks.checkpoint import load_policy
from thud_env.outcome import SIDES
from training.process.roles import Roles, save_role, two_networks
from training.process.state import State
from training.runs.anchors import SCORE, Anchors, Best
from training.runs.folder import RunFolder
from training.runs.loop import run
from training.trainer import Trainer, self_play_trainer


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unbroken_run(tmp_path_factory.mktemp("unbroken"))


def test_the_best_of_each_role_is_kept_and_pointed_to(unbroken: Path) -> None:
    measured = {
        role: {
            line["decisions"]: line[f"{role}/margin_against_random"]
            + line[f"{role}/margin_against_greedy"]
            for line in lines(unbroken)
            if f"{role}/margin_against_random" in line
        }
        for role in SIDES
    }
    for role in SIDES:
        assert list(measured[role]) == [512, 1024, 1536]
        best = max(measured[role], key=measured[role].__getitem__)
        link = unbroken / "checkpoints" / "best" / role
        assert link.resolve().parent.name == f"{best:012d}"
        assert (link / "model.safetensors").exists()


def test_of_equally_good_checkpoints_the_newest_is_the_best(monkeypatch) -> None:
    """Against random and greedy play all battles of a Koom Valley game may be won. A role that
    becomes certain of everything may win them, too, but there is nothing left to learn.
    """
    config = dataclasses.replace(TINY, anchors=("random",), anchor_games=2)
    roles = self_play_trainer(config).roles
    trolls = {"trolls"}
    for scores, certain, best in (
        ([1.0, 1.0, 0.5], [{}] * 3, [Best(1.0, 2)] * 2),
        ([1.0, 1.0], [{}] * 2, [Best(1.0, 1, equal=2)] * 2),
        ([1.0, 1.0, 2.0], [{}] * 3, [Best(2.0, 3)] * 2),
        ([1.0, 1.0, 1.0], [{}, {}, trolls], [Best(1.0, 2, equal=3), Best(1.0, 1, equal=3)]),
        ([1.0, 1.0, 0.5, 1.0], [{}, {}, trolls, {}], [Best(1.0, 2, 4), Best(1.0, 1, 4)]),
    ):
        measuring = Anchors(config)
        for decisions, (score, now_certain) in enumerate(zip(scores, certain, strict=True), 1):
            monkeypatch.setattr(measuring, "_margin", lambda *_, now=score: now)
            measuring.measure(roles, decisions, now_certain)
            measuring.restore(measuring.state())
        assert list(measuring.best.values()) == best
    roles.close()


def test_a_role_that_is_certain_stays_so_while_it_rests(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(Anchors, "_margin", lambda *_: 1.0)
    entropies = iter([{"dwarfs/entropy": 0.5, "trolls/entropy": 0.001}, {}, {}])
    update = Trainer.update

    def measured(trainer: Trainer) -> dict[str, float]:
        metrics = update(trainer)
        return {k: v for k, v in metrics.items() if "/entropy" not in k} | next(entropies)

    monkeypatch.setattr(Trainer, "update", measured)
    config = dataclasses.replace(TINY, anchors=("random",), anchor_games=2, checkpoint_every=1)
    config = dataclasses.replace(config, total_decisions=3 * config.decisions_per_update)
    with RunFolder.begin(tmp_path / "tiny", config) as folder:
        run(self_play_trainer(config), folder, Console(file=io.StringIO()))
        best = {role: (folder.checkpoints.best / role).resolve().parent.name for role in SIDES}
    assert [int(best[role]) // config.decisions_per_update for role in SIDES] == [2, 1]


def test_an_anchor_stays_who_it_was_as_long_as_a_run_goes(tmp_path: Path) -> None:
    link = tmp_path / "latest"
    link_untrained(link, 1, "classic")
    anchors = (f"policy:{link}", "mcts:sims=2")
    config = dataclasses.replace(TINY, anchors=anchors, anchor_games=4, max_turns=30)
    measuring, roles = Anchors(config), self_play_trainer(config).roles
    before = measuring.measure(roles, 512, {})
    link_untrained(link, 2, "classic")
    assert measuring.measure(roles, 512, {}) == before
    assert Anchors(config).measure(roles, 512, {}) != before
    roles.close()


OWN_ANCHOR = """
import numpy as np
import agents
from thud_env import Position

class Drawing(agents.Agent):
    def __init__(self, seed: int = 0):
        self.random = np.random.default_rng(seed)  # and no method seed
    def act_rows(self, rows):
        return np.array([self.random.choice(Position(row).legal_actions()) for row in rows])
"""


def test_an_anchor_of_ones_own_carries_nothing_over(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "own_anchor.py").write_text(OWN_ANCHOR)
    monkeypatch.syspath_prepend(tmp_path)
    anchors = ("python:own_anchor:Drawing",)
    config = dataclasses.replace(TINY, anchors=anchors, anchor_games=4, max_turns=30)
    measuring, roles = Anchors(config), self_play_trainer(config).roles
    assert measuring.measure(roles, 512, {}) == measuring.measure(roles, 512, {})
    roles.close()


def test_rotation_spares_the_best(tmp_path: Path) -> None:
    folder = RunFolder.begin(tmp_path / "tiny", dataclasses.replace(TINY, keep_checkpoints=1))
    trainer = self_play_trainer(TINY)
    best = {"dwarfs": Best(1.0, 1), "trolls": Best(2.0, 2)}
    for decisions in (1, 2, 3, 4):
        folder.checkpoint(
            decisions, trainer.roles.networks, [State()], best if decisions > 1 else {}
        )
        if decisions == 1:
            best["dwarfs"] = Best(1.0, 1)
    trainer.roles.close()
    folder.close()
    kept = {path.name for path in folder.checkpoints.path.iterdir()}
    assert kept == {"000000000001", "000000000002", "000000000004", "latest", "best"}


def test_rotation_spares_no_checkpoint_before_the_first_update(tmp_path: Path) -> None:
    folder = RunFolder.begin(tmp_path / "tiny", dataclasses.replace(TINY, keep_checkpoints=1))
    trainer = self_play_trainer(TINY)
    folder.checkpoint(0, trainer.roles.networks, [State()], {})
    for decisions in (1, 2):
        folder.checkpoint(decisions, trainer.roles.networks, [State()], {"dwarfs": Best(1.0, 1)})
    trainer.roles.close()
    folder.close()
    assert [path.name for path in folder.checkpoints.numbered()] == ["000000000001", "000000000002"]


def test_an_old_checkpoint_that_is_a_link_is_removed_but_not_what_it_points_to(
    tmp_path: Path,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = RunFolder.begin(tmp_path / "tiny", dataclasses.replace(TINY, keep_checkpoints=1))
    trainer = self_play_trainer(TINY)
    folder.checkpoint(2, trainer.roles.networks, [State()], {})
    old = folder.checkpoints.path / "000000000001"
    old.symlink_to(elsewhere)
    folder.checkpoint(3, trainer.roles.networks, [State()], {})
    trainer.roles.close()
    folder.close()
    assert not old.is_symlink()
    assert elsewhere.is_dir()


def test_a_best_checkpoint_that_is_gone_is_no_longer_the_best(tmp_path: Path) -> None:
    """A newer one took its place, and was then damaged and set aside."""
    folder = RunFolder.begin(tmp_path / "tiny", dataclasses.replace(TINY, keep_checkpoints=1))
    trainer = self_play_trainer(TINY)
    for decisions in (1, 2):
        best = {"dwarfs": Best(float(decisions), decisions)}
        folder.checkpoint(decisions, trainer.roles.networks, [State()], best)
    trainer.roles.close()
    folder.close()
    checkpoints = folder.checkpoints
    assert checkpoints.still_there(best) == best
    (checkpoints.path / "000000000002").rename(checkpoints.path / "000000000002.damaged")
    assert checkpoints.still_there({"dwarfs": Best(1.0, 1)}) == {}
    checkpoints.point_to_best({})
    assert not (checkpoints.best / "dwarfs").is_symlink()


def test_each_measurement_draws_anew() -> None:
    config = dataclasses.replace(TINY, anchors=("random",), anchor_games=8, max_turns=40)
    roles = self_play_trainer(config).roles
    measuring = Anchors(config)
    found = [measuring.measure(roles, decisions, {}) for decisions in (512, 512, 1024)]
    roles.close()
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_each_role_is_measured_from_its_own_view(monkeypatch: pytest.MonkeyPatch) -> None:
    played = SimpleNamespace(margins=np.array([3, 4]))
    monkeypatch.setattr("training.runs.anchors.play_battles", lambda *_, **__: played)
    config = dataclasses.replace(TINY, anchors=("random",), anchor_games=2)
    roles = self_play_trainer(config).roles
    measuring = Anchors(config)
    found = measuring.measure(roles, 512, {})
    roles.close()
    for name in ("margin_against_random", SCORE):
        assert (found[f"dwarfs/{name}"], found[f"trolls/{name}"]) == (3.5, -3.5)
    assert measuring.best == {"dwarfs": Best(3.5, 512), "trolls": Best(-3.5, 512)}


def test_rotation_spares_what_may_be_the_best_once_it_has_gone_on_exploring(tmp_path: Path) -> None:
    folder = RunFolder.begin(tmp_path / "tiny", dataclasses.replace(TINY, keep_checkpoints=1))
    trainer = self_play_trainer(TINY)
    best = {"dwarfs": Best(1.0, 1, equal=2)}
    for decisions in (1, 2, 3):  # the third as a run is stopped, before another is measured
        folder.checkpoint(decisions, trainer.roles.networks, [State()], best)
    trainer.roles.close()
    folder.close()
    assert folder.checkpoints.still_there(best) == best


def test_a_run_that_goes_on_from_before_its_best_checkpoint_forgets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([1.0, 1.0, 0.5, 0.5, 9.0, 9.0])
    monkeypatch.setattr(Anchors, "_margin", lambda *_: next(scores))
    config = dataclasses.replace(
        TINY, anchors=("random",), anchor_games=2, checkpoint_every=1, keep_checkpoints=2
    )
    config = dataclasses.replace(config, total_decisions=3 * config.decisions_per_update)
    with RunFolder.begin(tmp_path / "tiny", config) as folder:
        run(self_play_trainer(config), folder, Console(file=io.StringIO()))
    checkpoints = folder.checkpoints
    (checkpoints.latest.resolve() / "state.json").write_text("damaged")
    scores = iter([0.25, 0.25])
    with RunFolder.resume(tmp_path / "tiny", config) as folder:
        run(self_play_trainer(config), folder, Console(file=io.StringIO()))
    for role in SIDES:
        assert (checkpoints.best / role / "model.safetensors").exists()


@pytest.mark.parametrize("side", [0, 1])
def test_each_role_is_measured_with_its_own_network(side: int) -> None:
    config = dataclasses.replace(TINY, anchors=("random",), anchor_games=2, max_turns=4)
    roles, asked = Roles.of(config), set()
    for number, network in enumerate(roles.networks):
        network.register_forward_hook(lambda *_, number=number: asked.add(number))
    Anchors(config)._margin(roles, side, "random", 1, 2)
    roles.close()
    assert asked == {side}


@pytest.mark.parametrize("agreement", [False, True])
def test_a_policy_says_whether_it_learnt_to_agree(agreement: bool, tmp_path: Path) -> None:
    config = dataclasses.replace(TINY, agreement=agreement)
    network = two_networks(config.network)[1]
    save_role(tmp_path / "trolls", "trolls", network, config, 7)
    saved = load_policy(tmp_path / "trolls")
    assert (saved.role, saved.rules, saved.decisions) == ("trolls", config.rules, 7)
    assert saved.agreement == agreement


def test_what_might_have_become_the_best_is_forgotten_once_it_is_gone(tmp_path: Path) -> None:
    with RunFolder.begin(tmp_path / "tiny", TINY) as folder:
        trainer = self_play_trainer(TINY)
        for decisions in (1, 2):
            folder.checkpoint(decisions, trainer.roles.networks, [State()], {})
        trainer.roles.close()
        shutil.rmtree(folder.checkpoints.path / "000000000002")
        best = {"dwarfs": Best(1.0, 1, equal=2)}
        assert folder.checkpoints.still_there(best) == {"dwarfs": Best(1.0, 1)}


def test_the_best_is_pointed_to_anew_before_a_run_goes_on(tmp_path: Path, monkeypatch) -> None:
    scores = iter([1.0, 1.0, 0.5, 0.5, 9.0, 9.0])
    monkeypatch.setattr(Anchors, "_margin", lambda *_: next(scores))
    config = dataclasses.replace(
        TINY, anchors=("random",), anchor_games=2, checkpoint_every=1, total_decisions=768
    )
    folder, _ = quietly(tmp_path, config)
    assert bests(folder) == ["../000000000768/dwarfs", "../000000000768/trolls"]
    (folder / "checkpoints" / "latest" / "state.json").write_text("damaged")
    stopping(monkeypatch, 1, power_cut)
    with pytest.raises(PowerCut):
        quietly(tmp_path, config, resume=True)
    assert bests(folder) == ["../000000000256/dwarfs", "../000000000256/trolls"]
