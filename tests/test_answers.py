"""Players that do not answer with a legal action for each battle are refused where they are met."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import agents
from agents.answers import AnswerError, checked
from agents.asking import OwnAgentError, answer_of
from agents.networks.config import NetworkConfig
from agents.networks.network import Network
from agents.play import main as play
from thud_env import Position
from thud_env.actions import DONE, NUM_ACTIONS
from thud_env.envs.single import ThudSeatEnv
from thud_env.outcome import SIDES
from training.arena.battles import play_battles
from training.arena.games import Timed
from training.config import OpponentConfig, TrainConfig
from training.distill.__main__ import main as distil
from training.distill.alphabeta_teacher import AlphaBetaTeacher
from training.distill.config import DistillConfig, LessonConfig, TeacherConfig
from training.distill.lessons import Lessons
from training.evaluate import main as evaluate
from training.ladder.__main__ import main as ladder
from training.process.precision import Precision
from training.selfplay.opponents import Opponents
from training.train import main as train

FLOAT32 = Precision(bfloat16=False)
START = Position.start("classic")
GAMES = 4
WRONG: dict[str, tuple[Callable[[np.ndarray], Any], str]] = {
    "fractions": (lambda first: first + 0.5, "actions of {} are float64 of shape"),
    "one": (lambda first: first[0], "actions of {} are int32 of shape ()"),
    "column": (lambda first: first[:, None], "actions of {} are int32 of shape"),
    "many": (lambda first: np.repeat(first, 2), "actions of {} are int32 of shape"),
    "nothing": (lambda first: None, "actions of {} are object of shape ()"),
    "illegal": (
        lambda first: np.full_like(first, DONE),
        "{}: action 6466 (done) is illegal for the ",
    ),
    "negative": (lambda first: first - NUM_ACTIONS, "{}: action -"),
    "too-large": (lambda first: first + np.int64(1 << 40), "{}: action 10995116"),
}
COMMANDS = [
    (evaluate, ["--trolls", "random", "--dwarfs"]),
    (play, ["--trolls", "random", "--dwarfs"]),
    (ladder, ["--games", "2", "--out", "ladder", "random"]),
]
"""Commands that meet the player whose spec comes next."""


class Wrong(agents.Agent):
    """Makes something else of the first legal action of each battle."""

    def __init__(self, how: str = "one", seed: int = 0) -> None:
        self._answer, _ = WRONG[how]

    def act_rows(self, rows: np.ndarray) -> Any:
        return self._answer(np.array([Position(row).legal_actions()[0] for row in rows]))


class Writing(agents.Agent):
    """Plays the first legal action, and leaves nothing of the rows."""

    def act_rows(self, rows: np.ndarray) -> Any:
        actions = [Position(row).legal_actions()[0] for row in rows]
        rows[:] = 0
        return actions


class Failing(agents.Agent):
    """Raises what a command would take for a user's mistake."""

    def __init__(self, seed: int = 0) -> None:
        pass

    def act_rows(self, rows: np.ndarray) -> Any:
        raise ValueError("a bug of my own")


def to_self_play(spec: str) -> None:
    config = TrainConfig(opponents=OpponentConfig(scripted=0.5, players=(spec,)))
    opponents = Opponents(config, GAMES, np.random.SeedSequence(1), FLOAT32)
    games = np.flatnonzero(opponents.sides == 0)
    rows = np.tile(START.row, (len(games), 1))
    opponents.act(0, games, rows, np.zeros(len(games)))


def to_lessons(spec: str) -> None:
    config = DistillConfig(
        num_games=GAMES,
        rollout_decisions=4,
        network=NetworkConfig(channels=4, blocks=1, key_size=2),
        teacher=TeacherConfig(depth=1, quiescence=1),
        lessons=LessonConfig(student=0.0, scripted=1.0, players=(spec,)),
    )
    networks = Network(config.network), Network(config.network)
    lessons = Lessons(config, networks, FLOAT32, np.random.SeedSequence(1))
    lessons.give(AlphaBetaTeacher(config.teacher, config.rules), with_student=False)


def to_the_ladder(spec: str) -> None:
    Timed(spec, 1).act_rows(START.row[np.newaxis])


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_answer_in_a_battle_names_the_seat(how, seat) -> None:
    players: list[agents.Agent] = [agents.make("random"), agents.make("random")]
    players[seat] = Wrong(how)
    named = WRONG[how][1].format(f"the {SIDES[seat]}' player")
    with pytest.raises(AnswerError, match=f"^{re.escape(named)}"):
        play_battles(*players, GAMES)


