"""The figures of games, and a report that claims no more than they show."""

from __future__ import annotations

import dataclasses
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from ladders import made_up, made_up_results, short_field, store_results

from training.arena.field import FieldError
from training.arena.intervals import equal_values_interval
from training.ladder.figures import compute_figures, that_have_met
from training.ladder.picture import payoff_svg
from training.ladder.report import NUMBERS, PICTURE, REPORT, write_report

STRENGTH = {"weak": 0, "middle": 6, "strong": 12}
AGENTS = list(STRENGTH)


def ladder_margin(dwarfs: str, trolls: str, start: int) -> int:
    """The stronger does better; the trolls have an edge of 2; starts vary by 3 either way."""
    return STRENGTH[dwarfs] - STRENGTH[trolls] - 2 + start % 7 - 3


RESULTS = made_up_results(AGENTS, 70, ladder_margin)
BOUNDS = (-32, 32)
FIGURES = compute_figures(AGENTS, RESULTS, BOUNDS)


def test_cells_count_what_happened() -> None:
    cell = FIGURES.cell(0, 0)  # margins -5 .. 1, ten of each
    assert (cell.dwarfs, cell.trolls) == ("weak", "weak")
    assert (cell.wins, cell.draws, cell.losses) == (10, 10, 50)
    assert cell.margin.value == -2
    assert cell.margin.low < -2 < cell.margin.high
    assert cell.limited == pytest.approx(1 / 7)
    assert cell.won.value == pytest.approx(1 / 7)
    assert cell.lost.value == pytest.approx(5 / 7)
    assert cell.moves == 15
    assert FIGURES.cell(0, 2).dwarfs == "weak"
    assert FIGURES.cell(0, 2).trolls == "strong"


def test_a_pair_is_one_start_with_the_seats_swapped() -> None:
    weak_middle = FIGURES.pair_scores[0]
    assert (weak_middle.first, weak_middle.second, weak_middle.pairs) == ("weak", "middle", 70)
    # The edge of the trolls and what a start is worth cancel out: only strength is left.
    assert weak_middle.score == equal_values_interval(-12, 70, (-64, 64))
    assert weak_middle.losses == 70


def test_scores_are_means_over_the_opponents() -> None:
    assert [score.value for score in FIGURES.scores] == pytest.approx([-18, 0, 18])
    assert sum(score.value for score in FIGURES.scores) == pytest.approx(0)


def test_the_score_of_one_of_two_agents_is_that_of_their_pairs() -> None:
    figures = compute_figures(
        ["a", "b"],
        made_up_results(["a", "b"], 30, lambda d, _, start: start % 5 if d == "a" else 0),
        BOUNDS,
    )
    pair = figures.pair_scores[0].score
    assert figures.scores[0] == pytest.approx(pair)
    assert figures.scores[1] == pytest.approx((-pair.value, -pair.high, -pair.low))


def test_scores_and_margins_that_never_vary_are_not_taken_for_certain() -> None:
    figures = compute_figures(["a", "b"], made_up_results(["a", "b"], 30, lambda *_: 1), (-1, 1))
    for interval in (*figures.scores, *figures.margins[0], figures.cells[0].margin):
        assert interval.high - interval.low > 0.1
    assert figures.scores[0] == equal_values_interval(0, 30, (-2, 2))
    assert figures.margins[0][0] == equal_values_interval(1, 30, (-1, 1))
    assert figures.margins[1][0] == equal_values_interval(-1, 30, (-1, 1))


def test_intervals_stay_within_what_the_pieces_of_either_side_can_win() -> None:
    """Two trolls, worth four each, against 32 dwarfs."""
    figures = compute_figures(["a", "b"], made_up_results(["a", "b"], 30, lambda *_: -8), (-32, 8))
    assert figures.cells[0].margin == equal_values_interval(-8, 30, (-32, 8))
    assert figures.margins[0][0] == equal_values_interval(-8, 30, (-32, 8))
    assert figures.margins[1][0] == equal_values_interval(8, 30, (-8, 32))
    assert figures.scores[0] == equal_values_interval(0, 30, (-40, 40))


