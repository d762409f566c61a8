"""The network of one role: log-probabilities over legal decisions, values, draws."""

from __future__ import annotations

import copy
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import decide, place
from untrained import drawn_network

from agents.networks.attacks import attack_planes
from agents.networks.config import NetworkConfig
from agents.networks.drawing import draw, draw_decisions, weights_at
from agents.networks.inputs import Inputs
from agents.networks.legal_policy import TABLES, gathered_policy, legal_policy, log_softmax_by_game
from agents.networks.network import GRAIN, Network, _filled_up
from thud_env import Position, RowError
from thud_env.actions import CAPTURE, CAPTURE_ALL, NUM_ACTIONS, describe_action
from thud_env.board import SQUARE_BY_NAME, SQUARE_POSITIONS


def a_network(seed: int = 1, **sizes: int) -> Network:
    return drawn_network(seed, **{"channels": 6, "key_size": 4, **sizes})


def some_positions() -> list[Position]:
    """Moves, every kind of capture and question, and an offer."""
    offer = {"quiet": 9, "played": 9, "offer_after": 4, "agreement": True}
    return [
        Position.start("classic"),
        decide(place("classic-all", "G6 H6 J6", "H4", "t"), "H4-H5"),
        decide(place("classic", "G6 H6 J6", "H3 H2", "t"), "H3-H5"),
        place("koom-valley", "H4 J5 A8", "H3", "t", **offer),
        decide(place("koom-valley", "H4 J5 A8", "H3", "t"), "H3-H5"),
        decide(place("classic", "A8", "H3", **offer), "offer"),
    ]


def inputs_of(positions: list[Position]) -> Inputs:
    return Inputs.of_rows(np.stack([position.row for position in positions]))


def points_of(action: int) -> tuple[int, int]:
    """Points of the 15 x 15 grid, read off the decision's words: "F1-F5", "capture E5"."""
    names = describe_action(action).removeprefix("capture ").split("-")
    positions = [SQUARE_POSITIONS[SQUARE_BY_NAME[name]] for name in (names[0], names[-1])]
    start, end = (int(row) * 15 + int(col) for row, col in positions)
    return start, end


# -- inputs --------------------------------------------------------------------------------


def test_inputs_hold_each_positions_legal_actions_and_planes() -> None:
    positions = some_positions()
    inputs = inputs_of(positions)
    assert inputs.planes.is_contiguous(memory_format=torch.channels_last)
    for number, (position, (first, last)) in enumerate(
        zip(positions, pairwise(inputs.starts), strict=True)
    ):
        assert inputs.decisions[first:last].tolist() == position.legal_actions().tolist()
        assert set(inputs.game[first:last].tolist()) == {number}
        np.testing.assert_array_equal(inputs.planes[number].numpy(), position.observation())
    assert len(inputs.game) == len(inputs.decisions) == inputs.starts[-1]


# -- softmax by game -----------------------------------------------------------------------


def test_log_softmax_by_game_is_log_softmax_of_each_game() -> None:
    lengths = (5, 1, 700, 2)
    torch.manual_seed(2)
    scores = (torch.randn(sum(lengths)) * 30).requires_grad_()
    game = torch.repeat_interleave(torch.arange(4), torch.tensor(lengths))
    found = log_softmax_by_game(scores, game, 4)
    wanted = torch.cat([part.log_softmax(0) for part in scores.split(lengths)])
    torch.testing.assert_close(found, wanted)
    weights = torch.randn(len(scores))
    (gradient,) = torch.autograd.grad(found @ weights, scores)
    (wanted_gradient,) = torch.autograd.grad(wanted @ weights, scores)
    torch.testing.assert_close(gradient, wanted_gradient)


def test_log_softmax_by_game_survives_large_scores() -> None:
    scores = torch.tensor([1e4, 1e4 - 1, -1e4, -1e4])
    found = log_softmax_by_game(scores, torch.tensor([0, 0, 1, 1]), 2)
    wanted = torch.tensor([-0.313262, -1.313262, -math.log(2), -math.log(2)])
    torch.testing.assert_close(found, wanted)


# -- the network ---------------------------------------------------------------------------


def test_probabilities_of_each_game_sum_to_one() -> None:
    inputs = inputs_of(some_positions())
    log_probs, _, values = a_network()(inputs)
    for first, last in pairwise(inputs.starts):
        assert log_probs[first:last].exp().sum().item() == pytest.approx(1, abs=1e-5)
    assert values.shape == (len(inputs.planes),)


