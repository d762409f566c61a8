import re
import subprocess
import sys
from functools import partial
from xml.etree import ElementTree

import gymnasium
import numpy as np
import pytest
from by_hand import place
from golden_render.make import FOLDER, IMAGES, IN_DOCUMENTS, PICTURES

import thud_env
from thud_env import Position
from thud_env.actions import NUM_ACTIONS
from thud_env.board import COLUMNS, NUM_SQUARES, SQUARE_BY_NAME, SQUARE_POSITIONS
from thud_env.render import ansi, heat, rgb_array, svg
from thud_env.render.font import GLYPH_HEIGHT, GLYPH_WIDTH, glyph
from thud_env.render.picture import GOALS, SQUARES
from thud_env.render.shapes import Disc, polygon
from thud_env.render.to_heat import FROM, TO

REMEDY = "if this change is meant, run: python tests/golden_render/make.py, and look"
SVG = "{http://www.w3.org/2000/svg}"
START = Position.start()


def colour(text):
    return [int(text[i : i + 2], 16) for i in (1, 3, 5)]


def tile(pixels, name):
    """The pixels of a square."""
    unit = pixels.shape[0] // 17
    row, col = SQUARE_POSITIONS[SQUARE_BY_NAME[name]]
    return pixels[unit * (row + 1) : unit * (row + 2), unit * (col + 1) : unit * (col + 2)]


def changed_squares(before, after):
    names = {square: name for name, square in SQUARE_BY_NAME.items()}
    return {
        names[square]
        for square in range(NUM_SQUARES)
        if not np.array_equal(tile(before, names[square]), tile(after, names[square]))
    }


# -- golden files --------------------------------------------------------------------------


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_the_pictures_are_what_they_were(picture):
    for suffix, text in (("svg", picture.svg), ("ansi", picture.ansi())):
        golden = (FOLDER / f"{picture.name}.{suffix}").read_text(encoding="utf-8")
        assert text == golden, REMEDY


def test_every_file_is_a_picture_of_the_list():
    found = {path.name for path in FOLDER.iterdir() if path.suffix in (".svg", ".ansi")}
    assert found == {f"{p.name}.{suffix}" for p in PICTURES for suffix in ("svg", "ansi")}


def test_the_documents_show_the_pictures_as_they_are():
    boards = {f"{name}.svg" for name in IN_DOCUMENTS}
    ladders = {f"{page.stem}.svg" for page in IMAGES.parent.glob("strength*.md")}
    balance = {"balance.svg", "balance-standing.svg"}  # by training.balance
    curves = {"smoke.svg", "gpu.svg", "training.svg", "strong.svg"}  # by training.curves
    others = {"page.png", "battle.svg"}  # of the page and of agents.replay
    assert {path.name for path in IMAGES.iterdir()} == boards | ladders | balance | curves | others
    for name in IN_DOCUMENTS:
        assert (IMAGES / f"{name}.svg").read_bytes() == (FOLDER / f"{name}.svg").read_bytes(), (
            REMEDY
        )


def test_every_ruleset_has_a_picture():
    assert {picture.rules for picture in PICTURES} == set(thud_env.RULESETS)


# -- SVG -----------------------------------------------------------------------------------


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_svg_has_every_piece_once_and_defines_what_it_uses(picture):
    root = ElementTree.fromstring(picture.svg)
    used = [element.get("{http://www.w3.org/1999/xlink}href") for element in root.iter(f"{SVG}use")]
    defined = {f"#{group.get('id')}" for group in root.iter(f"{SVG}g")}
    assert set(used) <= defined
    board = picture.position.text.split()[0]
    outcome = picture.position.outcome
    beside = {"d": 1, "T": 1, "R": 0}  # the counts, and who decides or has won
    deciding = [picture.position.to_move] if outcome is None else [outcome.winner]
    for side in ["dwarfs", "trolls"] if deciding == [None] else deciding:
        beside["d" if side == "dwarfs" else "T"] += 1
    stone = "ball" if picture.rules == "koom-valley-football" else "stone"
    for letter, name in (("d", "dwarf"), ("T", "troll"), ("R", stone)):
        assert used.count(f"#thud-{name}") == board.count(letter) + beside[letter], name


def test_svg_names_columns_rows_and_counts():
    root = ElementTree.fromstring(svg(START.play("dE2-E6").play("TG7-F6").play("dE6-F6xF6")))
    words = [text.text for text in root.iter(f"{SVG}text")]
    expected = [*COLUMNS * 2, *(str(i) for i in range(1, 16)), *(str(i) for i in range(1, 16))]
    assert sorted(words) == sorted([*expected, "32", "7"])


