"""One signature: however the rules are run, they play the same battles."""

from __future__ import annotations

from pathlib import Path
from random import Random
from unittest import mock

from test_uncompiled import PLAY

import thud_env.bench
from reliability.row import THE_GAME, Fault, Row
from reliability.tree import PLAIN, ROOT, counts_quiet_turns_twice, run

_PROMISE = "One signature"


def check_plain(size: int, random: Random, folder: Path) -> int:
    """Battles by compiled rules, and by the same rules as plain Python."""
    program = PLAY.replace("games=20", f"games={size}")
    plain = run("-c", program, **PLAIN)
    compiled = run("-P", "-c", program, PYTHONPATH=str(ROOT))  # not of the working folder
    assert plain == compiled
    return size


def check_lanes(size: int, random: Random, folder: Path) -> int:
    """What ``make lanes`` wrote: the signature by each Python, and by the lowest versions."""
    lanes = sorted((ROOT / "build").glob("lane-*/signature"))
    ours = thud_env.bench.signature()
    for lane in lanes:
        assert lane.read_text(encoding="utf-8").strip() == ours, lane
    return len(lanes)


ROWS = [
    Row(
        "compiled and as plain Python",
        _PROMISE,
        "battles",
        check_plain,
        20,
        200,
        {"a quiet turn counts twice": Fault(counts_quiet_turns_twice, "plain == compiled")},
        chunk=60,
        proves=(*THE_GAME, "thud_env/bench.py"),
    ),
    Row(
        "make lanes: other Pythons, and the lowest versions",
        _PROMISE,
        "lanes",
        check_lanes,
        1,
        4,
        {
            "a battle more is played": Fault(
                lambda: mock.patch(
                    "thud_env.bench.signature", lambda play=thud_env.bench.signature: play(1_010)
                ),
                "build/lane-",
            ),
        },
        needs="build/lane-*/signature",
        proves=(*THE_GAME, "thud_env/bench.py"),
    ),
]
