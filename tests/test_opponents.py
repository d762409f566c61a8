import copy
import pickle
import subprocess
import sys
from functools import partial
from importlib.abc import MetaPathFinder

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from seat_play import first_legal

import agents
from thud_env import Position
from thud_env.envs.opponents import Opponent, RandomDecisions, make_opponent
from thud_env.envs.single import ThudSeatEnv
from thud_env.envs.vector import ThudVectorEnv
from thud_env.outcome import SIDES

START = Position.start("classic")


class Actor:
    """An opponent with everything that it may have."""

    def __init__(self):
        self.seeded = None

    def act(self, position):
        return first_legal(position)

    def seed(self, seed):
        self.seeded = seed

    def get_state(self):
        return {"seeded": self.seeded}

    def set_state(self, state):
        self.seeded = state["seeded"]


def met(given):
    return Opponent(given, START.rules, side="trolls", match=False)


def choices(opponent, count=3):
    rows = np.tile(START.row, (count, 1))
    return opponent.choices(rows, np.arange(count)).tolist()


def test_functions_and_objects_are_asked_one_by_one():
    first = first_legal(START)
    assert choices(met(first_legal)) == [first] * 3
    assert choices(met(Actor())) == [first] * 3


def test_an_object_for_many_games_is_taken_as_it_is():
    greedy = agents.make("greedy")
    assert make_opponent(greedy) is greedy


def test_an_opponent_of_a_module_draws_anew_unless_it_is_seeded():
    one, other = (met("agents:random") for _ in range(2))
    assert choices(one, 20) != choices(other, 20)
    for opponent in (one, other):
        opponent.seed(np.random.default_rng(1))
    assert choices(one, 20) == choices(other, 20)


def test_the_older_name_of_random_decisions_still_works():
    assert isinstance(make_opponent("random"), RandomDecisions)


def test_random_draws_every_legal_decision_and_no_other():
    opponent = met("random-decisions")
    legal = START.legal_actions()
    drawn = choices(opponent, 20_000)
    assert set(drawn) == set(legal.tolist())
    counts = np.bincount(np.searchsorted(legal, drawn), minlength=len(legal))
    expected = 20_000 / len(legal)
    assert ((counts - expected) ** 2 / expected).sum() < len(legal) + 5 * np.sqrt(2 * len(legal))


def test_the_same_seed_draws_the_same():
    one, other = met(RandomDecisions()), met(RandomDecisions())
    one.seed(np.random.default_rng(1))
    other.seed(np.random.default_rng(1))
    assert choices(one, 50) == choices(other, 50)
    assert choices(one, 50) != choices(one, 50)


@pytest.mark.parametrize("make", [lambda: met(RandomDecisions()), lambda: met(Actor())])
def test_a_state_can_be_returned_to(make):
    opponent = make()
    opponent.seed(np.random.default_rng(1))
    state = opponent.state()
    before = choices(copy.deepcopy(opponent), 20)
    opponent.seed(np.random.default_rng(2))
    with opponent.restored(state):
        pass
    assert choices(opponent, 20) == before
    assert pickle.loads(pickle.dumps(opponent)).state() == opponent.state()


def test_a_copy_shares_nothing_with_its_original():
    original = met(Actor())
    twin = copy.deepcopy(original)
    twin.seed(np.random.default_rng(1))
    assert original.state() == {"seeded": None}
    assert twin.state() != {"seeded": None}


def test_an_opponent_without_state_has_none():
    opponent = met(first_legal)
    opponent.seed(np.random.default_rng(1))
    assert opponent.state() is None
    with opponent.restored(None):
        pass


def test_an_opponent_is_as_before_if_the_game_cannot_be_restored():
    opponent = met(RandomDecisions())
    state = opponent.state()
    opponent.seed(np.random.default_rng(1))
    before = opponent.state()
    with pytest.raises(KeyError), opponent.restored(state):
        raise KeyError
    assert opponent.state() == before


class Failing:
    """An opponent that is interrupted in its second reply."""

    def __init__(self):
        self.calls = 0

    def act_rows(self, rows):
        self.calls += 1
        if self.calls == 2:
            raise KeyboardInterrupt
        return np.array([first_legal(Position.unchecked(row)) for row in rows])


