"""Rulesets as data: traits in any combination, users' rulesets, and errors."""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from positions import constructed, from_play, learn
from test_rules_reference import compare

import thud_env
from thud_env import CLASSIC, KOOM_VALLEY, RULESETS, Position, Record, Ruleset
from thud_env.rules.row import ruleset_of
from thud_env.rulesets import Rules, get_ruleset

SIX_TROLLS = CLASSIC.replace(name="six-trolls", trolls="G7 H7 J7 G9 H9 J9", max_turns=120)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "'classic': that name is taken"),
        ({"name": "My Game"}, "lower-case letters, digits and hyphens would be right"),
        ({"name": "x", "dwarfs_capture": "shoot"}, "'hurl', 'sandwich' or 'nothing' would"),
        ({"name": "x", "stone_wins": "yes"}, "stone_wins 'yes': False or True would"),
        ({"name": "x", "trolls": ()}, "0 trolls: 1 to 8 would be right"),
        ({"name": "x", "trolls": 7}, "trolls must be names of squares, ('G7', 'H7') say, not 7"),
        ({"name": "x", "trolls": "A6 A7 A9 A10 P6 P7 P9 P10 B5"}, "9 trolls: 1 to 8"),
        ({"name": "x", "dwarfs": (*CLASSIC.dwarfs, "H5")}, "33 dwarfs: 1 to 32"),
        ({"name": "x", "stone_goes": "one"}, "32 dwarfs: 1 to 31"),
        ({"name": "x", "trolls": "G7 G7"}, "trolls has G7 twice"),
        ({"name": "x", "trolls": "I7"}, "no square 'I7'"),
        ({"name": "x", "trolls": "H8"}, "two pieces start on H8"),
        ({"name": "x", "dwarfs": "G7"}, "two pieces start on G7"),
        ({"name": "x", "max_turns": 0}, "max_turns must be in 1 .. 32767"),
        ({"name": "x", "offer_after": "5"}, "offer_after must be an integer"),
        ({"name": "x", "shove_captures": "all"}, "step_captures 'one' needs shove_captures 'any'"),
        ({"name": "x", "reward": "outcome"}, "reward 'outcome' needs stone_wins=True"),
        ({"name": "x", "stone_wins": True}, "the battle is won at once"),
        ({"name": "x", "dwarfs": "A8", "trolls": "A7 A9 B7 B8 B9"}, "no dwarf has an empty square"),
    ],
)
def test_a_game_that_cannot_be_played_is_refused_in_one_line(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match="ruleset") as error:
        dataclasses.replace(CLASSIC, **({"max_turns": 7} | changes))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("clasic:name=x", "did you mean 'classic'"),
        ("classic:name=x,troll=G7", "did you mean 'trolls'"),
        ("classic:name=x,size=9", "a ruleset has no 'size': it has name, title, dwarfs, trolls,"),
        ("classic:name", "'name' has no value: FIELD=VALUE would be right"),
        ("classic:name=x,trolls=G7,H7", "'H7' has no value: FIELD=VALUE would be right, and +"),
        ("classic:trolls=G7", "that name is taken"),
        ("classic:name=x,max_turns=5,max_turns=900", "max_turns is there twice: once would be"),
        ("classic:name=x,max_turns=many", "max_turns must be an integer"),
        ("classic:name=x,max_turns=²", "max_turns must be an integer"),
        ("classic:name=x,max_turns=٣", "max_turns must be an integer"),
    ],
)
def test_a_spec_that_cannot_be_read_is_refused_in_one_line(spec: str, said: str) -> None:
    with pytest.raises(ValueError, match="ruleset") as error:
        get_ruleset(spec)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_spec_is_the_whole_definition() -> None:
    assert all(ruleset.spec == name for name, ruleset in RULESETS.items())
    assert SIX_TROLLS.spec == ("classic:name=six-trolls,trolls=G7+H7+J7+G9+H9+J9,max_turns=120")
    odd = KOOM_VALLEY.replace(name="odd", trolls_keep_off_edge=True, stone="H9", dwarfs="H8 H10")
    assert get_ruleset(odd.spec) == odd
    assert get_ruleset(odd.spec).key == odd.key != KOOM_VALLEY.key
    assert len({ruleset.key for ruleset in (odd, SIX_TROLLS, *RULESETS.values())}) == 7


def test_a_key_depends_on_the_definition_alone() -> None:
    """Rows are stored with it: it may change only if the game does."""
    assert CLASSIC.key == dataclasses.replace(CLASSIC, title="another").key
    assert CLASSIC.key == (13281, -21, -27040, -24987)
    assert KOOM_VALLEY.key == (-16532, -24658, 32625, 6699)


def test_records_carry_the_definition(tmp_path: Path) -> None:
    record = Record(Position.start(SIX_TROLLS), ("dE2-E6", "TG7-F6", "dE6-F6xF6"))
    thud_env.write_record(tmp_path / "six.thud", record)
    assert f'[Rules "{SIX_TROLLS.spec}"]' in (tmp_path / "six.thud").read_text()
    assert thud_env.read_record(tmp_path / "six.thud") == record


