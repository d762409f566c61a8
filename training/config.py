"""What a training run can be told: frozen dataclasses, a docstring under each field.

``config_values`` checks their values, ``config_file`` reads them, and ``--help`` shows them.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from agents.networks.config import NetworkConfig
from agents.ranges import Count, NotNegative, Positive, Share
from thud_env.arguments import shown
from thud_env.errors import ThudError
from thud_env.rules.row import new_row
from thud_env.rulesets import get_ruleset
from training.config_values import check_values
from training.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class PPOConfig:
    """Proximal policy optimisation (Schulman et al. 2017)."""

    learning_rate: Share = 1e-3
    """Adam's step size at the start; it falls linearly to a tenth by the end of the run."""
    gamma: Share = 1.0
    """Discount a decision, of either side. At 1 the rewards sum exactly to the margin."""
    gae_lambda: Share = 0.95
    """Lambda of generalised advantage estimation (Schulman et al. 2016): applied once for each
    decision of a side that learns; those of an opponent are only discounted."""
    clip_coef: Positive = 0.2
    """Clipping range of the probability ratio."""
    ent_coef: float = 0.01
    """Weight of the entropy, taken as a share of the entropy of the uniform policy."""
    vf_coef: float = 0.5
    """Weight of the value loss."""
    max_grad_norm: Positive = 0.5
    """Gradients are scaled down to this norm."""
    update_epochs: Count = 2
    """Passes over each rollout."""
    minibatch_size: Count = 512
    """Decisions of one role to a gradient step."""
    target_kl: float = 0.03
    """A role makes no further pass over a rollout once its policy has moved this far."""


