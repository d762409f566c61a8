"""Pictures of positions: text for terminals, SVG, pixels, and a window.

All show the same: the board with its coordinates, the last turn as an arrow and what it
captured, and where a piece may go. ``svg`` and ``rgb_array`` are made from one list of
shapes (``picture.py``) and need no other package. ``heat`` shows a policy's probabilities;
``animation``, ``stepper`` and ``frames`` show battles that move.
"""

from thud_env.render.film import frames
from thud_env.render.to_animation import animation, stepper
from thud_env.render.to_ansi import ansi
from thud_env.render.to_heat import heat
from thud_env.render.to_pixels import rgb_array
from thud_env.render.to_svg import svg

__all__ = ["animation", "ansi", "frames", "heat", "rgb_array", "stepper", "svg"]
