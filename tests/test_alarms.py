"""What is said when a run goes wrong, and where it stops."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from small_run import SMALL_RUN

from thud_env.outcome import SIDES
from training.config import OpponentConfig
from training.options import Options
from training.runs.alarms import Alarms
from training.runs.anchors import SCORE, Anchors, Best
from training.runs.folder import RunFolder
from training.train import main, train
from training.trainer import Trainer

QUICK = dataclasses.replace(
    SMALL_RUN,
    total_decisions=500,
    checkpoint_every=1,
    anchor_games=0,
    opponents=OpponentConfig(),
)


def measured_at(dwarfs: float, trolls: float) -> dict[str, float]:
    """Metrics of an update after which the roles were measured."""
    return {f"dwarfs/{SCORE}": dwarfs, f"trolls/{SCORE}": trolls}


def test_a_role_that_falls_back_is_named_with_its_last_good_checkpoint(tmp_path: Path) -> None:
    folder = RunFolder.begin(tmp_path / "small", QUICK)
    alarms = Alarms("classic", folder.checkpoints)
    best = {role: Best(20.0, 100) for role in SIDES}
    said = [
        alarms.check(decisions, measured_at(margin, 19.0), best)
        for decisions, margin in (
            (200, 15.0),
            (300, 5.0),
            (400, 15.0),
            (500, 6),
            (600, 4),
            (700, 3),
        )
    ]
    folder.close()
    assert [len(lines) for lines in said] == [0, 0, 0, 0, 1, 0]
    assert said[4] == [
        "after 600 decisions the dwarfs score +4.00 against the anchors, +20.00 after 100; "
        f"their last good checkpoint is {folder.checkpoints.best / 'dwarfs'}"
    ]


def test_a_role_has_fallen_a_fifth_of_the_range_of_margins_below_its_best(tmp_path: Path) -> None:
    folder = RunFolder.begin(tmp_path / "small", QUICK)
    alarms = Alarms("classic", folder.checkpoints)
    best = {role: Best(20.0, 100) for role in SIDES}
    said = [alarms.check(200, measured_at(score, 20.0), best) for score in (7.3, 7.3, 7.1, 7.1)]
    folder.close()
    assert [len(lines) for lines in said] == [0, 0, 0, 1]


def test_a_policy_that_is_certain_of_everything_is_named_once(tmp_path: Path) -> None:
    folder = RunFolder.begin(tmp_path / "small", QUICK)
    alarms = Alarms("classic", folder.checkpoints)
    said = [
        alarms.check(1, {"trolls/entropy": entropy}, {})
        for entropy in (0.5, 0.001, 0.001, 0.5, 0.0)
    ]
    folder.close()
    assert [len(lines) for lines in said] == [0, 1, 0, 0, 1]
    assert "the trolls explore no more" in said[1][0]
    assert said[1][0].endswith("; no checkpoint was measured")


def test_a_role_that_rests_explores_as_it_did(tmp_path: Path) -> None:
    folder = RunFolder.begin(tmp_path / "small", QUICK)
    alarms = Alarms("classic", folder.checkpoints)
    certain = []
    for update in ({"trolls/entropy": 0.001}, {}, {"trolls/entropy": 0.5}, {}):
        certain.append(alarms.certain(update))
        alarms.check(1, update, {})
    folder.close()
    assert certain == [{"trolls"}, {"trolls"}, set(), set()]


def test_the_checkpoint_that_is_measured_now_is_named_before_it_is_written(tmp_path: Path) -> None:
    folder = RunFolder.begin(tmp_path / "small", QUICK)
    alarms = Alarms("classic", folder.checkpoints)
    (line,) = alarms.check(1, {"trolls/entropy": 0.001}, {"trolls": Best(3.0, 1)})
    folder.close()
    assert line.endswith(f"; their best checkpoint is {folder.checkpoints.best / 'trolls'}")


def test_alarms_go_on_from_where_they_were(tmp_path: Path) -> None:
    folder = RunFolder.begin(tmp_path / "small", QUICK)
    best = {role: Best(20.0, 100) for role in SIDES}
    fallen = {**measured_at(3.0, 19.0), "trolls/entropy": 0.0}
    alarms = Alarms("classic", folder.checkpoints)
    said = [len(alarms.check(200, fallen, best))]
    for _ in range(2):
        state, alarms = alarms.state(), Alarms("classic", folder.checkpoints)
        alarms.restore(state)
        said.append(len(alarms.check(300, fallen, best)))
    folder.close()
    assert said == [1, 1, 0]  # certain; fallen twice in a row; nothing new


def test_a_run_that_goes_on_says_no_alarm_again(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(Anchors, "measure", lambda *_: {"trolls/entropy": 0.0})
    update = Trainer.update

    def breaks_off(trainer: Trainer) -> dict[str, float]:
        if trainer.updates == 1:
            raise ConnectionError
        return update(trainer)

    first, second = (Console(file=io.StringIO(), width=200) for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", breaks_off)
        with pytest.raises(ConnectionError):
            train(QUICK, first, tmp_path)
    train(QUICK, second, tmp_path, Options(resume=True))
    assert "the trolls explore no more" in first.file.getvalue()  # type: ignore[attr-defined]
    assert "explore no more" not in second.file.getvalue()  # type: ignore[attr-defined]


def test_a_run_with_a_nan_metric_stops_and_keeps_its_checkpoints(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    update, updates = Trainer.update, []

    def breaks(trainer: Trainer) -> dict[str, float]:
        metrics = update(trainer)
        updates.append(1)
        return {**metrics, "dwarfs/value_loss": float("nan")} if len(updates) == 2 else metrics

    monkeypatch.setattr(Trainer, "update", breaks)
    Path("small.yaml").write_text(yaml.safe_dump(dataclasses.asdict(QUICK)))
    assert main(["small.yaml"]) == 2
    assert "dwarfs/value_loss is nan after 512 decisions" in capsys.readouterr().err
    names = sorted(path.name for path in (tmp_path / "runs/small/checkpoints").iterdir())
    assert names == ["000000000256", "latest"]
