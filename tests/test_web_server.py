"""The page's server as its clients meet it: answers, refusals, and errors of players."""

import asyncio
import http.client
import json
import re
import urllib.parse
import urllib.request
from types import SimpleNamespace

import pytest
from page_server import ROOT, serving
from untrained import save_untrained

import agents
import thud_env
from agents.web import app, protocol, thinking
from agents.web import players as players_module
from agents.web.players import players
from agents.web.protocol import BadRequest, NamedRulesets
from agents.web.records import load
from thud_env import CLASSIC, RULESETS, Position, Record, ThudError, get_ruleset

START = Position.start()
RECORD = json.dumps(Record(START, ("dF1-F5",)).text)[1:-1]
"""A record, as text within JSON has it."""


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("uvicorn")
    with serving() as found:
        yield found


def test_a_move_against_greedy_and_back(server):
    _, view = server.ask("view", rules="classic")
    action = next(iter(view["moves"].values()))[0]["action"]
    status, played = server.ask("play", rules="classic", actions=[action])
    assert status == 200
    assert played["turn"].startswith("d")
    position = played["view"]["position"]
    *_, last = server.lines(
        "think", rules="classic", position=position, player="greedy", id="test-0001"
    )
    assert last["turn"].startswith("T")
    assert Position.from_text(last["view"]["position"], "classic").turn_number == 2


def test_the_requests_of_the_docs_are_answered_as_they_say(server):
    """Each message of docs/page.md's table is sent, and the answer has the keys that it names."""
    text = (ROOT / "docs" / "page.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("<!-- table: requests -->\n")
    lines = [line.split("|")[1:-1] for line in rest[: rest.find("\n\n")].splitlines()[2:]]
    routes = {route.path for route in app.make_app(())._app.routes}
    assert {f"/api/{name.strip(' `')}" for name, _, _ in lines} == {
        path for path in routes if path.startswith("/api/")
    }
    for name, message, answer in lines:
        sent = json.loads(message.strip(" `").replace("RECORD", RECORD))
        status, _, body = server.request(
            "POST", f"/api/{name.strip(' `')}", json.dumps(sent), Content_Type="application/json"
        )
        assert status == 200, body
        told = json.loads(body.splitlines()[-1])
        told |= told.get("finding") or {}
        keys = set(re.findall("`(.+?)`", answer.partition(";")[0]))
        assert keys, name
        assert keys <= told.keys(), name


def test_the_page_is_small_and_all_its_parts_are_served(server):
    total = len(server.ask("welcome")[1].__repr__())
    parts = ["", "style.css", "icon.svg"]
    parts += [f"js/{path.name}" for path in (views_folder() / "js").glob("*.js")]
    for part in parts:
        status, headers, body = server.request("GET", f"/{part}")
        assert status == 200
        assert "default-src 'none'" in headers["content-security-policy"]
        total += len(body)
    view = server.request(
        "POST", "/api/view", '{"rules": "classic"}', Content_Type="application/json"
    )
    total += len(view[2])
    assert total < 150 * 1024


def views_folder():
    from agents.web.app import PAGE

    return PAGE


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8015"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content_Length": str(10**12)}, 413),
    ],
)
def test_strangers_are_refused(server, headers, status):
    given = {"Content_Type": "application/json", **headers}
    body = None if "Content_Length" in headers else "{}"
    assert server.request("POST", "/api/welcome", body, **given)[0] == status


def test_other_paths_are_not_found(server):
    for path in ("/etc/passwd", "/../app.py", "/page/../app.py", "/js/", "/%2e%2e/app.py", "//"):
        assert server.request("GET", path)[0] in (404, 405), path


def test_only_players_on_the_list_are_made(server):
    for spec in ("policy:/etc", "python:os:system", "alphabeta:weights=/etc/passwd", "mcts"):
        status, answer = server.ask("think", rules="classic", player=spec, id="test-0002")
        assert (status, answer["error"]) == (404, "there is no player of that name")


def test_a_policy_does_not_play_other_games(server):
    spec = next(spec for spec, player in players().items() if player.is_policy)
    status, answer = server.ask("think", rules="koom-valley", player=spec, id="test-0003")
    assert status == 400
    assert "does not play" in answer["error"]


VALLEY = "policy:pretrained/koom-valley"


@pytest.fixture(scope="module")
def named_valley():
    """A table with a player of Koom Valley Thud alone that was named at the start."""
    return app.Table(players([VALLEY]))


@pytest.mark.parametrize("route", ["think", "analyse"])
def test_a_player_named_at_the_start_does_not_play_games_it_has_not_learnt(named_valley, route):
    message = {"rules": "classic", "player": VALLEY, "id": "test-0004"}
    with pytest.raises(BadRequest, match="koom-valley does not play Classic Thud"):
        asyncio.run(anext(getattr(named_valley, route)(message)))


