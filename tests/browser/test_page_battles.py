"""A person plays battles on the page."""

import json
import re

import pytest
from at_the_page import (
    QUIET,
    SHOVE,
    TRAMPLES,
    asked,
    begin,
    expect,
    hold_first,
    let_go,
    open_new_game,
    open_record,
    opened,
    play_another,
    press,
    shoot,
    state,
    turn_texts,
    wait_for_turns,
)
from page_server import ROOT

from agents.web.lessons import LESSONS
from agents.words import verdict
from thud_env import RULESETS, Position, read_record


def shorten(route):
    message = json.loads(route.request.post_data or "{}")
    if "rules" in message:
        message["max_turns"] = 4
    route.continue_(post_data=json.dumps(message))


@pytest.mark.parametrize("rules", RULESETS)
def test_every_ruleset_is_chosen_and_played(visit, rules):
    page = visit()
    dialog = open_new_game(page, trolls="Greedy takes")
    dialog.get_by_label("Game", exact=True).select_option(RULESETS[rules].title)
    dialog.get_by_role("button", name="Begin").click()
    turn = next(t for t in Position.start(rules).turns() if t.startswith("d"))
    start, end = turn[1:].split("-")
    press(page, start, "can move")
    press(page, end, "move to")
    wait_for_turns(page, 2)
    assert turn_texts(page)[0] == turn
    shoot(page, f"rules-{rules}")


def test_the_battle_before_is_not_played_on_while_another_begins(visit):
    page = visit()
    movable = page.get_by_role("button", name=re.compile("can move"))
    expect(movable).not_to_have_count(0)
    held = []
    page.route("**/api/view", lambda route: held.append(route))
    begin(page)
    expect(movable).to_have_count(0)
    held[0].continue_()
    expect(movable).not_to_have_count(0)


def test_a_step_that_is_answered_late_does_not_lead_back_to_the_battle_before(visit):
    page, _ = opened(visit)
    held = hold_first(page, "**/api/view")
    page.get_by_role("button", name="One turn on").click()
    begin(page)
    wait_for_turns(page, 0)
    let_go(page, held)
    expect(state(page)).to_contain_text("Turn 1, the dwarfs to move")
    expect(page.get_by_role("button", name="One turn back")).to_be_disabled()


def test_of_two_battles_begun_at_once_the_second_is_played(visit):
    page = visit()
    held = hold_first(page, "**/api/view")
    title = page.locator("#title")
    begin(page, "Koom Valley Thud")
    begin(page, RULESETS["classic-all"].title)
    expect(title).to_have_text(RULESETS["classic-all"].title)
    let_go(page, held)
    expect(title).to_have_text(RULESETS["classic-all"].title)


def test_an_agent_begins_a_battle_although_another_thinks_in_the_one_before(visit):
    page = visit(asked(trolls="greedy"))
    held = hold_first(page, "**/api/view")
    thought = hold_first(page, "**/api/think")
    dialog = open_new_game(page, dwarfs="Random", trolls="You")
    dialog.get_by_role("button", name="Begin").click()
    page.get_by_label("Who plays the dwarfs").select_option("greedy")
    expect(page.get_by_role("button", name="Pause")).to_be_enabled()
    assert thought
    let_go(page, held)
    wait_for_turns(page, 1)


def test_a_battle_is_played_against_an_agent_by_clicking(visit):
    page = visit(asked(max_turns="8", trolls="greedy"))
    position = Position.start("classic", max_turns=8)
    for number in range(4):
        turn = next(t for t in position.turns() if "x" not in t)
        start, end = turn[1:].split("-")
        press(page, start, "can move")
        if number == 1:
            shoot(page, "chosen")
        press(page, end, "move to")
        wait_for_turns(page, 2 * number + 2)
        position = position.play(turn).play(turn_texts(page)[-1])
    expect(state(page)).to_contain_text("turns have been played")
    assert position.outcome is not None
    shoot(page, "battle-over")


