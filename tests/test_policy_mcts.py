"""Search with networks: legal, the same in batches as alone, and better than the network alone."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import decide, place
from numpy.typing import NDArray
from untrained import value_all_at

import agents
import thud_env
from agents import leaf_judge, policy_mcts
from agents.leaf_judge import FAVOUR, LeafJudge
from agents.mcts import MOST_SIMULATIONS
from agents.networks import pairs
from agents.networks.checkpoint import CheckpointError, save_policy
from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from agents.policy import PolicyAgent
from agents.policy_mcts import PolicyMctsAgent
from agents.search.leaves import Leaves
from agents.search.lookahead import Lookahead
from agents.search.reading import edges_of, read_decisions
from agents.search.tree import NUM_NODES, Tree
from thud_env import RULESETS, Position
from thud_env.actions import CAPTURE, CAPTURE_ALL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Untrained policies of every ruleset: ``folder / rules``."""
    folder = tmp_path_factory.mktemp("policies")
    for rules in RULESETS:
        for seed, role in enumerate(("dwarfs", "trolls")):
            torch.manual_seed(seed)
            network = Network(NetworkConfig(channels=4, blocks=1, key_size=2))
            save_policy(folder / rules / role, network, role=role, rules=rules, decisions=0)
    return folder


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Tree]:
    """The trees that are made from here on."""
    made: list[Tree] = []
    of_size = Tree.of_size

    def watched(*sizes: Any, **constants: float) -> Tree:
        made.append(of_size(*sizes, **constants))
        return made[-1]

    monkeypatch.setattr(Tree, "of_size", watched)
    return made


@pytest.mark.parametrize("rules", RULESETS)
def test_battles_are_played_by_the_rules(rules: str, folder: Path) -> None:
    agent = agents.make(f"policy+mcts:{folder / rules},sims=12")
    position = Position.start(rules, max_turns=24, offer_after=2, agreement=True)
    while position.outcome is None:
        chosen = agent.act(position)
        assert chosen in position.legal_actions()
        position = position.apply(chosen)


@pytest.mark.parametrize(
    "options", ["", ",leaves=1", ",lookahead=0", ",root=gumbel", ",root=gumbel,noise=1"]
)
def test_games_searched_side_by_side_are_searched_as_if_alone(options: str, folder: Path) -> None:
    spec = f"policy+mcts:{folder / 'classic-any'},sims=40{options}"
    positions = [
        Position.start("classic-any"),
        place("classic-any", "D6 E6 F6 A9", "J6 P8"),
        place("classic-any", "G6 H6 J6 C4", "H4 C6", "t"),
    ]
    together = agents.make(spec).act_rows(np.stack([p.row for p in positions]))
    assert together.tolist() == [agents.make(spec).act(p) for p in positions]


@pytest.mark.parametrize(
    "options", ["", ",leaves=32", ",root=gumbel,considered=64", ",precision=bfloat16"]
)
def test_even_an_untrained_network_finds_the_only_capture(options: str, folder: Path) -> None:
    position = place("classic", "E6 F6 A9", "H6", "d")
    agent = agents.make(f"policy+mcts:{folder / 'classic'},sims=400{options}")
    assert agent.turn(position) == "dF6-H6xH6"


def test_noise_makes_play_depend_on_the_seed(folder: Path) -> None:
    start = Position.start()
    spec = f"policy+mcts:{folder / 'classic'},sims=8,root=gumbel"
    assert len({agents.make(spec, seed).act(start) for seed in range(4)}) == 1
    assert len({agents.make(f"{spec},noise=1", seed).act(start) for seed in range(4)}) > 1
    assert len({agents.make(f"{spec},noise=1", 7).act(start) for _ in range(2)}) == 1


def test_time_begins_when_the_search_is_compiled_and_the_networks_are_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    judge = LeafJudge.judge

    def noted(self: LeafJudge, rows: NDArray[np.int16]) -> object:
        events.append("judge")
        return judge(self, rows)

    def clock() -> float:
        events.append("clock")
        return 0.0

    monkeypatch.setattr(LeafJudge, "judge", noted)
    monkeypatch.setattr(policy_mcts, "_compile", lambda: events.append("compile"))
    monkeypatch.setattr(policy_mcts, "perf_counter", clock)
    agent = agents.make(f"policy+mcts:{folder / 'classic'},sims=4,time=1")
    assert agent.act_rows(np.empty((0, 432), np.int16)).size == 0
    agent.act(Position.start())
    assert events[events.index("compile") :][:3] == ["compile", "judge", "clock"]


