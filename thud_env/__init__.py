"""Thud, the asymmetric board game of 32 dwarfs against 8 trolls, for reinforcement learning."""

from gymnasium import register as _register_gymnasium
from pettingzoo import register as _register

from thud_env.batch.game import BatchedGame, Playouts, random_playouts
from thud_env.envs.aec import ThudEnv, env
from thud_env.envs.match import MatchEnv, match_env
from thud_env.position import IllegalMove, Outcome, Position, Termination
from thud_env.record.files import Record, RecordError, read_record, write_record
from thud_env.rulesets import RULESETS, Ruleset

__all__ = [
    "RULESETS",
    "BatchedGame",
    "IllegalMove",
    "MatchEnv",
    "Outcome",
    "Playouts",
    "Position",
    "Record",
    "RecordError",
    "Ruleset",
    "Termination",
    "ThudEnv",
    "env",
    "match_env",
    "random_playouts",
    "read_record",
    "write_record",
]
__version__ = "0.1.0"

for _name, _rules in (
    ("thud", "classic"),
    ("koom-valley", "koom-valley"),
    ("koom-valley-football", "koom-valley-football"),
):
    _register("aec", f"thud/{_name}-v0", "thud_env.envs.aec:env", kwargs={"rules": _rules})
_register("aec", "thud/thud-match-v0", "thud_env.envs.match:match_env")

for _name, _rules in (
    ("Thud", "classic"),
    ("KoomValley", "koom-valley"),
    ("KoomValleyFootball", "koom-valley-football"),
):
    _register_gymnasium(
        f"thud/{_name}-v0",
        entry_point="thud_env.envs.single:ThudSeatEnv",
        vector_entry_point="thud_env.envs.vector:ThudVectorEnv",
        kwargs={"rules": _rules},
    )
_register_gymnasium(
    "thud/ThudMatch-v0", entry_point="thud_env.envs.single:ThudSeatEnv", kwargs={"match": True}
)
