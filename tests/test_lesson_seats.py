"""Lessons: who sits where, who decides there, and from when on students play."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_distillation import FLOAT32, SMALL, TINY, TREE, networks, without_chance

from agents.networks.checkpoint import save_policy
from agents.networks.drawing import draw_decisions
from agents.search.scale import as_share
from thud_env.batch.states import legal_lists
from thud_env.outcome import SIDES
from thud_env.rules.row import MAX_TURNS, TO_MOVE, TURNS
from training.arena.openings import read_openings
from training.distill.alphabeta_teacher import AlphaBetaTeacher
from training.distill.config import LessonConfig, StudentConfig
from training.distill.distillation import Distillation
from training.distill.lessons import STUDENT, TEACHER, Lesson, Lessons


class PlaysTheLast:
    """Plays the last legal decision, and keeps whom it was asked for."""

    def __init__(self) -> None:
        self.asked: list[np.ndarray] = []

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        self.asked.append(rows)
        decisions, starts = legal_lists(rows)
        return decisions[starts[1:] - 1]


def seated(seats: list[list[int]], **lessons: Any) -> Lessons:
    """Lessons of one battle for each pair of seats, a turn in, where all is decided surely."""
    how = LessonConfig(book=1.0, random=0.0, teacher_temperature=0.01)
    how = without_chance(dataclasses.replace(how, **lessons))
    config = dataclasses.replace(TINY, num_games=len(seats), lessons=how)
    made = Lessons(config, networks(), FLOAT32, np.random.SeedSequence(1))
    made._seats[:] = seats
    return made


def test_every_seat_is_played_by_who_sits_there() -> None:
    player = PlaysTheLast()
    lessons = seated([[a, b] for a in (TEACHER, STUDENT, 0) for b in (TEACHER, STUDENT, 0)] * 4)
    lessons._players = [player, player]
    rows = lessons._rows
    sides = rows[:, TO_MOVE].astype(int)
    assert set(sides) == {0, 1}
    whose = lessons._seats[np.arange(len(rows)), sides]
    labels = AlphaBetaTeacher(SMALL, "classic").label(rows)
    decisions, starts = legal_lists(rows)
    for with_student in (True, False):
        decided = lessons._decide(labels, with_student)
        for n, seat in enumerate(whose):
            if seat == 0:
                assert decided[n] == decisions[starts[n + 1] - 1]
            elif seat == STUDENT and with_student:
                network = networks()[sides[n]]
                inputs = network.inputs(rows[n : n + 1])
                drawn = draw_decisions(network, inputs, torch.zeros(1, dtype=torch.float64), 0)
                assert decided[n] == int(drawn.actions)
            else:  # a student that is not taught yet is not asked
                mine = slice(labels.starts[n], labels.starts[n + 1])
                assert decided[n] in labels.decisions[mine][labels.gaps[mine] == 0]
    asked = np.concatenate(player.asked)
    assert len(asked) == 2 * (whose == 0).sum()


def test_seats_are_shared_out_as_asked() -> None:
    lessons = seated([[TEACHER, TEACHER]], student=0.5, scripted=0.2, players=("random", "greedy"))
    seats = np.concatenate([lessons._draw_seats() for _ in range(3000)])
    shares = {seat: float((seats == seat).mean()) for seat in (TEACHER, STUDENT, 0, 1)}
    assert shares == pytest.approx({TEACHER: 0.3, STUDENT: 0.5, 0: 0.1, 1: 0.1}, abs=0.03)


def test_seats_change_when_a_battle_ends_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    lessons = seated([[TEACHER, STUDENT]] * 6)
    labels = AlphaBetaTeacher(SMALL, "classic").label(lessons._rows)
    lessons._rows[:3, MAX_TURNS] = lessons._rows[:3, TURNS] + 1
    monkeypatch.setattr(lessons, "_draw_seats", lambda: np.array([0, 0]))
    over, _ = lessons._step(labels, False)
    assert over.tolist() == [True] * 3 + [False] * 3
    seats = lessons.state().tensors["seats"].numpy()
    assert (seats[over] == 0).all()
    assert (seats[~over] == [TEACHER, STUDENT]).all()


def test_few_decisions_are_drawn_from_all_legal_ones() -> None:
    lessons = seated([[TEACHER, TEACHER]] * 200, random=0.25)
    labels = AlphaBetaTeacher(TINY.teacher, "classic").label(lessons._rows)
    decided = lessons._decide(labels, False)
    best = [
        decided[n] in labels.decisions[mine][labels.gaps[mine] == 0]
        for n, mine in enumerate(map(slice, labels.starts, labels.starts[1:]))
    ]
    assert np.mean(best) == pytest.approx(0.75, abs=0.1)


def test_untrained_students_play_from_the_second_lesson_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    give = Lessons.give

    def noted(self: Lessons, teacher: Any, with_student: bool) -> Lesson:
        seen.append(with_student)
        return give(self, teacher, with_student)

    monkeypatch.setattr(Lessons, "give", noted)
    distillation = Distillation(TINY, tmp_path)
    distillation.update()
    distillation.update()
    distillation.roles.close()
    assert seen == [False, True]


def test_a_tree_teacher_draws_anew_for_each_lesson(tmp_path: Path) -> None:
    distillation = Distillation(dataclasses.replace(TINY, teacher=TREE), tmp_path)
    rows = distillation._lessons._rows
    first, again = (distillation._teacher().label(rows) for _ in range(2))
    distillation.updates = 1
    other = distillation._teacher().label(rows)
    distillation.roles.close()
    assert np.array_equal(first.decisions, again.decisions)
    assert not np.array_equal(first.decisions, other.decisions)


def test_stray_decisions_are_drawn_from_all_that_are_legal_evenly() -> None:
    lessons = seated([[TEACHER, TEACHER]] * 200, random=0.25)
    labels = AlphaBetaTeacher(TINY.teacher, "classic").label(lessons._rows)
    decided = lessons._decide(labels, False)
    decisions, starts = legal_lists(lessons._rows)
    places = []
    for n, mine in enumerate(map(slice, labels.starts, labels.starts[1:])):
        if decided[n] not in labels.decisions[mine]:
            legal = decisions[starts[n] : starts[n + 1]]
            places.append(np.searchsorted(legal, decided[n]) / len(legal))
    assert np.mean(places) == pytest.approx(0.5, abs=0.15)


def test_a_battle_that_ends_is_followed_by_one_from_the_book() -> None:
    lessons = seated([[TEACHER, TEACHER]] * 6)
    labels = AlphaBetaTeacher(SMALL, "classic").label(lessons._rows)
    lessons._rows[:, MAX_TURNS] = lessons._rows[:, TURNS] + 1
    over, _ = lessons._step(labels, False)
    assert over.sum() > 3  # the others are in the middle of a turn
    book = {row.tobytes() for row in read_openings("classic").rows(500, **lessons._config.limits)}
    begun = {row.tobytes() for row in lessons._rows[over]}
    assert begun <= book
    assert len(begun) > 2


@pytest.mark.parametrize("decay", [0.0, 1.0])
def test_values_follow_what_came_after_as_much_as_they_are_told_to(decay: float) -> None:
    config = dataclasses.replace(TINY, student=StudentConfig(value_decay=decay))
    lessons = Lessons(config, networks(), FLOAT32, np.random.SeedSequence(1))
    given = lessons.give(AlphaBetaTeacher(config.teacher, "classic"), with_student=False)
    own = np.array([as_share(value, True) for value in given.labels.values.tolist()])
    assert np.allclose(given.values, own, atol=1e-6) == (decay == 0.0)


def test_students_that_begin_with_weights_play_from_the_first_lesson_on(
    tmp_path, monkeypatch
) -> None:
    for role, network in zip(SIDES, networks(), strict=True):
        save_policy(tmp_path / "pair" / role, network, role=role, rules="classic", decisions=0)
    seen, give = [], Lessons.give

    def note(lessons, teacher, with_student):
        seen.append(with_student)
        return give(lessons, teacher, with_student)

    monkeypatch.setattr(Lessons, "give", note)
    config = dataclasses.replace(TINY, start_from=str(tmp_path / "pair"))
    Distillation(config, tmp_path).update()
    assert seen == [True]
