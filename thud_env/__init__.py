"""Thud, the asymmetric board game of 32 dwarfs against 8 trolls, for reinforcement learning."""

from thud_env.position import IllegalMove, Outcome, Position, Termination
from thud_env.rulesets import RULESETS, Ruleset

__all__ = [
    "RULESETS",
    "IllegalMove",
    "Outcome",
    "Position",
    "Ruleset",
    "Termination",
]
__version__ = "0.1.0"
