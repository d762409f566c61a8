"""The opponents to choose from on the page, each with a line about it.

The page names one by its spec. Only those listed here are made, because a spec from a client could
name a file.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agents.agent import Agent
from agents.networks.folders import shipped
from agents.registry import make
from thud_env import get_ruleset

_CHECKOUT = Path(__file__).parents[2]
STRENGTH = _CHECKOUT / "docs/strength.md"

_SCORE = re.compile(r"\| *\d+ *\| *(\S+) *\| *([+-][\d.]+) \([^|]*\| *[\d.,]+, *[\d.,]+ *\|")
_SCRIPTED = {
    "random": ("Random", "plays any turn"),
    "greedy": ("Greedy", "takes all that it can at once"),
    "greedy2": ("Greedy, with a second look", "weighs its captures against the best reply"),
    "alphabeta:depth=1": ("Search, 1 turn", "judges the board after each of its turns"),
    "alphabeta:depth=2": ("Search, 2 turns", "sees its turn and the reply"),
    "alphabeta:depth=3": ("Search, 3 turns", "sees its turn, the reply and the turn after"),
    "alphabeta:time=3": ("Search, 3 seconds", "looks as deep as it can in three seconds"),
    "champion": ("Champion", "searches for a second a turn"),
    "mcts:sims=100": ("Tree search, 100", "tries out 100 lines of play a turn"),
    "mcts:sims=1000": ("Tree search, 1,000", "tries out 1,000 lines of play a turn"),
    "mcts:time=3": ("Tree search, 3 seconds", "tries out lines for three seconds"),
}


@dataclasses.dataclass(frozen=True)
class Player:
    """An opponent."""

    spec: str
    name: str
    line: str
    """What it does, and how strong it is, in a line."""
    rules: tuple[str, ...] | None = None
    """The rulesets that it plays, as their specs, which the page names them by; None: all, unless
    ``agent`` refuses one."""
    is_policy: bool = False
    """Whether it is a network without a search, whose probabilities can be shown."""
    quick: bool = False
    """Whether it answers at once; others may think for seconds."""
    agent: Agent | None = None
    """One of its kind, if it was named at the start: only that knows which games it plays."""

    @property
    def view(self) -> dict[str, Any]:
        """The player as the page needs it."""
        return {
            "spec": self.spec,
            "name": self.name,
            "line": self.line,
            "rules": self.rules,
            "is_policy": self.is_policy,
        }


def scores() -> dict[str, str]:
    """The score of each agent of the reference ladder in a game pair, read from its page."""
    if not STRENGTH.exists():
        return {}
    found = _SCORE.findall(STRENGTH.read_text(encoding="utf-8"))
    return {spec: score.replace("-", "\u2212") for spec, score in found}


def players(extra: Iterable[str] = ()) -> dict[str, Player]:
    """All opponents by spec: the weakest first, then policies, then ``extra``.

    Raises:
        ThudError: if one of ``extra`` is not an agent's spec.
    """
    measured = scores()
    found = {}
    for spec, (name, does) in _SCRIPTED.items():
        quick = spec.startswith(("random", "greedy"))
        found[spec] = Player(spec, name, does, quick=quick)
    for folder in shipped():
        found |= {player.spec: player for player in _trained(folder)}
    for spec in measured.keys() & found.keys():
        line = f"{found[spec].line}; {measured[spec]} points a game pair of Classic Thud"
        found[spec] = dataclasses.replace(found[spec], line=line)
    for spec in extra:
        if spec in found:
            continue
        agent = make(spec)  # fail now, not when it is chosen
        learnt = agent.trained_for
        rules = None if learnt is None else (get_ruleset(learnt).spec,)
        is_policy = spec.startswith("policy:")
        found[spec] = Player(spec, spec, "named at the start", rules, is_policy, is_policy, agent)
    return found


def _trained(folder: Path) -> Iterable[Player]:
    rules = (get_ruleset(folder.name).spec,)
    path = f"pretrained/{folder.name}"
    yield Player(
        f"policy:{path},temperature=0.3",
        f"Policy, {folder.name}",
        "a trained network, which plays at a glance",
        rules,
        is_policy=True,
        quick=True,
    )
    yield Player(
        f"policy+mcts:{path},sims=100",
        f"Policy with search, {folder.name}",
        "the trained network, with 100 tries a turn",
        rules,
    )
