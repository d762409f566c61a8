"""The page's server among clients that are broken, rude, slow or many."""

import asyncio
import json
import random
import signal
import socket
import subprocess
import sys

import pytest
from page_server import ROOT, serving

from thud_env import Position

AT_ONCE = 8
GAMES = 200
START = Position.start()
ROUTES = [
    "ruleset",
    "view",
    "play",
    "think",
    "analyse",
    "insight",
    "curve",
    "load",
    "save",
    "score",
    "stop",
]
WORDS = ["", " ", "\x00", "x" * 5000, "🧌", "../../etc/passwd", "dF1-F5", "classic", "[]", "1e999"]
VALUES = [None, True, -1, 0, 1.5, 10**30, 1e308, *WORDS, [], {}, [[[]]], {"a": {}}, [None] * 50]


def message(rng):
    """A JSON body that asks for something that cannot be."""
    body = {"rules": "classic", "position": "", "player": "greedy", "id": "fuzz-0000001"}
    name = rng.choice(
        [*body, "actions", "turns", "turn", "margins", "text", "max_turns", "agreement"]
    )
    body[name] = rng.choice(VALUES)
    return body


def broken(rng):
    """The bytes of a request that is wrong, and whether an answer is owed."""
    host = "Host: 127.0.0.1\r\n"
    kind = rng.randrange(12)
    if kind == 0:
        path = "/" + "".join(rng.choice("./%abc0~\\?&=;") for _ in range(rng.randrange(1, 80)))
        return f"GET /x{path} HTTP/1.1\r\n{host}\r\n".encode()
    if kind == 1:
        return f"{rng.choice(['PUT', 'DELETE', 'TRACE', 'BREW'])} / HTTP/1.1\r\n{host}\r\n".encode()
    if kind == 2:
        name = rng.choice(["evil", "", "[::", "a:b:c", "::1"])
        return f"GET / HTTP/1.1\r\nHost: {name}\r\n\r\n".encode()
    if kind == 3:
        return rng.randbytes(rng.randrange(8, 400)) + b"\r\n\r\n"
    if kind == 4:
        return f"GET /{'a' * 70_000} HTTP/1.1\r\n{host}\r\n".encode()
    head = f"POST /api/{rng.choice(ROUTES)} HTTP/1.1\r\n{host}Content-Type: application/json\r\n"
    if kind == 5:
        length = rng.choice(["-1", "x", "1e3", "99999999999999999999", "1,1", "300000"])
        return f"{head}Content-Length: {length}\r\n\r\n".encode()
    if kind == 6:
        return f"{head}Transfer-Encoding: chunked\r\n\r\nZZ\r\n{{}}\r\n".encode()
    if kind == 7:
        origin = rng.choice(["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
        return f"{head}Origin: {origin}\r\nContent-Length: 2\r\n\r\n{{}}".encode()
    if kind == 8:
        body = rng.choice(
            [b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 50_000, b"{}" * 9, b"NaN"]
        )
    elif kind == 9:  # decisions that are not legal here, or not in this order
        actions = [rng.randrange(-5, 7000) for _ in range(rng.randrange(0, 50))]
        body = json.dumps({"rules": "classic", "actions": [6469, *actions]}).encode()
        head = head.replace(head.split()[1], "/api/play")
    elif kind == 10:
        text = "".join(rng.choice('dTRxF15-,\n[] "G7') for _ in range(rng.randrange(300)))
        body = json.dumps({"text": text}).encode()
        head = head.replace(head.split()[1], "/api/load")
    else:
        body = json.dumps(
            {**message(rng), "rules": rng.choice([*VALUES[:7], "chess", []])}
        ).encode()
        if head.split()[1] in ("/api/load", "/api/score", "/api/stop"):
            head = head.replace(head.split()[1], "/api/view")
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def answer(port, request):
    """The status of the answer to some bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        await writer.drain()
        line = await asyncio.wait_for(reader.readline(), 120)
        return int(line.split()[1])
    except ConnectionError:  # hung up on in the middle of what it sent
        return 400
    finally:
        writer.close()


async def ask(port, name, **body):
    """An answer's status and its last line, on a connection of its own."""
    content = json.dumps(body).encode()
    head = (
        f"POST /api/{name} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    writer.write(head.encode() + content)
    got = await asyncio.wait_for(reader.read(), 300)
    writer.close()
    top, _, rest = got.partition(b"\r\n\r\n")
    lines = [line for line in rest.splitlines() if line.startswith(b"{")]
    return int(top.split()[1]), json.loads(lines[-1]) if lines else None


async def play(port, number, turns=2):
    """A game against greedy, checked turn by turn."""
    position = START
    for _ in range(turns):
        action = int(position.legal_actions()[number % 7])
        status, found = await ask(
            port, "play", rules="classic", position=position.text, actions=[action]
        )
        assert status == 200, found
        position = position.play(found["turn"])
        assert found["view"]["position"] == position.text
        name = f"game-{number:04d}-{position.turn_number}"
        status, found = await ask(
            port, "think", rules="classic", position=position.text, player="greedy", id=name
        )
        assert status == 200, found
        position = position.play(found["turn"])
        assert found["view"]["position"] == position.text


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("uvicorn")
    with serving() as found:
        yield found


@pytest.mark.parametrize("requests", [100, pytest.param(10_000, marks=pytest.mark.soak)])
def test_broken_requests_get_4xx_and_a_game_goes_on(server, requests):
    answer_broken_requests(server, requests, seed=8)


def answer_broken_requests(server, requests, seed):
    """They get 4xx, games beside them go on, and memory does not grow."""
    rng = random.Random(seed)
    asyncio.run(play(server.port, 0))  # compiled, and warm
    statuses = []

    async def rude():
        while len(statuses) < requests:
            statuses.append(None)
            request = broken(rng)
            statuses[-1] = status = await answer(server.port, request)
            assert 400 <= status < 500, (status, request[:300])

    async def all_at_once():
        rude_ones = [asyncio.ensure_future(rude()) for _ in range(AT_ONCE)]
        games = 0
        while not all(one.done() for one in rude_ones):
            await play(server.port, games)
            games += 1
        await asyncio.gather(*rude_ones)
        return games

    asyncio.run(asyncio.wait_for(some_requests(server.port, rng, min(500, 2 * requests)), 600))
    before = server.memory
    games = asyncio.run(all_at_once())
    assert len(statuses) >= requests
    assert games > 0
    assert server.memory < before + 24


async def some_requests(port, rng, count):
    for _ in range(count):
        await answer(port, broken(rng))


def test_two_hundred_games_at_once(server):
    async def all_of_them():
        await asyncio.gather(*(play(server.port, number) for number in range(GAMES)))

    asyncio.run(all_of_them())
    before = server.memory
    asyncio.run(all_of_them())
    assert server.memory < before + 24


def test_silent_connections_do_not_shut_others_out(server):
    silent = []
    try:
        for number in range(400):  # more than the server keeps
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
            if number % 2:
                connection.sendall(b"POST /api/view HTTP/1.1\r\nHost: local")
            silent.append(connection)
        asyncio.run(play(server.port, 1))
    finally:
        for connection in silent:
            connection.close()


def test_an_abandoned_search_ends_and_searches_delay_no_other_request(server):
    long = {"rules": "classic", "player": "alphabeta:time=3", "seconds": 30}

    async def leave(number):
        content = json.dumps({**long, "id": f"left-{number:04d}"}).encode()
        head = (
            "POST /api/analyse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head.encode() + content)
        await reader.readline()
        return writer

    async def all_of_it():
        # What is being compiled cannot be stopped: let that be over.
        await ask(server.port, "analyse", **{**long, "id": "warm-0001", "seconds": 1})
        writers = [await leave(number) for number in range(6)]
        await play(server.port, 2)  # beside them
        for writer in writers:
            writer.close()
        # They have left, so there is room for another, which would else wait in vain.
        status, found = await ask(
            server.port, "analyse", **{**long, "id": "after-0001", "seconds": 1}
        )
        assert status == 200, found

    asyncio.run(all_of_it())


def test_a_thought_is_stopped_by_its_name(server):
    async def both():
        thinking = asyncio.ensure_future(
            ask(
                server.port,
                "analyse",
                rules="classic",
                player="alphabeta:time=3",
                id="stop-0001",
                seconds=30,
            )
        )
        while True:
            await asyncio.sleep(0.2)
            _, found = await ask(server.port, "stop", id="stop-0001")
            if found["stopped"]:
                break
        return await thinking

    status, _ = asyncio.run(both())
    assert status == 200


BUSY = """
import time
from agents.web import serve, views

def compiles():
    print("busy", flush=True)
    time.sleep(120)

views.board_view = compiles
serve.serve("127.0.0.1", 0)
"""


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGTERM, -signal.SIGTERM, ""), (signal.SIGINT, 130, "stopped\n")],
    ids=["SIGTERM", "Ctrl-C"],
)
def test_the_server_ends_at_once_in_the_middle_of_a_request(number, code, said):
    """As while it compiles for the first one, which took more than a minute."""
    pytest.importorskip("uvicorn")
    command, pipe = [sys.executable, "-c", BUSY], subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            port = int(process.stdout.readline().split(":")[2].split("/")[0])
            body = "POST /api/welcome HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
            body += "Content-Type: application/json\r\n\r\n{}"
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                connection.sendall(body.encode())
                assert process.stdout.readline() == "busy\n"
                process.send_signal(number)
                assert process.wait(10) == code
                assert process.stderr.read() == said
        finally:
            process.kill()
