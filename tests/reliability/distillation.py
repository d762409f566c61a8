"""Distillations that are killed, stopped, cut off, or run into a full disk."""

from __future__ import annotations

from pathlib import Path
from random import Random
from unittest import mock

from reliability import disk, power, stops
from reliability.reach import standing_on
from reliability.row import Fault, Row
from reliability.runs import DISTILLED
from training.errors import RunError


def check_kills(size: int, random: Random, folder: Path) -> int:
    """As of a run of ``training.train``."""
    return stops.check_kills(size, random, folder, DISTILLED)


def check_signals(size: int, random: Random, folder: Path) -> int:
    """As of a run of ``training.train``."""
    return stops.check_signals(size, random, folder, DISTILLED)


def check_power(size: int, random: Random, folder: Path) -> int:
    """As of a run of ``training.train``."""
    return power.check(size, random, folder, DISTILLED)


def check_disk_once(size: int, random: Random, folder: Path) -> int:
    """As of a run of ``training.train``."""
    return disk.check_once(size, random, folder, DISTILLED)


def check_disk_from_then_on(size: int, random: Random, folder: Path) -> int:
    """As of a run of ``training.train``."""
    return disk.check_from_then_on(size, random, folder, DISTILLED)


PROVES = standing_on("training.distill.__main__")
FORGETS = Fault(
    lambda: mock.patch("training.distill.lessons.restore_generator", lambda *_: None),
    "the metrics differ",
)

ROWS = [
    Row(
        "kill -9 of a distillation at a random moment",
        stops.STOPPED,
        "kills",
        check_kills,
        3,
        200,
        {"what is drawn next is not restored": FORGETS},
        proves=PROVES,
    ),
    Row(
        "Ctrl-C, SIGTERM, SIGHUP of a distillation at a random moment",
        stops.STOPPED,
        "signals",
        check_signals,
        3,
        200,
        {"what is drawn next is not restored": FORGETS},
        proves=PROVES,
    ),
    Row(
        "power cut of a distillation at a random flush",
        power.PROMISE,
        "disk images",
        check_power,
        20,
        500,
        {
            "the names of lessons are not flushed": Fault(
                lambda: mock.patch(
                    "training.distill.distillation.flush_folder", lambda _folder: None
                ),
                "can go on from none of its checkpoints",
                RunError,
            )
        },
        proves=PROVES,
    ),
    Row(
        "disk full or failing, at a place where a distillation writes",
        disk.PROMISE,
        "injected errors",
        check_disk_once,
        12,
        2_000,
        {"which file failed is not said": disk.NOT_SAID},
        proves=PROVES,
    ),
    Row(
        "disk full or failing from such a place of a distillation on",
        disk.PROMISE,
        "disks",
        check_disk_from_then_on,
        6,
        2_000,
        {"which file failed is not said": disk.NOT_SAID},
        proves=PROVES,
    ),
]
