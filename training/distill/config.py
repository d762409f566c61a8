"""The configuration of a distillation."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from agents.ranges import Count, NotNegative, Positive, Range, Share
from agents.search.lookahead import DEEPEST_LOOKAHEAD
from agents.search.workspace import MAX_DEPTH, MAX_QUIESCENCE
from training.config import RunConfig
from training.errors import ConfigError

REACH = 32_767
"""The largest reach: what decisions lose is kept in 16 bits."""
Temperature = Annotated[float, Range(0.01)]


@dataclasses.dataclass(frozen=True)
class TeacherConfig:
    """The search that labels states: alpha-beta (training/distill/alphabeta_teacher.py),
    or with ``simulations`` a tree search with the students' own networks, which is expert iteration
    (training/distill/tree_teacher.py).
    """

    simulations: NotNegative = 0
    """Simulations of the tree search for a state, 2 or more; 0: alpha-beta."""
    lookahead: Annotated[int, Range(0, DEEPEST_LOOKAHEAD)] = 1
    """Of the tree search: how many turns deep each leaf is searched by alpha-beta; 0: it is not,
    and the networks value it."""
    depth: Annotated[int, Range(1, MAX_DEPTH)] = 2
    """Of alpha-beta: turns it looks ahead."""
    quiescence: Annotated[int, Range(0, MAX_QUIESCENCE)] = 4
    """Of alpha-beta: turns of captures that it searches beyond the depth."""
    considered: Count = 16
    """Decisions of a state that alpha-beta searches deeper than one turn, or that the tree search
    tries; a label has no other, unless ``depth`` is 1, where it has all within ``reach``."""
    reach: Annotated[int, Range(1, REACH)] = 150
    """Hundredths of a point: a label has no decisions worth this much less than the best."""
    evaluation: Literal["learned", "features"] = "learned"
    """Of alpha-beta: how it evaluates: by patterns fitted to self-play, if the ruleset has tables,
    or by features."""


@dataclasses.dataclass(frozen=True)
class LessonConfig:
    """The battles in which states are labelled (training/distill/lessons.py)."""

    book: Share = 0.25
    """Share of the battles that begin from the book of openings; the others begin after random
    decisions."""
    random_start: NotNegative = 24
    """The most random decisions at the start."""
    student: Share = 0.6
    """Share of the seats in which the student plays; the teacher plays the others. In the first
    lesson of a run without ``start_from`` the teacher plays the student's seats too."""
    student_temperature: Temperature = 1.0
    """Temperature at which the student draws its decisions. A low one leads to states like those
    that are met in earnest, a high one to more kinds of them."""
    scripted: Share = 0.0
    """Share of the seats in which one of ``players`` plays."""
    players: tuple[str, ...] = ("random", "greedy")
    """Specs of these players (docs/agents.md), each drawn equally often. Weak players lead to
    states that strong ones never reach, such as battles that can be won."""
    random: Share = 0.03
    """Chance that a decision is drawn from all legal ones instead."""
    teacher_temperature: Temperature = 20.0
    """Temperature at which the teacher draws among its decisions, in hundredths of a point."""


@dataclasses.dataclass(frozen=True)
class StudentConfig:
    """How the student learns (training/distill/student.py)."""

    temperature: Temperature = 15.0
    """The target policy is the softmax of a label's scores, in hundredths of a point, divided by
    this; 0 for all other decisions."""
    policy_coef: float = 1.0
    """Weight of the policy's cross-entropy with that softmax."""
    regret_coef: float = 0.0
    """Weight of the policy's regret: how many points less than the best its decisions are worth on
    average, those that a label does not have counting as the teacher's ``reach``, which may be more
    than they lose (Ross and Bagnell 2014)."""
    value_decay: Share = 0.9
    """Lambda of the values to learn, as in TD(lambda): the weight of the values that followed."""
    value_coef: float = 0.05
    """Weight of the value loss, the squared error in points or results."""
    learning_rate: Share = 2e-3
    """The step size of Muon and Adam (training/distill/muon.py) at the start; it falls linearly to
    a twentieth by the end."""
    minibatch_size: Count = 256
    """States in a gradient step."""
    passes: Annotated[float, Range(0.01)] = 8.0
    """How often each labelled state is learnt from, on average over the run."""
    max_grad_norm: Positive = 1.0
    """The norm that gradients are clipped to."""


@dataclasses.dataclass(frozen=True)
class DistillConfig(RunConfig):
    """One distillation."""

    name: str = "distill"
    """The run is written to ``runs/NAME``."""
    total_decisions: Count = 100_000
    """States to label, of both sides together, rounded up to whole lessons."""
    num_games: Count = 128
    """Battles played in parallel."""
    rollout_decisions: Count = 32
    """Decisions of each battle in a lesson; every state is labelled."""
    checkpoint_every: Count = 2
    """Lessons between checkpoints."""
    anchor_games: NotNegative = 0
    """Battles of each role against each anchor at every checkpoint; 0 for none."""
    max_quiet_turns: int | None = 60
    """Quiet turns that end a battle; empty: the ruleset's. The long ends of dead battles teach
    nothing."""
    teacher: TeacherConfig = dataclasses.field(default_factory=TeacherConfig)
    """The search that labels states."""
    lessons: LessonConfig = dataclasses.field(default_factory=LessonConfig)
    """The battles in which states are labelled."""
    student: StudentConfig = dataclasses.field(default_factory=StudentConfig)
    """How the students learn."""

    def check(self) -> None:
        """See ``RunConfig``."""
        super().check()
        if self.agreement:
            raise ConfigError("agreement: teachers label no offers, so False would be right")
        if self.teacher.simulations == 1:
            raise ConfigError(
                "teacher.simulations is 1: the first only lists decisions; 2 would be right"
            )
        shares = self.lessons.student + self.lessons.scripted
        if shares > 1:
            raise ConfigError(f"lessons.student and scripted are {shares:g} together: 1 is all")

    @property
    def players_named(self) -> dict[str, tuple[str, ...]]:
        """See ``RunConfig``."""
        return {**super().players_named, "lessons.players": self.lessons.players}

    @property
    def switched_off(self) -> dict[str, str]:
        """See ``RunConfig``."""
        off = super().switched_off
        if self.lessons.scripted == 0:
            off["lessons.players"] = "without lessons.scripted"
        if self.teacher.simulations == 0:
            off["teacher.lookahead"] = "without teacher.simulations"
        else:
            of_alpha_beta = ("depth", "quiescence", "evaluation")
            off |= {f"teacher.{key}": "with teacher.simulations" for key in of_alpha_beta}
        return off

    @property
    def book_key(self) -> str:
        """See ``RunConfig``."""
        return "lessons.book" if self.lessons.book else ""
