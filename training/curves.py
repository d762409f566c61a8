"""A run's learning curves as a picture: both sides' margins against fixed players.

::

    python -m training.curves runs/cpu --out curves.svg
    python -m training.curves runs/cpu-1 runs/cpu-2 runs/cpu-3 --out curves.svg
    python -m training.curves slow=runs/a-1 slow=runs/a-2 fast=runs/b-1 fast=runs/b-2 --out ab.svg

Of several runs, each has a colour, and each player that was met a kind of line; what was measured
at the same number of decisions can be compared. Runs with one label, as of several seeds, have one
colour: their mean, where all were measured, is a thick line, and each of them a thin one.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from pathlib import Path
from typing import NamedTuple

from agents.strict_yaml import read_yaml
from thud_env.command import Command, say
from thud_env.errors import ThudError
from thud_env.outcome import SIDES
from thud_env.rulesets import Ruleset, get_ruleset
from training.config import ExploitConfig, RunConfig, TrainConfig
from training.config_file import STORED, load_config
from training.distill.config import DistillConfig
from training.errors import ConfigError
from training.pages import check_writable, write_all
from training.runs.metrics import FILE, whole_lines
from training.selfplay.battle_metrics import AGAINST
from training.svg import BLUE, RED, curve, line, picture, text
from training.usage import instead_of

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 330, 240, 52, 46, 60
_COLOURS = (BLUE, RED, "#1b7837", "#e08214", "#762a83", "#666666")
"""Colours of the anchors, or of several runs, safe for colour blindness; they repeat from the
seventh on."""
_GREY = "#888888"
_THIN, _THICK = 0.7, 2
_APART = "a label for each would be right"
_DASHES = ("", "7 4", "2 3", "9 3 2 3")
"""Kinds of lines, of the anchors of several runs; they repeat, too."""

Points = list[tuple[float, float]]
Curves = dict[tuple[str, str], Points]


class CurveError(ThudError):
    """A run that has no curves."""


class NotMeasuredError(CurveError):
    """A run that has not come to its first measurement."""


def read_curves(run: Path) -> tuple[Ruleset, Curves]:
    """A run's ruleset, and by role and anchor its decisions and margins.

    Raises:
        CurveError: if the folder holds no run, or one whose configuration is not one of this
            version; ``NotMeasuredError`` if nothing has been measured yet.
        YamlError: if its configuration is damaged.
    """
    config = _config(run)
    lines = [entry for entry, _ in whole_lines(run / FILE)]
    curves: Curves = {
        (role, anchor): [
            (float(line["decisions"]), float(line[name])) for line in lines if name in line
        ]
        for role in SIDES
        for anchor in config.anchors
        for name in (f"{role}/{AGAINST}{anchor}",)
    }
    if not all(curves.values()):
        if not config.anchor_games:
            raise CurveError(f"{run}: it was run with anchor_games=0, so its play was not measured")
        names = " or ".join(config.anchors)
        raise NotMeasuredError(f"{run}: nothing has been measured against {names} yet")
    return get_ruleset(config.rules), curves


def _config(run: Path) -> RunConfig:
    """The configuration of a run, whichever command made it, except its network, which may be of a
    kind that is not known here. No agent is made of it, so that no code of others runs.
    """
    path = run / STORED
    if not path.exists():
        hint = "" if run.exists() else instead_of(run)
        raise CurveError(f"{run} is no run: {hint or 'the folder of one would be right'}")
    tree = read_yaml(path)
    keys = tree if isinstance(tree, dict) else {}
    kinds: dict[str, type[RunConfig]] = {"teacher": DistillConfig, "agent": ExploitConfig}
    kind = next((kinds[key] for key in kinds if key in keys), TrainConfig)
    try:
        return load_config(path, kind, allow_python=True, without=("network",))
    except ConfigError as error:
        raise CurveError(f"{path}: {error}") from None


class Shown(NamedTuple):
    """What has one colour: a run, or several."""

    thick: Curves
    """The run's, or the mean."""
    thin: list[Curves]
    """Those of several runs."""

    @classmethod
    def of(cls, label: str, runs: list[Curves]) -> Shown:
        """One run, or several of one label.

        Raises:
            CurveError: if these met different anchors, or were never measured at the same time.
        """
        first, *others = runs
        if not others:
            return cls(first, [])
        if any(other.keys() != first.keys() for other in others):
            raise CurveError(f"{label}: its runs have different anchors: {_APART}")
        mean = {key: _mean([run[key] for run in runs]) for key in first}
        if not all(mean.values()):
            never = "its runs were never measured at the same number of decisions"
            raise CurveError(f"{label}: {never}: {_APART}")
        return cls(mean, runs)


