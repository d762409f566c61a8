"""Learning curves as a picture."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from thud_env.outcome import SIDES
from training.config import ExploitConfig, RunConfig, TrainConfig
from training.curves import main
from training.distill.config import DistillConfig

SVG = "{http://www.w3.org/2000/svg}"


def a_run(
    folder: Path,
    rules: str = "classic",
    measured: int = 3,
    anchors: tuple[str, ...] = ("random", "greedy"),
    kind: type[RunConfig] = TrainConfig,
) -> Path:
    folder.mkdir()
    config = dataclasses.asdict(kind(name=folder.name, rules=rules, anchors=anchors))
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    lines = [{"decisions": 100 * n} for n in range(1, 7)]
    for number, line in enumerate(lines[1::2][:measured]):
        for side, role in enumerate(SIDES):
            for place, anchor in enumerate(anchors):
                line[f"{role}/margin_against_{anchor}"] = (10 * number, -32 + 16 * side)[place % 2]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.mark.parametrize("run", ["smoke", "gpu"])
def test_the_curves_of_the_docs_are_those_of_the_kept_runs(run: str, tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    out = tmp_path / f"{run}.svg"
    assert main([str(root / "docs/curves" / run), "--out", str(out)]) == 0
    again = f"python -m training.curves docs/curves/{run} --out docs/images/{run}.svg"
    assert out.read_bytes() == (root / f"docs/images/{run}.svg").read_bytes(), again


def test_runs_of_every_command_have_curves(tmp_path: Path) -> None:
    pictures = []
    for kind in (TrainConfig, DistillConfig, ExploitConfig):
        run, out = a_run(tmp_path / kind.__name__, kind=kind), tmp_path / f"{kind.__name__}.svg"
        assert main([str(run), "--out", str(out)]) == 0
        pictures.append(out.read_text())
    assert pictures[0] == pictures[1] == pictures[2]


def test_a_run_with_a_network_of_ones_own_has_curves(tmp_path: Path) -> None:
    run, out = a_run(tmp_path / "run"), tmp_path / "run.svg"
    config = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(config.replace("kind: residual", "kind: mlp\n  hidden: 9"))
    assert (run / "config.yaml").read_text() != config
    assert main([str(run), "--out", str(out)]) == 0


def test_every_run_and_anchor_is_a_line_in_each_sides_panel(tmp_path: Path, capsys) -> None:
    runs = [str(a_run(tmp_path / name)) for name in ("one", "two")]
    out = tmp_path / "curves.svg"
    assert main([*runs, "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    root = ElementTree.fromstring(out.read_text())
    lines = root.findall(f"{SVG}polyline")
    assert len(lines) == 2 * 2 * 2
    points = [tuple(map(float, point.split(","))) for point in lines[0].attrib["points"].split()]
    assert len(points) == 3
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    ys = [y for _, y in points]
    assert ys == sorted(ys, reverse=True), "higher margins are higher up"
    words = {text.text for text in root.iter(f"{SVG}text")}
    assert {"margin of the dwarfs", "margin of the trolls", "+32", "-32", "600"} <= words
    assert {"against random", "against greedy"} <= words
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for line in lines:
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            assert 0 < x < width
            assert 0 < y < height


def test_the_longest_run_fills_its_panel_wherever_it_is_named(tmp_path: Path) -> None:
    runs = [a_run(tmp_path / f"run{measured}", measured=measured) for measured in (1, 3)]
    pictures = []
    for order in (runs, runs[::-1]):
        assert main([*map(str, order), "--out", str(tmp_path / "curves.svg")]) == 0
        root = ElementTree.parse(tmp_path / "curves.svg").getroot()
        pictures.append(sorted(line.attrib["points"] for line in root.iter(f"{SVG}polyline")))
    assert pictures[0] == pictures[1]


def test_runs_have_colours_and_anchors_that_they_share_one_kind_of_line(tmp_path: Path) -> None:
    runs = [
        a_run(tmp_path / "one"),
        a_run(tmp_path / "two", anchors=("greedy", "alphabeta:depth=1")),
    ]
    out = tmp_path / "curves.svg"
    assert main([*map(str, runs), "--out", str(out)]) == 0
    root = ElementTree.fromstring(out.read_text())
    lines = root.findall(f"{SVG}polyline")
    strokes = [line.attrib["stroke"] for line in lines]
    dashes = [line.attrib.get("stroke-dasharray") for line in lines]
    assert len(lines) == 8
    assert (strokes[:4], dashes[:4]) == (strokes[4:], dashes[4:])
    assert strokes[0] == strokes[1] != strokes[2] == strokes[3]
    assert dashes[1] == dashes[2]
    assert len(set(dashes)) == 3
    words = [text.text for text in root.iter(f"{SVG}text")]
    against = [f"against {anchor}" for anchor in ("random", "greedy", "alphabeta:depth=1")]
    assert words[-5:] == [*map(str, runs), *against]


@pytest.mark.parametrize(
    "anchors",
    [
        ("random", "greedy", "greedy2", "alphabeta:depth=1", "alphabeta:depth=2", "mcts:sims=100"),
        ("random", f"policy:{'a/long/path/' * 8}latest,temperature=0.3", "greedy"),
    ],
)
def test_a_legend_that_is_long_stays_in_the_picture(
    anchors: tuple[str, ...], tmp_path: Path
) -> None:
    out = tmp_path / "curves.svg"
    assert main([str(a_run(tmp_path / "one", anchors=anchors)), "--out", str(out)]) == 0
    root = ElementTree.fromstring(out.read_text(encoding="utf-8"))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    entries = [one for one in root.iter(f"{SVG}text") if str(one.text).startswith("against ")]
    assert [one.text for one in entries] == [f"against {anchor}" for anchor in anchors]
    boxes = [
        (float(one.attrib["x"]), float(one.attrib["y"]), 7 * len(one.text or "")) for one in entries
    ]
    for x, y, length in boxes:
        assert x + length <= width
        assert y <= height - 10
    assert len({y for _, y, _ in boxes}) > 1
    for (x, y, length), (next_x, next_y, _) in itertools.pairwise(boxes):
        assert next_y > y or next_x >= x + length


def test_runs_with_one_label_are_drawn_with_their_mean(tmp_path: Path) -> None:
    runs = {"a": ["a-1", "a-2", "a-3"], "b": ["b-1"]}
    words = []
    for label, names in runs.items():
        for measured, name in enumerate(names, 1):
            run = a_run(tmp_path / name, measured=3 if name == "a-2" else measured)
            text = (run / "metrics.jsonl").read_text()
            (run / "metrics.jsonl").write_text(text.replace('random": 0', f'random": {measured}'))
            words.append(f"{label}={run}")
    out = tmp_path / "curves.svg"
    assert main([*words, "--out", str(out)]) == 0
    root = ElementTree.fromstring(out.read_text())
    assert [one.text for one in root.iter(f"{SVG}text")][-4:-2] == ["a", "b"]
    lines = root.findall(f"{SVG}polyline")
    widths = [line.attrib["stroke-width"] for line in lines[: len(lines) // 2]]
    assert widths == ["0.7"] * 6 + ["2"] * 4
    assert len({line.attrib["stroke"] for line in lines[:8]}) == 1
    *each, mean = (
        [float(place.partition(",")[2]) for place in line.attrib["points"].split()]
        for line in (*lines[:6:2], lines[6])
    )
    assert [len(points) for points in (*each, mean)] == [1, 3, 3, 1]
    assert len({points[0] for points in each}) == 3
    assert mean == pytest.approx([sum(points[0] for points in each) / 3], abs=0.1)


def test_a_label_is_told_from_a_folder_with_an_equals_sign(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("lr-3", "one", "two"):
        a_run(tmp_path / name)
    Path("lr-3").rename("lr=3")
    assert main(["lr=3", "x=one", "x=two", "--out", "curves.svg"]) == 0
    root = ElementTree.fromstring(Path("curves.svg").read_text())
    assert [one.text for one in root.iter(f"{SVG}text")][-4:-2] == ["lr=3", "x"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["=one"], "=one: LABEL=RUN would be right"),
        (["a="], "a=: LABEL=RUN would be right"),
        (["a=one", "b=one"], "one: it has two labels: one would be right"),
        (["two=one", "two"], "two: a label and a run: another label would be right"),
        (["a=one", "a=other"], "a: its runs have different anchors: a label for each would be"),
        (["a=other", "a=one"], "a: its runs have different anchors: a label for each would be"),
    ],
)
def test_labels_that_cannot_be_meant_are_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        a_run(tmp_path / name)
    a_run(tmp_path / "other", anchors=("random",))
    assert main([*words, "--out", "curves.svg"]) == 2
    assert capsys.readouterr().err.startswith(f"curves: {said}")
    assert not Path("curves.svg").exists()


def test_runs_without_a_common_measurement_have_no_mean(tmp_path: Path, capsys) -> None:
    runs = [a_run(tmp_path / name) for name in ("one", "two")]
    metrics = runs[1] / "metrics.jsonl"
    metrics.write_text(metrics.read_text().replace("00,", "01,"))
    words = [f"a={run}" for run in runs]
    assert main([*words, "--out", str(tmp_path / "curves.svg")]) == 2
    err = capsys.readouterr().err
    assert err.startswith("curves: a: its runs were never measured at the same number of decisions")
    assert not (tmp_path / "curves.svg").exists()


def test_names_are_written_in_utf8_wherever_it_runs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("io.text_encoding", lambda encoding, level=2: encoding or "ascii")
    anchor = "policy:runs/d\u00fcster"
    out = tmp_path / "curves.svg"
    assert main([str(a_run(tmp_path / "one", anchors=(anchor,))), "--out", str(out)]) == 0
    assert f"against {anchor}" in out.read_text(encoding="utf-8")


def test_a_run_may_be_named_as_one_of_its_anchors(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("greedy", "other"):
        a_run(tmp_path / name)
        assert main([name, "--out", f"{name}.svg"]) == 0
    assert Path("greedy.svg").read_bytes() == Path("other.svg").read_bytes()


def test_a_run_that_is_not_measured_yet_is_left_out(tmp_path: Path, capsys) -> None:
    measured, early = str(a_run(tmp_path / "one")), str(a_run(tmp_path / "early", measured=0))
    alone, both = tmp_path / "alone.svg", tmp_path / "both.svg"
    assert main([measured, "--out", str(alone)]) == 0
    assert main([early, measured, "--out", str(both)]) == 0
    assert both.read_bytes() == alone.read_bytes()
    assert f"curves: {early}: nothing has been measured" in capsys.readouterr().err
    assert main([early, early, "--out", str(both)]) == 2
    assert both.read_bytes() == alone.read_bytes()


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (["nothing"], "{}/nothing is no run: the newest runs there: {}/"),
        (["clasic"], "{}/clasic is no run: did you mean 'classic'?"),
        (["."], "{} is no run: the folder of one would be right"),
        (["empty"], "nothing has been measured against random or greedy yet"),
        (["unmeasured"], "it was run with anchor_games=0"),
        (["classic", "classic", "valley"], "/classic is of classic, {}/valley of koom-valley: "),
        (["classic", "all"], "/classic is of classic, {}/all of classic-all: runs of one game"),
        (["stale"], "{}/stale/config.yaml: unknown key student.old_key: there are temperature"),
    ],
)
def test_a_run_without_curves_is_refused_in_one_line(
    runs: list[str], said: str, tmp_path: Path, capsys
) -> None:
    a_run(tmp_path / "empty", measured=0)
    a_run(tmp_path / "unmeasured", measured=0, kind=DistillConfig)
    a_run(tmp_path / "classic")
    a_run(tmp_path / "valley", rules="koom-valley")
    a_run(tmp_path / "all", rules="classic-all")
    stale = a_run(tmp_path / "stale", kind=DistillConfig) / "config.yaml"
    stale.write_text(stale.read_text().replace("student:\n", "student:\n  old_key: 1\n"))
    out = tmp_path / "curves.svg"
    assert main([*(str(tmp_path / run) for run in runs), "--out", str(out)]) == 2
    assert said.format(tmp_path, tmp_path) in capsys.readouterr().err
    assert not out.exists()


def test_the_folder_of_a_picture_is_made(tmp_path: Path) -> None:
    out = tmp_path / "pictures" / "curves.svg"
    assert main([str(a_run(tmp_path / "one")), "--out", str(out)]) == 0
    assert out.read_text().startswith("<svg")


@pytest.mark.parametrize("name", ["curves.png", "curves"])
def test_no_other_kind_of_picture_is_written(name: str, tmp_path: Path, capsys) -> None:
    out = tmp_path / name
    assert main([str(a_run(tmp_path / "one")), "--out", str(out)]) == 2
    assert (
        f"an SVG is written, so {tmp_path / 'curves.svg'} would be right" in capsys.readouterr().err
    )
    assert not out.exists()


def test_a_run_of_an_odd_number_of_battles_has_curves(tmp_path: Path) -> None:
    run = a_run(tmp_path / "odd")
    config = yaml.safe_load((run / "config.yaml").read_text())
    (run / "config.yaml").write_text(yaml.safe_dump({**config, "num_games": 7}))
    assert main([str(run), "--out", str(tmp_path / "odd.svg")]) == 0