def test_figures_do_not_depend_on_which_starts_were_played() -> None:
    """Nor does their cost: a file may name the last of 100,000 starts alone."""
    far = [dataclasses.replace(result, start=5 + 1_000 * result.start) for result in RESULTS]
    assert compute_figures(AGENTS, far, BOUNDS) == FIGURES


def test_only_starts_played_in_both_seats_make_a_pair() -> None:
    some = [
        r for r in RESULTS if not (r.start >= 30 and (r.dwarfs, r.trolls) == ("weak", "middle"))
    ]
    figures = compute_figures(AGENTS, some, BOUNDS)
    assert figures.pair_scores[0].pairs == 30
    assert figures.pairs == [30, 30, 70]
    assert figures.cell(0, 1).games == 30
    assert figures.cell(1, 0).games == 70


def test_distinct_games_differ_in_start_or_turns() -> None:
    same = [
        made_up(dwarfs, trolls, start, -1, turns="dF1-F5")
        for start in range(5)
        for dwarfs in "ab"
        for trolls in "ab"
    ]
    figures = compute_figures(["a", "b"], same, BOUNDS)
    assert figures.games == 20
    assert figures.distinct == 5  # all four cells play the same game from each start
    assert figures.cell(0, 1).distinct == 5
    assert FIGURES.distinct == len(RESULTS)


def test_a_draw_is_half_a_win_in_the_ratings() -> None:
    drawn = compute_figures(["a", "b"], made_up_results(["a", "b"], 20, lambda *_: 0), BOUNDS)
    assert drawn.ratings.advantage.value == pytest.approx(0)


def test_ratings_count_the_games_of_one_start_together() -> None:
    def won_by_start(dwarfs: str, trolls: str, start: int) -> int:
        return 1 if start % 2 else -1

    def won_by_seats(dwarfs: str, trolls: str, start: int) -> int:
        return 1 if (start + (dwarfs == trolls)) % 2 else -1

    together, apart = (
        compute_figures(
            ["a", "b"], made_up_results(["a", "b"], 40, margin), BOUNDS
        ).ratings.advantage
        for margin in (won_by_start, won_by_seats)
    )
    assert together.value == apart.value == pytest.approx(0)
    assert together.high > 100
    assert apart.high < 10


def test_effort_is_a_turn_and_by_side() -> None:
    for effort in (FIGURES.effort[0], FIGURES.cell(0, 1).effort):
        assert effort.seconds == pytest.approx((0.1, 0.05))
        assert effort.nodes == (pytest.approx(100), None)


def test_times_are_written_in_full(folder: Path) -> None:
    report = (folder / "report.md").read_text()
    assert "| 100, 50 " in report
    assert "| 100, - " in report  # nodes, which only the dwarfs counted


def test_times_below_ten_milliseconds_have_two_digits(tmp_path: Path) -> None:
    results = made_up_results(["a", "b"], 2, lambda *_: 1)
    quick = [dataclasses.replace(result, seconds=(0.025, 0.06)) for result in results]
    store_results(tmp_path, short_field({"a": 4, "b": 4}), quick)
    assert "| 2.5, 12 " in write_report(tmp_path)


def test_figures_do_not_depend_on_the_order_of_the_games() -> None:
    shuffled = [RESULTS[i] for i in np.random.default_rng(0).permutation(len(RESULTS))]
    assert compute_figures(AGENTS, shuffled, BOUNDS) == FIGURES


def test_agents_that_have_not_met_are_named() -> None:
    with pytest.raises(FieldError, match="no game of weak against strong"):
        compute_figures(
            AGENTS, [r for r in RESULTS if (r.dwarfs, r.trolls) != ("weak", "strong")], BOUNDS
        )
    apart = [r for r in RESULTS if (r.start < 9) == (r.dwarfs < r.trolls) or r.dwarfs == r.trolls]
    with pytest.raises(FieldError, match="no game pair yet"):
        compute_figures(AGENTS, apart, BOUNDS)


