"""Searches keep to their time, are stopped, and show what they have so far."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path

import pytest
from positions import trample_crowd
from untrained import save_untrained

import agents
from agents import mcts
from agents.alphabeta import AlphaBetaAgent, Greedy2Agent
from agents.mcts import MctsAgent
from agents.policy_mcts import PolicyMctsAgent
from agents.search import deepening, negamax, reading
from agents.search import growth as growths
from agents.search import tree as trees
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluation import WIN, within_bounds
from agents.search.evaluator import Evaluator, read_evaluator
from agents.search.judge import judge_position, judging
from agents.search.playouts import searched_value
from agents.search.scale import share_for_dwarfs
from agents.search.stopping import stopping_after
from agents.search.weights import published_weights
from agents.search.workspace import BEST, CERTAIN, LINE, NODE_LIMIT, NODES, STOP
from thud_env import RULESETS, Position
from thud_env.jit.rng import seed_generators


@pytest.mark.parametrize("spec", ["alphabeta:time=0.1", "mcts:time=0.1"])
def test_time_is_kept(spec: str) -> None:
    agent = agents.make(spec)
    agent.act(Position.start(max_turns=1))  # compiled, and soon done
    started = time.perf_counter()
    assert agent.act(Position.start()) in Position.start().legal_actions()
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize("spec", ["alphabeta:depth=24,time=60", "mcts:time=60"])
def test_a_search_can_be_stopped_from_another_thread(spec: str) -> None:
    agent = agents.make(spec)
    assert isinstance(agent, AlphaBetaAgent | MctsAgent)
    timer = threading.Timer(0.3, agent.stop)
    timer.start()
    started = time.perf_counter()
    turn = agent.turn(Position.start())
    timer.join()
    assert turn in Position.start().turns()
    assert time.perf_counter() - started < 20


@pytest.mark.parametrize("spec", ["mcts:time=60", "policy+mcts:{policy},time=60"])
def test_where_only_time_limits_a_tree_it_outgrows_its_usual_size(
    spec: str, tmp_path: Path
) -> None:
    save_untrained(tmp_path, 0, "classic")
    agent = agents.make(spec.format(policy=tmp_path))
    assert isinstance(agent, MctsAgent | PolicyMctsAgent)
    start, usual = Position.start(), 200 if "policy" in spec else 1000
    thinking = threading.Thread(target=agent.think, args=(start.row,))
    thinking.start()
    grown = 0
    while thinking.is_alive() and grown <= usual:
        seen = agent.glimpse(start.row)
        grown = seen.simulations if seen else 0
    agent.stop()
    thinking.join()
    assert grown > usual


def test_time_that_is_up_as_a_search_ends_does_not_stop_the_next() -> None:
    entered, heard = threading.Event(), []

    def stop() -> None:
        entered.set()
        time.sleep(0.05)
        heard.append("stop")

    with stopping_after(0.001, stop):
        assert entered.wait(10)
    assert heard == ["stop"], "while the search was not over yet"
    with stopping_after(0, stop):
        pass
    assert heard == ["stop"], "0 is no limit"


@pytest.mark.parametrize("cut", [True, False])
def test_a_search_is_lost_only_if_all_its_turns_are(cut: bool, monkeypatch) -> None:
    """Cut short, it has seen some turns lose, and goes by the search before."""
    start = Position.start("koom-valley")
    first = int(start.legal_actions()[0])

    def search(work, row, depth, *rest):
        work.frames[0, LINE], work.frames[0, BEST] = 1, 50 if depth == 1 else -WIN
        work.lines[0, 0] = first
        return not (cut and depth > 1)

    monkeypatch.setattr(negamax, "search", search)
    searcher = Searcher(seed_generators(1, 0))
    found = searcher.search(start.row, SearchOptions(read_evaluator("features"), depth=3))
    assert (found.decisions, found.value) == ([first], 50 if cut else -WIN)
    assert found.depth == (1 if cut else 2)


def test_a_tree_search_that_is_stopped_at_once_has_tried_a_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_untrained(tmp_path, 0, "classic")
    by_playouts, by_network = MctsAgent(sims=20), PolicyMctsAgent(tmp_path, time=1e-9)
    grow = growths.grow

    def stopped(tree, growth, simulations, rng):
        by_playouts.stop()
        return grow(tree, growth, simulations, rng)

    monkeypatch.setattr(growths, "grow", stopped)
    for agent in (by_playouts, by_network):
        thought = agent.think(Position.start().row)
        assert sum(thought.visits.values()) == 1


def test_a_leaf_in_a_crowd_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a limit of nodes the search would be ten times as long."""
    position, agent, grow = trample_crowd(), MctsAgent(sims=20, priors="eval"), growths.grow

    def stopped(tree, growth, simulations, rng):
        agent.stop()
        growth.work.control[NODE_LIMIT] = 10 * CERTAIN
        return grow(tree, growth, simulations, rng)

    monkeypatch.setattr(growths, "grow", stopped)
    agent.think(position.row)
    assert agent._growth.work.control[NODES] == CERTAIN
    work = judging(read_evaluator(), position.rules)
    work.control[STOP] = 1
    work.control[NODES] = CERTAIN
    static = share_for_dwarfs(position.row, judge_position(position.row, work))
    assert searched_value(position.row, 1, work, seed_generators(1, 1)) == static


