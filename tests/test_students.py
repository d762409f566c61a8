"""The students of a distillation: what they learn from, and that they do."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from small_distillation import FLOAT32, TINY, networks

from agents.networks.network import PolicyNetwork
from thud_env import Position
from training.distill.alphabeta_teacher import AlphaBetaTeacher
from training.distill.config import DistillConfig, StudentConfig
from training.distill.labels import Labels
from training.distill.lessons import Lesson, Lessons
from training.distill.student import Student, soft_targets, worth_to


def taught(network: PolicyNetwork, how: StudentConfig) -> Student:
    """A student of the dwarfs of classic."""
    config = DistillConfig(student=how)
    return Student(0, network, config, FLOAT32, np.random.default_rng(1))


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
    config = dataclasses.replace(config, student=how)
    student = Student(1, pair[1], config, FLOAT32, np.random.default_rng(seeds[1]))
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
    student = taught(networks()[0], how)
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
    student = taught(uniform, how)
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
    student = taught(uniform, how)
    student.add(Lesson(row, labels, np.zeros(1, np.float32)))
    count = len(Position.start().legal_actions())
    first, *_, last = [student.learn(1, 0.0)["regret"] for _ in range(40)]
    assert first == pytest.approx((0.5 + 1.5 * (count - 2)) / count)
    assert last < first


def test_short_lessons_are_learnt_from_as_often_as_long_ones() -> None:
    row = Position.start().row[None]
    lesson = Lesson(
        row, AlphaBetaTeacher(TINY.teacher, "classic").label(row), np.zeros(1, np.float32)
    )
    how = StudentConfig(minibatch_size=4, passes=3)
    student = taught(networks()[0], how)
    due = []
    for _ in range(8):
        student.add(lesson)
        due.append(student.due)
    assert due == [0, 1, 1, 1, 0, 1, 1, 1]  # 8 states, 3 times each, 4 at once


def lesson_of(*positions: Position) -> Lesson:
    rows = np.stack([position.row for position in positions])
    labels = AlphaBetaTeacher(TINY.teacher, "classic").label(rows)
    return Lesson(rows, labels, np.zeros(len(rows), np.float32))


def test_a_student_learns_from_all_lessons_alike() -> None:
    first, second = Position.start(), Position.start().play("dE2-E6").play("TG7-F6")
    student = taught(networks()[0], StudentConfig(minibatch_size=3000))
    student.add(lesson_of(first))
    student.add(lesson_of(second, second))
    drawn = (student._draw().rows == first.row).all(axis=1)
    assert abs(drawn.mean() - 1 / 3) < 0.05


def test_a_step_of_a_student_forgets_the_gradient_of_the_one_before() -> None:
    student = taught(
        networks()[0], StudentConfig(minibatch_size=4, learning_rate=0.0, max_grad_norm=1e12)
    )
    student.add(lesson_of(Position.start()))
    for parameter in student._network.parameters():
        parameter.grad = torch.full_like(parameter, 1e9)
    student.learn(1, 0.0)
    given = [one.grad for one in student._network.parameters() if one.grad is not None]
    assert max(float(one.abs().max()) for one in given) < 1e6


def test_the_value_loss_is_weighed_in_points() -> None:
    how = StudentConfig(
        minibatch_size=4, learning_rate=0.0, max_grad_norm=1e12, policy_coef=0.0, value_coef=0.5
    )
    student, lesson = taught(networks()[0], how), lesson_of(Position.start())
    for parameter in student._network.parameters():
        torch.nn.init.zeros_(parameter)
    lesson.values[:] = 0.25
    student.add(lesson)
    assert student.learn(1, 0.0)["value_loss"] == 8**2
    (gradient,) = student._network.value[-1].bias.grad.tolist()
    assert gradient == 0.5 * 2 * 32 * -8


def test_the_policy_loss_is_a_mean_over_states_however_many_decisions_have_labels() -> None:
    row, legal = Position.start().row[None], Position.start().legal_actions()
    labels = Labels(*(np.array(part) for part in ([4], legal[:4], [0, 10, 30, 90], [0])))
    uniform = networks()[0]
    for parameter in uniform.parameters():
        torch.nn.init.zeros_(parameter)
    student = taught(uniform, StudentConfig(minibatch_size=3, learning_rate=0.0))
    student.add(Lesson(row, labels, np.zeros(1, np.float32)))
    assert student.learn(1, 0.0)["policy_loss"] == pytest.approx(math.log(len(legal)))
