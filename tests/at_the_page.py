"""What a person does at the page, and sees there: elements are found by role and name.

Screenshots are left in build/screenshots.
"""

import re

import pytest
from page_server import ROOT

from agents.web.lessons import LESSONS
from thud_env import read_record

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

SHOTS = ROOT / "build" / "screenshots"
SHOVE = LESSONS[3].position
TRAMPLES = "5/7/9/11/13/1Td1d1d8/15/7R7/15/15/13/11/9/7/5 t - 0 0"
QUIET = "5/1dd4/9/6T4/2dd9/3dd10/15/7R7/10dd3/2T7dd3/13/11/2ddd4/7/5 d - 24 130"


def press(page, square, does=""):
    """Press a square, which does what its name says."""
    page.get_by_role("button", name=re.compile(f"^{square}, .*{does}")).click()


def turns(page):
    return page.get_by_role("list", name="Turns").get_by_role("listitem")


def turn_texts(page):
    return [text.split("\n")[0] for text in turns(page).all_inner_texts()]


def wait_for_turns(page, count):
    expect(turns(page)).to_have_count(count)


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


def hold_first(page, address):
    """Hold back the first request to an address; returns the list in which it then is."""
    held = []

    def answer(route):
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route(address, answer)
    return held


def let_go(page, held):
    """Let the request go that was held back, and wait until its answer has been dealt with."""
    with page.expect_response(held[0].request.url):
        held[0].continue_()
    page.wait_for_timeout(300)


def open_new_game(page, **players):
    """Open the dialog for a new game, and choose players by how they begin, ``trolls="You"``."""
    page.get_by_role("button", name="New game").click()
    dialog = page.get_by_role("dialog", name="New game")
    for side, player in players.items():
        radios = dialog.get_by_role("radiogroup", name=side.title())
        radios.get_by_role("radio", name=re.compile(f"^{player}")).check()
    return dialog


def begin(page, title=None):
    """Begin a new game, of that title if there is one."""
    dialog = open_new_game(page)
    if title:
        dialog.get_by_label("Game", exact=True).select_option(title)
    dialog.get_by_role("button", name="Begin").click()


def asked(rules="classic", position="", **more):
    return {"rules": rules, "position": position, **more}


def after_two_turns(visit):
    """The page after a turn of a person's dwarfs and one of greedy trolls."""
    page = visit(asked(trolls="greedy"))
    press(page, "F1", "can move")
    press(page, "F2", "move to")
    wait_for_turns(page, 2)
    return page
