r"""Game records: ``.thud`` files, a battle turn by turn.

::

    [Rules "classic"]                    tags, none or more: a name, a space, a quoted value
    [Event "A \"quiet\" evening"]        in which \" and \\ stand for " and \
    dF1,dG1,...,dK15,TG7,...,TJ9,RH8     the setup: each piece (d, T or R) and its square
    dF1-F5                               then a turn a line, in turn notation
    TG7-F6xE5xF5                         (docs/notation.md)
    offer                                offer, accept and decline are lines of their own

UTF-8; lines end with ``\n`` (``\r\n`` and ``\r`` are read); blank lines and spaces around a
line mean nothing. As other programs write this format, it is also read without tags, without
the R in the setup if that stands on H8, with the captures of a turn in any order and with a
space after a turn's piece (``d F1-F5``).

Some tags state facts of the battle. They must be true, and are written where they are needed:

==================  =================================================  ========================
tag                 value                                              written
==================  =================================================  ========================
``Rules``           the ruleset's ``spec``: its name, or its own       always
                    definition
``MaxQuietTurns``   the limits and whether the battle may end by       if not the ruleset's own
``MaxTurns``        agreement: 1 .. 32767; ``yes`` or ``no``
``OfferAfter``
``Agreement``
``Position``        the start as position text                         if more than the setup
                                                                       with the dwarfs to move
``Result``          the margin, from the dwarfs' view; ``*``           if the battle is over
``Termination``     how it ended (``no-legal-turn``, ``agreement``,    if the battle is over
                    ``quiet-limit``, ``turn-limit``, ``goal``,
                    ``surrounded``); ``unfinished``
==================  =================================================  ========================

Every other tag is kept as it is.

A file without ``Rules`` is read by the first of ``classic``, ``classic-all`` (what most programs
play), ``classic-any`` (which allows all that those do), ``koom-valley`` and
``koom-valley-football`` by which all its turns are legal: of those that start from its setup, if
any does. Programs that write no tags know no limits, so a limit that would end such a battle
before its last turn is lifted to 32767.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike, fsync
from pathlib import Path
from typing import Any, SupportsIndex

from thud_env.arguments import as_list, shown
from thud_env.board import SQUARE_NAMES
from thud_env.notation.positions import board_text
from thud_env.notation.turns import normalise_turn, turns_of_decisions
from thud_env.outcome import Termination
from thud_env.position import Position
from thud_env.record.tags import PLAIN_START, completed, read_limits, setup_of
from thud_env.record.text import RecordError, RecordText, decode_record, format_record
from thud_env.rulesets import LARGEST_LIMIT, RULESETS, Ruleset, get_ruleset

__all__ = ["Record", "RecordError", "read_record", "write_record"]

_LIMIT_THAT_ENDS = {
    Termination.QUIET_LIMIT: "max_quiet_turns",
    Termination.TURN_LIMIT: "max_turns",
}
_MOST_BYTES = 1 << 24
"""Some fifty times what the longest battle takes: 32767 turns of a line each."""
_GUESSES = ("classic", "classic-all", "classic-any", "koom-valley", "koom-valley-football")
"""The rulesets, in the order in which they are tried on a record that names none."""


@dataclass(frozen=True)
class Record:
    """A battle from a start through complete turns. Equal if start, turns and tags are.

    Examples:
        >>> record = Record(Position.start("classic"), ("dF1-F5", "TG7-G6"), {"Event": "A test"})
        >>> record.final.turn_number, record.tags
        (2, {'Rules': 'classic', 'Event': 'A test'})
        >>> Record.from_text(record.text) == record
        True

    Raises:
        RecordError: for a turn that is not legal, naming ``turn``; for a tag that is malformed
            or contradicts the start and the turns, naming ``tag``.
        TypeError: for a start that is no ``Position``, turns in one text, or tags without names.
    """

    start: Position
    turns: tuple[str, ...] = ()
    """In canonical notation; any spelling that ``Position.play`` takes may be given."""
    tags: dict[str, str] = field(default_factory=dict, hash=False)
    """Facts of the battle first, completed by those that a file must state."""
    final: Position = field(init=False, compare=False, repr=False)
    """The position after the last turn."""

    def __post_init__(self) -> None:
        _check_start(self.start)
        if isinstance(self.turns, str):
            raise TypeError(f"turns {shown(self.turns)}: a list of turns would be right")
        words = as_list("turns", self.turns)
        if not isinstance(self.tags, Mapping):
            raise TypeError(f"tags {shown(self.tags)}: a dict of text by name would be right")
        turns, final = _replay(self.start, words)
        object.__setattr__(self, "turns", turns)
        object.__setattr__(self, "final", final)
        object.__setattr__(self, "tags", completed(self.tags, self.start, final))

    @property
    def rules(self) -> Ruleset:
        """The ruleset that the battle is played by."""
        return self.start.rules

    def _repr_html_(self) -> str:
        """The battle as a stepper that plays by itself, which notebooks show."""
        from thud_env.render import stepper

        return stepper(self)

    @property
    def text(self) -> str:
        """The record as a ``.thud`` file holds it; ``Record.from_text`` is its inverse.

        Raises:
            RecordError: if a tag was changed to what is malformed or contradicts the battle.
        """
        tags = completed(self.tags, self.start, self.final)
        return format_record(tags, setup_of(self.start), self.turns)

    def positions(self) -> Iterator[Position]:
        """The start, and the position after each turn."""
        position = self.start
        yield position
        for turn in self.turns:
            position = position.play(turn)
            yield position

    def decisions(self) -> Iterator[tuple[Position, int]]:
        """Decisions that play the battle: each with the position before it.

        A turn does not tell how it was decided where several captures were: they come one by one,
        in the order of their squares, though a player may have chosen another or all at once.
        """
        position = self.start
        for turn in self.turns:
            for action in position.decisions(turn):
                yield position, action
                position = position.apply(action)

    @classmethod
    def from_decisions(
        cls,
        start: Position,
        decisions: Iterable[SupportsIndex],
        tags: dict[str, str] | None = None,
    ) -> Record:
        """The record of a battle played in an environment, from the actions of both sides.

        Args:
            start: the position in which the first action was taken.
            decisions: the actions, one after the other. Those of a last turn that is not complete
                are left out.
            tags: facts of the battle.

        Raises:
            IllegalMove: if an action is not legal.
            RecordError: as ``Record`` does.
            TypeError: if ``start`` is no ``Position``.

        Examples:
            >>> import thud_env
            >>> env = thud_env.env()
            >>> env.reset(seed=0)
            >>> start, actions = env.position, []
            >>> for agent in env.agent_iter():
            ...     observation, _, terminated, truncated, _ = env.last()
            ...     if terminated or truncated:
            ...         env.step(None)
            ...         continue
            ...     actions.append(env.action_space(agent).sample(observation["action_mask"]))
            ...     env.step(actions[-1])
            >>> Record.from_decisions(start, actions, {"Event": "A test"}).final == env.position
            True
        """
        _check_start(start)
        made, position = as_list("decisions", decisions), start
        for decision in made:
            position = position.apply(decision)
        return cls(start, tuple(turns_of_decisions(start.row, map(int, made))), tags or {})

    @classmethod
    def from_text(cls, text: str, rules: str | Ruleset | None = None) -> Record:
        """The record that ``text``, the content of a ``.thud`` file, describes.

        Args:
            text: see the module's docstring.
            rules: the ruleset; None: that of the ``Rules`` tag, or else the first that fits.

        Raises:
            RecordError: naming line and reason for anything that cannot be accepted.
            ThudError: if there is no ruleset called ``rules``.
            TypeError: if ``text`` is not text; ``read_record`` reads a file.
        """
        if not isinstance(text, str):
            kind = type(text).__name__
            raise TypeError(f"a {kind} is no text: read_record(path) reads a file")
        chosen = None if rules is None else get_ruleset(rules)
        source = RecordText(text)
        try:
            return _make_sense(source, chosen)
        except RecordError as error:
            source.locate(error)
            raise


def read_record(path: str | PathLike[str], rules: str | Ruleset | None = None) -> Record:
    """Read a ``.thud`` file.

    Args:
        path: the file.
        rules: the ruleset; None: that of the ``Rules`` tag, or else the first that fits.

    Raises:
        RecordError: naming file, line and reason for anything that cannot be accepted.
        ThudError: if there is no ruleset called ``rules``.
        OSError: if there is no such file, or it cannot be read.
        TypeError: for the text of a record in place of a path.
    """
    if isinstance(path, str) and "\n" in path:
        raise TypeError("path: that is a record's text, which Record.from_text(text) reads")
    with Path(path).open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    try:
        _check_length(data)
        return Record.from_text(decode_record(data), rules)
    except RecordError as error:
        error.path = str(path)
        raise


def _check_length(data: bytes) -> None:
    """Refuse what no battle takes, before its lines are told apart: that takes ten times as much
    memory.
    """
    if len(data) > _MOST_BYTES:
        raise RecordError(f"it is longer than {_MOST_BYTES} bytes, which no record is")


def _behind_links(path: Path) -> Path:
    """The file that a path means, so that a link is not replaced itself."""
    circle = OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    try:
        target = path.resolve()
    except RuntimeError:  # of links that lead in a circle, up to Python 3.12
        raise circle from None
    if target.is_symlink():
        raise circle
    return target


def write_record(path: str | PathLike[str], record: Record) -> None:
    """Write a ``.thud`` file, whole or not at all. A file that is there already is replaced, once
    the new content is safely on the disk, and keeps its permissions; a pipe is written to.

    Raises:
        TypeError: if ``record`` is not a ``Record``.
        RecordError: as its ``text`` does, and if it could not be read: its tags are too long.
        OSError: if the file cannot be written; it names ``path``.
    """
    if not isinstance(record, Record):  # a Position has a text, too
        raise TypeError(f"{type(record).__name__} cannot be written: a Record would be right")
    data = record.text.encode()
    _check_length(data)
    target = _behind_links(Path(path))
    if target.exists() and not target.is_file():
        try:
            target.write_bytes(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
        return
    temporary = target.with_name(f".{secrets.token_hex(8)}.thud.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):  # the first error says more
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno:  # it names the temporary file
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


# -- reading -------------------------------------------------------------------------------


def _make_sense(source: RecordText, rules: Ruleset | None) -> Record:
    """The record, by ``rules`` or else by those that its text names or fits."""
    named = _named_rules(source)
    if named and rules and named != rules:
        raise RecordError(f"the record is of {named.spec}, not of {rules.spec}", tag="Rules")
    limits = read_limits(source)
    known = rules or named
    failures = []
    for ruleset in [known] if known else _fitting_rules(source):
        try:
            return _play_out(source, ruleset, limits)
        except RecordError as error:
            if known is None:
                error.reason += f" (by the rules of {ruleset.name}, as the record names none)"
            failures.append(error)
    # The rules by which the battle goes on longest are the likeliest to be meant.
    raise max(failures, key=lambda error: -1 if error.turn is None else error.turn)


def _named_rules(source: RecordText) -> Ruleset | None:
    if "Rules" not in source.tags:
        return None
    try:
        return get_ruleset(source.tags["Rules"])
    except ValueError as error:
        raise RecordError(str(error), tag="Rules") from None


def _fitting_rules(source: RecordText) -> list[Ruleset]:
    all_rules = [RULESETS[name] for name in _GUESSES]
    starts = [rules for rules in all_rules if setup_of(Position.start(rules)) == source.setup]
    return starts or all_rules


def _play_out(source: RecordText, rules: Ruleset, limits: dict[str, Any]) -> Record:
    start = _start(source, rules, limits)
    tags = source.tags
    if "Position" in tags:
        tags = {**tags, "Position": start.text}  # in canonical spelling
    try:
        return Record(start, tuple(source.turns), tags)
    except RecordError as error:
        outcome = error.position.outcome if error.position else None
        limit = _LIMIT_THAT_ENDS.get(outcome.termination) if outcome else None
        if limit is None or limit in limits or "Rules" in source.tags:
            raise
        return _play_out(source, rules, {**limits, limit: LARGEST_LIMIT})


def _start(source: RecordText, rules: Ruleset, limits: dict[str, Any]) -> Position:
    tag = "Position" if "Position" in source.tags else None
    board = board_text(source.setup.get(name, " ") for name in SQUARE_NAMES)
    text = source.tags["Position"] if tag else board + PLAIN_START
    try:
        start = Position.from_text(text, rules, **limits)
    except ValueError as error:
        raise RecordError(str(error), tag=tag) from None
    if setup_of(start) != source.setup:
        raise RecordError("the setup line is not the board of the tag Position")
    return start


def _check_start(start: object) -> None:
    if not isinstance(start, Position):
        raise TypeError(f"start is a {type(start).__name__}: Position.start(rules) would be right")


def _replay(start: Position, words: Iterable[str]) -> tuple[tuple[str, ...], Position]:
    """The turns in canonical notation, and the position after them."""
    turns = []
    position = start
    for index, word in enumerate(words):
        try:
            turn = normalise_turn(word)
            successor = position.play(turn)
        except ValueError as error:
            raise RecordError(str(error), turn=index, position=position) from None
        turns.append(turn)
        position = successor
    return tuple(turns), position
