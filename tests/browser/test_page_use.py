"""How the page is to use: dialogs, the keyboard, what is said, and how it fits."""

import re
from urllib.parse import urlencode

import pytest
from at_the_page import (
    QUIET,
    after_two_turns,
    asked,
    begin,
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
from page_server import PATIENT

from agents.web.lessons import LESSONS
from agents.words import aim
from thud_env import Position, get_ruleset


def test_a_dialog_is_closed_by_a_click_beside_it_and_not_in_its_margin(visit):
    page = visit()
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog", name="New game")
    box = dialog.bounding_box()
    page.mouse.click(box["x"] + 4, box["y"] + 4)
    expect(dialog).to_be_visible()
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()  # as one who selects a text
    page.mouse.move(box["x"] - 9, box["y"] + 4)
    page.mouse.up()
    expect(dialog).to_be_visible()
    page.mouse.click(box["x"] - 9, box["y"] + 4)
    expect(dialog).to_be_hidden()


@pytest.mark.parametrize(("name", "focused"), [("New game", "Game"), ("Open", "From a file")])
def test_a_dialog_begins_at_what_is_to_be_chosen_and_its_button_is_in_sight(visit, name, focused):
    page = visit(viewport={"width": 375, "height": 560})
    page.get_by_role("button", name=name).press("Enter")
    dialog = page.get_by_role("dialog", name=name)
    expect(dialog.get_by_label(focused, exact=True)).to_be_focused()
    last = dialog.get_by_role("button", name="Begin" if name == "New game" else "Open")
    expect(last).to_be_in_viewport(ratio=1)
    shoot(page, f"dialog-{name.lower().replace(' ', '-')}")


def test_nothing_to_open_is_said_at_the_field_that_is_empty(visit):
    page = visit()
    page.get_by_role("button", name="Open").click()
    dialog = page.get_by_role("dialog", name="Open a battle")
    dialog.get_by_role("button", name="Open").click()
    text = dialog.get_by_label("Or pasted here")
    expect(text).to_be_focused()
    assert text.evaluate("field => field.validity.valueMissing")
    expect(dialog.locator(".wrong")).to_be_empty()


def test_an_error_has_the_width_of_a_phone(visit):
    page = visit(asked(), viewport={"width": 375, "height": 667})
    page.evaluate("location.hash = 'rules=nonsense'")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("unknown ruleset")
    assert alert.bounding_box()["width"] > 330
    visit.complaints.clear()  # the browser's own


def test_what_cannot_be_copied_is_selected(visit):
    page = visit()
    # As on a page that is not served from the loopback.
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("button", name="Selected")).to_be_visible()
    selected = page.evaluate("document.activeElement.value")
    assert selected == page.evaluate("String(getSelection())") == Position.start().text