def test_greedy2_can_be_stopped_in_a_crowd() -> None:
    agent = Greedy2Agent()
    agent._options = dataclasses.replace(agent._options, nodes=50 * CERTAIN)
    thinking = threading.Thread(target=agent.think, args=(trample_crowd().row,))
    thinking.start()
    while thinking.is_alive():
        agent.stop()
        time.sleep(0.001)
    thinking.join()
    assert agent.searched == CERTAIN


def test_sums_of_millions_of_values_do_not_drift() -> None:
    tree = trees.Tree.of_size(1, 1, exploration=1.0, reduction=0.0)
    tree.totals[0, 0], tree.visits[0, 0] = 3_000_000, 9_999_999
    trees.back_up(tree, 0, 1, 0.3)
    assert tree.totals[0, 0] - 3_000_000 == pytest.approx(0.3)


def test_a_full_tree_judges_no_more_positions_for_their_priors(monkeypatch) -> None:
    monkeypatch.setattr(trees, "_MOST_EDGES", 0)  # room for the widest position
    looked = []
    for sims in (2000, 3000):
        agent = MctsAgent(sims, "eval")
        agent.think(Position.start().row)
        tree = agent._tree
        looked.append((tree.counters.tolist(), int(agent._growth.work.control[NODES])))
    assert looked[0] == looked[1]


def test_a_glimpse_is_of_one_search_though_the_next_begins_meanwhile(monkeypatch) -> None:
    agent, read, before = MctsAgent(sims=20), reading.read_decisions, Position.start()
    after = before.play(before.turns()[0])
    agent.think(before.row)

    def the_next_begins(tree, game):
        found = read(tree, game)
        tree.root[0] = after.row
        return found

    monkeypatch.setattr(reading, "read_decisions", the_next_begins)
    assert agent.glimpse(after.row) is None
    agent._tree.root[0] = before.row
    assert agent.glimpse(before.row) is None


