"""Configurations of training runs: frozen dataclasses, YAML files, overrides."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import math
import re
import types
import typing
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np

from agents.networks.kinds import config_class
from agents.networks.network import NetworkConfig
from agents.registry import is_own
from agents.strict_yaml import YamlError, parse_yaml, read_yaml
from thud_env.command import whole_number
from thud_env.rules.row import new_row
from thud_env.rulesets import get_ruleset


class ConfigError(ValueError):
    """A configuration that is missing, misspelt or out of range."""


@dataclasses.dataclass(frozen=True)
class PPOConfig:
    """Proximal policy optimisation (Schulman et al. 2017)."""

    learning_rate: float = 1e-3
    """Adam's step size at the start; it falls linearly to a tenth by the end of the run."""
    gamma: float = 1.0
    """Discount a decision. At 1 the rewards sum exactly to the margin."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation (Schulman et al. 2016)."""
    clip_coef: float = 0.2
    """Clipping range of the probability ratio."""
    ent_coef: float = 0.01
    """Weight of the entropy, taken as a share of the entropy of the uniform policy."""
    vf_coef: float = 0.5
    """Weight of the value loss."""
    max_grad_norm: float = 0.5
    """Gradients are scaled down to this norm."""
    update_epochs: int = 2
    """Passes over each rollout."""
    minibatch_size: int = 512
    """Decisions of one role to a gradient step."""
    target_kl: float = 0.03
    """A role makes no further pass over a rollout once its policy has moved this far."""


