"""Trains one role's network on the teacher's labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.networks.network import PolicyNetwork, margin_of_one
from agents.search.evaluation import POINT
from agents.search.scale import current_scores
from thud_env.actions import ACTION_SYMMETRY
from thud_env.rules.row import DWARFS, TO_MOVE
from thud_env.rulesets import get_ruleset
from thud_env.symmetry import map_rows, symmetries_of
from training.distill.config import DistillConfig
from training.distill.lessons import Lesson
from training.distill.muon import optimisers_of
from training.process.precision import Precision
from training.process.state import State, restore_learning, state_of_learning

MEASURED = (
    "policy_loss",
    "excess",
    "regret",
    "value_loss",
    "agreement",
    "explained_variance",
)
"""The metrics of learning: the cross-entropy of the policy; its excess over the labels' entropy;
how many points less than the best its decisions are worth on average, at most: one that a label
does not have counts as the teacher's reach; the value's squared error, in points or results; how
often the most likely decision is one of the best; the share of the values' variance that is
explained."""


class Student:
    """A network with the lessons that it learns from.

    Args:
        side: the side that it plays.
        network: the side's network, trained in place.
        config: of the distillation.
        precision: its arithmetic.
        random: draws the examples and their symmetries.
    """

    def __init__(
        self,
        side: int,
        network: PolicyNetwork,
        config: DistillConfig,
        precision: Precision,
        random: np.random.Generator,
    ) -> None:
        self.side = side
        self._network = network
        self._config = config.student
        self._reach = config.teacher.reach
        self._precision = precision
        self._random = random
        self._symmetries = np.array(symmetries_of(config.rules))
        self._points = margin_of_one(get_ruleset(config.rules))
        self._optimisers = optimisers_of(network, config.student.learning_rate)
        self._lessons: list[Lesson] = []

    def add(self, lesson: Lesson) -> None:
        """Keep the states of a lesson in which the side decides."""
        self._lessons.append(lesson[np.flatnonzero(lesson.rows[:, TO_MOVE] == self.side)])

    def forget(self) -> None:
        """Forget all lessons."""
        self._lessons = []

    @property
    def due(self) -> int:
        """The gradient steps that the newest lesson brings. What is left over of a step counts for
        the next, so that short lessons are learnt from, too.
        """
        sizes = self._sizes
        return self._steps_for(sum(sizes)) - self._steps_for(sum(sizes[:-1]))

    def learn(self, steps: int, progress: float) -> dict[str, float]:
        """Take gradient steps on examples from all lessons.

        Args:
            steps: how many.
            progress: how much of the run is over, 0 .. 1.

        Returns:
            the means of the metrics ``MEASURED`` over the steps, if any, and the ``learning_rate``.
        """
        rate = self._config.learning_rate * (1 - 0.95 * progress)
        for optimiser in self._optimisers.values():
            for group in optimiser.param_groups:
                group["lr"] = rate
        seen = [self._step() for _ in range(steps)]
        means = np.mean(seen, axis=0).tolist() if seen else ()
        return {**dict(zip(MEASURED, means, strict=bool(seen))), "learning_rate": rate}

    @property
    def _sizes(self) -> list[int]:
        """How many states each lesson has."""
        return [len(lesson.rows) for lesson in self._lessons]

    def _steps_for(self, states: int) -> int:
        return int(self._config.passes * states / self._config.minibatch_size)

    def _draw(self) -> Lesson:
        """Draw a minibatch, each state with the same probability."""
        firsts = np.cumsum([0, *self._sizes])
        numbers = self._random.integers(firsts[-1], size=self._config.minibatch_size)
        which = np.searchsorted(firsts, numbers, side="right") - 1
        return Lesson.joined(
            [self._lessons[one][numbers[which == one] - firsts[one]] for one in np.unique(which)]
        )

    def _step(self) -> list[float]:
        lesson = self._draw()
        chosen = self._random.choice(self._symmetries, size=len(lesson.rows))
        rows = map_rows(chosen, lesson.rows, check=False)
        labels = lesson.labels
        owner = np.repeat(np.arange(len(rows)), labels.counts)
        decisions = ACTION_SYMMETRY[chosen[owner], labels.decisions].astype(np.int64)
        inputs = self._precision.inputs(self._network, rows)
        places = inputs.places_of(self._tensor(decisions), self._tensor(owner))
        targets = self._tensor(soft_targets(lesson, self._config.temperature))
        worth = self._tensor(worth_to(self.side, lesson))
        self._network.zero_grad(set_to_none=True)
        with self._precision.autocast():
            judged = self._network(inputs)
        policy_loss = -(targets * judged.log_probs[places]).sum() / len(rows)
        saved = self._tensor((self._reach - labels.gaps).astype(np.float32) / POINT)
        regret = self._reach / POINT - (judged.log_probs[places].exp() * saved).sum() / len(rows)
        errors = self._points * (judged.values - worth)
        value_loss = errors.square().mean()
        loss = (
            self._config.policy_coef * policy_loss
            + self._config.regret_coef * regret
            + self._config.value_coef * value_loss
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), self._config.max_grad_norm)
        for optimiser in self._optimisers.values():
            optimiser.step()
        with torch.no_grad():
            entropy = -(targets * (targets + 1e-12).log()).sum() / len(rows)
            best = np.array(labels.gaps == 0)
            top = judged.log_probs.new_full((len(rows),), -torch.inf)
            top.scatter_reduce_(0, inputs.game, judged.log_probs, "amax")
            whose = self._tensor(owner[best])
            hit = (judged.log_probs[places[best]] >= top[whose]).float()
            agreed = torch.zeros_like(top).scatter_reduce_(0, whose, hit, "amax")
            explained = 1 - value_loss / ((self._points**2) * worth.var(correction=0) + 1e-8)
            return [
                float(policy_loss),
                float(policy_loss - entropy),
                float(regret),
                float(value_loss),
                float(agreed.mean()),
                float(explained),
            ]

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        """An array where the network is."""
        return torch.from_numpy(array).to(self._precision.device)

    def state(self) -> State:
        """All that the next step depends on, except the lessons."""
        return state_of_learning(self._network, self._optimisers, self._random)

    def restore(self, state: State) -> None:
        """Continue from a state; the caller sees to the lessons."""
        restore_learning(state, self._network, self._optimisers, self._random)


def soft_targets(lesson: Lesson, temperature: float) -> NDArray[np.float32]:
    """[K] the softmax of each state's scores divided by the temperature."""
    weights = np.exp(-lesson.labels.gaps / temperature)
    totals = np.add.reduceat(weights, lesson.labels.starts[:-1])
    return (weights / np.repeat(totals, lesson.labels.counts)).astype(np.float32)


def worth_to(side: int, lesson: Lesson) -> NDArray[np.float32]:
    """[N] the rewards that the side still expects in each state, 1 being ``margin_of_one``."""
    paid = lesson.values - current_scores(lesson.rows).astype(np.float32)
    return paid if side == DWARFS else -paid