PROGRAM = """
import pickle, sys
import numpy as np
from thud_env import Position
position = pickle.load(open(sys.argv[1], "rb"))
assert position.rules.name == "six-trolls" and position.play("dE2-E6").to_move == "trolls"
"""
STRANGER = """
import sys
import numpy as np
from thud_env import Position
try:
    Position(np.load(sys.argv[1])).rules
except ValueError as error:
    print(error)
"""


def test_a_pickle_carries_the_definition_and_a_bare_row_does_not(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(pickle.dumps(Position.start(SIX_TROLLS)))
    np.save(tmp_path / "row.npy", Position.start(SIX_TROLLS).row)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}

    def run(program: str, path: str) -> str:
        command = [sys.executable, "-c", program, str(tmp_path / path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(PROGRAM, "p")
    said = run(STRANGER, "row.npy")
    assert "ruleset unknown to this process" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("rules", [*RULESETS, SIX_TROLLS])
def test_a_state_row_is_of_one_size_whatever_is_played(rules: Rules) -> None:
    assert Position.start(rules).row.shape == (432,)


def test_symmetries_follow_from_what_stays_in_place() -> None:
    assert CLASSIC.symmetries == tuple(range(8))
    assert KOOM_VALLEY.symmetries == (0, 4)
    assert CLASSIC.replace(name="off-centre", stone="F4").symmetries == (0,)
    assert CLASSIC.replace(name="off-centre", stone="H4").symmetries == (0, 4)


WORDINGS = (
    *(("none", "any"), ("one", "any"), ("any", "any"), ("all", "any")),
    *(("none", "all"), ("any", "all"), ("all", "all")),
)


def every_combination() -> list[Ruleset]:
    """How each side captures, the edge and the stone in every combination; the wordings, the
    scoring and the numbers of pieces in turn.
    """
    found = []
    combinations = product(
        ("hurl", "sandwich", "nothing"),
        ("beside", "trample", "nothing"),
        (False, True),
        ("nowhere", "one", "far"),
        (False, True),
    )
    for number, (dwarfs, trolls, edge, stone, wins) in enumerate(combinations):
        step, shove = WORDINGS[number % len(WORDINGS)]
        base = KOOM_VALLEY if wins or number % 2 else CLASSIC
        found.append(
            base.replace(
                name=f"combination-{number}",
                dwarfs=base.dwarfs[:28],
                trolls=base.trolls[number % 3 :],
                stone="H8",
                dwarfs_capture=dwarfs,
                trolls_capture=trolls,
                trolls_keep_off_edge=edge,
                stone_goes=stone,
                stone_wins=wins,
                step_captures=step,
                shove_captures=shove,
                reward="outcome" if wins and number % 5 else "margin",
            )
        )
    return found


def test_a_misspelt_field_is_answered_by_the_nearest() -> None:
    with pytest.raises(
        TypeError, match=r"replace\(\) has no 'step_capture': did you mean 'step_captures'"
    ):
        CLASSIC.replace(name="x", step_capture="all")


@pytest.mark.parametrize("rules", [7, [], None])
def test_what_is_no_ruleset_is_refused_by_name(rules: object) -> None:
    with pytest.raises(ValueError, match="rules must be a ruleset, its name or its spec, not "):
        get_ruleset(rules)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", every_combination(), ids=lambda ruleset: ruleset.name)
def test_any_combination_of_traits_agrees_with_the_reference(ruleset: Ruleset) -> None:
    learn(ruleset)
    random = Random(ruleset.spec)
    assert compare(constructed(ruleset.spec, 20, random), random) == 20
    assert compare(from_play(ruleset.spec, 4, random), random) == 4
    assert ruleset_of(Position.start(ruleset).row) is ruleset


def test_values_of_numpys_make_the_ruleset_that_pythons_make():
    ours = CLASSIC.replace(name="plain", max_turns=300, trolls_keep_off_edge=True)
    theirs = CLASSIC.replace(
        name="plain",
        max_turns=np.int64(300),
        trolls_keep_off_edge=np.bool_(True),
        step_captures=np.str_("one"),
    )
    assert (theirs.key, theirs.spec) == (ours.key, ours.spec)
    assert get_ruleset(theirs.spec) == ours


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("trolls_keep_off_edge", 1, "trolls_keep_off_edge 1: False or True would"),
        ("title", 5, "title 5: text would be right"),
        ("title", ["a"], r"title \['a'\]: text would be right"),
        ("stone", ["H8"], r"no square \['H8'\]"),
        ("trolls", [["G7"]], r"no square \['G7'\]"),
    ],
)
def test_what_only_looks_like_a_value_of_a_field_is_refused(field, value, message):
    with pytest.raises(ValueError, match=message):
        CLASSIC.replace(name="mine", **{field: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("stone_wins=True", "stone_wins=True: yes or no would be right"),
        ("reward=gold", "unknown reward 'gold': 'margin' or 'outcome' would be right"),
    ],
)
def test_a_value_in_a_spec_that_is_not_of_its_fields_type_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        get_ruleset(f"koom-valley:name=x,{change}")


def test_a_wrong_name_is_shown_in_a_line():
    for name in ("A" * 10_000, 10**5000):
        with pytest.raises(ValueError, match=": a name of lower-case letters") as caught:
            CLASSIC.replace(name=name)
        assert len(str(caught.value)) < 400
