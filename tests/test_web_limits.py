"""What the page's server adds up, keeps, grants and lets in."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from by_hand import place
from starlette.responses import PlainTextResponse

from agents.agent import Opinion
from agents.web import patience, thinking
from agents.web.app import Table
from agents.web.guard import Guard
from agents.web.insight import likeliest_turns
from agents.web.players import players
from agents.web.protocol import MOST_BYTES, MOST_SECONDS, BadRequest, read_message, read_seconds
from thud_env import Position
from thud_env.actions import NUM_ACTIONS


def test_the_chances_of_all_orders_of_a_turn_are_added() -> None:
    position = place("classic-any", "D6 E6 A9", "E8", "t")
    step = position.decisions("TE8-E7xD6xE6")[0]

    def judge(here: Position) -> Opinion:
        chances = np.zeros(NUM_ACTIONS)
        legal = [step] if here is position else here.legal_actions()
        chances[legal] = 1 / len(legal)
        return Opinion(chances, 0.0)

    wanted: dict[str, float] = defaultdict(float)
    orders: dict[str, int] = defaultdict(int)
    waiting = [(1.0, [step], position.apply(step))]
    while waiting:
        chance, actions, here = waiting.pop()
        if here.to_move != position.to_move or here.outcome is not None:
            wanted[position.turn_of(actions)] += chance
            orders[position.turn_of(actions)] += 1
            continue
        legal = here.legal_actions().tolist()
        waiting += [(chance / len(legal), [*actions, one], here.apply(one)) for one in legal]
    assert max(orders.values()) > 1
    assert dict(likeliest_turns(judge, position)) == pytest.approx(wanted)


def test_only_so_many_players_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinking, "make", lambda spec, seed: spec)

    async def ask() -> list[str]:
        thinkers = thinking.Thinkers()
        for one in range(thinking.MOST_IDLE + 3):
            await thinkers.ask(f"player-{one}", str)
        return [spec for spec, _ in thinkers._idle]

    kept = asyncio.run(ask())
    assert kept == [f"player-{number}" for number in range(3, thinking.MOST_IDLE + 3)]


def test_only_who_has_no_seat_yet_stands_in_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinking, "MOST_IN_LINE", 1)

    async def come_and_go() -> None:
        room = thinking.Room(1)
        for _ in range(3):
            await room.enter()
            room.leave()
        await room.enter()
        waiting = asyncio.ensure_future(room.enter())
        await asyncio.sleep(0)
        with pytest.raises(BadRequest, match="too many players are thinking"):
            await room.enter()
        room.leave()
        await waiting

    asyncio.run(come_and_go())


def test_who_has_waited_too_long_is_refused_and_waits_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thinking, "SECONDS_IN_LINE", 0)

    async def come() -> None:
        thinkers = thinking.Thinkers()
        monkeypatch.setattr(thinkers, "_slow", thinking.Room(1))
        await thinkers._slow.enter()
        for _ in range(2):  # the name is free again
            with pytest.raises(BadRequest, match="the players are busy"):
                await anext(thinkers.analyse("greedy", Position.start(), 1, "name-0001"))
        assert thinkers._slow._in_line == 0
        assert not thinkers.stop("name-0001")

    asyncio.run(come())


def test_quick_questions_do_not_wait_for_slow_ones() -> None:
    async def ask() -> str:
        thinkers = thinking.Thinkers()
        for _ in range(thinking.SLOW_AT_ONCE):
            await thinkers._slow.enter()
        async with asyncio.timeout(30):
            return await thinkers.ask("random", lambda agent: "answered")

    assert asyncio.run(ask()) == "answered"


def test_an_agent_that_thinks_is_not_lent_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinking, "make", lambda spec, seed: object())
    together = threading.Barrier(2, timeout=30)

    def itself(agent: object) -> object:
        together.wait()
        return agent

    async def ask() -> tuple[object, list[object]]:
        thinkers = thinking.Thinkers()
        kept = await thinkers.ask("random", lambda agent: agent)
        return kept, await asyncio.gather(*(thinkers.ask("random", itself) for _ in range(2)))

    kept, both = asyncio.run(ask())
    assert len(set(both)) == 2
    assert kept in both


def test_a_player_is_kept_after_its_turn() -> None:
    async def think() -> tuple[object, list[str]]:
        thinkers = thinking.Thinkers()
        turns = thinkers.turn("random", Position.start(), 60, "name-0001", quick=True)
        *_, last = [told async for told in turns]
        return last, [spec for spec, _ in thinkers._idle]

    last, kept = asyncio.run(think())
    assert Position.start().play(last).to_move == "trolls"
    assert kept == ["random"]


def test_an_agent_is_stopped_again_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a search has to be that has not begun, which forgets it."""
    stops, let_go = [], threading.Event()

    def stop() -> None:
        stops.append(True)
        if len(stops) == 2:
            let_go.set()

    agent = SimpleNamespace(turn=lambda position: let_go.wait(10) and "dF1-F5", stop=stop)
    monkeypatch.setattr(thinking, "make", lambda spec, seed: agent)
    monkeypatch.setattr(thinking, "TICK", 0.01)

    async def think() -> object:
        turn = thinking.Thinkers().turn("own", Position.start(), 0, "name-0001", quick=True)
        return [told async for told in turn][-1]

    assert asyncio.run(think()) == "dF1-F5"


