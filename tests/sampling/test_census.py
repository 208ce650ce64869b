import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import grade.sampling.census as census_module
from grade import GraphSet, InputError
from grade.errors import FileError
from grade.progress import Stopped
from grade.sampling.census import Census, checksum, collect_occurrences, take_census
from grade.sources import load
from tests.graph_sets import counted, graph_sets, raw_graph_sets
from tests.reference import brute_force_census, connected_subsets, dense


@pytest.fixture(scope="module")
def mini() -> GraphSet:
    return load("zoo-mini")


def edges_only(count: int) -> GraphSet:
    """Graphs of two nodes and one edge."""
    return GraphSet.from_edges(
        node_counts=[2] * count,
        node_types=[0, 1] * count,
        edge_counts=[1] * count,
        edges=[[0, 1]] * count,
        node_vocabulary=["input", "conv"],
        origin="pairs",
    )


@given(graph_sets(max_graphs=3), st.integers(2, 4))
def test_against_brute_force(graphs: GraphSet, k: int) -> None:
    assume(k <= graphs.largest)
    assert counted(take_census(graphs, k)) == brute_force_census(graphs, k)


@given(raw_graph_sets(), st.integers(2, 5), st.randoms(use_true_random=False))
def test_neither_numbering_nor_order_matters(raw: dict[str, Any], k: int, random: Any) -> None:
    graphs = GraphSet.from_edges(**raw)
    assume(k <= graphs.largest)
    shuffled = relabelled(raw, random)
    one, other = take_census(graphs, k), take_census(shuffled, k)
    np.testing.assert_array_equal(one.patterns.keys, other.patterns.keys)
    np.testing.assert_array_equal(one.patterns.automorphisms, other.patterns.automorphisms)
    np.testing.assert_array_equal(one.counts, other.counts)


def relabelled(raw: dict[str, Any], random: Any) -> GraphSet:
    """The same graphs with nodes numbered anew, edges shuffled, and graphs in another order."""
    graphs, node, edge = [], 0, 0
    for node_count, edge_count in zip(raw["node_counts"], raw["edge_counts"], strict=True):
        order = random.sample(range(node_count), node_count)  # node i becomes order[i]
        types = [0] * node_count
        for i in range(node_count):
            types[order[i]] = raw["node_types"][node + i]
        arcs = [
            ((order[i], order[j]), kind)
            for (i, j), kind in zip(
                raw["edges"][edge : edge + edge_count],
                raw["edge_types"][edge : edge + edge_count],
                strict=True,
            )
        ]
        random.shuffle(arcs)
        graphs.append((types, arcs))
        node, edge = node + node_count, edge + edge_count
    random.shuffle(graphs)
    return GraphSet.from_edges(
        node_counts=[len(types) for types, _ in graphs],
        node_types=[kind for types, _ in graphs for kind in types],
        edge_counts=[len(arcs) for _, arcs in graphs],
        edges=[ends for _, arcs in graphs for ends, _ in arcs],
        edge_types=[kind for _, arcs in graphs for _, kind in arcs],
        node_vocabulary=raw["node_vocabulary"],
        edge_vocabulary=raw["edge_vocabulary"],
    )


@pytest.mark.parametrize("k", [3, 5])
def test_the_number_of_threads_does_not_matter(mini: GraphSet, k: int) -> None:
    one, three = take_census(mini, k, threads=1), take_census(mini, k, threads=3)
    assert (one.threads, three.threads) == (1, 3)
    np.testing.assert_array_equal(one.patterns.keys, three.patterns.keys)
    np.testing.assert_array_equal(one.counts, three.counts)


def test_the_census_of_a_saved_set_is_the_same(mini: GraphSet, tmp_path: Path) -> None:
    from grade.graphs.storage import load_graph_set, save_graph_set

    save_graph_set(mini, tmp_path / "mini")
    one, other = take_census(mini, 4), take_census(load_graph_set(tmp_path / "mini"), 4)
    np.testing.assert_array_equal(one.patterns.keys, other.patterns.keys)
    np.testing.assert_array_equal(one.counts, other.counts)


def test_the_top_is_sorted_by_count(mini: GraphSet) -> None:
    census = take_census(mini, 4)
    counts = [count for _, count in census.top(len(census.patterns) + 5)]
    assert counts == sorted(census.counts.tolist(), reverse=True)
    pattern, count = census.top(1)[0]
    (row,) = [i for i, other in enumerate(census.patterns) if other == pattern]
    assert census.counts[row] == count == census.counts.max()
    assert census.top(0) == []
    with pytest.raises(InputError, match="is -1; give 0 or more"):
        census.top(-1)


