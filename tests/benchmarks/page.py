"""Time the page in headless Chromium: until the board is drawn, and until a move is answered.

::

    python tests/benchmarks/page.py

Prints the bytes that the first page takes, the seconds from ``make play`` to a board, and the
milliseconds from a click on a move's end to the answer of ``greedy`` on the board. The browser runs
already, as a user's does. Both figures are medians; the largest stands beside.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, Request, sync_playwright

from thud_env.command import Command, bounded

ROOT = Path(__file__).parents[2]
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
H8 = re.compile("^H8, ")


@contextmanager
def make_play() -> Iterator[str]:
    """``make play`` as a user types it; yields the address that it prints."""
    process = subprocess.Popen(
        ["make", "play"], cwd=ROOT, stdout=subprocess.PIPE, text=True, process_group=0
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if " is at http" in line:
                yield line.split(" is at ")[1].split()[0]
                break
        else:
            raise SystemExit("make play printed no address")
    finally:
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal does
        process.wait(30)


def open_page(browser: Browser, address: str) -> tuple[Page, int]:
    """The page with its board drawn, and the bytes that it took."""
    page = browser.new_context(viewport={"width": 1280, "height": 840}).new_page()
    page.add_init_script("localStorage.setItem('thud-lessons-seen', 'yes')")
    sizes: list[int] = []
    page.on("requestfinished", lambda request: sizes.append(_bytes_of(request)))
    page.goto(address)
    page.get_by_role("button", name=H8).wait_for()
    return page, sum(sizes)


def _bytes_of(request: Request) -> int:
    sizes = request.sizes()
    return sizes["responseBodySize"] + sizes["responseHeadersSize"]


def round_trips(page: Page, address: str, moves: int) -> list[float]:
    """Milliseconds from each of a battle's clicks to the drawn answer of the opponent.

    They are measured inside the page, so that the driver's own messages do not count, and at a
    person's pace: pieces have come to rest before the next click.
    """
    page.goto(f"{address}#rules=classic&trolls=greedy")
    page.reload()
    page.get_by_role("button", name=H8).wait_for()
    found = []
    for _ in range(moves):
        page.wait_for_timeout(700)
        found.append(page.evaluate(_ONE_MOVE))
    return found


# Clicks a dwarf that can move without hurling, then its first square; the time runs from the second
# click until the list has two turns more.
_ONE_MOVE = """async () => {
  const named = (pattern) => [...document.querySelectorAll('[aria-label]')]
    .filter((one) => pattern.test(one.getAttribute('aria-label')));
  const click = (one) => one.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  const turns = () => document.querySelectorAll('#list li').length;
  for (const dwarf of named(/can move/).sort(() => Math.random() - 0.5)) {
    click(dwarf);
    const [end] = named(/move to/);
    if (!end) continue;
    const before = turns();
    const begun = performance.now();
    click(end);
    while (turns() < before + 2) {
      if (performance.now() > begun + 20000) throw new Error('no answer within 20 s');
      await new Promise((done) => requestAnimationFrame(done));
    }
    return performance.now() - begun;
  }
  throw new Error('no dwarf can move');
}"""


def measure(arguments: argparse.Namespace) -> None:
    """Measure and print."""
    names = ("chromium", "chromium-browser", "chromium-headless-shell")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        raise SystemExit("no Chromium here: make chromium installs Debian's")
    boards: list[float] = []
    answers: list[float] = []
    size = 0
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        for number in range(arguments.starts):
            begun = time.perf_counter()
            with make_play() as address:
                page, size = open_page(browser, address)
                boards.append(time.perf_counter() - begun)
                if number == arguments.starts - 1:
                    answers = round_trips(page, address, arguments.moves)
                page.context.close()
        browser.close()
    print(f"first page: {size / 1024:.0f} KiB")
    print(f"make play to a board: {statistics.median(boards):.2f} s (largest {max(boards):.2f})")
    print(
        f"a move answered by greedy: {statistics.median(answers):.0f} ms"
        f" (largest {max(answers):.0f})"
    )


def main() -> int:
    """Read the command line, and measure."""
    command = Command("page", __doc__)
    add, count = command.add_argument, bounded(int, 1)
    add("--starts", type=count, default=5, help="of `make play` (%(default)s)")
    add("--moves", type=count, default=30, help="to be answered (%(default)s)")
    return command.run(measure)


if __name__ == "__main__":
    sys.exit(main())
