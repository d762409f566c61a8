"""Battles that move: animated SVG, steppers, frames, GIF and video."""

import html
import shutil
import tracemalloc
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from by_hand import place

from agents.replay import WRITERS, pictures, shortened, write_gif
from agents.replay import main as replay
from thud_env import RULESETS, Position, Record, ThudError, read_record, write_record
from thud_env.board import NUM_SQUARES, SQUARE_NAMES
from thud_env.render import animation, frames, heat, rgb_array, stepper, svg
from thud_env.render.film import scenes_of
from thud_env.render.picture import centre_of
from thud_env.render.to_heat import squares_of
from thud_env.render.to_svg import piece_id

RECORDS = Path(__file__).parent / "data/records"
SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}href"
START = Position.start()


def at_the_end(picture):
    """What stands where once an animation has run: each piece's name and place."""
    found = []
    for group in ElementTree.fromstring(picture).iter(f"{SVG}g"):
        (use,) = group.findall(f"{SVG}use") or (None,) if group.get("transform") else (None,)
        fades = [one.get("values") for one in group.findall(f"{SVG}animate")]
        if use is None or "1;0" in fades:
            continue
        way = group.find(f"{SVG}animateTransform")
        start = group.get("transform").removeprefix("translate(").removesuffix(")")
        place = start if way is None else way.get("values").split(";")[-1]
        found.append((use.get(XLINK)[1:], place))
    return sorted(found)


@pytest.mark.parametrize("name", ["classic", "koom-valley", "football", "agreed"])
def test_an_animation_ends_where_the_battle_did(name):
    record = read_record(RECORDS / f"{name}.thud")
    football = record.rules.name == "koom-valley-football"
    final = scenes_of(record)[1][-1].after
    expected = sorted(
        (piece_id(piece, football), " ".join(f"{value:g}" for value in centre_of(square)))
        for square, piece in enumerate(final.pieces)
        if piece
    )
    assert at_the_end(animation(record)) == expected


