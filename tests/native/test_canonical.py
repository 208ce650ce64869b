"""The canonical form against pynauty, on random and on highly symmetric graphs."""

from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grade import _core
from grade.graphs import Pattern, PatternTable
from tests.reference import brute_force_orders, nauty_automorphisms, nauty_key, random_digraph, relabelled


def canonical_key(types: np.ndarray, edges: np.ndarray) -> str:
    return Pattern.of(types, edges).key


@st.composite
def digraphs(draw: st.DrawFn, max_size: int = 9) -> tuple[np.ndarray, np.ndarray]:
    k = draw(st.integers(1, max_size))
    edge_types = draw(st.sampled_from([1, 1, 2, 255]))
    types = draw(st.lists(st.integers(0, draw(st.integers(0, 3))), min_size=k, max_size=k))
    cells = draw(st.lists(st.one_of(st.just(0), st.integers(0, edge_types)), min_size=k * k, max_size=k * k))
    return np.array(types), np.array(cells, np.uint8).reshape(k, k)


@given(digraphs(), st.integers(0, 2**32))
def test_relabelling_changes_nothing(graph: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    types, edges = graph
    other_types, other_edges, _ = relabelled(np.random.default_rng(seed), types, edges)
    assert canonical_key(types, edges) == canonical_key(other_types, other_edges)


@given(digraphs())
def test_the_order_leads_to_the_canonical_graph(graph: tuple[np.ndarray, np.ndarray]) -> None:
    types, edges = graph
    canonical_types, canonical_edges, order, _ = _core.canonical_forms(
        types[None].astype(np.uint16), edges[None]
    )
    assert sorted(order[0].tolist()) == list(range(len(types)))
    assert (types[order[0]] == canonical_types[0]).all()
    assert (edges[np.ix_(order[0], order[0])] == canonical_edges[0]).all()


@given(digraphs())
def test_automorphisms_match_pynauty(graph: tuple[np.ndarray, np.ndarray]) -> None:
    types, edges = graph
    assert Pattern.of(types, edges).automorphisms == nauty_automorphisms(types, edges)


@pytest.mark.parametrize("seed", range(20))
def test_keys_are_equal_exactly_when_pynauty_says_so(seed: int) -> None:
    check_pairs(np.random.default_rng(seed), 400)


@pytest.mark.slow
def test_a_hundred_thousand_pairs_against_pynauty() -> None:
    check_pairs(np.random.default_rng(99), 100_000)


def check_pairs(rng: np.random.Generator, pairs: int) -> None:
    """Pairs that are isomorphic, pairs that differ in one edge or type, and unrelated pairs."""
    equal = 0
    for _ in range(pairs):
        k = int(rng.integers(2, 11))
        types, edges = random_digraph(
            rng,
            k,
            int(rng.integers(1, 4)),
            int(rng.choice([1, 1, 3])),
            rng.choice([0.1, 0.3, 0.6]),
            rng.random() < 0.3,
        )
        other_types, other_edges, _ = relabelled(rng, types, edges)
        change = rng.random()
        if change < 0.4:  # move one edge: degrees and counts often stay the same
            sources, targets = np.nonzero(other_edges)
            if len(sources):
                i = int(rng.integers(len(sources)))
                value = other_edges[sources[i], targets[i]]
                other_edges[sources[i], targets[i]] = 0
                other_edges[sources[i], int(rng.integers(k))] = value
        elif change < 0.6:
            a, b = rng.integers(0, k, 2)
            other_types[[a, b]] = other_types[[b, a]]
        same = canonical_key(types, edges) == canonical_key(other_types, other_edges)
        assert same == (nauty_key(types, edges) == nauty_key(other_types, other_edges))
        equal += same
    assert 0.3 * pairs < equal < 0.95 * pairs  # both answers were asked for


def test_the_pair_that_weisfeiler_lehman_cannot_tell_apart() -> None:
    types = np.array([0, 1, 1, 2, 2, 3, 3])
    base = [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6)]
    keys = []
    for extra in ([(1, 5), (2, 6)], [(1, 6), (2, 5)]):
        edges = np.zeros((7, 7), np.uint8)
        for i, j in base + extra:
            edges[i, j] = 1
        keys.append(canonical_key(types, edges))
    assert keys[0] != keys[1]


