"""YAML in which nothing is said twice: of two values of one key PyYAML silently takes the last."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml


class YamlError(ValueError):
    """A text or a file that is no YAML, in one line."""


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value} is there twice", problem_mark=key.start_mark
                )
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep)


def parse_yaml(text: str) -> Any:
    """What a YAML text says.

    Raises:
        YamlError: if it is none, or gives a key twice.
    """
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise YamlError(" ".join(str(error).split())) from None


def read_yaml(path: Path) -> Any:
    """What a YAML file says.

    Raises:
        YamlError: naming the file, if it cannot be read, is no YAML, or gives a key twice.
    """
    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise YamlError(f"{path} cannot be read: {error.strerror}") from None
    except (YamlError, UnicodeDecodeError) as error:
        raise YamlError(f"{path} is not YAML: {error}") from None
