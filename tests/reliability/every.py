"""All rows, in the order of the page."""

from __future__ import annotations

from reliability import (
    damage,
    disk,
    inputs,
    install,
    locks,
    mutants,
    paths,
    play,
    power,
    same,
    stops,
    strangers,
)
from reliability.row import Row

ROWS: list[Row] = [
    row
    for group in (
        play,
        paths,
        inputs,
        stops,
        locks,
        power,
        disk,
        damage,
        strangers,
        same,
        install,
        mutants,
    )
    for row in group.ROWS
]
