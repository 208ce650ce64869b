"""Small graph spaces and samples that the estimators' tests share."""

import itertools
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.estimators import estimators, plain_settings
from grade.graphs import PatternTable, SubgraphSample
from grade.settings import EstimatorSettings
from grade.sources.nas_bench_201 import nas_bench_201


def settings_of(estimator: str, values: dict[str, Any], **changes: Any) -> EstimatorSettings:
    """Those of the values that the estimator has, and the changes, which it must have."""
    own = estimators[estimator].settings_type().values()
    return plain_settings(
        estimator, **{name: value for name, value in values.items() if name in own} | changes
    )


def sample_of(table: PatternTable, counts: NDArray[np.integer]) -> SubgraphSample:
    """A sample in which each pattern occurs so often; the occurrences themselves do not matter here."""
    ids = np.repeat(np.arange(len(table)), counts).astype(np.int32)
    return SubgraphSample(np.zeros((len(ids), table.size), np.uint32), np.ones(len(ids)), ids, table)


@cache
def census_201(k: int) -> tuple[PatternTable, NDArray[np.int64]]:
    """All patterns of NAS-Bench-201 and their exact counts."""
    graphs = nas_bench_201()
    types, edges, automorphisms, counts = _core.census(graphs.core, k, 1, None)
    vocabularies = (graphs.node_vocabulary, graphs.edge_vocabulary)
    return PatternTable(types, edges, automorphisms, *vocabularies), counts.astype(np.int64)


def uniform_sample(
    table: PatternTable, counts: NDArray[np.int64], occurrences: int, seed: int
) -> SubgraphSample:
    """Occurrences drawn uniformly (with replacement) from the census."""
    drawn = np.random.default_rng(seed).multinomial(occurrences, counts / counts.sum())
    rows = np.flatnonzero(drawn)
    return sample_of(table.take(rows), drawn[rows])


def all_matrices(
    k: int, node_types: int, edge_types: int = 2, upper: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Every typed digraph of k labelled nodes without self-loops: node types [n, k], edges [n, k, k]."""
    mask = np.triu(np.ones((k, k), bool), 1) if upper else ~np.eye(k, dtype=bool)
    states = itertools.product(
        itertools.product(range(node_types), repeat=k),
        itertools.product(range(edge_types), repeat=int(mask.sum())),
    )
    types, edges = [], []
    for nodes, slots in states:
        matrix = np.zeros((k, k), np.uint8)
        matrix[mask] = slots
        types.append(nodes)
        edges.append(matrix)
    return np.array(types, np.uint16), np.array(edges)


def all_classes(k: int, node_types: int, edge_types: int = 2, upper: bool = False) -> PatternTable:
    """Every isomorphism class of those digraphs, connected or not."""
    table = PatternTable.canonical(*all_matrices(k, node_types, edge_types, upper))
    return table.take(np.unique(table.keys, return_index=True)[1])
