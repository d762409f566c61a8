"""The games of a ladder: which are played, and that a result depends on its game alone."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from flat_network import add_own_network
from ladders import short_field, short_openings, untimed
from untrained import link_untrained

import agents
from agents.agent import Agent
from agents.answers import AnswerError
from agents.networks.checkpoint import save_policy
from agents.networks.config import NetworkConfig
from agents.networks.kinds import make_network
from thud_env import Position, Record
from thud_env.outcome import SIDES
from training.arena import games as play_module
from training.arena.field import Field, FieldError, Game
from training.arena.games import play_game, play_games
from training.arena.identity import own_files

BEGINNING = short_field().beginning(Game("", "", 0))

# -- the schedule --------------------------------------------------------------------------


def test_every_start_is_played_in_both_seats_and_against_the_agent_itself() -> None:
    games = list(short_field({"a": 6, "b": 6, "c": 6}).games())
    cells = Counter((game.dwarfs, game.trolls) for game in games)
    assert cells == {(d, t): 3 for d in "abc" for t in "abc"}
    assert len(set(games)) == len(games)
    assert [game.start for game in games] == sorted(game.start for game in games)


def test_two_agents_play_as_often_as_the_rarer_of_them() -> None:
    games = list(short_field({"a": 8, "b": 8, "slow": 2}).games())
    cells = Counter((game.dwarfs, game.trolls) for game in games)
    assert cells["a", "b"] == cells["b", "b"] == 4
    assert cells["a", "slow"] == cells["slow", "b"] == cells["slow", "slow"] == 1


def test_seeds_are_by_game_and_by_ladder() -> None:
    field, other = short_field(), short_field(seed=2)
    games = list(field.games())
    seeds = [seed for game in games for seed in field.seeds(game)]
    assert len(set(seeds)) == len(seeds)
    assert not set(seeds) & {seed for game in games for seed in other.seeds(game)}
    assert short_field({"random": 2, "greedy": 2, "greedy2": 2}).seeds(games[0]) == (
        field.seeds(games[0])
    )


@pytest.mark.parametrize(
    ("agents", "complaint"),
    [
        ({}, "needs an agent"),
        ({"random": 4, "greedy": 0}, "even number"),
        ({"random": 4, "greedy": 5}, "even number"),
        ({"random": 4, "greedy": 82}, "40 starts, enough for 80"),
    ],
)
def test_a_field_that_cannot_be_played_is_refused(agents, complaint: str) -> None:
    with pytest.raises(FieldError, match=complaint):
        Field(agents, "classic", short_openings())


def test_a_limit_at_which_a_battle_would_be_over_is_refused() -> None:
    with pytest.raises(ValueError, match="start 1 of the book is over by these limits: turn_limit"):
        Field({"a": 2, "b": 2}, "classic", short_openings(), limits={"max_turns": 4})


# -- one game ------------------------------------------------------------------------------


def test_a_result_is_the_record_of_its_game() -> None:
    field = short_field()
    for game in field.games():
        start = field.beginning(game)
        result = play_game(game, start, field.seeds(game))
        record = Record(start, tuple(result.turns.split()))
        outcome = record.final.outcome
        assert outcome is not None
        assert result.margin == outcome.margin
        assert result.ending == outcome.termination.name.lower()
        assert sum(result.moves) == len(record.turns)
        assert abs(result.moves[0] - result.moves[1]) <= 1
        assert result.game == game


def test_a_game_is_the_same_whatever_was_played_before() -> None:
    field = short_field()
    games = list(field.games())
    forwards = list(play_games(field, games, workers=1))
    backwards = list(play_games(field, games[::-1], workers=1))
    assert untimed(forwards) == untimed(backwards)
    assert untimed(forwards) != untimed(list(play_games(short_field(seed=2), games, workers=1)))


def test_several_processes_play_the_same_games_as_one() -> None:
    field = short_field()
    games = list(field.games())
    serial, parallel = (list(play_games(field, games, workers)) for workers in (1, 2))
    assert untimed(serial) == untimed(parallel)
    assert [result.game for result in serial] == games


def test_a_policy_that_changes_meanwhile_stops_the_games(tmp_path: Path) -> None:
    """Each game reads it anew, and a run that goes on replaces its policies."""
    link = tmp_path / "latest"
    link_untrained(link, 1, "classic")
    spec = f"policy:{link}"
    field = short_field({spec: 2, "random": 2})
    results = play_games(field, list(field.games()), workers=1)
    next(results)
    link_untrained(link, 2, "classic")
    with pytest.raises(FieldError) as error:
        next(results)
    assert str(error.value).startswith(f"{spec} has changed since the games began")


def test_code_that_is_edited_meanwhile_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process has imported it."""
    source = add_own_network(tmp_path, "edited", monkeypatch)
    network = make_network(NetworkConfig(kind="edited"))
    for role in SIDES:
        save_policy(tmp_path / "pair" / role, network, role=role, rules="classic", decisions=0)
    spec = f"policy:{tmp_path / 'pair'}"
    before = own_files([spec], "classic")
    field = short_field({spec: 2, "random": 2})
    results = play_games(field, list(field.games()), workers=1)
    next(results)
    source.write_text("# another\n")
    assert own_files([spec], "classic") != before
    assert len(list(results)) == len(list(field.games())) - 1


