"""The answers of the page's server, and the requests that it refuses."""

import asyncio
import json
import re
import threading
import urllib.request
from contextlib import aclosing
from types import SimpleNamespace

import pytest
from page_server import serving

import agents
import thud_env
from agents.analysis import Analysis, deeper, glimpse, searches
from agents.search.evaluation import WIN
from agents.search.planning import Thought
from agents.web import app, protocol, records, thinking, views
from agents.web import players as players_module
from agents.web.insight import best_turns, curve_of, finding_view, opinion_of
from agents.web.lessons import LESSONS
from agents.web.players import players, scores
from agents.web.protocol import BadRequest, NamedRulesets
from agents.web.records import load, points, positions_of, save
from thud_env import RULESETS, Position, Record
from thud_env.actions import ACCEPT, DECLINE, OFFER
from thud_env.board import SQUARE_BY_NAME
from thud_env.rules.row import PENDING

START = Position.start()
ALONE = "5/7/9/11/13/15/15/7R7/15/15/13/11/9/7/5"


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("uvicorn")
    with serving() as found:
        yield found


def moves_from(view, name):
    return {move["to"]: move for move in view["moves"][SQUARE_BY_NAME[name]]}


def squares(*names):
    return sorted(SQUARE_BY_NAME[name] for name in names)


# -- views ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", RULESETS)
def test_a_view_offers_what_is_legal_and_nothing_else(rules):
    position = Position.start(rules)
    for _ in range(60):
        view = views.view(position)
        offered = [move["action"] for moves in view["moves"].values() for move in moves]
        offered += [capture["action"] for capture in view["captures"]]
        offered += [word["action"] for word in view["words"]]
        assert sorted(set(offered)) == position.legal_actions().tolist()
        position = position.apply(int(position.legal_actions()[-1]))
        if position.outcome is not None:
            break


def test_a_hurl_is_called_one_and_names_the_troll():
    (move,) = [
        move
        for move in moves_from(views.view(LESSONS[1].start), "F9").values()
        if move.get("kind") == "hurl"
    ]
    assert move["takes"] == squares("J6")


def test_a_shove_names_all_that_it_may_capture():
    move = moves_from(views.view(LESSONS[3].start), "K7")[SQUARE_BY_NAME["H7"]]
    assert move["kind"] == "shove"
    assert (move["may"], move["most"]) == (squares("G6", "G7", "G8", "H6"), 4)


def test_a_step_that_captures_one_of_two_says_so():
    move = moves_from(views.view(LESSONS[2].start), "G6")[SQUARE_BY_NAME["F5"]]
    assert "kind" not in move
    assert (move["may"], move["most"]) == (squares("E4", "E5", "E6"), 1)


def test_a_trample_names_the_dwarf_it_jumps():
    text = "5/7/9/11/13/4Td9/15/15/7R3d3/15/13/11/9/7/5 t - 0 0"
    view = views.view(Position.from_text(text, "koom-valley"))
    move = moves_from(view, "E6")[SQUARE_BY_NAME["G6"]]
    assert (move["kind"], move["takes"]) == ("trample", squares("F6"))


def test_a_dwarf_that_closes_a_trap_says_what_it_takes():
    text = "5/7/9/11/13/3dT6d3/15/15/7R7/15/13/11/9/7/5 d - 0 0"
    move = moves_from(views.view(Position.from_text(text, "koom-valley")), "M6")
    assert move[SQUARE_BY_NAME["F6"]].get("takes", []) == squares("E6")


def test_all_or_none_is_offered_on_every_dwarf_that_would_go():
    rules = "classic-all"
    text = "5/7/9/2d8/3d9/4d1T5d2/15/7R7/2d6T5/15/13/6d4/9/7/5 t - 0 0"
    position = Position.from_text(text, rules)
    step = moves_from(views.view(position), "G6")[SQUARE_BY_NAME["F5"]]
    _, after = views.decide(position, [step["action"]])
    captures = views.view(after)["captures"]
    assert [capture["square"] for capture in captures] == squares("E4", "E5", "E6")
    assert len({capture["action"] for capture in captures}) == 1


def test_a_turn_is_named_once_it_is_complete():
    position = LESSONS[3].start
    shove = moves_from(views.view(position), "K7")[SQUARE_BY_NAME["H7"]]["action"]
    turn, after = views.decide(position, [shove])
    assert turn is None
    assert after.row[PENDING] != 0
    view = views.view(after)
    assert (view["asks"], view["deciding"]) == ("capture", SQUARE_BY_NAME["H7"])
    taken = [c["action"] for c in view["captures"] if c["square"] in squares("G6", "H6")]
    done = [word["action"] for word in view["words"] if word["name"] == "Capture none"]
    assert not done  # a shove must capture
    turn, _ = views.decide(position, [shove, *taken, 6466])
    assert turn == "TK7-H7xG6xH6"


