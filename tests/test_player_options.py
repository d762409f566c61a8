"""Options of players made in a program are numbers of the right kind, or refused at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agents.agent import Agent
from agents.alphabeta import AlphaBetaAgent
from agents.champion import ChampionAgent
from agents.mcts import MctsAgent
from agents.policy import PolicyAgent
from agents.policy_mcts import PolicyMctsAgent
from thud_env import Position, ThudError


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: AlphaBetaAgent(depth=None), "depth must be an integer in 0 .. 24, not None"),
        (lambda: AlphaBetaAgent(depth="2"), "depth must be an integer in 0 .. 24, not '2'"),
        (lambda: AlphaBetaAgent(depth=1.5), "depth must be an integer in 0 .. 24, not 1.5"),
        (lambda: AlphaBetaAgent(depth=True), "depth must be an integer in 0 .. 24, not True"),
        (lambda: AlphaBetaAgent(time=None), "time=None must be a number, in 0 .. 1e+06"),
        (lambda: AlphaBetaAgent(time=np.ones(2)), "time=float64 of shape (2,) must be a number"),
        (lambda: ChampionAgent(time="1"), "time='1' must be a number"),
        (lambda: ChampionAgent(time=0), "time=0 must be in 1e-06 .. 1e+06"),
        (lambda: MctsAgent(sims=10.5), "sims must be an integer in 0 .. 10000000, not 10.5"),
        (lambda: MctsAgent(time="1"), "time='1' must be a number"),
        (lambda: MctsAgent(sims=-1), "sims must be in 0 .. 10000000, not -1"),
        (lambda: MctsAgent(playouts="long\nones"), r"unknown playouts 'long\nones': 'search', "),
        (lambda: AlphaBetaAgent(evaluation="x" * 999), "unknown evaluation 'xxxxxxxxxxxxxxxxxxxx"),
        (lambda: PolicyAgent("champion", temperature=None), "temperature=None must be a number"),
        (lambda: PolicyAgent("champion", temperature=10**400), "temperature=1000000000"),
        (
            lambda: PolicyMctsAgent("champion", leaves=1.5),
            "leaves must be an integer in 1 .. 1000, not 1.5",
        ),
        (lambda: PolicyMctsAgent("champion", time="1"), "time='1' must be a number"),
    ],
)
def test_an_option_of_another_type_is_refused_at_once(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ThudError) as error:
        make()
    assert str(error.value).startswith(said)


@pytest.mark.filterwarnings("error")  # a small type overflows with a warning
@pytest.mark.parametrize(
    ("of_numpy", "of_python"),
    [
        (
            lambda: AlphaBetaAgent(depth=np.int8(1), time=np.float16(0)),
            lambda: AlphaBetaAgent(depth=1),
        ),
        (
            lambda: MctsAgent(sims=np.uint8(200), c=np.float32(0.5)),
            lambda: MctsAgent(sims=200, c=0.5),
        ),
    ],
)
def test_numbers_of_numpy_are_options(
    of_numpy: Callable[[], Agent], of_python: Callable[[], Agent]
) -> None:
    assert of_numpy().turn(Position.start()) == of_python().turn(Position.start())


@pytest.mark.parametrize("path", [None, 5])
def test_what_is_no_path_to_a_policy_is_refused_at_once(path: Any) -> None:
    with pytest.raises(TypeError, match=f"^{path} is no pair: a path, such as runs/smoke, would"):
        PolicyAgent(path)
