"""A window that shows positions, with pygame."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray


class Window:
    """Shows pixels. It opens with the first picture; a copy of it is not open.

    pygame has one window for all of a process: two of these take turns in it, and where one has
    closed it, the other opens it again.
    """

    def __init__(self) -> None:
        self._pygame: Any = None
        self._screen: Any = None
        self._clock: Any = None

    def show(self, pixels: NDArray[np.uint8], caption: str, fps: float) -> None:
        """Show [H, W, 3] pixels, and wait as long as ``fps`` pictures a second ask for.

        Raises:
            DependencyNotInstalled: if there is no pygame.
        """
        height, width = pixels.shape[:2]
        if not self._is_open():
            self._open(width, height)
        pygame = self._pygame
        pygame.event.pump()  # or the desktop takes the window for dead
        pygame.display.set_caption(caption.replace("\n", ", "))
        picture = pygame.image.frombuffer(pixels.tobytes(), (width, height), "RGB")
        self._screen.blit(picture, (0, 0))
        pygame.display.flip()
        self._clock.tick(fps)

    def close(self) -> None:
        """Close the window, if it is open."""
        if self._is_open():
            self._pygame.display.quit()
        self._screen = None

    def _is_open(self) -> bool:
        screen = self._screen
        return screen is not None and self._pygame.display.get_surface() is screen

    def __reduce__(self) -> tuple[type[Window], tuple[()]]:
        return (Window, ())

    def _open(self, width: int, height: int) -> None:
        try:
            import pygame
        except ImportError:
            raise DependencyNotInstalled(
                'a window needs pygame: pip install ".[render]" in the checkout would be right'
            ) from None
        self._pygame = pygame
        pygame.display.init()
        self._screen = pygame.display.set_mode((width, height))
        self._clock = pygame.time.Clock()
