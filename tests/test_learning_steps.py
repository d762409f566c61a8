"""What each gradient step of a student or a learner goes by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from small_distillation import FLOAT32, SMALL, TINY, networks

from thud_env.rules.row import TO_MOVE
from thud_env.symmetry import map_rows, symmetries_of
from training.arena.openings import read_openings
from training.config import PPOConfig
from training.distill.alphabeta_teacher import AlphaBetaTeacher
from training.distill.config import DistillConfig, StudentConfig
from training.distill.distillation import Distillation
from training.distill.lessons import Lesson
from training.distill.student import Student
from training.learner.ppo import Learner
from training.process.clock import Clock
from training.process.ranks import Ranks


def one_state(rules: str) -> Lesson:
    """A lesson of a state of the dwarfs that is none of its images."""
    rows = read_openings(rules).rows(9)
    row = rows[rows[:, TO_MOVE] == 0][:1]
    labels = AlphaBetaTeacher(SMALL, rules).label(row)
    return Lesson(row, labels, np.zeros(1, np.float32))


@pytest.mark.parametrize("rules", ["classic", "koom-valley"])
def test_a_state_is_learnt_from_in_all_its_images(rules: str) -> None:
    lesson, network, seen = one_state(rules), networks()[0], set()
    network.register_forward_pre_hook(
        lambda _, given: seen.update(one.numpy().tobytes() for one in given[0].planes)
    )
    config = DistillConfig(rules=rules, student=StudentConfig(minibatch_size=64))
    student = Student(0, network, config, FLOAT32, np.random.default_rng(1))
    student.add(lesson)
    student.learn(2, 0.0)
    images = [map_rows(one, lesson.rows) for one in symmetries_of(rules)]
    shown = {network.inputs(rows).planes[0].numpy().tobytes() for rows in images}
    assert len(shown) == len(symmetries_of(rules))
    assert seen == shown


def test_the_learning_rate_of_a_student_falls_to_a_twentieth() -> None:
    student = Student(0, networks()[0], DistillConfig(), FLOAT32, np.random.default_rng(1))
    student.add(one_state("classic"))
    start = DistillConfig().student.learning_rate
    rates = []
    for progress in (0.0, 0.5, 1.0):
        told = student.learn(1, progress)["learning_rate"]
        groups = [group for one in student._optimisers.values() for group in one.param_groups]
        assert {group["lr"] for group in groups} == {told}
        rates.append(told)
    assert rates == pytest.approx([start, 0.525 * start, start / 20])


def test_gradients_of_a_student_are_scaled_down_to_their_norm(monkeypatch) -> None:
    norms = []
    how = StudentConfig(minibatch_size=4, max_grad_norm=1e-3)
    student = Student(
        0, networks()[0], DistillConfig(student=how), FLOAT32, np.random.default_rng(1)
    )
    student.add(one_state("classic"))

    def note() -> None:
        given = [one.grad for one in student._network.parameters() if one.grad is not None]
        norms.append(float(torch.stack([one.norm() for one in given]).norm()))

    for optimiser in student._optimisers.values():
        monkeypatch.setattr(optimiser, "step", note)
    student.learn(1, 0.0)
    assert norms
    assert max(norms) == pytest.approx(1e-3, rel=0.01)


def test_the_epsilon_of_adam_is_the_documented_one() -> None:
    random = np.random.default_rng(1)
    learner = Learner(networks()[0], PPOConfig(), FLOAT32, random, Clock(), Ranks())
    assert [group["eps"] for group in learner._optimiser.param_groups] == [1e-5]


def test_students_are_told_how_much_of_the_run_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    monkeypatch.setattr(
        Student, "learn", lambda student, steps, progress: told.append(progress) or {}
    )
    distillation = Distillation(TINY, tmp_path)
    for _ in range(5):
        distillation.update()
    distillation.roles.close()
    assert told == [0, 0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1, 1]
