"""Counts, p-values and q-values against independent tools and known answers."""

import numpy as np
import pytest
from scipy import stats

from grade import GraphSet, InputError, Pattern
from grade.sampling import sample
from grade.sampling.census import take_census
from grade.significance import Significance, randomised, significance
from grade.significance.mixing import integrated_times
from grade.significance.p_values import benjamini_hochberg
from grade.sources import load
from tests.significance.realisations import same_degrees, small_graph

FALSE_ALARM = 1e-4
CHAIN = Pattern.of([0, 0, 0], [[0, 1, 0], [0, 0, 1], [0, 0, 0]]).code


def random_digraph(seed: int, nodes: int, edges: int, types: int = 1, copies: int = 1) -> GraphSet:
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(nodes) for j in range(nodes) if i != j]
    chosen = [pairs[i] for i in sorted(rng.choice(len(pairs), edges, replace=False).tolist())]
    return small_graph(rng.integers(0, types, nodes).tolist(), chosen, copies)


def by_key(found: Significance, values: np.ndarray) -> dict[str, float]:
    return dict(zip((pattern.code for pattern in found.patterns), values.tolist(), strict=True))


@pytest.mark.parametrize("null", ["degrees", "types", "levels", "block"])
def test_counts_are_those_of_the_draws_one_by_one(null: str) -> None:
    """Mean, deviation, p-values and the tests by graph against a census of every randomised set."""
    graphs = random_digraph(1, 14, 40, types=2, copies=3)
    found = significance(graphs, 3, null, draws=20, switches=5, seed=7, least=1, by_graph=True)
    rows = {pattern.code: i for i, pattern in enumerate(found.patterns)}
    counts = np.zeros((21, len(graphs), len(rows)))
    for draw in range(-1, 20):
        drawn = graphs if draw < 0 else randomised(graphs, null, switches=5, seed=7, draw=draw)
        for graph in range(len(graphs)):
            census = take_census(drawn.subset([graph]), 3)
            for pattern, count in zip(census.patterns, census.counts.tolist(), strict=True):
                counts[draw + 1, graph, rows[pattern.code]] = count
    observed, drawn_counts = counts[0].sum(axis=0), counts[1:].sum(axis=1)
    scores = found.scores
    np.testing.assert_array_equal(scores.observed, observed)
    np.testing.assert_allclose(scores.mean, drawn_counts.mean(axis=0))
    np.testing.assert_allclose(scores.deviation, drawn_counts.std(axis=0, ddof=1), atol=1e-12)
    np.testing.assert_allclose(scores.p_over, (1 + (drawn_counts >= observed).sum(axis=0)) / 21)
    np.testing.assert_allclose(scores.p_under, (1 + (drawn_counts <= observed).sum(axis=0)) / 21)
    assert found.instances == observed.sum()
    assert found.null_instances == pytest.approx(drawn_counts.sum(axis=1).mean())
    by_graph = found.by_graph
    assert by_graph is not None
    pairs = list(zip(by_graph.graph.tolist(), by_graph.pattern.tolist(), strict=True))
    assert set(pairs) == set(map(tuple, np.argwhere(counts.sum(axis=0) > 0).tolist()))
    for i, (graph, row) in enumerate(pairs):
        own = counts[:, graph, row]
        assert by_graph.scores.observed[i] == own[0]
        assert by_graph.scores.mean[i] == pytest.approx(own[1:].mean())
        assert by_graph.scores.p_over[i] == pytest.approx((1 + (own[1:] >= own[0]).sum()) / 21)
        assert by_graph.scores.p_under[i] == pytest.approx((1 + (own[1:] <= own[0]).sum()) / 21)
        shares = found.graph_columns()
        assert shares["concentration"][i] == pytest.approx(own[0] / counts[0, graph].sum())
        assert shares["null_concentration"][i] == pytest.approx(own[1:].sum() / counts[1:, graph].sum())


