"""The lessons of a distillation: battles that are played, labelled and followed to their ends."""

from __future__ import annotations

import copy
import dataclasses
from itertools import pairwise

import numpy as np
import pytest
import torch
from small_distillation import FLOAT32, SMALL, TINY, networks, without_chance

from thud_env import Position
from thud_env.rules.row import MAX_QUIET_TURNS, MAX_TURNS, ONGOING, TERMINATION, TO_MOVE
from thud_env.rulesets import CLASSIC, RULESETS
from training.distill.alphabeta_teacher import AlphaBetaTeacher
from training.distill.config import LessonConfig
from training.distill.lessons import Lesson, Lessons, followed_values
from training.process.state import StateError


def test_followed_values_by_hand() -> None:
    values = np.array([[0.0, 0.4], [0.2, 0.4], [0.6, -0.4]], dtype=np.float32)
    ended = np.array([[False, True], [False, False], [False, False]])
    finals = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]], dtype=np.float32)
    found = followed_values(values, ended, finals, decay=0.5)
    assert found[:, 0].tolist() == pytest.approx([0.2, 0.4, 0.6])
    assert found[:, 1].tolist() == pytest.approx([0.7, 0.0, -0.4])


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


def test_a_student_draws_at_the_temperature_of_the_lessons() -> None:
    config = dataclasses.replace(
        TINY, lessons=without_chance(LessonConfig(student=1.0, random=0.0))
    )
    pair = networks()
    lessons = Lessons(config, pair, FLOAT32, np.random.SeedSequence(1))
    given = lessons.give(AlphaBetaTeacher(SMALL, "classic"), with_student=True)
    steps = given.rows.reshape(config.rollout_decisions, config.num_games, -1)
    for before, after in pairwise(steps):
        for row, following in zip(before, after, strict=True):
            inputs = pair[row[TO_MOVE]].inputs(row[None])
            log_probs = pair[row[TO_MOVE]](inputs).log_probs
            likeliest = Position(row).apply(int(inputs.decisions[log_probs.argmax()]))
            assert np.array_equal(likeliest.row, following)


@pytest.mark.parametrize(
    ("part", "entry", "said"),
    [
        ("rows", (3, TO_MOVE), "battles cannot go on: row 3 is damaged: .*TO_MOVE"),
        ("seats", (3, 1), "battles cannot go on: a seat is of none of the players"),
        ("rows", None, "the state is of 2 battles, not of 4"),
        ("seats", None, "battles cannot go on: a seat is of none of the players"),
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(
    part: str, entry: tuple[int, int] | None, said: str
) -> None:
    lessons = Lessons(TINY, networks(), FLOAT32, np.random.SeedSequence(1))
    before = copy.deepcopy(lessons.state())
    damaged = copy.deepcopy(before)
    if entry is None:
        damaged.tensors[part] = damaged.tensors[part][:2]
    else:
        damaged.tensors[part][entry] = 5
    with pytest.raises(StateError, match=said):
        lessons.restore(damaged)
    assert all(torch.equal(one, before.tensors[n]) for n, one in lessons.state().tensors.items())
    lessons.restore(before)


@pytest.mark.parametrize("book", [0.0, 1.0])
def test_battles_of_lessons_have_the_limits_of_the_run(book: float) -> None:
    how = LessonConfig(book=book)
    config = dataclasses.replace(TINY, max_quiet_turns=77, max_turns=333, lessons=how)
    lessons = Lessons(config, networks(), FLOAT32, np.random.SeedSequence(1))
    rows = np.stack([lessons._start() for _ in range(8)])
    assert (rows[:, [MAX_QUIET_TURNS, MAX_TURNS]] == (77, 333)).all()


def test_any_decision_may_lead_to_a_start() -> None:
    how = LessonConfig(book=0.0, random_start=1)
    config = dataclasses.replace(TINY, lessons=how)
    lessons = Lessons(config, networks(), FLOAT32, np.random.SeedSequence(1))
    start = Position.from_text("1d1d1/7/4T4/11/13/15/15/7R7/15/15/13/11/9/7/5 t - 0 0")
    after = map(start.apply, start.legal_actions().tolist())
    amid = next(p for p in after if p.to_move == "trolls" and len(p.legal_actions()) < 9)
    lessons._setup = amid.row
    children = map(amid.apply, amid.legal_actions().tolist())
    wanted = {amid.row.tobytes(), *(p.row.tobytes() for p in children if p.outcome is None)}
    assert {lessons._start().tobytes() for _ in range(300)} >= wanted
