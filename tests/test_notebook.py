import json
from pathlib import Path

import pytest
from run_notebook import run

TOUR = Path(__file__).parents[1] / "docs/tour.ipynb"


@pytest.fixture(scope="module")
def shown():
    return run(TOUR)


def test_the_tour_goes_from_the_first_position_to_a_heat_map_in_ten_cells(shown):
    assert len(shown) == 10
    assert "d - 0 0" in shown[0]["text/plain"]
    assert "image/svg+xml" in shown[0]
    assert shown[1]["text/plain"] == "['dE6-F6xF6']"
    assert "<iframe" in shown[4]["text/html"]
    assert "#d9480f" in shown[-1]["image/svg+xml"]  # squares to move from


def test_the_tour_keeps_what_its_cells_show(shown):
    notebook = json.loads(TOUR.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell, found in zip(cells, shown, strict=True):
        kept = {kind for output in cell["outputs"] for kind in output["data"]}
        assert kept == set(found) - {"text/html"}, (
            "python tests/run_notebook.py docs/tour.ipynb would bring it up to date"
        )


def test_the_tour_keeps_what_the_policy_says_today(shown):
    """Another pair judges the position otherwise."""
    notebook = json.loads(TOUR.read_text(encoding="utf-8"))
    kept = [
        output["data"]["text/plain"]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
    ]
    margins = [float("".join(text)) for text in kept if "".join(text).startswith("-")]
    said = [float(one["text/plain"]) for one in shown if one.get("text/plain", "").startswith("-")]
    assert len(said) == 1
    assert margins == pytest.approx(said, abs=0.01)
