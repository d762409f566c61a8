"""What an environment or a batch is made with cannot be set later, where it would do nothing."""

import inspect
import pickle

import gymnasium
import pytest

import thud_env

MAKERS = {
    "aec": thud_env.env,
    "match": thud_env.match_env,
    "seat": lambda **given: gymnasium.make("thud/Thud-v0", **given).unwrapped,
    "vector": lambda **given: gymnasium.make_vec("thud/Thud-v0", num_envs=2, **given).unwrapped,
    "batch": lambda **given: thud_env.BatchedGame(2, **given),
}
OF_OTHERS = {"render_mode", "num_envs"}
"""Attributes of Gymnasium's and PettingZoo's, which they may set."""
TAKES_EFFECT = {"opponent", "starts"}
EACH = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@EACH
def test_no_argument_of_ours_is_set_in_silence(make) -> None:
    made = make()
    arguments = {
        name
        for name, one in inspect.signature(type(made)).parameters.items()
        if one.kind is not one.VAR_KEYWORD
    }
    assert {"rules", "max_turns", "agreement"} <= arguments
    for name in arguments - OF_OTHERS - TAKES_EFFECT:
        with pytest.raises(AttributeError, match=name):
            setattr(made, name, 5)


@EACH
def test_limits_are_those_it_was_made_with(make) -> None:
    made = make(max_turns=7)
    with pytest.raises(AttributeError, match=r"max_turns of a .* another .* would be right"):
        made.max_turns = 9
    assert not hasattr(made, "max_turns")
    for one in (made, pickle.loads(pickle.dumps(made))):
        one.reset()
        rows = [one.rows[0]] if hasattr(one, "rows") else None
        position = thud_env.Position(rows[0]) if rows else one.position
        position = position(0) if callable(position) else position
        assert position.limits["max_turns"] == 7


def test_vector_environments_of_gymnasium_do_not_set_it_on_a_wrapper() -> None:
    envs = gymnasium.make_vec("thud/Thud-v0", num_envs=2, vectorization_mode="sync")
    with pytest.raises(AttributeError, match=r"max_turns of a ThudSeatEnv"):
        envs.set_attr("max_turns", 9)
    envs.set_attr("mine", 3)
    assert envs.get_attr("mine") == (3, 3)


@pytest.mark.parametrize(
    "kind", [thud_env.ThudEnv, thud_env.ThudSeatEnv, thud_env.ThudVectorEnv, thud_env.BatchedGame]
)
def test_a_class_of_ones_own_keeps_what_it_likes(kind: type) -> None:
    class Own(kind):  # type: ignore[misc]
        def __init__(self, max_turns: int = 9) -> None:
            many = {"num_games": 1} if kind is thud_env.BatchedGame else {}
            super().__init__(**many, max_turns=max_turns)
            assert not hasattr(self, "max_turns")
            self.max_turns = self.reward = max_turns

    own = Own(7)
    assert (own.max_turns, own.reward) == (7, 7)
    own.max_turns = 8
    assert own.max_turns == 8