@pytest.mark.parametrize("evaluation", ["learned", "features"])
@pytest.mark.parametrize("rules", ["classic", "koom-valley"])
def test_a_search_by_depth_without_nodes_for_a_turn_expects_what_the_evaluation_says(
    rules: str, evaluation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes may end before the first turn that is tried is settled."""
    agent, search = AlphaBetaAgent(evaluation=evaluation), negamax.search

    def without_nodes(work, *rest):
        work.control[NODE_LIMIT] = 0
        return search(work, *rest)

    monkeypatch.setattr(negamax, "search", without_nodes)
    work = judging(read_evaluator(evaluation), RULESETS[rules])
    position = Position.start(rules)
    for turn in range(2):
        position = position.play(position.turns()[turn])
        result = agent.think(position.row)
        assert (result.depth, result.nodes) == (0, 0)
        assert result.value == judge_position(position.row, work) != 0


BARE = Position.start().play("dE2-E6").play("TG7-F6")
"""A dwarf can capture a troll: dE6-F6xF6."""


@pytest.mark.parametrize("limits", ["depth=3", "time=60", "time=0.000001"])
def test_a_search_by_depth_that_is_stopped_at_once_has_looked_a_turn_ahead(
    limits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, search = agents.make(f"alphabeta:{limits}"), negamax.search
    assert isinstance(agent, AlphaBetaAgent)

    def stopped(*arguments):
        agent.stop()
        return search(*arguments)

    monkeypatch.setattr(negamax, "search", stopped)
    assert agent.turn(BARE) == "dE6-F6xF6"
    assert agent.think(BARE.row).depth == 1


@pytest.mark.parametrize("spec", ["alphabeta:time=0.2", "mcts:time=0.2"])
def test_the_time_for_a_turn_begins_when_the_search_is_compiled(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, search, grow = agents.make(spec), negamax.search, growths.grow
    agent.think(Position.start(max_turns=1).row)  # compiled
    compiling = {"search": 0.5, "grow": 0.5}

    def slow_at_first(name, function):
        def call(*arguments):
            time.sleep(compiling.pop(name, 0))
            return function(*arguments)

        return call

    monkeypatch.setattr(negamax, "search", slow_at_first("search", search))
    monkeypatch.setattr(growths, "grow", slow_at_first("grow", grow))
    mcts._compile.cache_clear()
    deepening._compile.cache_clear()
    found = agent.think(Position.start().row)
    assert found.simulations > 1 if "mcts" in spec else found.depth > 1


def test_a_stop_while_the_search_is_compiled_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = AlphaBetaAgent(depth=6)
    monkeypatch.setattr(deepening, "_compile", agent.stop)
    assert agent.think(Position.start().row).depth == 1


class MovesOn:
    """A searcher that goes on to its next moment whenever an attribute has been read."""

    def __init__(self, *moments: dict[str, object]) -> None:
        self._moments = list(moments)

    def __getattr__(self, name: str) -> object:
        return (self._moments.pop(0) if len(self._moments) > 1 else self._moments[0])[name]


def test_a_glimpse_never_mixes_a_search_by_depth_with_the_next(monkeypatch) -> None:
    agent, moments = AlphaBetaAgent(depth=1), []
    deepen = Searcher._deepen

    def watched(searcher, row, options):
        for found in deepen(searcher, row, options):
            moments.append(dict(vars(searcher)))
            yield found

    monkeypatch.setattr(Searcher, "_deepen", watched)
    before = Position.start()
    after = before.play(before.turns()[0])
    thoughts = [agent.think(position.row) for position in (before, after)]
    for moment, position, thought in zip(moments, (before, after), thoughts, strict=True):
        agent._searcher = MovesOn(moment)
        assert agent.glimpse(position.row) == thought
    agent._searcher = MovesOn(*moments)
    assert agent.glimpse(before.row) == thoughts[0]


def test_a_tree_search_that_begins_shows_nothing_of_the_one_before(monkeypatch) -> None:
    agent, grow, seen = agents.make("mcts:sims=20"), growths.grow, []
    before = Position.start()
    after = before.play(before.turns()[0])

    def glimpsed(tree, growth, simulations, rng):
        seen.append(agent.glimpse(after.row))
        return grow(tree, growth, simulations, rng)

    agent.think(before.row)
    monkeypatch.setattr(growths, "grow", glimpsed)
    agent.think(after.row)
    assert seen == [None]
    assert sum(agent.glimpse(after.row).visits.values()) == 20


LONE_DWARF = "5/7/9/11/13/15/6TTT6/6TRT6/6TTT6/9d5/13/11/9/7/5 t - 0 0"
"""A dwarf that eight trolls may capture."""


@pytest.mark.parametrize("spec", ["alphabeta:depth=4", "mcts:sims=300", "alphabeta:time=0.1"])
def test_the_last_dwarf_is_captured_where_it_can_be(spec: str) -> None:
    position = Position.from_text(LONE_DWARF)
    after = position.play(agents.make(spec, seed=0).turn(position))
    assert after.outcome is not None
    assert after.margin == -32


def test_a_lone_dwarf_does_not_give_itself_up() -> None:
    position = Position.from_text("5/7/9/11/13/15/6TTT6/6TRT6/6TTT6/15/13/d10/9/7/5 d - 0 0")
    hunted, hunter = agents.make("alphabeta:depth=3", seed=0), agents.make("greedy2", seed=0)
    for _ in range(12):
        position = position.play(hunted.turn(position))
        position = position.play(hunter.turn(position))
    assert position.outcome is None


@pytest.mark.parametrize("side", ["d", "t"])
@pytest.mark.parametrize("trolls", range(1, 9))
def test_no_evaluation_is_as_good_as_the_best_end(side: str, trolls: int) -> None:
    far = "T" * min(trolls, 5) + (str(5 - trolls) if trolls < 5 else "")
    more = "T" * max(trolls - 5, 0) + str(7 - max(trolls - 5, 0))
    row = Position.from_text(f"{far}/{more}/9/11/13/15/15/7R7/15/15/13/11/9/7/d4 {side} - 0 0").row
    raw = judging(read_evaluator("features"), RULESETS["classic"])
    bounded = judging(Evaluator(published_weights(), lambda _: None), RULESETS["classic"])
    values = [judge_position(row, work) * (1 if side == "d" else -1) for work in (raw, bounded)]
    assert -400 * trolls < values[1] < 100
    assert values[1] == values[0] or not -400 * trolls + 100 <= values[0] <= 0


def test_evaluations_within_bounds_keep_their_order() -> None:
    row = Position.from_text(LONE_DWARF).row  # from 100, a dwarf, to -3200, for the trolls reversed
    values = [within_bounds(row, value) for value in range(-400, 3700)]
    assert values == sorted(values)
    assert values[0] > -100
    assert values[-1] < 3200
    assert values[400:3500] == list(range(3100))


@pytest.mark.parametrize(("trolls", "least"), [("TT", 0), ("TTT", -WIN)])
def test_two_trolls_have_no_more_than_a_draw(trolls: str, least: int) -> None:
    corner = f"{5 - len(trolls)}{trolls}"
    text = f"d4/7/9/11/13/15/15/7R7/15/15/13/11/9/7/{corner} {{}} - 0 0"
    values = []
    for side, sign in (("d", 1), ("t", -1)):
        row = Position.from_text(text.format(side), "koom-valley").row
        work = judging(read_evaluator(), RULESETS["koom-valley"])
        values.append(sign * judge_position(row, work))
    assert min(values) >= least
    assert (min(values) < 0) is (least < 0)
