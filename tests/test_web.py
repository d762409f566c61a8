"""What the page shows: views, colours, players, lessons and records."""

import re

import pytest

from agents.web import app, records, views
from agents.web import players as players_module
from agents.web.lessons import LESSONS
from agents.web.players import players, scores
from agents.web.protocol import BadRequest, NamedRulesets
from agents.web.records import load, points, save
from thud_env import RULESETS, Position, Record, get_ruleset
from thud_env.board import SQUARE_BY_NAME
from thud_env.rules.row import PENDING

START = Position.start()


def moves_from(view, name):
    return {move["to"]: move for move in view["moves"][SQUARE_BY_NAME[name]]}


def squares(*names):
    return sorted(SQUARE_BY_NAME[name] for name in names)


# -- views ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (
            "classic",
            "Dwarfs are hurled onto trolls; trolls capture dwarfs beside them. "
            "Whoever has more points left at the end wins: a dwarf counts 1, a troll 4.",
        ),
        (
            "koom-valley",
            "Dwarfs capture a troll between two of them; trolls jump over dwarfs and trample them. "
            "The dwarfs win with the Rock on a goal square, the trolls with 3 trolls beside it.",
        ),
        (
            "koom-valley-football",
            "Nothing is captured. "
            "The dwarfs win with the ball on a goal square, the trolls with 3 trolls beside it.",
        ),
        (
            "koom-valley:name=points,reward=margin,trolls_capture=nothing",
            "Dwarfs capture a troll between two of them; trolls capture nothing. "
            "The Rock on a goal square or 3 trolls beside it end the battle. "
            "Whoever has more points left at the end wins: a dwarf counts 1, a troll 4.",
        ),
    ],
)
def test_a_game_says_what_it_is_about(rules, words):
    assert views.rules_view(get_ruleset(rules))["aim"] == words


@pytest.mark.parametrize("rules", RULESETS)
def test_a_view_offers_what_is_legal_and_nothing_else(rules):
    position = Position.start(rules)
    for _ in range(60):
        view = views.view(position)
        offered = [move["action"] for moves in view["moves"].values() for move in moves]
        offered += [capture["action"] for capture in view["captures"]]
        offered += [word["action"] for word in view["words"]]
        assert sorted(set(offered)) == position.legal_actions().tolist()
        position = position.apply(int(position.legal_actions()[-1]))
        if position.outcome is not None:
            break


def test_a_hurl_is_called_one_and_names_the_troll():
    (move,) = [
        move
        for move in moves_from(views.view(LESSONS[1].start), "F9").values()
        if move.get("kind") == "hurl"
    ]
    assert move["takes"] == squares("J6")


def test_a_shove_names_all_that_it_may_capture():
    move = moves_from(views.view(LESSONS[3].start), "K7")[SQUARE_BY_NAME["H7"]]
    assert move["kind"] == "shove"
    assert (move["may"], move["most"]) == (squares("G6", "G7", "G8", "H6"), 4)


def test_a_step_that_captures_one_of_two_says_so():
    move = moves_from(views.view(LESSONS[2].start), "G6")[SQUARE_BY_NAME["F5"]]
    assert "kind" not in move
    assert (move["may"], move["most"]) == (squares("E4", "E5", "E6"), 1)


@pytest.mark.parametrize(
    ("rules", "pending", "name"),
    [
        ("classic-any", "G6:any", "Capture none"),
        ("classic-any", "G6:any+1", "Capture no more"),
        ("koom-valley", "G6:trample+1", "Stop here"),
    ],
)
def test_the_end_of_a_turn_is_called_what_it_means(rules, pending, name):
    text = f"5/7/9/11/4ddd6/6T8/15/7R7/15/15/13/11/9/7/5 t {pending} 0 0"
    assert views.view(Position.from_text(text, rules))["words"][-1]["name"] == name


def test_a_trample_names_the_dwarf_it_jumps():
    text = "5/7/9/11/13/4Td9/15/15/7R3d3/15/13/11/9/7/5 t - 0 0"
    view = views.view(Position.from_text(text, "koom-valley"))
    move = moves_from(view, "E6")[SQUARE_BY_NAME["G6"]]
    assert (move["kind"], move["takes"]) == ("trample", squares("F6"))


def test_a_dwarf_that_closes_a_trap_says_what_it_takes():
    text = "5/7/9/11/13/3dT6d3/15/15/7R7/15/13/11/9/7/5 d - 0 0"
    move = moves_from(views.view(Position.from_text(text, "koom-valley")), "M6")
    assert move[SQUARE_BY_NAME["F6"]].get("takes", []) == squares("E6")


def test_all_or_none_is_offered_on_every_dwarf_that_would_go():
    rules = "classic-all"
    text = "5/7/9/2d8/3d9/4d1T5d2/15/7R7/2d6T5/15/13/6d4/9/7/5 t - 0 0"
    position = Position.from_text(text, rules)
    step = moves_from(views.view(position), "G6")[SQUARE_BY_NAME["F5"]]
    _, after = views.decide(position, [step["action"]])
    captures = views.view(after)["captures"]
    assert [capture["square"] for capture in captures] == squares("E4", "E5", "E6")
    assert len({capture["action"] for capture in captures}) == 1