def test_an_agent_who_has_not_met_all_others_is_left_out(tmp_path: Path) -> None:
    worth = {"a": 2, "b": 1, "c": 0}
    results = made_up_results(list(worth), 30, lambda d, t, _: worth[d] - worth[t])
    met = [r for r in results if {r.dwarfs, r.trolls} != {"b", "c"}]
    assert that_have_met(list(worth), results) == ["a", "b", "c"]
    assert that_have_met(list(worth), met) == ["a", "b"]
    first_named = ["c", "a", "b"]
    joins = [r for r in results if "c" not in (r.dwarfs, r.trolls)]
    joins += [
        r for r in results if "c" in (r.dwarfs, r.trolls) and "b" not in (r.dwarfs, r.trolls)
    ][:9]
    assert that_have_met(first_named, joins) == ["a", "b"]
    with_itself = [r for r in results if not r.dwarfs == r.trolls == "c"]
    assert that_have_met(list(worth), with_itself) == ["a", "b"]
    store_results(tmp_path, short_field(dict.fromkeys(worth, 60)), met)
    assert "Left out, since they have not met all others yet: c." in write_report(tmp_path)
    assert json.loads((tmp_path / REPORT).with_suffix(".json").read_text())["games"] == 120


def test_only_one_who_has_met_is_no_ladder(tmp_path: Path) -> None:
    store_results(
        tmp_path, short_field({"a": 60, "c": 60}), made_up_results(["a"], 30, lambda *_: 0)
    )
    with pytest.raises(FieldError, match="no game of a against c yet"):
        write_report(tmp_path)


# -- the report ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ladder")
    field = short_field(dict.fromkeys(AGENTS, 80))
    store_results(folder, field, RESULTS)
    write_report(folder)
    return folder


def test_the_report_orders_agents_and_says_what_is_shown(folder: Path) -> None:
    report = (folder / "report.md").read_text()
    assert report.index("| strong") < report.index("| middle") < report.index("| weak")
    assert report.count("- strong is above middle") == 5  # by score; by rating and margin a side
    assert "630 games of classic, 630 of them distinct; 70 game pairs" in report
    assert "A share of 70 pairs near one half is known to +/- 12 percentage points." in report
    assert "These are 3 comparisons, each at 95%" in report
    assert "![The payoff matrix](payoff.svg)" in report


