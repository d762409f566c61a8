"""Agents of your own: ``python:MODULE:CLASS``, a class in a module that Python can import.

Commands that are run by ``python -m`` find modules in the folder where they are run.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

from agents.agent import Agent

KIND = "python"
"""What specs of such agents begin with."""


def own_class(path: str) -> type[Agent]:
    """The class that ``MODULE:CLASS`` names.

    Raises:
        ValueError: if there is no such module or class, or it is none that can play.
    """
    module_name, _, name = path.partition(":")
    if not (name.isidentifier() and all(map(str.isidentifier, module_name.split(".")))):
        raise ValueError(f"{path!r} names no class: MODULE:CLASS would be right")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # the module is somebody's own, and may raise anything
        if isinstance(error, ModuleNotFoundError) and _is_part(error.name, module_name):
            reason = f"not in {Path.cwd()}, nor anywhere else where Python looks"
            raise ValueError(f"there is no module {error.name!r}: {reason}") from None
        told = f"{type(error).__name__}: {error}"
        raise ValueError(f"module {module_name!r} cannot be imported: {told}") from error
    found = getattr(module, name, None)
    if not isinstance(found, type):
        raise ValueError(f"module {module_name!r} has no class {name!r}: {module.__file__}")
    if not issubclass(found, Agent):
        raise ValueError(f"{path} cannot play: class {name}(agents.Agent) would be right")
    if found.act_rows is Agent.act_rows:
        raise ValueError(f"{path} cannot play: it has no method act_rows(self, rows)")
    if "seed" not in inspect.signature(found).parameters:
        raise ValueError(f"{path} cannot be seeded: __init__(self, seed=0) would be right")
    return found


def _is_part(missing: str | None, module_name: str) -> bool:
    """Whether what was not found is the module itself or a package that it is in."""
    return missing is not None and f"{module_name}.".startswith(f"{missing}.")


def own_source(spec: str) -> Path | None:
    """The file with the class of a spec, or None if that is of an agent that comes along."""
    kind, _, rest = spec.partition(":")
    return Path(inspect.getfile(own_class(rest.partition(",")[0]))) if kind == KIND else None