def test_the_page_is_told_which_game_a_player_named_at_the_start_has_learnt(named_valley):
    told = asyncio.run(named_valley.welcome({}))["players"]
    assert [player["rules"] for player in told if player["spec"] == VALLEY] == [("koom-valley",)]
    json.dumps(told)


def test_a_policy_of_a_ruleset_of_ones_own_is_offered_for_it(tmp_path):
    ruleset = CLASSIC.replace(name="seven-trolls", trolls=CLASSIC.trolls[:7])
    save_untrained(tmp_path / "pair", 1, ruleset.spec)
    spec = f"policy:{tmp_path / 'pair'}"
    table = app.Table(players([spec]))
    shown = asyncio.run(table.ruleset({"rules": ruleset.spec}))
    told = asyncio.run(table.welcome({}))["players"]
    assert [player["rules"] for player in told if player["spec"] == spec] == [(shown["name"],)]
    for other in ("classic", "classic:name=seven-trolls,trolls=G7+H7"):
        with pytest.raises(BadRequest, match="does not play"):
            asyncio.run(table.player({"player": spec}, Position.start(get_ruleset(other))))
    assert asyncio.run(table.player({"player": spec}, Position.start(ruleset))).spec == spec


def test_a_player_named_at_the_start_may_refuse_a_game_itself(monkeypatch):
    class OfTheTrolls(agents.Agent):
        def act_rows(self, rows):
            return agents.make("greedy").act_rows(rows)

        def check_plays(self, rules, side):
            if side != "trolls":
                raise ValueError("this one plays the trolls")

    monkeypatch.setattr(players_module, "make", lambda spec: OfTheTrolls())
    table = app.Table(players(["python:own:OfTheTrolls"]))
    message = {"player": "python:own:OfTheTrolls"}
    with pytest.raises(ThudError, match="this one plays the trolls"):
        asyncio.run(table.player(message, START))
    assert asyncio.run(table.player(message, START.play("dF1-F5"))).rules is None


def test_any_error_of_an_answer_that_has_begun_is_its_last_line():
    async def answer(message):
        yield {"finding": None}
        raise ThudError("weights are damaged:\nthere is no such file")

    async def body():
        return b"{}"

    async def lines():
        response = await app._streaming(answer)(SimpleNamespace(body=body))
        return [json.loads(line) async for line in response.body_iterator]

    told = {"error": "weights are damaged: there is no such file"}
    assert asyncio.run(lines()) == [{"finding": None}, told]


def test_another_address_of_the_loopback_is_answered():
    with serving("--host", "127.0.0.2") as server:
        assert server.address.startswith("http://127.0.0.2:")
        with urllib.request.urlopen(server.address, timeout=30) as answer:
            assert answer.status == 200


def test_off_the_loopback_a_token_is_asked_for():
    with serving("--host", "0.0.0.0") as server:
        assert "token=" in server.address
        assert server.request("GET", "/")[0] == 403
        assert server.request("GET", "/?token=wrong")[0] == 403
        query = server.address.partition("?")[2]
        status, headers, _ = server.request("GET", f"/?{query}")
        assert (status, headers["location"]) == (303, "/")
        cookie = headers["set-cookie"].partition(";")[0]
        assert "HttpOnly" in headers["set-cookie"]
        assert server.request("GET", "/", Cookie=cookie)[0] == 200


def test_a_server_of_all_addresses_answers_to_the_one_that_was_reached():
    with serving("--host", "0.0.0.0") as server:
        port = urllib.parse.urlsplit(server.address).port
        for reached, named, status in (
            ("127.0.0.3", "127.0.0.3", 403),  # the token is missing
            ("127.0.0.3", "127.0.0.4", 421),
            ("127.0.0.3", "evil.example", 421),
        ):
            connection = http.client.HTTPConnection(reached, port, timeout=30)
            connection.request("GET", "/", headers={"Host": f"{named}:{port}"})
            assert connection.getresponse().status == status, named
            connection.close()


def test_messages_are_refused_in_one_line_that_names_the_field():
    for message, found in (
        ({}, "'rules' must be text"),
        ({"rules": "chess"}, "unknown ruleset 'chess'"),
        ({"rules": f"classic:name={'x' * 1000}"}, "too long"),
        ({"rules": "classic", "agreement": 1}, "agreement must be True or False"),
        ({"rules": "classic", "max_turns": 0}, "max_turns must be in"),
        ({"rules": "classic", "max_turns": [3]}, "max_turns must be an integer"),
        ({"rules": "classic", "position": "x" * 1000}, "too long"),
        ({"rules": "classic", "position": "x d - 0 0"}, "rows"),
    ):
        with pytest.raises(BadRequest, match=found):
            protocol.read_position(message, NamedRulesets())