def test_a_turn_is_named_once_it_is_complete():
    position = LESSONS[3].start
    shove = moves_from(views.view(position), "K7")[SQUARE_BY_NAME["H7"]]["action"]
    turn, after = views.decide(position, [shove])
    assert turn is None
    assert after.row[PENDING] != 0
    view = views.view(after)
    assert (view["asks"], view["deciding"]) == ("capture", SQUARE_BY_NAME["H7"])
    taken = [c["action"] for c in view["captures"] if c["square"] in squares("G6", "H6")]
    done = [word["action"] for word in view["words"] if word["name"] == "Capture none"]
    assert not done  # a shove must capture
    turn, _ = views.decide(position, [shove, *taken, 6466])
    assert turn == "TK7-H7xG6xH6"


def test_decisions_beyond_the_turn_are_refused():
    first = int(START.legal_actions()[0])
    reply = int(START.apply(first).legal_actions()[0])
    with pytest.raises(ValueError, match="turn is over"):
        views.decide(START, [first, reply])


# -- the page's colours ----------------------------------------------------------------------


def luminance(colour):
    """The relative luminance of WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_and_borders_stand_out_from_what_they_are_on(scheme):
    style = (app.PAGE / "style.css").read_text(encoding="utf-8")
    block = re.findall(r":root {(.*?)}", style, re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", block))
    for ground in ("bg", "surface", "soft"):
        for text in ("ink", "muted", "wrong", "accent"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5


# -- players, lessons, records -----------------------------------------------------------------


def test_players_name_their_strength_as_the_ladder_measured_it():
    measured = scores()
    found = players()
    assert measured["greedy"] in found["greedy"].line
    offered = [spec for spec in measured if spec in found]
    assert len(offered) >= 3
    assert all(measured[spec] in found[spec].line for spec in offered)
    assert found["greedy"].line.endswith("points a game pair of Classic Thud")


def test_a_player_of_a_second_a_turn_has_a_strength_too(tmp_path, monkeypatch):
    page = tmp_path / "strength.md"
    page.write_text("| 1  | champion | +30.3 (+29.4 to +31.2) | 1,001, 1.2 | 9,866, 9,340 |\n")
    monkeypatch.setattr(players_module, "STRENGTH", page)
    assert scores() == {"champion": "+30.3"}


def test_policies_are_offered_for_their_own_games():
    policies = [player for player in players().values() if player.is_policy]
    assert policies
    assert all(player.rules for player in policies)


def test_an_invalid_spec_is_refused_at_once():
    with pytest.raises(ValueError, match="unknown agent"):
        players(["nonsense"])


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.title)
def test_every_lesson_can_be_solved_and_shows_its_point(lesson):
    assert lesson.solutions
    assert set(lesson.solutions) <= set(lesson.start.turns())
    if lesson.title != "Dwarfs run":
        assert len(lesson.solutions) < len(lesson.start.turns())


def captured(piece, fewest):
    """Whether a turn captures so many pieces."""
    return lambda before, after: (
        before.text.split()[0].count(piece) - after.text.split()[0].count(piece) >= fewest
    )


@pytest.mark.parametrize(
    ("title", "does"),
    [
        ("Dwarfs are hurled", captured("T", 1)),
        ("Trolls plod and crush", captured("d", 1)),
        ("Trolls are shoved", captured("d", 2)),
        ("A battle is scored", lambda before, after: after.outcome is not None),
        ("Koom Valley", lambda before, after: after.outcome is not None),
    ],
)
def test_a_lesson_is_solved_by_all_turns_that_do_what_it_asks_for(title, does):
    (lesson,) = (lesson for lesson in LESSONS if lesson.title == title)
    wanted = [turn for turn in lesson.start.turns() if does(lesson.start, lesson.start.play(turn))]
    assert lesson.solutions == wanted


def test_the_score_that_a_lesson_tells_is_that_of_its_position():
    (lesson,) = (lesson for lesson in LESSONS if lesson.title == "A battle is scored")
    dwarfs, trolls, lead = 13, 2, 5
    assert lesson.task.startswith("Thirteen dwarfs are left, a point each, and two trolls, four")
    assert "lead by five" in lesson.task
    pieces = lesson.start.text.split()[0]
    assert (pieces.count("d"), pieces.count("T"), lesson.start.margin) == (dwarfs, trolls, lead)


def test_records_come_back_as_they_went():
    text = save(START, ["dF1-F5", "TG7-F6"], {"dwarfs": "a person", "trolls": "greedy"})
    loaded = load(text, NamedRulesets())
    assert loaded["turns"] == ["dF1-F5", "TG7-F6"]
    assert loaded["positions"][-1] == START.play("dF1-F5").play("TG7-F6").text
    assert loaded["tags"]["Trolls"] == "greedy"


def test_a_record_is_opened_if_it_has_no_more_turns_than_can_be_saved(monkeypatch):
    monkeypatch.setattr(records, "MOST_TURNS", 20)
    position, turns = START, []
    for _ in range(21):
        turns.append(position.turns()[0])
        position = position.play(turns[-1])
    most, one_more = (Record(START, tuple(turns[:count])).text for count in (20, 21))
    assert len(load(most, NamedRulesets())["turns"]) == 20
    with pytest.raises(BadRequest, match="20 turns at most"):
        load(one_more, NamedRulesets())


def test_points_are_the_sum_of_two_margins():
    assert points([3]) == [3, -3]
    assert points([3, 7]) == [-4, 4]  # docs/rules.md, section 6
    with pytest.raises(BadRequest):
        points([])
