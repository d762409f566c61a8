"""The wheel carries thud_env and nothing else."""

import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    # The backend builds by itself, without isolation: nothing is downloaded.
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_wheel_carries_thud_env_only(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"thud_env"}


def test_wheel_carries_every_source_and_no_compiled_file(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if name.startswith("thud_env/")}
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "thud_env").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == sources


def test_wheel_names_its_license_and_extras(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = message_from_bytes(wheel.read(name))
    assert metadata["License-Expression"] == "Apache-2.0"
    assert set(metadata.get_all("Provides-Extra", [])) == {"train", "export", "render", "web"}
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_everything_declared_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pinned = {name.lower().replace("_", "-") for name in pins}
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = [
        *pyproject["build-system"]["requires"],
        *pyproject["project"]["dependencies"],
        *chain.from_iterable(pyproject["project"]["optional-dependencies"].values()),
        *chain.from_iterable(pyproject["dependency-groups"].values()),
    ]
    names = {
        requirement.partition(">")[0].lower()
        for requirement in declared
        if isinstance(requirement, str)  # and not a group that includes another
    }
    assert names - pinned == set()
    assert "pip" in pinned
