"""The learner: its loss on examples worked out by hand, and that it learns what is paid."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from by_hand import decide, place
from untrained import drawn_network

from agents.networks.inputs import Inputs
from agents.networks.legal_policy import TABLES
from agents.networks.network import Judgement, Network
from thud_env import BatchedGame, Position
from training.config import PPOConfig
from training.learner.batches import Batch
from training.learner.ppo import (
    MEASURED,
    Learner,
    _parts,
    ppo_loss,
)
from training.process.clock import Clock
from training.process.precision import Precision
from training.process.ranks import Ranks

ONE_OR_NONE = decide(place("classic", "G6 H6", "H4", "t"), "H4-H5")
"""A lone troll beside two dwarfs: capture G6, capture H6, done."""


def inputs_of(positions: list[Position]) -> Inputs:
    return Inputs.of_rows(np.stack([position.row for position in positions]))


def a_network(seed: int = 1) -> Network:
    return drawn_network(seed, scale=0.2, channels=6, key_size=4)


def a_batch(
    positions: list[Position],
    actions: list[int],
    log_probs: list[float],
    advantages: list[float],
    returns: list[float] | None = None,
) -> Batch:
    return Batch(
        np.stack([position.row for position in positions]),
        np.array(actions, np.int32),
        np.array(log_probs, np.float32),
        np.array(advantages, np.float32),
        np.array(returns or [0.0] * len(actions), np.float32),
    )


def a_learner(network: Network, seed: int = 0, **settings: float) -> Learner:
    config = PPOConfig(**settings)  # type: ignore[arg-type]
    random = np.random.default_rng(seed)
    return Learner(network, config, Precision(bfloat16=False), random, Clock(), Ranks())


def judged(inputs: Inputs, log_probs: torch.Tensor, values: torch.Tensor) -> Judgement:
    return Judgement(log_probs, entropies_of(inputs, log_probs), values)


def entropies_of(inputs: Inputs, log_probs: torch.Tensor) -> torch.Tensor:
    parts = log_probs.split(np.diff(inputs.starts).tolist())
    return torch.stack([-(part.exp() * part).sum() for part in parts])


# -- finding decisions ---------------------------------------------------------------------


def test_decisions_are_found_in_their_own_game() -> None:
    """Every game lists the same decisions here: only the right stretch will do."""
    positions = [ONE_OR_NONE, Position.start(), ONE_OR_NONE, Position.start(), ONE_OR_NONE]
    inputs, rng = inputs_of(positions), np.random.default_rng(2)
    for _ in range(20):
        actions = np.array(
            [rng.choice(position.legal_actions()) for position in positions], np.int32
        )
        found = inputs.places_of(torch.from_numpy(actions))
        np.testing.assert_array_equal(inputs.decisions.numpy()[found], actions)
        np.testing.assert_array_equal(inputs.game.numpy()[found], np.arange(5))


def test_the_first_and_the_last_decision_of_a_game_are_found() -> None:
    inputs = inputs_of([Position.start(), ONE_OR_NONE])
    legal = [Position.start().legal_actions(), ONE_OR_NONE.legal_actions()]
    assert inputs.places_of(torch.tensor([legal[0][0], legal[1][0]])).tolist() == [0, 656]
    assert inputs.places_of(torch.tensor([legal[0][-1], legal[1][-1]])).tolist() == [655, 658]


# -- the loss ------------------------------------------------------------------------------

SHARES = torch.tensor([0.5, 0.3, 0.2])
"""The policy's probabilities of the three decisions, in each example."""


def loss_of(
    chosen: int,
    ratio: float,
    advantage: float,
    value: float = 0.0,
    target: float = 0.0,
    **settings: float,
) -> tuple[torch.Tensor, dict[str, float], torch.Tensor]:
    """The loss of one decision, what is reported of it, and the log-probabilities."""
    inputs = inputs_of([ONE_OR_NONE])
    log_probs = SHARES.log().requires_grad_()
    old = math.log(float(SHARES[chosen]) / ratio)
    action = int(ONE_OR_NONE.legal_actions()[chosen])
    batch = a_batch([ONE_OR_NONE], [action], [old], [advantage], [target])
    config = PPOConfig(**{"clip_coef": 0.2, "ent_coef": 0.0, "vf_coef": 0.0, **settings})  # type: ignore[arg-type]
    loss, measured = ppo_loss(
        config, inputs, judged(inputs, log_probs, torch.tensor([value])), batch
    )
    return loss, dict(zip(MEASURED, measured.tolist(), strict=True)), log_probs


