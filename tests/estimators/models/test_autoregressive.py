"""The autoregressive estimator: a distribution over matrices and over classes, exact, directed, invariant."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from grade.estimators import fit, plain_settings
from grade.estimators.models.autoregressive import Autoregressive, AutoregressiveSettings, CausalTransformer
from grade.estimators.models.encoding import Graphs
from grade.estimators.space import GraphSpace
from grade.graphs import PatternTable
from grade.settings import TrainingSettings
from tests.estimators.spaces import all_classes, all_matrices, census_201, sample_of, uniform_sample

# The network's own distribution is tested here, so the sample's counts do not correct it.
TINY = AutoregressiveSettings(
    layers=1,
    width=16,
    heads=2,
    device="cpu",
    training=TrainingSettings(steps=15, batch=32, learning_rate=1e-2),
)


def trained(table: PatternTable, settings: AutoregressiveSettings) -> Autoregressive:
    """A briefly trained model: far from uniform, so that sums over it test something."""
    counts = np.random.default_rng(0).integers(1, 30, len(table))
    model = fit(sample_of(table, counts), settings)
    assert isinstance(model, Autoregressive)
    return model


@pytest.mark.parametrize(
    ("k", "types", "edge_types", "upper"), [(2, 2, 3, False), (3, 2, 2, True), (3, 1, 2, False)]
)
def test_probabilities_of_all_matrices_sum_to_one(k: int, types: int, edge_types: int, upper: bool) -> None:
    nodes, edges = all_matrices(k, types, edge_types, upper)
    space = GraphSpace((k,), types, edge_types, loops=False, acyclic=upper)
    torch.manual_seed(1)
    network = CausalTransformer(space, AutoregressiveSettings(width=16, heads=2)).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    graphs = Graphs(
        torch.from_numpy(nodes.astype(np.int64)),
        torch.from_numpy(edges.astype(np.int64)),
        torch.full((len(nodes),), k),
    )
    probabilities = network(graphs).exp().detach()
    assert float(probabilities.sum()) == pytest.approx(1, abs=1e-5)
    assert float(probabilities.max() / probabilities.min()) > 10  # not a uniform distribution by accident


@pytest.mark.parametrize(("family", "upper"), [("linear", True), ("all", False)])
def test_probabilities_of_all_classes_sum_to_one(family: str, upper: bool) -> None:
    table = all_classes(3, 2, upper=upper)
    model = trained(table, TINY.changed(orders=family))
    assert np.exp(model.log_probability(table)).sum() == pytest.approx(1, abs=1e-5)


def test_sizes_share_one_network() -> None:
    samples = [
        sample_of(t, np.arange(1, len(t) + 1))
        for t in (all_classes(2, 2, upper=True), all_classes(3, 2, upper=True))
    ]
    model = fit(samples, TINY)
    for sample in samples:
        assert np.exp(model.log_probability(sample.patterns)).sum() == pytest.approx(1, abs=1e-5)


def test_an_edge_and_its_reverse_differ() -> None:
    table = PatternTable.canonical(
        [[0, 1, 1], [0, 1, 1]], [[[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 0, 0], [1, 0, 0], [0, 1, 0]]]
    )
    model = trained(table, TINY.changed(steps=1))
    scores = model.log_probability(table)
    assert abs(scores[0] - scores[1]) > 1e-6


def test_relabelling_changes_nothing() -> None:
    table, counts = census_201(4)
    model = fit(uniform_sample(table, counts, 200, 0), TINY)
    generator = np.random.default_rng(3)
    order = np.argsort(generator.random((50, 4)), axis=1)
    rows = generator.choice(len(table), 50, replace=False)
    types = np.take_along_axis(table.node_types[rows], order, 1)
    edges = table.edges[rows][np.arange(50)[:, None, None], order[:, :, None], order[:, None, :]]
    relabelled = PatternTable.canonical(types, edges, table.node_vocabulary, table.edge_vocabulary)
    assert model.log_probability(relabelled).tolist() == model.log_probability(table.take(rows)).tolist()


@pytest.mark.parametrize("shared_noise", [True, False])
def test_scores_do_not_depend_on_the_batch(shared_noise: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    table, counts = census_201(4)
    settings = TINY.changed(order_draws=2, shared_noise=shared_noise)
    model = fit(uniform_sample(table, counts, 200, 0), settings)
    whole = model.log_probability(table)
    monkeypatch.setattr(Autoregressive, "rows_at_once", lambda self: 37)
    assert model.log_probability(table) == pytest.approx(whole, abs=1e-4)
    assert model.log_probability(table.take(np.arange(100, 110))) == pytest.approx(whole[100:110], abs=1e-4)


def test_orbit_correction_counts_orders() -> None:
    """With a uniform model over matrices, a class gets the number of its matrices."""
    table = all_classes(3, 1, upper=True)
    model = trained(table, TINY.changed(steps=1))
    for parameter in model.networks[0].parameters():
        torch.nn.init.zeros_(parameter)
    matrices = table.linear_extensions / table.automorphisms
    assert np.exp(model.log_probability(table)) == pytest.approx(matrices / 8, rel=1e-5)
    model.settings = replace(model.settings, orders="canonical")  # a single order: nothing to correct
    assert np.exp(model.log_probability(table)) == pytest.approx(np.full(len(table), 1 / 8), rel=1e-5)


def test_it_learns_what_sampling_alone_cannot_see() -> None:
    """279 of 437,500 occurrences: counting ranks the 2,295 types with rho 0.41, the model has to do twice
    as well.
    """
    table, counts = census_201(4)
    sample = uniform_sample(table, counts, 279, 0)
    baseline = spearmanr(fit(sample, plain_settings("frequency")).log_probability(table), counts).statistic
    settings = plain_settings(
        "autoregressive", steps=100, batch=128, warmup=20, learning_rate=2e-3, device="cpu"
    )
    model = fit(sample, settings)
    assert baseline < 0.45
    assert spearmanr(model.log_probability(table), counts).statistic > baseline + 0.38
    assert 0.5 < np.exp(model.log_probability(table)).sum() < 1


def test_probabilities_of_classes_with_cycles_sum_to_one() -> None:
    """A matrix of a cyclic pattern may be in no linear order; all orders are taken where patterns have cycles."""
    ring, chain = [[0, 1, 0], [0, 0, 1], [1, 0, 0]], [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    table = PatternTable.canonical([[0, 0, 1], [0, 1, 1]], [ring, chain])
    model = fit(sample_of(table, np.array([40, 20])), TINY.changed(orders="linear", steps=40))
    total = np.exp(model.log_probability(all_classes(3, 2))).sum()
    assert total == pytest.approx(1, abs=1e-3)