@dataclasses.dataclass(frozen=True)
class OpponentConfig:
    """Opponents besides the other learner (training/selfplay/opponents.py)."""

    frozen: float = 0.0
    """Share of the battles in which one role meets a frozen snapshot of the other."""
    scripted: float = 0.0
    """Share of the battles in which one role meets one of the players below."""
    players: tuple[str, ...] = ("random", "greedy")
    """Their specs (docs/agents.md), each drawn as often; one named twice, twice as often."""
    snapshots: int = 30
    """Snapshots of each role that are taken over the run, at even intervals."""
    redraw_every: int = 5
    """Updates after which other snapshots are drawn, for battles that begin."""
    pace: float | None = None
    """How far a role may be ahead in mirror play, as a share of the largest margin, before it
    learns from one rollout in four only, so that the other catches up; nothing: never."""

    def in_each_seat(self, games: int) -> tuple[int, int]:
        """Of so many battles, those in which each role meets scripted players, and those in which
        it meets snapshots.
        """
        scripted = min(round(self.scripted * games / 2), games // 2)
        return scripted, min(round(self.frozen * games / 2), games // 2 - scripted)


class Streams(NamedTuple):
    """Seeds of a run's random streams."""

    play: np.random.SeedSequence
    """Draws of the learners' decisions."""
    dwarfs: np.random.SeedSequence
    """The order in which the dwarfs learn from their decisions."""
    trolls: np.random.SeedSequence
    opponents: np.random.SeedSequence
    """Draws of opponents, and their decisions."""


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """The keys of every run, however it learns."""

    name: str = "run"
    """The run is written to ``runs/NAME``."""
    rules: str = "classic"
    """The ruleset that is played."""
    seed: int = 1
    """Seeds the networks and every draw."""
    start_from: str = ""
    """A folder with a policy of each role, such as a checkpoint, whose weights the networks start
    with; none: random weights."""
    total_decisions: int = 1_000_000
    """Decisions of self-play, by both roles together. Only whole rollouts are played, each of
    ``num_games`` times ``rollout_decisions``, so it may become one of them more."""
    num_games: int = 128
    """Battles played side by side."""
    rollout_decisions: int = 64
    """Decisions played in each battle between two updates."""
    checkpoint_every: int = 20
    """Updates between checkpoints."""
    keep_checkpoints: int = 3
    """How many checkpoints are kept; older ones are removed."""
    anchor_games: int = 32
    """Battles of each role against each anchor at every checkpoint, which choose the best one
    (training/runs/anchors.py); 0 for none."""
    anchors: tuple[str, ...] = ("random", "greedy")
    """Specs of the players that never change, against which both roles are measured."""
    evaluation_games: int = 200
    """Battles of each pairing in the table at the end; 0 for no table."""
    max_quiet_turns: int | None = None
    """As the ruleset, unless given."""
    max_turns: int | None = None
    """As the ruleset, unless given."""
    offer_after: int | None = None
    """As the ruleset, unless given."""
    agreement: bool = False
    """Whether the players may offer to end a battle."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the networks run; auto is a GPU if there is one."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Arithmetic of the convolutions; auto is bfloat16 where the processor has it."""
    network: NetworkConfig = dataclasses.field(default_factory=NetworkConfig)
    """The size of each role's network."""

    @property
    def streams(self) -> Streams:
        """The seeds of all that is drawn, each of its own."""
        return Streams(*np.random.SeedSequence(self.seed).spawn(len(Streams._fields)))

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of battles, as keyword arguments."""
        return {
            "max_quiet_turns": self.max_quiet_turns,
            "max_turns": self.max_turns,
            "offer_after": self.offer_after,
            "agreement": self.agreement,
        }

    @property
    def players_named(self) -> dict[str, tuple[str, ...]]:
        """The specs of agents that it names, by key."""
        return {"anchors": self.anchors}


@dataclasses.dataclass(frozen=True)
class TrainConfig(RunConfig):
    """One run of self-play."""

    shaping: float = 0.0
    """Weight of rewards for progress at the start of a Koom Valley run, 0 from halfway on
    (training/learner/shaping.py); in Classic Thud captures are paid already."""
    symmetric_frames: bool = False
    """Whether each battle is seen turned and mirrored at random (training/selfplay/frames.py)."""
    opponents: OpponentConfig = dataclasses.field(default_factory=OpponentConfig)
    """The opponents that do not learn."""
    ppo: PPOConfig = dataclasses.field(default_factory=PPOConfig)
    """The learner."""

    @property
    def players_named(self) -> dict[str, tuple[str, ...]]:
        """See ``RunConfig``."""
        return {**super().players_named, "opponents.players": self.opponents.players}


_AT_LEAST_ONE = (
    "total_decisions",
    "num_games",
    "rollout_decisions",
    "checkpoint_every",
    "keep_checkpoints",
    "channels",
    "key_size",
    "update_epochs",
    "minibatch_size",
    "snapshots",
    "redraw_every",
)
_NOT_NEGATIVE = ("seed", "blocks", "anchor_games", "evaluation_games")
_LARGEST = 2**63 - 1


Config = TypeVar("Config", bound=RunConfig)


@overload
def load_config(
    path: Path, overrides: list[str] | None = None, *, allow_python: bool = False
) -> TrainConfig: ...
@overload
def load_config(
    path: Path,
    overrides: list[str] | None = None,
    kind: type[Config] = ...,
    *,
    allow_python: bool = False,
) -> Config: ...
def load_config(
    path: Path,
    overrides: list[str] | None = None,
    kind: type[Any] = TrainConfig,
    *,
    allow_python: bool = False,
) -> Any:
    """Read a YAML file, then apply overrides such as ``ppo.learning_rate=3e-4``.

    Args:
        path: the file. Another person may have written it.
        overrides: ``key=value`` words.
        kind: the class of the configuration.
        allow_python: whether the file may name agents ``python:MODULE:CLASS``, whose code will run.

    Raises:
        ConfigError: naming the key and what would be right.
    """
    try:
        tree = read_yaml(path)
    except YamlError as error:
        raise ConfigError(str(error)) from None
    if tree is None:
        tree = {}
    for override in overrides or []:
        _override(tree, override)
    config = _build(kind, tree, "")
    _check_ranges(config, "")
    if not allow_python:
        _refuse_code(config, path, overrides or [])
    if not re.fullmatch(r"\w[\w.-]*", config.name):
        raise ConfigError(f"name: {config.name!r} must be letters, digits, _, - and dots")
    try:
        new_row(get_ruleset(config.rules), **config.limits)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if isinstance(config, TrainConfig):
        _check_self_play(config)
    return config


def _check_self_play(config: TrainConfig) -> None:
    shares = config.opponents.frozen + config.opponents.scripted
    if shares > 1:
        raise ConfigError(f"opponents: frozen and scripted are {shares:g} together: 1 is all")
    if config.shaping and get_ruleset(config.rules).reward != "outcome":
        raise ConfigError(f"shaping: {config.rules} pays captures already: 0 would be right")


def _refuse_code(config: RunConfig, path: Path, overrides: list[str]) -> None:
    """Refuse code that a file alone, and not the user, names."""
    for key, specs in config.players_named.items():
        for spec in specs:
            if is_own(spec) and not any(spec in word for word in overrides):
                raise ConfigError(
                    f"{key}: {path} names {spec}, whose code would run: give --allow-python if you "
                    "trust it"
                )


def _override(tree: Any, override: str) -> None:
    key, equals, value = override.partition("=")
    if not equals:
        raise ConfigError(f"override {override!r}: key=value would be right")
    *parents, leaf = key.split(".")
    for parent in parents:
        tree = tree.setdefault(parent, {}) if isinstance(tree, dict) else None
    if not isinstance(tree, dict):
        raise ConfigError(f"override {override!r}: {key!r} is not a key of the configuration")
    try:
        tree[leaf] = parse_yaml(value)
    except YamlError:
        raise ConfigError(f"override {override!r}: {value!r} is not YAML") from None


def _build(kind: Any, tree: Any, where: str) -> Any:
    if not isinstance(tree, dict):
        what = where.rstrip(".") or "the configuration"
        raise ConfigError(f"{what} must be a mapping of keys to values")
    hints = typing.get_type_hints(kind)
    values = {}
    for key, value in tree.items():
        if key not in hints:
            near = difflib.get_close_matches(str(key), hints, n=1)
            hint = f"did you mean {where}{near[0]}? " if near else ""
            raise ConfigError(f"unknown key {where}{key}: {hint}there are {', '.join(hints)}")
        values[key] = _convert(hints[key], value, f"{where}{key}")
    return kind(**values)


def _convert(hint: Any, value: Any, key: str) -> Any:
    if hint is NetworkConfig and isinstance(value, dict):
        try:
            hint = config_class(value)
        except ValueError as error:
            raise ConfigError(f"{key}.kind: {error}") from None
    if dataclasses.is_dataclass(hint):
        return _build(hint, value, f"{key}.")
    if typing.get_origin(hint) is Literal:
        if value not in typing.get_args(hint):
            raise ConfigError(f"{key}: {value!r} is not one of {', '.join(typing.get_args(hint))}")
        return value
    allowed = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if float in allowed and isinstance(value, str):
        # YAML 1.1 reads 1e-3, without a dot, as a string.
        try:
            return float(value)
        except ValueError:
            pass
    if float in allowed and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise ConfigError(f"{key}: {value!r} must be a list of words, such as [random, greedy]")
        return tuple(value)
    if int in allowed and isinstance(value, str | float):
        # The same for 2e6, which is a count as well.
        with contextlib.suppress(ValueError):
            return whole_number(str(value))
    if type(value) not in allowed:
        names = " or ".join("nothing" if a is type(None) else a.__name__ for a in allowed)
        raise ConfigError(f"{key}: {value!r} must be of type {names}")
    return value


def _check_ranges(config: Any, where: str) -> None:
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            _check_ranges(value, f"{where}{field.name}.")
        elif value == ():
            raise ConfigError(f"{where}{field.name}: [] must name one player or more")
        elif field.name in _AT_LEAST_ONE and value < 1:
            raise ConfigError(f"{where}{field.name}: {value} must be 1 or more")
        elif isinstance(value, int) and value > _LARGEST:
            raise ConfigError(f"{where}{field.name}: {str(value)[:40]} must be at most {_LARGEST}")
        elif field.name in _NOT_NEGATIVE and value < 0:
            raise ConfigError(f"{where}{field.name}: {value} must not be negative")
        elif isinstance(value, float) and not 0 <= value < math.inf:
            raise ConfigError(f"{where}{field.name}: {value} must be a number, 0 or more")
        elif field.name in ("gamma", "gae_lambda") and value > 1:
            raise ConfigError(f"{where}{field.name}: {value} must be in 0 .. 1")
