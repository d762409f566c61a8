"""All rows, in the order of the page."""

from __future__ import annotations

from reliability import (
    commands,
    damage,
    dependencies,
    disk,
    distillation,
    inputs,
    install,
    lines,
    locks,
    matches,
    mutants,
    paths,
    play,
    power,
    same,
    signature,
    soak,
    stops,
    strangers,
    together,
)
from reliability.row import Row

ROWS: list[Row] = [
    row
    for group in (
        play,
        paths,
        signature,
        inputs,
        commands,
        stops,
        matches,
        together,
        locks,
        power,
        disk,
        distillation,
        damage,
        strangers,
        same,
        soak,
        install,
        dependencies,
        lines,
        mutants,
    )
    for row in group.ROWS
]
