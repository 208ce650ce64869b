"""Queries with wildcards and without inducedness, against networkx and igraph on random sets."""

from fnmatch import fnmatchcase
from itertools import permutations
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grade
from grade import GraphSet
from grade.errors import InputError
from grade.graphs import Pattern
from grade.graphs.queries import Query
from grade.verify import QueryVerifier, Verifier, read_patterns
from tests.graph_sets import graph_sets
from tests.reference import dense
from tests.search.brute_force import Plain

GLOBS = ("*", "conv", "input", "pool", "*o*", "??nv", "p*")


@st.composite
def queries(draw: st.DrawFn) -> Query:
    """A connected query of at most 5 nodes over the types of `graph_sets`."""
    k = draw(st.integers(1, 5))
    labels = [f"{draw(st.sampled_from(GLOBS))}#{i}" for i in range(k)]
    arcs: dict[tuple[int, int], str] = {}
    for node in range(1, k):
        other = draw(st.integers(0, node - 1))
        pair = (node, other) if draw(st.booleans()) else (other, node)
        arcs[pair] = draw(st.sampled_from(["->", "-skip->", "-*->"]))
    for _ in range(draw(st.integers(0, 2))):
        pair = draw(st.integers(0, k - 1)), draw(st.integers(0, k - 1))
        arcs.setdefault(pair, draw(st.sampled_from(["->", "-skip->", "-*->"])))
    chains = [f"{labels[i]} {arrow} {labels[j]}" for (i, j), arrow in arcs.items()]
    return Query("; ".join(chains or labels), induced=draw(st.booleans()))


def fits_node(query: Query, place: int, name: str) -> bool:
    return fnmatchcase(name, query.parsed.nodes[place].name)


def fits_edge(arrow: Any, kind: str) -> bool:
    return fnmatchcase(kind, "edge" if arrow is None else arrow.name)


def networkx_occurrences(graphs: GraphSet, query: Query) -> set[tuple[int, ...]]:
    """Node sets that networkx's VF2 maps the query to."""
    small = nx.DiGraph()
    small.add_nodes_from((i, {"place": i, "loop": None}) for i in range(query.size))
    for i, j, kind in query.parsed.edges:
        if i == j:
            small.nodes[i]["loop"] = [kind]
        else:
            small.add_edge(i, j, wanted=kind)
    found = set()
    for graph in range(len(graphs)):
        types, edges = dense(graphs, graph)
        large = nx.DiGraph()
        for node, kind in enumerate(types.tolist()):
            large.add_node(node, name=graphs.node_vocabulary[kind], loop=int(edges[node, node]))
        for i, j in np.argwhere(edges).tolist():
            if i != j:
                large.add_edge(i, j, kind=graphs.edge_vocabulary[edges[i, j]])

        def same_node(big: dict[str, Any], asked: dict[str, Any]) -> bool:
            if asked["loop"] is None:
                loops = query.induced is False or big["loop"] == 0
            else:
                loops = big["loop"] > 0 and fits_edge(asked["loop"][0], graphs.edge_vocabulary[big["loop"]])
            return loops and fits_node(query, asked["place"], big["name"])

        matcher = nx.algorithms.isomorphism.DiGraphMatcher(
            large, small, same_node, lambda big, asked: fits_edge(asked["wanted"], big["kind"])
        )
        maps = (
            matcher.subgraph_isomorphisms_iter() if query.induced else matcher.subgraph_monomorphisms_iter()
        )
        begin = int(graphs.node_offsets[graph])
        found |= {tuple(sorted(begin + node for node in mapping)) for mapping in maps}
    return found


@given(graph_sets(max_nodes=8), queries(), st.booleans())
def test_queries_against_networkx(graphs: GraphSet, query: Query, fusible: bool) -> None:
    expected = networkx_occurrences(graphs, query)
    if fusible:
        plain = Plain(graphs)
        expected = {nodes for nodes in expected if plain.is_fusible(nodes)}
    support, covered = QueryVerifier(graphs, threads=2, fusible=fusible).answer(query, examples=100_000)
    assert [tuple(row) for row in sorted(support.examples)] == sorted(expected)
    assert support.occurrences == len(expected)
    assert set(np.flatnonzero(covered).tolist()) == {node for nodes in expected for node in nodes}
    assert support.coverage == int(covered.sum())
    per_graph = [sum(graphs.graph_of(nodes[0]) == g for nodes in expected) for g in range(len(graphs))]
    assert support.per_graph == [(g, n) for g, n in enumerate(per_graph) if n]
    # a greedy packing: disjoint by construction, so never more than fit, and maximal
    assert (support.disjoint == 0) == (not expected)
    assert (support.disjoint or 0) * query.size <= (support.coverage or 0)