@pytest.mark.parametrize(
    ("ratio", "advantage", "wanted", "moves"),
    [
        (1.1, 2.0, -1.1 * 2, True),  # within the range: the ratio itself
        (0.9, -2.0, 0.9 * 2, True),
        (1.5, 2.0, -1.2 * 2, False),  # better, and already much likelier: clipped
        (0.5, -2.0, 0.8 * 2, False),  # worse, and already much less likely: clipped
        (0.5, 2.0, -0.5 * 2, True),  # better, yet less likely: not clipped
        (1.5, -2.0, 1.5 * 2, True),  # worse, yet likelier: not clipped
    ],
)
def test_the_ratio_is_clipped_where_it_would_gain(
    ratio: float, advantage: float, wanted: float, moves: bool
) -> None:
    loss, measured, log_probs = loss_of(1, ratio, advantage)
    assert loss.item() == pytest.approx(wanted, rel=1e-5)
    assert measured["policy_loss"] == pytest.approx(wanted, rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, log_probs)
    wanted_gradient = [0.0, -ratio * advantage if moves else 0.0, 0.0]
    torch.testing.assert_close(gradient, torch.tensor(wanted_gradient), rtol=1e-5, atol=1e-6)


def test_the_clip_fraction_counts_both_directions() -> None:
    for ratio, counted in ((0.7, 1), (0.9, 0), (1.1, 0), (1.3, 1)):
        assert loss_of(0, ratio, 1.0)[1]["clip_fraction"] == counted


def test_the_kl_estimate_is_k3() -> None:
    for ratio in (0.5, 1.0, 2.0):
        _, measured, _ = loss_of(2, ratio, 1.0)
        assert measured["approx_kl"] == pytest.approx(ratio - 1 - math.log(ratio), abs=1e-6)


def test_the_value_loss_is_half_the_squared_error() -> None:
    loss, measured, _ = loss_of(0, 1.0, 0.0, value=0.25, target=-0.5, vf_coef=0.5)
    assert measured["value_loss"] == pytest.approx(0.5 * 0.75**2)
    assert loss.item() == pytest.approx(0.5 * 0.5 * 0.75**2)


def test_the_entropy_is_rewarded_as_a_share_of_the_uniform_one() -> None:
    share = -float((SHARES * SHARES.log()).sum()) / math.log(3)
    loss, measured, _ = loss_of(0, 1.0, 0.0, ent_coef=0.01)
    assert measured["entropy"] == pytest.approx(share)
    assert loss.item() == pytest.approx(-0.01 * share)


def test_the_loss_is_the_mean_over_decisions() -> None:
    one, _, _ = loss_of(0, 1.1, 3.0)
    other, _, _ = loss_of(2, 0.9, -1.0)
    legal = ONE_OR_NONE.legal_actions().tolist()
    old = [math.log(0.5 / 1.1), math.log(0.2 / 0.9)]
    batch = a_batch([ONE_OR_NONE] * 2, [legal[0], legal[2]], old, [3.0, -1.0])
    config = PPOConfig(clip_coef=0.2, ent_coef=0.0, vf_coef=0.0)
    log_probs = SHARES.log().repeat(2)
    both, _ = ppo_loss(
        config,
        inputs_of([ONE_OR_NONE] * 2),
        judged(inputs_of([ONE_OR_NONE] * 2), log_probs, torch.zeros(2)),
        batch,
    )
    assert both.item() == pytest.approx((one.item() + other.item()) / 2, rel=1e-5)


def shares(inputs: Inputs, log_probs: torch.Tensor) -> torch.Tensor:
    return inputs.entropy_shares(entropies_of(inputs, log_probs))


