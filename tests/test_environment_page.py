"""docs/environment.md and the environments' docstrings say the same, and what the code does."""

import doctest
import importlib
import inspect
import re
from typing import get_args

import gymnasium
import numpy as np
import pytest
from golden.make import GAMES
from gymnasium.vector import VectorEnv
from named import make_aec
from pettingzoo import AECEnv
from test_docs import ROOT, table

import thud_env
from thud_env.envs import aec, match, single, vector
from thud_env.envs.common import GIVEN_WHEN_MADE, Seat
from thud_env.envs.rendering import RenderMode
from thud_env.rules.row import new_row

PAGE = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
PAGES = {module.__name__.split(".")[-1]: module for module in (aec, match, single, vector)}


def tables_in(text):
    """The Markdown tables of a text that have a heading, as they stand."""
    found = re.findall(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE)
    return [found_table for found_table in found if not found_table.startswith("| | |")]


@pytest.mark.parametrize("module", PAGES.values(), ids=PAGES)
def test_the_page_has_every_table_of_the_docstrings(module):
    for docstring_table in tables_in(module.__doc__):
        assert docstring_table in PAGE


def test_the_docstring_of_the_battle_has_all_that_describes_it():
    assert [found.split("|")[1].strip() for found in tables_in(aec.__doc__)] == [
        "plane",
        "index",
        "rulesets",
        "`termination`",
        "name",
    ]


@pytest.mark.parametrize("module", PAGES.values(), ids=PAGES)
def test_every_page_ends_with_its_versions(module):
    assert module.__doc__.rstrip().splitlines()[-1] == PAGE.rstrip().splitlines()[-1]


def spaces_of(name):
    if name == "aec":
        env = thud_env.env()
        return [env.action_space("troll_0"), env.observation_space("troll_0"), env.state_space]
    if name == "match":
        env = thud_env.match_env()
        return [env.action_space("player_0"), env.observation_space("player_0"), env.state_space]
    env = gymnasium.make("thud/Thud-v0", observation="dict")
    return [env.action_space, env.observation_space]


def leaves(space):
    return space.values() if isinstance(space, gymnasium.spaces.Dict) else [space]


@pytest.mark.parametrize("name", ["aec", "match", "single"])
def test_the_spaces_are_as_documented(name):
    documented = PAGES[name].__doc__
    for leaf in (leaf for space in spaces_of(name) for leaf in leaves(space)):
        text = (
            f"Discrete({leaf.n})"
            if isinstance(leaf, gymnasium.spaces.Discrete)
            else (f"Box({leaf.low.min():g}, {leaf.high.max():g}, {leaf.shape}, {leaf.dtype})")
        )
        assert f"`{text}`" in documented


def test_reward_table():
    _, *rows = table("rewards")
    documented = {
        (rules, reward.split(",")[0]): "the default" in reward
        for names, reward, _ in rows
        for rules in names.split(", ")
    }
    for rules, ruleset in thud_env.RULESETS.items():
        for reward in ("margin", "outcome"):
            if (rules, reward) in documented:
                thud_env.env(rules, reward=reward)
                assert documented[rules, reward] == (ruleset.reward == reward)
            else:
                with pytest.raises(ValueError, match="outcome"):
                    thud_env.env(rules, reward=reward)


def test_ending_table():
    _, *rows = table("endings")
    assert [row[:2] for row in rows] == [
        [ending.name.lower(), str(ending.value)] for ending in thud_env.Termination
    ]
    seen = {}
    for game in GAMES:
        *_, last, _ = game.path.read_text(encoding="utf-8").splitlines()
        text, _, _, action, _ = last.split(" | ")
        env = thud_env.env(game.rules, **game.limits)
        env.reset(options={"position": text})
        env.step(int(action.split()[0]))
        name = thud_env.Termination(env.infos["dwarf_0"]["termination"]).name.lower()
        seen[name] = "truncated" if env.truncations["dwarf_0"] else "terminated"
        assert env.terminations["dwarf_0"] != env.truncations["dwarf_0"]
    assert seen == {row[0]: row[3] for row in rows}


def test_info_table():
    _, *rows = table("infos")
    env = thud_env.env()
    env.reset()
    _, info = gymnasium.make("thud/Thud-v0").reset()
    assert [row[0] for row in rows] == list(info)
    assert [row[0] for row in rows[2:]] == list(env.infos["dwarf_0"])


def defaults_of(*functions):
    """The parameters of functions and their defaults, as code."""
    found = {}
    for function in functions:
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is not inspect.Parameter.empty:
                found[name] = repr(getattr(parameter.default, "value", parameter.default))
    return found


