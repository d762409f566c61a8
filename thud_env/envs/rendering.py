"""The render modes of the environments, and what a picture remembers of the last turn."""

from __future__ import annotations

import os
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from numpy.typing import NDArray

from thud_env.arguments import one_of
from thud_env.errors import ThudError
from thud_env.notation.turns import turn_notation
from thud_env.position import Position
from thud_env.render import ansi, rgb_array
from thud_env.render.window import Window
from thud_env.rules.row import Row, is_between_turns

RenderMode = Literal["human", "rgb_array", "ansi"]
RenderFrame = NDArray[np.uint8] | str
"""What ``render`` returns: pixels, [544, 544, 3], or text; a window returns None."""
Picture = tuple[Position, str | None, str]
"""What is drawn: the board, the last turn in notation, if there is one, and a caption."""


class Renderer:
    """Remembers the turn that is being played, and draws.

    Args:
        mode: None draws nothing.

    Raises:
        ThudError: for any other mode.
    """

    def __init__(self, mode: RenderMode | None) -> None:
        self.mode = one_of("render_mode", mode, (*get_args(RenderMode), None))
        self._before: Row | None = None
        """[432] where the last turn started from."""
        self._actions: tuple[int, ...] = ()
        """The decisions of that turn."""
        self._window = Window()

    def start(self) -> None:
        """Forget the last turn: the board has been set up anew."""
        self._before, self._actions = None, ()

    def note(self, before: Row, action: int) -> None:
        """Remember a decision that was played.

        Args:
            before: [432] the state it was played in, which is kept.
            action: the decision.
        """
        if self._before is None or is_between_turns(before):
            self._before, self._actions = before, ()
        self._actions += (action,)

    @property
    def last_turn(self) -> str | None:
        """The last turn, as far as it has been played, in notation."""
        return None if self._before is None else turn_notation(self._before, self._actions)

    def render(
        self, position: Position, turn: str | None, caption: str, fps: float
    ) -> RenderFrame | None:
        """What the mode asks for: text, pixels [H, W, 3] uint8, or None and a window.

        Raises:
            gymnasium.error.DependencyNotInstalled: for a window without pygame.
        """
        if self.mode is None:
            names = ", ".join(map(repr, get_args(RenderMode)))
            gymnasium.logger.warn(f"render() does nothing without a render_mode: pass {names}")
            return None
        if self.mode == "ansi":
            color = not os.environ.get("NO_COLOR")
            return f"{ansi(position, last_turn=turn, color=color)}\n{caption}"
        pixels = rgb_array(position, last_turn=turn)
        if self.mode == "rgb_array":
            return pixels
        self._window.show(pixels, caption, fps)
        return None

    def caption(self, position: Position, ending: str = "") -> str:
        """A line about a battle: who moves or how it ended, the turn, the margin, the last turn.

        Args:
            position: the state of the battle.
            ending: how it ended, if not by the rules.
        """
        ending = ending or str(position.outcome or f"{position.to_move} to move")
        last = f", last turn {self.last_turn}" if self.last_turn else ""
        return f"{ending}, turn {position.turn_number}, margin {position.margin}{last}"

    def close(self) -> None:
        """Close the window, if there is one."""
        self._window.close()

    def get_state(self) -> Any:
        """What ``set_state`` needs; nothing in it is changed later."""
        return self._before, self._actions

    def set_state(self, state: Any) -> None:
        """Return to a state that ``get_state`` gave, see ``is_renderers``."""
        self._before, self._actions = state


def is_renderers(state: tuple[Any, ...]) -> bool:
    """Whether a state can be one of a renderer's."""
    if len(state) != 2:
        return False
    before, actions = state
    if not isinstance(actions, tuple):
        return False
    if before is None:
        return not actions
    try:
        Position(before).turn_of(actions)
    except (ThudError, TypeError):
        return False
    return True