def test_scores_equal_a_dense_computation() -> None:
    """All 225 x 225 pairs of points at once, looked up decision by decision."""
    network, inputs = a_network(), inputs_of(some_positions())
    seen: dict[str, torch.Tensor] = {}
    for name in ("trunk", "words"):
        module = getattr(network, name)
        module.register_forward_hook(lambda _m, _i, out, name=name: seen.update({name: out}))
    with torch.no_grad():
        log_probs = network(inputs).log_probs
        for name in ("queries", "keys"):
            seen[name] = getattr(network, name)(seen["trunk"].relu())
    kinds = set()
    for game, (first, last) in enumerate(pairwise(inputs.starts)):
        queries, keys = (seen[name][game].flatten(1) for name in ("queries", "keys"))
        pairs = queries.T @ keys / math.sqrt(network.config.key_size)
        scores = []
        for action in inputs.decisions[first:last].tolist():
            kinds.add("move" if action < CAPTURE else describe_action(action).split()[0])
            bias = network.bias[TABLES[2, action]]
            if action < CAPTURE_ALL:
                scores.append(pairs[points_of(action)] + bias)
            else:
                scores.append(seen["words"][game, action - CAPTURE_ALL] + bias)
        wanted = torch.stack(scores).log_softmax(0)
        torch.testing.assert_close(log_probs[first:last], wanted, atol=1e-5, rtol=1e-4)
    assert kinds == {"move", "capture", "done", "offer", "accept", "decline"}


def test_a_bias_is_shared_by_the_moves_of_one_direction_and_distance() -> None:
    """And one by all captures; every decision without a square has its own."""
    bias_index = TABLES[2].tolist()
    pairs = set()
    for action, bias in enumerate(bias_index):
        if action < CAPTURE:
            (row, col), (to_row, to_col) = (divmod(point, 15) for point in points_of(action))
            pairs.add((bias, (to_row - row, to_col - col)))
        else:
            pairs.add((bias, "capture" if action < CAPTURE_ALL else action))
    assert len(bias_index) == NUM_ACTIONS
    assert len({bias for bias, _ in pairs}) == len({kind for _, kind in pairs}) == len(pairs)


@pytest.mark.parametrize("pair", [(0, 1), (3, 200), (655, 17)])
def test_a_move_is_scored_by_its_own_two_squares_only(pair: tuple[int, int], monkeypatch) -> None:
    """The difference of two log-probabilities is that of their scores: its gradient reaches
    the queries of their from-squares and the keys of their to-squares, and nothing else.
    """
    network, inputs = a_network(), inputs_of([Position.start("classic")])
    seen: list[torch.Tensor] = []
    both = network.queries_and_keys
    monkeypatch.setattr(network, "queries_and_keys", lambda x: seen.append(both(x)) or seen[0])
    log_probs = network(inputs).log_probs
    difference = log_probs[pair[0]] - log_probs[pair[1]]
    (gradients,) = torch.autograd.grad(difference, seen)
    ends = zip(*(points_of(int(inputs.decisions[one])) for one in pair), strict=True)
    for gradient, own in zip(gradients[0].chunk(2, dim=1), ends, strict=True):
        size = gradient.abs().sum(1)
        reached = {int(point) for point in torch.nonzero(size > 1e-7)}
        assert reached == set(own)