def test_no_more_leaves_are_begun_at_once_than_the_time_left_allows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leaf takes a second by this clock, and up to eight are valued together."""
    now = 0.0
    simulate = PolicyMctsAgent._simulate

    def timed(self: PolicyMctsAgent, tree: Tree, whose: NDArray[np.int64], in_hand: Leaves) -> None:
        nonlocal now
        now += len(whose)
        simulate(self, tree, whose, in_hand)

    monkeypatch.setattr(PolicyMctsAgent, "_simulate", timed)
    monkeypatch.setattr(policy_mcts, "perf_counter", lambda: now)
    agent = agents.make(f"policy+mcts:{folder / 'classic'},time=50,lookahead=0")
    agent.act(Position.start())
    assert 50 <= now <= 51


@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_a_search_is_bounded_by_time_and_can_be_stopped(root: str, folder: Path) -> None:
    start = Position.start()
    spec = f"policy+mcts:{folder / 'classic'},sims=20000,root={root}"
    for seconds, stops in ((0.2, False), (60, True)):
        agent = agents.make(f"{spec},time={seconds}")
        assert isinstance(agent, PolicyMctsAgent)
        if stops:
            threading.Timer(0.3, agent.stop).start()
        assert agent.act(start) in start.legal_actions()
        assert 1 <= agent.searched < 20000


@pytest.mark.parametrize(("together", "seconds"), [(1, [2.5]), (2, [5.0]), (66, [160.0, 5.0])])
def test_every_game_has_the_time_of_its_turn(
    together: int, seconds: list[float], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a search that plays them one by one: so equal limits of time are fair."""
    agent, spent = PolicyMctsAgent(folder / "classic", time=2), [0.0]
    simulate = agent._simulate

    def slow(tree: Tree, whose: NDArray[np.int64], in_hand: Leaves) -> None:
        if tree.counters[0, NUM_NODES] == 0:
            spent.append(0.0)
        spent[-1] += 0.5 * len(tree.root)
        simulate(tree, whose, in_hand)

    monkeypatch.setattr(policy_mcts, "perf_counter", lambda: sum(spent))
    monkeypatch.setattr(agent, "_simulate", slow)
    agent.think_rows([Position.start().row] * together)
    assert spent[1:] == seconds


@pytest.mark.parametrize("leaves", [1, 8])
def test_every_simulation_is_counted_once(leaves: int, folder: Path) -> None:
    agent = agents.make(f"policy+mcts:{folder / 'classic'},sims=60,leaves={leaves}")
    assert isinstance(agent, PolicyMctsAgent)
    trees: list[Tree] = []
    absorb = policy_mcts.absorb_all

    def watched(tree: Tree, *rest: object) -> None:
        absorb(tree, *rest)
        trees.append(tree)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy_mcts, "absorb_all", watched)
        agent.act(Position.start())
    _, visits, _ = read_decisions(trees[-1], 0)
    assert visits.sum() == 59  # the first simulation judged the root
    assert np.isfinite(trees[-1].totals).all()
    assert np.abs(trees[-1].totals[0]).max() <= visits.max() + 1e-3
    assert (len(trees) < 20) == (leaves == 8)


@pytest.mark.parametrize("player", ["mcts:", "policy+mcts:{},"])
def test_a_tree_for_the_most_simulations_fits_in_memory(
    player: str, folder: Path, made: list[Tree]
) -> None:
    spec = f"{player.format(folder / 'classic')}sims={MOST_SIMULATIONS},time=0.01"
    agents.make(spec).act(Position.start())
    assert sum(array.nbytes for array in made[0] if isinstance(array, np.ndarray)) < 500_000_000