def test_an_animation_shows_turn_after_turn_without_a_script():
    record = read_record(RECORDS / "classic.thud")
    picture = animation(record)
    texts = [text.text for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    for number, turn in enumerate(record.turns, start=1):
        assert f"{number}. {turn}" in texts
    assert "<script" not in picture
    assert "http" not in picture.replace("http://www.w3.org", "")
    times = [
        [float(time) for time in one.get("keyTimes").split(";")]
        for one in ElementTree.fromstring(picture).iter()
        if one.get("keyTimes")
    ]
    assert all(line == sorted(line) and line[0] == 0 and line[-1] <= 1 for line in times)


def test_each_step_of_a_trample_takes_its_part_of_the_slide():
    start = place("koom-valley", "H4 J5 A8", "H3", "t")
    moving = animation(Record(start, ("TH3-H5-K5xH4xJ5",)), seconds=1)
    assert 'keyTimes="0;0.25;0.3;0.35;1"' in moving  # of 4 s; it slides for 0.4


def test_a_stepper_stands_in_a_frame_of_its_own():
    record = read_record(RECORDS / "opening.thud")
    page = record._repr_html_()
    assert page == stepper(record) == stepper(record)._repr_html_()
    inner = html.unescape(page.partition('srcdoc="')[2].rpartition('"')[0])
    assert animation(record) in inner
    assert '"turns": 1' in inner
    assert page.count("<iframe") == 1


def test_frames_end_with_the_picture_of_the_end():
    record = read_record(RECORDS / "opening.thud")
    shown = list(frames(record, size=170, seconds=1.0))
    assert np.array_equal(shown[0][0], rgb_array(record.start, size=170))
    last = rgb_array(record.final, last_turn=record.turns[-1], size=170, targets=())
    assert np.array_equal(shown[-1][0], last)
    assert [turn for *_, turn in shown] == sorted(turn for *_, turn in shown)


@pytest.mark.parametrize("name", ["opening", "agreed"])
def test_every_turn_is_shown_as_long(name):
    record = read_record(RECORDS / f"{name}.thud")
    shown = list(frames(record, size=110, seconds=0.8))
    assert sum(duration for _, duration, _ in shown) == pytest.approx(0.8 * (1 + len(record.turns)))
    if name == "agreed":  # its last turn is an answer, with nothing that slides
        assert shown[-1][1] == pytest.approx(0.8)


def test_a_position_is_no_battle_and_a_text_no_position():
    for show in (animation, stepper, lambda one: next(frames(one))):
        with pytest.raises(TypeError, match=r"a Position is no battle: Record\(position, turns\)"):
            show(START)
    with pytest.raises(TypeError, match="a str is no position"):
        heat("abc", np.zeros(6470))


@pytest.mark.parametrize("turn", ["dF1-F1", "TF3-H3-H3"])
def test_a_last_turn_that_goes_nowhere_is_refused(turn):
    with pytest.raises(ValueError, match=f"turn '{turn}' goes from a square to itself"):
        svg(Position.start("koom-valley"), last_turn=turn)


def test_times_and_sizes_may_be_numbers_of_numpy():
    record = read_record(RECORDS / "opening.thud")
    found = stepper(record, size=np.uint16(480), seconds=np.float32(1))
    assert found == stepper(record, size=480, seconds=1.0)
    (small, _, _), (same, _, _) = (next(frames(record, size=size)) for size in (np.uint8(200), 200))
    assert np.array_equal(small, same)


@pytest.mark.parametrize("wrong", [-1, 0, float("nan"), float("inf"), "1", None])
def test_a_time_that_is_no_finite_number_above_0_is_refused(wrong):
    record = read_record(RECORDS / "opening.thud")
    for name, show in (
        ("seconds", lambda: animation(record, seconds=wrong)),
        ("seconds", lambda: stepper(record, seconds=wrong)),
        ("seconds", lambda: next(frames(record, seconds=wrong))),
        ("fps", lambda: next(frames(record, fps=wrong))),
    ):
        with pytest.raises(ValueError, match=f"^{name} must be a finite number above 0, not "):
            show()


def test_a_battle_as_gif(tmp_path, capsys):
    from PIL import Image

    out = tmp_path / "battle.gif"
    assert replay([str(RECORDS / "opening.thud"), "-o", str(out), "--size", "170"]) == 0
    assert "1 turns" in capsys.readouterr().out
    with Image.open(out) as picture:
        assert picture.size == (170, 182)
        assert picture.n_frames > 3


def test_a_gif_shows_a_position_for_the_seconds_of_a_turn(tmp_path):
    image = pytest.importorskip("PIL.Image")
    write_gif(tmp_path / "turn.gif", Record(START, ("dF1-F2",)), 102, 0.5, False)
    with image.open(tmp_path / "turn.gif") as gif:
        assert gif.info["duration"] == 500


def test_the_position_after_some_turns_as_png(tmp_path):
    from PIL import Image

    write_record(tmp_path / "battle.thud", random_battle(9))
    for first, shown in (("0", START), ("9", read_record(tmp_path / "battle.thud").final)):
        out = tmp_path / f"{first}.png"
        words = ["-o", str(out), "--size", "170", "--first", first, "--no-captions"]
        assert replay([str(tmp_path / "battle.thud"), *words]) == 0
        with Image.open(out) as picture:
            found = np.asarray(picture)
        last = read_record(tmp_path / "battle.thud").turns[-1] if first == "9" else None
        assert np.array_equal(found, rgb_array(shown, last_turn=last, size=170, targets=()))


def test_the_first_turns_of_a_battle_are_still_those_of_its_players():
    tags = {"Dwarfs": "Ann", "Trolls": "Bob", "Result": "0", "Termination": "turn-limit"}
    whole = Record(Position.start(max_turns=2), ("dF1-F5", "TG7-G6"), tags)
    short = shortened(whole, 1)
    assert short.turns == whole.turns[:1]
    assert (short.tags["Dwarfs"], short.tags["Trolls"]) == ("Ann", "Bob")


def test_a_battle_of_a_hundred_turns_is_a_gif_below_3_mb(tmp_path):
    record = random_battle(100)
    write_record(tmp_path / "long.thud", record)
    out = tmp_path / "long.gif"
    assert replay([str(tmp_path / "long.thud"), "-o", str(out)]) == 0
    assert out.stat().st_size < 3_000_000


def test_a_gif_is_written_without_all_its_rgb_frames_in_memory(tmp_path):
    record = random_battle(60)
    asked = (record, 170, 0.8, True)
    whole = sum(pixels.nbytes for pixels, _ in pictures(*asked, fps=12.5))
    tracemalloc.start()
    write_gif(tmp_path / "long.gif", *asked)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < whole / 3


def test_the_caption_of_a_long_turn_is_cut_after_a_square(monkeypatch):
    from PIL import ImageDraw

    measure, widths = ImageDraw.ImageDraw.textlength, []

    def measured(*args, **options):
        widths.append(measure(*args, **options))
        assert len(widths) < 1000, "a caption is cut without end"
        return widths[-1]

    monkeypatch.setattr(ImageDraw.ImageDraw, "textlength", measured)
    text = "5/7/9/11/13/Td1d1d1d1d1d1d1/15/7R7/15/15/13/11/9/7/2ddd t - 0 0"
    start = Position.from_text(text, "koom-valley")
    long = Record(start, ("TA6-C6-E6-G6-J6-L6-N6-P6xB6xD6xF6xH6xK6xM6xO6",))
    for size in (102, 408):
        *_, (pixels, _) = pictures(long, size, 1, True, fps=1)
        strip = pixels[size:]
        assert (strip != strip[0, 0]).any()


def random_battle(turns):
    position, played = START, []
    rng = np.random.default_rng(5)
    for _ in range(turns):
        played.append(str(rng.choice(position.turns())))
        position = position.play(played[-1])
    return Record(START, tuple(played))


def test_the_readme_shows_the_battle_as_it_is(tmp_path):
    root = Path(__file__).parents[1]
    out = tmp_path / "battle.svg"
    record = root / "docs/battles/policies.thud"
    assert replay([str(record), "-o", str(out), "--size", "480"]) == 0
    assert out.read_bytes() == (root / "docs/images/battle.svg").read_bytes()


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg here")
def test_a_battle_as_video(tmp_path):
    out = tmp_path / "battle.mp4"
    assert replay([str(RECORDS / "opening.thud"), "-o", str(out), "--size", "170"]) == 0
    assert out.read_bytes()[4:8] == b"ftyp"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.thud", "-o", "a.gif"], "missing.thud"),
        ([str(RECORDS / "opening.thud"), "-o", "a.webm"], ".gif, .mp4, .svg, .png can be written"),
        ([str(RECORDS / "opening.thud"), "-o", "a.gif", "--size", "5"], "in 102 .. 2040"),
    ],
)
def test_what_cannot_be_replayed_is_refused_in_a_line(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert replay(words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_picture_never_takes_the_place_of_a_file(tmp_path, capsys):
    out = tmp_path / "mine.svg"
    out.write_text("mine")
    assert replay([str(RECORDS / "opening.thud"), "-o", str(out)]) == 2
    assert "mine.svg exists: name another file" in capsys.readouterr().err
    assert out.read_text() == "mine"


def test_a_picture_never_takes_the_place_of_a_file_made_meanwhile(tmp_path, capsys, monkeypatch):
    out = tmp_path / "mine.svg"

    def write_late(path, *arguments):
        path.write_text("picture")
        out.write_text("mine")

    monkeypatch.setitem(WRITERS, ".svg", write_late)
    assert replay([str(RECORDS / "opening.thud"), "-o", str(out)]) == 2
    assert "mine.svg: File exists" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [out]


def test_a_picture_that_fails_leaves_nothing(tmp_path, capsys, monkeypatch):
    def half_written(path, *arguments):
        path.write_text("half")
        raise ThudError("no more")

    monkeypatch.setitem(WRITERS, ".svg", half_written)
    assert replay([str(RECORDS / "opening.thud"), "-o", str(tmp_path / "a.svg")]) == 2
    assert "no more" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_video_without_ffmpeg_is_refused(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    words = [str(RECORDS / "opening.thud"), "-o", str(tmp_path / "a.mp4")]
    assert replay(words) == 2
    assert "needs ffmpeg" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo Unknown encoder >&2; exit 1", "ffmpeg failed: Unknown encoder"),
        ("echo half > $last; cat > /dev/null; echo Full >&2; exit 1", "ffmpeg failed: Full"),
        ("head -c 1000 > $last; kill -9 $$", "ffmpeg failed: it ended with code -9"),
        ("yes | head -c 1000000 >&2; cat > /dev/null; exit 1", "ffmpeg failed: y y y"),
    ],
)
def test_a_video_that_ffmpeg_does_not_finish_is_an_error_in_its_words(
    script, said, capsys, tmp_path, monkeypatch
):
    ffmpeg = tmp_path / "bin/ffmpeg"
    ffmpeg.parent.mkdir()
    ffmpeg.write_text(f"#!/bin/sh\nfor last; do :; done\n{script}\n")
    ffmpeg.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ffmpeg.parent}:/usr/bin:/bin")
    words = [str(RECORDS / "opening.thud"), "-o", str(tmp_path / "a.mp4"), "--size", "170"]
    assert replay(words) == 1
    out, error = capsys.readouterr()
    assert error.startswith(f"replay: {said}")
    assert (out, error.count("\n")) == ("", 1)
    assert list(tmp_path.iterdir()) == [ffmpeg.parent]


