"""Masked PPO in one file, in the style of CleanRL: torch, NumPy, and the vector environment.

The environments are one ``BatchedGame``, so that stepping them costs almost nothing; the masks are
in ``infos``. Details have their numbers in "The 37 implementation details of proximal policy
optimization" (Huang et al. 2022).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn

from thud_env.actions import NUM_ACTIONS
from thud_env.views.encoding import OBSERVATION_SHAPE
from training.integrations.before_after import TASK, command, mean_margin, show


@dataclass(frozen=True)
class Config:
    """The settings of a run."""

    num_envs: int = 64
    num_steps: int = 32
    """Decisions in each environment between two updates."""
    num_minibatches: int = 8
    update_epochs: int = 2
    learning_rate: float = 2e-3
    gamma: float = 0.95
    gae_lambda: float = 0.9
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5


def layer(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A linear layer with orthogonal weights (detail 2)."""
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


class Agent(nn.Module):
    """A policy and a value with one hidden layer."""

    def __init__(self, observation_shape: tuple[int, ...], hidden: int = 64) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Flatten(), layer(int(np.prod(observation_shape)), hidden, 2**0.5), nn.ReLU()
        )
        self.actor = layer(hidden, NUM_ACTIONS, 0.01)
        self.critic = layer(hidden, 1, 1.0)

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [N, 6470], with the illegal actions ruled out, and values [N]."""
        features = self.body(observations)
        logits = self.actor(features).masked_fill(~masks, -1e9)
        return logits, self.critic(features).squeeze(1)

    @torch.no_grad()
    def value(self, observations: Tensor) -> Tensor:
        """Values [N], which need no mask."""
        return self.critic(self.body(observations)).squeeze(1)

    @torch.no_grad()
    def choose(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Draw actions [N] from the policy."""
        logits, _ = self(torch.from_numpy(observations), torch.from_numpy(masks) == 1)
        return torch.multinomial(logits.softmax(1), 1).squeeze(1).numpy()


def train(agent: Agent, total_steps: int, seed: int, config: Config) -> None:
    """Train ``agent`` in place."""
    envs = gymnasium.make_vec(
        "thud/Thud-v0", num_envs=config.num_envs, autoreset_mode="SameStep", **TASK
    )
    optimizer = torch.optim.Adam(agent.parameters(), lr=config.learning_rate, eps=1e-5)
    T, B = config.num_steps, config.num_envs  # noqa: N806 # shapes below are [T, B]
    observations = torch.zeros(T, B, *OBSERVATION_SHAPE)
    masks = torch.zeros(T, B, NUM_ACTIONS, dtype=torch.bool)
    actions = torch.zeros(T, B, 1, dtype=torch.int64)
    log_probs, rewards, dones = (torch.zeros(T, B) for _ in range(3))
    values, advantages = torch.zeros(T + 1, B), torch.zeros(T, B)

    next_observation, infos = envs.reset(seed=seed)
    started = time.perf_counter()
    num_updates = max(1, total_steps // (T * B))
    for update in range(num_updates):
        # Anneal the learning rate (detail 4).
        optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - update / num_updates)

        for t in range(T):
            observations[t] = torch.from_numpy(next_observation)
            masks[t] = torch.from_numpy(infos["action_mask"]) == 1
            with torch.no_grad():
                logits, values[t] = agent(observations[t], masks[t])
            actions[t] = torch.multinomial(logits.softmax(1), 1)
            log_probs[t] = logits.log_softmax(1).gather(1, actions[t]).squeeze(1)
            next_observation, reward, terminated, truncated, infos = envs.step(
                actions[t].squeeze(1).numpy()
            )
            rewards[t] = torch.from_numpy(reward)
            dones[t] = torch.from_numpy(terminated | truncated)
            # Add the value of the state where a battle was cut short, as is usual with Gymnasium.
            # training/learner/ppo.py adds none: its players see how near the limits are.
            if truncated.any():
                last = torch.from_numpy(np.stack(list(infos["final_obs"][truncated])))
                rewards[t, truncated] += config.gamma * agent.value(last)
        with torch.no_grad():
            _, values[T] = agent(
                torch.from_numpy(next_observation), torch.from_numpy(infos["action_mask"]) == 1
            )

        # Generalised advantage estimation (detail 5).
        advantage = torch.zeros(B)
        for t in reversed(range(T)):
            alive = 1 - dones[t]
            delta = rewards[t] + config.gamma * alive * values[t + 1] - values[t]
            advantage = delta + config.gamma * config.gae_lambda * alive * advantage
            advantages[t] = advantage
        returns = advantages + values[:T]

        data = [
            x.flatten(0, 1) for x in (observations, masks, actions, log_probs, advantages, returns)
        ]
        for _ in range(config.update_epochs):
            for batch in torch.randperm(T * B).chunk(config.num_minibatches):  # (detail 6)
                seen, legal, taken, old_log_probs, gain, target = (x[batch] for x in data)
                logits, value = agent(seen, legal)
                new_log_probs = logits.log_softmax(1)
                ratio = (new_log_probs.gather(1, taken).squeeze(1) - old_log_probs).exp()
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)  # (detail 7)
                clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
                policy_loss = -torch.min(ratio * gain, clipped * gain).mean()  # (detail 8)
                value_loss = (value - target).square().mean()
                entropy = -(logits.softmax(1) * new_log_probs).sum(1).mean()
                loss = policy_loss + config.vf_coef * value_loss - config.ent_coef * entropy
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), config.max_grad_norm)  # (detail 11)
                optimizer.step()
        if update % 4 == 3:
            speed = (update + 1) * T * B / (time.perf_counter() - started)
            print(
                f"step {(update + 1) * T * B:>7,}  reward a decision {rewards.mean():+z.4f}  "
                f"entropy {entropy.item():.2f}  {speed:,.0f} steps/s",
                flush=True,
            )


def run(args: argparse.Namespace) -> None:
    """Train for about a minute and print the table."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # faster for so small a network
    agent = Agent(OBSERVATION_SHAPE)
    before = mean_margin(agent.choose, args.battles, args.seed)
    train(agent, args.steps, args.seed, Config())
    after = mean_margin(agent.choose, args.battles, args.seed)
    show("CleanRL style PPO", before, after)


if __name__ == "__main__":
    sys.exit(command("cleanrl_ppo", __doc__, steps=65_536).run(run))
