"""The text of a game record: its lines taken apart and put together. It knows no rules.

``files.py`` describes the format, and makes sense of what is found here.
"""

from __future__ import annotations

import re

from thud_env.board import SQUARE_BY_NAME
from thud_env.errors import ThudError
from thud_env.notation.turns import PIECES
from thud_env.position import Position

_TAG = re.compile(r'\[([A-Za-z][A-Za-z0-9_]*)[ \t]+"((?:[^"\\]++|\\["\\])*+)"\]')
_TAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ESCAPE = re.compile(r"\\(.)")
_NOT_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Line ends, control characters and halves of surrogate pairs: never part of a tag's value."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_SPACE_AFTER_PIECE = re.compile(r"(?<=^[dTR])[ \t]+")
_MAX_REASON = 500
"""A reason quotes what it is about; of garbage without line ends, this much will do."""


class RecordError(ThudError):
    """Something in a record that cannot be accepted: where, and why."""

    def __init__(
        self,
        reason: str,
        *,
        line: int | None = None,
        tag: str | None = None,
        turn: int | None = None,
        position: Position | None = None,
    ) -> None:
        super().__init__(reason if len(reason) <= _MAX_REASON else f"{reason[:_MAX_REASON]} ...")
        self.reason: str = self.args[0]
        self.path: str | None = None
        """The file, if the record was read from one."""
        self.line = line
        """The line, from 1, if the record was read from text."""
        self.tag = tag
        """The name of the tag that is wrong, if one is."""
        self.turn = turn
        """Which of the record's turns is wrong, from 0, if one is."""
        self.position = position
        """The position in which that turn was to be played."""

    def __str__(self) -> str:
        places = [self.path] if self.path else []
        if self.line is not None:
            places.append(f"line {self.line}")
        elif self.turn is not None:
            places.append(f"turn {self.turn + 1}")
        return f"{', '.join(places)}: {self.reason}" if places else self.reason


def decode_record(data: bytes) -> str:
    """The text in the bytes of a file.

    Raises:
        RecordError: naming the line that is not UTF-8.
    """
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = len(_LINE_END.split(data[: error.start].decode()))
        reason = f"byte 0x{data[error.start]:02x} is not UTF-8 text: {error.reason}"
        raise RecordError(reason, line=line) from None


class RecordText:
    """The text of a record taken apart: what stands in it, and on which line.

    Raises:
        RecordError: naming the line that is not what should stand there.
    """

    def __init__(self, text: str) -> None:
        self.tags: dict[str, str] = {}
        self.tag_lines: dict[str, int] = {}
        self.setup: dict[str, str] = {}
        """What stands on which square at the start: ``{"F1": "d", ...}``."""
        self.setup_line = 0
        self.turns: list[str] = []
        """The turns as they are spelled in the text."""
        self.turn_lines: list[int] = []
        lines = _LINE_END.split(text)
        for number, line in enumerate(map(_stripped, lines), start=1):
            if line.startswith("["):
                self._add_tag(line, number)
            elif line and not self.setup_line:
                self._add_setup(line, number)
            elif line:
                self.turns.append(_SPACE_AFTER_PIECE.sub("", line))
                self.turn_lines.append(number)
        if not self.setup_line:
            raise RecordError(
                "the record ends without a setup line, dF1,dG1,...,RH8", line=len(lines)
            )

    def _add_tag(self, line: str, number: int) -> None:
        match = _TAG.fullmatch(line)
        if match is None or _NOT_TEXT.search(match[2]):
            raise RecordError(
                f'{line!r} is not a tag: [Name "value"], with \\" for " and \\\\ for \\, would be',
                line=number,
            )
        name, value = match.groups()
        if self.setup_line:
            raise RecordError(f"tag {name} after the setup line: tags come first", line=number)
        if name in self.tags:
            raise RecordError(f"tag {name} is already on line {self.tag_lines[name]}", line=number)
        self.tags[name] = _ESCAPE.sub(r"\1", value)
        self.tag_lines[name] = number

    def _add_setup(self, line: str, number: int) -> None:
        for item in map(_stripped, line.split(",")):
            piece, square = item[:1], item[1:]
            if piece not in PIECES.values() or square not in SQUARE_BY_NAME:
                raise RecordError(
                    f"{item!r} in the setup line: d, T or R and a square, dF1 say, would be right",
                    line=number,
                )
            if square in self.setup:
                raise RecordError(f"two pieces on {square} in the setup line", line=number)
            self.setup[square] = piece
        if "R" not in self.setup.values():
            self.setup.setdefault("H8", "R")
        self.setup_line = number

    def locate(self, error: RecordError) -> None:
        """Note the line of an error that names a tag or a turn, or neither: the setup."""
        if error.tag is not None:
            error.line = self.tag_lines[error.tag]
        elif error.turn is not None:
            error.line = self.turn_lines[error.turn]
        else:
            error.line = self.setup_line


def _stripped(text: str) -> str:
    return text.strip(" \t")


def check_tag(name: str, value: str) -> None:
    """Refuse a tag that cannot be written.

    Raises:
        RecordError: naming the tag.
    """
    if not isinstance(name, str) or not _TAG_NAME.fullmatch(name):
        reason = f"{name!r} is not a tag's name: letters and digits would be"
        raise RecordError(reason, tag=str(name))
    if not isinstance(value, str) or _NOT_TEXT.search(value):
        raise RecordError(f"tag {name} {value!r}: a value is one line of text", tag=name)


def format_record(tags: dict[str, str], setup: dict[str, str], turns: tuple[str, ...]) -> str:
    """The text of a record; ``RecordText`` is its inverse."""
    tag_lines = [f'[{name} "{_escaped(value)}"]' for name, value in tags.items()]
    setup_line = ",".join(piece + square for square, piece in setup.items())
    return "".join(f"{line}\n" for line in (*tag_lines, setup_line, *turns))


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"")
