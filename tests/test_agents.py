"""Scripted players and the registry that makes players from specs."""

from __future__ import annotations

import copy
import pickle
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from by_hand import decide, place, turns_of
from positions import random_position
from untrained import value_all_at

import agents
from agents.policy import PolicyAgent
from agents.simple import GreedyAgent, RandomAgent
from thud_env import RULESETS, BatchedGame, Position, RowError, ThudError
from thud_env.envs.opponents import make_opponent
from thud_env.rules.row import ROW_SIZE
from thud_env.views.results import margins

# Python 3.14 asks no further whether a path exists that cannot.
TOO_LONG = (
    "cannot be read: File name too long"
    if sys.version_info < (3, 14)
    else "is not a policy: there is no such folder"
)
BOTH = pytest.mark.parametrize("name", ["random", "greedy"])


FILES = Path(__file__).parents[1] / "configs" / "search"
COPIED = (
    "random",
    "greedy",
    "greedy2",
    "alphabeta:depth=1",
    "alphabeta:depth=1,evaluation=features",
    f"alphabeta:depth=1,evaluation=features,weights={FILES / 'weights.yaml'}",
    f"alphabeta:depth=1,weights={FILES / 'patterns-classic.npz'}",
    "mcts:sims=20",
    "mcts:sims=20,evaluation=features",
    f"mcts:sims=20,weights={FILES / 'patterns-koom-valley.npz'}",
    "policy:champion",
    "policy+mcts:champion,sims=8",
    "policy+mcts:champion,sims=8,root=gumbel,noise=1,precision=bfloat16",
    "champion:time=0.01",
)


# -- the registry --------------------------------------------------------------------------