def test_an_agent_that_fails_as_it_is_stopped_keeps_no_seat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_go = threading.Event()

    def stop() -> None:
        let_go.set()
        raise ValueError

    agent = SimpleNamespace(turn=lambda position: let_go.wait(30), stop=stop)
    monkeypatch.setattr(thinking, "make", lambda spec, seed: agent)

    async def leave() -> None:
        thinkers = thinking.Thinkers()
        thoughts = thinkers.turn("own", Position.start(), 60, "name-0001", quick=True)
        assert await anext(thoughts) is None
        await thoughts.aclose()
        await asyncio.wait(thinkers._clearing)
        assert not thinkers.stop("name-0001")
        assert thinkers._quick._seats._value == thinking.QUICK_AT_ONCE

    asyncio.run(leave())


def test_an_analysis_has_its_name_to_itself_and_says_the_same_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unmoved:
        def __init__(self, *_: object, **__: object) -> None:
            self.looks, self.seen_often = 0, threading.Event()

        @property
        def finding(self) -> str:
            self.looks += 1
            if self.looks > 5:
                self.seen_often.set()
            return "found"

        def run(self) -> None:
            self.seen_often.wait(30)

    monkeypatch.setattr(thinking, "Analysis", Unmoved)
    monkeypatch.setattr(thinking, "TICK", 0.01)

    async def watch() -> list[object]:
        thinkers = thinking.Thinkers()
        analyse = partial(thinkers.analyse, "mcts", Position.start(), 60, "name-0001")
        thoughts = analyse()
        told = [await anext(thoughts)]
        with pytest.raises(BadRequest, match="there is a thought of that name"):
            await anext(analyse())
        return told + [thought async for thought in thoughts]

    assert asyncio.run(watch()) == [None, "found", "found"]


class Connection:
    """One of the server's, which notes that it is closed."""

    def __init__(self) -> None:
        self.cycle: Any = None
        self.closed = False
        self.transport = self

    def abort(self) -> None:
        self.closed = True

    def asks(self) -> None:
        self.cycle = SimpleNamespace(response_complete=False)

    def is_answered(self) -> None:
        self.cycle.response_complete = True


def sweep_at(
    monkeypatch: pytest.MonkeyPatch,
    connections: set[Connection],
    happening: dict[float, Callable[[], object]],
) -> None:
    """Sweep at these times, just after something has happened."""
    server: Any = SimpleNamespace(server_state=SimpleNamespace(connections=connections))
    server.should_exit = False
    times = iter(happening)

    def now() -> float:
        time = next(times)
        happening[time]()
        server.should_exit = time == max(happening)
        return time

    monkeypatch.setattr(patience, "_SWEEP", 0)
    monkeypatch.setattr(patience, "SECONDS", 15)
    monkeypatch.setattr(patience, "monotonic", now)
    asyncio.run(patience.hang_up_on_the_silent(server))


def test_only_connections_that_stay_silent_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    silent, asking, asking_later, late = (Connection() for _ in range(4))
    connections = {silent, asking_later}
    happening: dict[float, Callable[[], object]] = {
        0: lambda: None,
        1: lambda: (asking.asks(), connections.add(asking)),
        2: lambda: connections.add(late),
        9: asking_later.asks,
        10: asking_later.is_answered,
        16: lambda: None,
    }
    sweep_at(monkeypatch, connections, happening)
    assert [connection for connection in connections if connection.closed] == [silent]


def test_a_connection_may_be_silent_as_long_after_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = Connection()
    happening: dict[float, Callable[[], object]] = {0: one.asks, 9: one.is_answered}
    sweep_at(monkeypatch, {one}, {**happening, 24: lambda: None})
    assert not one.closed
    sweep_at(monkeypatch, {one}, {**happening, 25: lambda: None})
    assert one.closed


