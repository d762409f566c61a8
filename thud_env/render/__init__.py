"""Pictures of positions: text for terminals, SVG, pixels, and a window.

All show the same: the board with its coordinates, the last turn as an arrow and what it
captured, and where a piece may go. ``svg`` and ``rgb_array`` are made from one list of
shapes (``picture.py``) and need no other package.
"""

from thud_env.render.to_ansi import ansi
from thud_env.render.to_pixels import rgb_array
from thud_env.render.to_svg import svg

__all__ = ["ansi", "rgb_array", "svg"]