def test_pieces_are_dragged(visit):
    page = visit(asked())
    start = page.get_by_role("button", name=re.compile("^E2, ")).bounding_box()
    end = page.get_by_role("button", name=re.compile("^E7, ")).bounding_box()
    page.mouse.move(start["x"] + 5, start["y"] + 5)
    page.mouse.down()
    page.mouse.move(end["x"] + 9, end["y"] - 30, steps=4)
    page.mouse.move(end["x"] + 9, end["y"] + 9, steps=2)
    shoot(page, "dragged")
    page.mouse.up()
    wait_for_turns(page, 1)
    assert turn_texts(page) == ["dE2-E7"]


def test_a_step_that_is_answered_late_does_not_lead_away_from_the_turn_just_played(visit):
    page, record = opened(visit)
    held = []
    page.route("**/api/view", lambda route: held.append(route))
    page.get_by_role("button", name="One turn on").click()
    other = play_another(page, record)
    assert len(held) == 1
    with page.expect_response("**/api/view"):
        held[0].continue_()
    page.wait_for_timeout(300)
    expect(page.locator("[aria-current]")).to_have_text(other)
    assert turn_texts(page) == [other]


def test_a_wide_ring_shows_where_a_piece_goes_that_a_finger_drags(visit):
    page = visit(asked(), viewport={"width": 390, "height": 844}, has_touch=True)
    start = page.get_by_role("button", name=re.compile("^E2, ")).bounding_box()
    end = page.get_by_role("button", name=re.compile("^E7, ")).bounding_box()
    finger = page.context.new_cdp_session(page)

    def touch(kind, *at):
        points = [{"x": x + 9, "y": y + 9} for x, y in at]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (start["x"], start["y"]))
    touch("touchMove", (start["x"], start["y"] + 20))
    touch("touchMove", (end["x"], end["y"]))
    ring = page.locator(".mark.aim circle")
    expect(page.locator("#about")).to_have_text("Move to E7.")
    expect(ring).to_have_count(1)
    # At once, as the board may be drawn anew between finding the ring and measuring it.
    box = ring.evaluate("circle => circle.getBoundingClientRect().toJSON()")
    assert box["width"] > 48
    assert box["x"] + box["width"] / 2 == pytest.approx(end["x"] + end["width"] / 2, abs=1)
    shoot(page, "dragged-by-finger")
    other = page.get_by_role("button", name=re.compile("^D3, dwarf")).bounding_box()
    touch("touchMove", (other["x"], other["y"]))
    expect(ring).to_have_count(0)
    touch("touchMove", (end["x"], end["y"]))
    touch("touchEnd")
    wait_for_turns(page, 1)
    assert turn_texts(page) == ["dE2-E7"]
    expect(ring).to_have_count(0)


def test_a_finger_that_drags_a_piece_out_and_back_may_tap_at_once(visit):
    page = visit(asked(), viewport={"width": 390, "height": 844}, has_touch=True)
    square = page.get_by_role("button", name=re.compile("^E2, "))
    box = square.bounding_box()
    finger = page.context.new_cdp_session(page)
    kinds = ["touchStart"] + 6 * ["touchMove"]
    # At rest in the end, or the next tap would only stop a fling.
    for kind, down in zip(kinds, (0, 90, 40, 1, 0, 1, 0), strict=True):
        point = {"x": box["x"] + 9, "y": box["y"] + 9 + down}
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
        page.wait_for_timeout(100)
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(square).to_have_attribute("aria-label", re.compile("chosen"))  # by the drag
    other = page.get_by_role("button", name=re.compile("^D3, "))
    other.tap()
    expect(other).to_have_attribute("aria-label", re.compile("chosen"))


def test_two_fingers_drag_no_piece(visit):
    page = visit(asked(), viewport={"width": 390, "height": 844}, has_touch=True)
    box = page.get_by_role("button", name=re.compile("^E2, ")).bounding_box()
    x, y = box["x"] + 9, box["y"] + 9
    finger = page.context.new_cdp_session(page)

    def touch(kind, *at):
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(at)]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (x, y))
    touch("touchMove", (x, y + 40))
    expect(page.locator(".piece.held")).to_have_count(1)
    touch("touchStart", (x, y + 40), (x + 90, y + 90))
    expect(page.locator(".piece.held")).to_have_count(0)
    expect(page.locator("#about")).to_have_text("Choose a dwarf.")
    touch("touchMove", (x, y + 60), (x + 120, y + 120))
    touch("touchEnd")
    page.wait_for_timeout(300)
    wait_for_turns(page, 0)
    expect(page.locator("#about")).to_have_text("Choose a dwarf.")


