"""A distillation: a lesson, then learning, again and again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from agents.durable import flush_folder, make_folder
from thud_env.outcome import SIDES
from thud_env.rulesets import get_ruleset
from training.config import check_kind
from training.distill.alphabeta_teacher import AlphaBetaTeacher
from training.distill.config import DistillConfig
from training.distill.labels import Labels, Teacher
from training.distill.lessons import Lesson, Lessons
from training.distill.student import Student
from training.distill.tree_teacher import TreeTeacher
from training.process.clock import ENVIRONMENT, LEARN
from training.process.ranks import Ranks
from training.process.roles import Roles, by_role
from training.process.state import State, load_state, name_after, save_state


class Distillation:
    """A run in which each lesson is followed by both students learning from all lessons so far.

    Args:
        config: what to distil.
        folder: the run's folder, in which the lessons are kept.

    Raises:
        ConfigError: if a value of the configuration is wrong, or the run cannot start from its
            ``start_from``.
    """

    def __init__(self, config: DistillConfig, folder: Path) -> None:
        check_kind(config, DistillConfig)
        config.check()
        self.config = config
        self.ranks = Ranks()
        self.roles = Roles.of(config)
        streams = config.streams
        self._folder = folder / "lessons"
        networks, precision = self.roles.networks, self.roles.precision
        self._alphabeta = (
            None if config.teacher.simulations else AlphaBetaTeacher(config.teacher, config.rules)
        )
        self._lessons = Lessons(config, networks, precision, streams.play)
        self._students = [
            Student(side, network, config, precision, np.random.default_rng(seed))
            for side, (network, seed) in enumerate(
                zip(networks, (streams.dwarfs, streams.trolls), strict=True)
            )
        ]
        self._taught = bool(config.start_from)
        """Whether the students play: untrained, they lead to states that are not met again."""
        self.updates = 0
        """Lessons given so far."""

    @property
    def decisions(self) -> int:
        """States labelled so far."""
        return self.updates * self.config.decisions_per_update

    def update(self) -> dict[str, float]:
        """Give one lesson, let both students learn, and return the metrics."""
        clock = self.roles.clock
        before = clock.now()
        lesson = self._lessons.give(self._teacher(), with_student=self._taught)
        clock.add({ENVIRONMENT: clock.now() - before})
        self._taught = True
        progress = min(1.0, self.decisions / self.config.total_decisions)
        self.updates += 1
        self._keep(lesson)
        return by_role(self.roles.at_once(lambda side: self._learn(side, lesson, progress)))

    def _teacher(self) -> Teacher:
        """The teacher of the next lesson; a tree search has the networks as they are before it."""
        if self._alphabeta is not None:
            return self._alphabeta
        seed = np.random.SeedSequence((self.config.seed, self.updates)).generate_state(1)
        roles = self.roles
        return TreeTeacher(self.config.teacher, roles.networks, roles.precision, int(seed[0]))

    def _learn(self, side: int, lesson: Lesson, progress: float) -> dict[str, float]:
        student = self._students[side]
        with self.roles.clock.on(LEARN):
            student.add(lesson)
            return student.learn(student.due, progress)

    def _keep(self, lesson: Lesson) -> None:
        """Write a lesson into the run's folder: a resumed run learns from it again."""
        arrays = {"rows": lesson.rows, "followed": lesson.values, **vars(lesson.labels)}
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        make_folder(self._folder)
        rules: dict[str, str] = {"rules": get_ruleset(self.config.rules).spec}
        save_state(self._folder, State(tensors), name_after(self.decisions), rules)
        flush_folder(self._folder)

    def _kept_lesson(self, decisions: int) -> Lesson:
        """The lesson that was kept after so many decisions.

        Raises:
            StateError: if it is missing or damaged.
        """
        tensors = load_state(self._folder, name_after(decisions)).tensors
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        rows, followed = arrays.pop("rows"), arrays.pop("followed")
        return Lesson(rows, Labels(**arrays), followed)

    def state(self) -> State:
        """All that the next update depends on, except the lessons, which the folder keeps."""
        counts = {"updates": self.updates, "taught": self._taught}
        parts = {"counts": State(values=counts), "lessons": self._lessons.state()}
        for role, student in zip(SIDES, self._students, strict=True):
            parts[str(role)] = student.state()
        return State.of_parts(parts)

    def restore(self, state: State) -> None:
        """Continue from a state of a run of the same configuration. The students forget the lessons
        that came after it.

        Raises:
            StateError: if a lesson from before the state is missing or damaged.
        """
        counts = state.part("counts").values
        size = self.config.decisions_per_update
        before = range(size, (counts["updates"] + 1) * size, size)
        lessons = [self._kept_lesson(decisions) for decisions in before]
        self.updates, self._taught = counts["updates"], counts["taught"]
        self._lessons.restore(state.part("lessons"))
        for role, student in zip(SIDES, self._students, strict=True):
            student.forget()
            for lesson in lessons:
                student.add(lesson)
            student.restore(state.part(role))