def test_svg_has_a_size_and_a_title():
    root = ElementTree.fromstring(svg(START, size=200, last_turn="dE2-E6"))
    assert (root.get("width"), root.get("height")) == ("200", "200")
    assert root.find(f"{SVG}title").text.endswith("dwarfs to move, after E2-E6")


def test_notebooks_show_positions():
    assert START._repr_svg_() == svg(START)


# -- text ----------------------------------------------------------------------------------


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_text_is_the_same_without_colour(picture):
    assert re.sub(r"\x1b\[[0-9;]*m", "", picture.ansi()) == picture.ansi(color=False)
    assert "\x1b" not in picture.ansi(color=False)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_text_shows_what_the_plain_board_shows(picture):
    symbols = re.sub(r"[()<>\[\]]", " ", picture.ansi(color=False))
    symbols = re.sub(r"[*ox]", ".", symbols)
    rows = [line.split()[1:-1] for line in symbols.splitlines()[1:-1]]
    assert rows == [line.split()[1:] for line in str(picture.position).splitlines()[1:]]


def test_text_marks():
    lines = {picture.name: picture.ansi(color=False).splitlines() for picture in PICTURES}
    assert " * [d] * " in lines["hurl"][6]
    assert lines["hurl"][7].count("*") == 2
    assert "[T] x " in lines["shove"][5]
    assert " .  o  . " in lines["shove"][7]
    assert "(d)(d)(d)" in lines["which-dwarf"][1]
    assert "<T>" in lines["which-dwarf"][2]
    assert "(d)(d)(d)" in lines["all-or-none"][1]
    assert " x  x  d " in lines["any"][1]
    assert " o  x <T>" in lines["tramples"][8]


# -- pixels --------------------------------------------------------------------------------


def test_a_size_may_be_a_small_integer_of_numpy():
    assert svg(START, size=np.int16(2000)) == svg(START, size=2000)
    assert np.array_equal(rgb_array(START, size=np.uint8(200)), rgb_array(START, size=200))


@pytest.mark.parametrize("size", [102, 200, 544, 850])
def test_pixels_come_in_any_size(size):
    pixels = rgb_array(START, size=size)
    assert pixels.shape == (size, size, 3)
    assert pixels.dtype == np.uint8
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20


def test_pixels_belong_to_the_caller():
    first = rgb_array(START)
    first[:] = 0
    assert rgb_array(START).any()


def test_empty_squares_have_the_colours_of_the_board():
    pixels = rgb_array(START)
    for name, fill in (("H5", SQUARES[1]), ("H4", SQUARES[0])):
        row, col = SQUARE_POSITIONS[SQUARE_BY_NAME[name]]
        assert (tile(pixels, name) == colour(SQUARES[(row + col) % 2])).all(), fill
    valley = rgb_array(Position.start("koom-valley"))
    assert {tuple(tile(valley, name)[5, 5]) for name in ("F1", "G1", "H1", "J1", "K1")} == {
        tuple(colour(fill)) for fill in GOALS
    }


def test_a_shape_is_placed_and_scaled_as_a_whole():
    ring = Disc(0.5, -0.25, 1, "#fff", hole=0.5)
    assert ring.placed(2, 3, 0.5) == Disc(2.25, 2.875, 0.5, "#fff", hole=0.25)
    area = polygon((0.5, -0.25), (1, 0), (0, 1), fill="#fff")
    assert area.placed(2, 3, 0.5) == polygon((2.25, 2.875), (2.5, 3), (2, 3.5), fill="#fff")


def test_a_move_changes_its_two_squares_only():
    after = START.play("dE2-E6")
    assert changed_squares(rgb_array(START), rgb_array(after)) == {"E2", "E6"}


def test_the_last_turn_and_the_targets_show():
    position = START.play("dE2-E6").play("TG7-F6").play("dE6-F6xF6")
    plain = rgb_array(position)
    assert changed_squares(plain, rgb_array(position, last_turn="dE6-F6xF6")) == {"E6", "F6"}
    marked = rgb_array(position, targets="G8")
    reached = {
        turn.partition("x")[0].split("-")[1] for turn in position.turns() if turn.startswith("TG8")
    }
    assert changed_squares(plain, marked) == {"G8", *reached}
    assert changed_squares(plain, rgb_array(position, targets=["A6", "H1"])) == {"A6", "H1"}


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_every_square_of_the_last_turn_is_marked(picture):
    bare = rgb_array(picture.position, targets=())
    marked = rgb_array(picture.position, targets=(), last_turn=picture.last_turn)
    named = set(re.findall(r"[A-P]\d+", picture.last_turn or ""))
    assert named <= changed_squares(bare, marked)


