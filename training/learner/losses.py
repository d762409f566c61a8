"""The losses of one minibatch."""

from __future__ import annotations

import torch
from torch import Tensor

from agents.networks.inputs import Inputs
from agents.networks.network import Judgement
from thud_env.actions import NUM_ACTIONS
from training.config import PPOConfig
from training.learner.batches import Batch

MEASURED = (
    "policy_loss",
    "value_loss",
    "entropy",
    "effective_moves",
    "approx_kl",
    "clip_fraction",
)
"""What ``ppo_loss`` reports of a minibatch."""


def ppo_loss(
    config: PPOConfig,
    inputs: Inputs,
    judged: Judgement,
    batch: Batch,
) -> tuple[Tensor, dict[str, float]]:
    """The clipped surrogate objective (Schulman et al. 2017, equation 9) as a loss.

    Args:
        config: its coefficients.
        inputs: N states with L legal decisions.
        judged: what the network says of them.
        batch: what was decided and how it turned out.

    Returns:
        the loss, and means by the names of ``MEASURED``: ``entropy`` is a share of the uniform
        policy's, ``effective_moves`` the exponential of the entropy itself.
    """
    log_probs = judged.log_probs
    actions = torch.from_numpy(batch.actions).to(log_probs.device)
    decided = find_decisions(inputs, actions)
    advantages = torch.from_numpy(batch.advantages).to(log_probs.device)
    drawn_with = torch.from_numpy(batch.log_probs).to(log_probs.device)
    returns = torch.from_numpy(batch.returns).to(log_probs.device)
    log_ratio = log_probs.index_select(0, decided) - drawn_with
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
    policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
    value_loss = 0.5 * (judged.values - returns).square().mean()
    entropies = judged.entropies
    entropy = entropy_share(inputs, entropies).mean()
    loss = policy_loss + config.vf_coef * value_loss - config.ent_coef * entropy
    with torch.no_grad():
        approx_kl = (ratio - 1 - log_ratio).mean()
        clip_fraction = ((ratio - 1).abs() > config.clip_coef).float().mean()
        moves = entropies.exp().mean()
        means = (policy_loss, value_loss, entropy, moves, approx_kl, clip_fraction)
        measured = dict(zip(MEASURED, torch.stack(means).tolist(), strict=True))
    return loss, measured


def find_decisions(inputs: Inputs, actions: Tensor) -> Tensor:
    """Where in ``inputs.decisions`` the action of each game stands, [N] int64."""
    listed = inputs.game * NUM_ACTIONS + inputs.decisions
    games = torch.arange(len(actions), device=actions.device)
    return torch.searchsorted(listed, games * NUM_ACTIONS + actions)


def entropy_share(inputs: Inputs, entropy: Tensor) -> Tensor:
    """[N] entropies as shares of those of the uniform policy; 0 where nothing is to be chosen."""
    legal = inputs.counts.to(entropy)
    return entropy / legal.clamp(min=2).log()
