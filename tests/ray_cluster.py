"""A Ray cluster of three nodes, all on this machine."""

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def three_nodes() -> Iterator[Any]:
    """A head that has no cores for those that play, and two nodes with one each."""
    import ray  # has a virtual environment of its own
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address)
    yield nodes
    ray.shutdown()
    nodes.shutdown()