def test_the_result_does_not_depend_on_threads() -> None:
    graphs = load("zoo-mini")
    results = [
        significance(graphs, 3, "types", draws=12, switches=3, seed=2, by_graph=True, threads=threads)
        for threads in (1, 3)
    ]
    one, other = (
        result.columns() | {f"by {k}": v for k, v in result.graph_columns().items()} for result in results
    )
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_the_mean_is_that_over_all_realisations() -> None:
    """An analytical expectation: counts over the list of all graphs with these degrees."""
    graphs = small_graph([0] * 6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (0, 3), (2, 5)])
    every = list(same_degrees(6, frozenset((u, v, 1) for u, v in graphs.edge_list(0).tolist())))
    joined = [small_graph([0] * 6, sorted(edges)) for edges in every]
    expected: dict[str, float] = {}
    for single in joined:
        census = take_census(single, 3)
        for pattern, count in zip(census.patterns, census.counts.tolist(), strict=True):
            expected[pattern.code] = expected.get(pattern.code, 0) + count / len(every)
    draws = 4000
    found = significance(graphs, 3, draws=draws, switches=60, seed=1, least=1)
    assert by_key(found, found.scores.mean).keys() == expected.keys()
    error = found.scores.deviation / np.sqrt(draws)
    off = found.scores.mean - [expected[pattern.code] for pattern in found.patterns]
    assert (np.abs(off) <= 5 * error + 1e-12).all()


def matching(pairs: dict[tuple[int, int], int]) -> GraphSet:
    """Edges without a common node, so many from each type to each other."""
    ends = [pair for pair, count in pairs.items() for _ in range(count)]
    return small_graph(
        [kind for pair in ends for kind in pair], [(2 * i, 2 * i + 1) for i in range(len(ends))]
    )


def test_edges_without_common_nodes_follow_the_hypergeometric_distribution() -> None:
    """An analytical expectation: the null model is a random matching, so that the test is Fisher's exact test."""
    graphs, draws = matching({(0, 2): 9, (0, 3): 3, (1, 2): 4, (1, 3): 10}), 6000
    found = significance(graphs, 2, draws=draws, switches=30, seed=3, least=1)
    row = next(i for i, pattern in enumerate(found.patterns) if str(pattern) == "a -> c")
    law = stats.hypergeom(26, 12, 13)  # edges, those from a, those to c
    scores = found.scores
    assert scores.observed[row] == 9
    assert abs(scores.mean[row] - law.mean()) < 5 * law.std() / np.sqrt(draws)
    assert scores.deviation[row] == pytest.approx(law.std(), rel=5 / np.sqrt(2 * draws))
    fisher = stats.fisher_exact([[9, 3], [4, 10]], alternative="greater").pvalue
    assert law.sf(8) == pytest.approx(fisher)
    assert abs(scores.p_over[row] - fisher) < 5 * np.sqrt(fisher / draws)


def test_a_chain_is_a_random_order_of_its_inner_nodes() -> None:
    """An analytical expectation without cycles: m inner nodes, n of type b, have n (n - 1) / m times b -> b."""
    types = [0, *[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2], 0]
    graphs, draws = small_graph(types, [(i, i + 1) for i in range(15)]), 4000
    found = significance(graphs, 2, draws=draws, switches=60, seed=4, least=1)
    by_text = {str(pattern): i for i, pattern in enumerate(found.patterns)}
    expected = {"b#1 -> b#2": 6 * 5 / 14, "c#1 -> c#2": 8 * 7 / 14, "b -> c": 6 * 8 / 14, "a -> b": 6 / 14}
    for text, mean in expected.items():
        row = by_text[text]
        assert abs(found.scores.mean[row] - mean) < 5 * found.scores.deviation[row] / np.sqrt(draws), text