@dataclasses.dataclass(frozen=True)
class OpponentConfig:
    """Opponents besides the other learner (training/selfplay/opponents.py)."""

    frozen: Share = 0.0
    """Share of the battles in which one role meets a frozen snapshot of the other; until there is
    one, it meets one of the players below."""
    scripted: Share = 0.0
    """Share of the battles in which one role meets one of the players below."""
    players: tuple[str, ...] = ("random", "greedy")
    """Their specs (docs/agents.md), each drawn as often; one named twice, twice as often."""
    snapshots: Count = 30
    """Snapshots of each role that are taken over the run, at even intervals."""
    redraw_every: Count = 5
    """Updates after which other snapshots are drawn, for battles that begin."""
    pace: float | None = None
    """How far a role may be ahead in mirror play, as a share of the largest margin, before it
    learns from one rollout in four only, so that the other catches up; nothing: never."""

    def in_each_seat(self, games: int) -> tuple[int, int]:
        """Of so many battles of a process, those in which each role meets scripted players, and
        those in which it meets snapshots: the shares are rounded for each process by itself.
        """
        scripted = min(round(self.scripted * games / 2), games // 2)
        return scripted, min(round(self.frozen * games / 2), games // 2 - scripted)


class Streams(NamedTuple):
    """Seeds of a run's random streams."""

    play: np.random.SeedSequence
    """Draws of the learners' decisions, of starts and of frames."""
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
    seed: NotNegative = 1
    """Seeds the networks and every draw."""
    start_from: str = ""
    """A folder with a policy of each role, such as a checkpoint, whose weights the networks start
    with; they must be of its size, or have fewer blocks or no ``afterstates``: what they lack
    changes nothing at first, so that the networks judge as those did. Empty: random weights."""
    total_decisions: Count = 1_000_000
    """Decisions by both roles together, rounded up to whole rollouts."""
    num_games: Count = 128
    """Battles played side by side."""
    rollout_decisions: Count = 64
    """Decisions played in each battle between two updates."""
    checkpoint_every: Count = 20
    """Updates between checkpoints."""
    keep_checkpoints: Count = 3
    """How many checkpoints are kept; older ones are removed."""
    anchor_games: NotNegative = 32
    """Battles of each role against each anchor at every checkpoint, which choose the best one
    (training/runs/anchors.py); 0 for none."""
    anchors: tuple[str, ...] = ("random", "greedy")
    """Specs of the players that never change, against which both roles are measured."""
    value_battles: NotNegative = 0
    """Battles between searches whose positions test both roles' values at every checkpoint
    (training/runs/foresight.py); 0 for none."""
    evaluation_games: NotNegative = 200
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
    """Arithmetic of the layers, the value's too; auto is bfloat16 where the processor has it.
    Weights and log-probabilities are float32."""
    compile: bool = False
    """Whether ``torch.compile`` compiles the trunks of the networks, which takes a while at each
    start: faster on a GPU, not on a processor."""
    network: NetworkConfig = dataclasses.field(default_factory=NetworkConfig)
    """The size of each role's network."""

    def check(self) -> None:
        """Refuse values of another type or out of range, a name that is no folder's, and what
        does not fit the ruleset.

        Raises:
            ConfigError: naming the key and what would be right.
        """
        check_values(self)
        if not re.fullmatch(r"\w[\w.-]*", self.name):
            raise ConfigError(f"name: {self.name!r} must be letters, digits, _, - and dots")
        try:
            rules = get_ruleset(self.rules)
            new_row(rules, **self.limits)
        except ThudError as error:
            raise ConfigError(str(error)) from None
        try:
            self.network.check_rules(rules)
        except ThudError as error:
            raise ConfigError(f"network.{error}") from None

    @property
    def streams(self) -> Streams:
        """The seeds of all that is drawn, each of its own."""
        return Streams(*np.random.SeedSequence(self.seed).spawn(len(Streams._fields)))

    @property
    def decisions_per_update(self) -> int:
        """How many decisions a rollout has."""
        return self.num_games * self.rollout_decisions

    @property
    def whole_decisions(self) -> int:
        """``total_decisions``, rounded up to whole rollouts."""
        each = self.decisions_per_update
        return -(-self.total_decisions // each) * each

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

    @property
    def switched_off(self) -> dict[str, str]:
        """The keys that have no effect with the values of the others, and why."""
        off = {}
        if self.anchor_games == 0:
            off["anchors"] = "without anchor_games"
        if not self.agreement:
            off["offer_after"] = "without agreement"
        return off

    @property
    def book_key(self) -> str:
        """The key by which battles to learn from begin from the book of openings; empty: none
        do.
        """
        return ""


@dataclasses.dataclass(frozen=True)
class SelfPlayConfig(RunConfig):
    """The keys of a run that learns by playing, whoever is met in it."""

    shaping: float = 0.0
    """Weight of rewards for progress at the start of a Koom Valley run, 0 from halfway on
    (training/learner/shaping.py); in Classic Thud captures are paid already."""
    starts: Literal["setup", "book"] = "setup"
    """Where battles begin: at the setup, or each at a start drawn from the book of openings
    (training/arena/openings.py)."""
    symmetric_frames: bool = False
    """Whether each battle is seen turned and mirrored at random (training/selfplay/frames.py)."""
    ppo: PPOConfig = dataclasses.field(default_factory=PPOConfig)
    """The learner."""

    def check(self) -> None:
        """See ``RunConfig``."""
        super().check()
        if self.shaping and get_ruleset(self.rules).reward != "outcome":
            raise ConfigError(f"shaping: {self.rules} pays captures already: 0 would be right")

    @property
    def book_key(self) -> str:
        """See ``RunConfig``."""
        return "starts" if self.starts == "book" else ""


@dataclasses.dataclass(frozen=True)
class TrainConfig(SelfPlayConfig):
    """One run of self-play."""

    opponents: OpponentConfig = dataclasses.field(default_factory=OpponentConfig)
    """The opponents that do not learn."""

    def check(self) -> None:
        """See ``RunConfig``."""
        super().check()
        shares = self.opponents.frozen + self.opponents.scripted
        if shares > 1:
            raise ConfigError(f"opponents.frozen and scripted are {shares:g} together: 1 is all")

    @property
    def players_named(self) -> dict[str, tuple[str, ...]]:
        """See ``RunConfig``."""
        return {**super().players_named, "opponents.players": self.opponents.players}

    @property
    def switched_off(self) -> dict[str, str]:
        """See ``RunConfig``."""
        off, opponents = super().switched_off, self.opponents
        if opponents.frozen == 0:
            off["opponents.snapshots"] = off["opponents.redraw_every"] = "without opponents.frozen"
            if opponents.scripted == 0:
                off["opponents.players"] = "without opponents.scripted or opponents.frozen"
        if opponents.scripted + opponents.frozen == 1:
            off["opponents.pace"] = "as no battle is one of both learners"
        return off


@dataclasses.dataclass(frozen=True)
class ExploitConfig(SelfPlayConfig):
    """One run against an agent that does not learn."""

    agent: str = ""
    """Its spec (docs/agents.md)."""

    def check(self) -> None:
        """See ``RunConfig``."""
        super().check()
        if self.num_games % 2:
            raise ConfigError(
                f"num_games: {self.num_games} must be even: half of the battles are of each seat"
            )

    @property
    def opponents(self) -> OpponentConfig:
        """Each role meets the agent in half of the battles, and never the other role."""
        return OpponentConfig(scripted=1.0, players=(self.agent,))

    @property
    def players_named(self) -> dict[str, tuple[str, ...]]:
        """See ``RunConfig``."""
        return {**super().players_named, "agent": (self.agent,)}


PlayConfig = TrainConfig | ExploitConfig
"""What a trainer is told: both say who the opponents are."""

Config = TypeVar("Config", bound=RunConfig)


def check_kind(config: RunConfig, *kinds: type[RunConfig]) -> None:
    """Refuse what is no configuration of one of these kinds.

    Raises:
        TypeError: naming the first kind.
    """
    if not isinstance(config, kinds):
        kind = kinds[0].__name__
        raise TypeError(
            f"config {shown(config)}: a {kind}, or what "
            f"training.config_file.load_config(path, {kind}) reads, would be right"
        )
