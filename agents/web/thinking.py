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
        """An agent's turn: ``{"thought": ...}`` as long as it thinks, then ``{"turn": ...}``.

        Args:
            spec: the agent.
            position: in which it is to decide.
            seconds: after which it is stopped.
            name: by which ``stop`` knows it.

        Raises:
            BadRequest: if too many are thinking, or one of that name is.
        """
        if name in self._stops:
            raise BadRequest("there is a thought of that name", 409)
        self._admit()
        stopped = self._stops[name] = asyncio.Event()
        try:
            agent = await self._borrow(spec)
        except BaseException:
            del self._stops[name]
            self._busy -= 1
            raise
        work = asyncio.ensure_future(self._run(lambda: agent.turn(position)))
        ends = monotonic() + seconds
        try:
            while not work.done():
                await asyncio.wait({work, waiting := asyncio.ensure_future(stopped.wait())},
                                   timeout=TICK, return_when=asyncio.FIRST_COMPLETED)  # fmt: skip
                waiting.cancel()
                if stopped.is_set() or monotonic() > ends:
                    break
                if not work.done() and (thought := _thought(agent)) is not None:
                    yield {"thought": thought}
            turn = await self._end(agent, work)
            if (thought := _thought(agent)) is not None:
                yield {"thought": thought}
            yield {"turn": turn}
        finally:
            # Also reached when the client goes away in the middle of a thought.
            task = asyncio.ensure_future(self._let_go(spec, agent, work, name))
            self._loose.add(task)
            task.add_done_callback(self._loose.discard)

    async def _end(self, agent: Agent, work: asyncio.Future[str]) -> str:
        # A search that has not begun yet forgets that it was to stop: say it until it does.
        while not work.done():
            if hasattr(agent, "stop"):
                agent.stop()
            await asyncio.wait({work}, timeout=TICK)
        return await work

    async def _let_go(self, spec: str, agent: Agent, work: asyncio.Future[str], name: str) -> None:
        with contextlib.suppress(Exception):
            await self._end(agent, work)
            self._idle = [*self._idle, (spec, agent)][-MOST_IDLE:]
        self._stops.pop(name, None)
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


def _thought(agent: Agent) -> dict[str, Any] | None:
    """What an agent thinks at the moment, if it shows that."""
    return None