def test_igraph_counts_the_same_draws() -> None:
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    graphs = random_digraph(4, 40, 150)
    found = significance(graphs, 3, draws=30, switches=5, seed=1, least=1)
    totals = []
    for draw in range(30):
        drawn = randomised(graphs, switches=5, seed=1, draw=draw)
        peer = igraph.Graph(n=40, edges=drawn.edge_list(0).tolist(), directed=True)
        totals.append(np.nan_to_num(np.array(peer.motifs_randesu(size=3))))
    ours = sorted(found.scores.mean.round(6).tolist())
    theirs = np.mean(totals, axis=0)
    assert sorted(theirs[theirs > 0].round(6).tolist()) == [value for value in ours if value > 0]
    spread = np.std(totals, axis=0, ddof=1)
    np.testing.assert_allclose(
        sorted(spread[theirs > 0].tolist()),
        sorted(found.scores.deviation[found.scores.mean > 0].tolist()),
        atol=1e-9,
    )


def test_sets_from_the_null_give_uniform_p_values() -> None:
    """300 sets drawn from the null model, tested one by one: p-values of a frequent pattern are uniform."""
    base = random_digraph(9, 24, 90)
    values = []
    for i in range(300):
        graphs = randomised(base, switches=40, seed=100 + i)
        found = significance(graphs, 3, draws=99, switches=8, seed=i, threads=1, least=1)
        row = next(i for i, pattern in enumerate(found.patterns) if pattern.code == CHAIN)
        at_least, at_most = found.scores.p_over[row] * 100 - 1, found.scores.p_under[row] * 100 - 1
        ties = at_least + at_most - 99  # draws that are equal: broken at random, so that the rank is uniform
        rank = 99 - at_most + np.random.default_rng(i).integers(0, int(ties) + 1)
        values.append((rank + np.random.default_rng(1000 + i).random()) / 100)
    assert stats.kstest(values, "uniform").pvalue > FALSE_ALARM


def test_p_values_hold_where_the_chain_hardly_moves() -> None:
    """Besag and Clifford's hub: one proposed switch for every ten edges, and still no false alarms."""
    base = random_digraph(9, 24, 90)
    values = []
    for i in range(400):
        graphs = randomised(base, switches=40, seed=1000 + i)
        found = significance(graphs, 3, draws=19, switches=0.1, seed=i, threads=1, least=1)
        row = next(i for i, pattern in enumerate(found.patterns) if pattern.code == CHAIN)
        values.append(found.scores.p_over[row] <= 0.05)
    assert stats.binomtest(sum(values), 400, 0.05, alternative="greater").pvalue > FALSE_ALARM


def planted(seed: int) -> GraphSet:
    """Random two-type digraphs with the degrees of a null draw, one of which holds a motif again and again."""
    rng = np.random.default_rng(seed)
    edges = {(int(a), int(b)) for a, b in rng.integers(0, 60, (110, 2)) if a < b}
    for i in range(12):  # a feed-forward loop of type 1 among nodes of type 0
        a, b, c = (60 + 3 * i + j for j in range(3))
        edges |= {(a, b), (b, c), (a, c)}
    return small_graph([0] * 60 + [1] * 36, sorted(edges))


def test_a_planted_motif_is_found_and_nothing_else() -> None:
    found = significance(planted(3), 3, "types", draws=4000, seed=1)
    assert [str(found.patterns[row]) for row in found.motifs] == ["b#1 -> b#2 -> b#3; b#1 -> b#3"]


def test_nothing_is_found_in_a_draw_of_the_null_model() -> None:
    graphs = randomised(planted(3), "types", switches=100, seed=8)
    found = significance(graphs, 3, "types", draws=4000, seed=1)
    assert len(found.motifs) == len(found.anti_motifs) == 0


def test_benjamini_hochberg_equals_scipy() -> None:
    p = np.random.default_rng(0).random(200) ** 3
    np.testing.assert_allclose(benjamini_hochberg(p), stats.false_discovery_control(p))


