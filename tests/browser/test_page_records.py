"""A person opens records and links on the page, and goes back and on in them."""

import re
from urllib.parse import urlencode

import pytest
from at_the_page import (
    SHOVE,
    TRAMPLES,
    asked,
    begin,
    expect,
    hold_first,
    let_go,
    open_record,
    opened,
    play_another,
    press,
    shoot,
    state,
    turn_texts,
    turns,
    wait_for_turns,
)
from page_server import ROOT

from agents.web.lessons import LESSONS
from thud_env import CLASSIC, Position, Record, read_record, write_record


def test_a_record_is_loaded_stepped_and_branched(visit, tmp_path):
    page, record = opened(visit)
    page.get_by_role("button", name="One turn on").click()
    page.get_by_role("button", name="One turn on").click()
    current = page.locator("[aria-current]")
    expect(current).to_have_text(record.turns[1])
    page.get_by_role("button", name="One turn back").click()
    page.get_by_role("button", name="One turn back").click()
    other = play_another(page, record)
    assert turn_texts(page) == [other]
    shoot(page, "branched")
    page.get_by_role("button", name=re.compile("^Turn 1: branch 2 of 2")).click()
    wait_for_turns(page, len(record.turns))
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Save the record").click()
    saved = tmp_path / "saved.thud"
    download.value.save_as(saved)
    assert read_record(saved) == record


def test_a_ruleset_of_ones_own_is_played_and_its_records_are_opened(visit, tmp_path):
    page = visit(asked(rules="classic:name=six,trolls=J9+H9+G9+J7+H7+G7", trolls="greedy"))
    expect(page.locator("#title")).to_have_text("six")
    press(page, "F1", "can move")
    press(page, "F5", "move to")
    wait_for_turns(page, 2)
    expect(state(page)).to_contain_text("6 trolls")
    path = tmp_path / "five.thud"
    five = CLASSIC.replace(name="five", trolls="G7 H7 J7 G9 H9")
    write_record(path, Record(Position.start(five), ("dF1-F5",)))
    open_record(page, path)
    wait_for_turns(page, 1)
    expect(state(page)).to_contain_text("5 trolls")
    page.get_by_role("button", name="New game").click()
    titles = page.get_by_role("dialog", name="New game").get_by_label("Game", exact=True)
    assert titles.get_by_role("option").all_inner_texts()[-2:] == ["six", "five"]


def test_a_link_opens_the_same_position_elsewhere(visit):
    page = visit(asked(position=SHOVE))
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link to it").input_value()
    text = page.get_by_label("Position", exact=True).input_value()
    assert text == SHOVE
    other = visit()
    other.goto(link)
    other.reload()
    other.get_by_role("button", name=re.compile("^K7, troll, can move")).wait_for()


def test_a_link_that_was_not_answered_is_followed_after_a_reload(visit):
    page = visit(asked())
    page.route("**/api/view", lambda route: route.abort())
    page.evaluate("address => location.hash = address", urlencode(asked(position=SHOVE)))
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    page.unroute("**/api/view")
    page.reload()
    page.get_by_role("button", name=re.compile("^K7, troll, can move")).wait_for()
    visit.complaints.clear()  # of the browser itself: what was not answered


def test_a_link_that_the_page_has_not_heard_of_is_followed_after_a_reload(visit):
    page = visit(asked())
    page.add_init_script(
        "addEventListener('popstate', event => window.deaf && event.stopImmediatePropagation())"
    )
    page.reload()
    page.get_by_role("button", name=re.compile("^H8, ")).wait_for()
    address = urlencode(asked(position=SHOVE))
    page.evaluate("address => { window.deaf = true; location.hash = address; }", address)
    page.reload()
    page.get_by_role("button", name=re.compile("^K7, troll, can move")).wait_for(timeout=10_000)


def test_a_wrong_link_leaves_the_battle_as_it_stands(visit):
    page = visit(asked())
    press(page, "E2", "can move")
    press(page, "E7", "move to")
    wait_for_turns(page, 1)
    page.evaluate("address => location.hash = address", urlencode(asked(position="nonsense")))
    expect(page.get_by_role("alert")).to_contain_text("position 'nonsense'")
    page.reload()
    wait_for_turns(page, 1)
    visit.complaints.clear()  # of the browser itself: what was refused


