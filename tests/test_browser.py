"""The page in headless Chromium, as a person uses it: elements are found by role and name.

Screenshots are left in build/screenshots.
"""

import json
import re
import shutil
from urllib.parse import urlencode

import pytest
from page_server import ROOT, serving

import agents
from agents.web.lessons import LESSONS
from thud_env import CLASSIC, RULESETS, Position, Record, read_record, write_record

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SHOTS = ROOT / "build" / "screenshots"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
PATIENCE = 120_000
"""Milliseconds to wait for anything: an agent may have to be compiled first."""
PATIENT = ("alphabeta:time=60", "mcts:sims=2000000,time=60")
"""Searches that think until they are stopped."""
SHOVE = LESSONS[3].position
TRAMPLES = "5/7/9/11/13/1Td1d1d8/15/7R7/15/15/13/11/9/7/5 t - 0 0"
QUIET = "5/1dd4/9/6T4/2dd9/3dd10/15/7R7/10dd3/2T7dd3/13/11/2ddd4/7/5 d - 24 130"

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here: Debian's package chromium would be right"
)
playwright = pytest.importorskip("playwright.sync_api")


@pytest.fixture(scope="module")
def server():
    dwarfs, trolls = PATIENT  # named at the start, they can be chosen
    with serving("--dwarfs", dwarfs, "--trolls", trolls) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(server, browser):
    """Opens the page at a battle; every console error or failed request fails the test."""
    complaints = []
    contexts = []

    def open_page(asked=None, *, first=False, **options):
        options = {"viewport": {"width": 1280, "height": 840}, **options}
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        if not first:
            context.add_init_script("localStorage.setItem('thud-lessons-seen', 'yes')")
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(server.address + (f"#{urlencode(asked)}" if asked else ""))
        page.locator("#list, #lesson h2").first.wait_for(state="attached")
        page.get_by_role("button", name=re.compile("^H8, ")).wait_for()
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


def press(page, square, does=""):
    """Press a square, which does what its name says."""
    page.get_by_role("button", name=re.compile(f"^{square}, .*{does}")).click()


def turns(page):
    return page.get_by_role("list", name="Turns").get_by_role("listitem")


def turn_texts(page):
    return [text.split("\n")[0] for text in turns(page).all_inner_texts()]


def wait_for_turns(page, count):
    playwright.expect(turns(page)).to_have_count(count)


def state(page):
    return page.get_by_role("region", name="State")


def shoot(page, name):
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")


def open_record(page, path):
    page.get_by_role("button", name="Open").click()
    dialog = page.get_by_role("dialog", name="Open a battle")
    dialog.get_by_label("From a file").set_input_files(path)
    dialog.get_by_role("button", name="Open").click()


def opened(visit):
    """The page with a record opened at its start, and the record."""
    path = ROOT / "tests/data/records/classic.thud"
    page, record = visit(), read_record(path)
    open_record(page, path)
    wait_for_turns(page, len(record.turns))
    return page, record


def play_another(page, record):
    """Play another first turn than the record's; returns it."""
    other = next(t for t in record.start.turns() if t != record.turns[0] and "x" not in t)
    start, end = other[1:].split("-")
    press(page, start, "can move")
    press(page, end, "move to")
    wait_for_turns(page, 1)
    return other


def asked(rules="classic", position="", **more):
    return {"rules": rules, "position": position, **more}


@pytest.mark.parametrize("rules", RULESETS)
def test_every_ruleset_is_chosen_and_played(visit, rules):
    page = visit()
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog", name="New game")
    dialog.get_by_label("Game", exact=True).select_option(RULESETS[rules].title)
    dialog.get_by_role("radiogroup", name="Trolls").get_by_role(
        "radio", name=re.compile("^Greedy takes")
    ).check()
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
    playwright.expect(movable).not_to_have_count(0)
    held = []
    page.route("**/api/view", lambda route: held.append(route))
    page.get_by_role("button", name="New game").click()
    page.get_by_role("dialog", name="New game").get_by_role("button", name="Begin").click()
    playwright.expect(movable).to_have_count(0)
    held[0].continue_()
    playwright.expect(movable).not_to_have_count(0)


