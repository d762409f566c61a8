"""The teachers of a distillation: what they say of each decision is what their search says."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
import pytest
import torch
from by_hand import place
from small_distillation import FLOAT32, SMALL, TREE, networks

from agents.policy_mcts import PolicyMctsAgent
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluation import final_value
from agents.search.evaluator import read_evaluator
from thud_env import BatchedGame, Position, RowError, ThudError
from thud_env.jit.rng import seed_generators
from thud_env.rules.row import NO_QUESTION, ONGOING, PENDING, TERMINATION, TO_MOVE
from thud_env.symmetry import map_action, map_rows, symmetries_of
from training.distill import alphabeta_teacher
from training.distill.alphabeta_teacher import AlphaBetaTeacher
from training.distill.config import REACH, TeacherConfig
from training.distill.labels import Labels
from training.distill.tree_teacher import TreeTeacher, _Students
from training.errors import ConfigError


def some_rows(rules: str, seed: int = 3) -> np.ndarray:
    """A few states of random play, in the middle of turns too."""
    games = BatchedGame(4, rules, seed=seed, observations=False)
    rows = []
    for step in range(90):
        games.step(games.sample_actions())
        if step % 30 == 29:
            rows += [row.copy() for row in games.rows if row[TERMINATION] == ONGOING]
    return np.stack(rows)


def searched(row: np.ndarray, decision: int, config: TeacherConfig) -> int:
    """What a decision is worth to the side that makes it, by a search of its own."""
    child = Position(row).apply(decision).row
    same_side = child[TO_MOVE] == row[TO_MOVE]
    if child[TERMINATION] != ONGOING:
        value = int(final_value(child))
    else:
        turns = config.depth - 1 if child[PENDING] == NO_QUESTION else config.depth
        searcher = Searcher(seed_generators(1, 0))
        evaluator = read_evaluator(config.evaluation)
        options = SearchOptions(evaluator, turns, quiescence=config.quiescence)
        value = searcher.value(child, options)
    return value if same_side else -value


@pytest.mark.parametrize(
    ("rules", "evaluation"),
    [("classic", "features"), ("classic", "learned"), ("koom-valley", "features")],
)
def test_labels_are_what_the_search_says_of_each_decision(
    rules: str, evaluation: Literal["features", "learned"]
) -> None:
    config = dataclasses.replace(SMALL, depth=1, evaluation=evaluation)
    rows = some_rows(rules)[[0, 1, -1]]  # in classic dwarfs, trolls amid a turn, and before one
    labels = AlphaBetaTeacher(config, rules).label(rows)
    for n, row in enumerate(rows):
        legal = Position(row).legal_actions()
        scores = np.array([searched(row, int(decision), config) for decision in legal])
        near = scores > scores.max() - config.reach
        mine = slice(labels.starts[n], labels.starts[n + 1])
        assert labels.decisions[mine].tolist() == legal[near].tolist()
        assert labels.gaps[mine].tolist() == (scores.max() - scores[near]).tolist()
        assert labels.values[n] == scores.max() * (1 if row[TO_MOVE] == 0 else -1)


def test_two_turns_deep_the_best_is_the_searchs() -> None:
    rows = some_rows("classic")[:3]
    labels = AlphaBetaTeacher(SMALL, "classic").label(rows)
    for n, row in enumerate(rows):
        for k in range(labels.starts[n], min(labels.starts[n] + 3, labels.starts[n + 1])):
            value = searched(row, int(labels.decisions[k]), SMALL)
            best = labels.values[n] * (1 if row[TO_MOVE] == 0 else -1)
            assert best - labels.gaps[k] == value


def test_the_last_pieces_are_labelled_by_features() -> None:
    """As ``alphabeta`` hunts them; with a third troll the two evaluations differ."""
    few = place("classic", "E4 E3 D5 D7 D9 D11 E13", "H6 J9").row
    more = place("classic", "E4 E3 D5 D7 D9 D11 E13", "H6 J9 K6").row
    for row, same in ((few, True), (more, False)):
        learned, features = (
            AlphaBetaTeacher(TeacherConfig(depth=1, evaluation=evaluation), "classic")
            for evaluation in ("learned", "features")
        )
        rows = row[np.newaxis]
        assert (learned.label(rows).values == features.label(rows).values).all() == same


def test_what_are_no_rows_is_said_in_a_line() -> None:
    with pytest.raises(RowError, match=r"^rows are integers of shape \(N, 432\), not "):
        AlphaBetaTeacher(SMALL, "classic").label(Position.start().row)


def test_what_cannot_be_labelled_is_refused() -> None:
    teacher = AlphaBetaTeacher(SMALL, "classic")
    over = Position.start(max_turns=1).play("dE2-E6")
    with pytest.raises(ThudError, match=r"the battle is over: .* \(row 1\)"):
        teacher.label(np.stack([Position.start().row, over.row]))
    with pytest.raises(RowError, match="names koom-valley"):
        teacher.label(Position.start("koom-valley").row[None])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"depth": np.int64(1)}, r"^depth: np\.int64\(1\) must be of type int"),
        ({"depth": 0}, r"^depth: 0 must be in 1 \.\. "),
        ({"reach": -5}, r"^reach: -5 must be in 1 \.\. "),
        ({"depth": "x"}, "^depth: 'x' must be of type int"),
    ],
)
def test_a_configuration_out_of_range_makes_no_teacher(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        AlphaBetaTeacher(TeacherConfig(**given), "classic")


def test_labels_do_not_depend_on_how_many_cores_make_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some_rows("classic")
    whole = AlphaBetaTeacher(SMALL, "classic").label(rows)
    for cores in (1, 3, 2 * len(rows)):
        monkeypatch.setattr(alphabeta_teacher, "available_cores", lambda cores=cores: cores)
        shared = AlphaBetaTeacher(SMALL, "classic").label(rows)
        for name, array in vars(whole).items():
            assert np.array_equal(getattr(shared, name), array), (cores, name)


def test_there_must_be_a_state_to_label() -> None:
    with pytest.raises(ThudError, match="no states to label: one or more"):
        AlphaBetaTeacher(SMALL, "classic").label(some_rows("classic")[:0])


def test_a_label_does_not_depend_on_what_was_labelled_before() -> None:
    """Quiescence makes the value of this state depend on the order of its decisions."""
    before = "5/TT2TT1/6T2/11/3d9/8TT1T3/15/7R7/7d3d3/d13d/d8d2d/3d7/6d2/d6/ddddd d - 18 18"
    text = "5/T1T4/2T4T1/11/5T7/1T4d6T1/7T7/7R4d2/3d1d1d7/4d10/13/2dd3d3/2d1d4/d5d/dd1d1 t - 35 35"
    rows = np.array([Position.from_text(one, "koom-valley").row for one in (before, text)])
    alone = AlphaBetaTeacher(TeacherConfig(), "koom-valley").label(rows[1:])
    both = alphabeta_teacher._Desk(TeacherConfig(), "koom-valley").label(rows)
    second = slice(both.starts[1], both.starts[2])
    assert both.decisions[second].tolist() == alone.decisions.tolist()
    assert both.gaps[second].tolist() == alone.gaps.tolist()


@pytest.mark.parametrize("rules", ["classic", "koom-valley-football"])
def test_labels_turn_with_the_board(rules: str) -> None:
    rows = some_rows(rules)[:2]
    labels = AlphaBetaTeacher(SMALL, rules).label(rows)
    for symmetry in symmetries_of(rules)[1:3]:
        images = map_rows(np.full(len(rows), symmetry), rows)
        turned = AlphaBetaTeacher(SMALL, rules).label(images)
        assert np.array_equal(turned.values, labels.values)
        for n in range(len(rows)):
            one, other = (
                dict(zip(decisions.tolist(), gaps.tolist(), strict=True))
                for decisions, gaps in (
                    (
                        map_action(symmetry, labels[np.array([n])].decisions),
                        labels[np.array([n])].gaps,
                    ),
                    (turned[np.array([n])].decisions, turned[np.array([n])].gaps),
                )
            )
            assert one == other


def test_a_tree_labels_what_its_simulations_found() -> None:
    rows = some_rows("classic")
    labels = TreeTeacher(TREE, networks(), FLOAT32, seed=5).label(rows)
    assert labels.counts.max() > 1
    assert labels.gaps.max() < TREE.reach
    searches = PolicyMctsAgent(
        _Students.now(networks()),
        sims=32,
        root="gumbel",
        considered=4,
        lookahead=TREE.lookahead,
        noise=1.0,
        seed=5,
    )
    for n, found in enumerate(searches.think_rows(rows)):
        mine = slice(labels.starts[n], labels.starts[n + 1])
        assert labels.values[n] == found.value * (1 if rows[n, TO_MOVE] == 0 else -1)
        tried = [one for one, visits in found.visits.items() if visits]
        assert 0 < len(tried) <= 4
        most = max(found.visits.values())
        sure = [one for one in sorted(tried) if found.visits[one] >= most / 2]
        near = [one for one in sure if found.value - found.values[one] < TREE.reach]
        assert labels.decisions[mine].tolist() == near
        gaps = [max(0, found.value - found.values[one]) for one in near]
        assert labels.gaps[mine].tolist() == gaps
        assert gaps[near.index(found.decisions[0])] == 0


def test_a_tree_teacher_keeps_the_students_as_they_were() -> None:
    rows, pair = some_rows("classic"), networks()
    teacher = TreeTeacher(TREE, pair, FLOAT32, seed=5)
    before = teacher.label(rows[:1])
    for network in pair:
        for parameter in network.parameters():
            torch.nn.init.zeros_(parameter)
    again = TreeTeacher(TREE, pair, FLOAT32, seed=5).label(rows[:1])
    kept = teacher.label(rows[:1])
    assert np.array_equal(kept.values, before.values)
    assert not np.array_equal(again.values, before.values)


def test_some_labels_of_several_lots() -> None:
    one = Labels(*(np.array(a) for a in ([2, 1], [3, 5, 9], [0, 7, 0], [10, -20])))
    two = Labels(*(np.array(a) for a in ([1], [4], [0], [30])))
    chosen = Labels.joined([one, two])[np.array([2, 0])]
    assert [array.tolist() for array in vars(chosen).values()] == [
        [1, 2],
        [4, 3, 5],
        [0, 0, 7],
        [30, 10],
    ]


def test_only_the_most_promising_decisions_are_searched_deeper() -> None:
    rows = some_rows("classic")
    one_turn = dataclasses.replace(SMALL, depth=1, reach=REACH)
    few = dataclasses.replace(SMALL, considered=3, reach=300)
    at_first, labels = (AlphaBetaTeacher(how, "classic").label(rows) for how in (one_turn, few))
    several = 0
    for n in range(len(rows)):
        mine = slice(at_first.starts[n], at_first.starts[n + 1])
        best = np.argsort(at_first.gaps[mine], kind="stable")[:3]
        kept = labels.decisions[labels.starts[n] : labels.starts[n + 1]]
        if at_first.gaps[mine][best].max() < few.reach:  # beyond it scores are bounds alone
            assert set(kept) <= set(at_first.decisions[mine][best])
            several += len(kept) > 1
    assert several > 3
