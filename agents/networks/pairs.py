"""Pairs of policies: one for each role, from a folder or from those in the checkout."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Protocol

from agents.networks.checkpoint import Checkpoint, CheckpointError, check_no_file, load_policy
from agents.networks.folders import (
    CHAMPION,
    MANIFEST,
    PRETRAINED,
    is_champion,
    linked,
    policy_folder,
    shipped,
)
from thud_env.arguments import nearest, shown
from thud_env.outcome import SIDES
from thud_env.rulesets import Ruleset, get_ruleset


class Pair(Protocol):
    """A policy for each role."""

    @property
    def rules(self) -> str | None:
        """The ruleset that they were trained for, as its spec; None if it is not one alone."""
        ...

    def checkpoint(self, role: str, rules: Ruleset) -> Checkpoint:
        """The policy of a role.

        Args:
            role: ``"dwarfs"`` or ``"trolls"``.
            rules: the ruleset that is played.

        Raises:
            CheckpointError: if it is missing, or was trained for another ruleset.
        """
        ...


class FolderPair:
    """The policies in one folder.

    Args:
        path: a checkpoint of one role, or a folder with one of either or both.

    Raises:
        CheckpointError: if there is no such checkpoint, or it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._checkpoints: dict[str, Checkpoint] = {}
        if (path / MANIFEST).exists():
            checkpoint = _for_play(path)
            self._checkpoints[checkpoint.role] = checkpoint
            return
        for role in SIDES:
            folder = linked(path / role)
            if folder.exists():
                checkpoint = _for_play(folder)
                if checkpoint.role != role:
                    held = checkpoint.role
                    raise CheckpointError(f"{path / role} holds a policy for the {held}")
                self._checkpoints[role] = checkpoint
        check_no_file(path)
        if not path.exists():
            near = nearest(path.name, _names_beside(path)).rstrip()
            hint = f": {near}" if near else ""
            raise CheckpointError(f"{path} is not a policy: there is no such folder{hint}")
        if not self._checkpoints:
            raise CheckpointError(
                f"{path} is not a policy: a folder with {MANIFEST}, or with folders "
                f"{' and '.join(SIDES)} that have one, would be right"
            )

    @property
    def rules(self) -> str | None:
        """See ``Pair``."""
        specs = {get_ruleset(checkpoint.rules).spec for checkpoint in self._checkpoints.values()}
        return specs.pop() if len(specs) == 1 else None

    def checkpoint(self, role: str, rules: Ruleset) -> Checkpoint:
        """See ``Pair``."""
        checkpoint = self._checkpoints.get(role)
        if checkpoint is None:
            raise CheckpointError(f"{self.path} holds no policy for the {role}")
        if get_ruleset(checkpoint.rules) != rules:
            raise CheckpointError(
                f"{self.path} was trained for {checkpoint.rules}, not {rules.spec}: it plays from "
                "any position and with any limits of that game"
            )
        return checkpoint


def _for_play(path: Path) -> Checkpoint:
    """A policy that is not to be trained."""
    checkpoint = load_policy(path)
    return dataclasses.replace(checkpoint, network=checkpoint.network.written_out())


class ChampionPairs:
    """The pairs in the checkout, each read when its game is played."""

    rules: str | None = None

    def __init__(self) -> None:
        self._pairs: dict[str, FolderPair] = {}

    def checkpoint(self, role: str, rules: Ruleset) -> Checkpoint:
        """See ``Pair``."""
        name = rules.name
        if name not in self._pairs:
            if not (PRETRAINED / name).is_dir():
                there = ", ".join(folder.name for folder in shipped())
                raise CheckpointError(
                    f"no policy comes with the checkout for {name}: those for {there} do, and play "
                    "from any position and with any limits of their game"
                )
            self._pairs[name] = FolderPair(PRETRAINED / name)
        return self._pairs[name].checkpoint(role, rules)


def pair_at(path: str | Path | Pair) -> Pair:
    """The pair at a path as ``policy_folder`` reads it, or ``champion``, unless the working folder
    has one of that name; a pair is its own.

    Raises:
        CheckpointError: if the pair is missing or damaged.
        TypeError: if it is neither.
    """
    if not isinstance(path, str | Path):
        if not hasattr(path, "checkpoint"):
            raise TypeError(f"{shown(path)} is no pair: a path, such as runs/smoke, would be right")
        return path
    try:
        if is_champion(path):
            return ChampionPairs()
        return FolderPair(policy_folder(path))
    except OSError as error:  # a name that is too long, or a folder that may not be entered
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from None


def _names_beside(path: Path) -> list[str]:
    """What the last part of a path to a pair could have been."""
    there = path.parent.iterdir() if path.parent.is_dir() else ()
    beside = [one.name for one in there if one.is_dir()]
    return [CHAMPION, *beside] if path.parent == Path() else beside