def test_the_buttons_back_and_forward_lead_to_the_battles_that_a_link_was_followed_from(visit):
    page = visit(asked())
    press(page, "E2", "can move")
    press(page, "E7", "move to")
    wait_for_turns(page, 1)
    page.evaluate("address => location.hash = address", urlencode(asked(position=SHOVE)))
    chosen = page.get_by_role("button", name=re.compile("^K7, troll, can move"))
    chosen.wait_for()
    page.go_back()
    wait_for_turns(page, 1)
    assert turn_texts(page) == ["dE2-E7"]
    page.go_forward()
    chosen.wait_for()
    page.evaluate("address => location.hash = address", urlencode(asked()))
    expect(state(page)).to_contain_text("Turn 1, the dwarfs to move")
    wait_for_turns(page, 0)


def test_back_from_a_game_begun_after_a_link_leads_to_the_link_and_to_the_battle_before(visit):
    page = visit()
    press(page, "E2", "can move")
    press(page, "E7", "move to")
    wait_for_turns(page, 2)
    played = turn_texts(page)
    page.evaluate("address => location.hash = address", urlencode(asked(position=SHOVE)))
    of_link = page.get_by_role("button", name=re.compile("^K7, troll, can move"))
    of_link.wait_for()
    begin(page)
    expect(state(page)).to_contain_text("Turn 1, the dwarfs to move")
    page.go_back()
    of_link.wait_for()
    page.reload()
    of_link.wait_for()
    page.go_back()
    wait_for_turns(page, 2)
    assert turn_texts(page) == played, "kept over the reload of another entry"
    page.go_forward()
    of_link.wait_for()
    page.go_forward()
    expect(state(page)).to_contain_text("Turn 1, the dwarfs to move")


@pytest.mark.parametrize("again", ["reload", "forward and back"])
def test_back_to_a_battle_that_is_not_answered_loses_none(visit, again):
    page = visit(asked())
    press(page, "E2", "can move")
    press(page, "E7", "move to")
    wait_for_turns(page, 1)
    begin(page)
    expect(state(page)).to_contain_text("Turn 1, the dwarfs to move")
    page.reload()  # after which battles are read from the tab's storage
    expect(state(page)).to_contain_text("Turn 1, the dwarfs to move")
    page.route("**/api/view", lambda route: route.abort())
    page.go_back()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    page.unroute("**/api/view")
    if again == "reload":
        page.reload()
    else:
        left = page.evaluate("history.state.entry")
        page.go_forward()
        page.wait_for_function("left => history.state.entry !== left", arg=left)
        page.wait_for_timeout(300)  # until the battle is there: nothing else tells the two apart
        page.go_back()
    wait_for_turns(page, 1)
    assert turn_texts(page) == ["dE2-E7"]
    visit.complaints.clear()  # of the browser itself: what was not answered


def test_back_from_a_record_that_is_opened_leads_to_the_battle_before(visit):
    page = visit(asked())
    press(page, "E2", "can move")
    press(page, "E7", "move to")
    wait_for_turns(page, 1)
    path = ROOT / "tests/data/records/classic.thud"
    open_record(page, path)
    wait_for_turns(page, len(read_record(path).turns))
    page.go_back()
    wait_for_turns(page, 1)
    assert turn_texts(page) == ["dE2-E7"]


def test_undo_after_another_turn_by_the_other_side_keeps_the_record(visit):
    """The last turn of a person is above the place where the branch begins."""
    page, record = opened(visit)
    turns(page).nth(0).get_by_role("button").first.click()
    expect(state(page)).to_contain_text("Turn 2, the trolls to move")
    possible = record.start.play(record.turns[0]).turns()
    captures = {turn.partition("x")[0] for turn in possible if "x" in turn}
    other = next(t for t in possible if t not in captures | {record.turns[1]} and "x" not in t)
    start, end = other[1:].split("-")
    press(page, start, "can move")
    press(page, end, "move to")
    wait_for_turns(page, 2)
    page.get_by_label("Who plays the trolls").select_option("greedy")
    page.get_by_role("button", name="Undo").click()
    wait_for_turns(page, len(record.turns))


