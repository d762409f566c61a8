"""Lessons, and the battle that they, a reload or an address interrupt."""

import re
from urllib.parse import urlencode

import pytest
from at_the_page import (
    QUIET,
    after_two_turns,
    asked,
    expect,
    hold_first,
    let_go,
    press,
    shoot,
    state,
    turn_texts,
    turns,
    wait_for_turns,
)

from agents.web.lessons import LESSONS


def test_a_first_visit_is_taught_by_playing(visit):
    page = visit(first=True)
    for number, lesson in enumerate(LESSONS, start=1):
        heading = page.get_by_role("heading", name=f"{number} of 6: {lesson.title}")
        heading.wait_for()
        expect(page.locator("#flip")).to_be_in_viewport(ratio=1)
        shoot(page, f"lesson-{number}")
        turn = max(lesson.solutions, key=len)
        if turn == "accept":
            page.get_by_role("button", name="Accept: end the battle").click()
        else:
            path, *taken = turn[1:].split("x")
            start, end = path.split("-")
            press(page, start, "can move")
            press(page, end, f"to {end}")
            if turn.startswith("T"):
                for square in taken:
                    press(page, square, "capture")
        page.locator("#lesson.done").wait_for()
        page.get_by_role("button", name="Play" if number == 6 else "Next", exact=True).click()
    expect(state(page)).to_contain_text("Turn 1, the dwarfs to move: 32 dwarfs")


def test_what_a_lesson_asks_for_is_still_told_after_a_turn_that_does_not_do_it(visit):
    page = visit(first=True)
    page.get_by_role("button", name="Skip").click()
    page.get_by_role("heading", name="2 of 6").wait_for()
    press(page, "M6", "can move")
    press(page, "M7", "move to")
    page.get_by_role("button", name="Try again").wait_for()
    expect(page.locator("#lesson")).to_contain_text(f"Not quite. Try again: {LESSONS[1].task}")
    page.get_by_role("button", name="Try again").click()
    wait_for_turns(page, 0)
    expect(page.locator("#lesson")).not_to_contain_text("Not quite")


def test_a_lesson_that_was_left_does_not_come_back(visit):
    page = visit(first=True)
    page.get_by_role("heading", name="1 of 6").wait_for()
    held = hold_first(page, "**/api/view")
    page.get_by_role("button", name="Skip").click()
    page.get_by_role("button", name="New game").click()
    let_go(page, held)
    page.get_by_role("dialog", name="New game").get_by_role("button", name="Begin").click()
    expect(state(page)).to_contain_text("Turn 1, the dwarfs to move: 32 dwarfs")
    expect(page.locator("#lesson")).to_be_hidden()


def test_a_battle_goes_on_where_the_lessons_interrupted_it(visit):
    page = after_two_turns(visit)
    played = turn_texts(page)
    page.get_by_role("button", name="Learn").click()
    page.get_by_role("heading", name=re.compile("^1 of 6")).wait_for()
    page.get_by_role("button", name="Skip").click()
    page.get_by_role("heading", name=re.compile("^2 of 6")).wait_for()
    page.get_by_role("button", name="Leave").click()
    wait_for_turns(page, 2)
    assert turn_texts(page) == played
    expect(page.locator("#lesson")).to_be_hidden()


def test_a_battle_is_still_there_after_a_reload_and_after_a_lesson(visit):
    page = after_two_turns(visit)
    page.get_by_role("button", name="One turn back").click()
    expect(state(page)).to_contain_text("Turn 2")
    played = turn_texts(page)
    page.get_by_role("button", name="Learn").click()
    page.get_by_role("heading", name=re.compile("^1 of 6")).wait_for()
    page.reload()
    wait_for_turns(page, 2)
    assert turn_texts(page) == played
    expect(page.locator("#lesson")).to_be_hidden()
    expect(state(page)).to_contain_text("Turn 2")
    page.get_by_role("button", name="One turn on").click()
    press(page, "G1", "can move")
    press(page, "G2", "move to")
    wait_for_turns(page, 4)
    page.goto(f"{page.url.partition('#')[0]}#{urlencode(asked(position=QUIET))}")
    expect(state(page)).to_contain_text("Turn 131")


def test_agents_that_were_paused_are_paused_after_a_reload(visit):
    page = visit(asked(dwarfs="greedy", trolls="random"))
    expect(turns(page).nth(1)).to_be_attached()
    page.get_by_role("button", name="Pause").click()
    count = turns(page).count()
    page.reload()
    wait_for_turns(page, count)
    play_on = page.get_by_role("button", name="Play on")
    expect(play_on).to_be_enabled()
    page.wait_for_timeout(1000)
    wait_for_turns(page, count)
    play_on.click()
    expect(turns(page).nth(count + 1)).to_be_attached()


def test_an_address_may_name_the_players_alone_and_no_player_that_is_not_there(visit):
    page = visit({"rules": "koom-valley", "trolls": "random"})
    expect(page.get_by_label("Who plays the trolls")).to_have_value("random")
    page.goto(f"{page.url.partition('#')[0]}#trolls=grudy")
    expect(page.get_by_role("alert")).to_contain_text(
        "There is no player grudy here: --trolls adds"
    )
    expect(page.get_by_label("Who plays the trolls")).to_have_value("random")


def test_a_battle_is_kept_after_a_lesson_that_could_not_begin(visit):
    page = after_two_turns(visit)
    page.route("**/api/view", lambda route: route.abort())
    page.get_by_role("button", name="Learn").click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.unroute("**/api/view")
    press(page, "G1", "can move")
    press(page, "G2", "move to")
    wait_for_turns(page, 4)
    played = turn_texts(page)
    page.reload()
    wait_for_turns(page, 4)
    assert turn_texts(page) == played
    assert all("ERR_FAILED" in complaint for complaint in visit.complaints)
    visit.complaints.clear()


@pytest.mark.parametrize("kept", ["{", '{"address": ""}'])
def test_what_was_kept_and_cannot_be_read_is_forgotten(visit, kept):
    page = visit()
    page.evaluate(
        "kept => addEventListener('pagehide', () => sessionStorage.setItem('thud-battle', kept))",
        kept,
    )
    page.reload()
    expect(state(page)).to_contain_text("Turn 1, the dwarfs to move: 32 dwarfs")


def test_a_new_game_is_proposed_as_the_battle_before_the_lessons(visit):
    page = visit()
    page.get_by_role("button", name="Learn").click()
    for number in range(1, len(LESSONS)):
        page.get_by_role("heading", name=re.compile(f"^{number} of 6")).wait_for()
        page.get_by_role("button", name="Skip").click()
    page.get_by_role("heading", name=re.compile("^6 of 6")).wait_for()
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog", name="New game")
    expect(dialog.get_by_label("Game", exact=True)).to_have_value("classic")
    expect(
        dialog.get_by_role("radiogroup", name="Trolls").get_by_role("radio", checked=True)
    ).to_have_value("greedy")
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_role("heading", name=re.compile("^6 of 6"))).to_be_visible()


def test_a_lesson_before_which_another_battle_begins_is_not_shown(visit):
    page = visit()
    held = hold_first(page, "**/api/view")
    page.get_by_role("button", name="Learn").click()
    page.goto(f"{page.url}#{urlencode(asked(position=QUIET))}")
    expect(state(page)).to_contain_text("Turn 131")
    let_go(page, held)
    expect(state(page)).to_contain_text("Turn 131")
    expect(page.locator("#lesson")).to_be_hidden()
