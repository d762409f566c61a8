"""Small ladders for tests: quick games, and results made up."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from training.arena.field import Field
from training.arena.games import Result
from training.arena.openings import Openings, read_openings
from training.ladder.store import Store


def short_openings(count: int = 40) -> Openings:
    """The first starts of the book."""
    return Openings.of(list(read_openings("classic").starts[:count]))


def short_field(agents: dict[str, int] | None = None, seed: int = 1) -> Field:
    """A field whose games are short."""
    agents = agents or {"random": 6, "greedy": 6}
    return Field(agents, "classic", short_openings(), seed, {"max_turns": 30})


def untimed(results: list[Result]) -> list[Result]:
    """Results in the order of their games, without their times."""
    return sorted(
        (dataclasses.replace(result, seconds=(0.0, 0.0)) for result in results),
        key=lambda result: result.game,
    )


def made_up(dwarfs: str, trolls: str, start: int, margin: int, turns: str = "") -> Result:
    """A game of so much margin."""
    return Result(
        dwarfs=dwarfs,
        trolls=trolls,
        start=start,
        margin=margin,
        ending="quiet_limit" if margin == 0 else "no_legal_turn",
        turns=turns or f"{dwarfs}{trolls}",
        moves=(10, 5),
        seconds=(1.0, 0.25),
        nodes=(1000, None),
    )


def made_up_results(
    agents: list[str], starts: int, margin: Callable[[str, str, int], int]
) -> list[Result]:
    """All games of a field, with margins by who plays and from which start."""
    return [
        made_up(dwarfs, trolls, start, margin(dwarfs, trolls, start))
        for start in range(starts)
        for dwarfs in agents
        for trolls in agents
    ]


def store_results(folder: Path, field: Field, results: list[Result]) -> None:
    """Write results as a ladder would."""
    with Store(folder, field) as store:
        for result in results:
            store.add(result)