@pytest.mark.parametrize("player", ["mcts:c=9,", "policy+mcts:{},"])
def test_no_tree_has_a_set_of_captures_in_two_orders(
    player: str, folder: Path, made: list[Tree]
) -> None:
    begun = decide(place("classic-any", "G6 H6 J6 A8", "H4", "t"), "H4-H5")
    agents.make(f"{player.format(folder / 'classic-any')}sims=60").act(begun)
    tree = max(made, key=lambda one: one.visits.sum())  # a small one is for compiling
    later = 0
    for edge in np.flatnonzero(tree.children[0] > 0).tolist():
        captured = int(tree.actions[0, edge])
        if CAPTURE <= captured < CAPTURE_ALL:
            node = int(tree.children[0, edge])
            answers = tree.actions[0, edges_of(tree, 0, node)]
            assert not ((answers >= CAPTURE) & (answers <= captured)).any()
            later += 1
    assert later >= 3


@pytest.mark.parametrize("rules", ["classic", "koom-valley"])
def test_a_tree_is_given_back_after_its_search_also_if_that_fails(
    rules: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, trees, of_size = PolicyMctsAgent(folder / "classic", sims=8), [], Tree.of_size

    def watched(*sizes: Any, **constants: float) -> Tree:
        tree = of_size(*sizes, **constants)
        trees.append(weakref.ref(tree.priors))
        return tree

    monkeypatch.setattr(Tree, "of_size", watched)
    start = Position.start(rules)
    with contextlib.suppress(CheckpointError):
        agent.act(start)
    gc.collect()
    assert [tree() is None for tree in trees] == [True]
    assert agent.glimpse(start.row) is None


def test_priors_sum_to_1_at_the_lowest_temperature(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees: list[Tree] = []
    absorb = policy_mcts.absorb_all

    def watched(tree: Tree, *rest: object) -> None:
        absorb(tree, *rest)
        trees.append(tree)

    monkeypatch.setattr(policy_mcts, "absorb_all", watched)
    agents.make(f"policy+mcts:{folder / 'classic'},sims=30,temperature=0.01").act(Position.start())
    tree = trees[-1]
    nodes = tree.nodes[0, : tree.counters[0, NUM_NODES]]
    assert len(nodes) > 1
    for first, count in nodes.tolist():
        assert tree.priors[0, first : first + count].sum() == pytest.approx(1, abs=1e-4)


def test_the_error_for_a_wrong_spec_or_checkpoint_names_it(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"sims must be in 2 \.\. 10000000, not 1"):
        agents.make(f"policy+mcts:{folder / 'classic'},sims=1")
    with pytest.raises(ValueError, match=r"lookahead must be in 0 \.\. 5, not 6"):
        agents.make(f"policy+mcts:{folder / 'classic'},lookahead=6")
    with pytest.raises(ValueError, match=r"unknown root .uct.: .puct. or .gumbel. would be right"):
        agents.make(f"policy+mcts:{folder / 'classic'},root=uct")
    with pytest.raises(ValueError, match=r"unknown precision .half.: "):
        agents.make(f"policy+mcts:{folder / 'classic'},precision=half")
    with pytest.raises(CheckpointError, match="/no/such/folder is not a policy"):
        agents.make("policy+mcts:/no/such/folder")
    agent = agents.make(f"policy+mcts:{folder / 'classic'},sims=2")
    with pytest.raises(CheckpointError, match="was trained for classic, not koom-valley"):
        agent.act(Position.start("koom-valley"))


def test_leaves_are_valued_by_a_search_or_by_the_network(folder: Path) -> None:
    policy = PolicyAgent(folder / "classic")
    rows = np.stack([place("classic", "E6 F6 A9", "H6 P8", side).row for side in "dt"])
    searched = LeafJudge(policy, bfloat16=False, lookahead=1, temperature=2.0).judge(rows)
    by_network = LeafJudge(policy, bfloat16=False, lookahead=0, temperature=1.0).judge(rows)
    assert searched.values.tolist() == Lookahead("classic", 1).search(rows)[0].tolist()
    assert by_network.values == pytest.approx(policy.expected_margins(rows) / 32, abs=1e-6)


def test_a_share_of_a_leafs_prior_goes_to_the_decision_that_its_search_found_best(
    folder: Path,
) -> None:
    policy = PolicyAgent(folder / "classic")
    going_on = [place("classic", "E6 F6 A9", "H6 P8", side).row for side in "dt"]
    over = place("classic", "E6 F6", "H6", "d").play("dF6-H6xH6").row
    rows = np.stack([going_on[0], over, going_on[1]])
    searched = LeafJudge(policy, bfloat16=False, lookahead=1, temperature=2.0).judge(rows)
    by_network = LeafJudge(policy, bfloat16=False, lookahead=0, temperature=1.0).judge(rows)
    assert searched.starts.tolist() == by_network.starts.tolist()
    first, after, last, end = searched.starts.tolist()
    assert after == last, "a battle that is over has no decisions"
    _, best = Lookahead("classic", 1).search(np.stack(going_on))
    for part, decision in zip((slice(first, after), slice(last, end)), best, strict=True):
        own = np.exp(by_network.log_probs[part] / 2)
        found = np.exp(searched.log_probs[part])
        is_best = searched.decisions[part] == decision
        assert is_best.sum() == 1
        assert found == pytest.approx((1 - FAVOUR) * own / own.sum() + FAVOUR * is_best, rel=1e-4)


@pytest.mark.parametrize("leaves", [1, 8])
def test_networks_are_asked_only_about_leaves_that_a_search_comes_back_to(
    leaves: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"policy+mcts:{folder / 'classic'},sims=80,leaves={leaves},lookahead=1"
    rows = [place("classic", "E6 F6 A9 K9", "H6 P8", side).row for side in "dt"]
    asked: list[int] = []
    ask = LeafJudge._ask

    def counted(judge: LeafJudge, rows: NDArray[np.int16]) -> object:
        asked.append(len(rows))
        return ask(judge, rows)

    monkeypatch.setattr(LeafJudge, "_ask", counted)
    found = [agents.make(spec).think_rows(rows)]  # type: ignore[attr-defined]
    few = sum(asked)
    monkeypatch.setattr(LeafJudge, "value", LeafJudge.judge)  # priors for every leaf at once
    found.append(agents.make(spec).think_rows(rows))  # type: ignore[attr-defined]
    assert 2 * few < sum(asked)
    for deferred, at_once in zip(*found, strict=True):
        assert deferred.visits == at_once.visits
        assert deferred.value == at_once.value


def test_network_outputs_are_cached(folder: Path) -> None:
    """A second search of a position evaluates nothing; one after a reply evaluates less."""
    spec = f"policy+mcts:{folder / 'classic'},sims=100"
    asked: list[int] = []
    ask = LeafJudge._ask

    def counted(judge: LeafJudge, rows: NDArray[np.int16]) -> object:
        asked.append(len(rows))
        return ask(judge, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LeafJudge, "_ask", counted)
        start = place("classic", "E6 F6 A9", "H6", "d")
        agent = agents.make(spec)
        first = agent.act(start)
        once = sum(asked)
        assert 0 < once <= 100
        assert agent.act(start) == first
        assert sum(asked) == once
        agent.seed(0)
        assert agent.act(start) == first
        assert sum(asked) == 2 * once, "a seed makes it forget"


def test_the_cache_drops_positions_that_are_not_met_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaf_judge, "REMEMBERED", 20)
    judge = LeafJudge(PolicyAgent(folder / "classic"), False, lookahead=0, temperature=1.0)
    position = Position.start()
    for number in range(100):
        judge.judge(position.row[np.newaxis])
        legal = position.legal_actions()
        position = position.apply(int(legal[number % len(legal)]))
    kept = judge._opinions
    assert 20 <= len(kept._recent) + len(kept._older) <= 41


def test_leaves_are_judged_as_the_policy_judges_them(folder: Path) -> None:
    policy = PolicyAgent(folder / "classic")
    dwarfs = Position.start()
    trolls = dwarfs.play("dE2-E6")
    over = place("classic", "A9", "J6", "d", max_turns=1).play("dA9-B9")
    assert over.outcome is not None
    rows = np.stack([one.row for one in (over, trolls, dwarfs, trolls)])
    judged = LeafJudge(policy, bfloat16=False, lookahead=0, temperature=1.0).judge(rows)
    assert np.diff(judged.starts).tolist() == [
        0,
        len(trolls.legal_actions()),
        len(dwarfs.legal_actions()),
        len(trolls.legal_actions()),
    ]
    assert judged.values[0] == pytest.approx(over.margin / 32)
    for place_in, position in ((1, trolls), (2, dwarfs), (3, trolls)):
        opinion = policy.judge(position)
        own = slice(judged.starts[place_in], judged.starts[place_in + 1])
        given = opinion.probabilities[judged.decisions[own].astype(np.int64)]
        assert np.exp(judged.log_probs[own]) == pytest.approx(given, rel=1e-4)
        assert judged.values[place_in] * 32 == pytest.approx(opinion.margin, abs=1e-4)
    half = LeafJudge(policy, bfloat16=True, lookahead=0, temperature=1.0).judge(rows)
    assert half.values == pytest.approx(judged.values, abs=0.02)
    assert half.log_probs == pytest.approx(judged.log_probs, abs=0.05)
    assert not np.array_equal(half.log_probs, judged.log_probs)


def test_a_pair_for_several_games_is_that_of_each_game_in_bfloat16_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "PRETRAINED", tmp_path)
    games = ("classic", "koom-valley")
    for seed, rules in enumerate(games):
        torch.manual_seed(seed)
        network = Network(NetworkConfig(channels=4, blocks=1, key_size=2))
        save_policy(tmp_path / rules / "dwarfs", network, role="dwarfs", rules=rules, decisions=0)
    of_both, of_one = (
        LeafJudge(PolicyAgent("champion"), bfloat16=True, lookahead=0, temperature=1.0)
        for _ in range(2)
    )
    found = [of_both.judge(Position.start(rules).row[np.newaxis]) for rules in games]
    wanted = of_one.judge(Position.start(games[1]).row[np.newaxis])
    assert np.array_equal(found[1].log_probs, wanted.log_probs)


def test_a_search_with_networks_needs_those_of_both_sides(tmp_path: Path) -> None:
    network = Network(NetworkConfig(channels=4, blocks=1, key_size=2))
    save_policy(tmp_path / "dwarfs", network, role="dwarfs", rules="classic", decisions=0)
    agent = PolicyMctsAgent(tmp_path, sims=2)
    for side in ("dwarfs", "trolls"):
        with pytest.raises(CheckpointError, match="holds no policy for the trolls"):
            agent.check_plays(thud_env.CLASSIC, side)


def test_the_noise_goes_on_from_a_state_as_it_would_have(folder: Path) -> None:
    start = Position.start()
    spec = f"policy+mcts:{folder / 'classic'},sims=8,root=gumbel,noise=1"
    other, played = agents.make(spec, 9), set()
    for seed in range(4):
        agent = agents.make(spec, seed)
        other.set_state(agent.get_state())
        assert other.act(start) == agent.act(start)
        played.add(agent.act(start))
    assert len(played) > 1


@pytest.mark.parametrize("sign", [1, -1])
def test_no_leaf_is_valued_beyond_the_best_end(sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    value_all_at(9.0 * sign, monkeypatch)
    judge = LeafJudge(PolicyAgent("pretrained/classic"), False, lookahead=0, temperature=1.0)
    start = Position.start()
    rows = np.stack([start.row, start.play("dE2-E6").row])
    assert judge.judge(rows).values.tolist() == [sign, -sign]


def test_leaves_of_several_games_are_searched_by_the_tables_of_each(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(pairs, "PRETRAINED", tmp_path)
    starts = {rules: Position.start(rules).row[np.newaxis] for rules in ("classic", "koom-valley")}
    for rules in starts:
        network = Network(NetworkConfig(channels=4, blocks=1, key_size=2))
        save_policy(tmp_path / rules / "dwarfs", network, role="dwarfs", rules=rules, decisions=0)
    judge = LeafJudge(PolicyAgent("champion"), bfloat16=False, lookahead=1, temperature=1.0)
    for rules, rows in starts.items():
        assert judge.value(rows).values == Lookahead(rules, 1).search(rows)[0]
