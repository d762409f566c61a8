import re
from itertools import zip_longest

import pytest
from golden.make import FOLDER, GAMES, MATCHES, playthrough

from thud_env import RULESETS, Termination

FIELDS = ("position", "legal actions", "observation", "action", "rewards")
REMEDY = "if this change is meant, run: python tests/golden/make.py"


@pytest.mark.parametrize("game", [*GAMES, *MATCHES], ids=lambda game: game.path.stem)
def test_the_game_is_played_as_it_was(game):
    lines = zip_longest(game.path.read_text(encoding="utf-8").splitlines(), playthrough(game))
    for number, (golden, now) in enumerate(lines, start=1):
        if golden != now:
            pytest.fail(f"{game.path.name}, line {number}: {difference(golden, now)}\n{REMEDY}")


def difference(golden, now):
    """What differs between two lines, field by field."""
    if golden is None or now is None:
        return f"the file ends, the battle goes on:\n  {now}" if now else "the battle is over"
    was, is_ = golden.split(" | "), now.split(" | ")
    if len(was) != len(is_):
        return f"it was\n  {golden}\nand is\n  {now}"
    return "; ".join(
        f"{name} was {old!r} and is {new!r}"
        for name, old, new in zip(FIELDS, was, is_, strict=False)
        if old != new
    )


def text_of(rules):
    """The lines of a ruleset's files, without their heads."""
    return [
        line
        for game in GAMES
        if game.rules == rules
        for line in game.path.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]


@pytest.mark.parametrize("rules", RULESETS)
def test_every_ruleset_has_two_whole_battles_and_one_with_agreement(rules):
    games = [game for game in GAMES if game.rules == rules and game.start is None]
    assert len(games) >= 2
    assert any(game.limits.get("agreement") for game in games)
    assert any(game.limits.get("max_turns") for game in games)
    for game in games:
        lines = game.path.read_text(encoding="utf-8").splitlines()
        assert lines[2].split(" | ")[0].endswith("d - 0 0"), game.path.name
        assert lines[-1].split(" | ")[1].startswith("0 "), game.path.name


def test_every_file_is_a_game_of_the_lists():
    names = {game.path.name for game in (*GAMES, *MATCHES)}
    assert {path.name for path in FOLDER.glob("*.txt")} == names


@pytest.mark.parametrize("game", MATCHES, ids=lambda game: game.path.stem)
def test_a_game_of_two_battles_has_both_and_pays_for_both(game):
    text = game.path.read_text(encoding="utf-8")
    first, second = map(int, re.findall(r"^# battle [12]: .* margin (-?\d+)$", text, re.MULTILINE))
    unit = 32 if game.rules.startswith("classic") else 1
    assert float(last_line(game).split()[-2]) * unit == first - second != 0


def test_every_way_to_end_occurs():
    endings = {last_line(game).split(" | ")[3].split(",")[0] for game in GAMES}
    assert endings == {termination.name.lower() for termination in Termination}


def last_line(game):
    return game.path.read_text(encoding="utf-8").splitlines()[-1]


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        ("classic", {"one", "any", "some"}),
        ("classic-any", {"any", "some"}),
        ("classic-all", {"all"}),
        ("koom-valley", {"trample"}),
        ("koom-valley-football", set()),
    ],
)
def test_every_question_is_asked_and_every_word_said(rules, asked):
    text = "\n".join(text_of(rules))
    assert set(re.findall(r"[A-P]\d+:([a-z]+)", text)) == asked
    for word in ("offer", "accept", "decline"):
        assert re.search(rf"\| \d+ {word} \|", text), word


def test_rewards_sum_to_the_margin_of_classic_and_the_result_of_koom_valley():
    for game in GAMES:
        *_, ending, sums = last_line(game).split(" | ")
        margin = int(ending.split(" margin ")[1])
        of_dwarfs, of_trolls = map(float, sums.split())
        unit = 32 if game.rules.startswith("classic") else 1
        assert of_dwarfs * unit == margin == -of_trolls * unit, game.path.name


def test_the_files_are_small_enough_to_read():
    assert sum(path.stat().st_size for path in FOLDER.glob("*.txt")) < 1_500_000