# -- heat ----------------------------------------------------------------------------------


def chances(position, *likely):
    found = np.zeros(6470)
    legal = position.legal_actions()
    found[legal] = 0.1 / len(legal)
    for turn, chance in likely:
        found[position.decisions(turn)[0]] += chance
    return found / found.sum()


def test_heat_is_strongest_where_the_policy_would_move():
    starts, ends = squares_of(chances(START, ("dF1-F5", 0.5), ("dG1-G4", 0.2)))
    assert starts.sum() == pytest.approx(1)
    assert ends.sum() == pytest.approx(1)

    assert [SQUARE_NAMES[i] for i in np.argsort(-starts)[:2]] == ["F1", "G1"]
    assert [SQUARE_NAMES[i] for i in np.argsort(-ends)[:2]] == ["F5", "G4"]


@pytest.mark.parametrize("rules", RULESETS)
def test_heat_draws_every_position(rules):
    position = Position.start(rules)
    rng = np.random.default_rng(1)
    for _ in range(30):
        probabilities = np.zeros(6470)
        legal = position.legal_actions()
        probabilities[legal] = rng.dirichlet(np.ones(len(legal)))
        ElementTree.fromstring(heat(position, probabilities))
        position = position.apply(int(rng.choice(legal)))
        if position.outcome is not None:
            break


