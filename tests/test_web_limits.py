"""What the page's server adds up, keeps, grants and lets in."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from by_hand import place
from starlette.responses import PlainTextResponse

from agents.agent import Opinion
from agents.web import thinking
from agents.web.app import Table
from agents.web.guard import Guard
from agents.web.insight import best_turns
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
    assert dict(best_turns(judge, position)) == pytest.approx(wanted)


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