def test_a_chosen_subset_is_captured_after_a_shove(visit):
    page = visit(asked(position=SHOVE))
    press(page, "K7", "can move")
    target = page.get_by_role("button", name=re.compile("^H7, .*shove to H7"))
    assert "may capture any of G6, H6, G7 and G8" in target.get_attribute("aria-label")
    target.hover()
    shoot(page, "shove-before")
    target.click()
    press(page, "G6", "capture")
    press(page, "H6", "capture")
    shoot(page, "shove-half")
    page.get_by_role("button", name="Capture no more").click()
    wait_for_turns(page, 1)
    assert turn_texts(page) == ["TK7-H7xG6xH6"]


def test_a_double_click_chooses_a_piece_as_one_does(visit):
    page = visit(asked())
    page.get_by_role("button", name=re.compile("^E2, .*can move")).dblclick()
    expect(page.locator("#about")).to_have_text("Choose where it goes.")


def test_undo_that_is_pressed_twice_at_once_takes_back_no_turn_before(visit):
    page = visit(asked(position=SHOVE.replace(" t ", " d ")))
    press(page, "E10", "can move")
    press(page, "A10", "move to")
    wait_for_turns(page, 1)
    press(page, "K7", "can move")
    press(page, "H7", "shove to H7")
    press(page, "G6", "capture")
    press(page, "H6", "capture")
    held = []
    page.route("**/api/play", lambda route: held.append(route))
    with page.expect_request("**/api/play"):
        page.get_by_role("button", name="Undo").dblclick()
    page.wait_for_timeout(300)  # for a second request, if there is one
    assert held
    for route in held:
        with page.expect_response("**/api/play"):
            route.continue_()
    page.unroute("**/api/play")
    page.wait_for_timeout(300)
    assert turn_texts(page) == ["dE10-A10"]
    page.get_by_role("button", name="Capture no more").click()
    wait_for_turns(page, 2)
    assert turn_texts(page) == ["dE10-A10", "TK7-H7xG6"]


def test_of_two_captures_pressed_at_once_the_first_is_kept(visit):
    page = visit(asked(position=SHOVE))
    press(page, "K7", "can move")
    press(page, "H7", "shove to H7")
    expect(page.get_by_role("button", name="Capture all")).to_be_visible()
    held = []
    page.route("**/api/play", lambda route: held.append(route))
    press(page, "G6", "capture")
    press(page, "H6", "capture")
    for _ in range(1000):  # a request is heard of some time after its click
        if len(held) == 2:
            break
        page.wait_for_timeout(20)
    assert len(held) == 2
    for route in held:
        with page.expect_response("**/api/play"):
            route.continue_()
    page.unroute("**/api/play")
    page.wait_for_timeout(300)
    page.get_by_role("button", name="Capture no more").click()
    wait_for_turns(page, 1)
    assert turn_texts(page) == ["TK7-H7xG6"]


def test_trampling_goes_on_and_stops(visit):
    page = visit(asked("koom-valley", TRAMPLES))
    press(page, "B6", "can move")
    expect(page.locator(".mark.trample path")).to_have_count(1)  # no dot
    shoot(page, "trample")
    press(page, "D6", "trample to D6, captures C6")
    expect(page.get_by_role("button", name="Stop here")).to_be_visible()
    press(page, "F6", "trample to F6, captures E6")
    shoot(page, "trampling")
    page.get_by_role("button", name="Stop here").click()
    wait_for_turns(page, 1)
    assert turn_texts(page) == ["TB6-D6-F6xC6xE6"]


