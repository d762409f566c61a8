"""Options of searches do what they say, and searches end where they should."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import place

import agents
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluation import WIN
from agents.search.evaluator import Evaluator, read_evaluator
from agents.search.gumbel import GumbelRoot
from agents.search.leaves import Leaves, descend_all
from agents.search.table import LAST_GENERATION
from agents.search.tree import Tree, clear
from agents.search.weights import material_weights
from agents.search.workspace import GENERATION, NODES
from thud_env import RULESETS, Position
from thud_env.jit.rng import seed_generators
from training.arena.openings import read_openings


@pytest.mark.parametrize("spec", ["mcts", "policy+mcts:pretrained/koom-valley-football"])
def test_first_play_urgency_keeps_a_search_to_what_it_has_tried(spec: str) -> None:
    def tried(fpu: str) -> int:
        agent = agents.make(f"{spec}{',' if '/' in spec else ':'}sims=100,{fpu}")
        row = Position.start("koom-valley-football").row
        return sum(visits > 0 for visits in agent.think(row).visits.values())

    assert tried("fpu=2") < tried("fpu=0") / 2


def test_playouts_without_a_length_go_to_the_end_of_the_battle() -> None:
    spec, row = "mcts:sims=30,playouts=random,priors=captures", Position.start(max_turns=30).row
    whole, long, short = (
        agents.make(f"{spec},length={length}").think(row) for length in (0, 10_000, 1)
    )
    assert (whole.value, whole.visits) == (long.value, long.visits)
    assert whole.value != short.value


def test_at_scale_0_only_the_priors_count_and_above_the_values_too() -> None:
    spec = "policy+mcts:pretrained/koom-valley-football,root=gumbel,sims=32,lookahead=0"
    rows = read_openings("koom-valley-football").rows(12)
    likeliest = agents.make("policy:pretrained/koom-valley-football,temperature=0").act_rows(rows)
    by_priors, by_values = (
        [found.decisions[0] for found in agents.make(f"{spec},scale={scale}").think_rows(rows)]
        for scale in (0, 1)
    )
    assert by_priors == likeliest.tolist()
    assert by_values != likeliest.tolist()


def test_noise_is_drawn_anew_for_every_position(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[np.ndarray] = []

    class Noted(GumbelRoot):
        def __init__(self, priors, simulations, considered, noise, scale) -> None:
            drawn.append(noise)
            super().__init__(priors, simulations, considered, noise, scale)

    monkeypatch.setattr("agents.policy_mcts.GumbelRoot", Noted)
    rows = [Position.start(max_turns=turns).row for turns in (98, 99, 98)]
    agents.make("policy+mcts:pretrained/classic,root=gumbel,sims=4,noise=1").think_rows(rows)
    assert np.array_equal(drawn[0], drawn[2])
    assert not np.array_equal(drawn[0], drawn[1])


# The trolls are about to win: every turn of the dwarfs loses, which takes two turns ahead to see.
LOST = "5/7/2T6/1T3T2dT1/1d11/T14/d5T6Td/2d3TR6d/13d1/15/2d8dd/5d4d/d3d3d/7/d4 d - 64 64"


def by_features(**how: int) -> SearchOptions:
    return SearchOptions(read_evaluator("features"), **how)


def a_searcher() -> Searcher:
    return Searcher(seed_generators(1, 1))


def test_a_search_that_is_cut_short_does_not_call_lost_what_the_rest_may_save() -> None:
    row = Position.from_text(LOST, "koom-valley").row
    one, two = a_searcher().deepen(row, by_features(depth=2))
    assert (one.value > -WIN, two.value, two.depth) == (True, -WIN, 2)
    for nodes in range(one.nodes + 10, two.nodes, (two.nodes - one.nodes) // 20):
        found = a_searcher().search(row, by_features(depth=2, nodes=nodes))
        assert found.depth == 1
        assert found.value > -WIN


def test_a_search_ends_where_the_battle_is_won_or_lost() -> None:
    row = Position.from_text(LOST, "koom-valley").row
    found = list(a_searcher().deepen(row, by_features(depth=4)))
    assert [one.depth for one in found] == [1, 2]


def test_generations_of_the_table_begin_again_after_the_last() -> None:
    row, searcher = Position.start().row, a_searcher()
    searcher._work.control[GENERATION] = LAST_GENERATION - 1
    searcher._work.entries[7] = 1  # as left by the first searches of all
    for generation, are_kept in ((LAST_GENERATION, True), (1, False)):
        searcher.search(row, by_features(depth=1))
        assert searcher._work.control[GENERATION] == generation
        assert (searcher._work.entries[7] == 1).all() == are_kept


@pytest.mark.parametrize("evaluation", ["learned", "features"])
@pytest.mark.parametrize("reductions", [0, 1])
def test_a_search_looks_at_what_it_would_have_without_those_before(
    evaluation: str, reductions: int
) -> None:
    """They were of other games, by other weights, cut short and stopped."""
    options = SearchOptions(read_evaluator(evaluation), depth=2, reductions=reductions)
    cut_short = SearchOptions(Evaluator(material_weights()), depth=4, nodes=3000)
    used = a_searcher()
    for rules in RULESETS:
        row = read_openings(rules).rows(2)[1]
        used.search(row, cut_short)
        used.stop()
        fresh = a_searcher()
        used._rng[0] = fresh._rng[0]
        assert used.search(row, options) == fresh.search(row, options)
        used.search(row, cut_short)
        fresh = a_searcher()
        used._rng[0] = fresh._rng[0]
        assert used.value(row, options) == fresh.value(row, options)
        assert used._work.control[NODES] == fresh._work.control[NODES]


def test_the_value_of_a_search_in_full_has_no_limit_of_nodes() -> None:
    row = read_openings("classic").rows(1)[0]
    limited, unlimited = (
        a_searcher().value(row, by_features(depth=2, nodes=nodes)) for nodes in (100, 0)
    )
    assert limited == unlimited


@pytest.mark.parametrize(
    ("bounds", "worst"), [((np.inf, -np.inf), [0, 0]), ((-0.25, 0.5), [-0.25, -0.5])]
)
def test_a_leaf_that_waits_counts_as_the_worst_for_who_decides(bounds, worst) -> None:
    tree, leaves = Tree.of_size(1, 4, exploration=1.0, reduction=0.0), Leaves.of_size(1)
    clear(tree, 0)
    tree.root[0] = Position.start().row
    tree.bounds[0] = bounds
    descend_all(tree, np.zeros(1, dtype=np.int64), leaves)
    assert leaves.worst[0].tolist() == worst


@pytest.mark.parametrize("spec", ["alphabeta:depth=1", "mcts:sims=20"])
def test_a_seed_makes_a_player_forget_its_plans(spec: str) -> None:
    position = place("classic-any", "D6 E6 A9", "E8", "t")
    player = agents.make(spec, seed=1)
    player.act(position)
    assert player.get_state()["plans"]
    player.seed(5)
    assert player.get_state() == agents.make(spec, seed=5).get_state()


@pytest.mark.parametrize("considered", [3, 5])
def test_no_more_decisions_are_tried_than_are_to_be_considered(considered: int) -> None:
    spec = f"policy+mcts:pretrained/classic,root=gumbel,sims=16,considered={considered}"
    thought = agents.make(spec).think(Position.start().row)
    assert sum(tried > 0 for tried in thought.visits.values()) == considered
