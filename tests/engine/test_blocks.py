"""Work in blocks finds what work on the whole set finds, bit for bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade import _core
from grade.engine import LOCAL
from grade.engine.matching import SpreadMatcher
from grade.engine.parts import MOST_NODES, bounds_of
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.storage import load_graph_set, save_graph_set
from grade.sampling import sample
from grade.sampling.census import add_counts, take_census
from grade.search.candidates import Keeping
from grade.search.supports import NO_GRAPHS, NO_OFFSETS, STEPS
from grade.search.triples import triples
from grade.sources import load
from tests.engine.in_blocks import Blocks

STEPS_FOREVER, FOREVER = 2**63, 1e9


@pytest.fixture(scope="module")
def zoo() -> GraphSet:
    return load("zoo-mini")


def test_a_slice_is_a_subset(zoo: GraphSet, tmp_path: Path) -> None:
    save_graph_set(zoo, tmp_path / "set")
    for first, last in ((0, 0), (0, 5), (3, 12), (12, 12)):
        wanted = zoo.subset(range(first, last))
        assert zoo.slice(first, last).digest == wanted.digest
        opened = load_graph_set(tmp_path / "set", (first, last))
        assert opened.digest == wanted.digest
        opened.check()


def test_a_slice_that_is_not_there_is_refused(zoo: GraphSet, tmp_path: Path) -> None:
    save_graph_set(zoo, tmp_path / "set")
    with pytest.raises(InputError, match="graphs 0 to 11, not all of 5 to 12"):
        load_graph_set(tmp_path / "set", (5, 13))


@pytest.mark.parametrize(
    "array", ["node_offsets", "node_types", "out_offsets", "out_targets", "in_sources", "in_types"]
)
def test_a_slice_that_is_not_what_was_saved_is_refused(zoo: GraphSet, tmp_path: Path, array: str) -> None:
    """A changed bit is found by who opens the graphs near it, without a look at the others."""
    save_graph_set(zoo, tmp_path / "set")
    place = tmp_path / "set" / f"{array}.npy"
    content = bytearray(place.read_bytes())
    content[-3] ^= 1
    place.write_bytes(bytes(content))
    with pytest.raises(InputError, match=rf"set is damaged \({array}.npy"):
        load_graph_set(tmp_path / "set", (10, 12))


def test_a_slice_does_not_mind_damage_far_away(zoo: GraphSet, tmp_path: Path) -> None:
    graphs = zoo.subset(np.tile(np.arange(len(zoo)), 40))  # 167,480 nodes: several stretches
    save_graph_set(graphs, tmp_path / "set")
    types = tmp_path / "set" / "node_types.npy"
    content = bytearray(types.read_bytes())
    content[-3] ^= 1
    types.write_bytes(bytes(content))
    assert load_graph_set(tmp_path / "set", (12, 24)).digest == zoo.digest
    with pytest.raises(InputError, match="node_types"):
        load_graph_set(tmp_path / "set", (12, 480))


def test_blocks_cover_the_set_and_are_of_bounded_size() -> None:
    random = np.random.default_rng(0)
    for graphs in (1, 7, 3000):
        counts = random.integers(0, 400, graphs)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        made = GraphSet.from_edges(
            node_counts=counts,
            node_types=np.zeros(offsets[-1], int),
            edge_counts=np.zeros(graphs, int),
            edges=[],
            node_vocabulary=["conv"],
        )
        bounds = bounds_of(made)
        assert [0, *(last for _, last in bounds)] == [*(first for first, _ in bounds), graphs]
        assert all(offsets[last] - offsets[first] < MOST_NODES + 400 for first, last in bounds)


@pytest.mark.parametrize("k", [2, 4])
def test_census(zoo: GraphSet, k: int) -> None:
    whole = take_census(zoo, k)
    parts = take_census(zoo, k, engine=Blocks(5))
    assert np.array_equal(whole.counts, parts.counts)
    assert np.array_equal(whole.patterns.keys, parts.patterns.keys)
    assert np.array_equal(whole.patterns.automorphisms, parts.patterns.automorphisms)


def test_counts_that_pass_64_bits_together_are_noticed() -> None:
    half = (np.zeros((1, 1), np.uint16), np.zeros((1, 1, 1), np.uint8), np.ones(1, int))
    below = np.array([2**63 - 1], np.uint64)
    assert add_counts([(*half, below), (*half, below)])[3].tolist() == [2**64 - 2]
    with pytest.raises(OverflowError):
        add_counts([(*half, below), (*half, below + np.uint64(2))])


@pytest.mark.parametrize("method", ["rand-esu", "rand-fase", "nrs", "stratified"])
def test_sample(zoo: GraphSet, method: str) -> None:
    whole = sample(zoo, 4, method, count=300, seed=3)
    parts = sample(zoo, 4, method, count=300, seed=3, engine=Blocks(5))
    assert np.array_equal(whole.occurrences, parts.occurrences)
    assert np.array_equal(whole.weights, parts.weights)
    assert whole.parts is not None
    assert parts.parts is not None
    ours, theirs = whole.parts.to_arrays(), parts.parts.to_arrays()
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize(
    "asked",
    [
        {"k": 3, "count": 100_000},  # more than there are: the leaves of one complete pass, several times
        {"k": 8, "count": 5000},  # probabilities lowered to the capacity
        {"k": 6, "count": 3000, "r": 1.0},  # several passes, roots left out
        {"k": 5, "count": 10, "probabilities": [0.5, 1, 1, 0.3, 0.01]},
    ],
)
@pytest.mark.parametrize("blocks", [2, 12])
def test_a_walk_through_the_tree_in_blocks(zoo: GraphSet, asked: dict[str, Any], blocks: int) -> None:
    whole = sample(zoo, seed=5, parts=0, **asked)
    parts = sample(zoo, seed=5, parts=0, engine=Blocks(blocks), **asked)
    assert np.array_equal(whole.occurrences, parts.occurrences)
    assert np.array_equal(whole.weights, parts.weights)
    assert np.array_equal(whole.pattern_ids, parts.pattern_ids)
    assert np.array_equal(whole.patterns.keys, parts.patterns.keys)
    assert {**whole.drawn, "seconds": 0} == {**parts.drawn, "seconds": 0}


def test_a_hopeless_request_is_refused_in_blocks_as_in_the_whole(zoo: GraphSet) -> None:
    sentences = []
    for engine in (LOCAL, Blocks(5)):
        with pytest.raises(InputError, match="lower r") as refused:
            sample(zoo, 8, count=1_000_000, r=40.0, parts=0, engine=engine)
        sentences.append(str(refused.value))
    assert sentences[0] == sentences[1]


@pytest.mark.parametrize("fusible", [False, True])
@pytest.mark.parametrize("blocks", [2, 12])
def test_every_question_of_the_matcher(zoo: GraphSet, fusible: bool, blocks: int) -> None:
    patterns = take_census(zoo, 4).patterns
    types, edges = patterns.node_types, patterns.edges
    whole = _core.Matcher(zoo.core, zoo.fusible_index if fusible else None)
    spread = SpreadMatcher(Blocks(blocks).over(zoo), fusible)
    flags = (np.arange(zoo.nodes) % 3 == 0).astype(np.uint8)
    some = np.flatnonzero(np.arange(3 * len(patterns)) % 5 == 0)
    asked = (some % len(zoo)).astype(np.uint32)
    offsets = np.linspace(0, len(asked), len(patterns) + 1).astype(np.int64)
    for at in range(len(patterns)):  # of each pattern ascending
        asked[offsets[at] : offsets[at + 1]].sort()
    for matchers in ((whole.find_graphs, spread.find_graphs),):
        for given in ((NO_OFFSETS, NO_GRAPHS), (offsets, asked)):
            same(*(ask(types, edges, *given, 0, len(zoo), 1, STEPS, None) for ask in matchers))
    same(*(m.pack_all(types, edges, 1, STEPS, None) for m in (whole, spread)))
    same(*(m.pack_free(types, edges, flags, 1, STEPS, None) for m in (whole, spread)))
    same(*(m.cover_beyond(types, edges, flags, 1, STEPS, None) for m in (whole, spread)))
    for least in (0, 20):
        same(*(m.find_images(types, edges, least, 1, STEPS, None)[::2] for m in (whole, spread)))
    same(*(m.find_images(types, edges, 0, 1, STEPS, None) for m in (whole, spread)))
    same(*(m.count_all(types, edges, 1, STEPS_FOREVER, None)[:-1] for m in (whole, spread)))
    for row in range(0, len(patterns), 40):
        one = types[row], edges[row]
        same(*(m.count(*one, True, 1, STEPS_FOREVER, FOREVER, None)[:-1] for m in (whole, spread)))
        same(*(m.pack(*one, 1, STEPS_FOREVER, FOREVER, None)[:-1] for m in (whole, spread)))
        same(*(m.list(*one, 7, STEPS_FOREVER, FOREVER, None)[:1] for m in (whole, spread)))
        for disjoint in (False, True):
            same(*([m.nodes_of(*one, flags, disjoint, STEPS, None)] for m in (whole, spread)))


def same(ours: object, theirs: object) -> None:
    for one, other in zip(ours, theirs, strict=True):  # type: ignore[call-overload]  # arrays or lists
        assert np.array_equal(one, other), (one, other)


@pytest.mark.parametrize("room", [300_000, 550_000, 600_000])
def test_lists_for_which_there_is_little_room(zoo: GraphSet, room: int) -> None:
    """They get as short in blocks as in the whole, and hold the same."""
    keeping = Keeping(2000, seed=4, room=room)
    whole, parts = (
        triples(zoo, lambda patterns: np.ones(len(patterns), bool), keeping, engine=engine)
        for engine in (LOCAL, Blocks(5))
    )
    assert whole.most == parts.most < 2000
    ours, theirs = whole.lists(), parts.lists()
    assert np.array_equal(whole.counts, parts.counts)
    assert np.array_equal(ours.occurrences, theirs.occurrences)
    assert np.array_equal(ours.weights, theirs.weights)