@pytest.mark.parametrize("seed", range(6))
def test_not_induced_against_igraph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = (rng.random((14, 14)) < 0.18).astype(np.uint8)
    np.fill_diagonal(edges, 0)
    types = rng.integers(0, 2, 14)
    arcs = np.argwhere(edges)
    graphs = GraphSet.from_edges(
        node_counts=[14], node_types=types, edge_counts=[len(arcs)], edges=arcs, node_vocabulary=["a", "b"]
    )
    query = Query("a#1 -> *#2 -> b#3; a#1 -> *#4; *#5 -> b#3", induced=False)
    large = igraph.Graph(n=14, edges=arcs.tolist(), directed=True)
    small = igraph.Graph(n=5, edges=[(i, j) for i, j, _ in query.parsed.edges], directed=True)
    domains = [
        [v for v in range(14) if node.wild or "ab"[types[v]] == node.name] for node in query.parsed.nodes
    ]
    mappings = large.get_subisomorphisms_lad(small, domains=domains, induced=False)
    assert mappings, "an oracle without an occurrence shows nothing"
    assert QueryVerifier(graphs).support(query).occurrences == len({tuple(sorted(m)) for m in mappings})


@given(graph_sets(max_nodes=7), st.integers(2, 4), st.randoms())
def test_a_query_without_wildcards_is_its_pattern(graphs: GraphSet, k: int, random: Any) -> None:
    graph = random.randrange(len(graphs))
    types, edges = dense(graphs, graph)
    if len(types) < k:
        return
    nodes = random.sample(range(len(types)), k)
    pattern = Pattern.of(
        types[nodes], edges[np.ix_(nodes, nodes)], graphs.node_vocabulary, graphs.edge_vocabulary
    )
    try:
        expected = Verifier(graphs, 1).support(pattern)
    except InputError:  # not connected: refused by both
        with pytest.raises(InputError, match="connected"):
            QueryVerifier(graphs).support(Query(str(pattern)))
        return
    found = QueryVerifier(graphs).support(Query(str(pattern)))
    assert (found.occurrences, found.graphs, found.coverage, found.per_graph) == (
        expected.occurrences,
        expected.graphs,
        expected.coverage,
        expected.per_graph,
    )


def test_a_star_of_twins_is_counted_without_its_permutations() -> None:
    leaves = 12
    star = GraphSet.from_edges(
        node_counts=[leaves + 1],
        node_types=[0] + [1] * leaves,
        edge_counts=[leaves],
        edges=[(0, i + 1) for i in range(leaves)],
        node_vocabulary=["hub", "leaf"],
    )
    query = Query("; ".join(f"hub -> leaf#{i}" for i in range(6)), induced=False)
    assert QueryVerifier(star).support(query).occurrences == 924  # 12 over 6


def test_what_is_cut_off_is_a_lower_bound() -> None:
    n = 40
    pairs = list(permutations(range(n), 2))
    clique = GraphSet.from_edges(
        node_counts=[n], node_types=[0] * n, edge_counts=[len(pairs)], edges=pairs, node_vocabulary=["a"]
    )
    query = Query("a#1 -> *#2 -> *#3 -> *#4 -> *#5 -> *#6 -> *#7", induced=False)
    support = QueryVerifier(clique).support(query, seconds=0.2)
    assert support.occurrences_quality == support.graphs_quality == support.coverage_quality == "lower bound"
    assert 0 < support.occurrences < 18_643_560


def test_patterns_are_taken_in_all_their_forms(tmp_path: Any) -> None:
    file = tmp_path / "patterns.txt"
    file.write_text("# two of them\nconv-relu: Conv -> Relu\n\n0.1/0>1\n* -> Relu\n")
    words = ["Conv", "Relu"], ["none", "edge"]
    found = read_patterns(str(file), *words)
    assert [(given.name, str(given.pattern)) for given in found] == [
        ("conv-relu", "Conv -> Relu"),
        ("", "Conv -> Relu"),
        ("", "* -> Relu"),
    ]
    assert [type(given.pattern) for given in found] == [Pattern, Pattern, Query]
    assert all(isinstance(given.pattern, Query) for given in read_patterns(str(file), *words, induced=False))
    with pytest.raises(InputError, match="did you mean 'Relu'"):
        read_patterns("Conv -> Rellu", *words)
    with pytest.raises(InputError, match=r"nowhere\.txt cannot be read as patterns"):
        read_patterns("nowhere.txt", *words)


def test_a_text_longer_than_a_file_name_is_a_pattern() -> None:
    edges = [f"Conv#{i} -> BatchNormalization#{i}; BatchNormalization#{i} -> Relu#{i}" for i in range(1, 6)]
    text = "; ".join([*edges, *(f"Relu#{i} -> Conv#{i + 1}" for i in range(1, 5))])
    assert len(text) > 255
    assert grade.count("zoo-mini", text).patterns[0].size == 15