def test_ratings_are_compared_without_the_doubt_about_the_mean(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    worth = {"a": 1.2, "b": 0.0, "hopeless": -40.0}

    def margin(dwarfs: str, trolls: str, _: int) -> int:
        return 1 if random.logistic(worth[dwarfs] - worth[trolls]) > 0 else -1

    results = made_up_results(list(worth), 40, margin)
    store_results(tmp_path, short_field(dict.fromkeys(worth, 80)), results)
    a, b, _ = compute_figures(list(worth), results, BOUNDS).ratings.dwarfs
    assert a.low < b.high
    by_rating = write_report(tmp_path).partition("As dwarfs, by rating:")[2].splitlines()
    assert "- a is above b" in by_rating[:4]


def test_agents_that_are_alike_are_not_told_apart(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    results = made_up_results(["a", "b"], 40, lambda *_: int(random.integers(-9, 10)))
    store_results(tmp_path, short_field({"a": 80, "b": 80}), results)
    write_report(tmp_path)
    report = (tmp_path / "report.md").read_text()
    assert "above b" not in report
    assert "above a" not in report
    assert "not told apart" in report


def test_few_games_show_nothing(tmp_path: Path) -> None:
    results = made_up_results(["a", "b"], 5, lambda dwarfs, trolls, _: 9 if dwarfs == "a" else -9)
    store_results(tmp_path, short_field({"a": 10, "b": 10}), results)
    words = write_report(tmp_path)
    assert "5 game pairs of two agents are too few" in words
    for said in ("a is above b", "not told apart"):
        assert said not in words
    # One line for each order, however many agents: by score; by rating and margin of each side.
    assert words.count("- fewer than 20 game pairs: not compared\n") == 4
    assert words.count("not compared") == 5


def test_a_rating_that_only_the_added_draws_bound_is_called_a_bound(tmp_path: Path) -> None:
    results = made_up_results(["a", "b"], 20, lambda dwarfs, *_: 9 if dwarfs == "a" else -9)
    store_results(tmp_path, short_field({"a": 40, "b": 40}), results)
    words = write_report(tmp_path)
    assert "\na won every game as dwarfs: its rating there is only a lower bound" in words
    assert "\nb lost every game as dwarfs: its rating there is only an upper bound" in words
    assert words.count("bound, set by the added draws") == 2


def test_only_what_rests_on_enough_pairs_is_compared(tmp_path: Path) -> None:
    worth = {"a": 18, "b": 12, "c": 6, "d": 0}
    results = made_up_results(
        list(worth), 30, lambda d, t, n: worth[d] - worth[t] + n % 3 * (d < t)
    )
    few = [r for r in results if r.start < 5 or {r.dwarfs, r.trolls} != {"c", "d"}]
    store_results(tmp_path, short_field(dict.fromkeys(worth, 60)), few)
    words = write_report(tmp_path)
    assert words.count("- a is above b") == 5
    for pair in ("b and c", "c and d"):
        assert words.count(f"- {pair}: fewer than 20 game pairs: not compared") == 5


def test_the_margin_of_a_game_is_half_the_score_of_a_pair(folder: Path) -> None:
    report = " ".join((folder / "report.md").read_text().split())
    assert "| -12.0 (-14.7 to -8.0) | -6.00 (-7.35 to -4.02) |" in report


def test_the_payoff_matrix_has_a_row_for_the_dwarfs_of_an_agent(folder: Path) -> None:
    report = " ".join((folder / "report.md").read_text().split())
    assert "| weak | -2.0 | -8.0 | -14.0 |" in report


def test_the_report_is_made_from_the_games_alone(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "games.jsonl").read_text().splitlines()
    (tmp_path / "games.jsonl").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    write_report(tmp_path)
    for name in ("report.md", "report.json", "payoff.svg"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_the_numbers_are_those_of_the_figures(folder: Path) -> None:
    numbers = json.loads((folder / "report.json").read_text())
    assert numbers["rules"] == "classic"
    assert numbers["games"] == 630
    assert numbers["scores"]["strong"] == list(FIGURES.scores[2])
    assert numbers["cells"][0]["won"] == list(FIGURES.cells[0].won)
    assert numbers["game_pairs"][0]["pairs"] == 70
    assert set(numbers["ratings"]) == {"dwarfs", "trolls", "advantage"}


def test_games_with_two_states_of_the_code_are_pointed_out(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "games.jsonl").read_text().splitlines()
    other = json.dumps({**json.loads(lines[0]), "code": "other"})
    (tmp_path / "games.jsonl").write_text("\n".join([*lines, other]) + "\n")
    assert "2 states of the code" in write_report(tmp_path)


def test_an_agent_that_has_changed_is_named(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "games.jsonl").read_text().splitlines()
    other = [json.dumps({**json.loads(lines[0]), "own_code": {"strong": code}}) for code in "ab"]
    (tmp_path / "games.jsonl").write_text("\n".join([*other, *lines[1:]]) + "\n")
    summary = write_report(tmp_path)
    assert "\nChanged between these games, or since: strong.\n" in summary
    assert "states of the code" not in summary


def test_names_are_written_in_utf8_wherever_it_runs(tmp_path: Path, monkeypatch) -> None:
    agents = ["greedy", "policy:runs/d\u00fcster"]
    results = made_up_results(agents, 2, lambda dwarfs, trolls, start: start)
    store_results(tmp_path, short_field(dict.fromkeys(agents, 4)), results)
    monkeypatch.setattr("io.text_encoding", lambda encoding, level=2: encoding or "ascii")
    write_report(tmp_path)
    for name in (REPORT, NUMBERS, PICTURE):
        words = (tmp_path / name).read_text(encoding="utf-8")
        assert "d\u00fcster" in words or "d\\u00fcster" in words, name


# -- the picture ---------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_has_every_agent_twice_and_every_cell() -> None:
    root = ElementTree.fromstring(payoff_svg(FIGURES, "A <title>", 32))
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert "A <title>" in words
    for agent in AGENTS:
        assert words.count(agent) == 2
    for cell in FIGURES.cells:
        assert f"{cell.margin.value:+.1f}" in words
    assert words.count("14 / 14 / 71") == 3  # the diagonal


def test_the_picture_has_a_row_for_the_dwarfs_of_an_agent() -> None:
    root = ElementTree.fromstring(payoff_svg(FIGURES, "", 32))
    margins = [words.text for words in root.iter(f"{SVG}text") if words.get("font-size") == "16"]
    assert margins[:3] == ["-2.0", "-8.0", "-14.0"]  # of the weak agent's dwarfs


def test_everything_in_the_picture_is_inside_it() -> None:
    root = ElementTree.fromstring(payoff_svg(FIGURES, "Title", 32))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for box in root.iter(f"{SVG}rect"):
        right = float(box.get("x", 0)) + float(box.get("width", 0))
        bottom = float(box.get("y", 0)) + float(box.get("height", 0))
        assert right <= width
        assert bottom <= height


def test_colours_go_from_the_trolls_red_to_the_dwarfs_blue() -> None:
    margins = {("a", "a"): 32, ("a", "b"): 0, ("b", "a"): 0, ("b", "b"): -32}
    results = made_up_results(["a", "b"], 20, lambda d, t, _: margins[d, t])
    root = ElementTree.fromstring(payoff_svg(compute_figures(["a", "b"], results, BOUNDS), "", 32))
    cells = [box.get("fill") for box in root.iter(f"{SVG}rect") if box.get("stroke")]
    assert cells == ["#2166ac", "#f7f7f7", "#f7f7f7", "#b2182b"]


@pytest.mark.parametrize(
    ("spec", "short"),
    [
        ("policy:runs/a/very/long/path/of-a-policy", "of-a-policy"),
        ("policy:pretrained/classic-all,temperature=0.3", "classic-all"),
        ("policy:a/koom-valley-football", "...-football"),
    ],
)
def test_long_specs_are_cut_short_above_their_columns(spec: str, short: str) -> None:
    results = made_up_results(["a", spec], 20, lambda *_: 1)
    root = ElementTree.fromstring(payoff_svg(compute_figures(["a", spec], results, BOUNDS), "", 32))
    words = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert {spec, short} <= set(words)


def test_agents_that_differ_in_their_first_option_differ_above_their_columns() -> None:
    old = "evaluation=features,reductions=0"
    specs = ["alphabeta:depth=1", f"alphabeta:depth=1,{old}", f"alphabeta:depth=2,{old}"]
    results = made_up_results(specs, 20, lambda *_: 1)
    root = ElementTree.fromstring(payoff_svg(compute_figures(specs, results, BOUNDS), "", 32))
    words = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert {"depth=1", "depth=1...", "depth=2..."} <= set(words)


def test_the_effort_of_a_side_is_that_of_the_agent_who_plays_it() -> None:
    cost = {"quick": 1.0, "slow": 50.0}
    results = [
        dataclasses.replace(one, seconds=(10 * cost[one.dwarfs], 5 * cost[one.trolls]))
        for one in made_up_results(list(cost), 4, lambda *_: 1)
    ]
    effort = compute_figures(list(cost), results, BOUNDS).effort
    assert [one.seconds for one in effort] == [pytest.approx((one, one)) for one in cost.values()]


def test_a_battle_that_either_limit_ends_is_one_ended_by_a_limit() -> None:
    endings = ["quiet_limit", "turn_limit", "turn_limit", "agreement"]
    results = [
        dataclasses.replace(one, ending=ending)
        for one, ending in zip(made_up_results(["a"], 4, lambda *_: 1), endings, strict=True)
    ]
    assert compute_figures(["a"], results, BOUNDS).cell(0, 0).limited == 0.75