def curves_svg(runs: dict[str, Shown], most: int) -> str:
    """The picture: a panel for each side, a line for each run and anchor.

    Args:
        runs: by name or label.
        most: the largest margin there can be.
    """
    each = [curves for shown in runs.values() for curves in (*shown.thin, shown.thick)]
    anchors = list(dict.fromkeys(anchor for curves in each for _, anchor in curves))
    several = len(runs) > 1
    colours = dict(zip(runs if several else anchors, itertools.cycle(_COLOURS), strict=False))
    dashes = dict(zip(anchors, itertools.cycle(_DASHES if several else ("",)), strict=False))
    if several:
        entries = [(name, colours[name], "") for name in runs]
        entries += [(f"against {anchor}", _GREY, dashes[anchor]) for anchor in anchors]
    else:
        entries = [(f"against {anchor}", colours[anchor], "") for anchor in anchors]
    longest = max(x for curves in each for points in curves.values() for x, _ in points)
    places, width = _legend([words for words, *_ in entries], _LEFT + 2 * _WIDTH + _GAP + 20)
    below = _TOP + _HEIGHT + 60  # the legend's first line
    height = below + places[-1][1] + 14
    parts: list[str] = []
    for side, role in enumerate(SIDES):
        left = _LEFT + side * (_WIDTH + _GAP)
        parts += _panel(left, f"margin of the {role}", longest, most)
        for name, shown in runs.items():
            lines = [(curves, _THIN) for curves in shown.thin]
            for curves, thickness in (*lines, (shown.thick, _THICK)):
                for (whose, anchor), points in curves.items():
                    if whose != role:
                        continue
                    drawn = [(left + _WIDTH * x / longest, _height_of(y, most)) for x, y in points]
                    colour = colours[name if several else anchor]
                    parts.append(curve(drawn, colour, thickness, dashes[anchor]))
    for (x, down), (words, colour, dash) in zip(places, entries, strict=True):
        y = below + down
        parts.append(line(x, y - 4, x + 22, y - 4, colour, 2, dash))
        parts.append(text(x + 28, y, words))
    return picture(width, height, parts)


def _mean(series: list[Points]) -> Points:
    """The mean of several runs, where all of them were measured."""
    values = [dict(points) for points in series]
    common = [x for x, _ in series[0] if all(x in others for others in values)]
    return [(x, sum(others[x] for others in values) / len(values)) for x in common]


def _legend(entries: list[str], width: int) -> tuple[list[tuple[int, int]], int]:
    """Where each entry begins, from the left and down from the legend's first line, and the width
    of the picture: as given, or so much that the longest entry has room.
    """
    lengths = [26 + 8 * len(words) for words in entries]
    width = max(width, _LEFT + max(lengths))
    places, x, down = [], _LEFT, 0
    for length in lengths:
        if x + length > width:
            x, down = _LEFT, down + 20
        places.append((x, down))
        x += length
    return places, width


def _height_of(margin: float, most: int) -> float:
    return _TOP + _HEIGHT * (1 - (margin / most + 1) / 2)


def _panel(left: float, title: str, longest: float, most: int) -> list[str]:
    parts = [text(left + _WIDTH / 2, 24, title, "middle", bold=True)]
    for quarter in range(-2, 3):
        margin = most * quarter / 2
        y = _height_of(margin, most)
        grey = _GREY if quarter == 0 else "#dddddd"
        parts.append(line(left, y, left + _WIDTH, y, grey))
        parts.append(text(left - 8, y + 4, f"{margin:+g}" if quarter else "0", "end"))
    step = _round_step(longest)
    for number in range(int(longest / step) + 1):
        x = left + _WIDTH * number * step / longest
        parts.append(text(x, _TOP + _HEIGHT + 18, _short(number * step), "middle"))
    parts.append(text(left + _WIDTH / 2, _TOP + _HEIGHT + 38, "decisions", "middle"))
    return parts


def _round_step(longest: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are three to seven steps."""
    power = 10.0 ** math.floor(math.log10(longest / 3))
    return max(power * factor for factor in (1, 2, 5) if power * factor <= longest / 3)


def _short(count: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:g}{letter}"
    return f"{count:g}"


def main(words: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    command = Command("training.curves", __doc__)
    command.add_argument(
        "runs",
        nargs="+",
        metavar="[LABEL=]RUN",
        help="folders of runs; those with one label are drawn with their mean",
    )
    command.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="the picture to write, FILE.svg; one of that name is replaced",
    )
    return command.run(_draw, words)


def _draw(arguments: argparse.Namespace) -> None:
    out = arguments.out
    if out.suffix.lower() != ".svg":
        wanted = out.with_suffix(".svg")
        raise CurveError(f"--out {out}: an SVG is written, so {wanted} would be right")
    check_writable(out)
    labels = _labels(arguments.runs)
    found: dict[Path, tuple[Ruleset, Curves]] = {}
    for run in labels:
        try:
            found[run] = read_curves(run)
        except NotMeasuredError as error:
            if len(labels) == 1:
                raise
            say(f"curves: {error}: it is left out", 0)
    if not found:
        raise NotMeasuredError("no run has been measured yet")
    first, (ruleset, _) = next(iter(found.items()))
    for run, (other, _) in found.items():
        if other != ruleset:
            games = f"{first} is of {ruleset.name}, {run} of {other.name}"
            raise CurveError(f"{games}: runs of one game would be right")
    grouped: dict[str, list[Curves]] = {}
    for run, (_, of_run) in found.items():
        grouped.setdefault(labels[run], []).append(of_run)
    shown = {label: Shown.of(label, of_label) for label, of_label in grouped.items()}
    write_all({out: curves_svg(shown, ruleset.largest_margin)})
    print(out)


def _labels(words: list[str]) -> dict[Path, str]:
    """By the folder of a run, ``LABEL=RUN`` or ``RUN``, its label; without one that is the word.

    Raises:
        CurveError: if a label is empty, or a run's name as well, or a run has several.
    """
    labels: dict[Path, str] = {}
    named = set()
    for word in words:
        label, equals, run = word.partition("=")
        if not equals or "/" in label or Path(word).exists():  # as a run's own name may have =
            label, run = word, word
        elif not (label and run):
            raise CurveError(f"{word}: LABEL=RUN would be right")
        else:
            named.add(label)
        if labels.setdefault(Path(run), label) != label:
            raise CurveError(f"{run}: it has two labels: one would be right")
    if both := named & {label for run, label in labels.items() if str(run) == label}:
        raise CurveError(f"{both.pop()}: a label and a run: another label would be right")
    return labels


if __name__ == "__main__":
    sys.exit(main())
