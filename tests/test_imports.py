"""Imports go one way: board, rules, position, environments, agents, training."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("thud_env", "agents", "training")
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
}

# What each part of thud_env, a module or a package, may import of thud_env beside its errors.
# Parts that are not listed are at the end of the line and may import any of them.
GRANTED: dict[str, set[str]] = {
    "errors": set(),
    "arguments": set(),
    "jit": {"board"},
    "board": {"arguments"},
    "actions": {"arguments", "board"},
    "ruleset_fields": {"arguments", "board"},
    "rulesets": {"arguments", "board", "ruleset_fields"},
    "rules": {"actions", "arguments", "board", "jit", "rulesets"},
    "views": {"actions", "board", "jit", "rules"},
    "notation": {"actions", "arguments", "board", "rules"},
    "render": {"actions", "arguments", "board", "notation", "rules", "rulesets"},
    "outcome": {"arguments", "rules"},
    "position": {
        "actions",
        "arguments",
        "board",
        "notation",
        "outcome",
        "render",
        "rules",
        "rulesets",
        "views",
    },
    "symmetry": {"actions", "arguments", "board", "position", "rules", "rulesets"},
    "record": {
        "arguments",
        "board",
        "notation",
        "outcome",
        "position",
        "render",
        "rules",
        "rulesets",
    },
    "batch": {"actions", "arguments", "jit", "position", "rules", "rulesets", "views"},
    "starts": {"arguments", "position", "rules", "rulesets"},
    "command": {"rulesets"},
    "perft": {"arguments", "command", "position", "rules", "rulesets"},
}
# The rooms of the applications, a module or a folder each, from the bottom up: each may import
# those that stand before it. Commands stand in the last line.
ROOMS = {
    "agents": [
        "system",
        "durable",
        "strict_yaml",
        "strict_json",
        "ranges",
        "answers",
        "words",
        "agent",
        "opinions",
        "asking",
        "specs",
        "registry",
        "threads",
        "search",
        "networks",
        "planning",
        "simple",
        "policy",
        "alphabeta",
        "mcts",
        "leaf_judge",
        "policy_mcts",
        "champion",
        "findings",
        "analysis",
        "terminal",
        "web",
        "play",
        "analyse",
        "replay",
        "review",
        "bench",
        "export",
    ],
    "training": [
        "svg",
        "pages",
        "errors",
        "config_values",
        "config",
        "config_file",
        "usage",
        "keys_help",
        "commands",
        "process",
        "arena",
        "selfplay",
        "learner",
        "runs",
        "trainer",
        "options",
        "checks",
        "launch",
        "ladder",
        "balance",
        "distill",
        "integrations",
        "fit_evaluation",
        "tune_search",
        "train",
        "exploit",
        "evaluate",
        "bench",
        "curves",
        "average",
    ],
}
CORE_DEPENDENCIES = {"numpy", "numba", "gymnasium", "pettingzoo"}
BROUGHT_BY_CORE = {"llvmlite"}  # part of numba, released with it
WITHOUT_TORCH = ("evaluate", "ladder", "balance", "curves", "fit_evaluation", "tune_search")
"""Commands in which searches play, or nothing does."""
RULE_PREDICATES = {"piece_moves", "can_trample", "line_length", "empty_run", "count_adjacent"}
"""What decides how pieces move and capture, in ``thud_env/rules/moves.py``."""


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(module: str, *, everywhere: bool) -> Iterator[str]:
    """What a module imports: the modules' full names, of a package's members too.

    Args:
        module: its full name.
        everywhere: also inside functions and under ``if TYPE_CHECKING``.
    """
    tree = ast.parse(SOURCES[module].read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree)) if everywhere else list(run_at_import(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative imports hide which layer is meant"
            assert node.module is not None
            members = [f"{node.module}.{alias.name}" for alias in node.names]
            submodules = [member for member in members if member in SOURCES]
            yield from submodules or [node.module]


def run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes whose code runs when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from run_at_import(child)


def loaded_with(module: str) -> set[str]:
    """All that is loaded when a module is imported."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name and name not in found:
            found.add(name)
            waiting.append(name.rpartition(".")[0])
            waiting += imports(name, everywhere=False) if name in SOURCES else []
    return found