def test_the_entropy_share_is_1_for_uniform_and_0_without_a_choice() -> None:
    """However many decisions are legal."""
    forced = place("koom-valley", "A8", "H3", rock="P8")
    inputs = inputs_of([Position.start(), ONE_OR_NONE, Position.start("koom-valley"), forced])
    counts = np.diff(inputs.starts)
    uniform = -torch.from_numpy(np.repeat(np.log(counts), counts)).float()
    torch.testing.assert_close(shares(inputs, uniform), torch.ones(4))
    certain = torch.full((len(uniform),), -50.0)
    certain[torch.from_numpy(inputs.starts[:-1])] = 0.0
    torch.testing.assert_close(shares(inputs, certain), torch.zeros(4))


def test_a_game_with_one_legal_decision_has_no_entropy() -> None:
    alone = decide(place("classic", "H6", "H4 G4", "t"), "H4-H5")
    only = inputs_of([alone])
    one = torch.ones(1, dtype=torch.int64)
    single = Inputs(only.planes, only.decisions[:1], only.game[:1], one, only.afterstates[:1])
    assert shares(single, torch.zeros(1)).tolist() == [0.0]


# -- the learner ---------------------------------------------------------------------------


def capture_batch(network: Network, position: Position, copies: int = 30) -> Batch:
    """Each legal decision equally often; the first was good, the others were bad."""
    inputs = inputs_of([position])
    with torch.no_grad():
        log_probs = network(inputs).log_probs
    legal = position.legal_actions().tolist()
    good = [1.0 if number == 0 else -0.5 for number in range(len(legal))]
    return a_batch(
        [position] * len(legal) * copies,
        legal * copies,
        log_probs.tolist() * copies,
        good * copies,
        good * copies,
    )


def chances(network: Network, position: Position) -> torch.Tensor:
    inputs = inputs_of([position])
    with torch.no_grad():
        return network(inputs).log_probs.exp()


@pytest.mark.parametrize("sign", [1, -1])
def test_good_decisions_become_more_likely_and_bad_ones_less(sign: int) -> None:
    network = a_network()
    before = chances(network, ONE_OR_NONE)
    learner = a_learner(network, learning_rate=3e-3, update_epochs=4, minibatch_size=30)
    batch = capture_batch(network, ONE_OR_NONE)
    advantages = np.float32(sign) * batch.advantages
    learner.learn(dataclasses.replace(batch, advantages=advantages), progress=0.0)
    after = chances(network, ONE_OR_NONE)
    assert sign * (after[0] - before[0]) > 0.02


def test_values_approach_the_returns() -> None:
    network = a_network()
    learner = a_learner(
        network, learning_rate=1e-2, update_epochs=30, target_kl=1e9, minibatch_size=90
    )
    batch = capture_batch(network, ONE_OR_NONE)
    wanted = float(batch.returns.mean())
    learner.learn(batch, progress=0.0)
    inputs = inputs_of([ONE_OR_NONE])
    with torch.no_grad():
        values = network(inputs).values
    assert float(values[0]) == pytest.approx(wanted, abs=0.05)


def test_the_explained_variance_is_1_for_true_values_and_0_for_constant_ones() -> None:
    network = a_network()
    true = capture_batch(network, ONE_OR_NONE)
    for values, wanted in ((true.returns, 1.0), (np.float32(0.3), 0.0)):
        batch = dataclasses.replace(true, advantages=true.returns - values)
        metrics = a_learner(network).learn(batch, progress=0.0)
        assert metrics["explained_variance"] == pytest.approx(wanted, abs=1e-4)


def test_only_legal_decisions_have_a_gradient() -> None:
    """Through the biases, which each belong to some decisions only."""
    network, inputs = a_network(), inputs_of([ONE_OR_NONE])
    legal = ONE_OR_NONE.legal_actions().tolist()
    log_probs, _, values = network(inputs)
    batch = a_batch([ONE_OR_NONE], legal[:1], [log_probs[0].item()], [1.0])
    ppo_loss(PPOConfig(), inputs, judged(inputs, log_probs, values), batch)[0].backward()
    assert network.bias.grad is not None
    reached = set(torch.nonzero(network.bias.grad).flatten().tolist())
    assert reached == set(TABLES[2, legal].tolist())


