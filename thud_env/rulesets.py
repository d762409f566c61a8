"""Rulesets: what differs between the games, as data.

Section numbers are those of docs/rules.md. The compiled rules ask a state row for single traits
(``rules/traits.py``), never for a ruleset: any combination of traits is a game.

>>> six = CLASSIC.replace(name="six-trolls", trolls=("G7", "H7", "J7", "G9", "H9", "J9"))
>>> six.spec
'classic:name=six-trolls,trolls=G7+H7+J7+G9+H9+J9'
>>> get_ruleset(six.spec) == six
True
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NewType, get_args, get_origin, get_type_hints

import numpy as np

from thud_env.arguments import as_count, nearest, one_of, shown
from thud_env.board import (
    CELL_OF_SQUARE,
    CELL_STEP,
    GOAL_SQUARES,
    PERIMETER,
    SQUARE_NAMES,
    SQUARE_OF_CELL,
    SQUARE_SYMMETRY,
    square_named,
)
from thud_env.errors import ThudError
from thud_env.ruleset_fields import read_changes, read_squares, spell

MAX_DWARFS = 32
MAX_TROLLS = 8
TROLL_VALUE = 4
"""What a troll counts in the score; a dwarf counts 1 (section 2, "Score")."""
MOST_POINTS = max(MAX_DWARFS, TROLL_VALUE * MAX_TROLLS)
"""The largest margin by points of any ruleset, which a reward of 1 stands for."""
TROLLS_TO_SURROUND = 3
"""Trolls beside the Rock or ball that win (section 3, "End of the battle")."""
LARGEST_LIMIT = int(np.iinfo(np.int16).max)

(
    DWARFS_HURL,
    DWARFS_SANDWICH,
    TROLLS_CAPTURE_BESIDE,
    TROLLS_TRAMPLE,
    SHOVES_TAKE_ALL,
    TROLLS_KEEP_OFF_EDGE,
    STONE_MOVES,
    STONE_GOES_FAR,
    STONE_WINS,
    SCORED_BY_POINTS,
) = (1 << bit for bit in range(10))
"""The bits of ``Ruleset.traits``."""
STEP_BITS = 10
"""Where the two bits of ``Ruleset.traits`` begin that number what a step captures."""
STEP_TAKES_NONE, STEP_TAKES_ONE, STEP_TAKES_ANY, STEP_TAKES_ALL = range(4)

Spec = NewType("Spec", str)
"""What ``Ruleset.spec`` returns: to type checkers not just any text."""
StepCaptures = Literal["none", "one", "any", "all"]
_STEP_NUMBERS: dict[str, int] = {word: number for number, word in enumerate(get_args(StepCaptures))}


def _beside(square: int) -> set[int]:
    """The squares around a square."""
    return {int(SQUARE_OF_CELL[CELL_OF_SQUARE[square] + step]) for step in CELL_STEP} - {-1}


Reward = Literal["margin", "outcome"]
"""How battles are scored, and paid."""


@dataclass(frozen=True, kw_only=True)
class Ruleset:
    """A game, with the wording it is played by.

    Rulesets are equal if they differ in nothing but their titles. ``replace`` makes others from one
    of ``RULESETS``; all that takes the name of a ruleset takes them, or their ``spec``.

    Raises:
        ThudError: for fields that make no playable game; the message names the field.
    """

    name: str
    """Lower-case letters, digits and hyphens. The names in ``RULESETS`` are taken."""
    title: str = field(default="", compare=False)
    """For people; the name if left out."""
    dwarfs: tuple[str, ...]
    """The squares the dwarfs start on, 1 to 32, or 31 if the stone moves (sections 2 and 3)."""
    trolls: tuple[str, ...]
    """The squares the trolls start on, 1 to 8 (sections 2 and 3)."""
    stone: str = "H8"
    """Where the Thudstone, Rock or ball starts (sections 2 and 3)."""
    dwarfs_capture: Literal["hurl", "sandwich", "nothing"] = "hurl"
    """By hurls (section 2), by standing on both sides (section 3), or not (section 4)."""
    trolls_capture: Literal["beside", "trample", "nothing"] = "beside"
    """Beside where a step or shove ends (section 2); by jumps, between moves of 1 to 3 squares
    (section 3); or not, moving in the same way (section 4)."""
    step_captures: StepCaptures = "one"
    """What a step may capture, if trolls capture beside: always none too (section 2)."""
    shove_captures: Literal["any", "all"] = "any"
    """What a shove captures, if trolls capture beside: one or more of them, or all (section 2)."""
    trolls_keep_off_edge: bool = False
    """Whether trolls may neither end a move on the edge nor pass over it (section 4)."""
    stone_goes: Literal["nowhere", "one", "far"] = "nowhere"
    """The Thudstone nowhere, the Rock one square, the ball any distance (sections 2, 3, 4)."""
    stone_wins: bool = False
    """Whether the stone on a goal square, or trolls around it, end the battle (section 3)."""
    reward: Reward = "margin"
    """The scoring: points left on the board (section 2), or won, drawn, lost (section 3)."""
    max_quiet_turns: int = 200
    """Turns in a row, without a capture or a move of the stone, that end a battle (section 2c)."""
    max_turns: int = 800
    """Turns that truncate a battle (section 2d)."""
    offer_after: int = 20
    """Quiet turns before an offer to end the battle, and turns between offers (section 5)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.name)
        try:
            for what in ("dwarfs", "trolls"):
                object.__setattr__(self, what, read_squares(what, getattr(self, what)))
            self._check()
        except ValueError as error:
            raise ThudError(f"ruleset {shown(self.name)}: {error}") from None
        _BY_KEY.setdefault(self.key, self)

    def _check(self) -> None:
        """Refuse what the compiled rules cannot play, and battles that are over at the start."""
        if not (isinstance(self.name, str) and re.fullmatch(r"[a-z0-9][a-z0-9-]*", self.name)):
            raise ThudError("a name of lower-case letters, digits and hyphens would be right")
        if not isinstance(self.title, str):
            raise ThudError(f"title {shown(self.title)}: text would be right")
        if RULESETS.get(self.name, self) != self:
            raise ThudError("that name is taken; a name of its own, name='mine' say, is right")
        for name, words in _WORDS.items():
            object.__setattr__(self, name, one_of(name, getattr(self, name), words))
        for name in ("max_quiet_turns", "max_turns", "offer_after"):
            limit = as_count(name, getattr(self, name), most=LARGEST_LIMIT)
            object.__setattr__(self, name, limit)
        # The Rock or ball stands in the row's list of the pieces that dwarfs may move.
        most_dwarfs = MAX_DWARFS - self.stone_moves
        for name, most in (("dwarfs", most_dwarfs), ("trolls", MAX_TROLLS)):
            if not 1 <= len(getattr(self, name)) <= most:
                raise ThudError(f"{len(getattr(self, name))} {name}: 1 to {most} would be right")
        taken = [*self.dwarfs, *self.trolls, SQUARE_NAMES[square_named(self.stone)]]
        for name in taken:
            if taken.count(name) > 1:
                raise ThudError(f"two pieces start on {name}: one would be right")
        if self.step_captures == "one" and self.shove_captures == "all":
            raise ThudError("step_captures 'one' needs shove_captures 'any'")
        if self.reward == "outcome" and not self.stone_wins:
            raise ThudError(
                "reward 'outcome' needs stone_wins=True: here an environment made with "
                "reward='outcome' pays who has won"
            )
        self._check_start({square_named(name) for name in taken})

    def _check_start(self, taken: set[int]) -> None:
        if not any(_beside(square_named(name)) - taken for name in self.dwarfs):
            raise ThudError("no dwarf has an empty square beside it at the start")
        stone = square_named(self.stone)
        around = _beside(stone) & {square_named(name) for name in self.trolls}
        if self.stone_wins and (stone in GOAL_SQUARES or len(around) >= TROLLS_TO_SURROUND):
            raise ThudError(f"the battle is won at once with the stone on {self.stone}")

    def replace(self, **changes: Any) -> Ruleset:
        """A ruleset of your own: this one with other fields, and a ``name`` of its own.

        Raises:
            ThudError: for fields that make no playable game.
            TypeError: for an unknown field, naming the nearest.
        """
        known = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                fields = ", ".join(known)
                raise TypeError(
                    f"replace() has no {name!r}: {nearest(name, known)}there are {fields}"
                )
        return dataclasses.replace(self, **{"title": "", **changes})

    @cached_property
    def traits(self) -> int:
        """The traits packed into one word for the compiled rules: the bits above."""
        return (
            DWARFS_HURL * (self.dwarfs_capture == "hurl")
            | DWARFS_SANDWICH * (self.dwarfs_capture == "sandwich")
            | TROLLS_CAPTURE_BESIDE * (self.trolls_capture == "beside")
            | TROLLS_TRAMPLE * (self.trolls_capture == "trample")
            | SHOVES_TAKE_ALL * (self.shove_captures == "all")
            | TROLLS_KEEP_OFF_EDGE * self.trolls_keep_off_edge
            | STONE_MOVES * self.stone_moves
            | STONE_GOES_FAR * (self.stone_goes == "far")
            | STONE_WINS * self.stone_wins
            | SCORED_BY_POINTS * (self.reward == "margin")
            | _STEP_NUMBERS[self.step_captures] << STEP_BITS
        )

    @cached_property
    def key(self) -> tuple[int, ...]:
        """[4] int16 that identify the ruleset in a state row: a digest of the definition,
        independent of the order of ``RULESETS``.
        """
        digest = hashlib.sha256(json.dumps(self._definition(), sort_keys=True).encode()).digest()
        return tuple(np.frombuffer(digest[:8], dtype="<i2").tolist())

    @property
    def largest_margin(self) -> int:
        """The margin of a battle won with nothing lost: in points, or the bare result; the larger
        of that of either side.
        """
        least, most = self.margins
        return max(-least, most)

    @property
    def margins(self) -> tuple[int, int]:
        """The least and the largest margin that a battle from the setup can end with."""
        if self.reward == "outcome":
            return -1, 1
        return -TROLL_VALUE * len(self.trolls), len(self.dwarfs)

    @property
    def stone_moves(self) -> bool:
        """Whether the stone is the Rock or a ball."""
        return self.stone_goes != "nowhere"

    @property
    def stone_name(self) -> str:
        """``Thudstone``, ``Rock`` or ``ball``."""
        return {"nowhere": "Thudstone", "one": "Rock", "far": "ball"}[self.stone_goes]

    @cached_property
    def symmetries(self) -> tuple[int, ...]:
        """The symmetries of ``board.SYMMETRIES`` under which the rules are the same, the identity
        first: those that leave the goal squares and a stone that never moves in place.
        """
        kept = [{square_named(self.stone)}] if not self.stone_moves else []
        kept += [set(GOAL_SQUARES)] if self.stone_wins else []
        return tuple(
            number
            for number, image in enumerate(SQUARE_SYMMETRY)
            if all({int(image[square]) for square in squares} == squares for squares in kept)
        )

    @cached_property
    def spec(self) -> Spec:
        """The definition in one line, which ``get_ruleset`` reads: the name alone for one of
        ``RULESETS``, else ``"classic:name=mine,trolls=G7+H7,max_turns=300"``, say.
        """
        if self.name in RULESETS:
            return Spec(self.name)
        changes = {
            base: {k: v for k, v in self._fields() if v != getattr(ruleset, k)}
            for base, ruleset in RULESETS.items()
        }
        base = min(changes, key=lambda name: len(changes[name]))
        words = (f"{k}={spell(v)}" for k, v in changes[base].items())
        return Spec(f"{base}:{','.join(words)}")

    def _fields(self) -> list[tuple[str, Any]]:
        return [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self) if f.compare]

    def _definition(self) -> dict[str, Any]:
        """The fields that differ from their defaults, so that a new field changes no key."""
        defaults = {f.name: f.default for f in dataclasses.fields(self)}
        return {name: value for name, value in self._fields() if value != defaults[name]}

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (dict(self._fields(), title=self.title),)


