"""Turns state rows into the inputs of a network."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.networks.afterstates import features_of
from agents.networks.attacks import ATTACK_PLANES, attack_planes
from agents.networks.threats import THREAT_PLANES
from thud_env.actions import ACCEPT, NUM_ACTIONS, OFFER
from thud_env.batch.states import legal_lists
from thud_env.rules.check import as_rows
from thud_env.views.encoding import PLANES, Plane, encode_rows


def planes_read(attacks: bool, threats: bool = False) -> tuple[Plane, ...]:
    """The planes of an input, in order: the observation's and, if asked for, the attack planes, and
    with these the threat planes.
    """
    return (
        *PLANES,
        *(ATTACK_PLANES if attacks else ()),
        *(THREAT_PLANES if attacks and threats else ()),
    )


@dataclasses.dataclass(frozen=True)
class Inputs:
    """N states, with all their legal decisions, L together."""

    planes: Tensor
    """[N, C, 15, 15] float32, the planes of ``planes_read``, channels last in memory, which
    convolutions prefer.
    """
    decisions: Tensor
    """[L] int64, each game's ascending."""
    game: Tensor
    """[L] int64, the game of each decision."""
    counts: Tensor
    """[N] int64, how many decisions each game has."""
    afterstates: Tensor
    """[L, 8] float32, the features of the state after each decision; [L, 0] if not asked for."""

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """[N + 1] where each game's decisions begin."""
        return np.concatenate(([0], np.cumsum(self.counts.cpu().numpy())))

    @classmethod
    def of_rows(
        cls,
        rows: NDArray[np.int16],
        attacks: bool = False,
        threats: bool = False,
        afterstates: bool = False,
    ) -> Inputs:
        """The inputs for [N, 432] state rows of battles that are not over; ``attacks``: with the
        attack planes; ``threats``: with the threat planes after those; ``afterstates``: with the
        features of the states after each decision.

        Raises:
            RowError: if they are no integers of that shape. What they hold is not looked at.
        """
        rows = as_rows(rows)
        listed, starts = legal_lists(rows)
        decisions = listed.astype(np.int64)
        game = np.repeat(np.arange(len(rows)), np.diff(starts))
        shown = encode_rows(rows, check=False)
        if attacks:
            shown = np.concatenate((shown, attack_planes(rows, threats)), axis=1)
        planes = torch.from_numpy(shown)
        return cls(
            planes.contiguous(memory_format=torch.channels_last),
            torch.from_numpy(decisions),
            torch.from_numpy(game),
            torch.from_numpy(np.diff(starts)),
            torch.from_numpy(features_of(rows, game, decisions))
            if afterstates
            else torch.empty(len(decisions), 0),
        )

    def split(self, number: int) -> tuple[Inputs, Inputs]:
        """The inputs of the first so many states, and of the others."""
        end = int(self.counts[:number].sum())
        return (
            Inputs(
                self.planes[:number],
                self.decisions[:end],
                self.game[:end],
                self.counts[:number],
                self.afterstates[:end],
            ),
            Inputs(
                self.planes[number:],
                self.decisions[end:],
                self.game[end:] - number,
                self.counts[number:],
                self.afterstates[end:],
            ),
        )

    def places_of(self, actions: Tensor, games: Tensor | None = None) -> Tensor:
        """Where in ``decisions`` actions stand, [K] int64: one of each game, or those of ``games``,
        [K] int64.
        """
        listed = self.game * NUM_ACTIONS + self.decisions
        if games is None:
            games = torch.arange(len(actions), device=actions.device)
        return torch.searchsorted(listed, games * NUM_ACTIONS + actions)

    def entropy_shares(self, entropies: Tensor) -> Tensor:
        """[N] entropies as shares of the uniform policy's; 0 where nothing is to be chosen."""
        legal = self.counts.to(entropies)
        return entropies / legal.clamp(min=2).log()

    def without_agreement(self) -> Inputs:
        """The same inputs without offering and accepting; every state has another legal decision.
        On the CPU only.
        """
        decisions = self.decisions.numpy()
        kept = (decisions != OFFER) & (decisions != ACCEPT)
        if kept.all():
            return self
        counts = np.add.reduceat(kept, self.starts[:-1], dtype=np.int64)
        return dataclasses.replace(
            self,
            decisions=self.decisions[kept],
            game=self.game[kept],
            counts=torch.from_numpy(counts),
            afterstates=self.afterstates[kept],
        )

    def to(self, device: str) -> Inputs:
        """The same inputs on a device; these themselves if they are on it already."""
        if self.planes.device.type == device:
            return self
        return dataclasses.replace(
            self,
            planes=self.planes.to(device),
            decisions=self.decisions.to(device),
            game=self.game.to(device),
            counts=self.counts.to(device),
            afterstates=self.afterstates.to(device),
        )
