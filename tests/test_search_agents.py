"""Every player repeats itself; the searching ones are legal, and agree where it pays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_hand import decide, place
from untrained import save_untrained

import agents
from agents.agent import Agent, Opinion
from agents.alphabeta import Greedy2Agent
from agents.mcts import MctsAgent
from agents.search import growth, negamax
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluator import read_evaluator
from thud_env import CLASSIC, RULESETS, Position
from thud_env.actions import ACCEPT, DECLINE, NUM_ACTIONS, OFFER
from thud_env.jit.rng import seed_generators
from thud_env.rules.row import NO_QUESTION, PENDING
from training.distill import alphabeta_teacher as teacher
from training.distill.config import TeacherConfig

FAST = (
    "greedy2",
    "alphabeta:depth=1",
    "alphabeta:depth=2,nodes=3000",
    "mcts:sims=30",
    "mcts:sims=30,playouts=eval,priors=eval",
    "mcts:sims=30,playouts=random,length=5",
    "mcts:sims=30,playouts=random,priors=captures,length=5",
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
    features = read_evaluator("features")
    best = Searcher(seed_generators(1, 1)).search(position.row, SearchOptions(features, depth=1))
    for seed in range(10):
        searcher = Searcher(seed_generators(1, seed))
        for nodes in range(best.nodes + 1, best.nodes + 6000, 600):
            found = searcher.search(position.row, SearchOptions(features, depth=8, nodes=nodes))
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
    dwarfs = ("D6", "E6", "A9") if hunted == "dwarfs" else CLASSIC.dwarfs

    def values(left: int) -> list[int]:
        pieces = {"dwarfs": dwarfs, "trolls": ("G7", "H3", "M12")}
        pieces[hunted] = pieces[hunted][:left]
        position = place("classic", " ".join(pieces["dwarfs"]), " ".join(pieces["trolls"]))
        players = [agents.make(each, 1) for each in (spec, f"{spec},evaluation=features")]
        return [player.think(position.row).value for player in players]

    few, more = values(2), values(3)
    assert few[0] == few[1]
    assert more[0] != more[1]


@pytest.mark.parametrize("spec", ["alphabeta:depth=2", "mcts:sims=60"])
def test_only_the_yardstick_evaluates_beyond_the_best_end(spec: str) -> None:
    """It is frozen; by default the last point is squeezed."""
    position = place("classic", "F1 G1", "G7 H3 M12")
    players = [agents.make(each, 1) for each in (spec, f"{spec},evaluation=features")]
    bounded, yardstick = (player.think(position.row).value for player in players)
    assert -1200 < yardstick < bounded < -1100


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
    before, searched = player.get_state(), player.searched
    opinion = player.judge(AIMED_AT)
    assert isinstance(opinion, Opinion)
    assert opinion.probabilities.shape == (NUM_ACTIONS,)
    assert opinion.probabilities[AIMED_AT.legal_actions()].sum() == pytest.approx(1)
    assert opinion.probabilities.sum() == pytest.approx(1)
    assert (player.get_state(), player.searched) == (before, searched)
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
    with pytest.raises(TypeError, match="a ndarray is no position"):
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


def test_greedy2_declines_a_dwarf_that_costs_a_troll() -> None:
    for seed in range(5):
        assert "x" in agents.make("greedy", seed).turn(BAIT)
        assert "x" not in Greedy2Agent(seed).turn(BAIT)


@pytest.mark.slow
def test_a_search_is_compiled_for_numbers_and_not_for_each_constant() -> None:
    """A form of some takes seconds to compile, and more of a busy or slow processor."""
    start = Position.start("classic")
    for spec in ("alphabeta:depth=1", "mcts:sims=2"):
        agents.make(spec).act(start)
    teacher.AlphaBetaTeacher(TeacherConfig(), "classic").label(np.array([start.row]))
    for function in (negamax.search, growth.grow, teacher._label_each):
        forms = [str(key[0]) for key in function._cache._cache_file._load_index()]
        assert forms, "what is called by compiled code only is in the cache's index"
        assert not [form for form in forms if "Literal" in form], forms
