"""The specs of agents, taken apart: ``NAME:WORD,WORD``, where a word is ``KEY=VALUE`` or a path."""

from __future__ import annotations

from typing import NamedTuple


class Spec(NamedTuple):
    """A spec's parts, not checked: ``registry.make`` does that."""

    name: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Spec:
        """The parts of a text."""
        name, _, rest = text.partition(":")
        return cls(name, tuple(rest.split(",")) if rest else ())

    def __str__(self) -> str:
        return f"{self.name}:{','.join(self.words)}" if self.words else self.name

    def value(self, key: str) -> str | None:
        """What an option is set to, as text; None if the spec does not have it."""
        values = [word.partition("=")[2] for word in self.words if _is_of(key, word)]
        return values[0] if values else None

    def without(self, *keys: str) -> Spec:
        """The spec less some options."""
        kept = (word for word in self.words if not any(_is_of(key, word) for key in keys))
        return self._replace(words=tuple(kept))

    def given(self, key: str, value: object) -> Spec:
        """The spec with an option set, after the others."""
        return self._replace(words=(*self.without(key).words, f"{key}={value}"))


def _is_of(key: str, word: str) -> bool:
    return word.startswith(f"{key}=")
