"""Fitting the evaluation by patterns: repeatable, resumable, and what it learns."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import training.fit_evaluation.positions
from agents.durable import temporary_path
from agents.search.deepening import Searcher, SearchOptions
from agents.search.evaluator import read_evaluator
from agents.search.lines import CODES_SIZE
from agents.search.pattern_files import (
    classes_of,
    published_tables,
    read_tables,
    read_values,
    tables_path,
    write_tables,
)
from agents.search.patterns import judge_afresh
from thud_env import Position
from thud_env.board import CELL_OF_SQUARE
from thud_env.jit.rng import seed_generators
from thud_env.rules.row import ONGOING, STONE_CELL, TERMINATION, TO_MOVE, Row
from thud_env.rulesets import get_ruleset
from training.arena.intervals import ENOUGH_PAIRS, Interval
from training.arena.openings import read_openings
from training.commands.lock import FolderLock
from training.fit_evaluation import __main__ as fit_evaluation
from training.fit_evaluation import generations, match
from training.fit_evaluation.__main__ import main
from training.fit_evaluation.generations import Generations, Plan
from training.fit_evaluation.match import MATCH_STARTS
from training.fit_evaluation.positions import CARELESS, SEARCHES, SEES_LITTLE, Positions, SearchPlay
from training.fit_evaluation.regression import class_numbers, fit, predict, prior_values

SHIPPED_NODES = match.MATCH_NODES


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generations, "SHARD", 150)
    monkeypatch.setattr(match, "MATCH_NODES", 500)


def by_features(depth: int) -> SearchOptions:
    return SearchOptions(read_evaluator("features"), depth=depth)


def play_from(start: Row) -> SearchPlay:
    searcher, rng = Searcher(seed_generators(1, 1)), np.random.default_rng(1)
    return SearchPlay(searcher, by_features(1), [start], 0.8, rng)


def command(folder: Path, *more: str, rules: str = "classic") -> list[str]:
    return [
        rules,
        "--generations",
        "2",
        "--positions",
        "300",
        "--depth",
        "1",
        "--pairs",
        "2",
        "--folder",
        str(folder),
        "--out",
        str(folder / "out.npz"),
        *more,
    ]


@pytest.mark.parametrize("rules", ["classic", "koom-valley-football"])
def test_a_run_that_was_stopped_ends_as_one_that_was_not(rules: str, tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert main(command(whole, rules=rules)) == 0
    assert main(command(stopped, "--threads", "2", rules=rules)) == 0
    for name in ("generation-2.npz", "generation-2.json", "positions-2-1.npz", "generation-1.npz"):
        (stopped / name).unlink()
    assert main(command(stopped, rules=rules)) == 0
    newest = "generation-2.npz"
    assert (whole / newest).read_bytes() == (stopped / newest).read_bytes()
    report = json.loads((whole / "report.json").read_text(encoding="utf-8"))
    assert [fitted["generation"] for fitted in report["fits"]] == [1, 2]
    assert report["fits"][1]["positions"] > report["fits"][0]["positions"]
    assert (report["match"]["pairs"], report["match"]["nodes"]) == (2, match.MATCH_NODES)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a fit whose match was won."""
    folder = tmp_path_factory.mktemp("fitted")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(generations, "SHARD", 150)
        patched.setattr(fit_evaluation, "play_match", lambda *_: {"won": True})
        assert main(command(folder)) == 0
    return folder


@pytest.mark.parametrize(
    "name", ["positions-1-0.npz", "generation-1.json", "generation-2.json", "report.json"]
)
@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"[]", b"[" * 100_000, b'{"generation": 1}']
)
def test_a_damaged_file_is_named_and_made_anew_without_it(
    name: str, content: bytes, fitted: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(fit_evaluation, "play_match", lambda *_: {"won": True})
    shutil.copytree(fitted, tmp_path, dirs_exist_ok=True)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content)
    (tmp_path / "generation-2.npz").unlink()  # it is fitted again
    if name == "generation-2.json":
        (tmp_path / "generation-2.npz").write_bytes((tmp_path / "out.npz").read_bytes())
    assert main(command(tmp_path)) == 2
    assert (
        f"{tmp_path / name} is damaged: remove it, and it is made anew" in capsys.readouterr().err
    )
    (tmp_path / name).unlink()
    assert main(command(tmp_path)) == 0
    assert (tmp_path / name).read_bytes() == whole


