"""Where policies lie: the paths that specs and commands name. Imports no PyTorch."""

from __future__ import annotations

from pathlib import Path

from thud_env.rulesets import Ruleset

MODEL, MANIFEST = "model.safetensors", "manifest.json"
"""The files of a policy."""
LATEST = Path("checkpoints", "latest")
"""In a run's folder: the newest checkpoint."""
PRETRAINED = Path(__file__).parents[1] / "pretrained"
"""Policies that come with the checkout, a folder for each ruleset that has some."""
CHAMPION = "champion"
"""The path that means the pair that the checkout has for the game that is played."""


def shipped() -> list[Path]:
    """The folders of the policies that come with the checkout, by name."""
    return sorted(path for path in PRETRAINED.iterdir() if path.is_dir())


def policy_folder(path: str | Path) -> Path:
    """The folder of policies that a path means now; a run that goes on moves its links.

    Args:
        path: that folder; or ``pretrained/RULES``, which is found from anywhere, unless there is
            such a folder where the program runs; or a run's folder, for its latest checkpoint.
    """
    path = Path(path)
    if path.parts[:1] == (PRETRAINED.name,) and not path.exists():
        return PRETRAINED.parent / path
    latest = path / LATEST
    return linked(latest if latest.is_dir() else path)


def linked(path: Path) -> Path:
    """The folder that a link leads to now, so that what is read from it belongs together; any other
    path is itself.
    """
    return path.parent / path.readlink() if path.is_symlink() else path


def is_champion(path: str | Path) -> bool:
    """Whether a path means the pair in the checkout; the working folder may have one of that
    name.
    """
    return str(path) == CHAMPION and not Path(path).exists()


def pair_folder(path: str | Path, rules: Ruleset) -> Path:
    """The folder with the policies that ``pairs.pair_at(path)`` plays a ruleset with."""
    return PRETRAINED / rules.name if is_champion(path) else policy_folder(path)
