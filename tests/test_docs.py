"""The pages agree with the code: examples are run, tables compared, links followed."""

import ast
import dataclasses
import doctest
import inspect
import io
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations, pairwise, starmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reliability.runs import DISTILLED
from rich.console import Console
from small_run import SMALL_RUN
from test_imports import ROOMS

from agents.registry import AGENTS, OWN, agent_class
from thud_env import RULESETS, Position, Ruleset, actions
from thud_env.perft import perft
from thud_env.views.encoding import PLANES
from thud_env.views.match import MATCH_PLANES
from training import evaluate
from training.config import OpponentConfig, TrainConfig
from training.distill.__main__ import distil
from training.ladder.fields import read_field
from training.ladder.publish import PAGES
from training.train import train

ROOT = Path(__file__).parents[1]
PAGES_BESIDE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "training" / "README.md"]
DOCUMENTS = [*PAGES_BESIDE, *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path, language: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of a language: the number of the line before each, and its text."""
    text = path.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        if match[1] == language:
            yield text.count("\n", 0, match.start(2)), match[2]


def table(name: str) -> list[list[str]]:
    """The rows of the table under ``<!-- table: NAME -->``, header included, backticks gone."""
    for path in DOCUMENTS:
        _, marker, rest = path.read_text(encoding="utf-8").partition(f"<!-- table: {name} -->\n")
        if marker:
            lines = rest[: rest.find("\n\n")].splitlines()
            cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
            return [[cell.replace("`", "") for cell in row] for row in cells[:1] + cells[2:]]
    raise AssertionError(f"no document has a table called {name}")


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_python_blocks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for line, block in blocks(path, "python"):
        if not block.lstrip().startswith(">>>"):
            exec(compile("\n" * line + block, str(path), "exec"), names)
            continue
        example = doctest.DocTestParser().get_doctest(block, names, path.name, str(path), line)
        complaints: list[str] = []
        runner.run(example, out=complaints.append, clear_globs=False)
        assert not complaints, "".join(complaints)
        names = example.globs


def test_the_readme_lists_all_commands() -> None:
    commands = {}
    for room in ("agents", "thud_env", "training"):
        for path in sorted((ROOT / room).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if 'if __name__ == "__main__":' in text and path.parent.name != "integrations":
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                first, *_ = (ast.get_docstring(ast.parse(text)) or "").splitlines()
                commands[name.removesuffix(".__main__")] = first.replace("`", "")
    assert table("commands")[1:] == [[*command] for command in sorted(commands.items())]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_to_files(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8"))
    missing = [t for t in targets if "://" not in t and not (path.parent / t).exists()]
    assert not missing


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.*)$", FENCE.sub("", path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_to_headings(path: Path) -> None:
    links = re.findall(r"\]\(([^)#]*\.md)?#([^)]+)\)", path.read_text(encoding="utf-8"))
    assert all(anchor in anchors(path.parent / page if page else path) for page, anchor in links)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_commands_exist(path: Path) -> None:
    shell = "\n".join(block for _, block in blocks(path, "sh"))
    text = path.read_text(encoding="utf-8")
    targets = set(re.findall(r"^make +([a-z]+)", shell, re.MULTILINE))
    targets |= set(re.findall(r"`make ([a-z]+)`", text))
    known = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets <= known
    for module in set(re.findall(r"python -m ([a-z0-9_.]+)", text)):
        source = ROOT.joinpath(*module.split("."))
        assert source.with_suffix(".py").is_file() or (source / "__main__.py").is_file(), module


def test_agent_table() -> None:
    _, *rows = table("agents")
    for name, _, options in rows:
        if name == OWN:
            continue
        parameters = inspect.signature(agent_class(AGENTS[name])).parameters.values()
        known = [p for p in parameters if p.name not in ("seed", "path")]
        assert options == ", ".join(f"{option.name}={option.default}" for option in known)
    assert [name for name, *_ in rows] == [*AGENTS, OWN]


def test_agent_option_table() -> None:
    agents_of: dict[str, list[str]] = {}
    for name, where in AGENTS.items():
        for option in inspect.signature(agent_class(where)).parameters:
            if option not in ("seed", "path"):
                agents_of.setdefault(option, []).append(name)
    _, *rows = table("agent options")
    assert {option: of for option, of, _ in rows} == {
        option: ", ".join(names) for option, names in agents_of.items()
    }


def test_the_agent_of_your_own_plays_where_the_page_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    name, _, rest = page.partition("<!-- file: ")[2].partition(" -->\n```python\n")
    (tmp_path / name).write_text(rest.partition("```")[0], encoding="utf-8")
    texts = [text for _, text in blocks(ROOT / "docs" / "agents.md", "sh")]
    (commands,) = (text for text in texts if f"python:{name.removesuffix('.py')}:" in text)
    for command in commands.splitlines():
        _, *words = command.partition(" --games")[0].split()
        done = subprocess.run(
            [sys.executable, *words, "--games", "2"],
            cwd=tmp_path,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "python:glancing:Glancing" in done.stdout


@pytest.mark.slow
def test_the_network_of_your_own_learns_and_plays(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    text = page.partition("<!-- file: mlp.py -->\n```py\n")[2].partition("```")[0]
    (tmp_path / "mlp.py").write_text(text, encoding="utf-8")
    train, evaluate = re.findall(r"\.venv/bin/python mlp\.py (.*)", page)
    small = ["total_decisions=256", "num_games=8", "rollout_decisions=16", "network.channels=8"]
    off = ["anchor_games=0", "evaluation_games=0"]
    config = train.replace("configs/", f"{ROOT}/configs/")
    for words in (
        [*config.split(), *small, *off],
        [*evaluate.split(), "--games", "2", "--max-turns", "9"],
        [*evaluate.replace("policy:", "policy+mcts:").split(), "--games", "1", "--max-turns", "3"],
    ):
        done = subprocess.run(
            [sys.executable, "mlp.py", *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    manifest = json.loads(
        (tmp_path / "runs/mlp/checkpoints/latest/trolls/manifest.json").read_text()
    )
    assert manifest["network"]["kind"] == "mlp"


def test_the_agent_of_your_own_goes_on_from_its_state(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    text = page.partition("<!-- file: glancing.py -->\n```python\n")[2].partition("```")[0]
    (tmp_path / "glancing.py").write_text(text, encoding="utf-8")
    own = runpy.run_path(str(tmp_path / "glancing.py"))["Glancing"]
    one, other = own(seed=1), own(seed=2)
    rows = np.tile(Position.start().row, (8, 1))
    other.set_state(json.loads(json.dumps(one.get_state())))
    assert one.act_rows(rows).tolist() == other.act_rows(rows).tolist()


@pytest.mark.parametrize("rules", PAGES)
def test_the_strength_pages_are_of_their_fields(rules: str) -> None:
    page = (ROOT / "docs" / PAGES[rules]).read_text(encoding="utf-8")
    heading, _, rows = page.partition("\n| dwarfs \\ trolls ")[2].partition("\n")
    field = read_field(ROOT / "configs" / "ladder" / f"{rules}.yaml")
    assert field.rules == rules
    assert [cell.strip() for cell in heading.strip(" |").split("|")] == list(field.agents)
    matrix = rows.partition("\n\n")[0].splitlines()[1:]
    assert [line.split("|")[1].strip() for line in matrix] == list(field.agents)


def test_plane_tables() -> None:
    header, *rows = table("planes")
    assert header == ["plane", "name", "shows"]
    _, *rows_of_matches = table("match planes")
    assert [*rows, *rows_of_matches] == [
        [str(i), plane.name, plane.shows] for i, plane in enumerate(MATCH_PLANES)
    ]
    assert len(rows) == len(PLANES)


def test_action_table() -> None:
    def span(first: int, end: int) -> list[str]:
        index = str(first) if end - first == 1 else f"{first} .. {end - 1}"
        return [index, str(end - first)]

    _, *rows = table("actions")
    ends = ("CAPTURE", "CAPTURE_ALL", "DONE", "OFFER", "ACCEPT", "DECLINE", "NUM_ACTIONS")
    indices = [0, *(getattr(actions, name) for name in ends)]
    assert [[index, count] for index, _, count, _ in rows] == list(starmap(span, pairwise(indices)))
    for (index, decision, _, constant), name in zip(rows[1:], ends, strict=False):
        first_words = actions.describe_action(int(index.split()[0])).split()[0]
        assert decision.startswith(first_words)
        assert constant.strip("`").removesuffix(" + square") == name


# The troll on G7 goes one square, to G6, or with two trolls behind it two, to G5. Three
# dwarfs are beside the square it goes to.
DWARFS_BESIDE_G6 = "5/7/9/11/4ddd6/15"
DWARFS_BESIDE_G5 = "5/7/9/3ddd5/13/15"
LONE = "6T8/7R7/15"
IN_LINE = "6T8/6TR7/6T8"
SITUATIONS = {
    "one square, N = 1": (DWARFS_BESIDE_G6, LONE, "TG7-G6", ("F5", "G5", "H5")),
    "one square, N >= 2": (DWARFS_BESIDE_G6, IN_LINE, "TG7-G6", ("F5", "G5", "H5")),
    "farther": (DWARFS_BESIDE_G5, IN_LINE, "TG7-G5", ("F4", "G4", "H4")),
}
SIZES_MEANT = {
    "none or one": {0, 1},
    "any or none": {0, 1, 2, 3},
    "all or none": {0, 3},
    "one or more": {1, 2, 3},
    "all": {3},
}


def test_capture_table() -> None:
    (_, *rulesets), *rows = table("captures")
    assert {row[0] for row in rows} == set(SITUATIONS)
    for situation, *cells in rows:
        north, middle, move, dwarfs = SITUATIONS[situation]
        for ruleset, cell in zip(rulesets, cells, strict=True):
            text = f"{north}/{middle}/15/13/11/9/7/5 t - 0 0"
            turns = Position.from_text(text, ruleset).turns()
            assert {turn for turn in turns if turn.partition("x")[0] == move} == {
                "x".join((move, *captured))
                for size in SIZES_MEANT[cell]
                for captured in combinations(dwarfs, size)
            }


def test_trait_table() -> None:
    (_, *names), *rows = table("traits")
    assert names == list(RULESETS)
    for trait, *cells in rows:
        assert cells == [str(getattr(ruleset, trait)) for ruleset in RULESETS.values()]
    listed = {row[0] for row in rows}
    known = {field.name for field in dataclasses.fields(Ruleset)}
    assert known - listed == {
        "name",
        "title",
        "dwarfs",
        "trolls",
        "stone",
        "max_quiet_turns",
        "max_turns",
        "offer_after",
    }


def test_every_ruling_is_cited_where_the_code_follows_it() -> None:
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert "**Ruling.**" not in page, "a ruling has a name: **Ruling: a shove needs two trolls.**"
    rulings = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        names = re.findall(r"\*\*Ruling: ([^*]+)\.\*\*", section)
        rulings += [(section[0], " ".join(name.split())) for name in names]
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "thud_env").rglob("*.py")]
    cited = [
        ruling for text in sources for ruling in re.findall(r"Ruling, section (\d): (.+)\.", text)
    ]
    assert sorted(cited) == sorted(rulings)
    assert ("2", "a shove needs two trolls") in rulings


def test_the_map_of_training_has_all_folders_in_their_order() -> None:
    _, *folders = table("training folders")
    assert [name for name, _ in folders] == [
        room for room in ROOMS["training"] if (ROOT / "training" / room).is_dir()
    ]


def test_integrations_table() -> None:
    _, *rows = table("integrations")
    shared = {"__init__.py", "before_after.py"}
    files = {path.name for path in (ROOT / "training" / "integrations").glob("*.py")} - shared
    assert sorted(row[1] for row in rows) == sorted(files)
    recipe = (ROOT / "Makefile").read_text()
    assert all(f"training.integrations.{name.removesuffix('.py')}" in recipe for name in files)


def test_count_table() -> None:
    (_, *depths), *rows = table("counts")
    assert depths == [f"depth {depth}" for depth in range(1, len(depths) + 1)]
    for ruleset, *counts in rows:
        for depth, count in enumerate(counts[:2], start=1):
            assert f"{perft(Position.start(ruleset), depth):,}" == count


def test_opponents_table() -> None:
    _, *rows = table("opponents")
    assert [name for name, _ in rows] == [one.name for one in dataclasses.fields(OpponentConfig)]


@pytest.mark.parametrize("kind", ["battles", "pairs"])
def test_evaluation_table(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    players = ["--dwarfs", "greedy", "--trolls"] if kind == "battles" else ["--match", "greedy"]
    assert evaluate.main([*players, "random", "--games", "2", "--max-turns", "9", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    _, *rows = table("evaluation")
    listed = {key for keys, of, _ in rows if of in (kind, "all") for key in keys.split(", ")}
    assert listed == {key for key in told if not key.endswith("_95")}
    means = {
        key for key in told if key.startswith("mean_") and key != "mean_turns" and key[-3:] != "_95"
    }
    assert {key for key in told if key.endswith("_95")} == {f"{key}_95" for key in means}
    player = told["dwarfs" if kind == "battles" else "first_player"]
    assert [key for key in player if key.endswith("_95")] == ["win_rate_95"]
    words = " ".join(holds for _, _, holds in rows)
    for holder in ("dwarfs", "first_player", "each"):
        assert all(key in words for key in told.get(holder, ()) if not key.endswith("_95"))
    if kind == "pairs":
        of_battles = {key for keys, of, _ in rows if of == "battles" for key in keys.split(", ")}
        inner = {key for key in told["second_battles"] if not key.endswith("_95")}
        assert inner == of_battles - {"dwarfs_agent", "trolls_agent"} | {"games", "draws"}


def test_options_that_are_off() -> None:
    """Each is there, and changes nothing unless it is asked for."""
    _, *rows = table("options")
    config: Any = TrainConfig()
    for names, _ in rows:
        for name in names.split(", "):
            path, _, value = name.partition(": ")
            *parents, leaf = path.split(".")
            holder = config
            for parent in parents:
                holder = getattr(holder, parent)
            default = getattr(holder, leaf)
            assert default != value if value else not default


def test_pending_table() -> None:
    _, *rows = table("pending")
    troll_on_f6 = "5/7/9/11/5d7/5Td8/15/7R7/15/15/13/11/9/7/5"
    for pending, _, rulesets in rows:
        if ":" not in pending:
            continue
        able = rulesets.split(", ")
        text = f"{troll_on_f6} t {pending} 0 0"
        for name in able:
            assert Position.from_text(text, name).text == text
        for name in set(RULESETS) - set(able):
            with pytest.raises(ValueError, match="never asks"):
                Position.from_text(text, name)


def test_tables_of_speed_are_those_of_the_kept_figures() -> None:
    program = ROOT / "tests" / "benchmarks" / "publish.py"
    sys.path.insert(0, str(program.parent))
    try:
        publish = runpy.run_path(str(program))
    finally:
        sys.path.remove(str(program.parent))
    for path in publish["PAGES"]:
        page = path.read_text(encoding="utf-8")
        assert page.count("<!-- publish.py writes") >= 1
        assert publish["published"](page) == page


def test_the_first_screen_says_of_speed_what_the_table_says() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    ratios = {row[0]: float(row[4]) for row in rows if row[0] in ("AEC", "random battles")}
    first_screen = text.partition("| to | read |")[0]
    said = re.findall(r"([0-9]+) times", first_screen)
    assert [int(times) for times in said] == [round(ratios["AEC"]), round(ratios["random battles"])]


def test_every_metric_is_explained(tmp_path: Path) -> None:
    """Those of a run with all that runs can have, and those of a distillation."""
    console = Console(file=io.StringIO())
    met = OpponentConfig(frozen=0.25, scripted=0.25, players=("random",))
    run = dataclasses.replace(SMALL_RUN, value_battles=4, opponents=met)
    distilled = dataclasses.replace(DISTILLED, name="taught")
    folders = [train(run, console, tmp_path).path, distil(distilled, console, tmp_path)]
    found = set()
    for folder in folders:
        for line in (folder / "metrics.jsonl").read_text().splitlines():
            found |= set(json.loads(line)) - {"decisions"}
    general = (
        (r"^(dwarfs|trolls)/", "ROLE/"),
        (r"^battles/(hurls|shoves)$", "battles/STRIKE"),
        (r"in_training_against_(random|greedy|snapshots)$", "in_training_against_OPPONENT"),
        (r"margin_against_(random|greedy)$", "margin_against_ANCHOR"),
        (r"^speed/(environment|forward|learn)$", "speed/PART"),
    )
    for pattern, word in general:
        found = {re.sub(pattern, word, name) for name in found}
    _, *rows = table("metrics")
    assert found == {name for name, *_ in rows}
