"""The options of the commands that make a run."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from thud_env.command import Command, bounded
from training.errors import ConfigError
from training.keys_help import meanings


@dataclasses.dataclass(frozen=True)
class Options:
    """How a run is made, as opposed to what it is: these do not belong to its configuration."""

    resume: bool = False
    """Go on with the run of that name, if there is one."""
    minutes: float | None = None
    """Stop after so many minutes, once the update under way is done, and measured if that is
    due."""
    actors: int = 0
    """Processes of a Ray cluster that play the battles, instead of this process."""
    cluster: str | None = None
    """``HOST:PORT`` of the cluster's head, or ``auto`` for the one this machine belongs to; if not
    given, one of this machine alone is started."""

    def goes_on(self, run: Path) -> bool:
        """Whether the run in a folder goes on; if not, it begins anew."""
        return self.resume and run.exists()

    @property
    def of_cluster(self) -> str:
        """Those without which a run of a cluster cannot go on, as they are given."""
        actors = f" --actors {self.actors}" if self.actors else ""
        return f"{actors} --cluster {self.cluster}" if self.cluster else actors


DEFAULTS = Options()


def add_running_options(command: Command) -> None:
    """Add ``--resume`` and ``--minutes`` to a command line, with their docstrings as their help."""
    command.add_argument("--resume", action="store_true", help=_help("resume"))
    command.add_argument("--minutes", type=bounded(float, 0), metavar="N", help=_help("minutes"))


def add_options(command: Command) -> None:
    """Add every option to a command line, with its docstring as its help."""
    add_running_options(command)
    command.add_argument(
        "--actors", type=bounded(int, 1), default=0, metavar="N", help=_help("actors")
    )
    command.add_argument("--cluster", metavar="ADDRESS", help=_help("cluster"))


def _help(name: str) -> str:
    """The docstring of an option, in the form of the help of all others: no sentence."""
    meaning = meanings(Options)[name].removesuffix(".")
    word, _, rest = meaning.partition(" ")
    return f"{word.lower() if word.istitle() else word} {rest}"


def given_options(arguments: argparse.Namespace) -> Options:
    """The options among the arguments of a command line; defaults for those that it has not.

    Raises:
        ConfigError: naming the option and what would be right.
    """
    names = {field.name for field in dataclasses.fields(Options)}
    options = Options(**{name: value for name, value in vars(arguments).items() if name in names})
    if options.cluster and not options.actors:
        raise ConfigError("--cluster: it needs --actors N, how many processes of it are to play")
    return options
