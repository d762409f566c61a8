"""PettingZoo's environments by their names, also where PettingZoo has no registry yet."""

from __future__ import annotations

from typing import Any

import pettingzoo

import thud_env

HAS_REGISTRY = hasattr(pettingzoo, "make")  # from 1.27 on
_MADE = {
    "thud/thud-v0": (thud_env.env, "classic"),
    "thud/koom-valley-v0": (thud_env.env, "koom-valley"),
    "thud/koom-valley-football-v0": (thud_env.env, "koom-valley-football"),
    "thud/thud-match-v0": (thud_env.match_env, "classic"),
}


def make_aec(name: str, **options: Any) -> Any:
    """``pettingzoo.make("aec", name)``, or what it would make."""
    if HAS_REGISTRY:
        return pettingzoo.make("aec", name, **options)
    make, rules = _MADE[name]
    return make(**{"rules": rules, **options})