def test_meaningless_arguments_are_refused():
    for draw in (ansi, svg, rgb_array):
        with pytest.raises(ValueError, match="not a turn"):
            draw(START, last_turn="E2-E6")
        with pytest.raises(ValueError, match="no square 'A1'"):
            draw(START, targets="A1")
    with pytest.raises(ValueError, match="102 or more"):
        rgb_array(START, size=50)
    with pytest.raises(ValueError, match="size must be 1 or more, not -3"):
        svg(START, size=-3)


@pytest.mark.parametrize("draw", [svg, rgb_array, ansi])
@pytest.mark.parametrize("targets", [5, np.array("H8")])
def test_targets_that_are_no_list_are_refused(draw, targets):
    with pytest.raises(TypeError, match=r"targets .*: a list of them would be right"):
        draw(START, targets=targets)


@pytest.mark.parametrize(
    ("draw", "misspelt", "named"),
    [
        (ansi, "colour", "color"),
        (svg, "last_turns", "last_turn"),
        (rgb_array, "target", "targets"),
        (partial(heat, probabilities=START.action_mask()), "sizes", "size"),
    ],
)
def test_a_misspelt_argument_is_named(draw, misspelt, named):
    with pytest.raises(TypeError, match=f"argument '{misspelt}': did you mean '{named}'"):
        draw(START, **{misspelt: 5})


def test_the_font_has_all_that_is_written():
    for letter in (*COLUMNS, *"0123456789"):
        assert glyph(letter).shape == (GLYPH_HEIGHT, GLYPH_WIDTH)
    shapes = {glyph(letter).tobytes() for letter in (*COLUMNS, *"0123456789")}
    assert len(shapes) == len(COLUMNS) + 10


def test_pictures_need_no_pygame():
    code = (
        "import sys, thud_env, thud_env.render as r; p = thud_env.Position.start();"
        "r.ansi(p), r.svg(p), r.rgb_array(p); print('pygame' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("drawn", [svg, rgb_array, ansi])
def test_what_is_no_position_is_not_drawn(drawn):
    with pytest.raises(TypeError, match=r"a str is no position: .*Position\.from_text\(text\)"):
        drawn("text")
    with pytest.raises(TypeError, match=r"a ThudEnv is no position: its \.position would be right"):
        drawn(thud_env.env())
    for made, right in (
        (thud_env.BatchedGame(1), r"a BatchedGame is no position: its \.position\(0\) would be"),
        (gymnasium.make("thud/Thud-v0"), r"its \.unwrapped\.position would be right"),
    ):
        with pytest.raises(TypeError, match=right):
            drawn(made)


def drawn(picture, tag, fill):
    """The attributes of a picture's shapes of a colour, in its order."""
    shapes = ElementTree.fromstring(picture).findall(f"{SVG}{tag}")
    return [shape.attrib for shape in shapes if shape.get("fill") == fill]


def centre(name):
    row, col = SQUARE_POSITIONS[SQUARE_BY_NAME[name]]
    return col + 1.5, row + 1.5


def place_of(disc):
    return float(disc["cx"]), float(disc["cy"])


def test_a_heat_map_has_an_arrow_for_a_move_as_strong_as_it_is_likely():
    chances = np.zeros(NUM_ACTIONS)
    chances[START.decisions("dF1-F5")[0]] = 0.8
    chances[START.decisions("dA6-D6")[0]] = 0.2
    picture = heat(START, chances)
    assert len(drawn(picture, "path", FROM)) == 2
    discs = {place_of(disc): disc["opacity"] for disc in drawn(picture, "circle", TO)}
    assert discs == {centre("F5"): "0.75", centre("D6"): "0.5"}
    arrows = drawn(picture, "path", TO)
    assert [arrow["opacity"] for arrow in arrows] == ["0.85", "0.5"]
    tips = [arrow["d"].split("M")[-1].split("L")[0] for arrow in arrows]
    (x, y), (to_x, to_y) = centre("F5"), centre("D6")
    assert tips == [f"{x:g} {y - 0.3:g}", f"{to_x - 0.3:g} {to_y:g}"]


def test_a_heat_map_marks_what_may_be_captured():
    position = place("classic-any", "D6 E6 A9", "E8", "t")
    asked = position.apply(position.decisions("TE8-E7xD6xE6")[0])
    discs = drawn(heat(asked, asked.action_mask()), "circle", TO)
    assert {place_of(disc) for disc in discs} == {centre("D6"), centre("E6")}