def test_a_step_that_is_answered_late_does_not_lead_back_to_the_battle_before(visit):
    page, _ = opened(visit)
    held = []

    def hold_first(route):
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/api/view", hold_first)
    page.get_by_role("button", name="One turn on").click()
    page.get_by_role("button", name="New game").click()
    page.get_by_role("dialog", name="New game").get_by_role("button", name="Begin").click()
    wait_for_turns(page, 0)
    with page.expect_response("**/api/view"):
        held[0].continue_()
    page.wait_for_timeout(300)
    playwright.expect(state(page)).to_contain_text("Turn 1, the dwarfs to move")
    playwright.expect(page.get_by_role("button", name="One turn back")).to_be_disabled()


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
    playwright.expect(state(page)).to_contain_text("turns have been played")
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
    playwright.expect(page.locator("[aria-current]")).to_have_text(other)
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
    playwright.expect(page.locator("#about")).to_have_text("Move to E7.")
    playwright.expect(ring).to_have_count(1)
    # At once, as the board may be drawn anew between finding the ring and measuring it.
    box = ring.evaluate("circle => circle.getBoundingClientRect().toJSON()")
    assert box["width"] > 48
    assert box["x"] + box["width"] / 2 == pytest.approx(end["x"] + end["width"] / 2, abs=1)
    shoot(page, "dragged-by-finger")
    other = page.get_by_role("button", name=re.compile("^D3, dwarf")).bounding_box()
    touch("touchMove", (other["x"], other["y"]))
    playwright.expect(ring).to_have_count(0)
    touch("touchMove", (end["x"], end["y"]))
    touch("touchEnd")
    wait_for_turns(page, 1)
    assert turn_texts(page) == ["dE2-E7"]
    playwright.expect(ring).to_have_count(0)


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
    page.get_by_role("button", name="Undo").dblclick()
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
    playwright.expect(page.get_by_role("button", name="Capture all")).to_be_visible()
    held = []
    page.route("**/api/play", lambda route: held.append(route))
    press(page, "G6", "capture")
    press(page, "H6", "capture")
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
    playwright.expect(page.locator(".mark.trample path")).to_have_count(1)  # no dot
    shoot(page, "trample")
    press(page, "D6", "trample to D6, captures C6")
    playwright.expect(page.get_by_role("button", name="Stop here")).to_be_visible()
    press(page, "F6", "trample to F6, captures E6")
    shoot(page, "trampling")
    page.get_by_role("button", name="Stop here").click()
    wait_for_turns(page, 1)
    assert turn_texts(page) == ["TB6-D6-F6xC6xE6"]


def test_an_offer_is_made_and_accepted(visit):
    page = visit(asked(position=QUIET, agreement="yes"))
    page.get_by_role("button", name="Offer to end the battle").click()
    playwright.expect(state(page)).to_contain_text("the trolls accept or decline")
    page.get_by_role("button", name="Accept: end the battle").click()
    playwright.expect(state(page)).to_contain_text("The sides agreed to end it")
    assert turn_texts(page) == ["offer", "accept"]


def test_a_game_of_two_battles_comes_to_its_score(visit):
    page = visit()
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog", name="New game")
    dialog.get_by_role("radiogroup", name="Dwarfs").get_by_role(
        "radio", name=re.compile("^Random")
    ).check()
    dialog.get_by_role("checkbox", name=re.compile("^A whole game")).check()
    shoot(page, "new-game")
    # Two agents that watch nothing: short battles, ended by the limit below.
    page.route("**/api/*", shorten)
    dialog.get_by_role("button", name="Begin").click()
    second = page.get_by_role("button", name="Change sides: second battle")
    second.wait_for()
    playwright.expect(state(page)).to_contain_text("First battle. Score: Random")
    second.click()
    playwright.expect(state(page)).to_contain_text("The game is")
    text = state(page).inner_text()
    first, other = (int(n) for n in re.findall(r"(?:Random|Greedy) ([+-]?\d+)", text)[-2:])
    assert first == -other
    shoot(page, "two-battles")


def shorten(route):
    message = json.loads(route.request.post_data or "{}")
    if "rules" in message:
        message["max_turns"] = 4
    route.continue_(post_data=json.dumps(message))


def test_a_record_is_loaded_stepped_and_branched(visit, tmp_path):
    page, record = opened(visit)
    page.get_by_role("button", name="One turn on").click()
    page.get_by_role("button", name="One turn on").click()
    current = page.locator("[aria-current]")
    playwright.expect(current).to_have_text(record.turns[1])
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
    assert read_record(saved).turns == record.turns


