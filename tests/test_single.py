import copy
import pickle
import re
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from seat_play import BESIDE_TWO_DWARFS, TROLL_LOST, assert_same, first_legal, play_randomly

import agents
import thud_env
from thud_env.actions import NUM_ACTIONS
from thud_env.envs import base
from thud_env.envs.single import ThudSeatEnv
from thud_env.outcome import SIDES
from thud_env.views.match import MATCH_PLANES

TURN_LIMIT = thud_env.Termination.TURN_LIMIT.value
IDS = {
    "thud/Thud-v0": "classic",
    "thud/KoomValley-v0": "koom-valley",
    "thud/KoomValleyFootball-v0": "koom-valley-football",
    "thud/ThudMatch-v0": "classic",
}


@pytest.mark.parametrize("observation", ["planes", "dict"])
@pytest.mark.parametrize("side", ["dwarfs", "trolls", "both", "random"])
@pytest.mark.parametrize("name", IDS)
def test_check_env_is_clean(name, side, observation, no_display):  # it tries every render mode
    env = gymnasium.make(name, side=side, observation=observation, render_mode="ansi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@pytest.mark.parametrize(("name", "rules"), IDS.items())
def test_the_registry_makes_each_game(name, rules):
    env = gymnasium.make(name)
    assert env.unwrapped.rules.name == rules
    assert env.unwrapped.side == "dwarfs"
    assert gymnasium.make(name, max_turns=9).unwrapped.position.rules.name == rules


@pytest.mark.parametrize("side", SIDES)
def test_the_rewards_of_a_battle_sum_to_its_margin(side):
    env = gymnasium.make("thud/Thud-v0", side=side, max_turns=200)
    for seed in range(5):
        env.reset(seed=seed)
        seen, over = play_randomly(env, seed)
        assert over
        margin = env.unwrapped.position.margin
        assert sum(step[1] for step in seen) * 32 == (margin if side == "dwarfs" else -margin)
        assert seen[-1][-1]["margin"] == margin


def test_the_opponent_captures_within_a_step():
    position = thud_env.Position.start().play("dE2-E6").play("TG7-F6")
    env = gymnasium.make("thud/Thud-v0", side="trolls", opponent=agents.make("greedy"))
    env.reset(options={"position": position.play("dA6-B6")})
    far_troll = thud_env.Position.from_text(env.unwrapped.position.text).decisions("TJ9-K9")[0]
    _, reward, *_ = env.step(far_troll)
    assert reward == -4 / 32
    assert env.unwrapped.position.to_move == "trolls"


def test_what_an_opening_of_the_opponent_earns_comes_with_the_first_step():
    env = gymnasium.make("thud/Thud-v0", side="trolls", opponent=agents.make("greedy"))
    env.reset(options={"position": TROLL_LOST})
    assert env.unwrapped.position.margin == 4
    _, reward, *_ = env.step(env.unwrapped.position.decisions("TJ9-K9")[0])
    assert reward == -4 / 32


def test_what_an_opening_earns_is_not_paid_in_another_battle():
    env = ThudSeatEnv(side="trolls", opponent=agents.make("greedy"))
    env.reset(options={"position": TROLL_LOST})
    env.reset()
    assert env.step(first_legal(env.position))[1] == 0


def test_who_loses_by_an_illegal_action_has_lost_what_the_opening_cost():
    env = ThudSeatEnv(side="trolls", opponent=agents.make("greedy"))
    env.reset(options={"position": TROLL_LOST})
    assert env.step(NUM_ACTIONS - 1)[1] == -1 - 4 / 32


def test_a_battle_that_the_opening_ends_is_over_after_one_step():
    env = ThudSeatEnv(side="trolls", max_turns=1)
    _, info = env.reset()
    assert info["termination"] == TURN_LIMIT
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (0, False, True)
    assert info["termination"] == TURN_LIMIT


def test_one_turn_may_take_several_steps():
    env = ThudSeatEnv(side="trolls", opponent=first_legal)
    env.reset(options={"position": BESIDE_TWO_DWARFS})
    decisions = env.position.decisions("TH3-H2xG1")
    _, reward, *_ = env.step(decisions[0])
    assert (reward, env.position.to_move) == (0, "trolls")
    _, reward, *_ = env.step(decisions[1])
    assert (reward, env.position.turn_number) == (1 / 32, 2)


def test_both_sides_are_paid_from_the_view_of_the_decider():
    env = ThudSeatEnv(side="both")
    env.reset(options={"position": BESIDE_TWO_DWARFS})
    decisions = env.position.decisions("TH3-H2xG1")
    assert env.step(decisions[0])[1] == 0
    _, reward, _, _, info = env.step(decisions[1])
    assert (reward, info["side"]) == (1 / 32, 0)
    start = thud_env.Position.start().play("dE2-E6").play("TG7-F6")
    env.reset(options={"position": start})
    _, reward, _, _, info = env.step(start.decisions("dE6-F6xF6")[0])
    assert (reward, info["side"]) == (4 / 32, 1)


@pytest.mark.parametrize("side", [*SIDES, "both"])
def test_a_match_changes_sides_and_pays_the_total(side):
    env = gymnasium.make("thud/ThudMatch-v0", side=side, max_turns=40)
    observation, info = env.reset(seed=3)
    assert observation.shape == (len(MATCH_PLANES), 15, 15)
    seen, over = play_randomly(env, seed=3)
    assert over
    if side == "both":
        return
    sides = [info["side"], *(step[-1]["side"] for step in seen)]
    assert sides == sorted(sides, reverse=side == "trolls")
    assert len(set(sides)) == 2
    assert sum(step[1] for step in seen) * 32 == seen[-1][-1]["total"]


def test_in_a_match_of_both_sides_the_sign_changes_with_the_player():
    env = gymnasium.make("thud/ThudMatch-v0", side="both", max_turns=40)
    match = thud_env.match_env(max_turns=40)
    _, info = env.reset(seed=1)
    match.reset()
    rng = np.random.default_rng(1)
    over, paid = False, dict.fromkeys(match.agents, 0.0)
    while not over:
        player = info["side"] ^ (info["first_termination"] != 0)
        assert match.agent_selection == f"player_{player}"
        action = rng.choice(np.flatnonzero(match.action_masks()))
        match.step(action)
        _, reward, terminated, truncated, info = env.step(action)
        paid[f"player_{player}"] += reward
        paid[f"player_{1 - player}"] -= reward
        over = terminated or truncated
    first, second = (battle.margin for battle in match.battles)
    assert first != second
    assert paid["player_0"] * 32 == first - second


def test_infos_always_have_the_same_keys_and_numbers_only():
    for name in IDS:
        env = gymnasium.make(name, side="random", max_turns=20)
        _, first = env.reset(seed=1)
        seen, over = play_randomly(env, seed=1)
        assert over
        for info in (first, *(step[-1] for step in seen)):
            assert info.keys() == first.keys()
            numbers = [value for key, value in info.items() if key != "action_mask"]
            assert {type(number) for number in numbers} == {int}


def test_unknown_arguments_are_refused_as_python_does():
    for maker in (ThudSeatEnv, lambda **arguments: gymnasium.make("thud/Thud-v0", **arguments)):
        with pytest.raises(TypeError, match="got an unexpected keyword argument 'frameskip'"):
            maker(frameskip=1)
        with pytest.raises(TypeError, match="'oponent': did you mean 'opponent'"):
            maker(oponent="random")


def test_many_made_one_by_one_are_told_where_their_autoreset_mode_goes():
    given = {"num_envs": 2, "vectorization_mode": "sync"}
    with pytest.raises(TypeError, match="takes autoreset_mode in vector_kwargs"):
        gymnasium.make_vec("thud/Thud-v0", autoreset_mode="SameStep", **given)
    kwargs = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}
    envs = gymnasium.make_vec("thud/Thud-v0", vector_kwargs=kwargs, **given)
    assert envs.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP


@pytest.mark.parametrize("make", [thud_env.env, thud_env.match_env, ThudSeatEnv])
def test_what_is_written_into_the_metadata_of_one_changes_no_other(make):
    env, other = make(), make()
    env.metadata["autoreset_mode"] = "as vector environments of Gymnasium 1.2 do"
    env.metadata["render_modes"].append("rgb_array_list")
    for metadata in (other.metadata, type(env).metadata, thud_env.env().metadata):
        assert "autoreset_mode" not in metadata
        assert "rgb_array_list" not in metadata["render_modes"]


def test_the_metadata_of_a_seat_are_those_of_its_game():
    assert ThudSeatEnv(match=True).metadata["name"] == "thud_match_v0"
    env = copy.deepcopy(ThudSeatEnv(render_mode="rgb_array"))
    env.metadata["render_fps"] = 30
    assert env._game.metadata["render_fps"] == 30


def test_the_metadata_of_a_class_derived_from_the_seat_hold() -> None:
    class Faster(ThudSeatEnv):
        metadata = ThudSeatEnv.metadata | {"render_fps": 30}

    env = Faster()
    assert env.metadata["render_fps"] == env._game.metadata["render_fps"] == 30
    assert ThudSeatEnv().metadata["render_fps"] != 30
    env.metadata["render_modes"].append("rgb_array_list")
    assert "rgb_array_list" not in Faster.metadata["render_modes"]