def test_escape_takes_back_decisions_of_a_turn_one_by_one(visit):
    page = visit(asked("koom-valley", TRAMPLES))
    press(page, "B6", "can move")
    for square in ("D6", "F6"):
        press(page, square, f"trample to {square}")
        page.get_by_role("button", name=re.compile(f"^{square}, troll")).wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("^F6, .*trample to")).wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("^B6, .*can move")).wait_for()
    wait_for_turns(page, 0)


@pytest.mark.parametrize(
    ("battle", "words"),
    [
        (asked(), "Choose a dwarf."),
        (asked("koom-valley"), "Choose a dwarf or the Rock."),
        (asked("koom-valley-football"), "Choose a dwarf or the ball."),
        (asked("koom-valley", LESSONS[5].position), "Choose a dwarf or the Rock."),
    ],
)
def test_the_line_under_the_board_names_what_may_be_chosen(visit, battle, words):
    expect(visit(battle).locator("#about")).to_have_text(words)


def test_an_offer_is_made_and_accepted(visit):
    page = visit(asked(position=QUIET, agreement="yes"))
    page.get_by_role("button", name="Offer to end the battle").click()
    expect(state(page)).to_contain_text("the trolls accept or decline")
    page.get_by_role("button", name="Accept: end the battle").click()
    expect(state(page)).to_contain_text("The sides agreed to end it")
    assert turn_texts(page) == ["offer", "accept"]


def test_an_offer_that_is_declined_is_said_to_be_and_is_no_turn(visit):
    page = visit(asked(position=QUIET, agreement="yes"))
    page.get_by_role("button", name="Offer to end the battle").click()
    page.get_by_role("button", name="Decline: play on").click()
    turn = int(QUIET.split()[4]) + 1
    expect(state(page)).to_contain_text(f"The offer was declined. Turn {turn}, the dwarfs to move")
    press(page, "D5", "can move")
    press(page, "B5", "move to")
    wait_for_turns(page, 3)
    numbers = [item.get_attribute("data-number") for item in page.locator("#list li").all()]
    assert turn_texts(page) == ["offer", "decline", "dD5-B5"]
    assert numbers == [str(turn)] * 3
    expect(state(page)).to_contain_text(f"Turn {turn + 1}, the trolls to move")


def test_two_players_of_one_name_are_told_apart_in_the_score(visit):
    page = visit()
    dialog = open_new_game(page, trolls="You")
    dialog.get_by_role("checkbox", name=re.compile("^A whole game")).check()
    dialog.get_by_role("button", name="Begin").click()
    score = "First battle. Score: You (dwarfs first) 0, You (trolls first) 0."
    expect(state(page)).to_contain_text(score)


def test_the_score_names_the_players_who_have_the_seats_now(visit):
    page = visit()
    dialog = open_new_game(page, trolls="You")
    dialog.get_by_role("checkbox", name=re.compile("^A whole game")).check()
    dialog.get_by_role("button", name="Begin").click()
    expect(state(page)).to_contain_text("First battle")
    page.get_by_label("Who plays the trolls").select_option("greedy")
    expect(state(page)).to_contain_text("First battle. Score: You 0, Greedy 0.")


def test_the_score_names_those_who_played_each_battle(visit):
    page = visit()
    page.route("**/api/*", shorten)
    dialog = open_new_game(page, dwarfs="Random")
    dialog.get_by_role("checkbox", name=re.compile("^A whole game")).check()
    dialog.get_by_role("button", name="Begin").click()
    second = page.get_by_role("button", name="Change sides: second battle")
    second.wait_for()
    page.get_by_label("Who plays the dwarfs").select_option("greedy2")
    expect(page.get_by_label("Who plays the dwarfs")).to_have_value("greedy2")
    page.wait_for_timeout(300)
    score = page.locator("#match")
    expect(score).to_have_text(re.compile(r"^First battle\. Score: Random \S+, Greedy \S+$"))
    second.click()
    both = r"^The game is .*: Random, then Greedy, with a second look \S+, Greedy \S+$"
    expect(score).to_have_text(re.compile(both))