_TYPES = get_type_hints(Ruleset)
_WORDS: dict[str, tuple[Any, ...]] = {
    name: (False, True) if kind is bool else get_args(kind)
    for name, kind in _TYPES.items()
    if kind is bool or get_origin(kind) is Literal
}
"""The fields that take one of a few words, and these words."""

RULESETS: dict[str, Ruleset] = {}
"""The games that have names."""
_BY_KEY: dict[tuple[int, ...], Ruleset] = {}
"""Every ruleset made in this process, by its key, so that a row alone leads back to its own. A
key is a digest of the definition, whichever object was made first."""


def _remake(fields: dict[str, Any]) -> Ruleset:
    return Ruleset(**fields)


CLASSIC = Ruleset(
    name="classic",
    title="Classic Thud, a step captures none or one",
    dwarfs=tuple(
        SQUARE_NAMES[square]
        for square in PERIMETER
        if SQUARE_NAMES[square] not in ("H1", "A8", "P8", "H15")
    ),
    trolls=("G7", "H7", "J7", "G8", "J8", "G9", "H9", "J9"),
)
CLASSIC_ANY = CLASSIC.replace(
    name="classic-any",
    title="Classic Thud, a step captures any or none",
    step_captures="any",
)
CLASSIC_ALL = CLASSIC.replace(
    name="classic-all",
    title="Classic Thud, captures take all or none",
    step_captures="all",
    shove_captures="all",
)
# Ruling, section 3: the setup is that of the one public program.
KOOM_VALLEY = Ruleset(
    name="koom-valley",
    title="Koom Valley Thud",
    dwarfs=(
        "H9",
        "A10",
        "P10",
        "B11",
        "O11",
        "C12",
        "N12",
        "D13",
        "M13",
        "E14",
        "L14",
        "F15",
        "G15",
        "H15",
        "J15",
        "K15",
    ),
    trolls=("F2", "H2", "K2", "E3", "F3", "H3", "K3", "L3"),
    dwarfs_capture="sandwich",
    trolls_capture="trample",
    stone_goes="one",
    stone_wins=True,
    reward="outcome",
)
# Ruling, section 4: the rest is Koom Valley's.
KOOM_VALLEY_FOOTBALL = KOOM_VALLEY.replace(
    name="koom-valley-football",
    title="Koom Valley Football",
    dwarfs_capture="nothing",
    trolls_capture="nothing",
    trolls_keep_off_edge=True,
    stone_goes="far",
)
RULESETS.update(
    (ruleset.name, ruleset)
    for ruleset in (CLASSIC, CLASSIC_ANY, CLASSIC_ALL, KOOM_VALLEY, KOOM_VALLEY_FOOTBALL)
)


