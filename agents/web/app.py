"""The routes of the server and their answers."""

from __future__ import annotations

import json
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from agents.answers import AnswerError
from agents.asking import OwnAgentError, check_seat
from agents.findings import ADVISER
from agents.web import insight, protocol, views
from agents.web.guard import Guard
from agents.web.lessons import lessons_view
from agents.web.players import Player, players
from agents.web.protocol import BadRequest, field
from agents.web.records import load, points, save
from agents.web.thinking import Thinkers
from thud_env import Position, Record
from thud_env.errors import ThudError

PAGE = Path(__file__).parent / "page"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

Answer = Callable[[dict[str, Any]], Awaitable[Any]]


class Table:
    """Answers the page's requests. It keeps agents and names of rulesets, but no games.

    Args:
        chosen: the players to choose from, by spec.
    """

    def __init__(self, chosen: dict[str, Player]) -> None:
        self._players = chosen
        self._rulesets = protocol.NamedRulesets()
        self.thinkers = Thinkers()

    async def welcome(self, message: dict[str, Any]) -> Any:
        """What never changes: the board, the named rulesets, the players, the lessons."""
        return {
            **views.board_view(),
            "rulesets": views.rulesets_view(),
            "players": [player.view for player in self._players.values()],
            "adviser": ADVISER,
            "lessons": lessons_view(),
        }

    async def ruleset(self, message: dict[str, Any]) -> Any:
        """A ruleset, by its name or its spec."""
        return views.rules_view(protocol.read_rules(message, self._rulesets))

    async def view(self, message: dict[str, Any]) -> Any:
        """A position, with the turn that led to it."""
        turn = protocol.read_last_turn(message)
        return views.view(self._position(message), turn)

    async def play(self, message: dict[str, Any]) -> Any:
        """The position after some decisions of a turn."""
        position = self._position(message)
        turn, after = views.decide(position, protocol.read_decisions(message))
        return {"turn": turn, "view": views.view(after, turn)}

    async def stop(self, message: dict[str, Any]) -> Any:
        """Stop an agent that is thinking."""
        return {"stopped": self.thinkers.stop(protocol.read_name(message))}

    async def load(self, message: dict[str, Any]) -> Any:
        """The battle in a record."""
        text = field(message, "text", str)
        return await run_in_threadpool(load, text, self._rulesets)

    async def save(self, message: dict[str, Any]) -> Any:
        """A battle as a record."""
        start, turns = self._position(message), protocol.read_turns(message)
        names = {side: field(message, side, str, "")[:80] for side in ("dwarfs", "trolls")}
        return {"text": await run_in_threadpool(save, start, turns, names)}

    async def score(self, message: dict[str, Any]) -> Any:
        """The points of the two players in a game of two battles."""
        return {"points": points(field(message, "margins", list))}

    async def think(self, message: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """An agent's turn, and its findings until it plays."""
        position = self._going_on(message)
        player = await self.player(message, position)
        seconds = protocol.read_seconds(message)
        name = protocol.read_name(message)
        thoughts = self.thinkers.turn(player.spec, position, seconds, name, quick=player.quick)
        async with aclosing(thoughts):
            async for thought in thoughts:
                if isinstance(thought, str):
                    yield {"turn": thought, "view": views.view(position.play(thought), thought)}
                else:
                    yield {"finding": thought and insight.finding_view(thought, position)}

    async def insight(self, message: dict[str, Any]) -> Any:
        """A policy's probabilities and value of a position."""
        position = self._going_on(message)
        spec = await self._policy(message, position)
        return await self.thinkers.ask(spec, lambda policy: insight.opinion_view(policy, position))

    async def curve(self, message: dict[str, Any]) -> Any:
        """A battle's margins, and the final margins that a policy expected."""
        start, turns = self._position(message), protocol.read_turns(message)
        spec = await self._policy(message, start)
        positions = await run_in_threadpool(lambda: [*Record(start, tuple(turns)).positions()])
        return await self.thinkers.ask(
            spec, lambda policy: insight.curve_view(policy, positions), quick=False
        )

    async def analyse(self, message: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """A search's findings about a position, while it goes on."""
        position = self._going_on(message)
        spec = (await self.player(message, position)).spec
        seconds = protocol.read_seconds(message)
        name = protocol.read_name(message)
        findings = self.thinkers.analyse(spec, position, seconds, name)
        async with aclosing(findings):
            async for found in findings:
                yield {"finding": found and insight.finding_with_heat(found, position)}

    def _position(self, message: dict[str, Any]) -> Position:
        return protocol.read_position(message, self._rulesets)

    def _going_on(self, message: dict[str, Any]) -> Position:
        position = self._position(message)
        if position.outcome is not None:
            raise BadRequest("the battle is over")
        return position

    async def _policy(self, message: dict[str, Any], position: Position) -> str:
        """The spec of the policy that a message names: other players would search for every turn
        shown, or think as long as they like.
        """
        player = await self.player(message, position)
        if not player.is_policy:
            raise BadRequest("this player has no probabilities and values to show")
        return player.spec

    async def player(self, message: dict[str, Any], position: Position) -> Player:
        """The player that a message names.

        Raises:
            BadRequest: if it is not one of those to choose from, or does not play this game.
            ThudError: if it refuses the game itself, saying why.
        """
        spec = field(message, "player", str)
        if spec not in self._players:
            raise BadRequest("there is no player of that name", 404)
        player = self._players[spec]
        if player.rules is not None and position.rules.spec not in player.rules:
            raise BadRequest(f"{player.name} does not play {position.rules.title}")
        if player.agent is not None:  # in a thread: it may have to read a network
            await run_in_threadpool(check_seat, player.agent, position.rules, position.to_move)
        return player


def make_app(hosts: Iterable[str], token: str | None = None, extra: Iterable[str] = ()) -> ASGIApp:
    """The whole server, as an ASGI app.

    Args:
        hosts: the names it answers to, without a port.
        token: the token that a client must send, or None.
        extra: specs of further players to offer.

    Raises:
        ThudError: if one of ``extra`` is not an agent's spec.
    """
    table = Table(players(extra))
    routes = [Route("/", _file(PAGE / "index.html"))]
    routes += [
        Route(f"/{path.relative_to(PAGE).as_posix()}", _file(path))
        for path in sorted(PAGE.rglob("*"))
        if path.suffix in _KINDS
    ]
    for answer in (
        table.welcome,
        table.ruleset,
        table.view,
        table.play,
        table.stop,
        table.load,
        table.save,
        table.score,
        table.insight,
        table.curve,
    ):
        routes.append(Route(f"/api/{answer.__name__}", _answering(answer), methods=["POST"]))
    for stream in (table.think, table.analyse):
        routes.append(Route(f"/api/{stream.__name__}", _streaming(stream), methods=["POST"]))
    app = Starlette(routes=routes, exception_handlers={HTTPException: _refused})
    return Guard(app, hosts, token)


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    """A route that serves a file read at the start: no path from a client is ever opened."""
    content = path.read_bytes()

    async def serve(request: Request) -> Response:
        return Response(content, media_type=_KINDS[path.suffix])

    return serve


def _answering(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        try:
            return JSONResponse(await answer(protocol.read_message(await request.body())))
        except ThudError as error:
            return _error(error)

    return respond


def _streaming(
    answer: Callable[[dict[str, Any]], AsyncGenerator[dict[str, Any]]],
) -> Callable[[Request], Awaitable[Response]]:
    """A route that streams its answers, one JSON line each. The last says what went wrong, if
    anything did.
    """

    async def respond(request: Request) -> Response:
        try:
            lines = answer(protocol.read_message(await request.body()))
            first = await anext(lines)  # a refusal comes before the status is sent
        except (AnswerError, OwnAgentError) as error:
            return JSONResponse(_told(error), 500)
        except ThudError as error:
            return _error(error)

        async def send() -> AsyncIterator[str]:
            yield json.dumps(first) + "\n"
            async with aclosing(lines):
                try:
                    async for line in lines:
                        yield json.dumps(line) + "\n"
                except (ThudError, OwnAgentError) as error:
                    yield json.dumps(_told(error)) + "\n"

        return StreamingResponse(send(), media_type="application/x-ndjson")

    return respond


def _error(error: ThudError) -> Response:
    status = error.status if isinstance(error, BadRequest) else 400
    return JSONResponse(_told(error), status)


def _told(error: ThudError | OwnAgentError) -> dict[str, str]:
    """What the page is told; the author of an agent sees the traceback where the server runs."""
    if isinstance(error, OwnAgentError):
        traceback.print_exception(error)
        return {"error": f"{error}: the terminal shows where"}
    return {"error": " ".join(str(error).split())[:500]}


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 400
    return JSONResponse({"error": "there is nothing here by that name"}, status)