def test_a_spec_makes_the_agent_that_it_names() -> None:
    assert type(agents.make("random")) is RandomAgent
    assert type(agents.make("greedy", seed=3)) is GreedyAgent
    assert {"random", "greedy", "greedy2", "alphabeta", "policy"} <= set(agents.AGENTS)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("grredy", "unknown agent 'grredy': did you mean 'greedy'? there are random, greedy"),
        ("policies:x", "unknown agent 'policies:x': did you mean 'policy'?"),
        ("agents:greedy", "unknown agent 'agents:greedy': did you mean 'greedy'? there are random"),
        ("my.net:Mine,depth=2", "did you mean 'python:my.net:Mine,depth=2'? there are random"),
        ("mine.py:Mine", "did you mean 'python:mine:Mine'? there are random"),
        ("./mine.py:Mine", "an agent of your own is python:MODULE:CLASS; there are random"),
        ("./mine.py", "an agent of your own is python:MODULE:CLASS; there are random"),
        ("stockfish", "unknown agent 'stockfish': there are random, greedy"),
        ("", "unknown agent ''"),
        ("greedy:depth=3", "agent 'greedy:depth=3' has no option 'depth': its options are none"),
        ("alphabeta: depth=2", "'depth' without spaces is right"),
        ("alphabeta:2", "has no option '2': its options are depth, "),
        ("random:seed=3", "has no option 'seed': make(spec, seed=1)"),
        ("greedy,seed=3", "options follow a colon"),
        ("alphabeta:depth=two", "depth=two must be a whole number"),
        ("alphabeta:depth=99", "depth must be in 0 .. 24, not 99"),
        ("alphabeta:time=-1", "time=-1.0 must be in 0 .. 1e+06"),
        ("alphabeta:time=nan", "time=nan must be in 0"),
        (
            "alphabeta:deep=2",
            "no option 'deep': did you mean 'depth'? its options are depth, time",
        ),
        ("alphabeta:weights=/no/such/file", "/no/such/file cannot be read: No such file or"),
        ("alphabeta:depth=1,depth=2", "has its option 'depth' twice: once would be right"),
        ("policy", "agent 'policy' needs a path: policy:PATH would be right"),
        ("runs/tiny", "did you mean 'policy:runs/tiny'"),
        ("policy:temperature=1", "needs a path"),
        ("policy:seed=1", "needs a path"),
        ("policy:no/such,lr=3", "has no option 'lr'"),
        ("policy:no/such/lr=3", "no/such/lr=3"),
        (
            "policy:x,temprature=1",
            "has no option 'temprature': did you mean 'temperature'? its options are temperature",
        ),
        ("policy:champoin", "champoin is not a policy: there is no such folder: did you mean 'cha"),
        ("policy:pretrained/clasic", "there is no such folder: did you mean 'classic'?"),
        ("policy:x,temperature=hot", "temperature=hot must be a number"),
        ("policy:x,temperature", "temperature= must be a number"),
        ("policy:x,temperature=-1", "temperature=-1.0 must be 0 or more"),
        ("policy:x,temperature=nan", "temperature=nan must be 0 or more"),
        ("policy:/no/such/folder", "/no/such/folder is not a policy"),
        (f"policy:{'x' * 300}", f"xxx {TOO_LONG}"),
        (f"policy:pretrained/{'x' * 300}", f"xxx {TOO_LONG}"),
    ],
)
def test_the_error_for_a_wrong_spec_names_the_mistake(spec: str, said: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the words are compared below
        agents.make(spec)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_is_not_the_nearest_policy() -> None:
    with pytest.raises(ValueError, match=r"there is no such folder$"):
        agents.make("policy:pretrained/README.m")


PLAYERS = ["random", "greedy", "alphabeta:depth=1", "policy:pretrained/classic"]


@pytest.mark.parametrize("spec", PLAYERS)
def test_what_are_no_rows_is_refused(spec: str) -> None:
    row = Position.start().row
    for wrong, said in (
        (row, r"are integers of shape \(N, 432\), not int16 of \(432,\)"),
        (row[None] * 1.0, r"are integers of shape \(N, 432\), not float64 of \(1, 432\)"),
        (row[None] + np.int64(1 << 20), "hold 16-bit integers, not 10"),
    ):
        with pytest.raises(ValueError, match=f"^rows {said}"):
            agents.make(spec).act_rows(wrong)


@pytest.mark.parametrize("spec", [*PLAYERS, "greedy2"])
def test_rows_that_no_play_leads_to_are_refused(spec: str) -> None:
    """Such as a buffer that has not been filled."""
    good, bad = Position.start().row, Position.start().row
    bad[ROW_SIZE // 2] = 99
    for wrong in (np.zeros((1, ROW_SIZE), np.int16), np.stack([good, bad])):
        with pytest.raises(RowError):
            agents.make(spec).act_rows(wrong)


@pytest.mark.parametrize("temperature", [0, 0.2, 1, 3])
def test_a_policy_judges_as_it_plays(temperature: float) -> None:
    position = Position.start("koom-valley-football")
    spec = f"policy:pretrained/koom-valley-football,temperature={temperature}"
    judged = agents.make(spec).judge(position).probabilities
    assert judged.sum() == pytest.approx(1)
    assert (judged[position.action_mask() == 0] == 0).all()
    even = agents.make("policy:pretrained/koom-valley-football").judge(position).probabilities
    if temperature:
        wanted = even ** (1 / temperature)
        assert judged == pytest.approx(wanted / wanted.sum(), abs=1e-9)
    else:
        assert judged[agents.make(spec).act(position)] == 1
    drawn = agents.make(spec).act_rows(np.repeat(position.row[None], 400, axis=0))
    often = np.bincount(drawn, minlength=len(judged)) / 400
    best = int(judged.argmax())
    assert often[best] == pytest.approx(judged[best], abs=0.1)


def test_options_beside_the_spec_are_refused() -> None:
    with pytest.raises(TypeError, match="'depth': options stand in the spec, as in 'alphabeta:"):
        agents.make("alphabeta", depth=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"'sed': did you mean 'seed'\?$"):
        agents.make("alphabeta", sed=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("spec", PLAYERS)
def test_rows_of_any_integers_are_read(spec: str) -> None:
    row = Position.start().row
    given: tuple[Any, ...] = (row[None], row[None].astype(np.int64), [row], [row.tolist()])
    decided = [agents.make(spec, seed=3).act_rows(rows).tolist() for rows in given]
    assert decided == [decided[0]] * len(given)


def test_a_policy_judges_positions_alone() -> None:
    with pytest.raises(TypeError, match="a str is no position"):
        PolicyAgent("pretrained/classic").judge("text")  # type: ignore[arg-type]


def test_the_seed_is_0_unless_given_and_none_draws_it_anew() -> None:
    def played(**seed: Any) -> set[str]:
        return {agents.make("random", **seed).turn(Position.start()) for _ in range(20)}

    assert played() == played(seed=0)
    assert len(played(seed=None)) > 1


def test_a_seed_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match="seed must be 0 or more, not -1"):
        agents.make("random", seed=-1)


def test_a_spec_that_is_not_a_string_is_named() -> None:
    with pytest.raises(TypeError, match=r"^agent None: .* 'greedy', or 'python:MODULE:"):
        agents.make(None)  # type: ignore[arg-type]


OWN = """
import agents
from agents.policy import PolicyAgent

class Own(agents.Agent):
    def __init__(
        self,
        depth: int,
        share: float = 0.5,
        plain=3,
        flag: bool = False,
        path="",
        top: int | None = None,
        words: list = [],
        seed=0,
        **others,
    ):
        self.options = (depth, share, plain, path, top, flag, seed)

    def act_rows(self, rows):
        return rows[:, 0]

class NoAct(agents.Agent):
    pass

class Plain(agents.Agent):
    seeded = None

    def seed(self, seed):
        self.seeded = seed

    act_rows = Own.act_rows

class Bare(agents.Agent):
    def __init__(self, depth):
        pass

    act_rows = Own.act_rows

class Picky(agents.Agent):
    def __init__(self, depth: int):
        if depth == 0:
            raise ValueError("depth=0 looks at nothing")
        raise KeyError(depth)

    act_rows = Own.act_rows

class NoAgent:
    pass

number = 3
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_player.py").write_text(OWN)
    (tmp_path / "own_broken.py").write_text("raise KeyError('x')")
    (tmp_path / "own_wanting.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("own_player", "own_broken", "own_wanting"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize("spec", ["random", "mcts:sims=2", "policy:pretrained/classic"])
@pytest.mark.parametrize("seed", [-1, "x", 0.5])
def test_a_wrong_seed_is_refused_later_too(spec: str, seed: Any) -> None:
    player = agents.make(spec)
    with pytest.raises(ThudError, match=r"^seed must be "):
        player.seed(seed)


@pytest.mark.usefixtures("own_module")
def test_a_users_class_is_made_with_its_options() -> None:
    made: Any = agents.make(
        "python:own_player:Own,depth=2,share=1,plain=4,path=x,top=7,flag=yes", seed=5
    )
    assert type(made).__name__ == "Own"
    assert repr(made.options) == "(2, 1.0, 4, 'x', 7, True, 5)"
    opponent = make_opponent("agents:python:own_player:Own,depth=1")
    assert type(opponent).__name__ == "Own"


@pytest.mark.usefixtures("own_module")
def test_a_users_class_need_not_take_a_seed_to_be_made() -> None:
    made: Any = agents.make("python:own_player:Plain", seed=5)
    assert made.seeded == 5


@pytest.mark.usefixtures("own_module")
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "needs a path: python:MODULE:CLASS would be right"),
        (":own_player", "'own_player' names no class: MODULE:CLASS would be right"),
        (":own_player.py:Own", "there is no module 'own_player.py'"),
        (":no_such:Own", "there is no module 'no_such': not in"),
        (":own_player.part:Own", "there is no module 'own_player.part'"),
        (":own_player:Other", "has no class 'Other': it has Own, Plain, Bare, Picky, in /"),
        (":own_player:Ow", "has no class 'Ow': did you mean 'Own'? it has Own, "),
        (":sys:Other", "module 'sys' has no class 'Other': it has no agent"),
        (":own_player:number", "module 'own_player' has no class 'number'"),
        (":own_player:NoAgent", "class NoAgent(agents.Agent) would be right"),
        (":own_player:NoAct", "own_player:NoAct cannot play: it has no method act_rows"),
        (":own_player:Own", "needs its option 'depth': depth=... would be right"),
        (
            ":own_player:Own,deep=1",
            "no option 'deep': did you mean 'depth'? its options are depth, share",
        ),
        (":own_player:Own,depth=x", "depth=x must be a whole number"),
        (":own_player:Own,depth=1,plain=x", "plain=x must be a whole number"),
        (":own_player:Own,depth=1,flag=1", "flag=1 must be yes or no"),
        (":own_player:Own,depth=1,words=x", "option 'words' is of type list"),
        (":own_player:Bare,depth=1", "option 'depth' has no type: an annotation, int, float"),
        (":own_player:Picky,depth=0", "Picky,depth=0': depth=0 looks at nothing"),
        (":own_broken:Own", "module 'own_broken' cannot be imported: KeyError: 'x'"),
        (":own_wanting:Own", "cannot be imported: ModuleNotFoundError: No module named 'no_such_"),
    ],
)
def test_the_error_for_a_class_that_cannot_play_says_why(path: str, said: str) -> None:
    with pytest.raises(ThudError, match="agent 'python") as error:
        agents.make(f"python{path}")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("spec", "module", "missing", "extra"),
    [
        ("policy:runs/smoke", "agents.policy", "torch", "train"),
        ("policy+mcts:runs/smoke", "agents.policy_mcts", "torch", "train"),
        ("alphabeta", "agents.alphabeta", "yaml", "agents"),
    ],
)
def test_a_player_whose_library_is_missing_says_how_to_install_it(
    spec: str, module: str, missing: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    def import_module(name: str) -> None:
        assert name == module
        raise absent

    monkeypatch.setattr("importlib.import_module", import_module)
    install = f'pip install --editable ".[{extra}]" in the checkout would be right'
    with pytest.raises(ThudError) as error:
        agents.make(spec)
    assert str(error.value) == f"agent {spec!r}: {missing} is missing: {install}"


@pytest.mark.usefixtures("own_module")
def test_a_bug_of_ones_own_class_is_shown_as_it_is() -> None:
    with pytest.raises(KeyError, match="1"):
        agents.make("python:own_player:Picky,depth=1")


# -- what every agent does -----------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("rules", RULESETS)
def test_agents_decide_legally_in_every_state(name: str, rules: str) -> None:
    agent, random = agents.make(name, seed=1), Random(2)
    limits = {"max_turns": 120, "offer_after": 3, "agreement": True}
    for _ in range(2):
        position = Position.start(rules, **limits)
        while position.outcome is None:
            chosen = agent.act(position)
            assert chosen in position.legal_actions()
            follow = random.random() < 0.7
            position = position.apply(chosen) if follow else random_position(position, random)


@BOTH
@pytest.mark.parametrize("rules", RULESETS)
def test_a_turn_is_one_that_the_position_plays(name: str, rules: str) -> None:
    agent = agents.make(name, seed=3)
    position = Position.start(rules, max_turns=80, offer_after=4, agreement=True)
    while position.outcome is None:
        turn = agent.turn(position)
        assert turn in position.turns()
        position = position.play(turn)


@BOTH
def test_a_turn_that_has_begun_is_completed(name: str) -> None:
    pending = decide(place("koom-valley", "H4 J5 A8", "H3", "t"), "H3-H5")
    turns = {agents.make(name, seed=seed).turn(pending) for seed in range(20)}
    assert turns == ({"TH5-K5xJ5"} if name == "greedy" else {"TH5", "TH5-K5xJ5"})


@BOTH
def test_a_battle_that_is_over_has_nothing_to_decide(name: str) -> None:
    over = place("classic", "A8", "", "t")
    assert over.outcome is not None
    agent = agents.make(name)
    for ask in (agent.act, agent.turn):
        with pytest.raises(ValueError, match="the battle is over"):
            ask(over)


# -- random --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "dwarfs", "trolls"),
    [
        ("classic", "G6 H6 J6 P8", "H4 H3"),
        ("classic-all", "G6 H6 J6 P8", "H4"),
        ("koom-valley", "H4 J5 K6 P8", "H3"),
    ],
)
def test_random_draws_every_complete_turn_equally_often(
    rules: str, dwarfs: str, trolls: str
) -> None:
    """However many decisions it takes, and however many orders of captures lead to it."""
    position = place(rules, dwarfs, trolls, "t")
    turns = position.turns()
    assert any(turn.count("x") > 1 for turn in turns)
    agent, draws = RandomAgent(seed=5), 60 * len(turns)
    drawn = Counter(agent.turn(position) for _ in range(draws))
    assert set(drawn) == set(turns)
    chi_square = sum((drawn[turn] - 60) ** 2 / 60 for turn in turns)
    freedom = len(turns) - 1
    assert abs(chi_square - freedom) < 4 * (2 * freedom) ** 0.5


# -- greedy --------------------------------------------------------------------------------


def greedy_turns(position: Position) -> set[str]:
    """The turns that greedy plays in many tries."""
    return {GreedyAgent(seed).turn(position) for seed in range(60)}


@pytest.mark.parametrize("rules", ["classic", "classic-any", "classic-all"])
def test_greedy_dwarfs_hurl(rules: str) -> None:
    assert greedy_turns(place(rules, "D6 E6 F6 A9", "J6 P8")) == {"dF6-J6xJ6"}


def test_greedy_shoves_to_take_four_rather_than_step_to_take_three() -> None:
    lined_up = place("classic", "F4 G4 E4 E5 B11 C11 C10", "F8 F9 F10 B9 B8", "t")
    assert max(turn.count("x") for turn in turns_of(lined_up, "TB9-B10")) == 3
    assert greedy_turns(lined_up) == {"TF8-F5xE4xE5xF4xG4"}


@pytest.mark.parametrize(
    ("rules", "most"), [("classic", 1), ("classic-any", 3), ("classic-all", 3)]
)
def test_greedy_steps_to_where_most_may_be_captured(rules: str, most: int) -> None:
    position = place(rules, "G6 H6 J6 C4", "H4 C6", "t")
    turns = greedy_turns(position)
    assert {turn.count("x") for turn in turns} == {most}
    assert turns == {turn for turn in position.turns() if turn.count("x") == most}


def test_greedy_takes_all_that_a_pending_capture_allows() -> None:
    before = place("classic-any", "G6 H6 J6", "H4", "t")
    assert greedy_turns(decide(before, "H4-H5")) == {"TH5xG6xH6xJ6"}


def test_greedy_dwarfs_sandwich_all_they_can_in_the_valley() -> None:
    assert greedy_turns(place("koom-valley", "G9 J5 J3 G3", "H5 H4 G4 P8")) == {"dG9-G5xG4xH4xH5"}


def test_greedy_tramples_the_longest_chain_not_the_first() -> None:
    """North takes one dwarf; south, then east, then north takes three."""
    position = place("koom-valley", "H4 H6 J7 K6 A8", "H5", "t", rock="P8")
    assert "TH5-H3xH4" in position.turns()
    chains = greedy_turns(position)
    assert {turn.count("x") for turn in chains} == {3}
    assert chains == {turn for turn in position.turns() if turn.count("x") == 3}


@pytest.mark.parametrize("rules", ["koom-valley", "koom-valley-football"])
def test_greedy_wins_in_the_valley_rather_than_capture(rules: str) -> None:
    goal = place(rules, "G2 G6 J9", "H5 P8 N8", rock="H2")
    assert any("x" in turn for turn in goal.turns()) is (rules == "koom-valley")
    wins = {turn for turn in goal.turns() if goal.play(turn).margin == 1}
    assert wins
    assert greedy_turns(goal) == wins
    surround = place(rules, "A8 K6", "G7 H7 J5 L5", "t")
    wins = {turn for turn in surround.turns() if surround.play(turn).margin == -1}
    assert wins
    assert greedy_turns(surround) == wins


def test_greedy_draws_ties_at_random() -> None:
    """Two trolls in reach, one of them in two ways: each decision is as likely as another."""
    position = place("classic", "D5 D7 M6", "D6 L6")
    wanted = {"dD5-D6xD6", "dD7-D6xD6", "dM6-L6xL6"}
    agent = GreedyAgent(seed=6)
    drawn = Counter(agent.turn(position) for _ in range(900))
    assert set(drawn) == wanted
    assert all(240 < count < 360 for count in drawn.values())


def test_greedy_with_nothing_to_take_plays_anything() -> None:
    agent, start = GreedyAgent(seed=7), Position.start()
    drawn = Counter(agent.act(start) for _ in range(6560))
    assert len(drawn) == 656


@pytest.mark.parametrize(
    "spec",
    [
        "random",
        "greedy",
        "greedy2",
        "alphabeta:depth=1",
        "mcts:sims=4",
        "policy:pretrained/classic",
    ],
)
def test_a_battle_that_is_over_is_refused_by_every_agent(spec: str) -> None:
    agent = agents.make(spec, seed=1)
    start = Position.start("classic", max_turns=4)
    over = Position.from_text(f"{start.text[:-1]}4", "classic", max_turns=4)
    assert over.outcome is not None
    with pytest.raises(ValueError, match=r"the battle is over: nothing to decide in .* \(row 1\)"):
        agent.act_rows(np.stack([start.row, over.row]))


# -- copies --------------------------------------------------------------------------------


def test_every_agent_of_the_checkout_is_copied_below() -> None:
    assert {spec.partition(":")[0] for spec in COPIED} == set(agents.AGENTS)


@pytest.mark.parametrize("spec", COPIED)
@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))],
    ids=["deep", "pickle"],
)
def test_a_copy_goes_on_as_its_original_does(copied: Any, spec: str) -> None:
    position = Position.start()
    original = agents.make(spec, seed=5)
    position = position.play(original.turn(position))
    twin = copied(original)
    assert twin.get_state() == original.get_state()
    for _ in range(3):  # in lockstep: what they shared would show
        turn = twin.turn(position)
        assert turn in position.turns()
        if not original.timed:
            assert original.turn(position) == turn
            assert twin.get_state() == original.get_state()
        position = position.play(turn)


@pytest.mark.parametrize("wrong", [Position.start().row, "dd1dd", None])
def test_only_a_position_is_played_in(wrong) -> None:
    for choose in (agents.make("greedy").act, agents.make("greedy").turn):
        with pytest.raises(TypeError, match="is no position"):
            choose(wrong)


@pytest.mark.parametrize("sign", [1, -1])
def test_no_margin_beyond_the_largest_is_expected(
    sign: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    value_all_at(9.0 * sign, monkeypatch)
    policy = agents.make("policy:pretrained/classic")
    start = Position.start()
    assert policy.judge(start).margin == 32 * sign
    after = start.play("dE2-E6")
    expected = policy.expected_margins(np.stack([start.row, after.row]))
    assert expected.tolist() == [32 * sign, -32 * sign]


@pytest.mark.parametrize("temperature", [0, 0.3, 1])
def test_the_probabilities_of_many_positions_are_those_of_each(
    temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.policy._AT_ONCE", 3)
    policy = agents.make(f"policy:pretrained/classic,temperature={temperature}")
    games = BatchedGame(9, observations=False, seed=5)
    for step in range(7):
        games.step(games.sample_actions(), np.arange(9) % 2 == 0 if step % 2 else None)
    assert set(games.to_move) == {0, 1}
    found = policy.probabilities(games.rows)
    assert found.sum(axis=1) == pytest.approx(np.ones(9))
    assert (found[games.masks == 0] == 0).all()
    for number, probabilities in enumerate(found):
        opinion = policy.judge(games.position(number))
        assert probabilities == pytest.approx(opinion.probabilities, abs=1e-4)


def test_the_margins_expected_of_many_positions_are_those_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agents.policy._AT_ONCE", 3)
    policy = agents.make("policy:pretrained/classic")
    games = BatchedGame(9, observations=False, seed=5)
    for step in range(7):
        games.step(games.sample_actions(), np.arange(9) % 2 == 0 if step % 2 else None)
    assert set(games.to_move) == {0, 1}
    each = [policy.judge(games.position(number)).margin for number in range(9)]
    assert policy.expected_margins(games.rows) == pytest.approx(each, abs=1e-3)


def test_what_is_expected_of_a_battle_that_is_over_is_its_margin() -> None:
    policy = agents.make("policy:pretrained/classic")
    games = BatchedGame(3, observations=False, autoreset_mode="Disabled", max_turns=100)
    while not (games.terminated | games.truncated).all():
        games.step(games.sample_actions())
    assert margins(games.rows).any()
    assert policy.expected_margins(games.rows).tolist() == margins(games.rows).tolist()