@pytest.mark.parametrize("kind", [ThudSeatEnv, ThudVectorEnv])
def test_after_an_opponent_has_failed_nobody_plays_for_it(kind):
    single = kind is ThudSeatEnv
    env = kind(opponent=Failing()) if single else kind(2, opponent=Failing())
    env.reset()
    legal = first_legal(env.position if single else env.position(0))
    env.step(legal if single else np.full(2, legal))
    position = env.position if single else env.position(0)
    legal = first_legal(position)
    with pytest.raises(KeyboardInterrupt):
        env.step(legal if single else np.full(2, legal))
    with pytest.raises(ResetNeeded):
        env.step(0 if single else np.zeros(2, dtype=int))
    env.reset()
    env.step(first_legal(START) if single else np.full(2, first_legal(START)))


@pytest.mark.parametrize("kind", [ThudSeatEnv, ThudVectorEnv])
def test_after_an_opening_has_failed_nobody_plays_for_it(kind):
    single = kind is ThudSeatEnv
    env = kind(*([] if single else [2]), side="trolls", opponent=Failing())
    env.reset()
    with pytest.raises(KeyboardInterrupt):
        env.reset()
    with pytest.raises(ResetNeeded):
        env.step(0 if single else np.zeros(2, dtype=int))


@pytest.mark.parametrize("kind", [ThudSeatEnv, ThudVectorEnv])
def test_another_opponent_plays_on(kind):
    env = ThudSeatEnv() if kind is ThudSeatEnv else ThudVectorEnv(2)
    for wrong, error in ((3, TypeError), ("agents:greddy", ValueError), (None, TypeError)):
        with pytest.raises(error):
            env.opponent = wrong
    assert env.opponent == "random-decisions"
    env.reset(seed=1)
    asked = []

    def plays(position):
        asked.append(position)
        return first_legal(position)

    env.opponent = plays
    assert env.opponent is plays
    if kind is ThudSeatEnv:
        env.step(first_legal(env.position))
    else:
        env.step([first_legal(env.position(game)) for game in range(2)])
    assert len(asked) == (1 if kind is ThudSeatEnv else 2)


def test_a_wrappers_opponent_is_that_of_its_environment():
    envs = gymnasium.make_vec("thud/Thud-v0", num_envs=2, vectorization_mode="sync")
    envs.set_attr("opponent", first_legal)
    assert [env.unwrapped.opponent for env in envs.envs] == [first_legal] * 2
    envs.reset(seed=1)
    start = START.apply(4)
    _, _, _, _, infos = envs.step(np.full(2, 4))
    after = start.apply(first_legal(start))
    np.testing.assert_array_equal(infos["action_mask"], [after.action_mask()] * 2)


class Told:
    """An opponent that is told which games it plays in."""

    def __init__(self):
        self.games = []

    def act_rows(self, rows, games):
        assert len(games) == len(rows)
        self.games.append(games.tolist())
        return np.array([first_legal(Position.unchecked(row)) for row in rows])


def test_an_opponent_that_takes_games_is_told_which():
    told = Told()
    env = ThudSeatEnv(opponent=told)
    env.reset()
    env.step(first_legal(START))
    assert told.games == [[0]]
    told = Told()
    envs = ThudVectorEnv(3, opponent=told, autoreset_mode="Disabled")
    starts = [START, Position.start(max_turns=1), START]
    envs.reset(options={"position": starts})
    envs.step(np.full(3, first_legal(START)))
    assert told.games == [[0, 2]]


@pytest.mark.parametrize("opponent", ["agents:greedy", first_legal, 3])
def test_an_opponent_that_would_never_play_is_refused(opponent):
    for make in (ThudSeatEnv, ThudVectorEnv):
        with pytest.raises(ValueError, match="would never play"):
            make(side="both", opponent=opponent)
        make(side="both", opponent=None)


def test_a_string_names_the_module_that_makes_the_player():
    assert type(make_opponent("agents:greedy")) is type(agents.make("greedy"))
    with pytest.raises(ValueError, match="did you mean 'greedy'"):
        make_opponent("agents:greddy")


def test_a_class_is_refused_where_a_player_of_it_is_wanted():
    with pytest.raises(TypeError, match=r"opponent RandomDecisions is a class: .*\(\), would be"):
        make_opponent(RandomDecisions)


