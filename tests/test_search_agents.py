"""Every player repeats itself; the searching ones are legal, bounded, and agree where it pays."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import decide, place

import agents
from agents import mcts
from agents.agent import Agent, Opinion
from agents.alphabeta import AlphaBetaAgent, Greedy2Agent
from agents.mcts import MctsAgent
from agents.networks.checkpoint import save_policy
from agents.networks.network import Network, NetworkConfig
from agents.policy_mcts import PolicyMctsAgent
from agents.search import growth as growths
from agents.search import negamax, playouts, priors, reading
from agents.search import tree as trees
from agents.search.deepening import Searcher, SearchOptions, SearchResult
from agents.search.evaluation import POINT, WIN
from agents.search.judge import judge_position, judging
from agents.search.pattern_files import published_tables
from agents.search.planning import stopping_after
from agents.search.reading import TreeResult
from agents.search.weights import WeightsError, feature_names, load_weights, published_weights
from agents.search.workspace import BEST, LINE, NODE_LIMIT, NODES
from agents.strict_yaml import read_yaml
from thud_env import CLASSIC, RULESETS, Position
from thud_env.actions import ACCEPT, DECLINE, NUM_ACTIONS, OFFER
from thud_env.jit.rng import seed_generators
from thud_env.position import SIDES
from thud_env.rules.row import NO_QUESTION, PENDING
from thud_env.rulesets import TROLL_VALUE
from training.distill import alphabeta_teacher as teacher
from training.distill.config import TeacherConfig

FAST = (
    "greedy2",
    "alphabeta:depth=1",
    "alphabeta:depth=2,nodes=3000",
    "mcts:sims=30",
    "mcts:sims=30,playouts=eval,priors=eval",
    "mcts:sims=30,playouts=random,length=5",
    "mcts:sims=30,playouts=greedy,priors=captures,length=5",
)
EVERY = ("random", "greedy", *FAST)
EVERY_AGENT = pytest.mark.parametrize("spec", EVERY)
EACH_RULESET = pytest.mark.parametrize("rules", RULESETS)
WINNERS = pytest.mark.parametrize("spec", ["alphabeta:depth=3", "mcts:sims=2000"])


@EACH_RULESET
@pytest.mark.parametrize("spec", FAST)
def test_whole_battles_are_played_by_the_rules(spec: str, rules: str) -> None:
    limits = {"max_turns": 60, "offer_after": 3, "agreement": True}
    dwarfs, trolls = agents.make(spec, seed=1), agents.make(spec, seed=2)
    position = Position.start(rules, **limits)
    while position.outcome is None:
        player = dwarfs if position.to_move == "dwarfs" else trolls
        chosen = player.act(position)
        assert chosen in position.legal_actions()
        position = position.apply(chosen)


def save_untrained(folder: Path, weights: int, rules: str) -> None:
    """Write a pair of small policies whose weights were drawn with a seed."""
    torch.manual_seed(weights)
    for role in SIDES:
        network = Network(NetworkConfig(channels=4, blocks=1, key_size=2))
        save_policy(folder / role, network, role=role, rules=rules, decisions=0)


@pytest.mark.parametrize("spec", [*EVERY, "policy:{policy}", "policy+mcts:{policy},sims=4"])
def test_a_player_goes_on_from_its_state_as_it_would_have(spec: str, tmp_path: Path) -> None:
    """In the middle of a turn too; a seed makes it forget all that came before."""

    def play(player: Agent, position: Position, decisions: int) -> tuple[list[int], Position]:
        played = []
        for _ in range(decisions):
            played.append(player.act(position))
            position = position.apply(played[-1])
        return played, position

    for weights in range(20):  # some untrained networks never come to a capture
        folder = tmp_path / str(weights)
        save_untrained(folder, weights, "classic-any")
        made = spec.format(policy=folder)
        player, position = agents.make(made, seed=1), Position.start("classic-any")
        while position.row[PENDING] == NO_QUESTION and position.outcome is None:
            _, position = play(player, position, 1)
        if position.outcome is None:
            break
    assert position.row[PENDING] != NO_QUESTION  # a turn is being played
    state = json.loads(json.dumps(player.get_state()))
    wanted, _ = play(player, position, 12)
    twin = agents.make(made, seed=2)
    play(twin, Position.start("classic-any"), 3)
    twin.set_state(state)
    assert play(twin, position, 12)[0] == wanted
    player.seed(5)
    twin.seed(5)
    assert play(player, position, 12)[0] == play(twin, position, 12)[0]


def test_a_search_that_is_cut_short_in_a_turn_keeps_what_it_had_finished() -> None:
    """Where a troll chooses its captures, the first turn ahead already finds the best."""
    position = Position.from_text(
        "5/7/9/2ddd6/4T8/1d2d1d8/d14/7R7/9dd3T/9d5/13/4ddd4/9/7/5 t F5:any 0 0", "classic-any"
    )
    best = Searcher(published_weights(), seed_generators(1, 1)).search(
        position.row, SearchOptions(depth=1)
    )
    for seed in range(10):
        searcher = Searcher(published_weights(), seed_generators(1, seed))
        for nodes in range(best.nodes + 1, best.nodes + 6000, 600):
            found = searcher.search(position.row, SearchOptions(depth=8, nodes=nodes))
            assert found.decisions[0] == best.decisions[0], (seed, nodes)


@EVERY_AGENT
def test_a_seed_repeats_a_player_and_another_does_not(spec: str) -> None:
    def game(seed: int) -> list[int]:
        agent, position, played = agents.make(spec, seed=seed), Position.start(), []
        for _ in range(12):
            played.append(agent.act(position))
            position = position.apply(played[-1])
        return played

    assert game(1) == game(1)
    assert len({tuple(game(seed)) for seed in range(4)}) > 1


@EVERY_AGENT
def test_many_games_are_decided_at_once(spec: str) -> None:
    positions = [Position.start(rules) for rules in RULESETS]
    actions = agents.make(spec, seed=4).act_rows(np.stack([p.row for p in positions]))
    assert actions.shape == (5,)
    for position, action in zip(positions, actions.tolist(), strict=True):
        assert action in position.legal_actions()


BAIT = place("classic", "H5 J5 K5 A8", "J7 P8", "t")

# -- judgement -----------------------------------------------------------------------------


@WINNERS
@pytest.mark.parametrize("rules", ["classic", "classic-any", "classic-all"])
def test_a_troll_in_reach_is_hurled_at(spec: str, rules: str) -> None:
    position = place(rules, "D6 E6 F6 A9", "J6 P8")
    assert agents.make(spec).turn(position) == "dF6-J6xJ6"


@WINNERS
def test_a_shove_takes_all_that_it_can(spec: str) -> None:
    position = place("classic", "F4 G4 E4 E5 A11", "F8 F9 F10 C9 C8", "t")
    assert agents.make(spec).turn(position) == "TF8-F5xE4xE5xF4xG4"


@WINNERS
@pytest.mark.parametrize("rules", ["koom-valley", "koom-valley-football"])
def test_battles_that_can_be_won_at_once_are(spec: str, rules: str) -> None:
    goal = place(rules, "G2 G6 J9", "H5 P8 N8", rock="H2")
    assert goal.play(agents.make(spec).turn(goal)).margin == 1
    surround = place(rules, "A8 K6", "G7 H7 J5 L5", "t")
    assert surround.play(agents.make(spec).turn(surround)).margin == -1


@WINNERS
def test_a_bait_is_declined(spec: str) -> None:
    """Whichever dwarf the troll takes, another takes the troll."""
    assert "x" not in agents.make(spec).turn(BAIT)


@pytest.mark.parametrize("value", ["visits", "decisions"])
def test_tree_search_tries_every_decision_and_counts_its_visits(value: str) -> None:
    position = place("classic", "D6 E6 F6 A9", "J6 P8")
    found = MctsAgent(sims=2000).think(position.row)
    if value == "visits":
        assert found.simulations == 2000
    else:
        assert set(found.visits) == set(position.legal_actions().tolist())
        assert found.visits[found.decisions[0]] == max(found.visits.values()) > 1000


@pytest.mark.parametrize("spec", ["alphabeta:depth=2", "mcts:sims=60"])
@pytest.mark.parametrize("hunted", ["dwarfs", "trolls"])
def test_the_last_two_pieces_of_a_side_are_hunted_by_features(hunted: str, spec: str) -> None:
    """Patterns do not see how far away they are."""

    def values(left: int) -> list[int]:
        pieces = {"dwarfs": CLASSIC.dwarfs, "trolls": ("G7", "H3", "M12")}
        pieces[hunted] = pieces[hunted][:left]
        position = place("classic", " ".join(pieces["dwarfs"]), " ".join(pieces["trolls"]))
        players = [agents.make(each, 1) for each in (spec, f"{spec},evaluation=features")]
        return [player.think(position.row).value for player in players]

    few, more = values(2), values(3)
    assert few[0] == few[1]
    assert more[0] != more[1]


# -- judging -------------------------------------------------------------------------------

AIMED_AT = place("classic", "D6 E6 F6 A9", "J6 P8")
"""The dwarfs are to take one of the two trolls."""


@pytest.mark.parametrize(
    "spec",
    [
        "greedy2",
        "alphabeta:depth=2",
        "mcts:sims=100",
        "policy+mcts:pretrained/classic,sims=20,lookahead=1",
    ],
)
def test_a_search_judges_a_position_and_then_plays_as_if_it_had_not(spec: str) -> None:
    player: Any = agents.make(spec, seed=1)
    before = player.get_state()
    opinion = player.judge(AIMED_AT)
    assert isinstance(opinion, Opinion)
    assert opinion.probabilities.shape == (NUM_ACTIONS,)
    assert opinion.probabilities[AIMED_AT.legal_actions()].sum() == pytest.approx(1)
    assert opinion.probabilities.sum() == pytest.approx(1)
    assert player.get_state() == before
    assert player.act(AIMED_AT) == opinion.probabilities.argmax()


def test_a_tree_search_looks_at_several_decisions_and_alpha_beta_names_one() -> None:
    tree, best = (agents.make(spec) for spec in ("mcts:sims=100", "alphabeta:depth=2"))
    start = Position.start("classic")
    assert np.count_nonzero(tree.judge(start).probabilities) > 1  # type: ignore[attr-defined]
    assert best.judge(start).probabilities.max() == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("spec", ["greedy2", "alphabeta:depth=2", "mcts:sims=300"])
def test_the_margin_that_a_search_expects_is_from_the_dwarfs_view(spec: str) -> None:
    player: Any = agents.make(spec)
    for position in (AIMED_AT, place("classic", "N7 N8 N9 O6 O10 M8 P6 P10", "P8", "t")):
        expected = player.judge(position).margin
        if position.to_move == "dwarfs":
            assert position.margin + 2 < expected <= 4
        else:
            assert position.margin - 2 < expected <= 8


@WINNERS
def test_a_battle_that_is_won_at_once_is_worth_a_win_to_a_judge(spec: str) -> None:
    player: Any = agents.make(spec)
    goal = place("koom-valley", "G2 G6 J9", "H5 P8 N8", rock="H2")
    assert 0.9 < player.judge(goal).margin <= 1
    surround = place("koom-valley", "A8 K6", "G7 H7 J5 L5", "t")
    assert -1 <= player.judge(surround).margin < -0.9


def test_a_search_judges_no_battle_that_is_over_and_positions_alone() -> None:
    player: Any = agents.make("alphabeta:depth=1")
    over = Position.start(max_turns=1).play("dF1-F5")
    with pytest.raises(ValueError, match="the battle is over: nothing to judge in "):
        player.judge(over)
    with pytest.raises(TypeError, match="a ndarray is not a position"):
        player.judge(over.row)


# -- agreement -----------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("spec", ["alphabeta:depth=2", "mcts:sims=500"])
OVER_SOON = {"agreement": True, "offer_after": 2, "quiet": 5}


def trapped() -> Position:
    """The troll cannot get away from the dwarfs around it."""
    return place("classic", "N7 N8 N9 O6 O10 M8 P6 P10", "P8", "t", **OVER_SOON)  # type: ignore[arg-type]


@BOTH
def test_an_offer_is_accepted_by_the_side_that_would_lose_more_playing_on(spec: str) -> None:
    """A troll is about to be taken: the trolls are glad to stop, the dwarfs are not."""
    aimed_at = place("classic", "D6 E6 F6 A9", "J6 P8", **OVER_SOON)  # type: ignore[arg-type]
    assert agents.make(spec).act(decide(aimed_at, "offer")) == ACCEPT
    assert agents.make(spec).act(decide(trapped(), "offer")) == DECLINE


@BOTH
def test_the_judge_of_an_open_offer_names_the_answer(spec: str) -> None:
    aimed_at = place("classic", "D6 E6 F6 A9", "J6 P8", **OVER_SOON)  # type: ignore[arg-type]
    player: Any = agents.make(spec)
    accepts, declines = (
        player.judge(decide(position, "offer")) for position in (aimed_at, trapped())
    )
    assert accepts.probabilities[ACCEPT] == declines.probabilities[DECLINE] == 1
    assert accepts.margin == aimed_at.margin
    assert declines.margin > trapped().margin


@BOTH
def test_a_side_that_can_win_more_does_not_offer(spec: str) -> None:
    position = place("classic", "D6 E6 F6 A9", "J6 P8", **OVER_SOON)  # type: ignore[arg-type]
    assert OFFER in position.legal_actions()
    assert agents.make(spec).act(position) != OFFER


@BOTH
def test_a_side_that_can_only_lose_offers_and_plays_on_when_declined(spec: str) -> None:
    agent = agents.make(spec)
    assert agent.act(trapped()) == OFFER
    declined = decide(decide(trapped(), "offer"), "decline")
    chosen = agent.act(declined)
    assert chosen != OFFER
    assert chosen in declined.legal_actions()


# -- bounds --------------------------------------------------------------------------------


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
        grown = seen.simulations if isinstance(seen, TreeResult) else 0
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
    searcher = Searcher(published_weights(), seed_generators(1, 0))
    found = searcher.search(start.row, SearchOptions(depth=3))
    assert (found.decisions, found.value) == ([first], 50 if cut else -WIN)
    assert found.depth == (1 if cut else 2)


def test_a_tree_search_that_is_stopped_at_once_has_tried_a_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_untrained(tmp_path, 0, "classic")
    by_playouts, by_network = MctsAgent(sims=20), PolicyMctsAgent(tmp_path, time=1e-9)
    grow = growths.grow

    def stopped(tree, growth, rng):
        by_playouts.stop()
        return grow(tree, growth, rng)

    monkeypatch.setattr(growths, "grow", stopped)
    for agent in (by_playouts, by_network):
        thought = agent.think(Position.start().row)
        assert isinstance(thought, TreeResult)
        assert sum(thought.visits.values()) == 1


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
    tables = published_tables(rules) if evaluation == "learned" else None
    work = judging(tables, published_weights().of(RULESETS[rules]))
    position = Position.start(rules)
    for turn in range(2):
        position = position.play(position.turns()[turn])
        result = agent.think(position.row)
        assert isinstance(result, SearchResult)
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
    found = agent.think(Position.start().row)
    if isinstance(found, TreeResult):
        assert found.simulations > 1
    else:
        assert isinstance(found, SearchResult)
        assert found.depth > 1


class MovesOn:
    """A searcher that goes on to its next moment whenever an attribute has been read."""

    def __init__(self, *moments: dict[str, object]) -> None:
        self._moments = list(moments)

    def __getattr__(self, name: str) -> object:
        return (self._moments.pop(0) if len(self._moments) > 1 else self._moments[0])[name]


def test_a_glimpse_never_mixes_a_search_by_depth_with_the_next(monkeypatch) -> None:
    agent, moments = AlphaBetaAgent(depth=1), []
    deepen = Searcher.deepen

    def watched(searcher, row, options):
        for found in deepen(searcher, row, options):
            moments.append(dict(vars(searcher)))
            yield found

    monkeypatch.setattr(Searcher, "deepen", watched)
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

    def glimpsed(tree, growth, rng):
        seen.append(agent.glimpse(after.row))
        return grow(tree, growth, rng)

    agent.think(before.row)
    monkeypatch.setattr(growths, "grow", glimpsed)
    agent.think(after.row)
    assert seen == [None]
    assert sum(agent.glimpse(after.row).visits.values()) == 20


def test_greedy2_declines_a_dwarf_that_costs_a_troll() -> None:
    for seed in range(5):
        assert "x" in agents.make("greedy", seed).turn(BAIT)
        assert "x" not in Greedy2Agent(seed).turn(BAIT)


# -- weights -------------------------------------------------------------------------------

GOOD = "{dwarfs: {dwarfs: 1}, trolls: {trolls: -4}}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- 1", "holds no weights"),
        ("classic: [", "is not YAML"),
        (f"classic: {GOOD}\nclassic: {GOOD}", "is not YAML: classic is there twice"),
        (f"chess: {GOOD}", "has weights for 'chess': no such ruleset"),
        (f"classic: {GOOD}", "has no weights for the dwarfs of koom-valley"),
        ("classic: {dwarfs: {drawfs: 1}}", "weighs 'drawfs': no such feature, there are constant"),
        ("classic: {dwarfs: {dwarfs: 1.5}}", "dwarfs weighs 1.5: a whole number in -100000 .. 10"),
        ("classic: {dwarfs: {dwarfs: 100001}}", "weighs 100001: a whole number in -100000 .. 10"),
    ],
)
def test_the_error_for_wrong_weights_names_the_mistake(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "weights.yaml"
    path.write_text(text)
    with pytest.raises(WeightsError) as error:
        load_weights(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_published_weights_are_read_once_and_a_users_own_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "weights.yaml"
    read = []

    def counted(file: Path) -> object:
        read.append(file)
        return read_yaml(file)

    agents.make("alphabeta")
    monkeypatch.setattr("agents.search.weights.read_yaml", counted)
    agents.make("alphabeta")
    agents.make("mcts")
    for weight in (3, 4):
        good = f"{{dwarfs: {{dwarfs: {weight}}}, trolls: {{}}}}"
        path.write_text(f"classic: {good}\nkoom-valley: {good}\n")
        agents.make(f"alphabeta:evaluation=features,weights={path}")
        assert load_weights(path).of(RULESETS["classic"])[0, 1] == weight
    assert read == [path] * 4


def test_rulesets_of_a_kind_share_weights_unless_they_have_their_own(tmp_path: Path) -> None:
    path = tmp_path / "weights.yaml"
    own = "{dwarfs: {dwarfs: 7}, trolls: {dwarfs: 8}}"
    path.write_text(f"classic: {GOOD}\nkoom-valley: {GOOD}\nclassic-any: {own}\n")
    weights = load_weights(path)
    of = {rules: weights.of(ruleset) for rules, ruleset in RULESETS.items()}
    assert np.array_equal(of["classic"], of["classic-all"])
    assert of["classic-any"][:, 1].tolist() == [7, 8]
    assert of["koom-valley-football"][1, 2] == -4


@pytest.mark.parametrize("evaluation", ["learned", "features"])
def test_a_game_with_a_stone_that_moves_and_played_for_points_is_judged_in_points(
    evaluation: str,
) -> None:
    valley = RULESETS["koom-valley"]
    for own in (
        valley.replace(name="for-points", reward="margin"),
        valley.replace(name="no-goal", reward="margin", stone_wins=False),
    ):
        start = Position.start(own)
        judged = agents.make(f"alphabeta:depth=2,evaluation={evaluation}").judge(start)
        assert start.margin == -16
        assert abs(judged.margin + 16) < 4, own.name
    # Of one that is won, values are chances, near even at the start.
    five = valley.replace(name="five", trolls=valley.trolls[:5])
    assert (
        abs(
            agents.make(f"alphabeta:depth=2,evaluation={evaluation}")
            .judge(Position.start(five))
            .margin
        )
        < 0.5
    )


def test_weights_of_a_file_are_not_those_of_another_reward(tmp_path: Path) -> None:
    path = tmp_path / "weights.yaml"
    path.write_text(f"classic: {GOOD}\nkoom-valley: {GOOD}\n")
    weights, valley = load_weights(path), RULESETS["koom-valley"]
    of = weights.of(valley.replace(name="for-points", reward="margin"))
    names = feature_names(valley)
    counted = {name: of[0, i] for i, name in enumerate(names) if of[0, i]}
    assert counted == {"dwarfs": POINT, "trolls": -TROLL_VALUE * POINT}
    assert weights.of(valley.replace(name="alike")) is weights.own["koom-valley"]


@pytest.mark.slow
def test_a_search_is_compiled_for_numbers_and_not_for_each_constant() -> None:
    """A form of some takes seconds to compile, and more of a busy or slow processor."""
    start = Position.start("classic")
    for spec in ("alphabeta:depth=1", "mcts:sims=2"):
        agents.make(spec).act(start)
    teacher.AlphaBetaTeacher(TeacherConfig(), "classic").label(np.array([start.row]))
    for function in (negamax.search, playouts.leaf_value, priors.check_best, teacher._score):
        forms = [str(key[0]) for key in function._cache._cache_file._load_index()]
        assert forms, "what is called by compiled code only is in the cache's index"
        assert not [form for form in forms if "Literal" in form], forms
