"""A distillation of seconds, and what its parts are made of."""

from __future__ import annotations

import dataclasses

import torch

from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from training.distill.config import DistillConfig, LessonConfig, StudentConfig, TeacherConfig
from training.process.precision import Precision

FLOAT32 = Precision(bfloat16=False)
SMALL = TeacherConfig(depth=2, quiescence=2, considered=2000, reach=60)
TREE = TeacherConfig(simulations=32, considered=4)
TINY = DistillConfig(
    name="tiny",
    total_decisions=96,
    num_games=4,
    rollout_decisions=6,
    checkpoint_every=1,
    keep_checkpoints=9,
    evaluation_games=0,
    precision="float32",
    network=NetworkConfig(channels=4, blocks=1, key_size=2, attack_planes=True),
    teacher=TeacherConfig(depth=1, quiescence=1),
    lessons=LessonConfig(scripted=0.3),
    student=StudentConfig(minibatch_size=8, passes=2.0),
)


def networks() -> tuple[Network, Network]:
    torch.manual_seed(1)
    return Network(TINY.network), Network(TINY.network)


def without_chance(lessons: LessonConfig) -> LessonConfig:
    """The same, with students that take their likeliest decisions, which no run may ask for."""
    surely = dataclasses.replace(lessons)
    object.__setattr__(surely, "student_temperature", 0.0)
    return surely
