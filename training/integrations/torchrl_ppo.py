"""PPO of TorchRL, over the vector environment, with its masked categorical distribution.

``GymWrapper`` takes the whole vector environment as one batched TorchRL environment; with
``autoreset_mode="Disabled"`` TorchRL resets the battles that are over itself.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

import gymnasium
import torch
import torchrl
from tensordict import TensorDict
from tensordict.nn import InteractionType, TensorDictModule
from torch import Tensor, nn
from torchrl.collectors import Collector
from torchrl.envs import GymWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from thud_env.actions import NUM_ACTIONS
from thud_env.views.encoding import OBSERVATION_SHAPE
from training.integrations.before_after import TASK, command, mean_margin, show

BATCH, MINIBATCH, EPOCHS = 2048, 256, 2


def perceptron(outputs: int, gain: float) -> nn.Sequential:
    """A network from planes [..., C, 15, 15] to outputs [..., outputs]."""
    last = nn.Linear(64, outputs)
    nn.init.orthogonal_(last.weight, gain)
    return nn.Sequential(
        nn.Flatten(-3), nn.Linear(math.prod(OBSERVATION_SHAPE), 64), nn.ReLU(), last
    )


class Policy(nn.Module):
    """Logits, and the mask in the type that the distribution needs."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = perceptron(NUM_ACTIONS, 0.01)

    def forward(self, planes: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """[..., 6470] float32 and bool."""
        return self.layers(planes), mask == 1


def run(args: argparse.Namespace) -> None:
    """Train for about a minute and print the table."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # faster for so small a network
    env = GymWrapper(
        gymnasium.make_vec(
            "thud/Thud-v0",
            num_envs=64,
            observation="dict",
            autoreset_mode="Disabled",
            **TASK,
        ),
        categorical_action_encoding=True,
    )
    env.set_seed(args.seed)

    actor = ProbabilisticActor(
        TensorDictModule(Policy(), ["observation", "action_mask"], ["logits", "mask"]),
        in_keys=["logits", "mask"],
        distribution_class=MaskedCategorical,
        default_interaction_type=InteractionType.RANDOM,
        return_log_prob=True,
    )
    critic = ValueOperator(perceptron(1, 1.0), in_keys=["observation"])
    advantage = GAE(gamma=0.95, lmbda=0.9, value_network=critic)
    loss_module = ClipPPOLoss(actor, critic, entropy_coeff=0.01, normalize_advantage=True)
    optimizer = torch.optim.Adam(loss_module.parameters(), lr=2e-3)

    @torch.no_grad()
    def choose(observations: Any, masks: Any) -> Any:
        seen = {"observation": torch.as_tensor(observations), "action_mask": torch.as_tensor(masks)}
        return actor(TensorDict(seen, [len(observations)]))["action"]

    before = mean_margin(choose, args.battles, args.seed)
    collector = Collector(
        env,
        actor,
        frames_per_batch=BATCH,
        total_frames=args.steps,
        auto_register_policy_transforms=False,  # this policy needs none
    )
    for update, batch in enumerate(collector, start=1):
        with torch.no_grad():
            advantage(batch)
        frames = batch.flatten()
        for _ in range(EPOCHS):
            for chosen in torch.randperm(BATCH).chunk(BATCH // MINIBATCH):
                losses = loss_module(frames[chosen])
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(loss_module.parameters(), 0.5)
                optimizer.step()
        reward = batch["next", "reward"].mean().item()
        print(f"step {update * BATCH:>7,}  reward a decision {reward:+z.4f}", flush=True)
    after = mean_margin(choose, args.battles, args.seed)
    show(f"PPO of TorchRL {torchrl.__version__}", before, after)


if __name__ == "__main__":
    sys.exit(command("torchrl_ppo", __doc__, steps=40_960).run(run))
