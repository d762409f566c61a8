"""The page in headless Chromium."""

import re
import shutil
from urllib.parse import urlencode

import pytest
from page_server import PATIENT, serving

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
"""The first takes a third of the others' processor time."""
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
PATIENCE = 120_000
"""Milliseconds to wait for anything: an agent may have to be compiled first."""


@pytest.fixture(scope="module")
def server():
    dwarfs, trolls = PATIENT  # named at the start, they can be chosen
    with serving("--dwarfs", dwarfs, "--trolls", trolls) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium here: Debian's package chromium-headless-shell would be right")
    playwright = pytest.importorskip("playwright.sync_api")
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