def test_slow_counts_ask_for_longer_distances() -> None:
    rng = np.random.default_rng(2)
    slow = np.cumsum(rng.integers(-1, 2, 100)) + 1000
    fast = rng.integers(900, 1100, 100)
    still = np.full(100, 50)
    times = integrated_times(np.stack([fast, slow, still], axis=1).astype(np.uint64))
    assert len(times) == 2, "a count that never changes says nothing"
    assert sorted(times)[0] < 5
    assert sorted(times)[1] > 10
    assert integrated_times(still[:, None].astype(np.uint64)).tolist() == [1]


def test_sampled_counts_agree_with_exact_ones() -> None:
    """The same draws; estimates of the means are unbiased, and the spread is that of counts and of sampling."""
    graphs = random_digraph(9, 40, 170)
    exact = significance(graphs, 4, draws=60, switches=10, seed=1, least=1)
    sampled = significance(graphs, 4, draws=60, switches=10, seed=1, least=1, samples=400)
    assert sampled.quality == "estimate"
    assert sampled.instances == pytest.approx(exact.instances, rel=0.1)
    one, other = by_key(exact, exact.scores.mean), by_key(sampled, sampled.scores.mean)
    spread = by_key(sampled, sampled.scores.deviation)
    frequent = [key for key in one if one[key] > 100]
    assert len(frequent) > 5
    for key in frequent:
        assert abs(one[key] - other[key]) < 5 * spread[key] / np.sqrt(60)
        assert spread[key] > by_key(exact, exact.scores.deviation)[key]
    with np.errstate(invalid="ignore"):
        assert np.nanmax(np.abs(sampled.scores.z)) < 10
    assert (sampled.scores.p_over + sampled.scores.p_under >= 1).all()


def test_z_scores_of_estimates_carry_the_error_of_the_set_s_own_sample() -> None:
    """Patterns that the sample shows once and no draw shows: one occurrence is no reason for a large score."""
    graphs = load("zoo-mini")
    found = significance(graphs, 6, "levels", draws=10, switches=5, samples=300, seed=2, least=1)
    own = sample(graphs, 6, "rand-fase", count=300, seed=seed_of_the_set(2), parts=0)
    scores, keys = found.scores, found.patterns.keys.tolist()
    once = [keys.index(key) for key, n in zip(own.patterns.keys.tolist(), own.counts, strict=True) if n == 1]
    alone = [row for row in once if scores.mean[row] == 0]
    assert len(alone) > 20
    np.testing.assert_allclose(scores.z[alone], 1)


def seed_of_the_set(seed: int) -> int:
    return int(np.random.SeedSequence([seed, 0]).generate_state(1, np.uint64)[0])


def test_p_values_of_estimates_count_the_draws() -> None:
    graphs = planted(3)
    found = significance(graphs, 3, "types", draws=60, switches=20, seed=1, samples=300)
    row = next(
        i for i, pattern in enumerate(found.patterns) if str(pattern) == "b#1 -> b#2 -> b#3; b#1 -> b#3"
    )
    assert found.scores.p_over[row] == pytest.approx(1 / 61)
    assert found.scores.p_under[row] == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"samples": 0}, "The number of samples is 0"),
        ({"samples": 10, "by_graph": True}, "one by one with exact counts only"),
        ({"null": "typs"}, "There is no null model named 'typs'"),
        ({"draws": 1}, "The number of draws is 1"),
        ({"least": 0}, "The least number of occurrences is 0"),
        ({"switches": -2.0}, "The number of switches for each edge is -2"),
        ({"k": 99}, "The subgraph size k is 99"),
        ({"seed": -1}, "The seed is -1"),
    ],
)
def test_bad_values_are_refused(change: dict[str, object], sentence: str) -> None:
    settings: dict[str, object] = {"k": 3, "draws": 10, **change}
    with pytest.raises(InputError, match=sentence):
        significance(random_digraph(1, 6, 8), **settings)  # type: ignore[arg-type]  # settings of several types
