"""One update of self-play: a rollout is played, then each role learns from its own decisions.

A ``Trainer`` is told who plays (``selfplay.play.Play``) and lets both roles learn from it
(``learner.ppo.Learner``). ``update`` is one round of both; ``runs.loop`` repeats it.
"""

from __future__ import annotations

from pathlib import Path

from thud_env.rulesets import get_ruleset
from training.config import ExploitConfig, PlayConfig, TrainConfig, check_kind
from training.learner.batches import Batch, batches_of
from training.learner.pace import Pace
from training.learner.ppo import ppo_learners
from training.learner.shaping import with_shaping
from training.process.ranks import Ranks
from training.process.roles import Roles, by_role
from training.process.state import State, StateError
from training.selfplay.battle_metrics import battle_metrics
from training.selfplay.opponents import names_met
from training.selfplay.play import Change, LocalPlay, Play
from training.selfplay.snapshots import write_snapshot


class Trainer:
    """Self-play and learning in turns.

    Args:
        config: what to train.
        roles: the networks.
        play: who plays.
        ranks: the processes of the run.
        snapshots: where frozen snapshots are kept; None: none are taken.
    """

    def __init__(
        self,
        config: PlayConfig,
        roles: Roles,
        play: Play,
        ranks: Ranks,
        snapshots: Path | None,
    ) -> None:
        self.config = config
        self.roles = roles
        self.play = play
        self.ranks = ranks
        self.learners = ppo_learners(config, roles, self.ranks)
        """The dwarfs' and the trolls'."""
        self.pace = Pace(config, self.ranks)
        self.updates = 0
        """Rollouts played so far."""
        self._ruleset = get_ruleset(config.rules)
        self._snapshots = snapshots

    def update(self) -> dict[str, float]:
        """Play a rollout and learn from it.

        Returns:
            the update's metrics, each named ``group/name``.
        """
        progress = self._progress()
        rollout = self.play.collect(self.config.rollout_decisions)
        self.pace.follow(rollout)
        batches = batches_of(with_shaping(rollout, self.config, progress), self.config)
        learnt = self.learn(self.pace.give_rest(batches, self.updates), progress)
        self.updates += 1
        self._freeze()
        met = names_met(self.config.opponents)
        return {**battle_metrics(rollout, self._ruleset, self.ranks, met), **learnt}

    @property
    def decisions(self) -> int:
        """Played so far, by both roles together."""
        return self.updates * self.config.decisions_per_update

    def _progress(self) -> float:
        """How much of the run is done, 0 .. 1."""
        return min(1.0, self.decisions / self.config.total_decisions)

    def learn(self, batches: tuple[Batch, Batch], progress: float) -> dict[str, float]:
        """Let both learners learn at once.

        Args:
            batches: what the dwarfs and the trolls learn from.
            progress: how much of the run is done, 0 .. 1.

        Returns:
            their metrics, each named ``role/name``.
        """

        def learn(side: int) -> dict[str, float]:
            return self.learners[side].learn(batches[side], progress)

        return by_role(self.roles.at_once(learn))

    def _freeze(self) -> None:
        """Take snapshots where ``snapshots`` equal parts of the run end, and draw anew now and
        then.
        """
        wanted = self.config.opponents
        if not wanted.frozen or self._snapshots is None:
            return
        taken: tuple[int, ...] = ()
        before = self.decisions - self.config.decisions_per_update
        if self._parts(self.decisions) > self._parts(before):
            if self.ranks.rank == 0:
                networks = self.roles.networks
                write_snapshot(self._snapshots, networks, self.config, self.decisions)
            self.ranks.wait()
            taken = (self.decisions,)
        self.play.change(Change(taken, redraw=self.updates % wanted.redraw_every == 0))

    def _parts(self, decisions: int) -> int:
        """How many of the equal parts of a run, each of which ends with a snapshot, are over."""
        total = self.config.total_decisions
        return min(decisions, total) * self.config.opponents.snapshots // total

    def state(self) -> State:
        """The state that the next update depends on."""
        counts = {"updates": self.updates, "lead": self.pace.lead}
        parts: dict[str, State] = {"counts": State(values=counts), "play": self.play.state()}
        for number, learner in enumerate(self.learners):
            parts[f"learner{number}"] = learner.state()
        return State.of_parts(parts)

    def restore(self, state: State) -> None:
        """Go on from a state of a run of the same configuration.

        Raises:
            StateError: if its values cannot be those of a run.
        """
        for number, learner in enumerate(self.learners):
            learner.restore(state.part(f"learner{number}"))
        self.play.restore(state.part("play"))
        counts = state.part("counts").values
        updates, lead = counts["updates"], counts["lead"]
        right = (type(updates), type(lead)) == (int, float)
        if not (right and updates >= 0 and abs(lead) <= 1):
            raise StateError(f"the counts of a run cannot be {counts}")
        self.updates, self.pace.lead = updates, lead


def self_play_trainer(
    config: PlayConfig, folder: Path | None = None, ranks: Ranks | None = None, actors: int = 0
) -> Trainer:
    """A trainer of a run of self-play.

    Args:
        config: what to train.
        folder: the run's, in which frozen snapshots are kept; needed if there are to be any.
        ranks: the processes of the run.
        actors: how many of a Ray cluster play the battles; 0: this process does.

    Raises:
        ConfigError: if a value of the configuration is wrong, or the run cannot start from its
            ``start_from``.
        TypeError: if it is no configuration of self-play.
    """
    check_kind(config, TrainConfig, ExploitConfig)
    config.check()
    ranks = ranks or Ranks()
    roles = Roles.of(config)
    snapshots = folder.resolve() / "pool" if folder else None  # actors may be elsewhere
    if actors:
        from training.selfplay.actors import Actors

        return Trainer(config, roles, Actors(actors, config, roles, snapshots), ranks, snapshots)
    streams, games = config.streams, config.num_games // ranks.size
    seeds = ranks.mine(streams.play), ranks.mine(streams.opponents)
    play = LocalPlay(config, roles, games, *seeds, snapshots)
    return Trainer(config, roles, play, ranks, snapshots)
