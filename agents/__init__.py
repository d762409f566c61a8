"""Players of Thud, scripted and learned, made from spec strings.

>>> import agents, thud_env
>>> agents.make("greedy", seed=1).turn(thud_env.Position.start())[0]
'd'
"""

from agents.agent import Agent
from agents.registry import AGENTS, make

__all__ = ["AGENTS", "Agent", "make"]
