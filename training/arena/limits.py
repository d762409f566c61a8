"""The limits of battles, in words."""

from __future__ import annotations

from typing import Any

from thud_env.command import BATTLE_LIMITS
from thud_env.rules.row import limits_of, new_row
from thud_env.rulesets import get_ruleset


def what_ends(limits: dict[str, Any]) -> str:
    """What ends a battle: ``60 turns without a capture or a move of the stone, or 400 turns``."""
    return ", or ".join(f"{most} {BATTLE_LIMITS[name]}" for name, most in limits.items())


def unlike_the_rules(rules: str, **limits: Any) -> str:
    """The limits that are not the ruleset's, as ``max_quiet_turns=60 (not 200)``; empty if all
    are. Without ``agreement`` nobody offers, and ``offer_after`` limits nothing.
    """
    ruleset = get_ruleset(rules)
    usual, given = limits_of(new_row(ruleset)), limits_of(new_row(ruleset, **limits))
    return ", ".join(
        f"{name}={limit} (not {usual[name]})"
        for name, limit in given.items()
        if limit != usual[name] and (name != "offer_after" or given["agreement"])
    )
