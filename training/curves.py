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


def curves_svg(runs: dict[str, list[Curves]], most: int) -> str:
    """The picture: a panel for each side, a line for each run and anchor.

    Args:
        runs: by name or label, the curves of a run, or of several that are to be one line, their
            mean.
        most: the largest margin there can be.
    """
    each = [curves for of_label in runs.values() for curves in of_label]
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
        for name, of_label in runs.items():
            for key in dict.fromkeys(key for curves in of_label for key in curves):
                whose, anchor = key
                if whose != role:
                    continue
                lines = [(curves[key], _THIN) for curves in of_label if key in curves]
                lines.append((_mean([points for points, _ in lines]), _THICK))
                colour = colours[name if several else anchor]
                for points, thickness in lines if len(lines) > 2 else lines[1:]:
                    places_of = [
                        (left + _WIDTH * x / longest, _height_of(y, most)) for x, y in points
                    ]
                    parts.append(curve(places_of, colour, thickness, dashes[anchor]))
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
    labels = dict(map(_label_and_run, arguments.runs))
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
    curves: dict[str, list[Curves]] = {}
    for run, (_, of_run) in found.items():
        curves.setdefault(labels[run], []).append(of_run)
    for label, of_label in curves.items():
        for key in of_label[0]:
            if not _mean([one[key] for one in of_label if key in one]):
                raise CurveError(
                    f"{label}: its runs were never measured at the same number of decisions: a "
                    "label for each would be right"
                )
    write_all({out: curves_svg(curves, ruleset.largest_margin)})
    print(out)


def _label_and_run(word: str) -> tuple[Path, str]:
    """The folder of ``LABEL=RUN``, or of a run, and its label, by itself its path."""
    label, equals, run = word.partition("=")
    if equals and run and "/" not in label and not Path(word).exists():
        return Path(run), label
    return Path(word), word


if __name__ == "__main__":
    sys.exit(main())
