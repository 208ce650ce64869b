"""Counts by graph and by node against brute force, networkx and the census."""

import json
from collections import Counter
from itertools import combinations, permutations
from pathlib import Path
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import load_npz
from scipy.spatial.distance import jensenshannon

from grade import GraphSet, InputError, Pattern
from grade.sampling.census import take_census
from grade.significance import features, profile_distance
from grade.significance.fingerprints import joint_profiles
from grade.sources import load
from tests.graph_sets import graph_sets
from tests.reference import connected_subsets, dense
from tests.significance.realisations import small_graph
from tests.significance.test_command import grade


@given(graph_sets(), st.integers(2, 4))
def test_rows_of_graphs_are_their_censuses(graphs: GraphSet, k: int) -> None:
    if graphs.largest < k:
        return
    found = features(graphs, k, threads=2)
    matrix = found.to_numpy()
    for graph in range(len(graphs)):
        single = graphs.subset([graph])
        counts = {}
        if single.largest >= k:
            census = take_census(single, k)
            counts = {p.key: c for p, c in zip(census.patterns, census.counts.tolist(), strict=True)}
        row = {name: c for name, c in zip(found.column_names, matrix[graph].tolist(), strict=True) if c}
        assert row == counts


def brute_force_orbits(graphs: GraphSet, k: int) -> Counter[tuple[int, str, int]]:
    """(node, key of the pattern, smallest place that the node can have in it): occurrences."""
    counts: Counter[tuple[int, str, int]] = Counter()
    for graph in range(len(graphs)):
        types, edges = dense(graphs, graph)
        first = int(graphs.node_offsets[graph])
        for nodes in connected_subsets(edges, k):
            own, matrix = types[list(nodes)], edges[np.ix_(nodes, nodes)]
            pattern = Pattern.of(own, matrix)
            wanted = np.array(pattern.node_types), np.array(pattern.edges)
            places: dict[int, int] = {}
            for order in permutations(range(k)):  # order[place] is the node there
                if (own[list(order)] == wanted[0]).all() and (
                    matrix[np.ix_(order, order)] == wanted[1]
                ).all():
                    for place, node in enumerate(order):
                        places[node] = min(place, places.get(node, k))
            for i, node in enumerate(nodes):
                counts[first + node, pattern.code, places[i]] += 1
    return counts


@given(graph_sets(max_graphs=2), st.integers(2, 4))
def test_rows_of_nodes_are_orbit_counts_by_brute_force(graphs: GraphSet, k: int) -> None:
    if graphs.largest < k:
        return
    found = features(graphs, k, per="node")
    codes = [pattern.code for pattern in found.patterns]
    assert len(set(found.column_names)) == len(found.column_names)
    ours = Counter(
        {
            (row, codes[found.column_patterns[column]], int(found.column_places[column])): count
            for row, column, count in zip(
                found.rows.tolist(), found.columns.tolist(), found.counts.tolist(), strict=True
            )
        }
    )
    assert ours == brute_force_orbits(graphs, k)


@given(graph_sets(max_graphs=2), st.integers(2, 4), st.randoms())
def test_names_of_orbits_do_not_depend_on_the_numbers_of_the_types(
    graphs: GraphSet, k: int, random: Random
) -> None:
    if graphs.largest < k:
        return
    order = list(range(len(graphs.node_vocabulary)))
    random.shuffle(order)
    renumbered = GraphSet.from_edges(
        node_counts=graphs.node_counts,
        node_types=np.argsort(order)[graphs.node_types],
        edge_counts=[len(graphs.edge_list(g)) for g in range(len(graphs))],
        edges=np.concatenate([graphs.edge_list(g) for g in range(len(graphs))]),
        edge_types=np.concatenate([graphs.edge_types_of(g) for g in range(len(graphs))]),
        node_vocabulary=[graphs.node_vocabulary[i] for i in order],
        edge_vocabulary=graphs.edge_vocabulary,
    )
    one, other = (
        {name: values.tolist() for name, values in zip(found.column_names, found.to_numpy().T, strict=True)}
        for found in (features(graphs, k, per="node"), features(renumbered, k, per="node"))
    )
    assert one == other