def ruleset_of_key(key: Iterable[int]) -> Ruleset:
    """The ruleset that a state row names by its key, [4].

    Raises:
        ThudError: if no such ruleset has been made in this process.
    """
    found = _BY_KEY.get(tuple(int(word) for word in key))
    if found is None:
        raise ThudError(
            f"a row of a ruleset unknown to this process (key {list(key)}): "
            "make that ruleset first, with every field as it was"
        )
    return found


RulesName = Literal["classic", "classic-any", "classic-all", "koom-valley", "koom-valley-football"]
"""The keys of ``RULESETS``, so that type checkers find a misspelt one."""
Rules = RulesName | Spec | Ruleset
"""A ruleset, its name or its ``spec``, as all public functions take it. Text from elsewhere is read
by ``get_ruleset``, which type checkers ask for."""


def get_ruleset(rules: str | Ruleset) -> Ruleset:
    """Return the ruleset of that name or ``spec``, or the ``Ruleset`` itself.

    Raises:
        ThudError: if there is no such ruleset; the message names the nearest.
    """
    if isinstance(rules, Ruleset):
        return rules
    if not isinstance(rules, str):
        raise ThudError(f"rules must be a ruleset, its name or its spec, not {shown(rules)}")
    if rules in RULESETS:
        return RULESETS[rules]
    base, colon, changes = rules.partition(":")
    if colon and base in RULESETS:
        try:
            fields = read_changes(changes, _TYPES)
        except ValueError as error:
            raise ThudError(f"ruleset {shown(rules)}: {error}") from None
        return RULESETS[base].replace(**fields)
    hint = nearest(base, RULESETS)
    raise ThudError(
        f"unknown ruleset {shown(rules)}: {hint}there are {', '.join(RULESETS)}, and your own by "
        "their spec, such as classic:name=mine,max_turns=300"
    )
