"""Pairs of policies: those in a folder, or those that come with the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from agents.networks.checkpoint import (
    MANIFEST,
    PRETRAINED,
    Checkpoint,
    CheckpointError,
    load_policy,
    policy_folder,
)
from thud_env.position import SIDES
from thud_env.rulesets import Ruleset, get_ruleset

CHAMPION = "champion"
"""The path that means, in every game, the pair that comes with the checkout for it."""


class Pair(Protocol):
    """A policy for each role."""

    path: Path
    """Where they were found."""

    def checkpoint(self, role: str, rules: Ruleset) -> Checkpoint:
        """The policy of a role.

        Args:
            role: ``"dwarfs"`` or ``"trolls"``.
            rules: what is played.

        Raises:
            CheckpointError: if there is none, or it was trained for another ruleset.
        """
        ...


class FolderPair:
    """What lies in one folder.

    Args:
        path: a checkpoint of one role, or a folder with one of either or both.

    Raises:
        CheckpointError: if there is no such checkpoint, or it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._checkpoints: dict[str, Checkpoint] = {}
        if (path / MANIFEST).exists():
            checkpoint = load_policy(path)
            self._checkpoints[checkpoint.role] = checkpoint
            return
        for role in SIDES:
            if (path / role).exists():
                checkpoint = load_policy(path / role)
                if checkpoint.role != role:
                    held = checkpoint.role
                    raise CheckpointError(f"{path / role} holds a policy for the {held}")
                self._checkpoints[role] = checkpoint
        if not self._checkpoints:
            raise CheckpointError(
                f"{path} is no policy: a folder with {MANIFEST}, or with folders "
                f"{' and '.join(SIDES)} that have one, would be"
            )

    def checkpoint(self, role: str, rules: Ruleset) -> Checkpoint:
        """See ``Pair``."""
        checkpoint = self._checkpoints.get(role)
        if checkpoint is None:
            raise CheckpointError(f"{self.path} holds no policy for the {role}")
        if get_ruleset(checkpoint.rules) != rules:
            raise CheckpointError(
                f"{self.path} was trained for {checkpoint.rules}, not {rules.spec}"
            )
        return checkpoint


class ChampionPairs:
    """The pair that comes with the checkout for whatever is played, read when it is."""

    path = PRETRAINED

    def __init__(self) -> None:
        self._pairs: dict[str, FolderPair] = {}

    def checkpoint(self, role: str, rules: Ruleset) -> Checkpoint:
        """See ``Pair``."""
        name = rules.name
        if name not in self._pairs:
            if not (PRETRAINED / name).is_dir():
                there = ", ".join(
                    sorted(path.name for path in PRETRAINED.iterdir() if path.is_dir())
                )
                raise CheckpointError(
                    f"no policy comes with the checkout for {name}: those for {there} do"
                )
            self._pairs[name] = FolderPair(PRETRAINED / name)
        return self._pairs[name].checkpoint(role, rules)


def pair_at(path: str | Path) -> Pair:
    """The pair that a path means: ``champion``, or as ``policy_folder`` takes it. A folder of that
    name where the program runs goes first.

    Raises:
        CheckpointError: if there is none, or it is damaged.
    """
    if str(path) == CHAMPION and not Path(path).exists():
        return ChampionPairs()
    return FolderPair(policy_folder(path))
