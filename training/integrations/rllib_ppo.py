"""PPO of RLlib on its new API stack: two agents, a masked module each, on a Ray cluster.

Dwarfs and trolls learn from playing each other. Env runners play, in processes that Ray places
wherever a core is free. Without ``--address`` it starts a cluster of this machine alone;
docs/scaling.md describes larger ones.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

import gymnasium
import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module import MultiRLModuleSpec, RLModule, RLModuleSpec
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

import thud_env
from thud_env.actions import NUM_ACTIONS
from thud_env.command import bounded
from thud_env.rulesets import MOST_POINTS
from thud_env.views.encoding import OBSERVATION_SHAPE
from training.arena.intervals import Interval
from training.integrations.before_after import TASK, command, mean_margin, show

MODULES = {"dwarf_0": "dwarfs", "troll_0": "trolls"}
"""The module that decides for each agent."""


class RllibThud(MultiAgentEnv):
    """A battle for RLlib: an observation for the agent that decides, rewards for both.

    RLlib's masked module needs the planes under ``observations``, and its default encoder needs
    them flat. ``config`` holds the arguments of ``thud_env.env``.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.game = thud_env.env(**config)
        self.agents = self.possible_agents = list(self.game.possible_agents)
        space = gymnasium.spaces.Dict(
            observations=gymnasium.spaces.Box(0, 1, (np.prod(OBSERVATION_SHAPE),), np.float32),
            action_mask=gymnasium.spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
        )
        self.observation_spaces = dict.fromkeys(self.agents, space)
        self.action_spaces = self.game.action_spaces

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        """See ``MultiAgentEnv``."""
        self.game.reset(options=options)
        return self._observations([self.game.agent_selection]), {}

    def step(self, actions: dict[str, int]) -> tuple[Any, Any, Any, Any, Any]:
        """See ``MultiAgentEnv``. At the end both agents get an observation, so that both learn."""
        game = self.game
        game.step(actions[game.agent_selection])
        terminated = any(game.terminations.values())
        truncated = any(game.truncations.values())
        seeing = self.agents if terminated or truncated else [game.agent_selection]
        return (
            self._observations(seeing),
            dict(game.rewards),
            {"__all__": terminated},
            {"__all__": truncated},
            {},
        )

    def _observations(self, agents: list[str]) -> dict[str, Any]:
        seen = {agent: self.game.observe(agent) for agent in agents}
        return {
            agent: {"observations": s["observation"].ravel(), "action_mask": s["action_mask"]}
            for agent, s in seen.items()
        }


def ppo(num_env_runners: int, seed: int = 1) -> PPOConfig:
    """RLlib's configuration for the game."""
    module = RLModuleSpec(
        module_class=ActionMaskingTorchRLModule,
        model_config={"fcnet_hiddens": [64], "fcnet_activation": "relu"},
    )
    limits = {key: TASK[key] for key in ("rules", "max_turns")}
    return (
        PPOConfig()
        # RLlib's environment check ignores masks.
        .environment(RllibThud, env_config=limits, disable_env_checking=True)
        .env_runners(
            num_env_runners=num_env_runners,
            num_envs_per_env_runner=8,
            sample_timeout_s=600,  # after which RLlib learns from nothing: busy cores need minutes
        )
        .fault_tolerance(restart_failed_env_runners=True)
        .multi_agent(
            policies=set(MODULES.values()),
            policy_mapping_fn=lambda agent, *_, **__: MODULES[agent],
        )
        .rl_module(
            rl_module_spec=MultiRLModuleSpec(
                rl_module_specs=dict.fromkeys(MODULES.values(), module)
            )
        )
        .training(
            train_batch_size_per_learner=2048,
            minibatch_size=256,
            num_epochs=2,
            lr=2e-3,
            gamma=0.95,
            lambda_=0.9,
            entropy_coeff=0.01,
            grad_clip=0.5,
        )
        .debugging(seed=seed)
    )


def chooser(module: RLModule) -> Any:
    """A function for ``mean_margin`` that plays a module."""

    @torch.no_grad()
    def choose(observations: Any, masks: Any) -> Any:
        seen = {
            "observations": torch.as_tensor(observations).flatten(1),
            "action_mask": torch.as_tensor(masks),
        }
        logits = module.forward_exploration({Columns.OBS: seen})[Columns.ACTION_DIST_INPUTS]
        return torch.multinomial(logits.softmax(1), 1).squeeze(1)

    return choose


def run(args: argparse.Namespace) -> None:
    """Train for about a minute and print the table.

    It shows the trolls alone: a minute is not enough for the dwarfs, which learn as well.
    """
    torch.set_num_threads(1)  # faster for so small a network
    torch.manual_seed(args.seed)
    ray.init(address=args.address)
    algorithm = ppo(args.env_runners, args.seed).build_algo()

    def mean_margin_now() -> Interval:
        return mean_margin(chooser(algorithm.get_module("trolls")), args.battles, args.seed)

    before = mean_margin_now()
    steps = 0
    while steps < args.steps:
        runners = algorithm.train()["env_runners"]
        steps = runners["num_env_steps_sampled_lifetime"]
        returns = runners.get("agent_episode_returns_mean", {})
        margin = MOST_POINTS * returns.get("troll_0", math.nan)
        print(
            f"step {steps:>7,.0f}  mean margin of the trolls in self-play {margin:+z.1f}",
            flush=True,
        )
    after = mean_margin_now()
    algorithm.stop()
    show(f"PPO of RLlib {ray.__version__}", before, after)


def main() -> int:
    """Read the command line, and run."""
    words = command("rllib_ppo", __doc__, steps=20_480)
    add, count = words.add_argument, bounded(int, 0)
    where = (
        "the cluster to join: 'auto' for this machine's, 'local' to start one (default %(default)s)"
    )
    add("--address", default="local", help=where)
    add("--env-runners", type=count, default=2, help="processes that play (default %(default)s)")
    return words.run(run)


if __name__ == "__main__":
    sys.exit(main())