def test_nothing_has_to_be_imported_before_a_player_is_named():
    code = (
        "import gymnasium, thud_env; env = gymnasium.make('thud/Thud-v0', opponent='agents:greedy')"
        "; env.reset(seed=1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("opponent", "said"),
    [
        (
            "",
            "unknown opponent '': 'random-decisions', or MODULE:SPEC .* 'agents:greedy', would be",
        ),
        ("greedy", "unknown opponent 'greedy': .* such as 'agents:greedy', would be right"),
        (":greedy", "unknown opponent ':greedy': .* or MODULE:SPEC"),
        (
            "alphabeta:depth=1",
            "no module 'alphabeta': not in .* such as 'agents:alphabeta:depth=1'",
        ),
        ("agent:greedy", "no module 'agent': not in .* such as 'agents:greedy'"),
        ("math:greedy", "module 'math' has no function make"),
        ("sys:greedy", "module 'sys' has no function make.*built-in"),  # of no file
        ("wanting:player", "module 'wanting' cannot be imported: .* No module named 'no_such_"),
    ],
)
def test_a_string_that_names_no_player_is_refused_in_one_line(
    opponent, said, tmp_path, monkeypatch
):
    (tmp_path / "wanting.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=said) as error:
        make_opponent(opponent)
    assert "\n" not in str(error.value)


def test_without_the_checkout_its_agents_are_said_to_come_with_it(monkeypatch):
    for name in [name for name in sys.modules if f"{name}.".startswith("agents.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NoAgents(), *sys.meta_path])
    with pytest.raises(
        ValueError, match=r"no module 'agents': .*: pip install --editable .CHECKOUT\[agents\]."
    ):
        make_opponent("agents:greedy")


class NoAgents(MetaPathFinder):
    """Finds no agents, as where thud_env alone is installed."""

    def find_spec(self, fullname, path, target=None):
        if fullname == "agents":
            raise ModuleNotFoundError("No module named 'agents'", name="agents")


def test_no_opponent_is_needed_where_the_learner_plays_both_sides():
    env = ThudSeatEnv(side="both", opponent=None)
    env.reset(seed=0)
    *_, info = env.step(first_legal(env.position))
    assert info["side"] == SIDES.index("trolls")
    envs = ThudVectorEnv(2, side="both", opponent=None)
    envs.reset(seed=0)
    *_, infos = envs.step(envs.sample_actions())
    assert infos["side"].tolist() == [SIDES.index("trolls")] * 2
    for make in (ThudSeatEnv, partial(ThudVectorEnv, 2)):
        with pytest.raises(TypeError, match="opponent None cannot play"):
            make(side="dwarfs", opponent=None)


@pytest.mark.parametrize("kind", [ThudSeatEnv, ThudVectorEnv])
@pytest.mark.parametrize("player", ["policy", "policy+mcts"])
def test_a_policy_of_another_game_is_refused_before_the_game_begins(kind, player):
    pytest.importorskip("torch")
    spec = f"{player}:pretrained/koom-valley"
    for opponent in (f"agents:{spec}", agents.make(spec)):
        with pytest.raises(ValueError, match="was trained for koom-valley, not classic"):
            kind(opponent=opponent)
    kind(rules="koom-valley", opponent=f"agents:{spec}")


@pytest.mark.parametrize(
    ("side", "match", "asked"),
    [
        ("dwarfs", False, ["trolls"]),
        ("trolls", False, ["dwarfs"]),
        ("trolls", True, ["dwarfs", "trolls"]),
        ("random", False, ["dwarfs", "trolls"]),
    ],
)
def test_an_opponent_is_asked_about_the_sides_that_it_plays(side, match, asked):
    class Choosy:
        def __init__(self):
            self.asked = []

        def check_plays(self, rules, side):
            self.asked.append(side)

        def act(self, position):
            return first_legal(position)

    for kind in (ThudSeatEnv, ThudVectorEnv):
        opponent = Choosy()
        kind(side=side, match=match, opponent=opponent)
        assert opponent.asked == asked


def test_without_an_opponent_the_learner_plays_both_sides():
    with pytest.raises(TypeError, match="or side='both' without an opponent, would be right"):
        make_opponent(None)


@pytest.mark.parametrize("opponent", [None, 3, object()])
def test_what_cannot_play_is_refused(opponent):
    with pytest.raises(TypeError, match=r"act\(position\)"):
        make_opponent(opponent)


@pytest.mark.parametrize("choose", [lambda: 3, lambda observation, info: 3])
def test_a_function_of_anything_but_a_position_is_refused_when_it_is_given(choose):
    actor = type("Asker", (), {"act": staticmethod(choose)})()
    for opponent in (choose, actor):
        with pytest.raises(
            TypeError, match=r"takes \(.*\): a function from a Position to an action"
        ):
            make_opponent(opponent)


def test_a_function_may_have_more_arguments_that_it_does_not_need():
    first = first_legal(START)
    assert choices(met(lambda position, depth=3: first), 1) == [first]
    assert choices(met(lambda *anything: first), 1) == [first]