def test_notebooks_show_pictures():
    picture = heat(START, chances(START))
    assert picture._repr_svg_() == picture
    assert svg(START)._repr_svg_() == START._repr_svg_()


@pytest.mark.parametrize(
    ("probabilities", "said"),
    [
        (np.zeros(10), "shape"),
        (np.zeros(6470), "not all 0"),
        (np.full(6470, np.nan), "finite"),
        (-np.ones(6470), "0 or more"),
        (np.ones(6470), "not legal"),
    ],
)
def test_heat_refuses_values_that_are_not_probabilities(probabilities, said):
    with pytest.raises(ValueError, match=said):
        heat(START, probabilities)


def test_squares_of_heat_are_those_of_the_board():
    starts, ends = squares_of(np.eye(6470)[0])
    assert len(starts) == len(ends) == NUM_SQUARES


@pytest.mark.parametrize("seconds", [np.float32("inf"), np.float32(0), 10**400])
def test_a_turn_takes_a_finite_time(seconds):
    with pytest.raises(ValueError, match="seconds must be a finite number above 0"):
        animation(Record(Position.start("classic"), ("dE2-E6",)), seconds=seconds)


@pytest.mark.filterwarnings("error")
def test_the_time_of_a_turn_may_be_of_any_precision():
    record = Record(Position.start("classic"), ("dE2-E6",))
    assert animation(record, seconds=np.float32(1)) == animation(record, seconds=1)


@pytest.mark.parametrize("battle", ["a.thud", None, [Position.start("classic")]])
def test_what_is_no_battle_is_named(battle):
    with pytest.raises(TypeError, match=r" is no battle: a Record, such as read_record\(path\)"):
        stepper(battle)
