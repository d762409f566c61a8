"""Writes the report of a ladder from its games.

::

    report.md      tables, and sentences on which differences are significant
    report.json    the same figures for programs
    payoff.svg     the payoff matrix as a picture
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from thud_env.command import counted
from thud_env.outcome import SIDES
from thud_env.rulesets import get_ruleset
from training.arena.intervals import (
    ENOUGH_PAIRS,
    NOT_COMPARED,
    Interval,
    compare,
    decimals,
    half_width,
)
from training.arena.limits import what_ends
from training.arena.summary import markdown_table
from training.ladder.figures import Effort, Figures, as_json, compute_figures, that_have_met
from training.ladder.picture import payoff_svg
from training.ladder.store import Games, read_games
from training.pages import write_all

EFFORT = ("ms a turn (dwarfs, trolls)", "nodes a turn")
REPORT, NUMBERS, PICTURE = "report.md", "report.json", "payoff.svg"


def write_report(folder: Path) -> str:
    """Write the three files of a folder's games, and return the summary, for people. Agents who
    have not met all others yet are left out, and named.

    Raises:
        FieldError: if there are no games, or no two agents have played a game pair.
    """
    games = read_games(folder)
    named = list(games.header.agents)
    met = that_have_met(named, games.results)
    if len(met) < 2:
        met = named
    results = [result for result in games.results if {result.dwarfs, result.trolls} <= set(met)]
    ruleset = get_ruleset(games.header.rules)
    most = ruleset.largest_margin
    figures = compute_figures(met, results, ruleset.margins)
    places = decimals(most)
    summary = "\n".join(_summary(games, figures, places))
    title = f"{ruleset.name}: {figures.games:,} games"
    details = "\n".join(_details(figures, places))
    numbers = json.dumps({"rules": games.header.rules, **as_json(figures)}, indent=1)
    write_all(
        {
            folder / REPORT: f"# Ladder of {title}\n\n{summary}\n{details}",
            folder / NUMBERS: f"{numbers}\n",
            folder / PICTURE: payoff_svg(figures, f"Mean margins of {title}", most),
        }
    )
    return summary


# -- the summary ---------------------------------------------------------------------------


def _summary(games: Games, figures: Figures, places: int) -> Iterator[str]:
    pairs = [pair.pairs for pair in figures.pair_scores]
    yield (
        f"{figures.games:,} games of {games.header.rules}, {figures.distinct:,} of them distinct; "
        f"{_span(pairs)} (one start, both seats) for every two "
        f"agents. {precision_words(min(pairs))}"
    )
    if games.header.limits:
        yield f"\nBattles end after {what_ends(games.header.limits)}."
    waiting = [agent for agent in games.header.agents if agent not in figures.agents]
    if waiting:
        yield f"\nLeft out, since they have not met all others yet: {', '.join(waiting)}."
    if games.codes > 1:
        yield (
            f"\nThese games were played with {games.codes} states of the code: they are of one "
            "field only if its agents stayed as they were."
        )
    if games.changed:
        yield f"\nChanged between these games, or since: {', '.join(games.changed)}."
    yield "\n## Game pairs\n"
    yield (
        "Score: the margins of a game pair added up, from the agent's view; the mean over its "
        "opponents, each counted alike, with its 95% interval."
    )
    yield ""
    yield from _standings(figures, places)
    yield "\n## Side by side\n"
    yield (
        "Ratings are Bradley-Terry ratings in Elo points by games won and lost, a draw half of "
        "each. A drawn game is added for each agent on each side, spread over its opponents, so "
        "that all are finite. 0 is the mean of the field on that side; the average dwarfs are "
        f"rated {figures.ratings.advantage.text(0)} against the average trolls. Margins are from "
        "the agent's view, the mean over all agents of the field alike, itself included. All with "
        "their 95% intervals. Two ratings are compared by the interval of their difference: in "
        "each there is also the doubt about the mean of the field."
    )
    rated = figures.ratings
    both = zip(SIDES, (rated.dwarfs, rated.trolls), rated.gaps, figures.margins, strict=True)
    for side, ratings, gaps, margins in both:
        yield ""
        yield from _side(figures, side, ratings, gaps, margins, places)


def precision_words(pairs: int) -> str:
    """A sentence on how precisely so many game pairs of two agents measure a share."""
    if pairs < ENOUGH_PAIRS:
        return f"{counted(pairs, 'game pair')} of two agents are too few to tell them apart."
    return (
        f"A share of {pairs} pairs near one half is known to +/- {100 * half_width(pairs):.0f} "
        "percentage points."
    )


def _standings(figures: Figures, places: int) -> Iterator[str]:
    order = _ranked(figures.scores)
    rows = [
        [
            str(place),
            figures.agents[agent],
            figures.scores[agent].text(places),
            *_efforts(figures.effort[agent]),
        ]
        for place, agent in enumerate(order, start=1)
    ]
    yield from markdown_table(["", "agent", "score", *EFFORT], rows)
    yield ""
    yield from _verdicts(figures, order, _by_interval(figures, figures.scores))


def _side(
    figures: Figures,
    side: str,
    ratings: Sequence[Interval],
    gaps: Sequence[Sequence[Interval]],
    margins: Sequence[Interval],
    places: int,
) -> Iterator[str]:
    rows = [
        [figures.agents[agent], ratings[agent].text(0), margins[agent].text(places)]
        for agent in _ranked(ratings)
    ]
    yield from markdown_table([side, "rating", "margin"], rows)
    yield from _bounds(figures, side)
    yield f"\nAs {side}, by rating:\n"
    yield from _verdicts(figures, _ranked(ratings), _by_gap(figures, gaps))
    yield f"\nAs {side}, by margin:\n"
    yield from _verdicts(figures, _ranked(margins), _by_interval(figures, margins))


def _bounds(figures: Figures, side: str) -> Iterator[str]:
    """Name the agents who won or lost every game on a side, whose ratings there are bounds."""
    for agent in figures.agents:
        cells = [cell for cell in figures.cells if getattr(cell, side) == agent]
        games, wins, losses = (
            sum(getattr(cell, name) for cell in cells) for name in ("games", "wins", "losses")
        )
        if side == "trolls":
            wins, losses = losses, wins
        for count, did, bound in ((wins, "won", "a lower"), (losses, "lost", "an upper")):
            if count == games:
                yield (
                    f"\n{agent} {did} every game as {side}: its rating there is only {bound} "
                    "bound, set by the added draws."
                )


Comparison = Callable[[int, int, int], str]
"""Compares two agents, by their numbers and how many game pairs they played, in words."""


def _by_interval(figures: Figures, intervals: Sequence[Interval]) -> Comparison:
    """Compare by whether two agents' intervals are apart."""

    def words(one: int, other: int, pairs: int) -> str:
        names = figures.agents[one], figures.agents[other]
        return compare(names[0], intervals[one], names[1], intervals[other], pairs)

    return words


