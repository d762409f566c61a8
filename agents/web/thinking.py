"""Runs agents in threads, limited in number and in time, and stops them on request.

There are two rooms, so that quick players never wait for slow ones: one for players that answer at
once, one for those that search or evaluate a whole battle. A request that finds a room full waits
for some seconds, and is then refused. An agent that neither ends nor can be stopped keeps its seat,
and nothing else: its request ends with an error.

Up to ``MOST_IDLE`` agents are kept for later requests, because making one may mean reading a
network.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, TypeVar

from agents.agent import Agent
from agents.analysis import Analysis, glimpse
from agents.asking import errors_with_traceback
from agents.findings import Finding
from agents.registry import make
from agents.web.protocol import BadRequest
from thud_env import Position
from thud_env.jit.compile import is_compiling

QUICK_AT_ONCE, SLOW_AT_ONCE = 4, 6
MOST_IDLE = 12
MOST_IN_LINE = 300
SECONDS_IN_LINE = 60.0
TICK = 0.2
"""Seconds between two reports of an agent that is thinking."""
GRACE = 60.0
"""Seconds for an agent to end once it is stopped: on a busy machine the first use of a search takes
many, without compiling."""

Answer = TypeVar("Answer")


class Room:
    """A fixed number of threads, and a queue for them."""

    def __init__(self, seats: int) -> None:
        self._threads = ThreadPoolExecutor(seats, thread_name_prefix="thinking")
        self._seats = asyncio.Semaphore(seats)
        self._in_line = 0

    async def enter(self) -> None:
        """Take a seat.

        Raises:
            BadRequest: if no seat is free in time.
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
        """Do some work in a thread; the caller must have a seat."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


class Seat:
    """A seat in a room, and the work that is done there."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._worker: Any = None
        self._work: asyncio.Future[Any] | None = None

    def start(self, worker: Any, work: Callable[[], Answer]) -> asyncio.Future[Answer]:
        """Begin some work; ``worker.stop()`` makes it end soon."""
        self._worker = worker
        future = asyncio.ensure_future(self.room.run(work))
        self._work = future
        return future

    async def ticks(self, seconds: float) -> AsyncIterator[None]:
        """Tick while the work goes on; end it when its time is up, or when it is stopped. What is
        compiled meanwhile takes none of its time: at its first turn a player would play at once.

        Raises:
            BadRequest: if it does not end.
        """
        assert self._work is not None
        while not self._work.done():
            seconds -= await self._wait(self._work, self.stopped)
            if self.stopped.done() or seconds < 0:
                await self.end(GRACE)
            elif not self._work.done():
                yield

    async def end(self, grace: float = math.inf) -> None:
        """Stop the work, and wait until it has ended.

        Raises:
            BadRequest: if it has not when ``grace`` seconds, without compiling, are over.
        """
        # A search that has not begun yet loses the stop, so repeat it.
        while self._work is not None and not self._work.done():
            if grace < 0:
                raise BadRequest(
                    f"the player was stopped and goes on after {GRACE:g} seconds: an agent that "
                    "thinks so long needs a method stop()",
                    504,
                )
            self._worker.stop()
            grace -= await self._wait(self._work)

    @staticmethod
    async def _wait(*futures: asyncio.Future[Any]) -> float:
        """Wait for one of some futures, a tick at most. Returns the seconds that it took, none if
        something is compiled.
        """
        before = monotonic()
        await asyncio.wait(futures, timeout=TICK, return_when=asyncio.FIRST_COMPLETED)
        return 0.0 if is_compiling() else monotonic() - before


def _turn(agent: Agent, position: Position) -> str:
    with errors_with_traceback(agent):
        return agent.turn(position)


class Thinkers:
    """Makes agents, runs them, and keeps them."""

    def __init__(self) -> None:
        self._quick, self._slow = Room(QUICK_AT_ONCE), Room(SLOW_AT_ONCE)
        self._idle: list[tuple[str, Agent]] = []
        self._seats: dict[str, Seat] = {}
        self._clearing: set[asyncio.Task[None]] = set()

    def stop(self, name: str) -> bool:
        """Stop the search of that name, which returns what it has; False if there is none."""
        seat = self._seats.get(name)
        if seat is not None and not seat.stopped.done():
            seat.stopped.set_result(None)
        return seat is not None

    async def ask(
        self, spec: str, question: Callable[[Any], Answer], *, quick: bool = True
    ) -> Answer:
        """An agent's answer to a question.

        Args:
            spec: the agent.
            question: what it is asked.
            quick: whether that takes almost no time.

        Raises:
            BadRequest: if too many requests wait.
        """
        room = self._quick if quick else self._slow
        await room.enter()
        try:
            agent = await self._borrow(spec, room)
            answer = await room.run(lambda: question(agent))
            self._give_back(spec, agent)
            return answer
        finally:
            room.leave()

    async def turn(
        self, spec: str, position: Position, seconds: float, name: str, *, quick: bool
    ) -> AsyncGenerator[Finding | str | None]:
        """Yield what an agent has found while it thinks, None if it has nothing, and then its turn.

        Args:
            spec: the agent.
            position: the position in which it decides.
            seconds: the time after which it is stopped.
            name: the name for ``stop``.
            quick: whether it answers at once.

        Raises:
            BadRequest: if too many are thinking, the name is in use, or the agent does not end.
            OwnAgentError, AnswerError: if an agent of the user's own fails, or answers wrongly.
        """
        async with self._seat(name, self._quick if quick else self._slow) as seat:
            agent = await self._borrow(spec, seat.room)
            work = seat.start(agent, lambda: _turn(agent, position))
            async for _ in seat.ticks(seconds):
                yield glimpse(agent, position)
            turn = await work
            self._give_back(spec, agent)
        yield turn

    async def analyse(
        self, spec: str, position: Position, seconds: float, name: str
    ) -> AsyncGenerator[Finding | None]:
        """Yield what a player finds about a position while it analyses it, None as long as it has
        nothing.

        Args:
            spec, position, seconds, name: as for ``turn``.

        Raises:
            BadRequest, OwnAgentError, AnswerError: as ``turn`` does.
        """
        async with self._seat(name, self._slow) as seat:
            analysis = await seat.room.run(lambda: Analysis(spec, position, endless=True))
            work = seat.start(analysis, analysis.run)
            shown = None
            yield None  # the client sees that it has begun, and can leave
            async for _ in seat.ticks(seconds):
                if analysis.finding is not shown:
                    shown = analysis.finding
                    yield shown
            await work
        yield analysis.finding

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
            # The client may have left during a search, which then ends soon.
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
        seed = random.randrange(2**31)
        return await room.run(lambda: make(spec, seed))

    def _give_back(self, spec: str, agent: Agent) -> None:
        self._idle = [*self._idle, (spec, agent)][-MOST_IDLE:]
