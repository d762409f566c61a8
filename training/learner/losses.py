"""The losses of one minibatch."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from agents.networks.inputs import Inputs
from agents.networks.network import Judgement
from thud_env.actions import NUM_ACTIONS
from training.config import PPOConfig
from training.learner.batches import Batch
from training.learner.targets import UNKNOWN

MEASURED = (
    *("policy_loss", "value_loss", "entropy", "effective_moves", "approx_kl", "clip_fraction"),
    *("result_loss", "survival_loss", "average_kl"),
)
"""What ``ppo_loss`` reports of a minibatch."""


def ppo_loss(
    config: PPOConfig,
    inputs: Inputs,
    judged: Judgement,
    batch: Batch,
    average: Tensor | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """The clipped surrogate objective (Schulman et al. 2017, equation 9) as a loss.

    Args:
        config: its coefficients.
        inputs: N states with L legal decisions.
        judged: what the network says of them.
        batch: what was decided and how it turned out.
        average: [L] the log-probabilities of the averaged policy, if there is one.

    Returns:
        the loss, and means by the names of ``MEASURED``: ``entropy`` is a share of the uniform
        policy's, ``effective_moves`` the exponential of the entropy itself; what a network has no
        head for is 0.
    """
    log_probs = judged.log_probs
    decided = torch.from_numpy(find_decisions(inputs, batch.actions)).to(log_probs.device)
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
    result_loss, survival_loss = auxiliary_losses(judged, batch)
    loss = loss + config.result_coef * result_loss + config.survival_coef * survival_loss
    average_kl = log_probs.new_zeros(())
    if average is not None:
        average_kl = (log_probs.exp() * (log_probs - average)).sum() / len(batch.actions)
        loss = loss + config.average_coef * average_kl
    with torch.no_grad():
        approx_kl = (ratio - 1 - log_ratio).mean()
        clip_fraction = ((ratio - 1).abs() > config.clip_coef).float().mean()
        means = (
            *(policy_loss, value_loss, entropy, entropies.exp().mean(), approx_kl, clip_fraction),
            *(result_loss, survival_loss, average_kl),
        )
        measured = dict(zip(MEASURED, torch.stack(means).tolist(), strict=True))
    return loss, measured


def auxiliary_losses(judged: Judgement, batch: Batch) -> tuple[Tensor, Tensor]:
    """The cross-entropies of the result and of the surviving pieces, means over what is known of
    the minibatch; 0 where nothing is, or where the network has no such head.
    """
    nothing = judged.values.new_zeros(())
    result_loss = survival_loss = nothing
    if judged.results is not None and batch.results is not None:
        known = np.flatnonzero(batch.results != UNKNOWN)
        if len(known):
            chosen = torch.from_numpy(known).to(nothing.device)
            wanted = torch.from_numpy(batch.results[known].astype(np.int64)).to(nothing.device)
            result_loss = functional.cross_entropy(judged.results[chosen], wanted)
    if judged.survival is not None and batch.survival is not None:
        flat = batch.survival.reshape(-1)
        known = np.flatnonzero(flat != UNKNOWN)
        if len(known):
            chosen = torch.from_numpy(known).to(nothing.device)
            alive = torch.from_numpy(flat[known].astype(np.float32)).to(nothing.device)
            survival_loss = functional.binary_cross_entropy_with_logits(
                judged.survival.flatten()[chosen], alive
            )
    return result_loss, survival_loss


def find_decisions(inputs: Inputs, actions: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where in ``inputs.decisions`` the action of each game stands, [N] int64."""
    listed = (inputs.game * NUM_ACTIONS + inputs.decisions).cpu().numpy()
    return np.searchsorted(listed, np.arange(len(actions)) * NUM_ACTIONS + actions)


def entropy_share(inputs: Inputs, entropy: Tensor) -> Tensor:
    """[N] entropies as shares of those of the uniform policy; 0 where nothing is to be chosen."""
    legal = torch.from_numpy(np.diff(inputs.starts)).to(entropy)
    return entropy / legal.clamp(min=2).log()