def test_decisions_beyond_the_turn_are_refused():
    first = int(START.legal_actions()[0])
    reply = int(START.apply(first).legal_actions()[0])
    with pytest.raises(ValueError, match="turn is over"):
        views.decide(START, [first, reply])


# -- the page's colours ----------------------------------------------------------------------


def luminance(colour):
    """The relative luminance of WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_and_borders_stand_out_from_what_they_are_on(scheme):
    style = (app.PAGE / "style.css").read_text(encoding="utf-8")
    block = re.findall(r":root {(.*?)}", style, re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", block))
    for ground in ("bg", "surface", "soft"):
        for text in ("ink", "muted", "wrong", "accent"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5


# -- players, lessons, records -----------------------------------------------------------------


def test_players_name_their_strength_as_the_ladder_measured_it():
    measured = scores()
    found = players()
    assert measured["greedy"] in found["greedy"].line
    offered = [spec for spec in measured if spec in found]
    assert len(offered) >= 3
    assert all(measured[spec] in found[spec].line for spec in offered)
    assert found["greedy"].line.endswith("points a game of Classic Thud")


def test_a_player_of_a_second_a_turn_has_a_strength_too(tmp_path, monkeypatch):
    page = tmp_path / "strength.md"
    page.write_text("| 1  | champion | +30.3 (+29.4 to +31.2) | 1,001, 1.2 | 9,866, 9,340 |\n")
    monkeypatch.setattr(players_module, "STRENGTH", page)
    assert scores() == {"champion": "+30.3"}


def test_policies_are_offered_for_their_own_games():
    policies = [player for player in players().values() if player.is_policy]
    assert policies
    assert all(player.rules for player in policies)


def test_an_invalid_spec_is_refused_at_once():
    with pytest.raises(ValueError, match="unknown agent"):
        players(["nonsense"])


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.title)
def test_every_lesson_can_be_solved_and_shows_its_point(lesson):
    assert lesson.solutions
    assert set(lesson.solutions) <= set(lesson.start.turns())
    if lesson.title != "Dwarfs run":
        assert len(lesson.solutions) < len(lesson.start.turns())


def test_records_come_back_as_they_went():
    text = save(START, ["dF1-F5", "TG7-F6"], {"dwarfs": "a person", "trolls": "greedy"})
    loaded = load(text, NamedRulesets())
    assert loaded["turns"] == ["dF1-F5", "TG7-F6"]
    assert loaded["positions"][-1] == START.play("dF1-F5").play("TG7-F6").text
    assert loaded["tags"]["Trolls"] == "greedy"


def test_a_record_is_opened_if_it_has_no_more_turns_than_can_be_saved(monkeypatch):
    monkeypatch.setattr(records, "MOST_TURNS", 20)
    position, turns = START, []
    for _ in range(21):
        turns.append(position.turns()[0])
        position = position.play(turns[-1])
    most, one_more = (Record(START, tuple(turns[:count])).text for count in (20, 21))
    assert len(load(most, NamedRulesets())["turns"]) == 20
    with pytest.raises(BadRequest, match="20 turns at most"):
        load(one_more, NamedRulesets())


def test_points_are_the_sum_of_two_margins():
    assert points([3]) == [3, -3]
    assert points([3, 7]) == [-4, 4]  # docs/rules.md, section 6
    with pytest.raises(BadRequest):
        points([])


# -- insight -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def policy():
    from agents import make

    return make("policy:pretrained/classic")


def test_a_policy_shows_its_probabilities_and_its_expected_margin(policy):
    opinion = policy.judge(LESSONS[3].start)
    legal = LESSONS[3].start.legal_actions()
    assert opinion.probabilities.sum() == pytest.approx(1)
    assert opinion.probabilities[legal].sum() == pytest.approx(1)
    assert -32 <= opinion.margin <= 32
    shown = opinion_of(policy, LESSONS[3].start)
    assert set(dict(shown["turns"])) <= set(LESSONS[3].start.turns())
    assert sum(chance for _, chance in shown["turns"]) <= 1.0 + 1e-9
    assert shown["heat"].startswith("<svg")


def test_the_probability_of_a_turn_is_that_of_its_decisions():
    position = LESSONS[2].start
    turns = position.turns()
    wanted = position.decisions("TG6-F5xE5")

    class Sure:
        def __init__(self, probabilities):
            self.probabilities = probabilities

    def judge(here):
        import numpy as np

        chances = np.zeros(6470)
        legal = here.legal_actions()
        chosen = [action for action in wanted if action in legal]
        chances[legal] = 0.5 / len(legal)
        chances[chosen[0]] += 0.5
        return Sure(chances)

    (turn, chance), *_ = best_turns(judge, position)
    assert turn == "TG6-F5xE5"
    first = len(position.legal_actions())
    second = len(position.apply(wanted[0]).legal_actions())
    assert chance == pytest.approx((0.5 + 0.5 / first) * (0.5 + 0.5 / second))
    assert turn in turns


def test_a_search_is_not_asked_for_the_probabilities_of_turns():
    with pytest.raises(BadRequest, match="this player has no probabilities to show"):
        opinion_of(agents.make("alphabeta:depth=1"), LESSONS[3].start)


def test_the_curve_of_a_battle_ends_at_its_margin(policy):
    start = Position.start("classic", max_turns=2)
    curve = curve_of(policy, positions_of(start, ["dF1-F5", "TG7-F6xF5"]))
    assert curve["margins"] == [0, 0, -1]
    assert curve["expected"][-1] == -1
    assert len(curve["expected"]) == 3


def test_a_search_is_watched_turn_by_turn():
    found = []

    class Watched(Analysis):
        def _look(self, depth):
            found.append(super()._look(depth))
            if len(found) == 2:
                self.stop()
            return found[-1]

    position = LESSONS[1].start
    analysis = Watched("alphabeta:depth=9", position, endless=True)
    analysis.run()
    assert [finding.depth for finding in found] == [1, 2]
    assert analysis.finding is found[0]
    assert found[1].line[0] in position.turns()
    assert len(found[1].line) == 2
    view = finding_view(found[0], position)
    assert view["turns"] == [(found[0].line[0], 1.0)]


@pytest.mark.parametrize("spec", ["alphabeta:depth=2", "mcts:sims=300"])
def test_a_search_is_glimpsed_while_it_looks_for_its_turn(spec):
    agent, position = agents.make(spec), LESSONS[1].start
    other = LESSONS[3].start
    assert glimpse(agent, position) is None, "nothing has been asked of it yet"
    seen = []
    row = position.row.copy()

    def think_until_seen():
        for _ in range(2000):
            if not seen:
                agent.think(row)

    thread = threading.Thread(target=think_until_seen)
    thread.start()
    while thread.is_alive():
        assert glimpse(agent, other) is None, "it thinks about another position"
        found = glimpse(agent, position)
        if found is not None and not seen:
            seen.append(found)
    (found,) = seen
    assert found.line[0]
    assert abs(found.margin) <= position.rules.largest_margin
    assert (found.depth or found.visits) >= 1
    assert found.probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("rules", "value", "margin"),
    [("classic", 250, 2.5), ("koom-valley", 1000, 0.5), ("koom-valley", -WIN, -0.99)],
)
def test_a_search_shows_points_or_the_share_of_a_win(rules, value, margin):
    position = Position.start(rules)
    thought = Thought([int(position.legal_actions()[0])], value)
    found = glimpse(SimpleNamespace(glimpse=lambda row: thought), position)
    sign = 1 if position.to_move == "dwarfs" else -1
    assert found.margin == pytest.approx(sign * margin, abs=0.001)


def test_a_player_without_a_search_has_no_glimpse():
    assert glimpse(agents.make("greedy"), LESSONS[1].start) is None


def test_searches_are_asked_ever_deeper():
    asked = list(deeper("alphabeta:depth=3,quiescence=2"))
    assert asked[:2] == [
        ("alphabeta:quiescence=2,depth=1", 1),
        ("alphabeta:quiescence=2,depth=2", 2),
    ]
    assert [spec for spec, _ in deeper("mcts:time=3,c=2")][:2] == [
        "mcts:c=2,sims=100",
        "mcts:c=2,sims=200",
    ]
    assert list(deeper("greedy")) == [("greedy", None)]


@pytest.mark.parametrize(
    ("spec", "depth"),
    [
        ("alphabeta:depth=2,quiescence=2", 2),
        ("alphabeta:nodes=5000", None),
        ("alphabeta:depth=0,time=0.5", None),
        ("mcts:sims=100", None),
        ("policy+mcts:pretrained/classic,time=2", None),
    ],
)
def test_a_limit_of_the_spec_is_kept_but_on_the_page(spec, depth):
    assert list(searches(spec, endless=False)) == [(spec, depth)]
    assert list(searches(spec, endless=True)) == list(deeper(spec))


@pytest.mark.parametrize("spec", ["alphabeta", "alphabeta:depth=0,time=0.0", "mcts:c=2"])
def test_a_search_without_a_limit_goes_on_ever_deeper(spec):
    assert list(searches(spec, endless=False)) == list(deeper(spec))


def test_an_analysis_ends_at_the_limit_of_its_spec():
    by_depth = Analysis("alphabeta:depth=2", LESSONS[1].start)
    by_depth.run()
    assert (by_depth.finding.depth, len(by_depth.finding.line)) == (2, 2)
    by_simulations = Analysis("mcts:sims=100", LESSONS[1].start)
    by_simulations.run()
    assert by_simulations.finding.visits == 100


def test_the_page_searches_past_the_limit_of_a_spec():
    async def watch():
        thoughts = thinking.Thinkers().analyse(
            "alphabeta:depth=1", LESSONS[1].start, 60, "name-0001"
        )
        async with aclosing(thoughts):
            async for thought in thoughts:
                if thought["finding"] is not None and thought["finding"].depth > 1:
                    return thought["finding"]
        return None

    assert asyncio.run(watch()).depth > 1


def test_what_is_compiled_takes_no_time_of_a_player(monkeypatch):
    """As at a first turn, which was of depth 1 once all was compiled."""
    compiling = iter([True] * 5)  # for a second, where a tenth of one is thought
    monkeypatch.setattr(thinking, "is_compiling", lambda: next(compiling, False))

    async def watch():
        thoughts = thinking.Thinkers().analyse(
            "alphabeta:depth=1", LESSONS[1].start, 0.1, "name-0001"
        )
        async with aclosing(thoughts):
            async for _ in thoughts:
                pass

    asyncio.run(watch())
    assert next(compiling, None) is None, "its time was up while it was compiled"


@pytest.mark.parametrize("asked_to", [None, "stop"])
def test_the_request_of_a_player_that_cannot_be_stopped_ends(monkeypatch, asked_to):
    let_go = threading.Event()

    class Stuck(agents.Agent):
        def act_rows(self, rows):
            let_go.wait(60)
            return agents.make("greedy").act_rows(rows)

    monkeypatch.setattr(thinking, "make", lambda spec, seed: Stuck())
    monkeypatch.setattr(thinking, "GRACE", 0.3)

    async def watch():
        thinkers = thinking.Thinkers()
        seconds = 60 if asked_to else 1
        thoughts = thinkers.turn("python:own:Stuck", START, seconds, "name-0001", quick=False)
        async with asyncio.timeout(30), aclosing(thoughts):
            assert await anext(thoughts) == {"finding": None}
            if asked_to:
                thinkers.stop("name-0001")
            with pytest.raises(BadRequest, match=r"after 0.3 seconds: .* a method stop\(\)"):
                async for _ in thoughts:
                    pass
        assert thinkers.stop("name-0001"), "it has left its seat"
        let_go.set()
        async with asyncio.timeout(30):
            while thinkers.stop("name-0001"):
                await asyncio.sleep(0.05)

    try:
        asyncio.run(watch())
    finally:
        let_go.set()


def test_an_analysis_shows_what_a_policy_thinks(policy):
    position = LESSONS[2].start
    analysis = Analysis("policy:pretrained/classic", position)
    analysis.run()
    opinion = policy.judge(position)
    assert analysis.finding.margin == pytest.approx(opinion.margin)
    assert analysis.finding.probabilities == pytest.approx(opinion.probabilities)
    (turn,) = analysis.finding.line
    assert position.decisions(turn)[0] == opinion.probabilities.argmax()


def test_an_analysis_of_an_open_offer_has_the_margin_of_its_search():
    position = Position.start("classic", agreement=True, offer_after=1).play("dF1-F2")
    analysis = Analysis("alphabeta:depth=1", position.apply(OFFER))
    analysis.run()
    assert analysis.finding.margin is not None
    assert analysis.finding.probabilities[[ACCEPT, DECLINE]].sum() == 1


# -- the server ----------------------------------------------------------------------------


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
    assert last["view"]["turnNumber"] == 2


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
    with pytest.raises(ValueError, match="this one plays the trolls"):
        asyncio.run(table.player(message, START))
    assert asyncio.run(table.player(message, START.play("dF1-F5"))).rules is None


def test_any_error_of_an_answer_that_has_begun_is_its_last_line():
    async def answer(message):
        yield {"finding": None}
        raise ValueError("weights are damaged:\nthere is no such file")

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