@pytest.mark.parametrize(
    ("env", "names"),
    [
        (thud_env.env(), ["rules"]),
        (ThudSeatEnv(), ["rules", "side"]),
        (thud_env.ThudVectorEnv(2), ["rules", "side", "rows"]),
    ],
)
def test_what_an_environment_was_made_with_cannot_be_set(env, names):
    for name in names:
        with pytest.raises(AttributeError):
            setattr(env, name, "trolls")


def test_the_mask_is_built_once_a_step(monkeypatch):
    built = []
    build = base.mask_of
    monkeypatch.setattr(base, "mask_of", lambda row: built.append(row) or build(row))
    env = ThudSeatEnv(opponent=first_legal)
    env.reset()
    built.clear()
    env.step(first_legal(env.position))
    assert len(built) == 1


def test_random_sides_are_drawn_from_the_seed():
    env = ThudSeatEnv(side="random")
    sides = [env.reset(seed=0)[1]["side"], *(env.reset()[1]["side"] for _ in range(40))]
    assert sides == [env.reset(seed=0)[1]["side"], *(env.reset()[1]["side"] for _ in range(40))]
    assert 10 < sides.count(0) < 31


@pytest.mark.parametrize("opponent", ["random-decisions", "agents:greedy", "object"])
def test_a_seed_fixes_the_whole_battle(opponent):
    opponent = agents.make("random") if opponent == "object" else opponent
    env = ThudSeatEnv(side="random", opponent=opponent, max_turns=60)
    battles = []
    for seed in (5, 5, 6):
        first = env.reset(seed=seed)
        battles.append([first, play_randomly(env, seed=1)])
    assert_same(battles[0], battles[1])
    with pytest.raises(AssertionError):
        assert_same(battles[0], battles[2])


def test_the_turn_limit_truncates_and_the_quiet_limit_terminates():
    for limits, ending in (({"max_turns": 6}, "truncated"), ({"max_quiet_turns": 6}, "terminated")):
        env = ThudSeatEnv(opponent=first_legal, **limits)
        env.reset()
        for turn in ("dA6-B6", "dB6-C6", "dC6-B6"):
            _, _, terminated, truncated, info = env.step(env.position.decisions(turn)[0])
        assert (terminated, truncated) == (ending == "terminated", ending == "truncated")
        quiet_limit = thud_env.Termination.QUIET_LIMIT.value
        assert info["termination"] == (TURN_LIMIT if truncated else quiet_limit)


def test_all_three_masks_are_the_same():
    env = gymnasium.make("thud/Thud-v0", observation="dict", side="trolls")
    observation, info = env.reset(seed=1)
    mask = env.get_wrapper_attr("action_masks")()
    assert mask.dtype == np.int8
    assert np.array_equal(mask, env.unwrapped.position.action_mask())
    assert np.array_equal(mask, observation["action_mask"])
    assert np.array_equal(mask, info["action_mask"])


@pytest.mark.parametrize(("idle_mask", "count"), [("zeros", 0), ("ones", NUM_ACTIONS)])
def test_the_mask_after_the_end(idle_mask, count):
    env = ThudSeatEnv(max_turns=1, idle_mask=idle_mask)
    env.reset()
    *_, info = env.step(first_legal(env.position))
    assert info["action_mask"].sum() == count
    assert env.action_masks().sum() == count


def test_an_illegal_action_loses():
    env = ThudSeatEnv()
    env.reset()
    before = env.position
    _, reward, terminated, truncated, info = env.step(NUM_ACTIONS - 1)
    assert (reward, terminated, truncated) == (-1, True, False)
    assert info["termination"] == -1
    assert info["action_mask"].all()
    assert env.position == before
    with pytest.raises(ResetNeeded):
        env.step(first_legal(before))


def test_an_illegal_action_can_be_refused():
    env = ThudSeatEnv(illegal_action="raise")
    env.reset()
    with pytest.raises(thud_env.IllegalMove, match="action 6469"):
        env.step(NUM_ACTIONS - 1)
    assert env.step(first_legal(env.position))[2] is False


def test_an_illegal_choice_of_the_opponent_is_blamed_on_it():
    env = ThudSeatEnv(opponent=lambda position: NUM_ACTIONS - 1)
    env.reset()
    with pytest.raises(thud_env.IllegalMove, match="the opponent's choice: action 6469"):
        env.step(first_legal(env.position))
    env = ThudSeatEnv(opponent=lambda position: 1 << 70)
    env.reset()
    with pytest.raises(thud_env.IllegalMove, match="the opponent's choice: action 11805"):
        env.step(first_legal(env.position))


@pytest.mark.parametrize("choice", [None, 2.0, [7], True, "7"])
def test_a_choice_of_the_opponent_that_is_no_integer_is_shown(choice):
    env = ThudSeatEnv(opponent=lambda position: choice)
    env.reset()
    said = f"the opponent's choice: action {choice!r} is "
    with pytest.raises(ValueError, match=re.escape(said)):
        env.step(first_legal(env.position))