@pytest.mark.parametrize("how", WRONG)
@pytest.mark.parametrize("meet", [to_self_play, to_lessons, to_the_ladder])
def test_a_wrong_answer_is_an_error_that_names_the_player(meet, how, monkeypatch) -> None:
    monkeypatch.setitem(agents.AGENTS, "wrong", f"{__name__}:Wrong")
    spec = f"wrong:how={how}"
    with pytest.raises(AnswerError, match=f"^{re.escape(WRONG[how][1].format(spec))}"):
        meet(spec)


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_answer_to_one_position_names_the_class(how) -> None:
    named = f"^{re.escape(WRONG[how][1].format('Wrong'))}"
    with pytest.raises(AnswerError, match=named):
        Wrong(how).act(START)
    with pytest.raises(AnswerError, match=named):
        Wrong(how).turn(START)


@pytest.mark.parametrize(("main", "words"), COMMANDS)
def test_a_wrong_answer_ends_a_command_in_one_line(
    main, words, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*words, f"python:{__name__}:Wrong,how=illegal"]) == 2
    said = capsys.readouterr().err
    assert f"action {DONE} (done) is illegal" in said.splitlines()[-1]
    assert "Traceback" not in said


@pytest.mark.parametrize("meet", [to_self_play, to_lessons, to_the_ladder])
def test_an_error_of_ones_own_agent_is_no_mistake_on_a_command_line(meet, monkeypatch) -> None:
    monkeypatch.setitem(agents.AGENTS, "failing", f"{__name__}:Failing")
    with pytest.raises(OwnAgentError, match=f"^{__name__}:Failing failed$") as caught:
        meet("failing")
    assert not isinstance(caught.value, ValueError)
    assert str(caught.value.__cause__) == "a bug of my own"


@pytest.mark.parametrize(("main", "words"), COMMANDS)
def test_an_error_of_ones_own_agent_ends_a_command_with_its_traceback(
    main, words, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OwnAgentError) as caught:
        main([*words, f"python:{__name__}:Failing"])
    traced = "".join(traceback.format_exception(caught.value))
    assert 'raise ValueError("a bug of my own")' in traced


def test_an_error_of_an_agent_of_the_checkout_stays_what_it_is() -> None:
    over = Position.start(max_turns=1).play("dF1-F5")
    with pytest.raises(ValueError, match="the battle is over"):
        answer_of(agents.make("greedy"), "greedy", over.row[np.newaxis])


@pytest.mark.parametrize(
    ("player", "said"),
    [
        ("greedy", r"^'greedy' is a spec: agents\.make\('greedy'\) would be right$"),
        (agents.Agent, r"^Agent is a class: a player, Agent\(\), would be right$"),
        (7, r"^7 cannot play: it has no method act_rows\(self, rows\)$"),
    ],
)
def test_what_has_no_act_rows_is_refused_before_it_is_asked(player: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        play_battles(player, agents.make("random"), 1, "classic")


@pytest.mark.parametrize(
    ("main", "command", "settings"),
    [
        (train, "train", ["opponents.scripted=1", "opponents.players=[{}]"]),
        (distil, "distill", ["lessons.student=0", "lessons.scripted=1", "lessons.players=[{}]"]),
    ],
)
def test_a_wrong_answer_ends_a_run_in_one_line(
    main, command, settings, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setitem(agents.AGENTS, "wrong", f"{__name__}:Wrong")
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text("{num_games: 4, rollout_decisions: 4}")
    spec = "wrong:how=illegal"
    assert main(["small.yaml", *(setting.format(spec) for setting in settings)]) == 2
    said = capsys.readouterr().err
    assert said.splitlines()[-1].startswith(f"{command}: {spec}: action {DONE} (done) is illegal")
    assert "Traceback" not in said


def test_an_agent_may_write_into_its_rows(monkeypatch) -> None:
    assert Writing().turn(START) in START.turns()
    env = ThudSeatEnv(side="trolls", opponent=Writing())
    env.reset()
    assert env.position.turn_number == 1
    battles = play_battles(Writing(), Writing(), 2, max_turns=9)
    assert battles.turns.tolist() == [9, 9]
    monkeypatch.setattr("agents.registry.agent_class", lambda where: lambda seed: Writing())
    Timed("random", 1).act_rows(START.row[np.newaxis])


def test_legal_actions_of_any_type_of_integer_are_taken() -> None:
    rows = np.tile(START.row, (3, 1))
    legal = START.legal_actions()[:3].tolist()
    for answer in (legal, np.array(legal, dtype=np.uint16), np.array(legal, dtype=np.int64)):
        actions = checked("own", answer, rows)
        assert (actions.tolist(), actions.dtype) == (legal, np.int32)


def test_lists_of_several_lengths_are_no_answer():
    with pytest.raises(AnswerError, match=r"^actions of me: \[\[1, 2\], \[3\]\] is no array: "):
        checked("me", [[1, 2], [3]], START.row[np.newaxis])
