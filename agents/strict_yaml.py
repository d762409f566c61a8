"""Reads YAML strictly: no duplicate keys, of which PyYAML silently takes the last, and no aliases,
with which a few lines can mean gigabytes.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from thud_env.errors import ThudError


class YamlError(ThudError):
    """A text or a file is not valid YAML; the message is one line."""


_LONGEST_REASON = 500
_DEEPEST = 50


class _Loader(yaml.SafeLoader):
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > _DEEPEST:  # PyYAML would take a second to reach Python's own limit
            raise yaml.YAMLError("it is nested too deeply")
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem=f"*{event.anchor} stands for something else: write that instead",
                problem_mark=event.start_mark,
            )
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (yaml.YAMLError, RecursionError):
            raise
        except Exception as error:  # of an invalid value, such as the 45th of May
            kind = node.tag.rpartition(":")[2]
            raise yaml.MarkedYAMLError(
                problem=f"this is no {kind}: {error}", problem_mark=node.start_mark
            ) from None

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
    """The content of a YAML text.

    Raises:
        YamlError: if it is not YAML, or gives a key twice.
    """
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise YamlError(" ".join(str(error).split())[:_LONGEST_REASON]) from None
    except RecursionError:  # of a caller that is nested deeply itself
        raise YamlError("it is nested too deeply") from None


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises:
        YamlError: naming the file, if it cannot be read, is not YAML, or gives a key twice.
    """
    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise YamlError(f"{path} cannot be read: {error.strerror}") from None
    except (YamlError, UnicodeDecodeError) as error:
        raise YamlError(f"{path} is not YAML: {error}") from None
    except ValueError as error:  # of a path that has a null byte
        raise YamlError(f"{str(path)!r} cannot be read: {error}") from None