def test_the_score_is_that_of_the_position_shown_whatever_answer_comes_last(visit):
    page = visit()
    dialog = open_new_game(page, trolls="You")
    dialog.get_by_role("checkbox", name=re.compile("^A whole game")).check()
    dialog.get_by_role("button", name="Begin").click()
    for start, end in ("E2", "E6"), ("G7", "F6"):
        press(page, start, "can move")
        press(page, end, "move to")
    held = hold_first(page, "**/api/score")
    page.get_by_role("button", name="Capture none").click()
    wait_for_turns(page, 2)
    press(page, "E6", "can move")
    press(page, "F6", "hurl to")
    score = "You (dwarfs first) +4, You (trolls first) -4"
    expect(state(page)).to_contain_text(score)
    let_go(page, held)
    expect(state(page)).to_contain_text(score, timeout=1000)


def test_a_game_of_two_battles_comes_to_its_score(visit):
    page = visit()
    dialog = open_new_game(page, dwarfs="Random")
    dialog.get_by_role("checkbox", name=re.compile("^A whole game")).check()
    shoot(page, "new-game")
    # Two agents that watch nothing: short battles, ended by the limit below.
    page.route("**/api/*", shorten)
    dialog.get_by_role("button", name="Begin").click()
    second = page.get_by_role("button", name="Change sides: second battle")
    second.wait_for()
    expect(state(page)).to_contain_text("First battle. Score: Random")
    second.click()
    expect(state(page)).to_contain_text("The game is")
    text = state(page).inner_text()
    first, other = (int(n) for n in re.findall(r"(?:Random|Greedy) ([+-]?\d+)", text)[-2:])
    assert first == -other
    shoot(page, "two-battles")


NEAR_THE_GOAL = "1d3/2R4/9/11/13/15/15/15/15/15/13/11/9/2TTT2/5 d - 0 0"


def push_the_rock_home(page):
    press(page, "G2", "can move")
    press(page, "H1", "to H1")


@pytest.mark.parametrize(
    ("seats", "said"),
    [
        ({"trolls": "greedy"}, "You win. The Rock has reached its goal: the dwarfs win."),
        ({}, "The Rock has reached its goal: the dwarfs win."),
    ],
)
def test_one_who_plays_against_an_agent_is_told_who_has_won(visit, seats, said):
    page = visit(asked("koom-valley", NEAR_THE_GOAL, **seats))
    push_the_rock_home(page)
    expect(page.locator("#standing")).to_have_text(said)
    expect(page.locator("#live")).to_contain_text(said)
    page.reload()
    expect(page.locator("#standing")).to_have_text(said)


def test_one_who_loses_is_told_so_after_others_are_seated_too(visit):
    page = visit(asked("koom-valley", NEAR_THE_GOAL, dwarfs="greedy", trolls="you"))
    said = "You lose. The Rock has reached its goal: the dwarfs win."
    expect(page.locator("#standing")).to_have_text(said)
    page.get_by_label("Who plays the dwarfs").select_option("you")
    expect(page.locator("#standing")).to_have_text(said)


def test_a_battle_is_played_again_from_where_it_began(visit):
    page = visit(asked("koom-valley", NEAR_THE_GOAL, trolls="greedy"))
    push_the_rock_home(page)
    again = page.get_by_role("button", name="Play again")
    shoot(page, "won")
    again.click()
    wait_for_turns(page, 0)
    expect(again).to_be_hidden()
    expect(page.get_by_label("Who plays the trolls")).to_have_value("greedy")
    page.go_back()
    again.wait_for()
    page.go_forward()
    wait_for_turns(page, 0)
    push_the_rock_home(page)
    again.wait_for()


def test_a_record_that_was_opened_is_not_played_again(visit):
    record = ROOT / "docs/battles/classic-dwarfs-lose.thud"
    page = visit()
    open_record(page, record)
    page.get_by_role("button", name="To the end").click()
    *_, end = read_record(record).positions()
    expect(page.locator("#standing")).to_have_text(verdict(end))
    expect(page.get_by_role("button", name="Play again")).to_be_hidden()
