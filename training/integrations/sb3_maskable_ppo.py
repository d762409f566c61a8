"""MaskablePPO of sb3-contrib, which finds the masks through ``action_masks()``.

Stable-Baselines3 steps its environments one after the other in Python, which takes most of a run's
time. Its ``CnnPolicy`` needs pictures of 36 x 36 and more: for convolutions over a board give
``policy_kwargs`` a ``features_extractor_class``, as ``tests/benchmarks/sb3_learner.py`` does.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import sb3_contrib
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

from training.integrations.before_after import TASK, command, mean_margin, show


def run(args: argparse.Namespace) -> None:
    """Train for about a minute and print the table."""
    torch.set_num_threads(1)  # faster for so small a network
    envs = make_vec_env("thud/Thud-v0", n_envs=16, seed=args.seed, env_kwargs=TASK)
    model = MaskablePPO(
        "MlpPolicy",  # flattens the planes
        envs,
        n_steps=128,
        batch_size=256,
        n_epochs=2,
        learning_rate=2e-3,
        gamma=0.95,
        gae_lambda=0.9,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [64]},
        seed=args.seed,
        verbose=1,
    )

    def choose(observations: Any, masks: Any) -> Any:
        return model.predict(observations, action_masks=masks)[0]

    before = mean_margin(choose, args.battles, args.seed)
    model.learn(args.steps, log_interval=5)
    after = mean_margin(choose, args.battles, args.seed)
    show(f"MaskablePPO of sb3-contrib {sb3_contrib.__version__}", before, after)


if __name__ == "__main__":
    sys.exit(command("sb3_maskable_ppo", __doc__, steps=30_720).run(run))