def test_a_ruleset_of_ones_own_is_played_and_its_records_are_opened(visit, tmp_path):
    page = visit(asked(rules="classic:name=six,trolls=J9+H9+G9+J7+H7+G7", trolls="greedy"))
    playwright.expect(page.locator("#title")).to_have_text("six")
    press(page, "F1", "can move")
    press(page, "F5", "move to")
    wait_for_turns(page, 2)
    playwright.expect(state(page)).to_contain_text("6 trolls")
    path = tmp_path / "five.thud"
    five = CLASSIC.replace(name="five", trolls="G7 H7 J7 G9 H9")
    write_record(path, Record(Position.start(five), ("dF1-F5",)))
    open_record(page, path)
    wait_for_turns(page, 1)
    playwright.expect(state(page)).to_contain_text("5 trolls")
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


def test_a_damaged_record_is_refused_in_a_line(visit):
    page = visit()
    page.get_by_role("button", name="Open").click()
    page.get_by_label("Or pasted here").fill("dF1,dG1,RH8\nTG7-G6")
    page.get_by_role("dialog").get_by_role("button", name="Open").click()
    playwright.expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("line 2")
    (refused,) = visit.complaints  # by the browser itself
    assert "400" in refused
    visit.complaints.clear()


def test_undo_hint_and_flip(visit):
    page = visit(asked(trolls="greedy"))
    press(page, "E2", "can move")
    press(page, "E6", "move to")
    wait_for_turns(page, 2)
    page.get_by_role("button", name="Undo").click()
    wait_for_turns(page, 0)
    page.get_by_role("button", name="Hint").click()
    playwright.expect(page.locator("#about")).to_contain_text("Advice: d")
    shoot(page, "hint")
    before = page.get_by_role("button", name=re.compile("^F1, ")).bounding_box()
    page.get_by_role("button", name="Flip").click()
    after = page.get_by_role("button", name=re.compile("^F1, ")).bounding_box()
    assert after["y"] > before["y"] + 100
    shoot(page, "flipped")


