"""Thud, the asymmetric board game of 32 dwarfs against 8 trolls, for reinforcement learning."""

from thud_env import symmetry
from thud_env.actions import NUM_ACTIONS
from thud_env.batch.game import BatchedGame
from thud_env.batch.options import AutoresetName, Device, Games
from thud_env.batch.playouts import Playouts, random_playouts
from thud_env.envs.aec import ThudEnv, env
from thud_env.envs.common import IdleMask, IllegalAction, Observation, ObservationKind, Seat
from thud_env.envs.match import MatchEnv, match_env
from thud_env.envs.opponents import OpponentLike
from thud_env.envs.registration import register_environments
from thud_env.envs.rendering import RenderFrame, RenderMode
from thud_env.envs.single import ThudSeatEnv
from thud_env.envs.vector import ThudVectorEnv
from thud_env.errors import IllegalMove, ThudError
from thud_env.outcome import Outcome, Side, Termination
from thud_env.position import Position
from thud_env.record.files import Record, RecordError, read_record, write_record
from thud_env.rules.check import RowError
from thud_env.rulesets import (
    CLASSIC,
    CLASSIC_ALL,
    CLASSIC_ANY,
    KOOM_VALLEY,
    KOOM_VALLEY_FOOTBALL,
    RULESETS,
    Reward,
    Rules,
    Ruleset,
    get_ruleset,
)
from thud_env.starts import Starts
from thud_env.views.encoding import encode_rows
from thud_env.views.masks import action_masks
from thud_env.views.results import margins, terminations, to_move

__all__ = [
    "CLASSIC",
    "CLASSIC_ALL",
    "CLASSIC_ANY",
    "KOOM_VALLEY",
    "KOOM_VALLEY_FOOTBALL",
    "NUM_ACTIONS",
    "RULESETS",
    "AutoresetName",
    "BatchedGame",
    "Device",
    "Games",
    "IdleMask",
    "IllegalAction",
    "IllegalMove",
    "MatchEnv",
    "Observation",
    "ObservationKind",
    "OpponentLike",
    "Outcome",
    "Playouts",
    "Position",
    "Record",
    "RecordError",
    "RenderFrame",
    "RenderMode",
    "Reward",
    "RowError",
    "Rules",
    "Ruleset",
    "Seat",
    "Side",
    "Starts",
    "Termination",
    "ThudEnv",
    "ThudError",
    "ThudSeatEnv",
    "ThudVectorEnv",
    "action_masks",
    "encode_rows",
    "env",
    "get_ruleset",
    "margins",
    "match_env",
    "random_playouts",
    "read_record",
    "symmetry",
    "terminations",
    "to_move",
    "write_record",
]
__version__ = "0.1.0"

register_environments()