@pytest.mark.parametrize("choices", [7, [7, 7], None])
def test_an_opponent_that_returns_no_array_of_one_choice_is_blamed(choices):
    class Careless:
        def act_rows(self, rows):
            return choices

    env = ThudSeatEnv(opponent=Careless())
    env.reset()
    with pytest.raises(ValueError, match=r"the opponent's choices are .* of shape \(1,\) would be"):
        env.step(first_legal(env.position))


def test_what_was_returned_stays_as_it_was():
    env = ThudSeatEnv(observation="dict")
    first = env.reset(seed=1)
    kept = copy.deepcopy(first)
    play_randomly(env, seed=1, decisions=3)
    assert_same(first, kept)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"rules": "clasic"}, "did you mean 'classic'"),
        ({"side": "dwarf"}, "unknown side 'dwarf': 'dwarfs', 'trolls', 'both' or 'random'"),
        ({"observation": "image"}, "unknown observation 'image': 'planes' or 'dict'"),
        ({"illegal_action": "pass"}, "'lose' or 'raise'"),
        ({"render_mode": "humna"}, "render_mode 'humna'"),
        ({"reward": "points"}, "reward 'points'"),
        ({"idle_mask": "twos"}, "idle_mask 'twos'"),
        ({"match": "no"}, "unknown match 'no': True or False would be right"),
        ({"max_turns": 0}, "max_turns"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        ThudSeatEnv(**arguments)


@pytest.mark.parametrize(
    ("action", "error", "named"),
    [
        (1.0, TypeError, "0 .. 6469"),
        (None, TypeError, "one integer"),
        (np.zeros(2, dtype=int), TypeError, r"int64 of shape \(2,\)"),
        (np.float32(3), TypeError, "one integer"),
        (True, TypeError, "True is a bool"),
        (np.True_, TypeError, "True is a bool"),
        (NUM_ACTIONS, thud_env.IllegalMove, "out of range"),
        (-1, thud_env.IllegalMove, "out of range"),
        (10**30, thud_env.IllegalMove, "out of range"),
    ],
)
def test_an_action_of_the_wrong_kind_is_refused(action, error, named):
    env = ThudSeatEnv()
    env.reset()
    before = env.position
    with pytest.raises(error, match=named):
        env.step(action)
    assert env.position == before


@pytest.mark.parametrize("kind", [int, np.int64, np.int32, np.uint16, np.array])
def test_integers_of_any_kind_are_actions(kind):
    env = ThudSeatEnv()
    env.reset()
    env.step(kind(first_legal(env.position)))


def test_steps_out_of_place_are_refused():
    env = ThudSeatEnv(max_turns=1)
    with pytest.raises(ResetNeeded, match=r"reset\(\)"):
        env.step(0)
    with pytest.raises(ResetNeeded):
        env.get_state()
    with pytest.raises(ValueError, match="position"):
        env.reset(options={"position": "nothing"})
    with pytest.raises(ResetNeeded, match=r"reset\(\)"):
        env.step(0)
    env.reset()
    env.step(first_legal(env.position))
    with pytest.raises(ResetNeeded, match=r"reset\(\)"):
        env.step(0)


def test_a_start_of_another_game_is_refused():
    env = ThudSeatEnv()
    with pytest.raises(TypeError, match="options is of type str: a dictionary, such as"):
        env.reset(options=thud_env.Position.start().text)
    with pytest.raises(ValueError, match="koom-valley"):
        env.reset(options={"position": thud_env.Position.start("koom-valley")})
    with pytest.raises(ValueError, match="unknown option 'positon': did you mean 'position'"):
        env.reset(options={"positon": "x"})
    with pytest.raises(ValueError, match="stands on H8"):
        env.reset(options={"position": "5/7/9/5R5/13/15/15/15/15/15/13/11/9/7/5 d - 0 0"})


def test_a_reset_that_is_refused_leaves_the_battle_as_it_is():
    env = ThudSeatEnv(side="random")
    env.reset(seed=np.int64(1))
    for options in ({"positon": 1}, {"position": "nothing"}):
        before = pickle.dumps(env.get_state())
        with pytest.raises(ValueError, match="position"):
            env.reset(seed=9, options=options)
        assert pickle.dumps(env.get_state()) == before
        env.step(first_legal(env.position))


def test_a_class_of_ones_own_is_told_the_arguments_of_the_environment():
    class Logged(ThudSeatEnv):
        def __init__(self, log=None, **others):
            super().__init__(**others)

    with pytest.raises(TypeError, match=r"Logged\(\) .*did you mean 'max_turns'\? known: log, "):
        Logged(max_turnz=3)