def test_undirected_orbits_are_those_of_networkx() -> None:
    """The orbits of 3-node graphlets from degrees and triangles."""
    network = nx.karate_club_graph()
    both = [(u, v) for a, b in network.edges for u, v in [(a, b), (b, a)]]
    graphs = small_graph([0] * 34, sorted(both))
    degrees, triangles = dict(network.degree), nx.triangles(network)
    path_ends = {
        v: sum(degrees[u] - 1 for u in network[v]) - 2 * triangles[v] for v in network
    }  # paths v - u - w, w not next to v
    middles = {v: degrees[v] * (degrees[v] - 1) // 2 - triangles[v] for v in network}
    found = features(graphs, 3, per="node")
    matrix = found.to_numpy()
    assert matrix.shape == (34, 3)
    triangle = int(np.argmax(found.patterns.edges.reshape(len(found.patterns), -1).sum(axis=1)))
    for column, (pattern, place) in enumerate(zip(found.column_patterns, found.column_places, strict=True)):
        links = int((found.patterns.edges[pattern][place] > 0).sum())
        wanted = triangles if pattern == triangle else middles if links == 2 else path_ends
        assert matrix[:, column].tolist() == [wanted[v] for v in range(34)]


ORBITS = {  # (degrees in the graphlet, of the node): number of the orbit (Przulj 2007)
    ((1, 1, 2, 2), 1): 4,
    ((1, 1, 2, 2), 2): 5,
    ((1, 1, 1, 3), 1): 6,
    ((1, 1, 1, 3), 3): 7,
    ((2, 2, 2, 2), 2): 8,
    ((1, 2, 2, 3), 1): 9,
    ((1, 2, 2, 3), 2): 10,
    ((1, 2, 2, 3), 3): 11,
    ((2, 2, 3, 3), 2): 12,
    ((2, 2, 3, 3), 3): 13,
    ((3, 3, 3, 3), 3): 14,
}


def test_undirected_orbits_of_4_nodes_are_those_of_networkx() -> None:
    """Every count of every node, as ORCA numbers them: graphlets of 4 nodes and their orbits follow from degrees."""
    network = nx.karate_club_graph()
    both = [(u, v) for a, b in network.edges for u, v in [(a, b), (b, a)]]
    found = features(small_graph([0] * 34, sorted(both)), 4, per="node")
    wanted = np.zeros((34, 15), int)
    for nodes in combinations(range(34), 4):
        part = network.subgraph(nodes)
        degrees = dict(part.degree)
        if min(degrees.values()) == 0 or part.number_of_edges() < 3:  # else 4 nodes are connected
            continue
        for node, degree in degrees.items():
            wanted[node, ORBITS[tuple(sorted(degrees.values())), degree]] += 1
    matrix = found.to_numpy()
    assert matrix.shape == (34, 11)
    seen = set()
    for column, (pattern, place) in enumerate(zip(found.column_patterns, found.column_places, strict=True)):
        degrees = (found.patterns.edges[pattern] > 0).sum(axis=1)
        orbit = ORBITS[tuple(sorted(degrees.tolist())), int(degrees[place])]
        assert matrix[:, column].tolist() == wanted[:, orbit].tolist(), orbit
        seen.add(orbit)
    assert seen == set(range(4, 15))


def test_files_have_names_and_load_elsewhere(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    graphs = load("zoo-mini")
    sparse, table = tmp_path / "f.npz", tmp_path / "f.parquet"
    for out in (sparse, table):
        done = grade("features", "zoo-mini", "-k", "3", "--values", "shares", "--out", str(out), "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
    matrix = load_npz(sparse)
    assert matrix.shape == (report["rows"], report["columns"]) == (12, len(take_census(graphs, 3).patterns))
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    with np.load(sparse) as file:
        assert list(file["row_names"]) == list(graphs.graph_names)
        assert [p.key for p in take_census(graphs, 3).patterns] == list(file["column_names"])
    columns = pyarrow.read_table(table)
    assert columns["graph"].to_pylist() == list(graphs.graph_names)
    np.testing.assert_allclose(
        np.stack([columns[name].to_numpy() for name in columns.column_names[1:]], axis=1), matrix.toarray()
    )


def test_distance_of_profiles_equals_scipy_and_knows_types_by_name() -> None:
    one = small_graph([0, 1, 0, 1, 2], [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    other = GraphSet.from_edges(  # another vocabulary: c, a, b
        node_counts=[5],
        node_types=[1, 2, 1, 2, 2],
        edge_counts=[4],
        edges=[[0, 1], [1, 2], [2, 3], [3, 4]],
        node_vocabulary=["c", "a", "b"],
        edge_vocabulary=one.edge_vocabulary,
    )
    a, b = features(one, 3), features(other, 3)
    _, p, q = joint_profiles(a, b)
    assert p.sum() == pytest.approx(1)
    assert q.sum() == pytest.approx(1)
    distance, parts = profile_distance(a, b)
    assert distance == pytest.approx(jensenshannon(p, q, base=2))
    assert 0 < distance < 1
    assert parts.sum() == pytest.approx(1)
    assert profile_distance(b, a)[0] == pytest.approx(distance)
    relabelled = GraphSet.from_edges(
        node_counts=[5],
        node_types=[2, 0, 2, 0, 1],
        edge_counts=[5],
        edges=[[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]],
        node_vocabulary=["b", "c", "a"],
        edge_vocabulary=one.edge_vocabulary,
    )
    assert profile_distance(a, features(relabelled, 3))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--per", "edge", "--out", "x.npz"], "Features are per 'edge'"),
        (["--values", "count", "--out", "x.npz"], "The values are 'count'"),
        (["--out", "x.csv"], "x.csv must end in .npz or .parquet"),
    ],
)
def test_wrong_flags_get_one_sentence(arguments: list[str], sentence: str) -> None:
    done = grade("features", "zoo-mini", "-k", "3", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_features_of_another_kind_are_not_compared() -> None:
    graphs = small_graph([0, 1, 0], [(0, 1), (1, 2)])
    with pytest.raises(InputError, match="Only features per graph, of patterns of the same size"):
        profile_distance(features(graphs, 2), features(graphs, 3))
