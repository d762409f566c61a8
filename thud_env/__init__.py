"""Thud, the asymmetric board game of 32 dwarfs against 8 trolls, for reinforcement learning."""

from thud_env import symmetry
from thud_env.batch.game import BatchedGame
from thud_env.batch.playouts import Playouts, random_playouts
from thud_env.envs.aec import ThudEnv, env
from thud_env.envs.match import MatchEnv, match_env
from thud_env.envs.registration import register_environments
from thud_env.envs.single import ThudSeatEnv
from thud_env.envs.vector import ThudVectorEnv
from thud_env.position import IllegalMove, Outcome, Position, Termination
from thud_env.record.files import Record, RecordError, read_record, write_record
from thud_env.rules.check import RowError
from thud_env.rulesets import CLASSIC, KOOM_VALLEY, RULESETS, Ruleset, get_ruleset

__all__ = [
    "CLASSIC",
    "KOOM_VALLEY",
    "RULESETS",
    "BatchedGame",
    "IllegalMove",
    "MatchEnv",
    "Outcome",
    "Playouts",
    "Position",
    "Record",
    "RecordError",
    "RowError",
    "Ruleset",
    "Termination",
    "ThudEnv",
    "ThudSeatEnv",
    "ThudVectorEnv",
    "env",
    "get_ruleset",
    "match_env",
    "random_playouts",
    "read_record",
    "symmetry",
    "write_record",
]
__version__ = "0.1.0"

register_environments()
