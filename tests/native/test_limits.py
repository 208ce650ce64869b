"""What the core does at its limits: sums past 64 bits, arrays past memory, arguments that no caller should give."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from grade import _core
from grade.errors import InputError
from grade.graphs import GraphSet, PatternTable
from grade.sampling.census import Census, take_census
from tests.native.test_census import random_set

NATIVE = Path(__file__).parents[2] / "native"


@pytest.fixture
def pair() -> GraphSet:
    return GraphSet.from_edges(
        node_counts=[3], node_types=[0, 0, 0], edge_counts=[2], edges=[[0, 1], [1, 2]], node_vocabulary=["a"]
    )


def test_the_sum_over_patterns_may_pass_64_bits() -> None:
    table = PatternTable.from_keys(["0.0/0>1", "0.1/0>1", "1.1/0>1"])
    census = Census("made up", 2, table, np.full(3, 2**63, np.uint64), 0.0, 1)
    assert census.instances == 3 * 2**63


@pytest.mark.parametrize("offsets", [[-1, 1], [0, 2], [1, 0], [-(2**62), 2**62], [0, 2**62]])
def test_list_supports_refuses_offsets_outside_the_occurrences(pair: GraphSet, offsets: list[int]) -> None:
    rows = np.array([[0, 1]], np.uint32)
    with pytest.raises(ValueError, match="offsets"):
        _core.list_supports(pair.core, np.array(offsets, np.int64), rows, 1, None)


@pytest.mark.parametrize("count", [2**61, 2**62 + 1, 2**64 - 1])
def test_an_array_whose_size_wraps_is_refused(pair: GraphSet, count: int) -> None:
    """The number of its bytes, count * 2 * 4, would be small if it wrapped."""
    with pytest.raises(OverflowError, match="cannot be addressed"):
        _core.enumerate(pair.core, 2, count, 1, None)


@pytest.mark.parametrize("edge_types", [1, 90])
def test_a_graph_is_the_same_whatever_the_threads_that_built_it(edge_types: int) -> None:
    rng = np.random.default_rng(5)
    n = 50_000
    arcs = np.unique(rng.integers(0, n, (2 * n, 2)), axis=0)
    graphs = GraphSet.from_edges(
        node_counts=[n],
        node_types=rng.integers(0, 300, n),
        edge_counts=[len(arcs)],
        edges=arcs,
        edge_types=rng.integers(1, edge_types + 1, len(arcs)),
        node_vocabulary=[f"type-{i}" for i in range(300)],
        edge_vocabulary=[f"edge-{i}" for i in range(edge_types + 1)],
    )
    arrays = (graphs.node_offsets, graphs.node_types, graphs.out_offsets, graphs.out_targets)
    arrays += (graphs.out_types, graphs.in_offsets, graphs.in_sources, graphs.in_types)
    results = []
    for threads in (1, 2, 5):
        core = _core.Graph(*arrays, threads)
        rows = _core.enumerate(core, 3, _core.count_instances(core, 3, 1, None), 1, None)
        results.append((rows, *_core.census(core, 3, 1, None)))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert np.array_equal(a, b)
    damaged = arrays[3].copy()
    damaged[len(damaged) // 2] = n  # a node that is not there, in a range of nodes that some thread reads
    for threads in (1, 2, 5):
        with pytest.raises(ValueError, match=r"leaves its graph|ascending"):
            _core.Graph(*arrays[:3], damaged, *arrays[4:], threads)


def test_classification_does_not_depend_on_threads() -> None:
    graphs = random_set(np.random.default_rng(8), 40, 60, 4, 2, 3.0)
    rows = _core.enumerate(graphs.core, 4, _core.count_instances(graphs.core, 4, 1, None), 1, None)
    assert len(rows) > 3 * 4096  # several blocks
    one = _core.classify(graphs.core, rows)
    for threads in (2, 3, 8):
        for a, b in zip(one, _core.classify(graphs.core, rows, threads), strict=True):
            assert np.array_equal(a, b)


def test_a_size_that_is_no_whole_number_is_refused(pair: GraphSet) -> None:
    with pytest.raises(InputError, match=r"k is 2\.0; give a whole number"):
        take_census(pair, 2.0)  # type: ignore[arg-type]  # a wrong type


def test_no_keys_are_no_patterns() -> None:
    with pytest.raises(InputError, match="give at least one"):
        PatternTable.from_keys([])


def test_small_patterns_read_nothing_of_larger_ones_before_them() -> None:
    """The canonical form reads rows 16 entries at a time: past the pattern there must be zeros."""
    rng = np.random.default_rng(3)

    def forms(k: int) -> list[str]:
        edges = np.triu(rng.integers(0, 2, (50, k, k)), 1).astype(np.uint8)
        edges[:, np.arange(k - 1), np.arange(1, k)] = 1  # connected
        table = PatternTable.canonical(rng.integers(0, 3, (50, k)), edges)
        return [pattern.key for pattern in table]

    first = {k: forms(k) for k in (2, 3, 5)}
    forms(16)
    rng = np.random.default_rng(3)
    for k in (2, 3, 5):
        assert forms(k) == first[k]


def test_lists_of_a_graph_behind_others_are_those_of_the_graph_alone() -> None:
    """Kernels index their working arrays by the place in the graph, which begins anywhere in the set."""
    rng = np.random.default_rng(8)
    several = random_set(rng, 4, 30, 3, 2, 2.0)
    last = several.subset([len(several) - 1])
    others = several.subset(range(len(several) - 1))
    for k in (3, 4, 5):
        whole = {p.key: n for p, n in take_census(several, k).top(10**6)}
        for part in (last, others):
            for pattern, count in take_census(part, k).top(10**6):
                whole[pattern.key] -= count
        assert set(whole.values()) == {0}


def test_sums_that_no_set_reaches_are_refused_past_64_bits(tmp_path: Path) -> None:
    """See wrapping.cpp: it is compiled with the sources that it includes."""
    program = tmp_path / "wrapping"
    sources = [NATIVE / f"{name}.cpp" for name in ("graph", "canonical", "pattern_map")]
    compiler = os.environ.get("CXX", "g++")
    here = Path(__file__).parent / "wrapping.cpp"
    flags = ["-std=c++20", "-O0", "-pthread", f"-I{NATIVE}"]
    # Sanitizers that this process was started with are not for the compiler.
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run([compiler, *flags, here, *sources, "-o", program], check=True, env=plain)
    done = subprocess.run([program], capture_output=True, text=True, check=False, env=plain)
    assert (done.returncode, done.stdout) == (0, "")
