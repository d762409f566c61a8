"""What the page shows of a player's thoughts: insight, glimpses, analyses and their limits."""

import asyncio
import dataclasses
import threading
from contextlib import aclosing
from types import SimpleNamespace

import pytest

import agents
from agents.analysis import DEEPEST, Analysis, endless_spec, glimpse
from agents.search import negamax
from agents.search.deepening import Searcher
from agents.search.evaluation import WIN
from agents.search.thought import Thought
from agents.web import thinking
from agents.web.app import Table
from agents.web.insight import curve_view, finding_with_heat, likeliest_turns, opinion_view
from agents.web.lessons import LESSONS
from agents.web.players import players
from agents.web.protocol import BadRequest
from thud_env import Position, Record, ThudError
from thud_env.actions import ACCEPT, DECLINE, OFFER

START = Position.start()
NO_LIMIT = f"nodes={10**15},depth={DEEPEST}"
DEEP = f"alphabeta:quiescence=2,{NO_LIMIT}"


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
    shown = opinion_view(policy, LESSONS[3].start)
    assert set(dict(shown["turns"])) <= set(LESSONS[3].start.turns())
    assert sum(chance for _, chance in shown["turns"]) <= 1.0 + 1e-6  # float32
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

    (turn, chance), *_ = likeliest_turns(judge, position)
    assert turn == "TG6-F5xE5"
    first = len(position.legal_actions())
    second = len(position.apply(wanted[0]).legal_actions())
    assert chance == pytest.approx((0.5 + 0.5 / first) * (0.5 + 0.5 / second))
    assert turn in turns


@pytest.mark.parametrize("question", ["insight", "curve"])
@pytest.mark.parametrize("player", ["greedy", "alphabeta:depth=1"])
def test_a_policy_alone_is_asked_for_probabilities_and_values(question, player):
    """A search would run for every turn shown, and a player of one's own might never answer."""
    message = {"rules": "classic", "position": START.text, "turns": [], "player": player}
    with pytest.raises(BadRequest, match="this player has no probabilities and values to show"):
        asyncio.run(getattr(Table(players()), question)(message))


def test_a_client_that_leaves_during_a_tick_leaves_no_task_behind():
    async def left():
        room = thinking.Room(1)
        seat, over = thinking.Seat(room), threading.Event()
        work = seat.start(None, over.wait)

        async def watch():
            async for _ in seat.ticks(60):
                pass

        client = asyncio.ensure_future(watch())
        await asyncio.sleep(0.01)
        client.cancel()
        await asyncio.wait([client])
        try:
            return asyncio.all_tasks() - {asyncio.current_task(), work}
        finally:
            over.set()
            await work

    assert asyncio.run(left()) == set()


def test_the_curve_of_a_battle_ends_at_its_margin(policy):
    start = Position.start("classic", max_turns=2)
    curve = curve_view(policy, [*Record(start, ("dF1-F5", "TG7-F6xF5")).positions()])
    assert curve["margins"] == [0, 0, -1]
    assert curve["expected"][-1] == -1
    assert len(curve["expected"]) == 3


def test_a_search_is_watched_turn_by_turn():
    found = []

    class Watched(Analysis):
        @property
        def finding(self):
            return found[-1] if found else None

        @finding.setter
        def finding(self, finding):
            if finding is not None:
                found.append(finding)
            if len(found) == 3:
                self.stop()

    position = LESSONS[1].start
    Watched("alphabeta:depth=1", position, endless=True).run()
    assert [finding.depth for finding in found] == [1, 2, 3]
    assert [len(finding.line) for finding in found] == [1, 2, 3]
    here = position
    for turn in found[2].line:
        here = here.play(turn)
    view = finding_with_heat(found[0], position)
    assert view["turns"] == [(found[0].line[0], 1.0)]


def test_an_analysis_that_is_stopped_keeps_its_last_finished_search():
    """Even one that is stopped while it looks for the rest of its main line."""
    position = LESSONS[1].start
    whole = Analysis("alphabeta:depth=2", position)
    whole.run()
    stopped = Analysis("alphabeta:depth=3", position)
    stopped_at = []

    def stop_at_depth_three(thought):
        if thought.depth == 3:
            stopped.stop()
            stopped_at.append(thought)
        return Analysis._line(stopped, thought)

    stopped._line = stop_at_depth_three
    stopped.run()
    assert len(stopped_at) == 1
    assert (stopped.finding.depth, stopped.finding.line) == (2, whole.finding.line)


