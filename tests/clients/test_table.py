"""The table of clients in docs/environment.md agrees with the tests beside this one."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "environment.md"


def rows() -> list[list[str]]:
    """Client, needs, file."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- table: clients -->\n")
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_file_of_clients_is_in_the_table() -> None:
    named = {file.strip("`") for _, _, file in rows()}
    assert named == {path.name for path in HERE.glob("test_*.py")} - {Path(__file__).name}


def test_what_a_client_is_and_needs_stands_in_its_script() -> None:
    for client, needs, file in rows():
        script = (HERE / file.strip("`")).read_text(encoding="utf-8")
        spans = re.findall(r"`([^`]+)`", f"{client} {needs}")
        assert spans
        missing = [span for span in spans if span not in script]
        assert not missing, f"{client}: {missing} not in {file}"
        if "`" not in needs:
            assert needs == "as it is"
