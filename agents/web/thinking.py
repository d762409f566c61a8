"""Agents at work in threads: bounded in number and in time, and stopped on request.

Two rooms, so that the quick never wait for the slow: players that answer at once, and those that
search. Who finds a room full waits in line for some seconds, and is then asked to come again. An
agent that neither ends nor can be stopped keeps its seat, and that is all that it can keep.

An agent that has played is kept for the next question, up to ``MOST_IDLE`` of them, because making
one may mean reading a network.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, TypeVar

from agents.agent import Agent
from agents.analysis import Analysis, glimpse
from agents.registry import make
from agents.web.protocol import BadRequest
from thud_env import Position

QUICK_AT_ONCE, SLOW_AT_ONCE = 4, 6
MOST_IDLE = 12
MOST_IN_LINE = 300
SECONDS_IN_LINE = 60.0
TICK = 0.2
"""Seconds between two looks at an agent that is thinking."""

Answer = TypeVar("Answer")


class Room:
    """So many threads, and a line before them."""

    def __init__(self, seats: int) -> None:
        self._threads = ThreadPoolExecutor(seats, thread_name_prefix="thinking")
        self._seats = asyncio.Semaphore(seats)
        self._in_line = 0

    async def enter(self) -> None:
        """Take a seat.

        Raises:
            BadRequest: if none is free in time.
        """
        if self._in_line >= MOST_IN_LINE:
            raise BadRequest("too many players are thinking: ask again in a moment", 429)
        self._in_line += 1
        try:
            async with asyncio.timeout(SECONDS_IN_LINE):
                await self._seats.acquire()
        except TimeoutError:
            raise BadRequest("the players are busy: ask again in a moment", 429) from None
        finally:
            self._in_line -= 1

    def leave(self) -> None:
        """Free the seat."""
        self._seats.release()

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Do some work in a thread; only for those who have a seat."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


class Seat:
    """A place in a room, and what is done there."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.stopped = asyncio.Event()
        self._worker: Any = None
        self._work: asyncio.Future[Any] | None = None

    def start(self, worker: Any, work: Callable[[], Answer]) -> asyncio.Future[Answer]:
        """Begin some work, which ``worker.stop()`` makes end soon, if there is such a thing."""
        self._worker = worker
        future = asyncio.ensure_future(self.room.run(work))
        self._work = future
        return future

    async def ticks(self, seconds: float) -> AsyncIterator[None]:
        """Tick while the work is done; end it when its time is up, or when it is stopped."""
        ends = monotonic() + seconds
        assert self._work is not None
        while not self._work.done():
            stopped = asyncio.ensure_future(self.stopped.wait())
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait({self._work, stopped}, timeout=TICK, return_when=first)
            stopped.cancel()
            if self.stopped.is_set() or monotonic() > ends:
                await self.end()
            elif not self._work.done():
                yield

    async def end(self) -> None:
        """Stop the work, and wait until it has ended."""
        # A search that has not begun yet forgets that it was to stop: say it again.
        while self._work is not None and not self._work.done():
            if hasattr(self._worker, "stop"):
                self._worker.stop()
            await asyncio.wait({self._work}, timeout=TICK)


class Thinkers:
    """Makes agents, lets them think, and keeps them."""

    def __init__(self) -> None:
        self._quick, self._slow = Room(QUICK_AT_ONCE), Room(SLOW_AT_ONCE)
        self._idle: list[tuple[str, Agent]] = []
        self._seats: dict[str, Seat] = {}
        self._made = 0
        self._clearing: set[asyncio.Task[None]] = set()

    def stop(self, name: str) -> bool:
        """Make the thought of that name end with what it has; False if there is none."""
        seat = self._seats.get(name)
        if seat is not None:
            seat.stopped.set()
        return seat is not None

    async def ask(self, spec: str, question: Callable[[Agent], Answer]) -> Answer:
        """What an agent answers to a question that takes no time to speak of.

        Raises:
            BadRequest: if too many ask.
        """
        await self._quick.enter()
        try:
            agent = await self._borrow(spec, self._quick)
            answer = await self._quick.run(lambda: question(agent))
            self._give_back(spec, agent)
            return answer
        finally:
            self._quick.leave()

    async def turn(
        self, spec: str, position: Position, seconds: float, name: str, *, quick: bool
    ) -> AsyncGenerator[dict[str, Any]]:
        """An agent's turn: ``{"finding": ...}`` as long as it thinks, None if it does not say what,
        then ``{"turn": ...}``.

        Args:
            spec: the agent.
            position: in which it is to decide.
            seconds: after which it is stopped.
            name: by which ``stop`` knows it.
            quick: whether it answers at once.

        Raises:
            BadRequest: if too many are thinking, or one of that name is.
        """
        async with self._seat(name, self._quick if quick else self._slow) as seat:
            agent = await self._borrow(spec, seat.room)
            work = seat.start(agent, lambda: agent.turn(position))
            async for _ in seat.ticks(seconds):
                yield {"finding": glimpse(agent, position)}
            turn = await work
            self._give_back(spec, agent)
        yield {"turn": turn}

    async def analyse(
        self, spec: str, position: Position, seconds: float, name: str
    ) -> AsyncGenerator[dict[str, Any]]:
        """What a player thinks of a position, again and again: ``{"finding": ...}``, None as long
        as there is nothing to say.

        Args:
            spec, position, seconds, name: as for ``turn``.

        Raises:
            BadRequest: as ``turn`` does.
        """
        async with self._seat(name, self._slow) as seat:
            analysis = await seat.room.run(lambda: _analysis(spec, position))
            work = seat.start(analysis, analysis.run)
            shown = None
            yield {"finding": None}  # whoever waits sees that it has begun, and can leave
            async for _ in seat.ticks(seconds):
                if analysis.finding is not shown:
                    shown = analysis.finding
                    yield {"finding": shown}
            await work
        yield {"finding": analysis.finding}

    @contextlib.asynccontextmanager
    async def _seat(self, name: str, room: Room) -> AsyncIterator[Seat]:
        if name in self._seats:
            raise BadRequest("there is a thought of that name", 409)
        seat = self._seats[name] = Seat(room)
        try:
            await room.enter()
        except BaseException:
            del self._seats[name]
            raise
        try:
            yield seat
        finally:
            # The client may have gone away in the middle of a thought, which ends soon.
            task = asyncio.ensure_future(self._clear(name, seat))
            self._clearing.add(task)
            task.add_done_callback(self._clearing.discard)

    async def _clear(self, name: str, seat: Seat) -> None:
        with contextlib.suppress(Exception):
            await seat.end()
        seat.room.leave()
        del self._seats[name]

    async def _borrow(self, spec: str, room: Room) -> Agent:
        for i, (kept, agent) in enumerate(self._idle):
            if kept == spec:
                del self._idle[i]
                return agent
        self._made += 1
        seed = self._made
        return await room.run(lambda: make(spec, seed))

    def _give_back(self, spec: str, agent: Agent) -> None:
        self._idle = [*self._idle, (spec, agent)][-MOST_IDLE:]


def _analysis(spec: str, position: Position) -> Any:
    return Analysis(spec, position)
