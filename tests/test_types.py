"""What type checkers and editors find out about the public functions."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import get_args

import pytest

import thud_env
from thud_env.batch.options import AutoresetName
from thud_env.envs.single import ThudSeatEnv
from thud_env.envs.vector import ThudVectorEnv
from thud_env.rulesets import RulesName

ROOT = Path(__file__).parents[1]
RIGHT = """
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import thud_env
import thud_env.actions


def first_legal(position: thud_env.Position) -> np.int32:
    return position.legal_actions()[0]


class Player:
    def act(self, position: thud_env.Position) -> int:
        return int(first_legal(position))


class Batch:
    def act_rows(self, rows: NDArray[np.int16]) -> NDArray[np.int64]:
        return np.array([first_legal(thud_env.Position(row)) for row in rows])


class Told:
    def act_rows(self, rows: NDArray[np.int16], *, games: NDArray[np.int64]) -> NDArray[np.int64]:
        return games


class League:
    def act_rows(self, rows: NDArray[np.int16], games: NDArray[np.int64]) -> NDArray[np.int64]:
        return games


thud_env.env(rules="classic", reward="margin", idle_mask="ones", max_turns=9)
thud_env.match_env("koom-valley", "ansi", illegal_action="lose")
thud_env.env(rules=thud_env.RULESETS["classic-all"])
thud_env.env(rules=thud_env.CLASSIC.replace(name="mine", max_turns=9).spec)
thud_env.env(rules=thud_env.get_ruleset(input()))
games = thud_env.BatchedGame(2, "classic", device="cpu", autoreset_mode="NextStep")
games.reset(games=[0, 1])
games.step(games.sample_actions(), games=[True, False])
assert_type(games.rows, NDArray[np.int16])
rules: thud_env.Rules = "classic-all"
reward: thud_env.Reward = "outcome"
starts: thud_env.Starts = [thud_env.Position.start()]
kind: thud_env.ObservationKind = "planes"
env = thud_env.env(rules, "ansi", observation=kind, reward=reward, starts=starts)
assert_type(env.render(), thud_env.RenderFrame | None)
assert_type(env.last()[1:4], tuple[float, bool, bool])
for agent in env.agent_iter():
    assert_type(env.side_of(agent), thud_env.Side)
side: thud_env.Seat = "trolls"
opponent: thud_env.OpponentLike = "agents:greedy"
seat = thud_env.ThudSeatEnv(rules, side, opponent, observation="dict")
seat.opponent = first_legal
seat.opponent = Player()
observation: thud_env.Observation = seat.reset()[0]
envs = thud_env.ThudVectorEnv(2, opponent=Batch())
envs.opponent = League()
envs.opponent = Told()
envs.starts = starts
seat.starts = None
thud_env.ThudEnv().starts = "text"
print(env.observation_space("dwarf_0")["observation"].shape)
seat.step(seat.action_space.sample())
position = thud_env.Position.start()
actions = position.legal_actions()
position.apply(actions[0])
position.turn_of(actions[:1])
thud_env.Record.from_decisions(position, actions[:1])
thud_env.actions.describe_action(actions[0])
thud_env.ThudVectorEnv(2, side="both", opponent=None)
"""
WRONG = """
import thud_env

thud_env.env(rules="clasic")
thud_env.match_env(rules="clasic")
thud_env.env(render_mode="humna")
thud_env.env(reward="points")
thud_env.env(idle_mask="twos")
thud_env.env(illegal_action="pass")
thud_env.env(max_turnz=9)
thud_env.BatchedGame(2, device="gpu")
thud_env.BatchedGame(2, autoreset_mode="Never")
thud_env.random_playouts(2, rules="clasic")
thud_env.Position.start("clasic")
thud_env.env(observation="image")
thud_env.ThudSeatEnv(opponent=3)
thud_env.ThudVectorEnv(2, opponent=len)
thud_env.ThudSeatEnv().opponent = 3
thud_env.ThudVectorEnv(2).opponent = object()
thud_env.ThudVectorEnv(2).starts = 3
"""


def test_the_literal_types_list_every_choice() -> None:
    from gymnasium.vector import AutoresetMode

    assert get_args(RulesName) == tuple(thud_env.RULESETS)
    assert set(get_args(AutoresetName)) == {mode.value for mode in AutoresetMode}


@pytest.mark.parametrize(
    "made",
    [thud_env.env, thud_env.match_env, ThudSeatEnv, ThudVectorEnv, thud_env.BatchedGame],
)
def test_editors_see_every_argument(made: type) -> None:
    names = inspect.signature(made).parameters
    assert {"rules", "reward", "max_quiet_turns", "max_turns", "agreement"} <= names.keys()
    docstring = inspect.getdoc(made)
    assert docstring is not None
    for name in names.keys() - {"unknown"}:
        assert name in docstring, name


@pytest.mark.slow
def test_mypy_finds_what_is_misspelt(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api", reason="make lint installs mypy")
    _, _, first_of_readme = (ROOT / "README.md").read_text().partition("```python\n")
    readme = first_of_readme.partition("```")[0]
    for name, text in (("right", RIGHT), ("readme", readme), ("wrong", WRONG)):
        (tmp_path / f"{name}.py").write_text(text)
    config = ["--config-file", str(ROOT / "pyproject.toml")]  # as `make lint`, whose cache serves
    names = ("right.py", "readme.py", "wrong.py")
    out, err, _ = api.run([*config, *(str(tmp_path / name) for name in names)])
    found = [line.split(":")[:2] for line in out.splitlines() if ": error: " in line]
    calls = [number for number, line in enumerate(WRONG.splitlines(), 1) if "(" in line]
    assert [Path(path).name for path, _ in found] == ["wrong.py"] * len(calls), out + err
    assert [int(number) for _, number in found] == calls