def test_advantages_are_normalised_over_the_whole_rollout() -> None:
    """So that neither their scale nor their mean matters, however they fall into minibatches."""
    learnt = []
    for scale, shift in ((1.0, 0.0), (100.0, 7.0)):
        network = a_network()
        batch = capture_batch(network, ONE_OR_NONE, copies=7)
        changed = batch.advantages * np.float32(scale) + np.float32(shift)
        batch = dataclasses.replace(batch, advantages=changed)
        a_learner(network, minibatch_size=5).learn(batch, progress=0.0)
        learnt.append(chances(network, ONE_OR_NONE))
    torch.testing.assert_close(learnt[1], learnt[0], rtol=1e-3, atol=1e-4)


def test_a_minibatch_is_not_normalised_by_itself() -> None:
    """Decisions one at a time: normalised alone, every advantage would be 0."""
    network = a_network()
    before = chances(network, ONE_OR_NONE)
    batch = capture_batch(network, ONE_OR_NONE, copies=5)
    a_learner(network, minibatch_size=1, ent_coef=0.0, vf_coef=0.0).learn(batch, 0.0)
    assert chances(network, ONE_OR_NONE)[0] > before[0] + 0.005


def test_equal_advantages_teach_nothing() -> None:
    network = a_network()
    before = chances(network, ONE_OR_NONE)
    batch = capture_batch(network, ONE_OR_NONE)
    same = dataclasses.replace(batch, advantages=np.ones_like(batch.advantages))
    a_learner(network, ent_coef=0.0, vf_coef=0.0).learn(same, progress=0.0)
    torch.testing.assert_close(chances(network, ONE_OR_NONE), before, rtol=1e-4, atol=1e-5)


def steps_taken(network: Network, batch: Batch, monkeypatch, **settings: float) -> int:
    learner, taken = a_learner(network, **settings), []
    step = learner._optimiser.step
    monkeypatch.setattr(learner._optimiser, "step", lambda: taken.append(step()))
    learner.learn(batch, progress=0.0)
    return len(taken)


def test_every_decision_is_learnt_from_once_an_epoch(monkeypatch) -> None:
    network = a_network()
    batch = capture_batch(network, ONE_OR_NONE, copies=7)
    taken = steps_taken(
        network,
        batch,
        monkeypatch,
        update_epochs=3,
        minibatch_size=8,
        target_kl=1e9,
        learning_rate=1e-5,
    )
    assert taken == 3 * math.ceil(21 / 8)


def test_a_policy_that_has_moved_far_stops_learning(monkeypatch) -> None:
    network = a_network()
    batch = capture_batch(network, ONE_OR_NONE, copies=7)
    settings = {"update_epochs": 50, "minibatch_size": 21, "learning_rate": 3e-2}
    far = steps_taken(network, batch, monkeypatch, target_kl=0.01, **settings)
    free = steps_taken(a_network(), batch, monkeypatch, target_kl=1e9, **settings)
    assert free == 50
    assert 1 < far < 25


@pytest.mark.parametrize(("count", "number"), [(10, 3), (9, 3), (2, 3), (0, 2), (7, 1)])
def test_parts_are_as_even_as_can_be(count: int, number: int) -> None:
    wanted = np.array_split(np.arange(count), number)
    found = [np.arange(count)[part] for part in _parts(count, number)]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_batch_in_tensors_is_learnt_from_as_one_in_arrays() -> None:
    batch = capture_batch(a_network(), ONE_OR_NONE, copies=7)
    tensors = batch.to("cpu")
    for one, other in zip(vars(tensors).values(), vars(batch).values(), strict=True):
        np.testing.assert_array_equal(one.numpy(), other)
    inputs, network = inputs_of([ONE_OR_NONE] * len(batch.rows)), a_network()
    said = network(inputs)
    (loss, measured), (wanted, wanted_of) = (
        ppo_loss(PPOConfig(), inputs, said, one) for one in (tensors, batch)
    )
    assert torch.equal(loss, wanted)
    assert torch.equal(measured, wanted_of)


