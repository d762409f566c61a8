"""Serves the page, on the loopback by default."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Generator, Iterable
from urllib.parse import urlencode

import uvicorn

from agents.web import patience
from agents.web.app import make_app
from agents.web.guard import EVERYWHERE, is_loopback
from thud_env.command import say
from thud_env.errors import ThudError

PORT = 8015
_RIGHT = "127.0.0.1, 0.0.0.0 or another address of this machine would be right"


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket; on the next free port if ``port`` is 0.

    Raises:
        ThudError: if the port is taken, or ``host`` is no address of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = range(PORT, PORT + 20) if port == 0 else [port]
    # To reuse an address is to start again at once, but on Windows to share the port of another.
    how = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
    for candidate in ports:
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, how, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(128)  # an early visitor waits, and is not refused
            return listener
        except OSError as error:
            listener.close()
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                raise ThudError(f"--host {host}: {error.strerror}: {_RIGHT}") from None
            failure = error
        except TypeError:  # from a name with letters that no host's name can have
            listener.close()
            raise ThudError(f"--host {host}: this is not a host's name: {_RIGHT}") from None
    raise ThudError(f"{host} port {ports[-1]}: {failure.strerror}; --port N names another")


def serve(
    host: str, port: int, *, extra: Iterable[str] = (), asked: dict[str, str] | None = None
) -> None:
    """Serve the page until Ctrl-C or SIGTERM.

    Args:
        host: the address to listen on. Off the loopback a client must send a token.
        port: 0 for the first free one from 8015 on.
        extra: specs of further players to offer.
        asked: the battle to begin with, as the page's address names it.

    Raises:
        ThudError: if one of ``extra`` is not an agent's spec, the port is taken, or the address is
            not this machine's.
    """
    local = is_loopback(host)
    token = None if local else secrets.token_urlsafe(16)
    names = _names_of(host)
    app = make_app(names, token, extra)
    listener = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    if not local and host in EVERYWHERE:
        shown = socket.gethostname()
    address = f"http://{shown}:{listener.getsockname()[1]}/" + (f"?token={token}" if token else "")
    if asked:
        address += "#" + urlencode(asked)
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=int(patience.SECONDS),
        timeout_graceful_shutdown=1,
    )
    print(f"Thud is at {address}  (Ctrl-C ends it)", flush=True)
    if sys.stdout.isatty():
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    threading.Thread(target=_warm_up, daemon=True).start()
    asyncio.run(_run(_Server(config), listener))


class _Server(uvicorn.Server):
    """A server that SIGTERM and Ctrl-C end at once. uvicorn would end it between two events, of
    which one may compile for a minute, and Python would then wait for the players that think; and
    here is nothing to save.
    """

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """See uvicorn."""
        with super().capture_signals():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, lambda *_: os._exit(say("stopped", 130)))
            yield


async def _run(server: uvicorn.Server, listener: socket.socket) -> None:
    sweep = asyncio.ensure_future(patience.hang_up_on_the_silent(server))
    await server.serve(sockets=[listener])
    await sweep


def _names_of(host: str) -> set[str]:
    """What a browser may call the server that listens on an address."""
    if is_loopback(host):
        names = {host.lower(), "localhost", "127.0.0.1", "::1"}
    else:
        names = {host.lower(), socket.gethostname().lower()}
    if host in EVERYWHERE:  # by its numbers, too: see Guard
        names.add("localhost")
    return names | {f"[{name}]" for name in names if ":" in name}


def _warm_up() -> None:
    """Load the compiled rules before the first request."""
    from agents.registry import make
    from agents.web.views import view
    from thud_env import Position

    start = Position.start()
    view(start.play(make("greedy").turn(start)))