def test_back_before_a_link_is_followed_keeps_the_battle_and_forward_follows_it(visit):
    page = visit(asked())
    press(page, "E2", "can move")
    press(page, "E7", "move to")
    wait_for_turns(page, 1)
    held = hold_first(page, "**/api/view")
    with page.expect_request("**/api/view"):
        page.evaluate("address => location.hash = address", urlencode(asked(position=SHOVE)))
    page.go_back()
    let_go(page, held)
    assert turn_texts(page) == ["dE2-E7"]
    page.go_forward()
    page.get_by_role("button", name=re.compile("^K7, troll, can move")).wait_for()


def test_a_position_that_is_opened_leaves_no_other_in_the_address(visit):
    page = visit(asked(position=SHOVE))
    page.get_by_role("button", name="Open").click()
    page.get_by_label("Or pasted here").fill(TRAMPLES)
    page.get_by_role("dialog").get_by_role("button", name="Open").click()
    page.get_by_role("button", name=re.compile("^B6, troll")).wait_for()
    expect(page).to_have_url(re.compile("/$"))
    page.reload()
    page.get_by_role("button", name=re.compile("^B6, troll")).wait_for()


def test_a_damaged_record_is_refused_in_a_line(visit):
    page = visit()
    page.get_by_role("button", name="Open").click()
    page.get_by_label("Or pasted here").fill("dF1,dG1,RH8\nTG7-G6")
    page.get_by_role("dialog").get_by_role("button", name="Open").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("line 2")
    (refused,) = visit.complaints  # by the browser itself
    assert "400" in refused
    visit.complaints.clear()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ((" d ", " D "), "side 'D'"),
        (("7R7", "7r7"), "'r' in row 8"),
        ((" d - 0 0", " d"), "has 2 fields"),
    ],
)
def test_a_damaged_position_is_refused_as_a_position(visit, wrong, why):
    page = visit()
    page.get_by_role("button", name="Open").click()
    page.get_by_label("Or pasted here").fill(LESSONS[0].position.replace(*wrong))
    page.get_by_role("dialog").get_by_role("button", name="Open").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(why)
    visit.complaints.clear()  # by the browser itself


def test_undo_in_the_middle_of_a_record_keeps_the_turns_that_come_later(visit):
    page, record = opened(visit)
    current = page.locator("[aria-current]")
    for turn in record.turns[:3]:
        page.get_by_role("button", name="One turn on").click()
        expect(current).to_have_text(turn)
    page.get_by_role("button", name="Undo").click()
    expect(current).to_have_text(record.turns[1])
    wait_for_turns(page, len(record.turns))


def test_a_playback_that_fails_can_be_tried_again_at_once(visit):
    page, record = opened(visit)
    play_on = page.get_by_role("button", name="Play on")
    page.route("**/api/view", lambda route: route.abort())
    play_on.click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.unroute("**/api/view")
    play_on.click()
    expect(page.locator("[aria-current]")).to_have_text(record.turns[0])
    visit.complaints.clear()  # the browser's own


def test_undo_stops_what_is_played_back(visit):
    page, record = opened(visit)
    page.get_by_role("button", name="Play on").click()
    expect(page.locator("[aria-current]")).to_have_text(record.turns[0])
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Play on").wait_for()


def test_a_record_that_is_opened_while_another_is_played_back_stands_at_its_start(visit):
    page, record = opened(visit)
    page.get_by_role("button", name="Play on").click()
    expect(page.locator("[aria-current]")).to_have_text(record.turns[0])
    open_record(page, ROOT / "tests/data/records/koom-valley.thud")
    expect(page.locator("#title")).to_have_text("Koom Valley Thud")
    expect(page.get_by_role("button", name="Play on")).to_be_enabled()
    page.wait_for_timeout(1000)
    expect(page.locator("[aria-current]")).to_have_count(0)


def test_a_wrong_link_is_refused_in_a_line_and_a_battle_begins(visit):
    page = visit(asked(position="nonsense"))
    expect(page.get_by_role("alert")).to_contain_text("position 'nonsense'")
    expect(state(page)).to_contain_text("Turn 1, the dwarfs to move")
    (refused,) = visit.complaints  # by the browser itself
    assert "400" in refused
    visit.complaints.clear()