def test_ties_keep_the_order_of_the_patterns_however_large_the_counts(mini: GraphSet) -> None:
    patterns = take_census(mini, 4).patterns.take([0, 1, 2])
    counts = np.array([2**60, 2**60 + 1, 2**60], np.uint64)
    census = Census("test", 4, patterns, counts, 0.0, 1)
    assert [count for _, count in census.top(3)] == [2**60 + 1, 2**60, 2**60]
    assert [pattern for pattern, _ in census.top(3)] == [patterns[1], patterns[0], patterns[2]]
    assert census.instances == 3 * 2**60 + 1


def test_patterns_carry_the_names_of_their_types() -> None:
    census = take_census(edges_only(3), 2)
    ((pattern, count),) = census.top(5)
    assert (str(pattern), count, census.instances, len(census.patterns)) == ("input -> conv", 3, 3, 1)
    assert census.set == "pairs"


def test_graphs_without_connected_subgraphs_give_an_empty_census() -> None:
    graphs = GraphSet.from_edges(
        node_counts=[3], node_types=[0, 0, 0], edge_counts=[0], edges=[], node_vocabulary=["conv"]
    )
    census = take_census(graphs, 3)
    assert (census.instances, len(census.patterns), census.top(5)) == (0, 0, [])


@pytest.mark.parametrize("k", [-1, 0, 1, 17])
def test_a_size_out_of_range_is_refused(k: int) -> None:
    for work in (take_census, collect_occurrences):
        with pytest.raises(InputError, match=f"The subgraph size k is {k}; give 2 to 16"):
            work(edges_only(1), k)


def test_a_size_above_every_graph_is_refused() -> None:
    with pytest.raises(
        InputError, match="k is 3, but the largest graph of pairs has 2 nodes; give a smaller"
    ):
        take_census(edges_only(5), 3)


def test_an_empty_set_is_refused() -> None:
    with pytest.raises(InputError, match="pairs has no nodes"):
        take_census(edges_only(1).subset([]), 2)


@pytest.mark.parametrize("threads", [0, -1, 100_000])
def test_a_number_of_threads_out_of_range_is_refused(threads: int) -> None:
    with pytest.raises(InputError, match="number of threads"):
        take_census(edges_only(1), 2, threads=threads)


def test_progress_can_stop_the_work() -> None:
    shares: list[float] = []

    def stop(share: float) -> bool:
        shares.append(share)
        return False

    with pytest.raises(Stopped):
        take_census(load("zoo"), 7, progress=stop)
    assert len(shares) == 1
    assert 0 <= shares[0] <= 1


@given(graph_sets(max_graphs=3), st.integers(2, 4))
def test_occurrences_are_all_connected_subsets(graphs: GraphSet, k: int) -> None:
    assume(k <= graphs.largest)
    expected = [
        [int(graphs.node_offsets[graph]) + node for node in nodes]
        for graph in range(len(graphs))
        for nodes in connected_subsets(dense(graphs, graph)[1], k)
    ]
    occurrences = collect_occurrences(graphs, k)
    assert occurrences.dtype == np.uint32
    assert occurrences.shape == (len(expected), k)
    assert sorted(occurrences.tolist()) == sorted(expected)
    assert (np.diff(occurrences.astype(np.int64), axis=1) > 0).all()


def test_more_occurrences_than_the_limit_are_refused(mini: GraphSet) -> None:
    count = take_census(mini, 3).instances
    assert len(collect_occurrences(mini, 3, limit=count)) == count
    with pytest.raises(
        InputError, match=f"zoo-mini has {count:,} occurrences of 3 nodes, more than the limit"
    ):
        collect_occurrences(mini, 3, limit=count - 1)


def test_more_occurrences_than_memory_are_refused_before_they_are_collected(
    mini: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = take_census(mini, 3).instances
    monkeypatch.setattr(census_module, "available_memory", lambda: 12 * count)
    assert len(collect_occurrences(mini, 3)) == count
    monkeypatch.setattr(census_module, "available_memory", lambda: 12 * count - 1)
    with pytest.raises(InputError, match="GiB are free; draw a sample instead"):
        collect_occurrences(mini, 3)


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".NPZ"])
def test_a_file_gives_the_census_back(mini: GraphSet, tmp_path: Path, suffix: str) -> None:
    census = take_census(mini, 4)
    path = tmp_path / f"census{suffix}"
    census.save(path)
    back = Census.load(path)
    np.testing.assert_array_equal(back.patterns.keys, census.patterns.keys)
    np.testing.assert_array_equal(back.patterns.automorphisms, census.patterns.automorphisms)
    np.testing.assert_array_equal(back.counts, census.counts)
    assert back.patterns.node_vocabulary == census.patterns.node_vocabulary
    assert back.patterns.edge_vocabulary == census.patterns.edge_vocabulary
    for name in ("set", "k", "seconds", "threads", "instances"):
        assert getattr(back, name) == getattr(census, name), name
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_an_empty_census_survives_a_file(tmp_path: Path, suffix: str) -> None:
    graphs = GraphSet.from_edges(
        node_counts=[3], node_types=[0, 0, 0], edge_counts=[0], edges=[], node_vocabulary=["conv"]
    )
    take_census(graphs, 3).save(tmp_path / f"empty{suffix}")
    back = Census.load(tmp_path / f"empty{suffix}")
    assert (back.k, len(back.patterns), back.instances) == (3, 0, 0)