def test_advice_stays_until_a_turn_is_played(visit):
    page = visit(asked(trolls="greedy"))
    page.get_by_role("button", name="Hint").click()
    about = page.locator("#about")
    playwright.expect(about).to_contain_text("Advice: d")
    start, end = re.findall(r"[A-P]\d+", about.inner_text())[:2]
    press(page, start, "can move")
    press(page, end, f"move to {end}")  # under the line of the advice
    wait_for_turns(page, 2)
    playwright.expect(page.locator("path.advice")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    press(page, start, "can move")
    page.mouse.move(1, 1)
    playwright.expect(about).to_contain_text("Advice: d")
    playwright.expect(page.locator("path.advice")).to_have_count(1)


def test_undo_in_the_middle_of_a_record_keeps_the_turns_that_come_later(visit):
    page, record = opened(visit)
    current = page.locator("[aria-current]")
    for turn in record.turns[:3]:
        page.get_by_role("button", name="One turn on").click()
        playwright.expect(current).to_have_text(turn)
    page.get_by_role("button", name="Undo").click()
    playwright.expect(current).to_have_text(record.turns[1])
    wait_for_turns(page, len(record.turns))


def test_where_no_person_has_played_nothing_is_taken_back(visit):
    page = visit(asked(dwarfs="greedy"))
    wait_for_turns(page, 1)
    playwright.expect(state(page)).to_contain_text("Turn 2, the trolls to move")
    playwright.expect(page.get_by_role("button", name="Undo")).to_be_disabled()


def test_agents_that_are_watched_play_on_where_they_were_stopped(visit):
    page = visit(asked(dwarfs="greedy", trolls="random"))
    playwright.expect(turns(page).nth(2)).to_be_attached()
    page.get_by_role("button", name="One turn back").click()
    page.get_by_role("button", name="To the end").click()
    count = turns(page).count()
    page.get_by_role("button", name="Play on").click()
    playwright.expect(turns(page).nth(count)).to_be_attached()
    playwright.expect(page.get_by_role("button", name="Pause")).to_be_enabled()
    playwright.expect(page.get_by_role("button", name="Undo")).to_be_disabled()


def test_the_panel_names_who_thinks_only_where_that_takes_a_while(visit):
    page = visit(asked(trolls="greedy"))
    held = []
    page.route("**/api/think", lambda route: held.append(route))
    page.clock.install()
    press(page, "E2", "can move")
    press(page, "E6", "move to")
    wait_for_turns(page, 1)
    thinking = page.locator("#thinking")
    playwright.expect(thinking).to_be_hidden()
    page.clock.run_for(400)
    playwright.expect(thinking).to_contain_text("Greedy is thinking")
    playwright.expect(thinking).not_to_contain_text("compiled")
    page.clock.run_for(4000)
    playwright.expect(thinking).to_contain_text("may take a minute: it is compiled")
    held[0].continue_()
    wait_for_turns(page, 2)
    playwright.expect(thinking).to_be_hidden()


def test_a_server_that_does_not_answer_leaves_the_battle_to_go_on(visit):
    page = visit(asked(trolls="greedy"))
    alert = page.get_by_role("alert")
    movable = page.get_by_role("button", name=re.compile("can move"))
    playwright.expect(movable).to_have_count(32)
    page.route("**/api/*", lambda route: route.abort())
    page.get_by_role("button", name="Hint").click()
    playwright.expect(alert).to_contain_text("The server does not answer")
    playwright.expect(movable).to_have_count(32)
    press(page, "E2", "can move")
    press(page, "E6", "move to")
    page.unroute("**/api/*")
    page.route("**/api/think", lambda route: route.abort())
    press(page, "E6", "move to")  # the dwarf is still chosen
    wait_for_turns(page, 1)
    page.unroute("**/api/think")
    play_on = page.get_by_role("button", name="Play on")
    playwright.expect(play_on).to_be_enabled()
    playwright.expect(page.locator("#thinking")).to_be_hidden()
    play_on.click()
    wait_for_turns(page, 2)
    assert all("ERR_FAILED" in complaint for complaint in visit.complaints)
    visit.complaints.clear()


def test_a_wrong_link_is_refused_in_a_line_and_a_battle_begins(visit):
    page = visit(asked(position="nonsense"))
    playwright.expect(page.get_by_role("alert")).to_contain_text("position 'nonsense'")
    playwright.expect(state(page)).to_contain_text("Turn 1, the dwarfs to move")
    (refused,) = visit.complaints  # by the browser itself
    assert "400" in refused
    visit.complaints.clear()


def test_a_dialog_is_closed_by_a_click_beside_it_and_not_in_its_margin(visit):
    page = visit()
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog", name="New game")
    box = dialog.bounding_box()
    page.mouse.click(box["x"] + 4, box["y"] + 4)
    playwright.expect(dialog).to_be_visible()
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()  # as one who selects a text
    page.mouse.move(box["x"] - 9, box["y"] + 4)
    page.mouse.up()
    playwright.expect(dialog).to_be_visible()
    page.mouse.click(box["x"] - 9, box["y"] + 4)
    playwright.expect(dialog).to_be_hidden()


def test_what_cannot_be_copied_is_selected(visit):
    page = visit()
    # As on a page that is not served from the loopback.
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Copy").first.click()
    playwright.expect(page.get_by_role("button", name="Selected")).to_be_visible()
    selected = page.evaluate("document.activeElement.value")
    assert selected == page.evaluate("String(getSelection())") == Position.start().text


def test_a_first_visit_is_taught_by_playing(visit):
    page = visit(first=True)
    for number, lesson in enumerate(LESSONS, start=1):
        heading = page.get_by_role("heading", name=f"{number} of 6: {lesson.title}")
        heading.wait_for()
        playwright.expect(page.locator("#flip")).to_be_in_viewport(ratio=1)
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
    playwright.expect(state(page)).to_contain_text("Turn 1, the dwarfs to move: 32 dwarfs")


def test_the_keyboard_is_enough(visit):
    page = visit(asked(trolls="greedy"))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # to the board
    page.keyboard.press("Tab")
    focused = page.locator(":focus")
    playwright.expect(focused).to_have_attribute("aria-label", re.compile("^H8, "))
    for key in ["ArrowUp"] * 6 + ["ArrowLeft"] * 3:  # H2, then E2
        page.keyboard.press(key)
    playwright.expect(focused).to_have_attribute("aria-label", re.compile("^E2, dwarf"))
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    playwright.expect(focused).to_have_attribute("aria-label", re.compile("^E6, .*move to E6"))
    shoot(page, "keyboard")
    page.keyboard.press("Enter")
    wait_for_turns(page, 2)
    current = page.locator("[aria-current]")
    texts = turn_texts(page)
    page.keyboard.press("[")
    playwright.expect(current).to_have_text(texts[0])
    page.keyboard.press("Alt+]")  # as many keyboards write it
    playwright.expect(current).to_have_text(texts[1])
    page.keyboard.press("u")
    wait_for_turns(page, 0)


def test_the_focus_goes_on_where_the_button_that_had_it_goes(visit):
    page = visit(first=True)
    focused = page.locator(":focus")
    page.get_by_role("button", name="Skip").press("Enter")
    playwright.expect(focused).to_have_text(f"2 of 6: {LESSONS[1].title}")
    playwright.expect(page.get_by_role("status")).to_have_text(LESSONS[1].task)
    page.get_by_role("button", name="Leave").press("Enter")
    playwright.expect(focused).to_have_attribute("aria-label", re.compile("^H8, "))
    page = visit(asked(position=QUIET, agreement="yes"))
    page.get_by_role("button", name="Offer to end the battle").press("Enter")
    playwright.expect(page.get_by_role("button", name="Accept")).to_be_visible()
    playwright.expect(page.locator(":focus")).to_have_attribute("aria-label", re.compile("^H8, "))


def test_what_is_awaited_is_said_until_it_comes(visit):
    page = visit(asked())
    held = []
    page.route("**/api/insight", lambda route: held.append(route))
    page.get_by_role("tab", name="Insight").click()
    one, other = (page.get_by_role("region", name=f"{n} player") for n in ("First", "Second"))
    playwright.expect(one).to_contain_text("It looks at the position")
    held[0].continue_()
    one.get_by_role("img", name=re.compile("^Heat map")).wait_for()
    playwright.expect(one).not_to_contain_text("It looks")
    page.route("**/api/analyse", lambda route: held.append(route))
    other.get_by_role("combobox").select_option("alphabeta:depth=3")
    other.get_by_role("button", name="Think").click()
    playwright.expect(other).to_contain_text("It thinks")
    held[1].continue_()
    other.get_by_label("Main line").wait_for()
    playwright.expect(other).not_to_contain_text("It thinks")


def test_a_policy_shows_its_heat_map_and_a_search_its_main_line(visit):
    page = visit(asked())
    page.get_by_role("tab", name="Insight").click()
    one, other = (page.get_by_role("region", name=f"{n} player") for n in ("First", "Second"))
    image = one.get_by_role("img", name=re.compile("^Heat map"))
    image.wait_for()
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    assert one.get_by_role("list", name="Best turns").get_by_role("listitem").count() > 1
    other.get_by_role("combobox").select_option("alphabeta:depth=3")
    other.get_by_role("button", name="Think").click()
    other.get_by_label("Main line").wait_for()
    playwright.expect(other).to_contain_text("deep")
    shoot(page, "insight")
    if other.get_by_role("button", name="Stop").is_visible():
        other.get_by_role("button", name="Stop").click()
    other.get_by_role("button", name="Think").wait_for()


@pytest.mark.parametrize(("player", "measure"), list(zip(PATIENT, ("deep", "tries"), strict=True)))
def test_a_search_that_plays_shows_what_it_thinks_and_is_stopped(visit, player, measure):
    kind, _, _ = player.partition(":")
    agents.make({"alphabeta": "alphabeta:depth=1", "mcts": "mcts:sims=2"}[kind]).turn(
        Position.start()
    )  # compiles what the server would else spend its time on
    page = visit(asked(dwarfs=player))
    thought = state(page).get_by_role("note", name="Its best turn so far")
    playwright.expect(thought).to_contain_text(re.compile(rf"d.* by [\d.]+ · .*{measure}"))
    shoot(page, f"thinks-{measure}")
    state(page).get_by_role("button", name="Stop").click()
    wait_for_turns(page, 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 1280])
def test_the_page_fits_by_day_and_by_night(visit, width, scheme):
    page = visit(
        asked(trolls="greedy"), viewport={"width": width, "height": 844}, color_scheme=scheme
    )
    press(page, "E2", "can move")
    press(page, "E6", "move to")
    wait_for_turns(page, 2)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    board = page.locator("#board").bounding_box()
    assert board["width"] > 500 if width == 1280 else board["width"] > 0.85 * width
    stands_in_one_line(page)
    words = page.get_by_role("button", name="New game")
    assert words.bounding_box()["height"] < 45, "its words stand in one line"
    square = page.locator(".square").first.bounding_box()
    assert square["width"] >= 21 if width < 390 else square["width"] > 22
    shoot(page, f"page-{width}-{scheme}")


def stands_in_one_line(page):
    first, last = (page.locator(name).bounding_box() for name in ("#first", "#flip"))
    assert first["y"] == pytest.approx(last["y"], abs=2), "the buttons stand in one line"


@pytest.mark.parametrize("height", [390, 560])
def test_the_buttons_stand_in_one_line_below_a_low_board(visit, height):
    stands_in_one_line(visit(asked(), viewport={"width": 900, "height": height}))
