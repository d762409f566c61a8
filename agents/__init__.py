"""Players of Thud: scripted ones and learned ones, made from spec strings.

>>> import agents, thud_env
>>> agents.make("greedy", seed=1).turn(thud_env.Position.start())[0]
'd'
"""

from agents.agent import Agent
from agents.registry import AGENTS, make
from thud_env.envs.opponents import register_specs

__all__ = ["AGENTS", "Agent", "make"]

# From here on, gymnasium.make("thud/Thud-v0", opponent="greedy") knows whom to ask.
register_specs(make)
