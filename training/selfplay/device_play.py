"""Self-play whose battles never leave the GPU: rows, planes, legal decisions, what is drawn.

What comes back to the host a step is which battles ended, with the last states of these, and how
many decisions are legal, since that is the size of what is computed next; where opponents have
seats, also the rows of those who are to move. The rollout follows at the end. Decision for decision
it is what ``HostCollector`` plays, from the same draws.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.networks.drawing import draw_decisions
from agents.networks.on_device import as_tensor, device_of
from thud_env.actions import ACTION_SYMMETRY
from thud_env.rules.row import ROW_SIZE
from thud_env.symmetry import INVERSE, map_rows
from training.process.clock import ENVIRONMENT, FORWARD
from training.process.roles import Roles
from training.selfplay.battles import OngoingBattles
from training.selfplay.rollout import Rollout

Finals = tuple[NDArray[np.int64], NDArray[np.int16], NDArray[np.int16]]
"""What ``Rollout`` has of battles that ended in one step: ``final_games``, ``final_rows`` and
``final_opponents``."""


class DeviceCollector:
    """B battles that go on from one rollout to the next.

    Args:
        battles: as they stand, and who plays them.
        roles: the learners, whose networks are on the device of the battles.
    """

    def __init__(self, battles: OngoingBattles, roles: Roles) -> None:
        self.battles = battles
        self._roles = roles
        games = battles.games
        self._rows = as_tensor(games.rows)
        device = self._rows.device
        self._tensor = partial(torch.as_tensor, device=device)
        self._to_move = as_tensor(games.to_move)
        self._terminated, self._truncated = as_tensor(games.terminated), as_tensor(games.truncated)
        self._rewards, self._final_rows = as_tensor(games.rewards), as_tensor(games.final_rows)
        self._opponent_sides = self._tensor(battles.opponents.sides)
        self._images = self._tensor(ACTION_SYMMETRY.astype(np.int64))
        self._inverse = self._tensor(np.array(INVERSE))
        self._every_seat = torch.arange(4, device=device)[:, None]

    def collect(self, steps: int) -> Rollout:
        """Play ``steps`` decisions in each battle."""
        self.battles.opponents.begin()
        self._frames = self._sent(self.battles.frames)
        games, count = self.battles.games, self.battles.games.num_games
        device = self._rows.device
        make = partial(torch.zeros, (steps, count), device=device)
        rows = torch.zeros((steps + 1, count, ROW_SIZE), dtype=torch.int16, device=device)
        movers = torch.zeros((steps + 1, count), dtype=torch.int8, device=device)
        actions = make(dtype=torch.int64)
        log_probs, rewards = make(), make()
        values = torch.zeros((steps + 1, count), device=device)
        ended = make(dtype=torch.bool)
        finals: list[Finals] = []
        clock = self._roles.clock
        for t in range(steps):
            with clock.on(ENVIRONMENT):
                rows[t] = self._framed()
                movers[t] = self._to_move
            self._decide(rows[t], log_probs[t], values[t], actions[t])
            with clock.on(ENVIRONMENT):
                games.step(self._images[self._inverse[self._frames], actions[t]], check=False)
                ended[t] = self._terminated | self._truncated
                rewards[t] = self._rewards[:, 0]
                over = ended[t].nonzero().squeeze(1)
                if len(over):
                    numbers = over.cpu().numpy()
                    last = self._final_rows[over].cpu().numpy()
                    finals.append((numbers, *self.battles.finish(numbers, last)))
                    self._frames = self._sent(self.battles.frames)
        rows[steps], movers[steps] = self._framed(), self._to_move
        self._decide(rows[steps], torch.zeros_like(values[0]), values[steps])
        return self._rollout(rows, movers, actions, log_probs, values, rewards, ended, finals)

    def _framed(self) -> Tensor:
        """[B, 432] the battles as they stand, as their frames show them."""
        if self.battles.symmetries == (0,):
            return self._rows
        if device_of(self._rows) == "cpu":
            return torch.from_numpy(map_rows(self.battles.frames, self._rows.numpy(), check=False))
        from training.selfplay.frames_cuda import map_rows_of

        mapped = torch.empty_like(self._rows)
        map_rows_of(self._frames, self._rows, mapped)
        return mapped

    def _decide(
        self, rows: Tensor, log_probs: Tensor, values: Tensor, actions: Tensor | None = None
    ) -> None:
        """Let each role value its battles, and decide in them if ``actions`` are wanted. Rows and
        actions are as the battles' frames show them.
        """
        uniforms = self.battles.random.random(len(rows))
        sent = self._sent(uniforms)
        learners, opponents = self._seats()
        networks = self._roles.networks
        with self._roles.clock.on(ENVIRONMENT):  # both networks read the same of a state
            shown = networks[0].inputs(rows[torch.cat(learners)]).split(len(learners[0]))
        for side, (network, mine, inputs) in enumerate(zip(networks, learners, shown, strict=True)):
            if len(mine):
                with self._roles.clock.on(FORWARD), self._roles.precision.autocast():
                    drawn = draw_decisions(network, inputs, sent[mine])
                log_probs[mine], values[mine] = drawn.log_probs, drawn.values
                if actions is not None:
                    actions[mine] = drawn.actions
            if actions is not None and len(opponents[side]):
                self._let_opponents_decide(side, opponents[side], uniforms, actions)

    def _seats(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """The battles in which each side's learner is to move, ascending, and those in which an
        opponent in its place is.
        """
        seats = self._to_move + 2 * (self._to_move == self._opponent_sides)
        sizes = (seats == self._every_seat).sum(1).tolist()
        parts = torch.split(torch.argsort(seats, stable=True), sizes)
        return parts[:2], parts[2:]

    def _sent(self, array: NDArray[Any]) -> Tensor:
        """An array of the host on the device. Nothing waits for a GPU, which copies it in turn."""
        tensor = torch.from_numpy(array)
        if self._rows.is_cuda:
            return tensor.pin_memory().to(self._rows.device, non_blocking=True)
        return tensor

    def _let_opponents_decide(
        self, side: int, others: Tensor, uniforms: NDArray[np.float64], actions: Tensor
    ) -> None:
        """Opponents are agents, which play on the host."""
        numbers = others.cpu().numpy()
        with self._roles.clock.on(FORWARD):
            rows = self._rows[others].cpu().numpy()
            played = self.battles.opponents.act(side, numbers, rows, uniforms[numbers])
        actions[others] = self._images[self._frames[others], self._tensor(played).long()]

    def _rollout(
        self,
        rows: Tensor,
        movers: Tensor,
        actions: Tensor,
        log_probs: Tensor,
        values: Tensor,
        rewards: Tensor,
        ended: Tensor,
        finals: list[Finals],
    ) -> Rollout:
        """What was played, on the host: [T] and, of rows, movers and values, what is next."""
        states = rows.cpu().numpy()
        movers, values = movers.cpu(), values.cpu()
        none = (np.empty(0, np.int64), np.empty((0, ROW_SIZE), np.int16), np.empty(0, np.int16))
        final_games, final_rows, met = map(np.concatenate, zip(none, *finals, strict=True))
        return Rollout(
            rows=states[:-1],
            movers=movers[:-1].numpy(),
            actions=actions.int().cpu().numpy(),
            log_probs=log_probs.cpu().numpy(),
            values=values[:-1].numpy(),
            rewards=rewards.cpu().numpy(),
            ended=ended.cpu().numpy(),
            last_values=values[-1].numpy(),
            last_movers=movers[-1].numpy(),
            opponent_sides=self.battles.opponents.sides,
            last_rows=states[-1],
            final_games=final_games,
            final_rows=final_rows,
            final_opponents=met,
        )
