"""docs/scaling.md on a small scale: a Ray cluster of three nodes, all on this machine."""

import math
import os
import signal

import pytest
from ray_cluster import three_nodes

ray = pytest.importorskip("ray", reason="ray has a virtual environment of its own")

MANY_ITERATIONS = 30


@pytest.fixture
def cluster():
    with three_nodes() as nodes:
        yield nodes


def where(algorithm):
    """The process of every env runner that answers, and its node."""
    found = algorithm.env_runner_group.foreach_env_runner(
        lambda _: (os.getpid(), ray.get_runtime_context().get_node_id()), local_env_runner=False
    )
    return dict(found)


def steps_after_training(algorithm):
    """Train once; all decisions sampled so far."""
    result = algorithm.train()
    for side in ("dwarfs", "trolls"):
        assert math.isfinite(result["learners"][side]["policy_loss"])
    return result["env_runners"]["num_env_steps_sampled_lifetime"]


def train_until_two_answer(algorithm):
    """Train until both env runners are there again; where they are."""
    for _ in range(MANY_ITERATIONS):
        steps_after_training(algorithm)
        if len(where(algorithm)) == 2:
            break
    return where(algorithm)


@pytest.mark.slow
def test_training_goes_on_when_an_env_runner_is_killed_and_when_a_node_is_lost(cluster):
    from training.integrations.rllib_ppo import ppo

    config = ppo(num_env_runners=2).training(train_batch_size_per_learner=256, minibatch_size=128)
    algorithm = config.build_algo()
    steps_after_training(algorithm)
    victim, survivor = before = where(algorithm)
    assert len(set(before.values())) == 2  # a node each

    os.kill(victim, signal.SIGKILL)
    after = train_until_two_answer(algorithm)
    assert len(after) == 2
    assert survivor in after
    assert victim not in after

    lost = next(node for node in cluster.worker_nodes if node.node_id == after[survivor])
    cluster.remove_node(lost)
    cluster.add_node(num_cpus=1)
    last = train_until_two_answer(algorithm)
    assert len(last) == 2
    assert survivor not in last
    assert lost.node_id not in last.values()

    steps = steps_after_training(algorithm)
    assert steps_after_training(algorithm) >= steps + 256
    algorithm.stop()
