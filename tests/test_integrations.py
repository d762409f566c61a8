"""The code that integrations share, and the adapters whose libraries are installed."""

import pickle
from urllib.parse import quote

import numpy as np
import pytest

import thud_env
from thud_env.actions import ACCEPT, OFFER
from training.arena.intervals import Interval, equal_values_interval
from training.integrations.before_after import command, mean_margin, show

BEFORE = Interval(1.0, 0.4, 1.6)


def uniform(observations, masks):
    rng = np.random.default_rng(0)
    return [rng.choice(np.flatnonzero(mask)) for mask in masks]


def first(observations, masks):
    return masks.argmax(axis=1)


def test_margins_are_seen_from_the_side_that_plays():
    trolls = mean_margin(uniform, battles=30, seed=1)
    dwarfs = mean_margin(uniform, battles=30, seed=1, side="dwarfs")
    assert trolls.low > 0 > dwarfs.high


def test_the_same_seed_plays_the_same_battles():
    assert mean_margin(first, 10, seed=3) == mean_margin(first, 10, seed=3)
    assert mean_margin(first, 10, seed=3) != mean_margin(first, 10, seed=4)


def test_every_battle_counts_once():
    over_at_once = mean_margin(first, 10, seed=1, max_turns=1)
    assert over_at_once == equal_values_interval(0.0, 10, (-32, 32))


def test_the_table_has_both_margins_and_their_difference(capsys):
    show("Example PPO", BEFORE, Interval(3.0, 2.2, 3.8))
    assert capsys.readouterr().out.splitlines()[1:] == [
        "Example PPO: trolls against random dwarfs",
        "              mean margin     95% interval",
        "before               +1.0     +0.4 ..   +1.6",
        "after                +3.0     +2.2 ..   +3.8",
        "difference           +2.0     +1.0 ..   +3.0",
    ]


@pytest.mark.parametrize("after", [0.5, 1.0, 1.9])
def test_a_script_fails_if_training_shows_no_gain(after):
    with pytest.raises(SystemExit, match="Example PPO: after is not better than before"):
        show("Example PPO", BEFORE, Interval(after, after - 0.8, after + 0.8))


def test_the_command_line():
    read = []
    words = command("some_ppo", "About.", steps=7)
    assert words.run(read.append, ["--seed=3"]) == 0
    assert (read[0].steps, read[0].seed) == (7, 3)


@pytest.mark.parametrize(("word", "said"), [("--steps=1", "--steps"), ("--seeds=1", "--seed")])
def test_what_is_wrong_on_the_command_line_is_one_line(word, said, capsys):
    assert command("some_ppo", "About.", steps=7).run(lambda _: None, [word]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("some_ppo: ")
    assert said in line


def test_a_training_that_is_interrupted_ends_with_a_line(capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    assert command("some_ppo", "About.", steps=7).run(interrupted, []) == 130
    assert capsys.readouterr().err.splitlines() == ["stopped"]


def test_cleanrl_agent_draws_only_what_is_legal():
    pytest.importorskip("torch")
    from training.integrations.cleanrl_ppo import Agent

    positions = [thud_env.Position.start(rules) for rules in thud_env.RULESETS]
    planes = np.stack([position.observation() for position in positions])
    masks = np.stack([position.action_mask() for position in positions])
    agent = Agent((14, 15, 15))
    for _ in range(20):
        actions = agent.choose(planes, masks)
        assert masks[np.arange(len(masks)), actions].all()


@pytest.fixture
def open_spiel():
    pytest.importorskip("pyspiel", reason="OpenSpiel has a virtual environment of its own")
    from training.integrations import open_spiel_game

    open_spiel_game.register()
    open_spiel_game.register()  # once more changes nothing
    import pyspiel

    return pyspiel


@pytest.mark.parametrize("rules", thud_env.RULESETS)
def test_open_spiel_plays_the_game(open_spiel, rules):
    game = open_spiel.load_game("thud", {"rules": rules, "max_turns": 60})
    rng = np.random.default_rng(1)
    observer = game.make_py_observer()
    for _ in range(5):
        state = game.new_initial_state()
        position = thud_env.Position.start(rules, max_turns=60)
        while not state.is_terminal():
            assert state.legal_actions() == position.legal_actions().tolist()
            assert state.current_player() == ("dwarfs", "trolls").index(position.to_move)
            observer.set_from(state, 0)
            np.testing.assert_array_equal(observer.dict["observation"], position.observation())
            action = int(rng.choice(state.legal_actions()))
            twin = state.clone()
            state.apply_action(action)
            assert twin.position == position
            position = position.apply(action)
        share = position.margin / position.rules.largest_margin
        assert state.returns() == [share, -share]
        serialized = open_spiel.serialize_game_and_state(game, state)
        assert open_spiel.deserialize_game_and_state(serialized)[1].position == position


OWN_RULES = thud_env.CLASSIC.replace(name="mine", trolls="G7 H7 J7 G9 H9 J9", max_turns=30).spec


@pytest.mark.parametrize("rules", [OWN_RULES, quote(OWN_RULES)])
def test_open_spiel_writes_and_reads_a_ruleset_of_ones_own(open_spiel, rules):
    game = open_spiel.load_game("thud", {"rules": rules})
    again = open_spiel.load_game(str(game))
    for one in (game, again, pickle.loads(pickle.dumps(game))):
        start = one.new_initial_state().position
        assert start == thud_env.Position.start(OWN_RULES)
        assert start.limits["max_turns"] == 30
    open_spiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)


def test_open_spiel_ends_battles_by_agreement(open_spiel):
    game = open_spiel.load_game("thud(agreement=true,offer_after=1)")
    state = game.new_initial_state()
    state.apply_action(state.legal_actions()[0])
    for action in (OFFER, ACCEPT):
        assert action in state.legal_actions()
        state.apply_action(action)
    assert state.position.outcome.termination.name == "AGREEMENT"


@pytest.fixture
def rllib():
    pytest.importorskip("ray", reason="RLlib has a virtual environment of its own")
    from training.integrations import rllib_ppo

    return rllib_ppo


def test_rllib_pays_both_agents_up_to_the_end(rllib):
    rng = np.random.default_rng(1)
    env = rllib.RllibThud({"rules": "classic", "max_turns": 150})
    for _ in range(5):
        seen, _ = env.reset()
        paid, over = dict.fromkeys(env.agents, 0.0), False
        while not over:
            ((agent, view),) = seen.items()
            assert view in env.observation_spaces[agent]
            action = int(rng.choice(np.flatnonzero(view["action_mask"])))
            seen, rewards, terminated, truncated, _ = env.step({agent: action})
            for one, reward in rewards.items():
                paid[one] += reward
            over = terminated["__all__"] or truncated["__all__"]
        assert set(seen) == set(env.agents)
        margin = env.game.position.margin
        assert {agent: 32 * sum_ for agent, sum_ in paid.items()} == {
            "dwarf_0": margin,
            "troll_0": -margin,
        }
