"""Watching a run: a live display in a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from thud_env.outcome import SIDES
from training.arena.strikes import STRIKES
from training.commands.progress import PlainLines, bar
from training.process.clock import PARTS
from training.runs.foresight import METRIC
from training.selfplay.battle_metrics import AGAINST

# With a z, what rounds to zero is not written with a minus.
_ROWS = (
    ("margin", "mean margin of mirror battles", "{:+z.2f}"),
    ("turns", "their mean turns", "{:.0f}"),
)
_ROLE_ROWS = (
    (f"{AGAINST}opponents", "margin against opponents in training", "{:+z.2f}"),
    ("entropy", "entropy, share of uniform", "{:.3f}"),
    ("effective_moves", "effective moves", "{:.1f}"),
    ("agreement", "likeliest decision is a best one", "{:.3f}"),
    ("regret", "points lost a decision", "{:.3f}"),
    ("excess", "cross-entropy over the labels' own", "{:z.3f}"),
    ("approx_kl", "approximate KL", "{:z.4f}"),
    ("value_loss", "value loss", "{:.4f}"),
    ("explained_variance", "explained variance", "{:z.3f}"),
    (METRIC, "values' correlation with what follows in search play", "{:+z.2f}"),
)
_STRIKES = sorted({name for names in STRIKES.values() for name in names.values()})


class Display:
    """Shows how far a run is and how it goes. A context manager.

    Args:
        console: where to show it.
        name: the run's name.
        total: decisions to be played.
        anchors: the players that the roles are measured against.
        played: decisions played already.
    """

    def __init__(
        self, console: Console, name: str, total: int, anchors: Sequence[str], played: int = 0
    ) -> None:
        self._console = console
        self._total = total
        self._anchors = anchors
        self._lines = PlainLines(total)
        self._live: Live | None = None
        # Not every update measures everything: what it does not stays shown as it was.
        self._shown: dict[str, float] = {}
        self._progress = bar(console, "decisions")
        self._task = self._progress.add_task(name, total=total, completed=played)

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._live = Live(self._progress, console=self._console, refresh_per_second=4)
            self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, decisions: int, metrics: dict[str, float]) -> None:
        """Show the numbers after an update."""
        self._shown |= metrics
        if self._live is not None:
            self._progress.update(self._task, completed=decisions)
            self._live.update(Group(self._progress, _table(self._shown, self._anchors)))
            return
        if self._lines.is_due(decisions >= self._total):
            self._console.print(self._line(decisions, self._shown), soft_wrap=True)

    def _line(self, decisions: int, metrics: dict[str, float]) -> str:
        words = self._lines.words(decisions, "decisions")
        words.append(f"{metrics['speed/decisions_per_second']:,.0f}/s")
        if "battles/margin" in metrics:
            words.append(f"margin {metrics['battles/margin']:+z.1f}")
        words += [
            f"{role} against {anchor} {metrics[f'{role}/{AGAINST}{anchor}']:+z.1f}"
            for role in SIDES
            for anchor in self._anchors
            if f"{role}/{AGAINST}{anchor}" in metrics
        ]
        words += [
            f"{role} values {metrics[f'{role}/{METRIC}']:+z.2f}"
            for role in SIDES
            if f"{role}/{METRIC}" in metrics
        ]
        words += [
            f"{role} {name} {metrics[f'{role}/{name}']:.2f}"
            for name in ("entropy", "regret")
            for role in SIDES
            if f"{role}/{name}" in metrics
        ]
        return ", ".join(words)


def _table(metrics: dict[str, float], anchors: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("", "both", *SIDES):
        table.add_column(heading, justify="left" if not heading else "right")
    speed = metrics["speed/decisions_per_second"]
    table.add_row("decisions a second", f"{speed:,.0f}", "", "")
    shares = (f"{metrics[f'speed/{part}']:.0%}" for part in PARTS)
    table.add_row(f"time in {', '.join(PARTS)}", ", ".join(shares), "", "")
    for name, label, form in _ROWS:
        if f"battles/{name}" in metrics:
            table.add_row(label, form.format(metrics[f"battles/{name}"]), "", "")
    struck = [name for name in _STRIKES if f"battles/{name}" in metrics]
    if struck:
        rates = ", ".join(f"{metrics[f'battles/{name}']:.2f}" for name in struck)
        table.add_row(f"{', '.join(struck)} a battle", rates, "", "")
    against = [(f"{AGAINST}{one}", f"margin against {one}", "{:+z.2f}") for one in anchors]
    for name, label, form in (*against, *_ROLE_ROWS):
        keys = [f"{role}/{name}" for role in SIDES]
        if any(key in metrics for key in keys):
            shown = (form.format(metrics[key]) if key in metrics else "" for key in keys)
            table.add_row(label, "", *shown)
    return table