def test_a_stop_before_an_analysis_begins_is_not_lost():
    analysis = Analysis("alphabeta", LESSONS[1].start)
    analysis.stop()
    analysis.run()
    assert analysis.finding is None


@pytest.mark.parametrize(("spec", "at_depth"), [("alphabeta", DEEPEST), ("alphabeta:depth=7", 6)])
def test_a_stop_that_a_search_did_not_see_ends_it_after_its_first_turn(monkeypatch, spec, at_depth):
    """It comes just before the search begins: the one for its turn, or one for the main line."""
    analysis, prepare, search = Analysis(spec, LESSONS[1].start), Searcher._prepare, negamax.search
    depths = []

    def prepared(searcher, row, options):
        if options.depth == at_depth:
            analysis.stop()
            depths.clear()
        prepare(searcher, row, options)

    def searched(work, row, depth, *rest):
        depths.append(depth)
        return search(work, row, depth, *rest)

    monkeypatch.setattr(Searcher, "_prepare", prepared)
    monkeypatch.setattr(negamax, "search", searched)
    analysis.run()
    assert depths == [1]
    assert analysis.finding is not None


def test_an_endless_analysis_has_no_limit_of_nodes():
    assert agents.make(endless_spec("alphabeta"))._options.nodes == 10**15


def test_the_main_line_is_searched_a_turn_less_deep_each_time(monkeypatch):
    made = []
    monkeypatch.setattr("agents.analysis.make", lambda spec: made.append(spec) or agents.make(spec))
    analysis = Analysis("alphabeta:quiescence=1,depth=3", LESSONS[1].start)
    analysis.run()
    at_depth_three = made[-2:]
    assert at_depth_three == ["alphabeta:quiescence=1,depth=2", "alphabeta:quiescence=1,depth=1"]
    assert len(analysis.finding.line) == 3


def test_a_search_that_deepens_ends_with_what_it_would_think():
    row = LESSONS[1].start.row
    found = list(agents.make("alphabeta:depth=3").deepen(row))
    assert [thought.depth for thought in found] == [1, 2, 3]
    assert found[-1] == agents.make("alphabeta:depth=3").think(row)
    assert len(list(agents.make("alphabeta:time=0.05").deepen(row))) == 1
    player = agents.make("alphabeta:depth=3")
    deeper = player.deepen(row)
    next(deeper)
    assert player.glimpse(row).depth == 1
    deeper.close()
    assert player.glimpse(row) is None


@pytest.mark.parametrize("spec", ["mcts:sims=450", "policy+mcts:pretrained/classic,sims=450"])
def test_a_tree_search_is_watched_as_it_doubles(spec):
    """It ends with what it would play, and has a main line from the first time on."""
    position = LESSONS[1].start
    agent = agents.make(spec)
    found = list(agent.deepen(position.row))
    visits = [thought.simulations for thought in found]
    assert len(visits) == 4
    for seen, due in zip(visits, (100, 200, 400, 450), strict=True):
        assert due - 1 <= seen < due + 8  # a simulation evaluates the root; leaves come in batches
    whole = agents.make(spec).think(position.row)
    assert dataclasses.replace(found[-1], expected=[]) == whole
    assert agent.searched == 450
    analysis = Analysis(spec, position)
    analysis.run()
    line = analysis.finding.line
    assert 2 <= len(line) <= 4
    here = position
    for turn, decisions in zip(line, [found[-1].decisions, *found[-1].expected], strict=False):
        assert here.turn_of(decisions) == turn
        here = here.play(turn)


def test_a_turn_that_a_tree_has_not_looked_to_the_end_of_is_finished():
    """It moves, and whom it captures is still to be decided."""
    position = LESSONS[2].start
    move, *captures = position.decisions("TG6-F5xE5")
    assert captures
    (turn,) = Analysis("mcts", position)._line(Thought([move], 0, visits={move: 2}))
    assert turn.startswith("TG6-F5x")
    assert position.play(turn).to_move == "dwarfs"