def test_only_the_last_epoch_says_how_far_a_policy_has_moved(monkeypatch) -> None:
    network = a_network()
    batch = capture_batch(network, ONE_OR_NONE, copies=7)
    learner = a_learner(network, update_epochs=5, minibatch_size=21, target_kl=0.03)
    kl = iter((0.0, 0.04, 0.08, 0.12, 0.16))
    step, place = learner._step, torch.tensor(MEASURED.index("approx_kl"))
    monkeypatch.setattr(
        learner, "_step", lambda *given: step(*given).index_fill(0, place, next(kl))
    )
    learner.learn(batch, progress=0.0)
    assert list(kl) == [0.08, 0.12, 0.16], "the second epoch was the last"


def test_the_last_eight_minibatches_say_how_far_a_policy_has_moved(monkeypatch) -> None:
    batch = capture_batch(a_network(), ONE_OR_NONE, copies=4)
    assert len(batch.actions) == 12
    learner = a_learner(a_network(), update_epochs=2, minibatch_size=1, target_kl=0.08)
    kl = iter([0.0] * 4 + [0.1] * 8 + [0.0] * 12)
    step, place = learner._step, torch.tensor(MEASURED.index("approx_kl"))
    monkeypatch.setattr(
        learner, "_step", lambda *given: step(*given).index_fill(0, place, next(kl))
    )
    learner.learn(batch, progress=0.0)
    assert len(list(kl)) == 12, "the first epoch was the last"


def test_the_learning_rate_falls_to_a_tenth() -> None:
    network = a_network()
    learner = a_learner(network, learning_rate=1e-3)
    batch = capture_batch(network, ONE_OR_NONE, copies=2)
    rates = [learner.learn(batch, progress)["learning_rate"] for progress in (0.0, 0.5, 1.0)]
    assert rates == pytest.approx([1e-3, 5.5e-4, 1e-4])


def test_gradients_are_scaled_down_to_their_norm(monkeypatch) -> None:
    network, norms = a_network(), []
    learner = a_learner(network, max_grad_norm=1e-3, update_epochs=1)
    step = learner._optimiser.step

    def measured() -> None:
        gradients = [p.grad.flatten() for p in network.parameters() if p.grad is not None]
        norms.append(float(torch.cat(gradients).norm()))
        step()

    monkeypatch.setattr(learner._optimiser, "step", measured)
    learner.learn(capture_batch(network, ONE_OR_NONE, copies=2), progress=0.0)
    assert norms == [pytest.approx(1e-3, rel=1e-2)]


def test_a_seed_repeats_what_is_learnt() -> None:
    games = BatchedGame(40, seed=3, observations=False, masks=None)
    actions = games.sample_actions()
    rng = np.random.default_rng(4)
    batch = Batch(
        games.rows,
        actions,
        np.full(40, -math.log(656), np.float32),
        *rng.normal(size=(2, 40)).astype(np.float32),
    )
    learnt = []
    for seed in (5, 5, 6):
        network = a_network()
        a_learner(network, seed=seed, minibatch_size=8).learn(batch, progress=0.0)
        learnt.append(torch.cat([p.detach().flatten() for p in network.parameters()]))
    assert torch.equal(learnt[0], learnt[1])
    assert not torch.equal(learnt[0], learnt[2])


def test_a_step_forgets_the_gradient_of_the_one_before() -> None:
    network = a_network()
    learner = a_learner(network, update_epochs=1, minibatch_size=90, max_grad_norm=1e12)
    for parameter in network.parameters():
        parameter.grad = torch.full_like(parameter, 1e9)
    learner.learn(capture_batch(network, ONE_OR_NONE), progress=0.0)
    given = [one.grad for one in network.parameters() if one.grad is not None]
    assert max(float(one.abs().max()) for one in given) < 1e6


def test_each_epoch_shuffles_anew(monkeypatch) -> None:
    network, seen = a_network(), []
    learner = a_learner(network, update_epochs=3, minibatch_size=7, target_kl=1e9)
    step = learner._step
    monkeypatch.setattr(
        learner, "_step", lambda some, share: seen.append(some.actions) or step(some, share)
    )
    batch = capture_batch(network, ONE_OR_NONE, copies=7)
    learner.learn(batch, progress=0.0)
    epochs = np.concatenate(seen).reshape(3, -1)
    assert len({epoch.tobytes() for epoch in epochs}) == 3
    assert (np.sort(epochs) == np.sort(batch.actions)).all()