def test_a_game_is_judged_alike_alone_and_among_others() -> None:
    network, positions = a_network(), some_positions()
    together = inputs_of(positions)
    with torch.no_grad():
        log_probs, _, values = network(together)
        for number, (position, (first, last)) in enumerate(
            zip(positions, pairwise(together.starts), strict=True)
        ):
            alone = inputs_of([position])
            own, _, value = network(alone)
            torch.testing.assert_close(log_probs[first:last], own, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(values[number : number + 1], value, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("key_size", [1, 4, 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_compiled_policy_equals_the_gathered_one(key_size: int, dtype: torch.dtype) -> None:
    """Forwards, and backwards from log-probabilities and entropies into everything learnt."""
    inputs = inputs_of(some_positions())
    torch.manual_seed(5)
    shapes = ((len(inputs.planes), 225, 2 * key_size), (118,), (len(inputs.planes), 5))
    learnt = [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]
    weights, others = torch.randn(len(inputs.decisions)), torch.randn(len(inputs.planes))
    added = torch.randn(len(inputs.decisions)).requires_grad_()
    found = []
    for function in (legal_policy, gathered_policy):
        as_float = function is gathered_policy and dtype != torch.float32
        given = [one.float() if as_float else one for one in learnt]
        log_probs, entropies = function(*given, inputs.decisions, inputs.game, added)
        assert log_probs.dtype == entropies.dtype == torch.float32
        through_both = [
            torch.autograd.grad(total, [*learnt, added], retain_graph=True)
            for total in (log_probs @ weights, entropies @ others)
        ]
        found.append((log_probs, entropies, *through_both[0], *through_both[1]))
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype
        torch.testing.assert_close(
            one, other, rtol=1e-4 if dtype == torch.float32 else 2e-2, atol=1e-3
        )


def test_afterstates_are_scored_in_the_light_of_their_own_state() -> None:
    network = a_network(channels=4, afterstates=True)
    inputs = network.inputs(np.stack([position.row for position in some_positions()]))
    with torch.no_grad():
        torch.nn.init.zeros_(network.afterstates.scores.weight)
        without = network(inputs).log_probs
        torch.nn.init.normal_(network.afterstates.scores.weight)
        scored = network(inputs).log_probs
        pooled = network.features(inputs.planes)[1]
        for game, (first, last) in enumerate(pairwise(inputs.starts)):
            head, features = network.afterstates, inputs.afterstates[first:last]
            units = (head.features(features) + head.state(pooled[game])).relu()
            added = (without[first:last] + head.scores(units)[:, 0]).log_softmax(0)
            torch.testing.assert_close(scored[first:last], added, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(scored, without)


@pytest.mark.parametrize("pool_layer", [False, True])
def test_the_heads_get_the_mean_and_the_maximum_of_every_plane(pool_layer: bool) -> None:
    network = a_network(channels=5, pool_layer=pool_layer)
    planes = torch.rand(3, network.num_planes, 15, 15)
    points, pooled = network.features(planes)
    assert points.shape == (3, 225, 5)
    wanted = network.pool(points).relu() if pool_layer else points
    assert torch.allclose(pooled, torch.cat((wanted.mean(1), wanted.amax(1)), 1))
    half, (points, pooled) = network.bfloat16(), network.bfloat16().features(planes.bfloat16())
    wanted = (half.pool(points).relu() if pool_layer else points).float()
    exact = torch.cat((wanted.mean(1), wanted.amax(1)), 1)
    assert torch.allclose(pooled.float(), exact, rtol=2**-7, atol=0)


def test_states_that_are_added_for_a_gpu_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    network, inputs = a_network(channels=4), inputs_of(some_positions())

    def judged() -> list[torch.Tensor]:
        found = network(inputs)
        total = found.log_probs.sum() + found.values.sum() + found.entropies.sum()
        return [*found, *torch.autograd.grad(total, list(network.parameters()))]

    alone = judged()
    sizes = []

    def fill_up(planes: torch.Tensor, grain: int) -> torch.Tensor:
        assert grain == 1, "on a processor none are added"
        filled = _filled_up(planes, GRAIN)
        sizes.append(len(filled))
        return filled

    monkeypatch.setattr("agents.networks.network._filled_up", fill_up)
    for one, other in zip(judged(), alone, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
    assert sizes == [GRAIN]


def test_a_compiled_trunk_judges_the_same_and_keeps_its_weights_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def compile_in_python(module: torch.nn.Module, **how: Any) -> None:
        asked.append(how)
        module._compiled_call_impl = torch.compile(module._call_impl, backend="eager", **how)

    monkeypatch.setattr(torch.nn.Module, "compile", compile_in_python)
    inputs = inputs_of(some_positions())
    plain = a_network(channels=4)
    compiled = copy.deepcopy(plain)
    compiled.compile_trunk()
    assert asked == [{"dynamic": True}]
    assert compiled.state_dict().keys() == plain.state_dict().keys()
    for network in (compiled, copy.deepcopy(compiled)):
        for one, other in zip(
            network(inputs),
            plain(inputs),
            strict=True,
        ):
            torch.testing.assert_close(one, other)


def test_a_block_starts_as_the_identity() -> None:
    torch.manual_seed(3)
    network = Network(NetworkConfig(channels=4, blocks=2, key_size=2))
    planes = torch.randn(1, 4, 15, 15)
    torch.testing.assert_close(network.trunk(planes), planes)


# -- drawing -------------------------------------------------------------------------------


def draws_of(network: Network, position: Position, count: int, temperature: float) -> np.ndarray:
    """How often each legal decision is drawn by ``count`` evenly spread numbers."""
    inputs = inputs_of([position] * count)
    uniforms = (np.random.default_rng(4).permutation(count) + 0.5) / count
    drawn = draw_decisions(network, inputs, torch.from_numpy(uniforms), temperature)
    places = inputs.places_of(drawn.actions).numpy()
    assert (inputs.decisions.numpy()[places] == drawn.actions.numpy()).all()
    return np.bincount(places - inputs.starts[:-1], minlength=int(inputs.starts[1]))


@pytest.mark.parametrize("reads", [Inputs.of_rows, attack_planes])
@pytest.mark.parametrize(
    "wrong", [Position.start().row, Position.start().observation()[None], [[1.5]], "rows"]
)
def test_what_are_no_rows_is_said_in_a_line(reads: Any, wrong: Any) -> None:
    with pytest.raises(RowError, match=r"^rows "):
        reads(wrong)


@pytest.mark.parametrize("reads", [Inputs.of_rows, attack_planes])
def test_rows_may_be_any_integers(reads: Any) -> None:
    rows = Position.start().row[np.newaxis]
    found, wanted = reads(rows.astype(np.int64)), reads(rows)
    if isinstance(found, Inputs):
        found, wanted = found.planes.numpy(), wanted.planes.numpy()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_draws_follow_the_policy(temperature: float) -> None:
    """Evenly spread numbers meet every probability to within one draw."""
    network = a_network()
    position = decide(place("classic", "G6 H6 J6", "H4 H3", "t"), "H4-H5")
    inputs = inputs_of([position])
    with torch.no_grad():
        log_probs = network(inputs).log_probs
    wanted = (log_probs.double() / temperature).softmax(0).numpy()
    assert wanted.max() - wanted.min() > 0.1, "an even policy would prove little"
    found = draws_of(network, position, 400, temperature)
    assert np.abs(found - 400 * wanted).max() < 1.5


def test_temperature_0_takes_the_likeliest() -> None:
    network, positions = a_network(), some_positions()
    inputs = inputs_of(positions)
    uniforms = torch.full((len(positions),), 0.9, dtype=torch.float64)
    drawn = draw_decisions(network, inputs, uniforms, temperature=0)
    log_probs = network(inputs).log_probs
    for game, (first, last) in enumerate(pairwise(inputs.starts)):
        likeliest = first + int(log_probs[first:last].argmax())
        assert drawn.actions[game] == inputs.decisions[likeliest]
        assert drawn.log_probs[game] == log_probs[likeliest]


def test_temperature_0_weighs_the_first_of_equals_alone() -> None:
    inputs = inputs_of(some_positions())
    log_probs = torch.zeros(len(inputs.decisions))
    log_probs[inputs.starts[:-1]] = -1.0
    weights = weights_at(0, log_probs, inputs)
    seconds = torch.from_numpy(inputs.starts[:-1]) + (inputs.counts > 1)
    assert torch.equal(weights.nonzero().squeeze(1), seconds)
    assert weights.sum() == len(inputs.counts)


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
def test_the_extreme_draws_stay_in_their_game(uniform: float) -> None:
    counts = inputs_of(some_positions() * 20).counts
    weights = torch.linspace(0.1, 1, int(counts.sum()), dtype=torch.float64)
    drawn = draw(weights, counts, torch.full((len(counts),), uniform, dtype=torch.float64))
    ends = counts.cumsum(0)
    assert ((ends - counts <= drawn) & (drawn < ends)).all()
    assert torch.equal(drawn, ends - 1 if uniform else ends - counts)


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
def test_no_draw_leaves_its_game_for_rounding(uniform: float) -> None:
    weights = torch.tensor([0.0, -100.0, 0.0, -100.0, 0.0, -0.5, -0.93], dtype=torch.float64).exp()
    uniforms = torch.full((4,), uniform, dtype=torch.float64)
    drawn = draw(weights, torch.tensor([1, 3, 1, 2]), uniforms)
    assert (torch.tensor([0, 1, 4, 5]) <= drawn).all()
    assert (drawn < torch.tensor([1, 4, 5, 7])).all()


def test_draws_report_what_the_network_says() -> None:
    network, inputs = a_network(), inputs_of(some_positions())
    uniforms = torch.full((len(inputs.planes),), 0.5, dtype=torch.float64)
    drawn = draw_decisions(network, inputs, uniforms, temperature=0.5)
    with torch.no_grad():
        wanted = network(inputs)
    assert torch.equal(drawn.values, wanted.values)
    assert torch.equal(drawn.log_probs, wanted.log_probs[inputs.places_of(drawn.actions)])
    assert not drawn.log_probs.requires_grad
