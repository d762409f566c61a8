"""The weights that a run starts from."""

from __future__ import annotations

import dataclasses

from agents.networks.checkpoint import CheckpointError, load_policy
from agents.networks.folders import policy_folder
from agents.networks.network import PolicyNetwork
from thud_env.errors import ThudError
from thud_env.outcome import SIDES
from thud_env.rulesets import get_ruleset
from training.errors import ConfigError


def start_from(folder: str, networks: tuple[PolicyNetwork, PolicyNetwork], rules: str) -> None:
    """Give both networks the weights of a policy. Blocks that it lacks, and scores by afterstates,
    stay as they are, which changes nothing at the start.

    Args:
        folder: has a policy of each role, which may have learnt another game.
        networks: the dwarfs' and the trolls'.
        rules: the ruleset that they are to learn.

    Raises:
        ConfigError: if a policy is missing, damaged, or of another size.
    """
    pair = policy_folder(folder)
    if not pair.is_dir():
        raise ConfigError(
            f"start_from: there is no folder {folder}: a run's, one with dwarfs and trolls, or "
            "pretrained/RULES would be right"
        )
    for role, network in zip(SIDES, networks, strict=True):
        path = pair / role
        try:
            policy = load_policy(path)
        except CheckpointError as error:
            raise ConfigError(f"start_from: {error}") from None
        found = policy.network
        wanted = dataclasses.replace(
            network.config,
            blocks=min(found.config.blocks, network.config.blocks),
            afterstates=found.config.afterstates and network.config.afterstates,
        )
        if found.config != wanted:
            try:
                found.config.check_rules(get_ruleset(rules))
            except ThudError as error:
                raise ConfigError(
                    f"start_from: the network of {path}, trained for {policy.rules}, cannot learn "
                    f"{rules} ({error}): a policy for {rules} would be right"
                ) from None
            given = dataclasses.asdict(wanted) if type(wanted) is type(found.config) else {}
            theirs = dataclasses.asdict(found.config)
            if not found.config.afterstates:  # which may be added
                del theirs["afterstates"]
            words = " ".join(
                f"network.{key}={str(value).lower()}"  # as YAML writes true and false
                for key, value in theirs.items()
                if given.get(key) != value
            )
            raise ConfigError(
                f"start_from: the network of {path} is another: {words} would be right"
            )
        network.load_state_dict({**network.state_dict(), **found.state_dict()})


def crossing(folder: str, rules: str) -> list[str]:
    """A line for each role whose policy, in the folder of a ``start_from``, learnt another game."""
    pair = policy_folder(folder)
    trained = {role: load_policy(pair / role).rules for role in SIDES}
    return [
        f"the {role} begin with the weights of a policy for {theirs}"
        for role, theirs in trained.items()
        if get_ruleset(theirs) != get_ruleset(rules)
    ]
