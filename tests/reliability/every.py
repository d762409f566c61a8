"""All rows, in the order of the page."""

from __future__ import annotations

from reliability import damage, disk, inputs, install, paths, play, power, same, stops, strangers
from reliability.row import Row

ROWS: list[Row] = [
    row
    for group in (play, paths, inputs, stops, power, disk, damage, strangers, same, install)
    for row in group.ROWS
]