def symmetric_graphs() -> list[tuple[str, np.ndarray, int]]:
    """(name, edges, automorphisms known by construction)."""
    graphs = []
    for k in (2, 5, 8, 11, 16):
        star = np.zeros((k, k), np.uint8)
        star[0, 1:] = 1
        graphs.append((f"out-star {k}", star, factorial(k - 1)))
        clique = 1 - np.eye(k, dtype=np.uint8)
        graphs.append((f"clique {k}", clique, factorial(k)))
        cycle = np.roll(np.eye(k, dtype=np.uint8), 1, axis=1)
        graphs.append((f"directed cycle {k}", cycle, k))
        graphs.append((f"empty {k}", np.zeros((k, k), np.uint8), factorial(k)))
    for k in (5, 9, 16):
        ring = np.roll(np.eye(k, dtype=np.uint8), 1, axis=1)
        graphs.append((f"undirected cycle {k}", ring | ring.T, 2 * k))
    for a, b in ((2, 3), (4, 4), (8, 8), (3, 13)):
        bipartite = np.zeros((a + b, a + b), np.uint8)
        bipartite[:a, a:] = 1
        graphs.append((f"bipartite {a}x{b}", bipartite, factorial(a) * factorial(b)))
        graphs.append(
            (
                f"undirected bipartite {a}x{b}",
                bipartite | bipartite.T,
                factorial(a) * factorial(b) * (2 if a == b else 1),
            )
        )
    cube = np.array([[bin(i ^ j).count("1") == 1 for j in range(16)] for i in range(16)], np.uint8)
    graphs.append(("hypercube", cube, 384))
    rook = np.array(
        [[i != j and (i // 4 == j // 4 or i % 4 == j % 4) for j in range(16)] for i in range(16)], np.uint8
    )
    graphs.append(("rook's graph 4x4", rook, 1152))
    petersen = np.zeros((10, 10), np.uint8)
    for i in range(5):
        for a, b in ((i, (i + 1) % 5), (i, i + 5), (i + 5, (i + 2) % 5 + 5)):
            petersen[a, b] = petersen[b, a] = 1
    graphs.append(("Petersen", petersen, 120))
    twins = np.zeros((16, 16), np.uint8)  # four disjoint directed 4-cycles
    for block in range(4):
        for i in range(4):
            twins[4 * block + i, 4 * block + (i + 1) % 4] = 1
    graphs.append(("four 4-cycles", twins, 4**4 * 24))
    pairs = np.kron(np.eye(8, dtype=np.uint8), np.array([[0, 1], [1, 0]], np.uint8))
    graphs.append(("eight pairs", pairs, 2**8 * factorial(8)))
    return graphs


@pytest.mark.parametrize(
    ("name", "edges", "expected"), symmetric_graphs(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_highly_symmetric_graphs(name: str, edges: np.ndarray, expected: int) -> None:
    rng = np.random.default_rng(0)
    types = np.zeros(len(edges), int)
    pattern = Pattern.of(types, edges)
    assert pattern.automorphisms == expected
    for _ in range(30):
        _, other, _ = relabelled(rng, types, edges)
        assert Pattern.of(types, other) == pattern


def test_shrikhande_is_not_the_rooks_graph() -> None:
    """Strongly regular with the same parameters: refinement alone cannot tell them apart."""
    shrikhande = np.zeros((16, 16), np.uint8)
    for a in range(4):
        for b in range(4):
            for da, db in ((0, 1), (1, 0), (1, 1)):
                other = (a + da) % 4 * 4 + (b + db) % 4
                shrikhande[a * 4 + b, other] = shrikhande[other, a * 4 + b] = 1
    rook = {name: edges for name, edges, _ in symmetric_graphs()}["rook's graph 4x4"]
    types = np.zeros(16, int)
    assert Pattern.of(types, shrikhande).automorphisms == 192
    assert canonical_key(types, shrikhande) != canonical_key(types, rook)


@settings(max_examples=60)
@given(digraphs(max_size=6))
def test_order_counts_match_brute_force(graph: tuple[np.ndarray, np.ndarray]) -> None:
    _, edges = graph
    linear, level = _core.count_orders(edges[None])
    assert (linear[0], level[0]) == brute_force_orders(edges)


def test_order_counts_known_in_closed_form() -> None:
    k = 16
    nothing = np.zeros((k, k), np.uint8)
    chain = np.eye(k, k=1, dtype=np.uint8)
    forest = nothing.copy()
    forest[0, 1:] = 1
    linear, level = _core.count_orders(np.stack([nothing, chain, forest]))
    assert linear.tolist() == [factorial(16), 1, factorial(15)]
    assert level.tolist() == [factorial(16), 1, factorial(15)]


def test_sixteen_bit_types_and_all_edge_types_are_told_apart() -> None:
    types = np.array([[0, 65_534], [0, 65_533], [0, 65_534]])
    edges = np.array([[[0, 255], [0, 0]], [[0, 255], [0, 0]], [[0, 254], [0, 0]]])
    table = PatternTable.canonical(types, edges)
    assert len({pattern.key for pattern in table}) == 3


def test_keys_round_trip() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        types, edges = random_digraph(rng, int(rng.integers(1, 17)), 3, 4, 0.2)
        pattern = Pattern.of(types, edges)
        assert PatternTable.from_keys([pattern.key])[0] == pattern


@pytest.mark.parametrize("bad", ["", "0.1", "0.1/0>2", "0/0>0:256", "a/b", "0.1/0>1;", "/"])
def test_bad_keys_are_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r"pattern"):
        PatternTable.from_keys([bad])


def test_bad_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match="1 to 16"):
        PatternTable.canonical(np.zeros((1, 17), int), np.zeros((1, 17, 17), int))
    with pytest.raises(ValueError, match="edge type"):
        PatternTable.canonical(np.zeros((1, 2), int), np.full((1, 2, 2), 256))
    with pytest.raises(ValueError, match="node type"):
        PatternTable.canonical(np.full((1, 2), -1), np.zeros((1, 2, 2), int))
    with pytest.raises(ValueError, match="whole numbers"):
        PatternTable.canonical(np.full((1, 2), np.nan), np.zeros((1, 2, 2), int))
    with pytest.raises(ValueError, match=r"\[n, k, k\]"):
        PatternTable.canonical(np.zeros((1, 2), int), np.zeros((1, 3, 3), int))
