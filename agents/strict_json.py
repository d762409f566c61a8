"""JSON from files and from other programs, which may be damaged."""

from __future__ import annotations

import json
from typing import Any

from thud_env.errors import ThudError


def parse_json(text: bytes | str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: if it is not JSON; a ``ThudError`` if it is nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ThudError("nested too deeply") from None
