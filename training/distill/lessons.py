"""Plays the battles in which every state is labelled.

The student learns in states that it reaches itself: it plays in most of the seats (DAgger; Ross et
al., "A reduction of imitation learning and structured prediction to no-regret online learning",
2011), against the teacher and against itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

import agents
from agents.asking import answer_of, as_resumed
from agents.networks.drawing import draw
from agents.networks.network import PolicyNetwork
from agents.search.scale import as_share, current_score
from thud_env.batch.states import legal_lists
from thud_env.outcome import SIDES
from thud_env.rules.check import RowError, check_rows
from thud_env.rules.legal import legal_list
from thud_env.rules.play import apply
from thud_env.rules.row import (
    ONGOING,
    TERMINATION,
    TO_MOVE,
    new_row,
)
from thud_env.rulesets import get_ruleset
from training.distill.config import DistillConfig
from training.distill.labels import Labels, Teacher
from training.process.precision import Precision
from training.process.state import State, StateError, restore_generator, state_of_generator
from training.selfplay.book_starts import starts_to_learn_from

TEACHER, STUDENT = -1, -2
"""Who plays a side, beside the numbers of the configuration's players."""


@dataclasses.dataclass(frozen=True)
class Lesson:
    """N labelled states, in the order in which they were met."""

    rows: NDArray[np.int16]
    """[N, 432] the state rows."""
    labels: Labels
    """Their labels."""
    values: NDArray[np.float32]
    """[N] their lambda-returns for the dwarfs, -1 .. 1: see ``followed_values``."""

    def __getitem__(self, chosen: NDArray[np.int64]) -> Lesson:
        """Some of the states."""
        return Lesson(self.rows[chosen], self.labels[chosen], self.values[chosen])

    @classmethod
    def joined(cls, parts: Sequence[Lesson]) -> Lesson:
        """Several lessons as one."""
        return cls(
            np.concatenate([part.rows for part in parts]),
            Labels.joined([part.labels for part in parts]),
            np.concatenate([part.values for part in parts]),
        )


def followed_values(
    values: NDArray[np.float32],
    ended: NDArray[np.bool_],
    finals: NDArray[np.float32],
    decay: float,
) -> NDArray[np.float32]:
    """Lambda-returns (Sutton 1988) of undiscounted battles that are paid at the end.

    Args:
        values: [T, B] the search's value of each state.
        ended: [T, B] whether the battle ended with the decision made there.
        finals: [T, B] the result, where it ended.
        decay: lambda.

    Returns:
        [T, B] each state's own value, with weight ``1 - decay``, plus the return that followed.
    """
    found = np.empty_like(values)
    after = values[-1]
    for step in range(len(values) - 1, -1, -1):
        after = np.where(ended[step], finals[step], after)
        after = (1 - decay) * values[step] + decay * after
        found[step] = after
    return found


