"""Self-play: a rollout stores the states, decisions and rewards of its battles."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from opposed import against, mirror_play
from small_run import SMALL_RUN

from agents.networks.config import NetworkConfig
from agents.networks.inputs import Inputs
from agents.networks.network import Network
from thud_env import BatchedGame, Position
from thud_env.outcome import SIDES
from thud_env.rules.row import TO_MOVE
from thud_env.rulesets import RULESETS
from training.arena.openings import read_openings
from training.arena.strikes import strikes_of
from training.config import PPOConfig, TrainConfig
from training.errors import ConfigError
from training.learner.advantage import gae
from training.learner.batches import batches_of
from training.process.ranks import Ranks
from training.process.roles import Roles
from training.process.state import StateError
from training.selfplay.battle_metrics import battle_metrics, strikes_in
from training.selfplay.battles import OngoingBattles
from training.selfplay.host_play import HostCollector
from training.selfplay.rollout import Rollout, joined

GAMES, STEPS, TURNS = 6, 30, 16


def two_networks() -> tuple[Network, Network]:
    torch.manual_seed(1)
    networks = tuple(Network(NetworkConfig(channels=4, blocks=1, key_size=2)) for _ in SIDES)
    with torch.no_grad():
        for network in networks:
            for parameter in network.parameters():
                parameter.copy_(torch.randn_like(parameter) * 0.3)
    return networks  # type: ignore[return-value]


def self_play(pool: ThreadPoolExecutor, seed: int = 2, rules: str = "classic") -> HostCollector:
    games = BatchedGame(GAMES, rules, observations=False, masks=None, max_turns=TURNS)
    battles = OngoingBattles(games, mirror_play(GAMES), np.random.default_rng(seed))
    return HostCollector(battles, Roles(two_networks(), threads=pool))


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as workers:
        yield workers


@pytest.mark.parametrize("rules", ["classic", "koom-valley"])
def test_strikes_are_counted_battle_by_battle(pool: ThreadPoolExecutor, rules: str) -> None:
    rollout = self_play(pool, rules=rules).collect(4 * STEPS)
    ruleset = RULESETS[rules]
    assert len(rollout.final_games) > GAMES, "battles end and begin anew"
    wanted = np.zeros((2, GAMES), dtype=np.int64)
    for game in range(GAMES):
        ends = iter(rollout.final_rows[rollout.final_games == game])
        rows = [*rollout.rows[:, game], rollout.last_rows[game]]
        for t, action in enumerate(rollout.actions[:, game]):
            after = next(ends) if rollout.ended[t, game] else rows[t + 1]
            step = rows[t][np.newaxis], action[np.newaxis], after[np.newaxis]
            wanted[:, game] += strikes_of(*step, ruleset)[:, 0]
    assert wanted.sum() > 0
    np.testing.assert_array_equal(strikes_in(rollout, ruleset), wanted)


def test_battles_begin_where_they_are_told_to(pool: ThreadPoolExecutor) -> None:
    config = dataclasses.replace(SMALL_RUN, starts="book", max_quiet_turns=60)
    met = mirror_play(GAMES)
    battles = OngoingBattles.of(config, met, np.random.SeedSequence(3))
    play = HostCollector(battles, Roles(two_networks(), threads=pool))
    book = {Position(row) for row in read_openings("classic").rows(500, **config.limits)}
    firsts = [Position(row) for row in battles.games.rows]
    played = play.collect(2 * STEPS)
    again = [Position(played.rows[t + 1, game]) for t, game in np.argwhere(played.ended[:-1])]
    assert len(again) > GAMES
    assert {*firsts, *again} <= book
    assert len({*firsts, *again}) > GAMES, "another start is drawn for each"


def test_a_book_that_is_over_by_the_limits_is_refused() -> None:
    config = dataclasses.replace(SMALL_RUN, starts="book", max_turns=6)
    with pytest.raises(ConfigError, match="starts: start 3 of the book is over by these limits"):
        OngoingBattles.of(config, mirror_play(GAMES), np.random.SeedSequence(3))


@pytest.fixture(scope="module")
def rollout(pool: ThreadPoolExecutor) -> Rollout:
    return self_play(pool).collect(STEPS)


def test_rollouts_side_by_side_are_those_of_their_battles(pool: ThreadPoolExecutor) -> None:
    parts = [self_play(pool, seed).collect(60) for seed in (2, 3, 4)]
    both = joined(parts)
    assert both.actions.shape == (60, 3 * GAMES)
    before = ended = 0
    for part in parts:
        games = slice(before, before + GAMES)
        for field in dataclasses.fields(Rollout):
            seen, wanted = getattr(both, field.name), getattr(part, field.name)
            if field.name.startswith("final_"):
                seen = seen[ended : ended + len(part.final_games)]
                wanted = wanted + before if field.name == "final_games" else wanted
            elif field.name in ("opponent_sides", "last_rows", "last_movers", "last_values"):
                seen = seen[games]
            else:
                seen = seen[:, games]
            np.testing.assert_array_equal(seen, wanted)
            assert seen.dtype == wanted.dtype
        before += GAMES
        ended += len(part.final_games)
    assert ended == len(both.final_games) > 0


def positions(rollout: Rollout, game: int) -> list[Position]:
    return [Position(row) for row in rollout.rows[:, game]]


def test_the_mover_is_the_side_that_decides_in_the_stored_state(rollout: Rollout) -> None:
    for game in range(GAMES):
        sides = [SIDES.index(position.to_move) for position in positions(rollout, game)]
        assert rollout.movers[:, game].tolist() == sides
    again = rollout.movers[1:] == rollout.movers[:-1]
    assert (again & ~rollout.ended[:-1]).any(), "some side must have decided twice in a row"


def test_each_state_follows_from_the_one_before(rollout: Rollout) -> None:
    start = Position.start("classic", max_turns=TURNS)
    for game in range(GAMES):
        states = positions(rollout, game)
        assert states[0] == start
        for t in range(STEPS - 1):
            after = states[t].apply(int(rollout.actions[t, game]))
            assert rollout.ended[t, game] == (after.outcome is not None)
            assert states[t + 1] == (start if after.outcome is not None else after)
            assert rollout.rewards[t, game] == np.float32((after.margin - states[t].margin) / 32)


def test_stored_probabilities_and_values_are_the_movers(rollout: Rollout) -> None:
    for side, network in enumerate(two_networks()):
        mine = rollout.movers == side
        inputs = Inputs.of_rows(rollout.rows[mine])
        with torch.no_grad():
            log_probs, _, values = network(inputs)
        decided = log_probs.numpy()[inputs.places_of(torch.from_numpy(rollout.actions[mine]))]
        np.testing.assert_allclose(rollout.log_probs[mine], decided, atol=1e-4)
        np.testing.assert_allclose(rollout.values[mine], values.numpy(), atol=1e-4)
        assert decided.std() > 0.1
        assert values.std() > 1e-3


def test_a_battles_rewards_sum_to_its_margin(rollout: Rollout) -> None:
    margins, turns = [], []
    paid = np.zeros(GAMES)
    for t in range(STEPS):
        paid += rollout.rewards[t]
        for game in np.flatnonzero(rollout.ended[t]):
            last = Position(rollout.rows[t, game]).apply(int(rollout.actions[t, game]))
            assert paid[game] * 32 == pytest.approx(last.margin)
            margins.append(paid[game] * 32)
            turns.append(last.turn_number)
            paid[game] = 0
    assert len(margins) >= GAMES
    assert len(set(margins)) > 1
    np.testing.assert_allclose(rollout.final_margins, margins)
    np.testing.assert_array_equal(rollout.final_turns, turns)


def test_a_state_with_a_damaged_row_is_refused_and_changes_nothing(
    pool: ThreadPoolExecutor,
) -> None:
    players = self_play(pool)
    before = players.battles.games.rows.copy()
    state = players.battles.state()
    state.tensors["rows"][3, TO_MOVE] = 2
    with pytest.raises(StateError, match=r"battles cannot go on: row 3 is damaged: .*TO_MOVE"):
        players.battles.restore(state)
    np.testing.assert_array_equal(players.battles.games.rows, before)


def test_a_state_with_a_frame_that_is_none_is_refused(pool: ThreadPoolExecutor) -> None:
    players = self_play(pool)
    state = players.battles.state()
    state.tensors["frames"][3] = 99
    few = dataclasses.replace(state, tensors={**state.tensors, "frames": torch.zeros(1)})
    for damaged in (state, few):
        with pytest.raises(StateError, match=r"battles cannot go on: frames must be among \(0,\)"):
            players.battles.restore(damaged)


def test_the_next_rollout_goes_on_where_the_last_one_stopped(pool: ThreadPoolExecutor) -> None:
    players = self_play(pool)
    first = players.collect(7)
    second = players.collect(3)
    start = Position.start("classic", max_turns=TURNS)
    for game in range(GAMES):
        after = positions(first, game)[-1].apply(int(first.actions[-1, game]))
        assert positions(second, game)[0] == (start if after.outcome is not None else after)
    np.testing.assert_array_equal(first.last_movers, second.movers[0])
    np.testing.assert_allclose(first.last_values, second.values[0], atol=1e-5)


def test_a_seed_repeats_a_rollout_and_another_does_not(
    pool: ThreadPoolExecutor, rollout: Rollout
) -> None:
    again, other = (self_play(pool, seed).collect(STEPS) for seed in (2, 3))
    for name in ("rows", "movers", "actions", "log_probs", "values", "rewards", "last_values"):
        np.testing.assert_array_equal(getattr(again, name), getattr(rollout, name), err_msg=name)
    assert not np.array_equal(other.actions, rollout.actions)


def test_games_decide_independently_of_each_other(rollout: Rollout) -> None:
    assert len({actions.tobytes() for actions in rollout.actions.T}) == GAMES


# -- one role's share ----------------------------------------------------------------------


def with_lambda(lam: float) -> TrainConfig:
    return dataclasses.replace(SMALL_RUN, ppo=PPOConfig(gae_lambda=lam))


@pytest.mark.parametrize("side", [0, 1])
def test_a_role_batch_is_the_decisions_of_that_role(rollout: Rollout, side: int) -> None:
    batch = batches_of(rollout, with_lambda(0.9))[side]
    advantages, _ = gae(rollout, 1.0, 0.9)
    wanted = [
        (
            rollout.rows[t, game].tobytes(),
            rollout.actions[t, game],
            rollout.log_probs[t, game],
            advantages[t, game],
            advantages[t, game] + rollout.values[t, game],
        )
        for t in range(STEPS)
        for game in range(GAMES)
        if rollout.movers[t, game] == side
    ]
    found = zip(
        (row.tobytes() for row in batch.rows),
        batch.actions,
        batch.log_probs,
        batch.advantages,
        batch.returns,
        strict=True,
    )
    assert list(found) == wanted


@pytest.mark.parametrize("side", [0, 1])
def test_returns_are_the_rewards_still_to_come(rollout: Rollout, side: int) -> None:
    """With lambda 1, in the battles that end within the rollout."""
    batch = batches_of(rollout, with_lambda(1.0))[side]
    rest = np.full((STEPS, GAMES), np.nan)
    for game in range(GAMES):
        running = np.nan
        for t in reversed(range(STEPS)):
            running = 0.0 if rollout.ended[t, game] else running
            running += float(rollout.rewards[t, game])
            rest[t, game] = running if side == 0 else -running
    wanted = rest[rollout.movers == side]
    known = ~np.isnan(wanted)
    assert known.sum() > 20
    np.testing.assert_allclose(batch.returns[known], wanted[known], atol=1e-5)


# -- against an agent ----------------------------------------------------------------------


def test_an_agent_may_play_a_side_of_each_battle(pool: ThreadPoolExecutor) -> None:
    games = BatchedGame(2 * GAMES, "classic", observations=False, masks=None, max_turns=TURNS)
    battles = OngoingBattles(games, against("greedy", 2 * GAMES), np.random.default_rng(2))
    play = HostCollector(battles, Roles(two_networks(), threads=pool))
    rollout = play.collect(STEPS)
    agents_own = rollout.movers == rollout.opponent_sides
    assert rollout.opponent_sides.tolist() == [1, 0] * GAMES
    assert agents_own.any(axis=0).all()
    assert (rollout.log_probs[agents_own] == 0).all()
    assert (rollout.values[agents_own] == 0).all()
    assert (rollout.log_probs[~agents_own] < 0).any()
    taken = 0
    for t, game in zip(*np.nonzero(agents_own), strict=True):
        position = Position(rollout.rows[t, game])
        assert rollout.actions[t, game] in position.legal_actions()
        taken += game < GAMES and rollout.rewards[t, game] < 0
    assert taken > 0, "greedy trolls capture"


def test_every_start_of_a_book_is_drawn_for_each_battle_by_itself() -> None:
    starts = read_openings("classic").rows(4)
    games = BatchedGame(64, observations=False, masks=None)
    battles = OngoingBattles(games, mirror_play(64), np.random.default_rng(1), starts=starts)
    for _ in range(2):
        drawn = {row.tobytes() for row in games.rows}
        assert drawn == {row.tobytes() for row in starts}
        games.reset()
        battles.finish(np.arange(64), games.rows.copy())


def test_strikes_are_those_of_mirror_play_alone() -> None:
    with ThreadPoolExecutor(2) as pool:
        mirror = self_play(pool).collect(2 * STEPS)
        games = BatchedGame(GAMES, observations=False, masks=None, max_turns=TURNS)
        battles = OngoingBattles(games, against("greedy", GAMES), np.random.default_rng(2))
        met = HostCollector(battles, Roles(two_networks(), threads=pool)).collect(2 * STEPS)
    alone, both = (
        battle_metrics(one, RULESETS["classic"], Ranks(), ())
        for one in (mirror, joined([mirror, met]))
    )
    assert strikes_in(met, RULESETS["classic"]).sum() > 0
    assert both["battles/finished"] == alone["battles/finished"] > 0
    for strike in ("hurls", "shoves"):
        assert both[f"battles/{strike}"] == alone[f"battles/{strike}"]


def test_every_battle_has_a_draw_of_its_own_whoever_decides(monkeypatch) -> None:
    torch.manual_seed(1)
    config = NetworkConfig(channels=4, blocks=1, key_size=2)
    games = BatchedGame(8, observations=False, masks=None, max_turns=12)
    battles = OngoingBattles(games, against("greedy", 8), np.random.default_rng(1), False)
    act, met = battles.opponents.act, []

    def noted(side, numbers, rows, uniforms):
        met.append((numbers, uniforms))
        return act(side, numbers, rows, uniforms)

    monkeypatch.setattr(battles.opponents, "act", noted)
    again = np.random.default_rng()
    again.bit_generator.state = battles.random.bit_generator.state
    with ThreadPoolExecutor(2) as threads:
        roles = Roles((Network(config), Network(config)), threads=threads)
        HostCollector(battles, roles).collect(1)
    drawn = again.random(8)
    assert 0 < sum(len(numbers) for numbers, _ in met) < 8
    for numbers, uniforms in met:
        np.testing.assert_array_equal(uniforms, drawn[numbers])