def test_parameter_tables():
    shared = {name: default for name, default, _ in table("parameters")[1:]}
    limits = defaults_of(new_row)
    ruleset = thud_env.RULESETS["classic"]
    for name in ("max_quiet_turns", "max_turns", "offer_after"):
        limits[name] = repr(getattr(ruleset, name))
        assert {getattr(other, name) for other in thud_env.RULESETS.values()} == {
            getattr(ruleset, name)
        }
    assert shared == defaults_of(thud_env.ThudEnv) | limits
    assert shared == defaults_of(thud_env.MatchEnv) | limits
    seat = {name: default for name, default, _ in table("seat parameters")[1:]}
    assert shared | seat == defaults_of(single.ThudSeatEnv) | limits
    many = {name: default for name, default, _ in table("vector parameters")[1:]}
    of_vector = defaults_of(vector.ThudVectorEnv) | limits
    del of_vector["num_envs"]
    assert shared | seat | many == of_vector


def test_side_and_mode_tables():
    assert {row[0] for row in table("sides")[1:]} == set(get_args(Seat))
    modes = {mode.value for mode in gymnasium.vector.AutoresetMode}
    assert {row[0].strip('"') for row in table("autoreset")[1:]} == modes
    assert [row[0].strip('"') for row in table("render modes")[1:]] == list(get_args(RenderMode))


def test_batch_table():
    games = thud_env.BatchedGame(7)
    header, *rows = table("batch")
    assert header == ["attribute", "shape", "dtype", "holds"]
    for name, shape, dtype, _ in rows:
        array = getattr(games, name)
        sizes = ", ".join(("B", *map(str, array.shape[1:])))
        assert (shape, dtype) == (f"[{sizes}]", str(array.dtype)), name
        own = np.zeros(array.shape, array.dtype)
        assert getattr(thud_env.BatchedGame(7, buffers={name: own}), name) is own
    documented = re.findall(r"^``(\w+)`` ", inspect.getdoc(thud_env.BatchedGame), re.MULTILINE)
    assert [name for name, *_ in rows] == documented
    parameters = {name: default for name, default, _ in table("batch parameters")[1:]}
    assert parameters | defaults_of(new_row) == defaults_of(thud_env.BatchedGame)


def test_member_table():
    made = (
        thud_env.match_env(),
        gymnasium.make("thud/Thud-v0").unwrapped,
        gymnasium.make_vec("thud/Thud-v0", num_envs=2).unwrapped,
    )
    of_the_api = ("render_mode", "state_space", "num_envs", "autoreset_mode", "rewards")
    no_attributes = (*GIVEN_WHEN_MADE, "match", "copy", "num_threads")
    documented: list[set[str]] = [set(), set(), set()]
    for members, _, *columns in table("members")[1:]:
        for names, column in zip(documented, columns, strict=True):
            names |= {name.partition("(")[0] for name in members.split() if column}
    for env, base, names in zip(made, (AECEnv, gymnasium.Env, VectorEnv), documented, strict=True):
        own = {name for name in dir(env) if not name.startswith("_")}
        assert names == own - {*dir(base), *base.__annotations__, *of_the_api, *no_attributes}


def test_position_table():
    _, *rows = table("position")
    documented = {name for members, _ in rows for name in re.findall(r"\w+(?=\(| |$)", members)}
    members = {name for name in dir(thud_env.Position) if not name.startswith("_")}
    assert documented == members - {"unchecked"}


def test_name_table():
    _, *rows = table("names")
    for game, aec_name, gymnasium_name in rows:
        env = make_aec(aec_name)
        seat = gymnasium.make(gymnasium_name).unwrapped
        assert env.rules == seat.rules
        assert isinstance(env, thud_env.MatchEnv) == (game == "two battles")
    ours = {name for name in gymnasium.registry if name.startswith("thud/")}
    assert {row[2] for row in rows} == ours


def test_all_names_table():
    _, *rows = table("all names")
    names = [name for row in rows for name in row[0].split()]
    assert sorted(names) == sorted(thud_env.__all__)


@pytest.mark.parametrize(
    "name", ["thud_env.envs.aec", "thud_env.position", "thud_env.symmetry", "agents"]
)
def test_examples_in_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_documented_rewards_are_those_paid():
    env = thud_env.env()
    env.reset(options={"position": thud_env.Position.start().play("dE2-E6").play("TG7-F6")})
    for action in env.position.decisions("dE6-F6xF6"):
        env.step(action)
    assert env.rewards["dwarf_0"] == 4 / 32
    assert np.isclose(sum(env.rewards.values()), 0)
