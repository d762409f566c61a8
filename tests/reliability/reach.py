"""What a module stands on: the sources that it imports, and that these import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from test_imports import ROOT, SOURCES

_BY_NAME = re.compile(r"([\w.]+):\w+")
"""A class as registries name it, which import its module when they are asked for it."""


CONFIGURATIONS = (
    *(f"thud_env/{name}.py" for name in ("arguments", "board", "command", "rules/row", "rulesets")),
    *(f"agents/{name}.py" for name in ("ranges", "registry", "specs", "strict_yaml")),
    "agents/networks/config.py",
    *(f"training/{name}.py" for name in ("config", "config_file", "config_values")),
)
"""What is run while a configuration is read: far less than it stands on, which has all players."""


def standing_on(*modules: str) -> tuple[str, ...]:
    """The paths, from the root, of modules and of all sources that they stand on.

    Raises:
        KeyError: if there is no such module.
    """
    found: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found[module] = str(SOURCES[module].relative_to(ROOT))
            waiting += _imports(module)
    return tuple(sorted(found.values()))


@cache
def _imports(module: str) -> tuple[str, ...]:
    return tuple(name for name in _names(module) if name in SOURCES)


def _names(module: str) -> Iterator[str]:
    """What a module imports, in functions too; what a package offers, from where it has it."""
    for node in ast.walk(ast.parse(SOURCES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module in SOURCES:
            for alias in node.names:
                member = f"{node.module}.{alias.name}"
                yield member if member in SOURCES else _home(node.module, alias.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (match[1] for match in [_BY_NAME.fullmatch(node.value)] if match)


def _home(module: str, name: str) -> str:
    """The module that ``name`` is from: if a package offers what a module of its own has, that."""
    if SOURCES[module].name != "__init__.py":
        return module
    homes = {
        alias.name: node.module
        for node in ast.parse(SOURCES[module].read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    return homes.get(name, module)