def test_the_page_is_of_use_before_its_first_view_has_come(visit):
    page = visit()
    held = hold_first(page, "**/api/view")
    with page.expect_request("**/api/view"):
        page.reload()
    for name in ("Share", "Undo", "Hint", "Flip", "One turn back"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    page.keyboard.press("u")
    page.get_by_role("tab", name="Insight").click()
    page.get_by_role("button", name="Open").click()
    page.get_by_role("dialog", name="Open").get_by_role("button", name="Close").click()
    begin(page, "Koom Valley Thud")
    expect(page.locator("#title")).to_have_text("Koom Valley Thud")
    expect(page.get_by_role("button", name="Share")).to_be_enabled()
    let_go(page, held)
    expect(page.locator("#title")).to_have_text("Koom Valley Thud")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_keyboard_is_enough(visit):
    page = visit(asked(trolls="greedy"))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # to the board
    focused = page.locator(":focus")
    expect(focused).to_have_attribute("aria-label", re.compile("^H8, "))
    for key in ["ArrowUp"] * 6 + ["ArrowLeft"] * 3:  # H2, then E2
        page.keyboard.press(key)
    expect(focused).to_have_attribute("aria-label", re.compile("^E2, dwarf"))
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    expect(focused).to_have_attribute("aria-label", re.compile("^E6, .*move to E6"))
    shoot(page, "keyboard")
    page.keyboard.press("Enter")
    wait_for_turns(page, 2)
    current = page.locator("[aria-current]")
    texts = turn_texts(page)
    page.keyboard.press("[")
    expect(current).to_have_text(texts[0])
    page.keyboard.press("Alt+]")  # as many keyboards write it
    expect(current).to_have_text(texts[1])
    page.keyboard.press("u")
    wait_for_turns(page, 0)


def test_the_square_that_the_keyboard_comes_to_is_in_sight(visit):
    page = visit(asked(), viewport={"width": 640, "height": 320})  # as at 200%
    page.get_by_role("button", name=re.compile("^H8, ")).focus()
    for square in ["H15", "H1"]:
        for _ in range(14):
            page.keyboard.press("ArrowDown" if square == "H15" else "ArrowUp")
        expect(page.locator(":focus")).to_have_attribute("aria-label", re.compile(f"^{square}, "))
        expect(page.locator(":focus")).to_be_in_viewport(ratio=1)


def test_the_keys_of_the_browser_work_on_the_board(visit):
    page = visit(asked())
    press(page, "E2", "can move")
    page.evaluate("address => location.hash = address", urlencode(asked("koom-valley")))
    expect(page.locator("#title")).to_have_text("Koom Valley Thud")
    page.get_by_role("button", name=re.compile("^H8, ")).focus()
    arrow = """grid => grid.dispatchEvent(new KeyboardEvent(
        "keydown", { key: "ArrowLeft", altKey: true, cancelable: true }))"""
    assert page.locator(".grid").evaluate(arrow), "Alt and an arrow are the browser's Back"


@pytest.mark.parametrize(
    ("lesson", "square", "words"),
    [
        (0, "F9", "F9: move to any of 38 squares."),
        (1, "F9", "hurl to J6, captures J6."),
        (3, "K7", "K7: move to any of 5 squares; move to J7, may capture H6; shove to H7, may "),
    ],
)
def test_what_a_piece_that_is_chosen_can_do_is_said(visit, lesson, square, words):
    page = visit(asked(position=LESSONS[lesson].position))
    press(page, square, "can move")
    expect(page.get_by_role("status")).to_contain_text(words)


def test_the_positions_that_are_stepped_through_are_said(visit):
    page = after_two_turns(visit)
    page.keyboard.press("[")
    expect(page.get_by_role("status")).to_contain_text("Turn 2, the trolls to move")
    page.keyboard.press("u")
    expect(page.get_by_role("status")).to_contain_text("Turn 1, the dwarfs to move")


@pytest.mark.parametrize(
    ("position", "presses", "words"),
    [
        (LESSONS[1].position, ("F9", "J6"), "Dwarf F9 to J6, captures J6"),
        (LESSONS[3].position, ("K7", "H7", "G7", "H6"), "Troll K7 to H7, captures G7 and H6"),
    ],
)
def test_turns_are_said_in_words_too(visit, position, presses, words):
    page = visit(asked(position=position))
    page.get_by_role("button", name="Hint").click()
    piece = "dwarf" if presses[0] == "F9" else "troll"
    expect(page.locator("#about")).to_have_text(re.compile(f"^Advice: {piece} .* to .*, captures "))
    for square in presses:
        press(page, square)
    if len(presses) > 2:
        page.get_by_role("button", name="Capture no more").click()
    wait_for_turns(page, 1)
    turn = turns(page).get_by_role("button")
    expect(turn).to_have_accessible_description(words)
    expect(page.get_by_role("status")).to_contain_text(f"{words}. Turn 2, the ")
    assert turn_texts(page) != [words]


def test_the_players_that_are_proposed_are_in_sight(visit):
    page = visit(asked(trolls="champion"))
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog", name="New game")
    chosen = dialog.get_by_role("radiogroup", name="Trolls").get_by_role("radio", checked=True)
    expect(chosen).to_have_value("champion")
    expect(chosen).to_be_in_viewport()
    dialog.get_by_label("Game", exact=True).select_option("Koom Valley Thud")
    expect(chosen).to_be_in_viewport()


def test_the_aim_of_a_game_is_told_where_it_is_chosen_and_as_it_begins(visit):
    page = visit(asked())
    expect(page.get_by_role("tabpanel", name="Turns")).to_contain_text("a dwarf counts 1, a troll")
    page.get_by_role("button", name="New game").click()
    game = page.get_by_role("dialog", name="New game").get_by_label("Game", exact=True)
    expect(game).to_have_accessible_description(aim(get_ruleset("classic")))
    game.select_option("Koom Valley Football")
    expect(game).to_have_accessible_description(aim(get_ruleset("koom-valley-football")))
    shoot(page, "new-game")
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("tabpanel", name="Turns")).to_contain_text("Nothing is captured.")


def test_the_focus_goes_on_where_the_button_that_had_it_goes(visit):
    page = visit(first=True)
    focused = page.locator(":focus")
    page.get_by_role("button", name="Skip").press("Enter")
    expect(focused).to_have_text(f"2 of 6: {LESSONS[1].title}")
    expect(page.get_by_role("status")).to_have_text(LESSONS[1].task)
    page.get_by_role("button", name="Leave").press("Enter")
    expect(focused).to_have_attribute("aria-label", re.compile("^H8, "))
    page = visit(asked(position=QUIET, agreement="yes"))
    page.get_by_role("button", name="Offer to end the battle").press("Enter")
    expect(page.get_by_role("button", name="Accept")).to_be_visible()
    expect(page.locator(":focus")).to_have_attribute("aria-label", re.compile("^H8, "))


