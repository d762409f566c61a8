"""Agents at work in threads: bounded in number and in time, and stopped on request.

An agent that has thought is kept for the next question, up to ``MOST_IDLE`` of them, because making
one may mean reading a network. One that neither ends nor can be stopped keeps its thread, and that
is all that it can keep: ``MOST_AT_ONCE`` think at once, and who comes then is asked to come again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, TypeVar

from agents.agent import Agent
from agents.registry import make
from agents.web.protocol import BadRequest
from thud_env import Position

MOST_AT_ONCE = 8
MOST_IDLE = 12
TICK = 0.2
"""Seconds between two looks at an agent that is thinking."""

Answer = TypeVar("Answer")


class Thinkers:
    """Makes agents, lets them think, and keeps them."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="thinking")
        self._idle: list[tuple[str, Agent]] = []
        self._busy = 0
        self._stops: dict[str, asyncio.Event] = {}
        self._made = 0
        self._loose: set[asyncio.Task[None]] = set()

    def stop(self, name: str) -> bool:
        """Make the thought of that name end with what it has; False if there is none."""
        event = self._stops.get(name)
        if event is not None:
            event.set()
        return event is not None

    async def ask(self, spec: str, question: Callable[[Agent], Answer]) -> Answer:
        """What an agent answers to a question that takes no time to speak of."""
        self._admit()
        try:
            agent = await self._borrow(spec)
            answer = await self._run(lambda: question(agent))
            self._idle = [*self._idle, (spec, agent)][-MOST_IDLE:]
            return answer
        finally:
            self._busy -= 1

    async def turn(
        self, spec: str, position: Position, seconds: float, name: str
    ) -> AsyncIterator[dict[str, Any]]:
        """An agent's turn: ``{"thinks": true}`` as long as it thinks, then ``{"turn": ...}``.

        Args:
            spec: the agent.
            position: in which it is to decide.
            seconds: after which it is stopped.
            name: by which ``stop`` knows it.

        Raises:
            BadRequest: if too many are thinking, or one of that name is.
        """
        agent: Agent | None = None

        def done() -> None:
            if agent is not None:
                self._idle = [*self._idle, (spec, agent)][-MOST_IDLE:]

        stopped = self._begin(name)
        try:
            agent = await self._borrow(spec)
        except BaseException:
            self._end(name)
            raise
        work = asyncio.ensure_future(self._run(lambda: agent.turn(position)))
        async for _ in self._watch(agent, work, seconds, stopped, name, done):
            yield {"thinks": True}
        yield {"turn": await work}

    async def analyse(
        self, spec: str, position: Position, seconds: float, name: str
    ) -> AsyncIterator[dict[str, Any]]:
        """What a player thinks of a position, again and again: ``{"finding": ...}``, None as long
        as there is nothing to say.

        Args:
            spec, position, seconds, name: as for ``turn``.

        Raises:
            BadRequest: as ``turn`` does.
        """
        stopped = self._begin(name)
        try:
            analysis = await self._run(lambda: _analysis(spec, position))
        except BaseException:
            self._end(name)
            raise
        work = asyncio.ensure_future(self._run(analysis.run))
        shown = None
        yield {"finding": None}  # whoever waits sees that it has begun, and can leave
        async for _ in self._watch(analysis, work, seconds, stopped, name):
            if analysis.finding is not shown:
                shown = analysis.finding
                yield {"finding": shown}
        await work
        yield {"finding": analysis.finding, "done": True}

    async def _watch(
        self,
        worker: Any,
        work: asyncio.Future[Any],
        seconds: float,
        stopped: asyncio.Event,
        name: str,
        done: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[None]:
        """Ticks while some work is done; ends it when its time is up, when it is stopped, and when
        nobody waits for the ticks any more.
        """
        ends = monotonic() + seconds
        try:
            while not work.done():
                waiting = asyncio.ensure_future(stopped.wait())
                first = asyncio.FIRST_COMPLETED
                await asyncio.wait({work, waiting}, timeout=TICK, return_when=first)
                waiting.cancel()
                if stopped.is_set() or monotonic() > ends:
                    await _halt(worker, work)
                elif not work.done():
                    yield
        finally:
            # Also reached when the client goes away in the middle of a thought.
            task = asyncio.ensure_future(self._let_go(worker, work, name, done))
            self._loose.add(task)
            task.add_done_callback(self._loose.discard)

    async def _let_go(
        self, worker: Any, work: asyncio.Future[Any], name: str, done: Callable[[], None]
    ) -> None:
        await _halt(worker, work)
        with contextlib.suppress(Exception):
            await work
            done()
        self._end(name)

    def _begin(self, name: str) -> asyncio.Event:
        if name in self._stops:
            raise BadRequest("there is a thought of that name", 409)
        self._admit()
        self._stops[name] = asyncio.Event()
        return self._stops[name]

    def _end(self, name: str) -> None:
        del self._stops[name]
        self._busy -= 1

    def _admit(self) -> None:
        if self._busy >= MOST_AT_ONCE:
            raise BadRequest("too many players are thinking: ask again in a moment", 429)
        self._busy += 1

    async def _borrow(self, spec: str) -> Agent:
        for i, (kept, agent) in enumerate(self._idle):
            if kept == spec:
                del self._idle[i]
                return agent
        self._made += 1
        seed = self._made
        return await self._run(lambda: make(spec, seed))

    async def _run(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


async def _halt(worker: Any, work: asyncio.Future[Any]) -> None:
    """Stop a worker. A search that has not begun yet forgets that it was to stop: say it again."""
    while not work.done():
        if hasattr(worker, "stop"):
            worker.stop()
        await asyncio.wait({work}, timeout=TICK)


def _analysis(spec: str, position: Position) -> Any:
    # Imported here because importing searches takes a while, and the page is to be there at once.
    from agents.analysis import Analysis

    return Analysis(spec, position)
