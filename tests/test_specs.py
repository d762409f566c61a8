"""Specs of agents are taken apart and put together."""

from __future__ import annotations

import pytest

from agents.specs import Spec


@pytest.mark.parametrize(
    "text", ["greedy", "alphabeta:depth=3", "policy:runs/a=b/best,temperature=0.2", "mcts:sims=5,"]
)
def test_a_spec_is_put_together_as_it_was(text):
    assert str(Spec.of(text)) == text


def test_an_option_is_read_set_and_left_out():
    spec = Spec.of("policy+mcts:pretrained/classic,sims=200,time=1")
    assert spec.value("sims") == "200"
    assert spec.value("depth") is None
    assert str(spec.given("sims", 60)) == "policy+mcts:pretrained/classic,time=1,sims=60"
    assert str(spec.without("sims", "time")) == "policy+mcts:pretrained/classic"
    assert str(Spec.of("mcts:sims=9").without("sims")) == "mcts"


def test_a_path_is_no_option_of_the_same_name():
    spec = Spec.of("policy+mcts:sims,time=1")
    assert spec.value("sims") is None
    assert str(spec.given("sims", 60)) == "policy+mcts:sims,time=1,sims=60"