def _by_gap(figures: Figures, gaps: Sequence[Sequence[Interval]]) -> Comparison:
    """Compare by whether the interval of two agents' difference is apart from 0."""

    def words(one: int, other: int, pairs: int) -> str:
        return _comparison(figures.agents[one], figures.agents[other], gaps[one][other], pairs)

    return words


def _verdicts(figures: Figures, order: Sequence[int], compared: Comparison) -> Iterator[str]:
    """Compare each agent with its neighbour in an order."""
    if max(figures.pairs) < ENOUGH_PAIRS:
        yield f"- {NOT_COMPARED}"
        return
    for upper, lower in pairwise(order):
        pairs = min(figures.pairs[upper], figures.pairs[lower])
        yield f"- {compared(upper, lower, pairs)}"


def _ranked(intervals: Sequence[Interval]) -> list[int]:
    return sorted(range(len(intervals)), key=lambda agent: -intervals[agent].value)


# -- the details ---------------------------------------------------------------------------


def _details(figures: Figures, places: int) -> Iterator[str]:
    yield "\n## Agent against agent\n"
    yield "Game pairs, from the first one's view; the share of pairs won has a Wilson interval."
    comparisons = len(figures.pair_scores)
    if comparisons > 1:
        yield (
            f"These are {comparisons} comparisons, each at 95%: of agents that are equally strong, "
            "some 5 to 7% would be called different."
        )
    yield ""
    rows = [
        [
            pair.first,
            pair.second,
            f"{pair.wins} / {pair.draws} / {pair.losses}",
            pair.won.percent(),
            pair.score.text(places),
            Interval(*(part / 2 for part in pair.score)).text(places + 1),
            _comparison(pair.first, pair.second, pair.score, pair.pairs),
        ]
        for pair in figures.pair_scores
    ]
    headings = ["first", "second", "won / drawn / lost", "pairs won", "score of a pair"]
    yield from markdown_table([*headings, "margin a game", "shown"], rows)
    yield "\n## The payoff matrix\n"
    yield "Mean margin for the dwarfs (rows) against the trolls (columns).\n"
    yield f"![The payoff matrix]({PICTURE})\n"
    size = len(figures.agents)
    rows = [
        [agent, *(f"{figures.cell(i, j).margin.value:+z.{places}f}" for j in range(size))]
        for i, agent in enumerate(figures.agents)
    ]
    yield from markdown_table(["dwarfs \\ trolls", *figures.agents], rows)
    yield "\n## Every cell\n"
    yield (
        "From the dwarfs' view. Shares have Wilson intervals, margins bootstrap intervals over "
        "starts. Limit: games ended by one. Distinct: games that differ in their start or a turn."
    )
    yield ""
    rows = [
        [
            cell.dwarfs,
            cell.trolls,
            f"{cell.wins} / {cell.draws} / {cell.losses}",
            cell.won.percent(),
            cell.lost.percent(),
            cell.margin.text(places),
            f"{cell.limited:.0%}",
            f"{cell.moves:.0f}",
            str(cell.distinct),
            *_efforts(cell.effort),
        ]
        for cell in figures.cells
    ]
    headings = ["dwarfs", "trolls", "won / drawn / lost", "dwarfs won", "trolls won"]
    yield from markdown_table([*headings, "margin", "limit", "turns", "distinct", *EFFORT], rows)


def _comparison(first: str, second: str, gap: Interval, pairs: int) -> str:
    """Compare two agents by how much the first is ahead."""
    behind = Interval(-gap.value, -gap.high, -gap.low)
    return compare(first, gap, second, behind, pairs)


def _efforts(effort: Effort) -> list[str]:
    milliseconds = ", ".join(_milliseconds(seconds) for seconds in effort.seconds)
    if effort.nodes == (None, None):
        return [milliseconds, ""]
    return [milliseconds, ", ".join("-" if n is None else f"{n:,.0f}" for n in effort.nodes)]


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.0f}" if seconds >= 0.01 else f"{1000 * seconds:.2g}"


def _span(counts: list[int]) -> str:
    fewest, most = min(counts), max(counts)
    words = counted(most, "game pair")
    return words if fewest == most else f"{fewest} to {words}"