@pytest.mark.parametrize(
    ("spec", "visits"), [("mcts", 101), ("policy+mcts:pretrained/classic", 100)]
)
def test_a_tree_that_is_stopped_shows_what_it_has(spec, visits):
    analysis = Analysis(spec, LESSONS[1].start, endless=True)
    deepen = type(analysis._thinking).deepen

    def stopped(row):
        for thought in deepen(analysis._thinking, row):
            yield thought
            analysis.stop()

    analysis._thinking.deepen = stopped
    analysis.run()
    assert analysis.finding.visits == visits


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


def noting(made):
    """Stands in for ``make``: keeps each spec, and makes a player that costs nothing."""
    return lambda spec: made.append(spec) or agents.make("greedy")


@pytest.mark.parametrize(
    ("spec", "runs"),
    [
        ("alphabeta:quiescence=2", DEEP),
        ("alphabeta:depth=0,time=0.0", f"alphabeta:{NO_LIMIT}"),
        ("mcts:c=2,time=0e0", "mcts:c=2,sims=1000000"),
        ("greedy", "greedy"),
    ],
)
def test_a_search_without_a_limit_has_no_end(monkeypatch, spec, runs):
    made = []
    monkeypatch.setattr("agents.analysis.make", noting(made))
    for endless in (False, True):
        Analysis(spec, LESSONS[1].start, endless=endless)
    assert made == [runs, runs]


@pytest.mark.parametrize(
    ("spec", "unlimited"),
    [
        ("alphabeta:depth=2,quiescence=2", DEEP),
        ("alphabeta:nodes=5000,quiescence=2", DEEP),
        ("alphabeta:quiescence=2,depth=0,time=0.5", DEEP),
        ("mcts:sims=200", "mcts:sims=1000000"),
        ("policy+mcts:pretrained/classic,time=2", "policy+mcts:pretrained/classic,sims=1000000"),
        ("champion", f"alphabeta:{NO_LIMIT}"),
        ("champion:time=3,seed=2", f"alphabeta:seed=2,{NO_LIMIT}"),
    ],
)
def test_a_limit_of_the_spec_is_kept_but_on_the_page(monkeypatch, spec, unlimited):
    made = []
    monkeypatch.setattr("agents.analysis.make", noting(made))
    for endless in (False, True):
        Analysis(spec, LESSONS[1].start, endless=endless)
    assert made == [spec, unlimited] == [spec, endless_spec(spec)]


@pytest.mark.parametrize("spec", ["alphabeta", "mcts", "champion"])
def test_an_open_offer_is_answered_within_the_limits_of_the_player(monkeypatch, spec):
    made = []
    monkeypatch.setattr("agents.analysis.make", noting(made))
    start = Position.start("classic", agreement=True, offer_after=1)
    position = start.play("dF1-F2").apply(OFFER)
    Analysis(spec, position, endless=True)
    assert made == [spec]


@pytest.mark.parametrize(("limit", "endless", "sims"), [("", False, 200), (",sims=16", True, 16)])
def test_an_analysis_that_halves_its_candidates_ends(limit, endless, sims):
    spec = f"policy+mcts:pretrained/classic,root=gumbel,lookahead=0{limit}"
    analysis = Analysis(spec, LESSONS[1].start, endless=endless)
    thread = threading.Thread(target=analysis.run, daemon=True)
    thread.start()
    thread.join(60)
    found = analysis.finding
    analysis.stop()
    thread.join()
    assert found is not None
    assert found.visits == sims - 1  # the first values the root


@pytest.mark.parametrize("spec", ["alphabeta:depth=1", "mcts:sims=10", "greedy"])
def test_a_battle_that_is_over_is_not_analysed(spec):
    over = Position.start(max_turns=2).play("dE2-E6").play("TG7-F6")
    with pytest.raises(ValueError, match="the battle is over"):
        Analysis(spec, over)


def test_a_player_of_another_game_is_refused_before_it_analyses():
    with pytest.raises(ThudError, match="was trained for koom-valley-football, not classic"):
        Analysis("policy:pretrained/koom-valley-football", LESSONS[1].start)


def test_an_analysis_is_of_a_spec():
    with pytest.raises(TypeError, match=r"^spec <.*: .*:depth=2', or 'python:"):
        Analysis(agents.make("greedy"), LESSONS[1].start)


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
                if thought is not None and thought.depth > 1:
                    return thought
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
            assert await anext(thoughts) is None
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
