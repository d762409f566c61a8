"""Perft: the compiled rules' counts of turn sequences, the published suite, and the command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from positions import state_of
from reference import RULES
from reference import perft as reference_perft
from reference import start as reference_start

from thud_env import Position
from thud_env.perft import divide, main, perft

SUITE = Path(__file__).parent / "data" / "thud.perft"

# docs/rules.md, section 7; the third numbers of the Koom Valley games agree with the reference.
KNOWN = {
    "classic": (656, 22_624, 14_142_624),
    "classic-any": (656, 22_624, 14_142_624),
    "classic-all": (656, 22_624, 14_142_624),
    "koom-valley": (388, 33_974, 12_973_988),
    "koom-valley-football": (390, 26_718, 10_258_606),
}
TROLLS_FIRST = {
    "classic": (32, 20_360),
    "classic-any": (32, 20_360),
    "classic-all": (32, 20_360),
    "koom-valley": (88,),
    "koom-valley-football": (69,),
}


def suite() -> list[tuple[str, str, dict[int, int]]]:
    """The lines of the suite: ruleset, position text, count by depth."""
    lines = []
    for line in SUITE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        rules, rest = line.split(" | ")
        text, *counts = rest.split(";")
        by_depth = {int(depth[1:]): int(count) for depth, count in map(str.split, counts)}
        lines.append((rules, text, by_depth))
    return lines


@pytest.mark.parametrize("rules", RULES)
def test_known_counts_from_the_start(rules: str) -> None:
    start = Position.start(rules)
    assert tuple(perft(start, depth) for depth in (1, 2)) == KNOWN[rules][:2]


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULES)
def test_known_counts_at_depth_three(rules: str) -> None:
    assert perft(Position.start(rules), 3) == KNOWN[rules][2]


@pytest.mark.soak
@pytest.mark.parametrize("rules", RULES)
def test_the_reference_agrees_at_depth_three(rules: str) -> None:
    assert reference_perft(reference_start(rules), 3) == KNOWN[rules][2]


@pytest.mark.parametrize("rules", RULES)
def test_known_counts_with_trolls_to_move_first(rules: str) -> None:
    text = Position.start(rules).text.replace(" d ", " t ")
    trolls_first = Position.from_text(text, rules)
    for depth, count in enumerate(TROLLS_FIRST[rules], start=1):
        assert perft(trolls_first, depth) == count


def test_the_suite_is_as_large_as_it_says() -> None:
    lines = suite()
    assert len(lines) >= 200
    assert len({(rules, text) for rules, text, _ in lines}) == len(lines)
    for rules in RULES:
        assert (rules, Position.start(rules).text) in [line[:2] for line in lines]
        assert sum(line[0] == rules for line in lines) >= 40


@pytest.mark.parametrize("rules", RULES)
def test_the_suite_holds(rules: str) -> None:
    for name, text, counts in suite():
        if name == rules:
            position = Position.from_text(text, rules)
            assert position.text == text
            found = {depth: perft(position, depth) for depth in counts if depth <= 2}
            assert found == {depth: counts[depth] for depth in found}, text


@pytest.mark.parametrize("rules", RULES)
def test_the_reference_agrees_with_the_suite(rules: str) -> None:
    for name, text, counts in suite():
        if name == rules:
            state = state_of(Position.from_text(text, rules))
            assert reference_perft(state, 1) == counts[1], text


@pytest.mark.parametrize("depth", [-1, 32_768, 2**70, 1.5])
def test_a_depth_out_of_range_is_refused(depth: Any) -> None:
    with pytest.raises(ValueError, match=r"^depth"):
        perft(Position.start(), depth)
    if isinstance(depth, int):
        assert main(["--depth", str(depth)]) == 2


@pytest.mark.parametrize("rules", RULES)
def test_divide_adds_up(rules: str) -> None:
    start = Position.start(rules)
    parts = list(divide(start, 2))
    assert [turn for turn, _ in parts] == start.turns()
    assert sum(count for _, count in parts) == KNOWN[rules][1]


def test_divide_adds_up_where_a_battle_may_end_by_agreement() -> None:
    start = Position.start(agreement=True, offer_after=1).play("dF1-F5")
    parts = dict(divide(start, 2))
    assert list(parts) == start.turns()
    assert parts["offer"] == 2  # accept, decline
    assert sum(parts.values()) == perft(start, 2)
    asked = start.play("offer")
    assert dict(divide(asked, 2)) == {"accept": 0, "decline": perft(asked.play("decline"), 1)}
    assert perft(asked, 2) == len(start.turns()) - 1


def test_depth_zero_is_one_and_negative_depths_are_refused() -> None:
    assert perft(Position.start(), 0) == 1
    with pytest.raises(ValueError, match=r"depth must be in 0 \.\. 32767, not -1"):
        perft(Position.start(), -1)


def test_an_ended_battle_has_no_turns_to_count() -> None:
    ended = Position.from_text("5/7/9/11/13/15/15/7R7/15/15/13/11/9/7/5 d - 0 0")
    assert [perft(ended, depth) for depth in (1, 2)] == [0, 0]


# -- the command ---------------------------------------------------------------------------

LONE = "5/7/3T5/11/13/15/15/d6R7/15/15/13/11/9/7/5"


def test_the_command_prints_a_line_for_each_depth(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rules", "classic", "--depth", "2"]) == 0
    assert capsys.readouterr().out == "1 656\n2 22624\n"


def test_the_command_counts_from_a_position(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rules", "koom-valley", "--depth", "1", "--position", f"{LONE} t - 0 0"]) == 0
    assert capsys.readouterr().out == "1 20\n"


def test_the_command_divides(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--depth", "2", "--position", f"{LONE} t - 0 0", "--divide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "TG3-F2",
        "TG3-F3",
        "TG3-F4",
        "TG3-G2",
        "TG3-G4",
        "TG3-H2",
        "TG3-H3",
        "TG3-H4",
        "2",
    ]
    counts = [int(line.split()[1]) for line in lines]
    assert counts[-1] == sum(counts[:-1])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--rules", "clasic", "--depth", "1"], "'clasic': did you mean 'classic'"),
        (["--depth", "0"], "'0': a whole number in 1 .. 32767"),
        (["--depth", "two"], "'two': a whole number in 1 .. 32767"),
        ([], "--depth"),
        (["--depth", "1", "--position", "9/9 d - 0 0"], "has 2 rows"),
        (["--depth", "1", "--position", LONE], "1 fields"),
        (["--depth", "1", "--position", f"{LONE.replace('T5', 'Tx4')} d - 0 0"], "row 3"),
        (
            ["--depth", "1", "--position", f"{LONE.replace('d6', 'dT5')} t B8:one 0 0"],
            "in the middle of a turn",
        ),
    ],
)
def test_the_command_says_what_is_wrong_in_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    said = [line for line in printed.err.splitlines() if "thud_env: compiling" not in line]
    assert len(said) == 1
    assert complaint in said[0]


@pytest.mark.parametrize("words", [["--depth", "1"], ["--depth", "1", "--divide"]])
def test_ctrl_c_is_one_line(words: list[str], monkeypatch, capsys) -> None:
    def interrupted(position: Position, depth: int) -> int:
        if depth or position.turn_number:
            raise KeyboardInterrupt
        return 1

    monkeypatch.setattr(sys.modules["thud_env.perft"], "perft", interrupted)
    assert main(words) == 130
    assert capsys.readouterr() == ("", "stopped\n")
