"""Power cuts, simulated: what has not been flushed is gone.

Every ``os.fsync`` is seen. A file keeps what it held when it was last flushed, an unflushed one is
empty; a folder keeps the names that it had when it was last flushed. From these an image of the
disk is made at a random moment, and the run goes on from there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from random import Random
from unittest import mock

from reliability.reach import standing_on
from reliability.row import Fault, Row
from reliability.runs import CONFIG, assert_ends_as, gone_on_from, outcome, trained
from training.config import RunConfig
from training.errors import RunError

Names = dict[str, tuple[int, str]]
"""Of a folder: by name, the number of what it leads to, and the target if it is a link."""


class Disk:
    """What a power cut would leave of a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[int, bytes] = {}
        self._folders: dict[int, Names] = {root.stat().st_ino: {}}
        self._open: list[int] = []  # so that no number is given to another file
        self.flushes = 0
        self.on_flush: Callable[[], None] = lambda: None

    def flushed(self, file: int) -> None:
        """Note what has just been flushed."""
        found = os.fstat(file)
        path = Path(f"/proc/self/fd/{file}").resolve()
        if not path.is_relative_to(self._root):
            return
        self._open.append(os.open(path, os.O_RDONLY))
        if stat.S_ISDIR(found.st_mode):
            self._folders[found.st_ino] = {
                entry.name: (
                    entry.stat(follow_symlinks=False).st_ino,
                    str(Path(entry).readlink()) if entry.is_symlink() else "",
                )
                for entry in os.scandir(path)
            }
        else:
            self._files[found.st_ino] = path.read_bytes()
        self.flushes += 1
        self.on_flush()

    def image(self, target: Path) -> None:
        """Write what would be left."""
        self._write(self._root.stat().st_ino, self._root, target)

    def _write(self, number: int, source: Path, target: Path) -> None:
        target.mkdir()
        for name, (inner, link) in self._folders.get(number, {}).items():
            if link:
                (target / name).symlink_to(link)
            elif inner in self._folders:
                self._write(inner, source / name, target / name)
            elif inner in self._files or not (source / name).is_dir():
                (target / name).write_bytes(self._files.get(inner, b""))
            else:
                (target / name).mkdir()

    def close(self) -> None:
        """Let go of the files."""
        for file in self._open:
            os.close(file)


def _run(runs: Path, config: RunConfig, on_flush: Callable[[Disk], None]) -> Disk:
    """A run, with ``on_flush`` called after every flush."""
    runs.mkdir()
    disk, fsync = Disk(runs), os.fsync
    disk.on_flush = lambda: on_flush(disk)

    def seen(file: int) -> None:
        fsync(file)
        disk.flushed(file)

    with mock.patch("os.fsync", seen):
        trained(runs, config)
    disk.close()
    return disk


def check(size: int, random: Random, folder: Path, config: RunConfig = CONFIG) -> int:
    """Each image goes on, loses no checkpoint that had been announced, and ends as if uncut."""
    flushes = _run(folder / "whole", config, lambda _disk: None).flushes
    wanted = outcome(folder / "whole" / "small")
    done = 0
    while done < size:
        moments = set(random.sample(range(1, flushes + 1), min(size - done, flushes)))
        announced: list[tuple[Path, int]] = []

        def cut(disk: Disk, moments: set[int] = moments, made: list = announced) -> None:
            if disk.flushes in moments:
                image = folder / f"image{done + len(made)}"
                disk.image(image)
                latest = folder / f"cut{done}" / "small" / "checkpoints" / "latest"
                # By now the link is there, so the checkpoint that it names must be safe.
                made.append((image, int(latest.readlink().name) if latest.is_symlink() else 0))

        _run(folder / f"cut{done}", config, cut)
        for image, decisions in announced:
            run, shown = trained(image, config, resume=True)
            assert "are lost" not in shown, f"a gap: {shown}"
            assert "damaged" not in shown, shown
            at = gone_on_from(shown)
            assert at >= decisions, f"{decisions} decisions were safe, {at} are left"
            assert_ends_as(run, wanted)
        done += len(announced)
    return done


PROMISE = "A power cut loses nothing that was announced"

ROWS = [
    Row(
        "power cut at a random flush",
        PROMISE,
        "disk images",
        check,
        20,
        500,
        {
            "metrics not flushed before a checkpoint": Fault(
                lambda: mock.patch("training.commands.journal.Journal.flush", lambda _self: None),
                "a gap: ",
            ),
            "folders not flushed": Fault(
                lambda: mock.patch("agents.durable.flush_folder", lambda _folder: None),
                "decisions were safe",
            ),
            "a file not flushed": Fault(
                lambda: mock.patch("agents.networks.checkpoint.write_flushed", Path.write_bytes),
                "can go on from none of its checkpoints",
                RunError,
            ),
        },
        proves=standing_on("training.train"),
    ),
]
