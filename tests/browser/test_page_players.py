"""A person watches players on the page, asks them for advice and sees what they think."""

import re
from urllib.parse import urlencode

import pytest
from at_the_page import (
    SHOVE,
    asked,
    begin,
    expect,
    hold_first,
    let_go,
    opened,
    press,
    shoot,
    state,
    turns,
    wait_for_turns,
)
from page_server import PATIENT, serving

import agents
from thud_env import RULESETS, Position


def test_undo_hint_and_flip(visit):
    page = visit(asked(trolls="greedy"))
    press(page, "E2", "can move")
    press(page, "E6", "move to")
    wait_for_turns(page, 2)
    page.get_by_role("button", name="Undo").click()
    wait_for_turns(page, 0)
    page.get_by_role("button", name="Hint").click()
    expect(page.locator("#about")).to_contain_text("Advice: d")
    shoot(page, "hint")
    before = page.get_by_role("button", name=re.compile("^F1, ")).bounding_box()
    page.get_by_role("button", name="Flip").click()
    after = page.get_by_role("button", name=re.compile("^F1, ")).bounding_box()
    assert after["y"] > before["y"] + 100
    shoot(page, "flipped")


def test_advice_stays_until_a_turn_is_played(visit):
    page = visit(asked(trolls="greedy"))
    page.get_by_role("button", name="Hint").click()
    about = page.locator("#about")
    expect(about).to_contain_text("Advice: d")
    start, end = re.findall(r"[A-P]\d+", about.inner_text())[:2]
    press(page, start, "can move")
    press(page, end, f"move to {end}")  # under the line of the advice
    wait_for_turns(page, 2)
    expect(page.locator("path.advice")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    press(page, start, "can move")
    page.mouse.move(1, 1)
    expect(about).to_contain_text("Advice: d")
    expect(page.locator("path.advice")).to_have_count(1)


def test_who_has_asked_for_advice_may_play_before_it_comes(visit):
    page = visit(asked(trolls="greedy"))
    held = hold_first(page, "**/api/think")
    page.get_by_role("button", name="Hint").click()
    expect(page.locator("#thinking")).to_contain_text("Advice is on its way")
    expect(page.get_by_role("button", name="Hint")).to_be_disabled()
    press(page, "F1", "can move")
    let_go(page, held)
    expect(page.locator("#about")).to_contain_text("Advice: dwarf")
    expect(page.get_by_role("button", name=re.compile("^F1, dwarf, chosen"))).to_be_visible()
    press(page, "F2", "move to")
    wait_for_turns(page, 2)
    page.unroute("**/api/think")
    hold_first(page, "**/api/think")
    page.get_by_role("button", name="Hint").click()
    expect(page.locator("#thinking")).to_contain_text("Advice is on its way")
    press(page, "G1", "can move")
    press(page, "G2", "move to")
    wait_for_turns(page, 4)
    expect(page.locator("#thinking")).to_be_hidden()
    expect(page.locator("path.advice")).to_have_count(0)


def test_where_no_person_has_played_nothing_is_taken_back(visit):
    page = visit(asked(dwarfs="greedy"))
    wait_for_turns(page, 1)
    expect(state(page)).to_contain_text("Turn 2, the trolls to move")
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()


def test_stop_says_at_once_that_it_was_heard(visit):
    page = visit(asked(dwarfs=PATIENT[0]))
    held = hold_first(page, "**/api/stop")
    stop = page.get_by_role("button", name="Stop", exact=True)
    stop.click()
    expect(page.get_by_role("button", name="Stopping")).to_be_visible()
    held[0].abort()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    stop.click()
    wait_for_turns(page, 1)
    visit.complaints.clear()  # the browser's own


def test_the_panel_stays_still_while_two_slow_agents_play(visit):
    page = visit()
    page.route("**/api/think", lambda route: (page.wait_for_timeout(600), route.continue_()))
    page.evaluate(
        """() => { window.went = 0; new MutationObserver(() => {
            went += document.getElementById("thinking").hidden;
        }).observe(document.getElementById("thinking"), { attributeFilter: ["hidden"] }); }"""
    )
    for side in ("dwarfs", "trolls"):
        page.get_by_label(f"Who plays the {side}").select_option("greedy")
    thinking = page.locator("#thinking")
    expect(thinking).to_be_visible()
    page.evaluate("went = 0")
    expect(turns(page).nth(3)).to_be_attached()
    assert page.evaluate("went") == 0
    page.get_by_role("button", name="Pause").click()
    expect(thinking).to_be_hidden()
    page.unroute_all(behavior="wait")  # else the page is gone before a request is let on


def test_agents_that_are_watched_play_on_where_they_were_stopped(visit):
    page = visit(asked(dwarfs="greedy", trolls="random"))
    expect(turns(page).nth(2)).to_be_attached()
    page.get_by_role("button", name="One turn back").click()
    page.get_by_role("button", name="To the end").click()
    count = turns(page).count()
    page.get_by_role("button", name="Play on").click()
    expect(turns(page).nth(count)).to_be_attached()
    expect(page.get_by_role("button", name="Pause")).to_be_enabled()
    expect(page.get_by_role("button", name="Pause", pressed=True)).to_have_count(0)
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()


def test_a_player_can_be_chosen_while_the_others_play(visit):
    page = visit(asked(dwarfs="greedy", trolls="greedy"))
    choice = page.get_by_label("Who plays the dwarfs").element_handle()
    expect(turns(page).nth(1)).to_be_attached()
    choice.select_option("random")  # its list of players stays open meanwhile
    expect(page.get_by_label("Who plays the dwarfs")).to_have_value("random")


def test_the_panel_names_who_thinks_only_where_that_takes_a_while(visit):
    page = visit(asked(trolls="greedy"))
    held = []
    page.route("**/api/think", lambda route: held.append(route))
    page.clock.install()
    press(page, "E2", "can move")
    press(page, "E6", "move to")
    wait_for_turns(page, 1)
    thinking = page.locator("#thinking")
    expect(thinking).to_be_hidden()
    page.clock.run_for(400)
    expect(thinking).to_contain_text("Greedy is thinking")
    expect(thinking).not_to_contain_text("compiled")
    page.clock.run_for(4000)
    expect(thinking).to_contain_text("may take a minute: it is compiled")
    held[0].continue_()
    wait_for_turns(page, 2)
    expect(thinking).to_be_hidden()
    press(page, "F1", "can move")
    press(page, "F2", "move to")
    wait_for_turns(page, 3)
    page.clock.run_for(400)
    expect(thinking).to_contain_text("Greedy is thinking")
    page.clock.run_for(4000)
    expect(thinking).not_to_contain_text("compiled")  # it has answered before


def test_a_server_that_does_not_answer_leaves_the_battle_to_go_on(visit):
    page = visit(asked(trolls="greedy"))
    alert = page.get_by_role("alert")
    movable = page.get_by_role("button", name=re.compile("can move"))
    expect(movable).to_have_count(32)
    page.route("**/api/*", lambda route: route.abort())
    page.get_by_role("button", name="Hint").click()
    expect(alert).to_contain_text("The server does not answer")
    expect(movable).to_have_count(32)
    press(page, "E2", "can move")
    press(page, "E6", "move to")
    page.unroute("**/api/*")
    page.route("**/api/think", lambda route: route.abort())
    press(page, "E6", "move to")  # the dwarf is still chosen
    wait_for_turns(page, 1)
    page.unroute("**/api/think")
    play_on = page.get_by_role("button", name="Play on")
    expect(play_on).to_be_enabled()
    expect(page.locator("#thinking")).to_be_hidden()
    play_on.click()
    wait_for_turns(page, 2)
    assert all("ERR_FAILED" in complaint for complaint in visit.complaints)
    visit.complaints.clear()


def test_a_server_that_ends_while_a_player_thinks_is_named(browser):
    dwarfs, _ = PATIENT
    with serving("--dwarfs", dwarfs) as ending:
        page = browser.new_page()
        page.goto(ending.address + f"#{urlencode(asked(dwarfs=dwarfs))}")
        expect(page.locator("#thinking")).to_contain_text("is thinking")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    expect(page.get_by_role("button", name="Play on")).to_be_enabled()
    page.close()


@pytest.mark.parametrize("first_seen", [True, False])
def test_a_battle_stays_where_an_agent_of_it_fails(visit, first_seen):
    page = visit(asked("koom-valley", dwarfs="greedy", trolls="greedy"))
    expect(turns(page).nth(1)).to_be_attached()
    address = page.url
    page = page.context.new_page() if first_seen else page
    page.route("**/api/think", lambda route: route.fulfill(status=500, json={"error": "it fails"}))
    page.goto(address) if first_seen else page.reload()
    expect(page.get_by_role("alert")).to_contain_text("it fails")
    page.wait_for_timeout(300)
    expect(page.locator("#title")).to_have_text("Koom Valley Thud")
    expect(page.get_by_role("button", name="Play on")).to_be_enabled()
    visit.complaints.clear()  # the browser's own


def test_a_policy_shows_its_heat_map_and_a_search_its_main_line(visit):
    page = visit(asked())
    page.get_by_role("tab", name="Insight").click()
    one, other = (page.get_by_role("region", name=f"{n} player") for n in ("First", "Second"))
    image = one.get_by_role("img", name=re.compile("^Heat map"))
    image.wait_for()
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    assert one.get_by_role("list", name="Likeliest turns").get_by_role("listitem").count() > 1
    expect(one).to_contain_text(re.compile(r"Expected: (dwarfs|trolls) by \d"))
    assert image.bounding_box()["width"] > 300, "alone it has the width of both"
    shoot(page, "insight-one")
    other.get_by_role("combobox").select_option("champion")
    other.get_by_role("button", name="Think").click()
    other.get_by_label("Main line").wait_for()
    assert image.bounding_box()["width"] < 200
    expect(other).to_contain_text(re.compile("[3-9] turns deep|1[0-9] turns deep"))
    shoot(page, "insight")
    if other.get_by_role("button", name="Stop").is_visible():
        other.get_by_role("button", name="Stop").click()
    other.get_by_role("button", name="Think").wait_for()


def test_a_policy_that_could_not_be_asked_is_asked_again(visit):
    page = visit(asked())
    page.route("**/api/insight", lambda route: route.abort())
    page.get_by_role("tab", name="Insight").click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.unroute("**/api/insight")
    page.get_by_role("tab", name="Turns").click()
    page.get_by_role("tab", name="Insight").click()
    expect(page.get_by_role("img", name=re.compile("^Heat map"))).to_be_visible()
    visit.complaints.clear()  # by the browser itself


@pytest.mark.parametrize("rules", [name for name in RULESETS if name != "classic"])
def test_insight_shows_the_policy_of_the_game_that_is_played(visit, rules):
    page = visit()
    page.get_by_role("tab", name="Insight").click()
    page.evaluate("address => location.hash = address", urlencode(asked(rules)))
    view = page.get_by_role("region", name="First player")
    expect(view.get_by_role("combobox")).to_have_value(f"policy:pretrained/{rules},temperature=0.3")
    expect(view.get_by_text(re.compile("^Expected: "))).to_be_visible(timeout=60_000)


def test_insight_is_left_without_a_player_by_who_wants_none(visit):
    page = visit()
    page.get_by_role("tab", name="Insight").click()
    choice = page.get_by_role("region", name="First player").get_by_role("combobox")
    choice.select_option("No player")
    page.evaluate("address => location.hash = address", urlencode(asked("koom-valley")))
    expect(state(page)).to_contain_text("Turn 1")
    expect(choice.get_by_role("option", name="Policy, koom-valley")).to_be_attached()
    expect(choice).to_have_value("")


def test_insight_follows_the_decisions_of_a_turn(visit):
    page = visit(asked(position=SHOVE))
    page.get_by_role("tab", name="Insight").click()
    one = page.get_by_role("region", name="First player")
    best = one.get_by_role("list", name="Likeliest turns")
    expect(best).to_contain_text("TK7", timeout=60_000)
    press(page, "K7", "can move")
    press(page, "H7", "shove to H7")
    expect(best).to_contain_text("TH7x")


def test_an_agent_that_is_seated_in_the_middle_of_a_turn_plays_a_turn_of_its_own(visit):
    page = visit(asked(position=SHOVE))
    press(page, "K7", "can move")
    press(page, "H7", "shove to H7")
    expect(page.locator("#about")).to_contain_text("Choose what to capture.")
    page.get_by_label("Who plays the trolls").select_option("greedy")
    wait_for_turns(page, 1)


def test_an_agent_plays_on_that_thought_while_another_turn_was_looked_at(visit):
    page = visit(asked(trolls="greedy"))
    held = hold_first(page, "**/api/think")
    with page.expect_request("**/api/think"):
        press(page, "E2", "can move")
        press(page, "E6", "move to")
    page.get_by_role("button", name="One turn back").click()
    page.get_by_role("button", name="One turn on").click()
    wait_for_turns(page, 2)
    assert held


def test_an_agent_whose_turn_was_not_answered_is_said_to_be_paused(visit):
    page = visit(asked(trolls="greedy"))
    page.route("**/api/think", lambda route: route.abort())
    press(page, "E2", "can move")
    press(page, "E6", "move to")
    about = page.locator("#about")
    expect(about).to_have_text("Paused: ▶ lets it play on.")
    page.unroute("**/api/think")
    page.get_by_role("button", name="Play on").click()
    wait_for_turns(page, 2)
    visit.complaints.clear()  # of the browser itself: what was not answered


def test_what_a_player_thought_is_of_one_game_only(visit):
    page = visit(asked())
    page.get_by_role("tab", name="Insight").click()
    other = page.get_by_role("region", name="Second player")
    other.get_by_role("combobox").select_option("alphabeta:depth=3")
    other.get_by_role("button", name="Think").click()
    line = other.get_by_label("Main line")
    line.wait_for()
    title = RULESETS["classic-all"].title
    assert Position.start("classic-all").text == Position.start().text
    begin(page, title)
    expect(page.locator("#title")).to_have_text(title)
    expect(line).to_have_count(0)
    expect(other.get_by_role("combobox")).to_have_value("alphabeta:depth=3")


def test_a_curve_is_asked_for_once_however_many_turns_are_stepped_through(visit):
    page, _ = opened(visit)
    curves = []
    page.on("request", lambda request: "/api/curve" in request.url and curves.append(request))
    page.get_by_role("tab", name="Insight").click()
    here = page.locator(".curve path.here")
    here.wait_for(state="attached")
    for _ in range(3):
        place = here.get_attribute("d")
        page.get_by_role("button", name="One turn on").click()
        expect(here).not_to_have_attribute("d", place)
    assert len(curves) == 1


def test_a_click_on_the_curve_goes_to_that_turn(visit):
    page, record = opened(visit)
    page.get_by_role("tab", name="Insight").click()
    curve = page.locator(".curve svg")
    curve.wait_for()
    box = curve.bounding_box()
    inner = box["width"] * 312 / 320
    for turn in (len(record.turns), 7, 0):
        x = box["width"] * 4 / 320 + inner * turn / len(record.turns)
        curve.click(position={"x": min(x, box["width"] - 1), "y": 9})
        expect(page.locator("[aria-current]")).to_have_count(min(turn, 1))
        if turn:
            expect(page.locator("[aria-current]")).to_have_text(record.turns[turn - 1])


def test_a_click_on_the_curve_halts_what_plays_on(visit):
    page, _ = opened(visit)
    page.get_by_role("tab", name="Insight").click()
    curve = page.locator(".curve svg")
    curve.wait_for()
    page.get_by_role("button", name="Play on").click()
    page.locator("[aria-current]").wait_for(state="attached")
    curve.click(position={"x": 4, "y": 9})
    expect(page.locator("[aria-current]")).to_have_count(0)
    page.wait_for_timeout(1500)  # a turn is played on in half of that
    expect(page.locator("[aria-current]")).to_have_count(0)


def test_the_scale_of_the_curve_fits_the_battle(visit):
    page, _ = opened(visit)
    with page.expect_response("**/api/curve") as answered:
        page.get_by_role("tab", name="Insight").click()
    found = answered.value.json()
    largest = max(map(abs, [*found["margins"], *found["expected"]]))
    texts = page.locator(".curve svg text")
    expect(texts).to_have_count(2)
    high, low = map(int, texts.all_text_contents())
    assert (high, low) == (-low, -high)
    assert high % 4 == 0
    assert high - 4 < largest <= high


def test_the_curve_is_seen_on_a_laptop(visit):
    page, _ = opened(visit)
    page.set_viewport_size({"width": 1366, "height": 768})
    page.get_by_role("tab", name="Insight").click()
    page.get_by_role("img", name=re.compile("^Heat map")).wait_for()
    curve = page.locator(".curve svg")
    curve.wait_for()
    shoot(page, "curve")
    expect(curve).to_be_in_viewport(ratio=1)


def test_a_policy_is_not_asked_about_positions_that_are_stepped_through_fast(visit):
    page, record = opened(visit)
    page.get_by_role("tab", name="Insight").click()
    image = page.get_by_role("img", name=re.compile("^Heat map"))
    image.wait_for()
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    looks = []
    page.on("request", lambda request: "/api/insight" in request.url and looks.append(request))
    current = page.locator("[aria-current]")
    for turn in record.turns[:4]:
        page.keyboard.press("]")
        expect(current).to_have_text(turn)
    page.wait_for_timeout(100)
    assert not looks
    page.clock.run_for(500)
    image.wait_for()
    assert len(looks) == 1


def test_a_curve_that_could_not_be_had_is_asked_for_again(visit):
    page, _ = opened(visit)
    page.route("**/api/curve", lambda route: route.abort())
    page.get_by_role("tab", name="Insight").click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.unroute("**/api/curve")
    page.get_by_role("tab", name="Turns").click()
    page.get_by_role("tab", name="Insight").click()
    page.locator(".curve path.here").wait_for(state="attached")
    assert all("ERR_FAILED" in complaint for complaint in visit.complaints)
    visit.complaints.clear()


@pytest.mark.parametrize(("player", "measure"), list(zip(PATIENT, ("deep", "tries"), strict=True)))
def test_a_search_that_plays_shows_what_it_thinks_and_is_stopped(visit, player, measure):
    kind, _, _ = player.partition(":")
    agents.make({"alphabeta": "alphabeta:depth=1", "mcts": "mcts:sims=2"}[kind]).turn(
        Position.start()
    )  # compiles what the server would else spend its time on
    page = visit(asked(dwarfs=player))
    thought = state(page).get_by_role("note", name="Its best turn so far")
    expect(thought).to_contain_text(re.compile(rf"d.* by [\d.]+ · .*{measure}"))
    shoot(page, f"thinks-{measure}")
    state(page).get_by_role("button", name="Stop").click()
    wait_for_turns(page, 1)
