"""The wheel and the source distribution carry thud_env and nothing else."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from itertools import chain
from pathlib import Path

import pytest

import thud_env

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


def test_source_distribution_carries_what_the_wheel_is_built_of(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {name for name in names if not name.startswith("thud_env/")} == {
        ".gitignore",  # the backend reads it
        "CHANGELOG.md",
        "CITATION.cff",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "pyproject.toml",
    }
    assert "thud_env/rules/play.py" in names


def test_wheel_carries_every_source_and_no_compiled_file(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if name.startswith("thud_env/")}
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "thud_env").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == sources


def test_wheel_names_its_version_license_and_extras(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = message_from_bytes(wheel.read(name))
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Version"] == thud_env.__version__
    extras = set(metadata.get_all("Provides-Extra", []))
    assert extras == {
        "agents",
        "train",
        "cluster",
        "export",
        "render",
        "web",
        "cuda",
        "integrations",
        "rllib",
    }
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_citation_says_what_the_package_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = (ROOT / "CITATION.cff").read_text().splitlines()
    assert f"version: {thud_env.__version__}" in said
    assert f"license: {project['license']}" in said
    keywords = said[said.index("keywords:") + 1 :]
    assert keywords == [f"  - {keyword}" for keyword in project["keywords"]]


def pins(path: Path) -> set[str]:
    """The normalised names that a file of constraints pins."""
    lines = path.read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    return {name.lower().replace("_", "-") for name in pinned}


def spelled_out(extras: dict[str, list[str]], name: str) -> list[str]:
    """What an extra requires, with that of our other extras that it names."""
    found = []
    for requirement in extras[name]:
        own = re.fullmatch(r"thud-env\[(\w+)\]", requirement)
        found += spelled_out(extras, own[1]) if own else [requirement]
    return found


def test_everything_declared_is_pinned() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    written = pyproject["project"]["optional-dependencies"]
    extras = {name: spelled_out(written, name) for name in written}
    core = [*pyproject["build-system"]["requires"], *pyproject["project"]["dependencies"], "pip"]
    groups = chain.from_iterable(pyproject["dependency-groups"].values())
    alone = ("integrations", "rllib", "cuda")  # each in a virtual environment of its own
    declared = {f"constraints-{name}.txt": [*core, *extras.pop(name), "pytest"] for name in alone}
    declared["constraints.txt"] = [*core, *chain.from_iterable(extras.values()), *groups]
    assert set(declared) == {path.name for path in ROOT.glob("constraints*.txt")}
    for path, requirements in declared.items():
        names = {
            re.split(r"[\[<>]", requirement)[0].lower().replace("_", "-")
            for requirement in requirements
            if isinstance(requirement, str)  # and not a group that includes another
        }
        assert names - pins(ROOT / path) == set()


def test_torch_is_the_same_in_every_file_of_pins() -> None:
    lines = chain.from_iterable(p.read_text().splitlines() for p in ROOT.glob("constraints*.txt"))
    torches = [line for line in lines if line.startswith("torch==")]
    assert len(torches) >= 3
    assert len(set(torches)) == 1