@pytest.mark.parametrize("text", ["[1]", "[" * 100_000])
def test_a_damaged_plan_asks_for_another_folder(text: str, tmp_path: Path, capsys) -> None:
    (tmp_path / "plan.json").write_text(text)
    assert main(command(tmp_path)) == 2
    assert "plan.json is damaged: another --folder would be right" in capsys.readouterr().err


def test_tables_that_have_not_won_stay_in_their_folder(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(fit_evaluation, "play_match", lambda *_: {"won": False})
    out, newest = tmp_path / "out.npz", tmp_path / "generation-2.npz"
    assert main(command(tmp_path)) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith(f"{out} is not written: ")
    assert said.endswith(f"the newest tables are in {newest}")
    assert newest.exists()
    out.write_bytes(newest.read_bytes())
    assert main(command(tmp_path)) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"{out} stays as it is: ")


def test_code_that_has_changed_since_is_told(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(fit_evaluation, "play_match", lambda *_: {"won": False})
    assert main(command(tmp_path)) == 0
    assert main(command(tmp_path)) == 0
    assert "note:" not in capsys.readouterr().out
    monkeypatch.setattr(generations, "code_of_play", lambda: "another")
    assert main(command(tmp_path)) == 0
    assert "have changed since the battles that are kept were played" in capsys.readouterr().out


def test_a_folder_of_another_plan_is_left_alone(tmp_path: Path, capsys) -> None:
    assert main(command(tmp_path)) == 0
    assert main(command(tmp_path, "--seed", "2")) == 2
    assert (
        "was begun with other options, seed was 1, not 2: another --folder"
        in capsys.readouterr().err
    )


def test_more_pairs_than_starts_are_held_out_are_refused_before_any_play(
    tmp_path: Path, capsys
) -> None:
    folder = tmp_path / "fit"
    assert main([*command(folder), "--pairs", "101"]) == 2
    assert "--pairs: '101': a whole number in 2 .. 100 would be right" in capsys.readouterr().err
    assert not folder.exists()


def test_self_play_begins_at_no_start_that_a_match_is_played_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def catch(searcher, options, starts, *_) -> None:  # type: ignore[no-untyped-def]
        begun.update(start.tobytes() for start in starts)
        raise CancelledError

    begun: set[bytes] = set()
    monkeypatch.setattr(generations, "SearchPlay", catch)
    with pytest.raises(CancelledError):
        Generations(tmp_path, Plan("classic"), None).make(1, 1)
    book = [start.row.tobytes() for start in read_openings("classic").starts]
    assert begun == set(book[:-MATCH_STARTS])


def test_a_ruleset_of_your_own_is_refused_in_a_line(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "fit"
    assert main(command(folder, rules="classic:name=mine,max_turns=40")) == 2
    assert capsys.readouterr().err.startswith("fit_evaluation: mine: there are tables of classic, ")
    assert not folder.exists()


@pytest.mark.parametrize("text", ["{}", "[" * 100_000])
@pytest.mark.parametrize(
    ("there", "said"),
    [
        ("mine.json", "mine.json is no report on tables, and is left as it is"),
        ("mine.npz", "mine.npz holds no readable tables, and is left as it is"),
        ("tables.json", "tables.json is no report on tables, and is left as it is"),
    ],
)
def test_a_file_of_something_else_is_left_as_it_is(
    there: str, said: str, text: str, tmp_path: Path, capsys
) -> None:
    (tmp_path / there).write_text(text)
    shutil.copy(tables_path("classic"), tmp_path / "tables.npz")
    out = tmp_path / f"{there.partition('.')[0]}.npz"
    assert main(command(tmp_path / "fit", "--out", str(out))) == 2
    assert said in capsys.readouterr().err
    assert (tmp_path / there).read_text() == text
    assert not (tmp_path / "fit").exists()


@pytest.mark.parametrize("there", ["file", "tables.json/more"])
def test_tables_without_room_are_refused_before_any_play(
    there: str, tmp_path: Path, capsys
) -> None:
    path = tmp_path / there
    path.parent.mkdir(exist_ok=True)
    path.touch()
    out = tmp_path / "file" / "out.npz" if there == "file" else tmp_path / "tables.npz"
    assert main(command(tmp_path / "fit", "--out", str(out))) == 2
    said = "file is no folder" if there == "file" else "tables.json is a folder"
    assert said in capsys.readouterr().err
    assert not (tmp_path / "fit").exists()


def test_a_folder_in_use_is_refused_and_left_alone(tmp_path: Path, capsys) -> None:
    with FolderLock(tmp_path):
        before = sorted(tmp_path.iterdir())
        assert main(command(tmp_path)) == 2
        assert sorted(tmp_path.iterdir()) == before
    said = capsys.readouterr().err
    assert f"{tmp_path} is in use by process" in said
    assert said.endswith(": wait for it, or take another --folder\n")


def test_what_a_killed_writer_left_is_swept(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(fit_evaluation, "_play_and_fit", lambda *_: None)
    left = temporary_path(tmp_path / "positions-1-0.npz")
    left.touch()
    assert main(command(tmp_path)) == 0
    assert not left.exists()


def test_a_stop_between_the_tables_and_their_report_goes_on_without_another_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matches = iter([{"won": True}])
    monkeypatch.setattr(fit_evaluation, "play_match", lambda *_: next(matches))
    assert main(command(tmp_path)) == 0
    report = (tmp_path / "out.json").read_bytes()
    (tmp_path / "out.json").unlink()
    assert main(command(tmp_path)) == 0
    assert (tmp_path / "out.json").read_bytes() == report


@pytest.mark.parametrize("change", [{"match": {"won": False}}, {"fits": []}])
def test_a_report_of_other_tables_is_not_published(
    change: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matches = iter([{"won": True}, {"won": False}])
    monkeypatch.setattr(fit_evaluation, "play_match", lambda *_: next(matches))
    assert main(command(tmp_path)) == 0
    published = (tmp_path / "out.json").read_bytes()
    report = tmp_path / "report.json"
    report.write_text(json.dumps({**json.loads(report.read_text()), **change}))
    assert main(command(tmp_path)) == 0
    assert (tmp_path / "out.json").read_bytes() == published


def test_values_that_made_the_worth_are_found_again() -> None:
    """If the targets are the values of tables, these tables predict them, and so does the fit."""
    classes = classes_of("classic")
    rng = np.random.default_rng(1)
    boards = rng.choice([0, 1, 2], p=[0.75, 0.2, 0.05], size=(1500, 165)).astype(np.int8)
    start = Position.start().row
    boards[:, start[CELL_OF_SQUARE] == 3] = 3
    positions = Positions(
        boards=boards,
        stones=np.full(1500, start[STONE_CELL]),
        sides=np.zeros(1500, dtype=np.int8),
        worth=np.zeros(1500, dtype=np.float32),
        battles=np.zeros(1500, dtype=np.int32),
    )
    numbers = class_numbers(positions, classes)
    hidden = np.zeros(classes.count + 2)
    known = np.unique(classes.pieces[classes.pieces >= 0])
    hidden[known] = rng.normal(size=len(known))
    hidden[-1] = 3
    worth = predict(numbers, hidden)
    found = fit(numbers[:1200], worth[:1200], prior_values(get_ruleset("classic"), classes), 1.0)
    errors = predict(numbers[1200:], found) - worth[1200:]
    assert errors.std() < 0.3 * worth.std()
    values = np.rint(np.stack([hidden, hidden], axis=1) * 100)
    tables = classes.spread(values[:-2].astype(np.int16), values[-1].astype(np.int64))
    row = start.copy()
    row[CELL_OF_SQUARE] = boards[0]
    row[TO_MOVE] = 0
    sums = np.zeros(2, dtype=np.int64)
    judge_afresh(row, tables, np.zeros(CODES_SIZE, dtype=np.int32), sums)
    assert sums[0] / 100 == pytest.approx(worth[0], abs=0.5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [0, 1, 40])
def test_a_prior_that_leaves_nothing_to_explain_stays(count: int) -> None:
    prior = np.array([1.0, -4.0, 0.5, 0.0, 2.0])  # three classes, the padding, the constant
    numbers = np.random.default_rng(1).integers(0, 5, size=(count, 3)).astype(np.int32)
    found = fit(numbers, predict(numbers, prior), prior, 1.0)
    np.testing.assert_array_equal(found, prior)


def test_the_returns_mix_the_values_and_stop_at_random_turns() -> None:
    class Scripted(SearchPlay):
        def _battle(self) -> tuple[list[Row], list[int], list[bool], Row]:
            rows = [Position.start().row] * 3
            return rows, [100, 200, -400], [False, True, False], Position.start().row

    played = Scripted(None, None, [], 0.5, np.random.default_rng(0)).play(1, "classic")  # type: ignore[arg-type]
    assert played.worth.tolist() == [0.5 * 1 + 0.5 * 2, 2, 0.5 * -4 + 0.5 * 0]


def test_self_play_can_be_ended_after_each_battle() -> None:
    class OneBattle(SearchPlay):
        def _battle(self) -> tuple[list[Row], list[int], list[bool], Row]:
            assert not ended, "another battle is played"
            ended.append(True)
            return [], [], [], Position.start().row

    def watch() -> None:
        raise CancelledError

    ended: list[bool] = []
    play = OneBattle(None, None, [], 0.5, np.random.default_rng(0))  # type: ignore[arg-type]
    with pytest.raises(CancelledError):
        play.play(1, "classic", watch)


@pytest.mark.parametrize(("manner", "others"), [(SEES_LITTLE, 1.0), (CARELESS, 0.25)])
def test_turns_that_the_search_did_not_choose_are_known(
    manner: int, others: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training.fit_evaluation.positions, "MANNERS", (manner,))
    rows, values, by_others, last = play_from(Position.start(max_turns=100).row)._battle()
    assert len(rows) == len(values) == len(by_others)
    assert last[TERMINATION] != ONGOING
    assert np.mean(by_others) == pytest.approx(others, abs=0.1)


def test_tables_are_of_the_ruleset_that_was_named(tmp_path: Path) -> None:
    assert main(command(tmp_path, rules="classic-any")) == 0
    assert read_tables(tmp_path / "generation-2.npz")[0] == "classic-any"


WON = SimpleNamespace(total=Interval(1, 1, 1), margins={})


def test_tables_without_lines_may_try_more_decisions_in_a_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest, met = tmp_path / "newest, of=1.npz", []  # a path that no spec can name
    write_tables(newest, "classic", *read_values(tables_path("classic"))[1:])
    monkeypatch.setattr(match.agents, "make", lambda spec, seed: met.append(spec))
    monkeypatch.setattr(match, "play_pairs", lambda *_, **__: None)
    monkeypatch.setattr(match.PairFigures, "of", lambda _: WON)
    with_lines = published_tables("classic")
    assert with_lines is not None
    for tables in (with_lines, with_lines._replace(lines=with_lines.lines[:0])):
        monkeypatch.setattr(match, "published_tables", lambda _, found=tables: found)
        match.play_match(newest, "classic", 1)
    nodes = (match.MATCH_NODES, match.NODES_WITHOUT_LINES)
    assert nodes[1] > SHIPPED_NODES
    assert [met[1], met[3]] == [f"alphabeta:nodes={each}" for each in nodes]


@pytest.mark.parametrize(("pairs", "won"), [(ENOUGH_PAIRS - 1, False), (ENOUGH_PAIRS, True)])
def test_a_match_of_few_pairs_is_not_won(
    pairs: int, won: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(tmp_path / "newest.npz", "classic", *read_values(tables_path("classic"))[1:])
    monkeypatch.setattr(match, "play_pairs", lambda *_, **__: None)
    monkeypatch.setattr(match.PairFigures, "of", lambda _: WON)
    assert match.play_match(tmp_path / "newest.npz", "classic", pairs)["won"] == won


@pytest.mark.parametrize("won", [True, False])
def test_only_tables_that_win_their_match_are_published(
    won: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit_evaluation, "play_match", lambda *_: {"won": won})
    out = tmp_path / "new" / "out"
    assert main(command(tmp_path, "--out", f"{out}.npz")) == 0
    tables, report = (out.with_suffix(suffix) for suffix in (".npz", ".json"))
    assert tables.exists() == report.exists() == won
    if won:
        assert json.loads(report.read_bytes())["commit"]


@pytest.mark.parametrize("with_lines", [True, False])
def test_tables_to_start_from_are_kept_where_nothing_is_seen(
    with_lines: bool, tmp_path: Path
) -> None:
    start, classes = tmp_path / "start.npz", classes_of("classic")
    _, before, constant = read_values(tables_path("classic"))
    before = before[: classes.count if with_lines else classes.without_lines]
    write_tables(start, "classic", before, constant)
    assert main(command(tmp_path, "--start", str(start), rules="classic-any")) == 0
    rules, after, _ = read_values(tmp_path / "generation-2.npz")
    assert rules == "classic-any"
    assert len(after) == classes.count
    assert 0.5 < (before == after[: len(before)]).mean() < 1


def test_tables_of_another_setup_are_refused_as_a_start(tmp_path: Path, capsys) -> None:
    start = str(tables_path("koom-valley-football"))
    assert main(command(tmp_path, "--start", start)) == 2
    assert "has tables of koom-valley-football, which do not fit classic" in capsys.readouterr().err
    assert not (tmp_path / "plan.json").exists(), "the folder could not be used any more"


def test_the_report_is_never_written_over_the_tables(tmp_path, capsys):
    assert main(command(tmp_path, "--out", str(tmp_path / "tables.json"))) == 2
    assert "tables.json: NAME.npz would be right" in capsys.readouterr().err


@pytest.mark.parametrize(("low", "won"), [(-0.1, False), (0.0, False), (0.1, True)])
def test_a_match_is_won_by_more_than_its_interval(
    low: float, won: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(tmp_path / "newest.npz", "classic", *read_values(tables_path("classic"))[1:])
    found = SimpleNamespace(total=Interval(1, low, 2), margins={})
    monkeypatch.setattr(match, "play_pairs", lambda *_, **__: None)
    monkeypatch.setattr(match.PairFigures, "of", lambda _: found)
    assert match.play_match(tmp_path / "newest.npz", "classic", ENOUGH_PAIRS)["won"] == won


def test_the_error_of_a_fit_is_of_battles_that_it_has_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, foretold = [], []
    fit, predict = generations.fit, generations.predict

    def noted_fit(numbers, *others):
        fitted.append(len(numbers))
        return fit(numbers, *others)

    def noted_predict(numbers, values):
        foretold.append(len(numbers))
        return predict(numbers, values)

    monkeypatch.setattr(generations, "SHARD", 150)
    monkeypatch.setattr(match, "MATCH_NODES", 500)
    monkeypatch.setattr(generations, "fit", noted_fit)
    monkeypatch.setattr(generations, "predict", noted_predict)
    assert main(command(tmp_path, "--generations", "1")) == 0
    trials, finals = fitted[::2], fitted[1::2]
    assert len(foretold) == 2
    assert min(foretold) > 0
    assert [one + other for one, other in zip(trials, foretold, strict=True)] == finals


def test_the_values_of_a_battle_are_for_the_dwarfs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training.fit_evaluation.positions, "MANNERS", (SEARCHES,))
    few = "5/7/9/11/13/15/7T7/4T2R7/15/15/13/2d8/9/7/5 {} - 0 0"  # the trolls are far ahead
    start = Position.from_text(few.format("d"), max_turns=20).row
    rows, values, _, _ = play_from(start)._battle()
    assert {int(row[TO_MOVE]) for row in rows} == {0, 1}
    assert max(values) < 0


@pytest.mark.parametrize(("depth", "shallow"), [(3, 2), (2, 2), (1, 1)])
def test_some_battles_are_searched_to_the_full_depth_and_others_a_turn_less(
    depth: int, shallow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    positions = training.fit_evaluation.positions
    for name, value in {"MANNERS": (SEARCHES,), "OPENINGS": (0,), "LONGEST": 2}.items():
        monkeypatch.setattr(positions, name, value)
    seen: list[set[int]] = []

    class Noted(Searcher):
        def search(self, row, options):
            seen[-1].add(options.depth)
            return super().search(row, replace(options, depth=1))

    searcher = Noted(seed_generators(1, 1))
    options = by_features(depth)
    start = Position.start().row
    play = SearchPlay(searcher, options, [start], 0.8, np.random.default_rng(1))
    for _ in range(200):
        seen.append(set())
        play._battle()
    assert {frozenset(one) for one in seen} == {frozenset({depth}), frozenset({shallow})}
    if depth != shallow:
        assert np.mean([one == {depth} for one in seen]) == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize(("lows", "won"), [((0.1, -0.1), False), ((-0.1, 0.1), True)])
def test_the_tables_before_are_the_ones_to_be_beaten(lows, won, tmp_path, monkeypatch) -> None:
    write_tables(tmp_path / "newest.npz", "classic", *read_values(tables_path("classic"))[1:])
    found = iter([SimpleNamespace(total=Interval(1, low, 2), margins={}) for low in lows])
    monkeypatch.setattr(match, "play_pairs", lambda *_, **__: None)
    monkeypatch.setattr(match.PairFigures, "of", lambda _: next(found))
    assert match.play_match(tmp_path / "newest.npz", "classic", ENOUGH_PAIRS)["won"] == won
