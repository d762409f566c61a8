"""Alpha-beta at a second a turn, believed to be the strongest player at every game but football.

By earlier tables ``mcts`` lost to ``alphabeta`` in equal time in Koom Valley Thud and
``classic-all``; on their ladders and that of ``classic`` it is not above ``alphabeta:depth=3`` in
two to four times the time. ``policy+mcts``, which needs PyTorch, loses to it in ``classic-any``, as
``mcts`` does there, and is not told apart from it in ``classic`` and Koom Valley; in football it is
above it, by less the longer both think: by 0.10 of 2 at a second a turn, where both sides' dwarfs
win nearly all battles (docs/log.md, docs/strength.md).
"""

from __future__ import annotations

from agents.alphabeta import AlphaBetaAgent
from agents.ranges import number_in


class ChampionAgent(AlphaBetaAgent):
    """Plays any game as well as is known without PyTorch.

    Args:
        time: seconds for a turn. Its play depends on the machine.
        seed: draws among turns that seem equal.

    Raises:
        ThudError: if the time is out of range.
    """

    def __init__(self, time: float = 1.0, seed: int = 0) -> None:
        super().__init__(time=number_in("time", time, 1e-6, 1e6), seed=seed)
