"""The state of a training on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from training.process.state import State, StateError, load_state, save_state


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    inner = State({"a": torch.arange(3)}, {"big": 2**120, "list": [1, None]})
    state = State.of_parts({"x": inner, "xy": State({"b": torch.zeros(2, 2)})})
    save_state(tmp_path, state)
    read = load_state(tmp_path)
    assert read.part("x").values == inner.values
    assert torch.equal(read.part("x").tensors["a"], inner.tensors["a"])
    assert list(read.part("xy").tensors) == ["b"]
    with pytest.raises(StateError, match="no part 'z'"):
        read.part("z")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "is not a thud-training-state"),
        ('{"format": "thud-training-state", "format_version": 9}', "version 9: 4 would be right"),
        ("{", "is not JSON"),
    ],
)
def test_a_file_that_is_not_a_state_is_refused(content: str, said: str, tmp_path: Path) -> None:
    save_state(tmp_path, State())
    (tmp_path / "state.json").write_text(content)
    with pytest.raises(StateError, match=said):
        load_state(tmp_path)


def test_a_part_holds_nothing_of_one_whose_name_begins_alike() -> None:
    parts = {
        "value": State({"weight": torch.ones(1)}),
        "value_2": State({"weight": torch.zeros(2)}),
    }
    assert State.of_parts(parts).part("value").tensors.keys() == {"weight"}