def test_clients_may_name_only_so_many_rulesets(monkeypatch):
    monkeypatch.setattr(protocol, "MOST_RULESETS", 2)
    named = NamedRulesets()
    rulesets = [thud_env.CLASSIC.replace(name=f"mine-{number}") for number in range(3)]
    for ruleset in rulesets[:2]:
        assert protocol.read_position({"rules": ruleset.spec}, named).rules == ruleset
    one_more = rulesets[2]
    with pytest.raises(BadRequest, match="2 rulesets of your own"):
        protocol.read_position({"rules": one_more.spec}, named)
    with pytest.raises(BadRequest, match="2 rulesets of your own"):
        load(Record(Position.start(one_more)).text, named)
    for known in (*RULESETS.values(), *rulesets[:2]):
        assert protocol.read_position({"rules": known.spec}, named).rules == known
        assert load(Record(Position.start(known)).text, named)["rules"] == known.spec


def test_misspelt_rulesets_do_not_count(monkeypatch):
    monkeypatch.setattr(protocol, "MOST_RULESETS", 2)
    named = NamedRulesets()
    mine = thud_env.CLASSIC.replace(name="mine-and-well-spelt")
    record = Record(Position.start(mine)).text
    for number in range(3):
        with pytest.raises(BadRequest, match="unknown ruleset"):
            protocol.read_position({"rules": f"chess-{number}"}, named)
        with pytest.raises(BadRequest, match="line 1: unknown ruleset 'clasic"):
            load(record.replace("classic:name", f"clasic{number}:name"), named)
    assert load(record, named)["rules"] == mine.spec


def test_players_draw_anew_with_every_server(monkeypatch):
    seeds = []
    monkeypatch.setattr(thinking, "make", lambda spec, seed: seeds.append(seed))
    for _ in range(2):
        asyncio.run(thinking.Thinkers().ask("random", str))
    assert seeds[0] != seeds[1]


WRONG = """
import time
import agents
import numpy as np

class Wrong(agents.Agent):
    def __init__(self, seed=0, after=0.0):
        self.after = after

    def act_rows(self, rows):
        time.sleep(self.after)
        return np.full(len(rows), 6466)
"""
FAILING = """
import time
import agents

class Failing(agents.Agent):
    stochastic = False

    def __init__(self, seed=0, after=0.0):
        self.after = after

    def act_rows(self, rows):
        time.sleep(self.after)
        raise ValueError("a bug of my own")
"""


def test_an_error_of_ones_own_agent_is_told_on_the_page_and_traced_in_the_terminal(
    tmp_path, monkeypatch, capfd
):
    pytest.importorskip("uvicorn")
    (tmp_path / "own_agent.py").write_text(FAILING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    at_once, late = "python:own_agent:Failing", "python:own_agent:Failing,after=1.0"
    told = {"error": "own_agent:Failing failed: the terminal shows where"}
    with serving("--dwarfs", at_once, "--trolls", late) as server:
        ours = {"rules": "classic", "position": START.text, "player": at_once, "id": "thought-1"}
        assert server.ask("think", **ours) == (500, told)
        answered = START.play(agents.make("greedy").turn(START)).text
        theirs = {"rules": "classic", "position": answered, "player": late, "id": "thought-2"}
        *thought, last = server.lines("think", **theirs)
        *found, end = server.lines("analyse", **(ours | {"id": "thought-3"}))
    assert {"finding": None} in thought
    assert last == end == told
    assert found == [{"finding": None}]
    assert capfd.readouterr().err.count("ValueError: a bug of my own") == 3


def test_an_illegal_answer_of_ones_own_agent_is_told_on_the_page(tmp_path, monkeypatch):
    pytest.importorskip("uvicorn")
    (tmp_path / "own_agent.py").write_text(WRONG)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    at_once, late = "python:own_agent:Wrong", "python:own_agent:Wrong,after=1.0"
    answered = START.play(agents.make("greedy").turn(START)).text
    with serving("--dwarfs", at_once, "--trolls", late) as server:
        message = {"rules": "classic", "position": START.text, "player": at_once, "id": "thought-1"}
        status, told = server.ask("think", **message)
        message |= {"position": answered, "player": late, "id": "thought-2"}
        *thought, last = server.lines("think", **message)
    assert status == 500
    assert told["error"].startswith("Wrong: action 6466 (done) is illegal for the dwarfs")
    assert {"finding": None} in thought
    assert last["error"].startswith("Wrong: action 6466 (done) is illegal for the trolls")
