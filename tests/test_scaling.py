"""docs/scaling.md on a small scale: a Ray cluster of three nodes, all on this machine."""

import math
import os
import signal

import pytest

ray = pytest.importorskip("ray", reason="ray has a virtual environment of its own")
cluster_utils = pytest.importorskip("ray.cluster_utils")

MANY_ITERATIONS = 30


@pytest.fixture
def cluster():
    """A head without cores for env runners, and two nodes with one each."""
    nodes = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def where(algorithm):
    """The process and the node of every env runner that answers."""
    return algorithm.env_runner_group.foreach_env_runner(
        lambda _: (os.getpid(), ray.get_runtime_context().get_node_id()), local_env_runner=False
    )


@pytest.mark.slow
def test_training_goes_on_when_an_env_runner_is_killed(cluster):
    from training.integrations.rllib_ppo import ppo

    config = ppo(num_env_runners=2).training(train_batch_size_per_learner=256, minibatch_size=128)
    algorithm = config.build_algo()
    algorithm.train()
    (victim, _), (survivor, _) = before = where(algorithm)
    assert len({node for _, node in before}) == 2

    os.kill(victim, signal.SIGKILL)
    for _ in range(MANY_ITERATIONS):
        result = algorithm.train()
        after = where(algorithm)
        if len(after) == 2:
            break
    processes = {process for process, _ in after}
    assert len(processes) == 2
    assert survivor in processes
    assert victim not in processes

    steps = result["env_runners"]["num_env_steps_sampled_lifetime"]
    result = algorithm.train()
    assert result["env_runners"]["num_env_steps_sampled_lifetime"] >= steps + 256
    for side in ("dwarfs", "trolls"):
        assert math.isfinite(result["learners"][side]["policy_loss"])
    algorithm.stop()