def test_of_too_many_connections_the_longest_silent_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "MOST_CONNECTIONS", 3)
    made = [Connection() for _ in range(5)]
    *silent, asking = made[::-1]  # in another order than that of their addresses
    asking.asks()
    connections: set[Connection] = {asking}
    happening = {time: partial(connections.add, one) for time, one in enumerate(silent)}
    sweep_at(monkeypatch, connections, happening)
    assert [one.closed for one in (*silent, asking)] == [True, True, False, False, False]


def test_of_too_many_connections_none_is_closed_before_it_could_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "MOST_CONNECTIONS", 2)
    made = [Connection() for _ in range(5)]

    def one_asks() -> None:
        assert not any(one.closed for one in made)
        made[2].asks()

    happening: dict[float, Callable[[], object]] = {0: lambda: None, 1: one_asks}
    sweep_at(monkeypatch, set(made), happening)
    assert [one.closed for one in made].count(True) == 3
    assert not made[2].closed


@pytest.mark.parametrize("question", ["think", "analyse"])
def test_a_client_may_not_ask_for_more_than_the_most_seconds(question: str) -> None:
    table = Table(players())
    asked = {"rules": "classic", "player": "greedy", "id": "name-0001"}

    async def ask(seconds: float) -> object:
        return await anext(getattr(table, question)({**asked, "seconds": seconds}))

    assert asyncio.run(ask(MOST_SECONDS)) is not None
    with pytest.raises(BadRequest, match=r"'seconds' must be a number in 0\.1 \.\. 30"):
        asyncio.run(ask(MOST_SECONDS + 1))


@pytest.mark.parametrize("body", [b"[" * 100_000, b"{", b"\xff"])
def test_a_body_that_is_no_json_is_refused_however_deep(body: bytes) -> None:
    with pytest.raises(BadRequest, match="the body is not JSON"):
        read_message(body)


@pytest.mark.parametrize("given", [True, "1", None, float("nan"), 0.09])
def test_only_a_number_in_its_range_is_one(given: object) -> None:
    with pytest.raises(BadRequest, match=r"'seconds' must be a number in 0\.1 \.\. 30"):
        read_seconds({"seconds": given})


def answer_of(
    headers: list[tuple[bytes, bytes]],
    method: str = "GET",
    listens: str = "127.0.0.1",
    reached: str = "127.0.0.1",
) -> tuple[object, dict[bytes, bytes]]:
    """The status and the headers of the answer to a request, behind a guard."""
    scope = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": "/",
        "query_string": b"",
        "headers": headers,
        "server": (reached, 8015),
    }
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    asyncio.run(Guard(PlainTextResponse("here"), [listens])(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"])


@pytest.mark.parametrize(
    ("hosts", "status"),
    [([b"127.0.0.1"], 200), ([b"127.0.0.1", b"127.0.0.1"], 421), ([b"there", b"127.0.0.1"], 421)],
)
def test_a_request_has_one_host(hosts: list[bytes], status: int) -> None:
    assert answer_of([(b"host", host) for host in hosts])[0] == status


@pytest.mark.parametrize(
    ("length", "status"),
    [(b"0", 200), (b"-1", 413), (b"many", 413), (str(MOST_BYTES + 1).encode(), 413)],
)
def test_the_length_of_a_body_is_a_number_that_is_not_too_large(length: bytes, status: int) -> None:
    kind = (b"content-type", b"application/json")
    given = [(b"host", b"127.0.0.1"), kind, (b"content-length", length)]
    assert answer_of(given, "POST")[0] == status


@pytest.mark.parametrize(("host", "status"), [(b"127.0.0.1", 200), (b"there", 421)])
def test_no_answer_is_kept_or_shown_in_the_frame_of_another_page(host: bytes, status: int) -> None:
    answered, headers = answer_of([(b"host", host)])
    assert answered == status
    assert headers[b"cache-control"] == b"no-store"
    assert b"frame-ancestors 'none'" in headers[b"content-security-policy"]


@pytest.mark.parametrize(
    ("host", "reached", "status"),
    [
        (b"192.0.2.7", "::ffff:192.0.2.7", 200),
        (b"192.0.2.8", "::ffff:192.0.2.7", 421),
        (b"[2001:db8::7]", "2001:db8::7", 200),
        (b"[2001:db8::8]:8015", "2001:db8::7", 421),
    ],
)
def test_a_server_of_all_ipv6_addresses_answers_by_ipv4_too(
    host: bytes, reached: str, status: int
) -> None:
    assert answer_of([(b"host", host)], listens="::", reached=reached)[0] == status
