"""Distilling a search: labels, lessons, students, and a run that is stopped and goes on."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from reliability.power import Disk
from rich.console import Console
from safetensors.numpy import load_file
from test_docs import table

from agents.alphabeta import Searcher, SearchOptions
from agents.networks.network import Network, NetworkConfig
from agents.policy_mcts import PolicyMctsAgent
from agents.search.evaluation import final_value
from agents.search.weights import published_weights
from thud_env import BatchedGame, Position
from thud_env.jit.rng import seed_generators
from thud_env.position import SIDES
from thud_env.rules.row import NO_QUESTION, ONGOING, PENDING, TERMINATION, TO_MOVE
from thud_env.rulesets import CLASSIC, RULESETS
from thud_env.symmetry import map_action, symmetries_of
from training.config import ConfigError
from training.distill import alphabeta_teacher
from training.distill.__main__ import distil, main
from training.distill.alphabeta_teacher import AlphaBetaTeacher
from training.distill.config import DistillConfig, LessonConfig, StudentConfig, TeacherConfig
from training.distill.distillation import Distillation
from training.distill.labels import Labels
from training.distill.lessons import Lesson, Lessons, followed_values
from training.distill.student import Student, soft_targets, worth_to
from training.distill.tree_teacher import TreeTeacher, _Students
from training.options import Options
from training.process.precision import Precision
from training.selfplay.frames import map_rows

torch.set_num_threads(1)
FLOAT32 = Precision(bfloat16=False)
SMALL = TeacherConfig(depth=2, quiescence=2, considered=2000, reach=60)
ROOT = Path(__file__).parents[1]
TINY = DistillConfig(
    name="tiny",
    total_decisions=96,
    num_games=4,
    rollout_decisions=6,
    checkpoint_every=1,
    keep_checkpoints=9,
    evaluation_games=0,
    precision="float32",
    network=NetworkConfig(channels=4, blocks=1, key_size=2, attack_planes=True),
    teacher=TeacherConfig(depth=1, quiescence=1),
    lessons=LessonConfig(scripted=0.3),
    student=StudentConfig(minibatch_size=8, passes=2.0),
)


def some_rows(rules: str, seed: int = 3) -> np.ndarray:
    """A few states of random play, in the middle of turns too."""
    games = BatchedGame(4, rules, seed=seed, observations=False)
    rows = []
    for step in range(90):
        games.step(games.sample_actions())
        if step % 30 == 29:
            rows += [row.copy() for row in games.rows if row[TERMINATION] == ONGOING]
    return np.stack(rows)


# -- labels --------------------------------------------------------------------------------


def searched(row: np.ndarray, decision: int, config: TeacherConfig) -> int:
    """What a decision is worth to the side that makes it, by a search of its own."""
    child = Position(row).apply(decision).row
    same_side = child[TO_MOVE] == row[TO_MOVE]
    if child[TERMINATION] != ONGOING:
        value = int(final_value(child))
    else:
        turns = config.depth - 1 if child[PENDING] == NO_QUESTION else config.depth
        searcher = Searcher(published_weights(), seed_generators(1, 0))
        options = SearchOptions(
            turns, quiescence=config.quiescence, learned=config.evaluation == "learned"
        )
        value = searcher.value(child, options)
    return value if same_side else -value


@pytest.mark.parametrize(
    ("rules", "evaluation"),
    [("classic", "features"), ("classic", "learned"), ("koom-valley", "features")],
)
def test_labels_are_what_the_search_says_of_each_decision(
    rules: str, evaluation: Literal["features", "learned"]
) -> None:
    config = dataclasses.replace(SMALL, depth=1, evaluation=evaluation)
    rows = some_rows(rules)[[0, 1, -1]]  # in classic dwarfs, trolls amid a turn, and before one
    labels = AlphaBetaTeacher(config, rules).label(rows)
    for n, row in enumerate(rows):
        legal = Position(row).legal_actions()
        scores = np.array([searched(row, int(decision), config) for decision in legal])
        near = scores > scores.max() - config.reach
        mine = slice(labels.starts[n], labels.starts[n + 1])
        assert labels.decisions[mine].tolist() == legal[near].tolist()
        assert labels.gaps[mine].tolist() == (scores.max() - scores[near]).tolist()
        assert labels.values[n] == scores.max() * (1 if row[TO_MOVE] == 0 else -1)


def test_two_turns_deep_the_best_is_the_searchs() -> None:
    rows = some_rows("classic")[:3]
    labels = AlphaBetaTeacher(SMALL, "classic").label(rows)
    for n, row in enumerate(rows):
        for k in range(labels.starts[n], min(labels.starts[n] + 3, labels.starts[n + 1])):
            value = searched(row, int(labels.decisions[k]), SMALL)
            best = labels.values[n] * (1 if row[TO_MOVE] == 0 else -1)
            assert best - labels.gaps[k] == value


def test_labels_do_not_depend_on_how_many_cores_make_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some_rows("classic")
    whole = AlphaBetaTeacher(SMALL, "classic").label(rows)
    for cores in (1, 3, 2 * len(rows)):
        monkeypatch.setattr(alphabeta_teacher, "available_cores", lambda cores=cores: cores)
        shared = AlphaBetaTeacher(SMALL, "classic").label(rows)
        for name, array in vars(whole).items():
            assert np.array_equal(getattr(shared, name), array), (cores, name)


@pytest.mark.parametrize("rules", ["classic", "koom-valley-football"])
def test_labels_turn_with_the_board(rules: str) -> None:
    rows = some_rows(rules)[:2]
    labels = AlphaBetaTeacher(SMALL, rules).label(rows)
    for symmetry in symmetries_of(rules)[1:3]:
        images = map_rows(np.full(len(rows), symmetry), rows)
        turned = AlphaBetaTeacher(SMALL, rules).label(images)
        assert np.array_equal(turned.values, labels.values)
        for n in range(len(rows)):
            one, other = (
                dict(zip(decisions.tolist(), gaps.tolist(), strict=True))
                for decisions, gaps in (
                    (
                        map_action(symmetry, labels[np.array([n])].decisions),
                        labels[np.array([n])].gaps,
                    ),
                    (turned[np.array([n])].decisions, turned[np.array([n])].gaps),
                )
            )
            assert one == other


TREE = TeacherConfig(simulations=32, considered=4)


def test_a_tree_labels_what_its_simulations_found() -> None:
    rows = some_rows("classic")
    labels = TreeTeacher(TREE, networks(), FLOAT32, seed=5).label(rows)
    assert labels.counts.max() > 1
    assert labels.gaps.max() < TREE.reach
    searches = PolicyMctsAgent(
        _Students.now(networks()),
        sims=32,
        root="gumbel",
        considered=4,
        lookahead=TREE.lookahead,
        noise=1.0,
        seed=5,
    )
    for n, found in enumerate(searches.think_rows(rows)):
        mine = slice(labels.starts[n], labels.starts[n + 1])
        assert labels.values[n] == found.value * (1 if rows[n, TO_MOVE] == 0 else -1)
        tried = [one for one, visits in found.visits.items() if visits]
        assert 0 < len(tried) <= 4
        near = [one for one in sorted(tried) if found.value - found.values[one] < TREE.reach]
        assert labels.decisions[mine].tolist() == near
        gaps = [max(0, found.value - found.values[one]) for one in near]
        assert labels.gaps[mine].tolist() == gaps
        assert gaps[near.index(found.decisions[0])] == 0


def test_a_tree_teacher_keeps_the_students_as_they_were() -> None:
    rows, pair = some_rows("classic"), networks()
    teacher = TreeTeacher(TREE, pair, FLOAT32, seed=5)
    before = teacher.label(rows[:1])
    for network in pair:
        for parameter in network.parameters():
            torch.nn.init.zeros_(parameter)
    again = TreeTeacher(TREE, pair, FLOAT32, seed=5).label(rows[:1])
    kept = teacher.label(rows[:1])
    assert np.array_equal(kept.values, before.values)
    assert not np.array_equal(again.values, before.values)


def test_some_labels_of_several_lots() -> None:
    one = Labels(*(np.array(a) for a in ([2, 1], [3, 5, 9], [0, 7, 0], [10, -20])))
    two = Labels(*(np.array(a) for a in ([1], [4], [0], [30])))
    chosen = Labels.joined([one, two])[np.array([2, 0])]
    assert [array.tolist() for array in vars(chosen).values()] == [
        [1, 2],
        [4, 3, 5],
        [0, 0, 7],
        [30, 10],
    ]


# -- lessons -------------------------------------------------------------------------------


def test_followed_values_by_hand() -> None:
    values = np.array([[0.0, 0.4], [0.2, 0.4], [0.6, -0.4]], dtype=np.float32)
    ended = np.array([[False, True], [False, False], [False, False]])
    finals = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]], dtype=np.float32)
    found = followed_values(values, ended, finals, decay=0.5)
    assert found[:, 0].tolist() == pytest.approx([0.2, 0.4, 0.6])
    assert found[:, 1].tolist() == pytest.approx([0.7, 0.0, -0.4])


def networks() -> tuple[Network, Network]:
    torch.manual_seed(1)
    return Network(TINY.network), Network(TINY.network)


@pytest.mark.parametrize("rules", RULESETS)
def test_a_lesson_is_of_battles_that_go_on(rules: str) -> None:
    config = dataclasses.replace(TINY, rules=rules, max_turns=40)
    teacher = AlphaBetaTeacher(config.teacher, config.rules)
    lessons = Lessons(config, networks(), FLOAT32, np.random.SeedSequence(1))
    both = Lesson.joined([lessons.give(teacher, with_student) for with_student in (False, True)])
    assert len(both.rows) == 2 * config.num_games * config.rollout_decisions
    assert (both.rows[:, TERMINATION] == ONGOING).all()
    assert np.abs(both.values).max() <= 1
    again = teacher.label(both.rows)
    for name, array in vars(both.labels).items():
        assert np.array_equal(array, getattr(again, name))


def test_a_start_is_found_where_most_random_decisions_end_the_battle() -> None:
    many = LessonConfig(book=0.0, random_start=2**63 - 1)
    config = dataclasses.replace(TINY, num_games=2, max_turns=3, lessons=many)
    lessons = Lessons(config, networks(), FLOAT32, np.random.SeedSequence(1))
    assert (lessons.state().tensors["rows"][:, TERMINATION] == ONGOING).all()


def test_a_result_is_in_the_unit_of_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    few = CLASSIC.replace(name="few", dwarfs="H4 A6", trolls="H3")  # the largest margin is 4
    from_setup = LessonConfig(book=0.0, random_start=0)
    config = dataclasses.replace(TINY, rules=few.spec, max_turns=1, lessons=from_setup)
    lessons = Lessons(config, networks(), FLOAT32, np.random.SeedSequence(1))
    (hurl,) = Position.start(few).decisions("dH4-H3xH3")
    monkeypatch.setattr(lessons, "_decide", lambda *_: np.full(config.num_games, hurl))
    over, paid = lessons._step(None, False)
    assert over.all()
    assert set(paid) == {2 / 32}  # both dwarfs are left


# -- students ------------------------------------------------------------------------------


def test_a_student_draws_at_the_temperature_of_the_lessons() -> None:
    config = dataclasses.replace(
        TINY, lessons=LessonConfig(student=1.0, random=0.0, student_temperature=0.0)
    )
    pair = networks()
    lessons = Lessons(config, pair, FLOAT32, np.random.SeedSequence(1))
    given = lessons.give(AlphaBetaTeacher(SMALL, "classic"), with_student=True)
    steps = given.rows.reshape(config.rollout_decisions, config.num_games, -1)
    for before, after in pairwise(steps):
        for row, following in zip(before, after, strict=True):
            inputs = pair[row[TO_MOVE]].inputs(row[None])
            log_probs, _ = pair[row[TO_MOVE]](inputs.planes, inputs.decisions, inputs.game)
            likeliest = Position(row).apply(int(inputs.decisions[log_probs.argmax()]))
            assert np.array_equal(likeliest.row, following)


def test_targets_are_the_softmax_of_the_scores() -> None:
    labels = Labels(*(np.array(a) for a in ([2, 1], [3, 5, 9], [0, 10, 0], [0, 0])))
    lesson = Lesson(np.zeros((2, 432), np.int16), labels, np.zeros(2, np.float32))
    share = 1 / (1 + np.exp(-1))
    assert soft_targets(lesson, 10).tolist() == pytest.approx([share, 1 - share, 1])


def test_what_is_still_to_be_paid() -> None:
    rows = Position.start().play("dE2-E6").play("TG7-F6").play("dE6-F6xF6").row[None].copy()
    lesson = Lesson(
        rows, AlphaBetaTeacher(TINY.teacher, "classic").label(rows), np.array([0.25], np.float32)
    )
    assert worth_to(0, lesson).tolist() == [0.25 - 4 / 32]  # the dwarfs lead by 4 already
    assert worth_to(1, lesson).tolist() == [4 / 32 - 0.25]


def test_a_student_learns_what_it_is_taught() -> None:
    config = dataclasses.replace(TINY, num_games=16)
    pair = networks()
    seeds = np.random.SeedSequence(1).spawn(2)
    teacher = AlphaBetaTeacher(config.teacher, config.rules)
    lesson = Lessons(config, pair, FLOAT32, seeds[0]).give(teacher, with_student=False)
    how = StudentConfig(minibatch_size=32, learning_rate=1e-2, temperature=30)
    reach = config.teacher.reach
    student = Student(1, pair[1], "classic", how, reach, FLOAT32, np.random.default_rng(seeds[1]))
    student.add(lesson)
    before, after = student.learn(3, 0.0), [student.learn(40, 0.0) for _ in range(2)][-1]
    assert after["excess"] < 0.7 * before["excess"]
    assert after["value_loss"] < before["value_loss"]


def test_a_minibatch_of_one_state_is_measured_too() -> None:
    row = Position.start().row[None]
    lesson = Lesson(
        row, AlphaBetaTeacher(TINY.teacher, "classic").label(row), np.zeros(1, np.float32)
    )
    how = StudentConfig(minibatch_size=1)
    student = Student(0, networks()[0], "classic", how, 150, FLOAT32, np.random.default_rng(1))
    student.add(lesson)
    assert np.isfinite(list(student.learn(1, 0.0).values())).all()


def test_a_state_in_which_several_decisions_are_best_and_likeliest_agrees_once() -> None:
    row = Position.start().row[None]
    labels = Labels(*(np.array(a) for a in ([3], [0, 0, 0], [0, 0, 50], [0])))
    labels.decisions[:] = Position.start().legal_actions()[:3]
    uniform = networks()[0]
    for parameter in uniform.parameters():
        torch.nn.init.zeros_(parameter)
    how = StudentConfig(minibatch_size=4, learning_rate=0.0)
    student = Student(0, uniform, "classic", how, 150, FLOAT32, np.random.default_rng(1))
    student.add(Lesson(row, labels, np.zeros(1, np.float32)))
    assert student.learn(1, 0.0)["agreement"] == 1


def test_regret_is_what_the_policy_loses_on_average() -> None:
    row = Position.start().row[None]
    labels = Labels(*(np.array(a) for a in ([2], [0, 0], [0, 50], [0])))
    labels.decisions[:] = Position.start().legal_actions()[:2]
    uniform = networks()[0]
    for parameter in uniform.parameters():
        torch.nn.init.zeros_(parameter)
    how = StudentConfig(minibatch_size=4, policy_coef=0.0, regret_coef=1.0)
    student = Student(0, uniform, "classic", how, 150, FLOAT32, np.random.default_rng(1))
    student.add(Lesson(row, labels, np.zeros(1, np.float32)))
    count = len(Position.start().legal_actions())
    first, *_, last = [student.learn(1, 0.0)["regret"] for _ in range(40)]
    assert first == pytest.approx((0.5 + 1.5 * (count - 2)) / count)
    assert last < first


# -- runs ----------------------------------------------------------------------------------


def quietly(runs: Path, config: DistillConfig = TINY, **named: object) -> Path:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    return distil(config, console, runs, Options(**named))  # type: ignore[arg-type]


@pytest.mark.parametrize("teacher", [TINY.teacher, TREE])
def test_a_run_that_breaks_off_and_goes_on_equals_the_unbroken_one(
    teacher: TeacherConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = dataclasses.replace(TINY, teacher=teacher)
    whole = quietly(tmp_path / "whole", config)
    update = Distillation.update

    def breaks_off(distillation: Distillation) -> dict[str, float]:
        metrics = update(distillation)
        if distillation.updates == 3:  # its lesson is written, its checkpoint is not
            raise ConnectionError
        return metrics

    with monkeypatch.context() as patch:
        patch.setattr(Distillation, "update", breaks_off)
        with pytest.raises(ConnectionError):
            quietly(tmp_path / "broken", config)
    broken = quietly(tmp_path / "broken", config, resume=True)
    last = f"{96:012d}"
    for name in ("state.json", "state.safetensors", "dwarfs/model.safetensors"):
        one, other = (run / "checkpoints" / last / name for run in (whole, broken))
        assert one.read_bytes() == other.read_bytes(), name
    lines = [
        [
            {key: value for key, value in json.loads(line).items() if "speed/" not in key}
            for line in (run / "metrics.jsonl").read_text().splitlines()
        ]
        for run in (whole, broken)
    ]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 4


def test_lessons_are_on_the_disk_before_a_checkpoint_that_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, image = tmp_path / "runs", tmp_path / "image"
    runs.mkdir()
    disk, fsync = Disk(runs), os.fsync

    def seen(file: int) -> None:
        fsync(file)
        disk.flushed(file)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", seen)
        quietly(runs)
    disk.image(image)  # what a power cut leaves
    disk.close()
    quietly(image, resume=True)
    assert not list(image.glob("tiny/checkpoints/*.damaged*"))
    assert (image / "tiny" / "lessons" / "000000000096.json").exists()


@pytest.mark.parametrize("fault", ["damaged", "missing"])
def test_a_run_goes_on_from_before_a_lesson_that_is_damaged_or_missing(
    fault: str, tmp_path: Path
) -> None:
    whole = quietly(tmp_path)
    weights = [weights_of(whole, role) for role in SIDES]
    if fault == "damaged":
        (whole / "lessons" / "000000000096.json").write_text("{}")  # the last that is read
    else:
        (whole / "lessons" / "000000000048.json").unlink()
    quietly(tmp_path, resume=True)
    assert [weights_of(whole, role) for role in SIDES] == weights
    aside = [path.name for path in (whole / "checkpoints").glob("*.damaged*")]
    assert len(aside) == (1 if fault == "damaged" else 3)


def test_the_tensors_of_a_lesson_are_those_of_the_page(tmp_path: Path) -> None:
    _, *rows = table("lesson tensors")
    lessons = sorted((quietly(tmp_path) / "lessons").glob("*.safetensors"))
    assert [int(path.stem) for path in lessons] == [24, 48, 72, 96]
    for path in lessons:
        tensors = load_file(path)
        sizes = {"N": len(tensors["rows"]), "K": int(tensors["counts"].sum()), "432": 432}
        assert sizes["N"] == 24
        found = {name: (one.shape, str(one.dtype)) for name, one in tensors.items()}
        assert found == {
            name: (tuple(sizes[size] for size in shape.strip("[]").split(", ")), dtype)
            for name, (shape, dtype) in ((row[0], row[1].rsplit(" ", 1)) for row in rows)
        }


def test_a_lesson_names_its_ruleset_so_that_another_process_reads_its_rows(tmp_path: Path) -> None:
    mine = "classic:name=taught,max_turns=77"
    from_setup = dataclasses.replace(TINY.lessons, book=0.0)
    config = dataclasses.replace(TINY, rules=mine, total_decisions=24, lessons=from_setup)
    path = quietly(tmp_path, config) / "lessons" / "000000000024.safetensors"
    code = (
        "import sys, safetensors, thud_env; file = safetensors.safe_open(sys.argv[1], 'numpy')\n"
        "thud_env.get_ruleset(file.metadata()['rules'])\n"
        "print(thud_env.Position(file.get_tensor('rows')[0]).rules.spec)"
    )
    shown = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True)
    assert shown.stdout.decode().strip() == mine


def weights_of(run: Path, role: str) -> bytes:
    return (run / "checkpoints" / "latest" / role / "model.safetensors").read_bytes()


def test_a_misspelt_key_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("teacher: {dept: 2}\n")
    assert main([str(path)]) == 2
    assert "did you mean teacher.depth" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("anchors=[greedi]", "anchors: unknown agent 'greedi': did you mean 'greedy'?"),
        ("lessons.players=[greedi]", "lessons.players: unknown agent 'greedi': did you mean"),
        ("teacher.simulations=1", "teacher.simulations is 1: the first only lists decisions"),
        ("start_from=nowhere", "start_from: there is no folder nowhere: a run's"),
        (
            "rules='classic:name=six'",
            "lessons.book: there is no book of openings of classic:name=six",
        ),
    ],
)
def test_a_run_that_could_not_go_far_is_one_line_and_writes_nothing(
    override: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    config = ROOT / "configs" / "distill" / "classic.yaml"
    assert main([str(config), override]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"distill: {said}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([str(ROOT / "configs" / "distill" / "classic.yaml"), "device=cuda"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "there is no GPU" in line
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_no_spec_can_name_is_refused_before_anything_is_learnt(
    tmp_path: Path,
) -> None:
    config = dataclasses.replace(TINY, evaluation_games=2)
    with pytest.raises(ConfigError, match="no spec can name a path with , or ="):
        distil(config, Console(quiet=True), tmp_path / "a,b")


def test_battles_that_may_end_by_agreement_are_refused() -> None:
    with pytest.raises(ValueError, match="agreement: teachers label no offers"):
        DistillConfig(agreement=True)
