"""Closes connections that stay silent.

uvicorn waits forever for a request that has begun. A client that opens connections and sends half a
line on each would keep them all open, and in the end shut others out.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

import uvicorn

SECONDS = 15.0
"""How long a connection may be open without a request, or between two."""
MOST_CONNECTIONS = 256
"""Above this number, the connections that have been silent longest are closed at once."""
_SWEEP = 0.25


async def hang_up_on_the_silent(server: uvicorn.Server) -> None:
    """Close connections on which no request is being answered, as long as the server runs."""
    since: dict[Any, float] = {}
    while not server.should_exit:
        now = monotonic()
        connections: set[Any] = server.server_state.connections  # h11's, by our configuration
        waiting = {
            connection: since.get(connection, now)
            for connection in connections
            if connection.cycle is None or connection.cycle.response_complete
        }
        too_many = max(0, len(connections) - MOST_CONNECTIONS)
        # Those that have come since the last sweep may have asked for something already.
        silent = sorted(since.keys() & waiting.keys(), key=since.__getitem__)
        for number, connection in enumerate(silent):
            if number < too_many or now - since[connection] > SECONDS:
                connection.transport.abort()
        since = waiting
        await asyncio.sleep(_SWEEP)