def test_what_is_awaited_is_said_until_it_comes(visit):
    page = visit(asked())
    held = []
    page.route("**/api/insight", lambda route: held.append(route))
    with page.expect_request("**/api/insight"):
        page.get_by_role("tab", name="Insight").click()
    one, other = (page.get_by_role("region", name=f"{n} player") for n in ("First", "Second"))
    expect(one).to_contain_text("It looks at the position")
    held[0].continue_()
    one.get_by_role("img", name=re.compile("^Heat map")).wait_for()
    expect(one).not_to_contain_text("It looks")
    page.route("**/api/analyse", lambda route: held.append(route))
    other.get_by_role("combobox").select_option("alphabeta:depth=3")
    other.get_by_role("button", name="Think").click()
    expect(other).to_contain_text("It thinks")
    held[1].continue_()
    other.get_by_label("Main line").wait_for()
    expect(other).not_to_contain_text("It thinks")


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


@pytest.mark.parametrize(
    ("number", "words"), [(3, "Capture no more"), (4, "Accept: end the battle")]
)
def test_what_is_to_be_decided_is_in_sight_on_a_phone(visit, number, words):
    page = visit(first=True, viewport={"width": 390, "height": 664})
    for before in range(number):
        page.get_by_role("heading", name=f"{before + 1} of 6").wait_for()
        page.get_by_role("button", name="Skip").click()
    page.get_by_role("heading", name=f"{number + 1} of 6").wait_for()
    if number == 3:
        press(page, "K7", "can move")
        press(page, "H7", "shove to H7")
        press(page, "G7", "capture")
    expect(page.get_by_role("button", name=words)).to_be_in_viewport(ratio=1)
    shoot(page, f"phone-decision-{number + 1}")


def test_who_has_won_is_in_sight_on_a_phone(visit):
    page = visit(asked(trolls="greedy", max_turns="2"), viewport={"width": 390, "height": 664})
    press(page, "E2", "can move")
    press(page, "E6", "move to")
    wait_for_turns(page, 2)
    about = page.locator("#about")
    expect(about).to_contain_text("the trolls win by")
    expect(about).to_be_in_viewport(ratio=1)


def test_a_page_whose_first_request_fails_says_so_until_it_is_reloaded(visit):
    page = visit()
    page.route("**/api/welcome", lambda route: route.abort())
    page.clock.install()
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("Reload the page to try again.")
    page.clock.fast_forward(60_000)
    expect(page.get_by_role("alert")).to_contain_text("Reload the page to try again.")
    page.unroute("**/api/welcome")
    page.reload()
    expect(state(page)).to_contain_text("Turn 1, the dwarfs to move")
    visit.complaints.clear()  # of the browser itself: what was not answered


@pytest.mark.parametrize("height", [560, 844])
def test_a_search_can_be_stopped_on_a_phone_without_scrolling(visit, height):
    page = visit(asked(dwarfs=PATIENT[0]), viewport={"width": 360, "height": height})
    stop = page.get_by_role("button", name="Stop")
    expect(stop).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("note", name="Its best turn so far")).to_contain_text("deep")
    expect(stop).to_be_in_viewport(ratio=1)
    shoot(page, f"phone-thinks-{height}")
    page.get_by_role("button", name="Pause").click()


def test_the_title_says_what_goes_on(visit):
    page = visit(asked(trolls="greedy", max_turns="2"))
    expect(page).to_have_title("Your turn · Thud")
    held = hold_first(page, "**/api/think")
    press(page, "E2", "can move")
    press(page, "E6", "move to")
    expect(page).to_have_title("Greedy to move · Thud")
    let_go(page, held)
    expect(page).to_have_title("Trolls win · Thud")
    page.get_by_role("button", name="One turn back").click()
    page.get_by_label("Who plays the trolls").select_option("You")
    expect(page).to_have_title("Trolls to move · Thud")


def stands_in_one_line(page):
    first, last = (page.locator(name).bounding_box() for name in ("#first", "#flip"))
    assert first["y"] == pytest.approx(last["y"], abs=2), "the buttons stand in one line"


@pytest.mark.parametrize(("width", "height"), [(900, 390), (900, 560), (320, 568), (320, 256)])
def test_the_buttons_stand_in_one_line_below_a_low_or_narrow_board(visit, width, height):
    page = visit(asked(), viewport={"width": width, "height": height})
    stands_in_one_line(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
