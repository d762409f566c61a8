"""The names by which PettingZoo and Gymnasium make the environments."""

from __future__ import annotations

import gymnasium
import pettingzoo

_GAMES = (
    ("thud", "Thud", "classic"),
    ("koom-valley", "KoomValley", "koom-valley"),
    ("koom-valley-football", "KoomValleyFootball", "koom-valley-football"),
)
"""Each game's names in PettingZoo's registry and in Gymnasium's, and its ruleset."""
_SEAT = "thud_env.envs.single:ThudSeatEnv"
_SEATS = "thud_env.envs.vector:ThudVectorEnv"


def register_environments() -> None:
    """Register every environment. PettingZoo has a registry from version 1.27 on."""
    for _, name, rules in _GAMES:
        _register_gymnasium(name, {"rules": rules})
    _register_gymnasium("ThudMatch", {"match": True})
    if hasattr(pettingzoo, "register"):
        for name, _, rules in _GAMES:
            made_by = "thud_env.envs.aec:env"
            pettingzoo.register("aec", f"thud/{name}-v0", made_by, kwargs={"rules": rules})
        pettingzoo.register("aec", "thud/thud-match-v0", "thud_env.envs.match:match_env")


def _register_gymnasium(name: str, arguments: dict[str, object]) -> None:
    gymnasium.register(
        f"thud/{name}-v0", entry_point=_SEAT, vector_entry_point=_SEATS, kwargs=arguments
    )
