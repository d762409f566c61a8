"""The opening books: their starts, and that the script draws the published ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from thud_env import RULESETS, Position, ThudError
from thud_env.board import CELL_OF_SQUARE, SQUARE_SYMMETRY, SYMMETRIES
from thud_env.rulesets import get_ruleset
from training.arena import openings
from training.arena.openings import (
    COUNT,
    MOST_STARTS,
    SEED,
    TURNS,
    Openings,
    OpeningsError,
    book_path,
    generate_openings,
    main,
    read_openings,
)


@pytest.fixture(scope="module", params=RULESETS)
def book(request: pytest.FixtureRequest) -> Openings:
    return read_openings(request.param)


def test_a_book_has_500_starts_that_are_not_over(book: Openings) -> None:
    assert len(book.starts) == COUNT == 500
    assert all(start.outcome is None for start in book.starts)
    assert {start.rules.name for start in book.starts} == {book.rules}


def test_starts_are_so_many_turns_in_and_each_number_is_as_frequent(book: Openings) -> None:
    counts = Counter(start.turn_number for start in book.starts)
    assert counts == dict.fromkeys(range(4, 9), 100)


def test_at_most_a_dwarf_has_been_captured(book: Openings) -> None:
    plain = Position.start(book.rules).text
    for start in book.starts:
        assert start.text.count("T") == plain.count("T")
        board, plain_board = start.text.split()[0], plain.split()[0]
        assert 0 <= plain_board.count("d") - board.count("d") <= 1
    assert any(start.quiet_turns < start.turn_number for start in book.starts)


def test_no_two_starts_are_the_same_up_to_symmetry(book: Openings) -> None:
    whole_board = book.rules.startswith("classic")
    images = SQUARE_SYMMETRY if whole_board else SQUARE_SYMMETRY[[0, 4]]
    seen = Counter()
    for start in book.starts:
        board = start.row[CELL_OF_SQUARE]
        seen.update({(start.to_move, board[image].tobytes()) for image in images})
    assert max(seen.values()) == 1


@pytest.mark.parametrize(
    ("rules", "distinct_upside_down"),
    [
        ("classic:name=few,dwarfs=F1,trolls=G7", True),  # setup without a symmetry
        ("classic:name=goal,stone_wins=yes,dwarfs=A8,trolls=F8", False),  # setup with one more
    ],
)
def test_starts_are_the_same_by_the_symmetries_of_the_rules(
    rules: str, distinct_upside_down: bool
) -> None:
    starts = generate_openings(rules, 150)
    names = [name for name, _ in SYMMETRIES]

    def classes(symmetries: Iterable[int]) -> int:
        images = SQUARE_SYMMETRY[list(symmetries)]
        boards = [(start.to_move, start.row[CELL_OF_SQUARE]) for start in starts]
        return len({(side, min(board[i].tobytes() for i in images)) for side, board in boards})

    assert classes(get_ruleset(rules).symmetries) == len(starts)
    assert (classes([0, names.index("mirror top-bottom")]) == len(starts)) is distinct_upside_down


def test_the_first_starts_are_drawn_as_they_were_published(book: Openings) -> None:
    drawn = generate_openings(book.rules, 10, SEED)
    assert [start.text for start in drawn] == [start.text for start in book.starts[:10]]


@pytest.mark.soak
def test_all_starts_are_drawn_as_they_were_published(book: Openings, capsys) -> None:
    assert main(["--rules", book.rules]) == 0
    assert capsys.readouterr().out == book_path(book.rules).read_text()


@pytest.mark.parametrize("count", [1.5, None, "2", True, 0, -1])
def test_how_many_starts_is_an_integer(book: Openings, count: object) -> None:
    with pytest.raises(ThudError, match=r"^count must be (an integer|1 or more), not "):
        book.rows(count)  # type: ignore[arg-type]


def test_another_seed_draws_others() -> None:
    one, other = (generate_openings("koom-valley", 5, seed) for seed in (1, 2))
    assert not {start.text for start in one} & {start.text for start in other}
    assert [start.turn_number for start in other] == list(TURNS)


def test_the_digest_distinguishes_books() -> None:
    starts = list(read_openings("classic").starts)
    assert Openings.of(starts).digest == read_openings("classic").digest
    assert Openings.of(starts[1:]).digest != Openings.of(starts).digest
    assert Openings.of(starts[::-1]).digest != Openings.of(starts).digest


HEADER = "thud-openings 1 rules=classic seed=1 count=1\n"
START = Position.start("classic").text


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "its first line is ''"),
        (START, "not a book of openings"),
        (HEADER.replace("classic", "koom-valley") + START, "of koom-valley, not of classic"),
        (HEADER + START.replace("d", "x", 1), "line 2"),
        (HEADER + "# said\n" + START + "\n" + START[:-1], "line 4"),
        (HEADER, "0 starts; its first line says 1"),
        (HEADER + START + "\n" + START, "2 starts; its first line says 1"),
        (HEADER + START.replace(" 0 0", " 200 200"), "line 2: this battle is over"),
    ],
)
def test_a_damaged_book_is_refused(
    tmp_path: Path, text: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openings, "FOLDER", tmp_path)
    book_path("classic").write_text(text)
    with pytest.raises(OpeningsError, match=complaint):
        read_openings("classic")


def test_a_book_that_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openings, "FOLDER", tmp_path)
    book_path("classic").mkdir()
    with pytest.raises(OpeningsError, match="cannot be read"):
        read_openings("classic")


def test_the_book_of_a_ruleset_of_your_own_is_made_where_you_are_and_found_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mine, other = "classic:name=mine,max_turns=40", "classic:name=mine,max_turns=50"
    with pytest.raises(OpeningsError) as missing:
        read_openings(mine)
    words = re.search(r"training\.arena\.openings (.*) makes one", str(missing.value))
    assert words
    assert words[1].endswith("--out runs/books/openings-mine.txt")
    assert main([*words[1].split(), "--count", "3"]) == 0
    assert capsys.readouterr().out == f"runs/books/openings-mine.txt: 3 starts of {mine}\n"
    book = read_openings(mine)
    assert (len(book.starts), book.rules) == (3, mine)
    assert book.digest == Openings.of(generate_openings(mine, 3)).digest
    with pytest.raises(OpeningsError, match=f"book of {mine}, not of {other}: another name= for"):
        read_openings(other)


@pytest.mark.parametrize("game", RULESETS)
def test_a_file_where_you_are_never_replaces_a_published_book(
    game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--rules", game, "--count", "1", "--out", f"runs/books/openings-{game}.txt"]
    assert main(words) == 0
    assert len(read_openings(game).starts) == COUNT


@pytest.mark.parametrize(
    "wrong",
    [
        ["--rules", "chess"],
        ["--count", "0"],
        ["--seed", "-1"],
        ["--rules", "classic:name=short,max_turns=3", "--count", "3"],
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(wrong: list[str], capsys) -> None:
    assert main(wrong) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_ruleset_whose_battles_are_too_short_is_told_at_once() -> None:
    with pytest.raises(OpeningsError, match=r"max_turns=6: only 2 starts of 4 to 8 turns"):
        generate_openings("classic:name=short,max_turns=6", 5)
    assert len(generate_openings("classic:name=short,max_turns=6", 2)) == 2


def test_a_ruleset_without_enough_starts_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openings, "_MOST_IN_VAIN", 20)
    with pytest.raises(OpeningsError, match=r"max_quiet_turns=3: only \d+ starts of 4 to 8 turns"):
        generate_openings("classic:name=short,max_quiet_turns=3", 5)


def test_a_book_is_written_over_a_book_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.txt"
    words = ["--count", "1", "--out", str(out)]
    for seed in ("1", "2"):
        assert main([*words, "--seed", seed]) == 0
        assert f"seed={seed} " in out.read_text()
        assert f"--starts {out} reads it; the book of classic is " in capsys.readouterr().out
    assert main([*words, "--rules", "koom-valley"]) == 2
    assert f"{out} is a book of classic, and is left as it is" in capsys.readouterr().err
    assert "rules=classic " in out.read_text()
    out.write_text("my notes")
    assert main(words) == 2
    assert f"{out} is not of training.arena.openings, and is left as it is" in (
        capsys.readouterr().err
    )
    assert out.read_text() == "my notes"


def test_more_starts_than_a_ladder_can_keep_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(OpeningsError, match=r"^100,001 starts are too many: 100,000 at most$"):
        Openings.of([Position.start()] * (MOST_STARTS + 1))
    assert main(["--count", str(MOST_STARTS + 1)]) == 2
    assert "--count: '100001': a whole number in 1 .. 100000" in capsys.readouterr().err