def test_a_killed_worker_is_an_error_of_the_system() -> None:
    class Killed(Executor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            raise BrokenProcessPool

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(play_module, "ProcessPoolExecutor", lambda *_: Killed())
        field = short_field()
        with pytest.raises(ChildProcessError, match="a worker was killed"):
            list(play_games(field, list(field.games()), workers=2))


class Fake(Agent):
    """Plays the first legal decision, or an illegal one, and reports nodes."""

    def __init__(self, seed: int = 0, legal: bool = True) -> None:
        self.legal = legal
        self.searched = 0

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        position = Position(rows[0])
        if "xx" not in position.text.split()[2]:
            self.searched += 7
        return position.legal_actions()[:1] if self.legal else np.array([6469])


class Cheat(Fake):
    """Plays illegally, except with seed 0."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(legal=seed == 0)


class Once(Fake):
    """Searches once."""

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        self.searched = 7
        return Position(rows[0]).legal_actions()[:1]


def test_nodes_are_summed_if_the_agent_counts_them(monkeypatch) -> None:
    monkeypatch.setitem(agents.AGENTS, "fake", f"{__name__}:Fake")
    game = Game("fake", "random", 0)
    result = play_game(game, BEGINNING, (1, 2))
    assert result.nodes == (7 * result.moves[0], None)
    assert result.seconds[0] > 0


def test_one_search_that_serves_several_decisions_counts_once(monkeypatch) -> None:
    monkeypatch.setitem(agents.AGENTS, "once", f"{__name__}:Once")
    assert play_game(Game("once", "once", 0), BEGINNING, (1, 2)).nodes == (7, 7)


class Scribbler(Fake):
    """Writes into the rows that it is asked about."""

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        actions = super().act_rows(rows)
        rows.fill(0)
        return actions


def test_an_agent_that_writes_into_its_rows_changes_no_game(monkeypatch) -> None:
    for name in ("Fake", "Scribbler"):
        monkeypatch.setitem(agents.AGENTS, name.lower(), f"{__name__}:{name}")
    one, other = (
        play_game(Game(name, name, 0), BEGINNING, (1, 2)) for name in ("fake", "scribbler")
    )
    assert one.turns == other.turns


class Noting(Fake):
    """Notes for which sides each one that is made is asked."""

    asked: ClassVar[list[list[str]]] = []

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.asked.append([])
        self._mine = self.asked[-1]

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        self._mine.append(Position(rows[0]).to_move)
        return super().act_rows(rows)


def test_the_seconds_of_a_side_are_those_of_all_its_decisions_and_of_no_loading(
    monkeypatch,
) -> None:
    monkeypatch.setitem(agents.AGENTS, "noting", f"{__name__}:Noting")
    monkeypatch.setattr(Noting, "asked", [])
    monkeypatch.setattr(play_module, "time", SimpleNamespace(process_time=count().__next__))
    play_module._warm_up.cache_clear()
    first, second = (play_game(Game("noting", "noting", 0), BEGINNING, (1, 2)) for _ in range(2))
    tried, *played = Noting.asked[:2], *Noting.asked[2:]
    assert tried == [["dwarfs"], ["trolls"]]
    assert [len(asked) for asked in played] == [*first.seconds, *second.seconds]
    assert min(first.seconds) > 1


class Unsure(Fake):
    """Answers with numbers that are no integers."""

    def act_rows(self, rows: np.ndarray) -> np.ndarray:
        return super().act_rows(rows) + 0.5


def test_an_answer_that_is_no_integer_is_an_error_that_names_the_agent(monkeypatch) -> None:
    monkeypatch.setitem(agents.AGENTS, "unsure", f"{__name__}:Unsure")
    with pytest.raises(ValueError, match="actions of unsure are float64 of shape"):
        play_game(Game("unsure", "random", 0), BEGINNING, (1, 2))


def test_an_illegal_decision_is_an_error_that_names_the_agent(monkeypatch) -> None:
    monkeypatch.setitem(agents.AGENTS, "cheat", f"{__name__}:Cheat")
    with pytest.raises(AnswerError, match=r"cheat: action 6469 .* is illegal"):
        play_game(Game("cheat", "random", 0), BEGINNING, (1, 2))


@pytest.mark.parametrize("moves", [("dE2-E6",), ()])
def test_the_turns_of_each_side_are_counted_from_who_begins(moves: tuple[str, ...]) -> None:
    start = Position.start(max_turns=3 + len(moves))
    for move in moves:
        start = start.play(move)
    result = play_game(Game("random", "random", 0), start, (1, 2))
    assert result.moves == ((1, 2) if moves else (2, 1))
