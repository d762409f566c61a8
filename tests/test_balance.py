"""What games are worth between equals: figures that are those of the battles, and their page."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from ladders import made_up, short_field

from thud_env.board import SQUARE_NAMES
from thud_env.rulesets import RULESETS
from thud_env.symmetry import map_position, symmetries_of
from training.arena.field import Game
from training.arena.intervals import Interval
from training.balance.__main__ import FIELD, main, mirrors
from training.balance.figures import FIRST_TURN, LAST_TURN, Balance, Mirror, balance_of
from training.balance.page import documents, verdict
from training.ladder.fields import make_field, read_field
from training.ladder.store import read_games

ROOT = Path(__file__).parents[1]


def test_an_agent_meets_itself_once_from_each_start() -> None:
    games = list(mirrors(short_field({"random": 6, "greedy": 4})))
    assert all(game.dwarfs == game.trolls for game in games)
    starts = {
        spec: [game.start for game in games if game.dwarfs == spec] for spec in ("random", "greedy")
    }
    assert starts == {"random": [0, 1, 2], "greedy": [0, 1]}


def test_one_agent_may_play_itself(tmp_path: Path) -> None:
    field = tmp_path / "one.yaml"
    field.write_text("agents: [random]\ngames: 4\nmax_turns: 20\n")
    words = ["--rules", "classic", "--workers", "1", "--out", str(tmp_path / "runs")]
    assert main(["--field", str(field), *words]) == 0
    assert len(read_games(tmp_path / "runs" / "classic").results) == 2


def test_figures_by_hand() -> None:
    field = short_field({"random": 8, "greedy": 8})
    captures = "dA6-B6 TG7-F6xE5xF5 dB6-C6xC6 TF6-F7xE7"
    margins = (-4, 0, -8, 2)
    first = [made_up("random", "random", *one, captures) for one in enumerate(margins)]
    last = [made_up("greedy", "greedy", *one) for one in enumerate(margins)]
    results = [*first, *(dataclasses.replace(one, turns="") for one in last)]
    balance = balance_of(field, results)
    assert [mirror.agent for mirror in balance.mirrors] == ["random", "greedy"]
    mirror = balance.mirrors[0]
    assert mirror.battles == 4
    assert mirror.margin.value == -2.5
    assert mirror.margin.low < -2.5 < mirror.margin.high
    assert (mirror.won.value, mirror.lost.value, mirror.limited) == (0.25, 0.5, 0.25)
    assert (mirror.dwarfs_taken, mirror.trolls_taken) == (3, 1)
    assert read_back(json.loads(json.dumps(balance.as_json()))) == balance


def test_where_pieces_stand_is_that_of_the_last_agent_in_mid_battle(tmp_path: Path) -> None:
    field = ROOT / "configs" / "ladder" / "balance.yaml"
    quick = tmp_path / "quick.yaml"
    quick.write_text("agents: [greedy, random]\ngames: 4\nmax_turns: 60\n")
    command = ["--workers", "1", "--out", str(tmp_path / "runs")]
    assert field == FIELD
    assert main(["--field", str(quick), "--rules", "classic", *command]) == 0
    held = read_games(tmp_path / "runs" / "classic")
    met = {(one.dwarfs, one.trolls) for one in held.results}
    assert met == {("greedy", "greedy"), ("random", "random")}
    balance = balance_of(read_field(quick), held.results)
    dwarfs, trolls = balance.standing["dwarfs"], balance.standing["trolls"]
    assert dwarfs["H8"] == trolls["H8"] == 0  # the Thudstone stands there
    assert 20 < sum(dwarfs.values()) <= 32  # random trolls capture few in 60 turns
    assert 7 < sum(trolls.values()) < 8.01
    assert dwarfs["A6"] == pytest.approx(dwarfs["F1"])  # mirror images are averaged


def test_where_pieces_stand_is_noted_after_the_first_turn_to_the_last() -> None:
    field = make_field(["random"], games=2)
    position, turns = field.beginning(Game("random", "random", 0)), []
    while len(turns) <= LAST_TURN:
        turns.append(position.turns()[0])
        position = position.play(turns[-1])

    def standing(count: int) -> dict[str, float]:
        battle = made_up("random", "random", 0, 1, " ".join(turns[:count]))
        return balance_of(field, [battle]).standing["dwarfs"]

    assert sum(standing(FIRST_TURN - 1).values()) == 0
    assert sum(standing(FIRST_TURN).values()) > 0
    assert standing(LAST_TURN - 1) != standing(LAST_TURN)
    assert standing(LAST_TURN + 1) == standing(LAST_TURN)


def test_a_page_is_made_and_goes_on(tmp_path: Path, capsys) -> None:
    quick = tmp_path / "quick.yaml"
    quick.write_text("agents: [random, greedy]\ngames: 4\nmax_turns: 20\n")
    page = tmp_path / "docs" / "balance.md"
    command = ["--field", str(quick), "--workers", "1", "--out", str(tmp_path / "runs")]
    command += ["--rules", "classic", "koom-valley-football", "--publish", str(page)]
    assert main(command) == 0
    assert "4 games to play" in capsys.readouterr().out
    text = page.read_text()
    assert "2 battles are too few to show which side is ahead" in text
    assert main(command) == 0
    assert "to play" not in capsys.readouterr().out
    assert page.read_text() == text
    assert main([*command, "--games", "6"]) == 0
    assert "2 games to play, 4 are kept" in capsys.readouterr().out


def test_all_fields_are_tried_before_the_first_is_played(tmp_path: Path, capsys) -> None:
    field = tmp_path / "field.yaml"
    field.write_text("agents: [random, 'policy:pretrained/classic']\ngames: 2\nmax_turns: 20\n")
    command = ["--field", str(field), "--workers", "1", "--out", str(tmp_path / "runs")]
    assert main([*command, "--rules", "classic", "koom-valley"]) == 2
    out, err = capsys.readouterr()
    (line,) = [line for line in err.splitlines() if "compiling" not in line]
    assert out == ""
    assert "pretrained/classic" in line
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", ["diary.md", "diary.json", "images/diary.svg"])
def test_no_other_file_is_written_over(name: str, tmp_path: Path, capsys) -> None:
    other = tmp_path / name
    other.parent.mkdir(exist_ok=True)
    other.write_text("Dear diary")
    quick = tmp_path / "quick.yaml"
    quick.write_text("agents: [random, greedy]\ngames: 2\nmax_turns: 20\n")
    command = ["--field", str(quick), "--workers", "1", "--out", str(tmp_path / "runs")]
    assert main([*command, "--publish", str(tmp_path / "diary.md")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{other} is not of training.balance" in line
    assert other.read_text() == "Dear diary"
    assert not (tmp_path / "runs").exists()  # before it plays


@pytest.mark.parametrize(
    ("page", "said"),
    [("file/page.md", "file is no folder"), ("folder", "folder is a folder: a file would be")],
)
def test_a_page_without_room_is_refused_before_it_plays(
    page: str, said: str, tmp_path: Path, capsys
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    assert main(["--out", str(tmp_path / "runs"), "--publish", str(tmp_path / page)]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("margin", "battles", "said"),
    [
        (Interval(-5.0, -6.0, -4.0), 50, "the trolls are ahead"),
        (Interval(5.0, 4.0, 6.0), 50, "the dwarfs are ahead"),
        (Interval(1.0, -1.0, 3.0), 50, "neither side is shown to be ahead"),
        (Interval(5.0, 4.0, 6.0), 19, "19 battles are too few to show which side is ahead"),
    ],
)
def test_what_is_said_of_a_game_follows_from_its_interval(
    margin: Interval, battles: int, said: str
) -> None:
    mirror = published()[0].mirrors[-1]
    changed = dataclasses.replace(mirror, margin=margin, battles=battles)
    assert f"With `{mirror.agent}` on both sides {said}:" in verdict(changed, 1)


def published() -> list[Balance]:
    entries = json.loads((ROOT / "docs" / "balance.json").read_text(encoding="utf-8"))
    return [read_back(entry) for entry in entries]


def read_back(entry: dict[str, Any]) -> Balance:
    """What ``as_json`` made."""
    mirrors = []
    for mirror in entry["mirrors"]:
        intervals = {name: Interval(*mirror[name]) for name in ("won", "lost", "margin")}
        mirrors.append(Mirror(**{**mirror, **intervals}))
    return Balance(**{**entry, "mirrors": mirrors})


def test_the_page_follows_from_its_figures() -> None:
    found = published()
    assert [balance.rules for balance in found] == list(RULESETS)
    agents = list(read_field(FIELD).agents)
    assert all([mirror.agent for mirror in b.mirrors] == agents for b in found)
    for path, text in documents(found, ROOT / "docs" / "balance.md").items():
        assert path.read_text(encoding="utf-8") == text, "run make balance"


def test_where_pieces_stand_is_averaged_over_the_images_that_leave_the_game_as_it_is() -> None:
    field = make_field(["random"], rules="koom-valley", games=2)
    battle = made_up("random", "random", 0, 0)
    position = field.beginning(battle.game)
    turns: list[str] = []
    while len(turns) < FIRST_TURN:
        turns.append(position.turns()[0])
        position = position.play(turns[-1])
    standing = balance_of(field, [dataclasses.replace(battle, turns=" ".join(turns))]).standing
    images = [map_position(one, position) for one in symmetries_of("koom-valley")]
    for side, kind in (("dwarfs", "dwarf"), ("trolls", "troll")):
        for square in SQUARE_NAMES:
            there = [image.piece_at(square) == kind for image in images]
            assert standing[side][square] == sum(there) / len(there)
