"""Make an animation, or a picture, of a battle from its record.

::

    python -m agents.replay game.thud -o game.gif
    python -m agents.replay game.thud -o game.svg --seconds 0.5 --size 480
    python -m agents.replay game.thud -o game.mp4 --first 100 --no-captions
    python -m agents.replay game.thud -o position.png --first 12

A ``.gif`` goes anywhere, a ``.svg`` is small and sharp, and a ``.mp4`` needs ffmpeg. A ``.png`` is
a picture of the last position alone.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.durable import new_file
from thud_env import Record, read_record
from thud_env.command import Command, bounded, say
from thud_env.errors import ThudError
from thud_env.render import animation, frames
from thud_env.render.picture import INK, PAPER

_COLOURS = 128
_FPS_OF_VIDEO = 25


def shortened(record: Record, turns: int | None) -> Record:
    """The record of the first ``turns`` turns; None: all. Of the tags it keeps who plays."""
    if turns is None:
        return record
    players = {tag: who for tag, who in record.tags.items() if tag in ("Dwarfs", "Trolls")}
    return Record(record.start, record.turns[:turns], players)


def pictures(
    record: Record, size: int, seconds: float, captions: bool, fps: float
) -> Iterator[tuple[NDArray[np.uint8], float]]:
    """Yield the frames of a battle, [height, width, 3] uint8, each with its seconds.

    Raises:
        ThudError: if Pillow is missing, or the size too small.
    """
    caption = _captioner(record, size) if captions else None
    for pixels, duration, turn in frames(record, size=size, seconds=seconds, fps=fps):
        yield (pixels if caption is None else caption(pixels, turn)), duration


def _pillow() -> Any:
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError:
        raise ThudError(
            'pictures that move need Pillow: pip install ".[render]" in the checkout would be right'
        ) from None
    return PIL


def _captioner(record: Record, size: int) -> Any:
    """A function that adds a line below a picture: who plays, and the turn."""
    pil = _pillow()
    height = 2 * round(size / 30)
    font = pil.ImageFont.load_default(size=round(0.6 * height))
    sides = [record.tags.get(side, "") for side in ("Dwarfs", "Trolls")]
    players = " against ".join(sides) if all(sides) else record.rules.title

    def caption(pixels: NDArray[np.uint8], turn: int) -> NDArray[np.uint8]:
        strip = pil.Image.new("RGB", (size, height), PAPER)
        draw = pil.ImageDraw.Draw(strip)
        words = f"{turn}. {record.turns[turn - 1]}" if turn else ""
        room = size - height
        squares = re.split(r"(?=[-x])", words)
        while len(squares) > 1 and draw.textlength(words, font=font) > room:
            squares.pop()
            words = f"{''.join(squares)} ..."
        width = draw.textlength(words, font=font)
        draw.text((height / 2, height / 2), words, INK, font, "lm")
        if width + draw.textlength(players, font=font) + height < room:
            draw.text((size - height / 2, height / 2), players, INK, font, "rm")
        return np.concatenate([pixels, np.asarray(strip)])

    return caption


def _some_pictures(record: Record, size: int, captions: bool) -> Iterator[NDArray[np.uint8]]:
    """Yield 1 to 16 pictures of a battle, the start and what turns led to, for their colours."""
    position = record.start
    yield next(pictures(Record(position, ()), size, 1, captions, fps=1))[0]
    for number, turn in enumerate(record.turns):
        if number % max(1, len(record.turns) // 8) == 0:
            short = Record(position, (turn,))
            *_, (pixels, _) = pictures(short, size, 1, captions, fps=1)
            yield pixels
        position = position.play(turn)


def write_gif(path: Path, record: Record, size: int, seconds: float, captions: bool) -> None:
    """Write a GIF that repeats, with one palette for all frames."""
    pil = _pillow()
    sample = pil.Image.fromarray(np.concatenate(list(_some_pictures(record, size, captions))))
    palette = sample.quantize(_COLOURS, pil.Image.Quantize.MEDIANCUT)

    def images() -> Iterator[Any]:
        shown = pictures(record, size, seconds, captions, fps=12.5)
        for (pixels, lasting), (more, _) in pairwise(chain(shown, [(None, 0)])):
            image = pil.Image.fromarray(pixels)
            image = image.quantize(palette=palette, dither=pil.Image.Dither.NONE)
            image.info["duration"] = 2000 if more is None else 10 * max(2, round(100 * lasting))
            yield image

    frames_left = images()  # Pillow keeps a byte a pixel of each; all of them in RGB would be more
    next(frames_left).save(
        path, format="GIF", save_all=True, append_images=frames_left, loop=0, optimize=False
    )


def write_mp4(path: Path, record: Record, size: int, seconds: float, captions: bool) -> None:
    """Write a video, with ffmpeg.

    Raises:
        ThudError: if there is no ffmpeg.
        ChildProcessError: if it fails.
    """
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise ThudError("a .mp4 needs ffmpeg, which is not here: a .gif or .svg would be right")
    shown = pictures(record, size, seconds, captions, fps=_FPS_OF_VIDEO)
    first, duration = next(shown)
    height, width = first.shape[:2]
    frames_in = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {_FPS_OF_VIDEO} -i -"
    video_out = "-an -vf pad=ceil(iw/2)*2:ceil(ih/2)*2 -pix_fmt yuv420p -f mp4"
    command = [ffmpeg, *f"-y -loglevel error {frames_in} {video_out}".split(), str(path)]
    with tempfile.TemporaryFile() as errors:  # a pipe would fill while frames are written
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=errors) as encoder:
            assert encoder.stdin is not None
            clock = due = 0.0
            # A pipe that breaks means that ffmpeg has ended, and its exit code says so too.
            with contextlib.suppress(BrokenPipeError), encoder.stdin:
                for pixels, lasting in chain([(first, duration)], shown):
                    due += lasting
                    while clock < due:
                        encoder.stdin.write(pixels.tobytes())
                        clock += 1 / _FPS_OF_VIDEO
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
    if encoder.returncode != 0:
        raise ChildProcessError(
            f"ffmpeg failed: {said or f'it ended with code {encoder.returncode}'}"
        )


def write_svg(path: Path, record: Record, size: int, seconds: float, captions: bool) -> None:
    """Write an animated SVG."""
    picture = animation(record, size=size, seconds=seconds, captions=captions)
    path.write_bytes(picture.encode())


def write_png(path: Path, record: Record, size: int, seconds: float, captions: bool) -> None:
    """Write a still picture of the last position."""
    ((pixels, _),) = deque(pictures(record, size, seconds, captions, fps=1), maxlen=1)
    _pillow().Image.fromarray(pixels).save(path, format="PNG")


WRITERS = {".gif": write_gif, ".mp4": write_mp4, ".svg": write_svg, ".png": write_png}


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("agents.replay", __doc__)
    command.add_argument("record", type=Path, metavar="FILE", help="a .thud file")
    command.add_argument(
        "-o",
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help=f"what to write: {', '.join(WRITERS)}",
    )
    command.add_argument(
        "--seconds",
        type=bounded(float, 0.1, 60),
        default=0.8,
        metavar="S",
        help="how long a turn is shown (0.8)",
    )
    command.add_argument(
        "--size",
        type=bounded(int, 102, 2040),
        default=408,
        metavar="N",
        help="width in pixels (408); multiples of 17 are sharpest",
    )
    command.add_argument(
        "--first", type=bounded(int, 0), metavar="N", help="only so many turns (all)"
    )
    command.add_argument("--no-captions", action="store_true", help="no line below the board")
    command.add_argument("--rules", metavar="R", help="the ruleset (the record's own)")
    return command.run(_replay, words)


def _replay(arguments: argparse.Namespace) -> int:
    out: Path = arguments.out
    if out.suffix not in WRITERS:
        raise ThudError(f"{out}: {', '.join(WRITERS)} can be written")
    record = shortened(read_record(arguments.record, arguments.rules), arguments.first)
    write = WRITERS[out.suffix]
    try:
        with new_file(out) as unfinished:
            write(unfinished, record, arguments.size, arguments.seconds, not arguments.no_captions)
    except ChildProcessError as error:
        return say(f"replay: {error}", 1)
    print(f"{out}: {len(record.turns)} turns, {out.stat().st_size / 1024:,.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