class Lessons:
    """B battles that go on from one lesson to the next.

    Args:
        config: how the battles are played.
        networks: the students' networks, for dwarfs and trolls.
        precision: their arithmetic.
        seed: seeds all draws: of starts, seats and decisions.

    Raises:
        ConfigError: if some battles begin from a book that cannot be used.
    """

    def __init__(
        self,
        config: DistillConfig,
        networks: tuple[PolicyNetwork, PolicyNetwork],
        precision: Precision,
        seed: np.random.SeedSequence,
    ) -> None:
        self._config = config
        self._networks = networks
        self._precision = precision
        self._random = np.random.default_rng(seed)
        self._setup = new_row(get_ruleset(config.rules), **config.limits)
        self._by_margin = get_ruleset(config.rules).reward == "margin"
        self._book = starts_to_learn_from(config)
        count = config.num_games
        self._rows = np.stack([self._start() for _ in range(count)])
        self._seats = np.stack([self._draw_seats() for _ in range(count)])
        seeds = seed.spawn(1)[0].generate_state(len(config.lessons.players))
        self._players = [
            agents.make(spec, int(own))
            for spec, own in zip(config.lessons.players, seeds, strict=True)
        ]

    def _draw_seats(self) -> NDArray[np.int64]:
        """Who plays each side of a battle: TEACHER, STUDENT, or the number of a player."""
        wanted, drawn = self._config.lessons, self._random.random(len(SIDES))
        seats = np.where(drawn < wanted.student, STUDENT, TEACHER)
        scripted = drawn >= 1 - wanted.scripted
        if scripted.any():
            seats[scripted] = self._random.integers(len(wanted.players), size=int(scripted.sum()))
        return seats

    def _start(self) -> NDArray[np.int16]:
        """A state to begin a battle from. Random decisions that end the battle are drawn anew, and
        fewer of them.
        """
        most = self._config.lessons.random_start
        while True:
            if self._random.random() < self._config.lessons.book:
                assert self._book is not None
                return self._book[self._random.integers(len(self._book))].copy()
            row = self._setup.copy()
            for played in range(self._random.integers(most + 1)):
                decisions = legal_list(row)
                apply(row, int(decisions[self._random.integers(len(decisions))]))
                if row[TERMINATION] != ONGOING:
                    most = played
                    break
            else:
                return row

    def give(self, teacher: Teacher, with_student: bool) -> Lesson:
        """Play on in all battles, and label every state that is met.

        Args:
            teacher: labels the states.
            with_student: whether the student plays in its seats; if not, the teacher does.

        Raises:
            AnswerError: if a player does not answer with a legal action for each battle.
        """
        as_resumed(self._players)
        steps = self._config.rollout_decisions
        rows, labels, ended, finals = [], [], [], []
        for _ in range(steps):
            rows.append(self._rows.copy())
            labels.append(teacher.label(self._rows))
            over, paid = self._step(labels[-1], with_student)
            ended.append(over)
            finals.append(paid)
        values = np.array(
            [
                [as_share(value, self._by_margin) for value in label.values.tolist()]
                for label in labels
            ],
            dtype=np.float32,
        )
        followed = followed_values(
            values,
            np.array(ended),
            np.array(finals, dtype=np.float32),
            self._config.student.value_decay,
        )
        return Lesson(np.concatenate(rows), Labels.joined(labels), followed.reshape(-1))

    def _step(
        self, labels: Labels, with_student: bool
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Play a decision in every battle; returns whether each ended [B], and its result [B]."""
        decided = self._decide(labels, with_student)
        over = np.zeros(len(decided), dtype=np.bool_)
        paid = np.zeros(len(decided))
        for number, decision in enumerate(decided):
            row = self._rows[number]
            apply(row, decision)
            if row[TERMINATION] != ONGOING:
                over[number], paid[number] = True, current_score(row)
                row[:] = self._start()
                self._seats[number] = self._draw_seats()
        return over, paid

    def _decide(self, labels: Labels, with_student: bool) -> NDArray[np.int64]:
        """Choose a decision for each battle, [B]."""
        wanted = self._config.lessons
        to_move = self._rows[:, TO_MOVE].astype(np.int64)
        drawn = self._random.random((2, len(to_move)))
        weights = np.exp(labels.gaps / -np.float64(wanted.teacher_temperature))
        taught = draw(*map(torch.from_numpy, (weights, labels.counts, drawn[0])))
        decided = labels.decisions[taught.numpy()].astype(np.int64)
        seats = self._seats[np.arange(len(to_move)), to_move]
        for number, (spec, player) in enumerate(zip(wanted.players, self._players, strict=True)):
            theirs = np.flatnonzero(seats == number)
            if len(theirs):
                decided[theirs] = answer_of(player, spec, self._rows[theirs])
        for side, network in enumerate(self._networks):
            mine = np.flatnonzero((seats == STUDENT) & (to_move == side) & with_student)
            if len(mine):
                decided[mine] = self._precision.draw(
                    network, self._rows[mine], drawn[0][mine], wanted.student_temperature
                )
        strays = np.flatnonzero(drawn[1] < wanted.random)
        if len(strays):
            decisions, starts = legal_lists(self._rows[strays])
            among = starts[:-1] + (drawn[0][strays] * np.diff(starts)).astype(np.int64)
            decided[strays] = decisions[among]
        return decided

    def state(self) -> State:
        """All that the next lesson depends on, except the networks."""
        return State(
            {"rows": torch.from_numpy(self._rows), "seats": torch.from_numpy(self._seats)},
            {
                "random": state_of_generator(self._random),
                "players": [player.get_state() for player in self._players],
            },
        )

    def restore(self, state: State) -> None:
        """Continue from a state.

        Raises:
            StateError: if it is of another number of battles, or its rows or seats are damaged.
        """
        rows, seats = (state.tensors[name].numpy() for name in ("rows", "seats"))
        if rows.shape != self._rows.shape:
            raise StateError(f"the state is of {len(rows)} battles, not of {len(self._rows)}")
        try:
            rows = check_rows(rows, get_ruleset(self._config.rules))
        except RowError as error:
            raise StateError(f"the battles cannot go on: {error}") from None
        known = [TEACHER, STUDENT, *range(len(self._players))]
        if seats.shape != self._seats.shape or not np.isin(seats, known).all():
            raise StateError("the battles cannot go on: a seat is of none of the players")
        self._rows[:], self._seats[:] = rows, seats
        restore_generator(self._random, state.values["random"])
        for player, kept in zip(self._players, state.values["players"], strict=True):
            player.set_state(kept)