def test_parquet_is_readable_by_others(tmp_path: Path) -> None:
    import pyarrow.parquet

    take_census(edges_only(3), 2).save(tmp_path / "census.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "census.parquet").to_pylist() == [
        {
            "key": "input -> conv",
            "count": 3,
            "automorphisms": 1,
            "node_types": ["input", "conv"],
            "code": "0.1/0>1",
        }
    ]


def test_a_failed_save_leaves_the_old_file(
    mini: GraphSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "census.npz"
    take_census(mini, 3).save(path)

    def full_disk(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(FileError, match=r"census\.npz cannot be written \(No space left on device\)"):
        take_census(mini, 4).save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert Census.load(path).k == 3


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"census\.csv must end in \.npz or \.parquet"):
        take_census(edges_only(1), 2).save(tmp_path / "census.csv")
    assert list(tmp_path.iterdir()) == []


def test_parquet_without_pyarrow_says_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install grade-motifs\[parquet\]"):
        take_census(edges_only(1), 2).save(tmp_path / "census.parquet")
    assert list(tmp_path.iterdir()) == []


def refused(path: Path, reason: str = "is not a census, or is damaged; make one with") -> None:
    with pytest.raises(InputError) as error:
        Census.load(path)
    assert str(path) in str(error.value)
    assert reason in str(error.value)


def with_its_checksum(content: dict[str, Any]) -> dict[str, Any]:
    """What a forger would write, who knows of the checksum."""
    description = json.loads(str(content["description"]))
    arrays = (content[name] for name in ("node_types", "edges", "counts"))
    description["sha256"] = checksum(description, *arrays)
    return {**content, "description": np.array(json.dumps(description))}


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_damaged_and_foreign_files_are_refused(mini: GraphSet, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"census{suffix}"
    refused(path, "There is no census")
    take_census(mini, 3).save(path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-9], b"", b"text"):
        path.write_bytes(content)
        refused(path)


def test_other_arrays_and_tables_are_refused(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    refused(tmp_path / "other.npz")
    pyarrow.parquet.write_table(pyarrow.table({"key": ["0.1/0>1"], "count": [1]}), tmp_path / "other.parquet")
    refused(tmp_path / "other.parquet")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("counts", lambda counts: counts[:-1]),
        ("counts", lambda counts: counts.astype(np.float64)),
        ("node_types", lambda types: types[:, ::-1]),  # no longer canonical
        ("node_types", lambda types: types + 1000),  # not in the vocabulary
        ("edges", lambda edges: edges[:, :2, :2]),
        ("edges", lambda edges: edges * 2),  # not in the vocabulary
        ("node_types", lambda types: np.concatenate([types[:1], types[:-1]])),  # one pattern twice
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(
    mini: GraphSet, tmp_path: Path, name: str, change: Any
) -> None:
    path = tmp_path / "census.npz"
    take_census(mini, 3).save(path)
    with np.load(path) as archive:
        content = dict(archive)
    changed = {**content, name: change(content[name])}
    np.savez(path, **changed)
    refused(path)
    np.savez(path, **with_its_checksum(changed))
    refused(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 3}, "is of a newer format; install a newer GraDE"),
        ({"format": "grade-sample"}, "is not a census, or is damaged"),
        ({"k": 4}, "is not a census, or is damaged"),
        ({"node_vocabulary": None}, "is not a census, or is damaged"),
    ],
)
def test_another_description_is_refused(
    mini: GraphSet, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "census.npz"
    take_census(mini, 3).save(path)
    with np.load(path) as archive:
        content = dict(archive)
    description = {**json.loads(str(content["description"])), **change}
    changed = {**content, "description": np.array(json.dumps(description))}
    np.savez(path, **changed)
    refused(path, reason)
    np.savez(path, **with_its_checksum(changed))
    refused(path, reason)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_a_count_that_was_changed_is_refused(mini: GraphSet, tmp_path: Path, suffix: str) -> None:
    """A census that is right in every other respect."""
    census = take_census(mini, 3)
    other = replace(census, counts=census.counts + np.uint64(1))
    paths = [tmp_path / f"{name}{suffix}" for name in ("one", "other")]
    census.save(paths[0])
    other.save(paths[1])
    if suffix == ".npz":
        with np.load(paths[0]) as one, np.load(paths[1]) as two:
            mixed = {**dict(one), "counts": two["counts"]}
        np.savez(paths[0], **mixed)
    else:
        import pyarrow.parquet

        one, two = (pyarrow.parquet.read_table(path) for path in paths)
        pyarrow.parquet.write_table(two.replace_schema_metadata(one.schema.metadata), paths[0])
    refused(paths[0])
    Census.load(paths[1])