def in_package(package: str) -> list[str]:
    return [module for module in SOURCES if module.split(".")[0] == package]


@pytest.mark.parametrize("module", in_package("thud_env"))
def test_thud_env_never_imports_its_applications(module: str) -> None:
    tops = {name.split(".")[0] for name in imports(module, everywhere=True)}
    assert not tops & {"agents", "training", "torch", "tests"}


@pytest.mark.parametrize("module", in_package("thud_env"))
def test_importing_thud_env_needs_the_core_dependencies_only(module: str) -> None:
    tops = {name.split(".")[0] for name in imports(module, everywhere=False)}
    assert tops - sys.stdlib_module_names - {"thud_env"} <= CORE_DEPENDENCIES | BROUGHT_BY_CORE


def test_core_dependencies_are_those_that_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {line.split(">")[0] for line in project["dependencies"]} == CORE_DEPENDENCIES


@pytest.mark.parametrize("module", in_package("agents"))
def test_agents_never_import_training(module: str) -> None:
    tops = {name.split(".")[0] for name in imports(module, everywhere=True)}
    assert "training" not in tops


@pytest.mark.parametrize("command", WITHOUT_TORCH)
def test_where_no_network_plays_torch_is_not_waited_for(command: str) -> None:
    main = f"training.{command}.__main__"
    loaded = loaded_with(main if main in SOURCES else f"training.{command}")
    assert {"agents.registry", "thud_env.rules.row"} <= loaded
    assert "torch" not in loaded


@pytest.mark.parametrize(
    "module", [name for name in in_package("thud_env") if part_of(name) in GRANTED]
)
def test_layers(module: str) -> None:
    part = part_of(module)
    wanted = {part_of(name) for name in imports(module, everywhere=True) if "thud_env" in name}
    assert wanted <= GRANTED[part] | {part, "errors"}


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_import_downwards(package: str) -> None:
    order = ROOMS[package]
    for module in in_package(package):
        if module == package:
            continue
        allowed = set(order[: 1 + order.index(part_of(module))])
        wanted = {
            # The package itself offers what stands in its registry.
            "registry" if name == "agents" else part_of(name)
            for name in imports(module, everywhere=True)
            if name.split(".")[0] == package
        }
        assert wanted <= allowed, f"{module} looks upwards: {wanted - allowed}"


def test_no_module_imports_itself_by_way_of_others() -> None:
    TopologicalSorter(
        {
            module: {name for name in imports(module, everywhere=False) if name in SOURCES}
            for module in SOURCES
        }
    ).prepare()


@pytest.mark.parametrize("module", [name for name in in_package("thud_env") if ".envs" in name])
def test_adapters_hold_no_rules(module: str) -> None:
    # An adapter asks what is legal and plays it; only the rules know how pieces move.
    tree = ast.parse(SOURCES[module].read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & RULE_PREDICATES
    parts = {part_of(name) for name in imports(module, everywhere=True) if "thud_env" in name}
    assert "board" not in parts


@pytest.mark.parametrize("module", SOURCES)
def test_importing_prints_nothing(module: str) -> None:
    tree = ast.parse(SOURCES[module].read_text(encoding="utf-8"))
    main_guards = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
    ]
    guarded = {inner for guard in main_guards for inner in ast.walk(guard)}
    calls = {node for node in run_at_import(tree) if isinstance(node, ast.Call)} - guarded
    assert not [call for call in calls if ast.unparse(call.func) == "print"]


@pytest.mark.parametrize("module", sorted(SOURCES.keys() - {"thud_env.errors"}))
def test_what_is_refused_on_purpose_is_a_thud_error(module: str) -> None:
    """Commands take any other ``ValueError`` for a bug, which NumPy's and Python's own are."""
    text = SOURCES[module].read_text(encoding="utf-8")
    assert not re.findall(r"(?:raise|return) ValueError\b|^class \w+\(ValueError\)", text, re.M)
