"""All rows, in the order of the page."""

from __future__ import annotations

from reliability import (
    damage,
    dependencies,
    disk,
    inputs,
    install,
    lines,
    locks,
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
        stops,
        together,
        locks,
        power,
        disk,
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
