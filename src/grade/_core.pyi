"""The native core: arrays in, arrays out. Types of the compiled module; the code is in native/."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Graph:
    """A graph set prepared for the kernels: merged neighbour lists, interned node and arc classes."""

    def __init__(
        self,
        node_offsets: NDArray[np.int64],
        node_types: NDArray[np.uint16],
        out_offsets: NDArray[np.int64],
        out_targets: NDArray[np.uint32],
        out_types: NDArray[np.uint8],
        in_offsets: NDArray[np.int64],
        in_sources: NDArray[np.uint32],
        in_types: NDArray[np.uint8],
        threads: int = 1,
    ) -> None: ...

def describe_graphs(
    node_offsets: NDArray[np.int64],
    node_types: NDArray[np.uint16],
    out_offsets: NDArray[np.int64],
    out_targets: NDArray[np.uint32],
    out_types: NDArray[np.uint8],
    in_offsets: NDArray[np.int64],
    in_sources: NDArray[np.uint32],
    in_types: NDArray[np.uint8],
    threads: int,
) -> tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64]]:
    """([graphs] components, cyclic, self-loops, isolated nodes, fingerprints) of a set whose every index is checked."""

def graph_classes(
    node_offsets: NDArray[np.int64],
    types: NDArray[np.uint32],
    out_offsets: NDArray[np.int64],
    out_targets: NDArray[np.uint32],
    out_labels: NDArray[np.uint32],
    in_offsets: NDArray[np.int64],
    in_sources: NDArray[np.uint32],
    in_labels: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """[graphs] numbers that are equal for isomorphic acyclic graphs, of any size."""

def block_levels(
    out_offsets: NDArray[np.int64], out_targets: NDArray[np.uint32], in_offsets: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """[nodes] longest path from a source; 2^32 - 1 on a directed cycle, a self-loop included, and below one."""

def grown_regions(
    types: NDArray[np.uint32],
    out_offsets: NDArray[np.int64],
    out_targets: NDArray[np.uint32],
    out_labels: NDArray[np.uint32],
    in_offsets: NDArray[np.int64],
    in_sources: NDArray[np.uint32],
    in_labels: NDArray[np.uint32],
    closed: NDArray[np.uint8],
    order: NDArray[np.uint32],
    begin_offsets: NDArray[np.int64],
    begins: NDArray[np.int64],
    sizes: NDArray[np.uint32],
    roots: NDArray[np.uint32],
    max_size: int,
) -> list[tuple[int, int, int, NDArray[np.uint32]]]:
    """(block, size, root, nodes [occurrences * size]) of the blocks that grow."""

def region_occurrences(
    types: NDArray[np.uint32],
    out_offsets: NDArray[np.int64],
    out_targets: NDArray[np.uint32],
    out_labels: NDArray[np.uint32],
    in_offsets: NDArray[np.int64],
    in_sources: NDArray[np.uint32],
    in_labels: NDArray[np.uint32],
    closed: NDArray[np.uint8],
    region_types: NDArray[np.uint32],
    region_edges: NDArray[np.uint32],
    region_root: int,
    roots: NDArray[np.uint32],
    taken: NDArray[np.uint8],
) -> NDArray[np.uint32]:
    """[found * nodes of the region] disjoint occurrences by their roots, which alone may be read from outside."""

def block_grammar(
    node_offsets: NDArray[np.int64],
    types: NDArray[np.uint32],
    out_offsets: NDArray[np.int64],
    out_targets: NDArray[np.uint32],
    out_labels: NDArray[np.uint32],
    in_offsets: NDArray[np.int64],
    in_sources: NDArray[np.uint32],
    in_labels: NDArray[np.uint32],
    closed: NDArray[np.uint8],
    min_count: int,
    min_graphs: int,
    max_size: int,
    outputs: int,
    progress: Callable[..., bool | None] | None,
) -> dict[str, Any]:
    """Symbols (first, second, copies, size, root, read_offsets, reads), units (unit_labels, unit_offsets, order) and
    levels of native/blocks.hpp.
    """

def canonical_forms(
    node_types: NDArray[np.uint16], edges: NDArray[np.uint8]
) -> tuple[NDArray[np.uint16], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.int64]]:
    """(types [n, k], edges [n, k, k], order [n, k], automorphisms [n]); order[p] is the node put at place p."""

def count_orders(edges: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """([n] linear extensions, [n] level orders) of digraphs [n, k, k]."""

def classify(
    graph: Graph,
    occurrences: NDArray[np.uint32],
    threads: int = 1,
    progress: Callable[..., bool | None] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.uint16], NDArray[np.uint8], NDArray[np.int64]]:
    """Occurrences [n, k] -> (pattern ids [n], types [m, k], edges [m, k, k], automorphisms [m])."""

def census(
    graph: Graph, k: int, threads: int, progress: Callable[..., bool | None] | None
) -> tuple[NDArray[np.uint16], NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint64]]:
    """(types [m, k], edges [m, k, k], automorphisms [m], counts [m]) of all connected induced k-subgraphs."""

def neighbours(
    graph: Graph, k: int, threads: int, progress: Callable[..., bool | None] | None
) -> tuple[NDArray[np.uint16], NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint64]]:
    """(types [m, k], edges [m, k, k], automorphisms [m], [m] neighbours of all occurrences together); patterns
    without are left out.
    """

def count_instances(graph: Graph, k: int, threads: int, progress: Callable[..., bool | None] | None) -> int:
    """Number of connected induced k-subgraphs."""

def enumerate(
    graph: Graph, k: int, count: int, threads: int, progress: Callable[..., bool | None] | None
) -> NDArray[np.uint32]:
    """All connected induced k-subgraphs [count, k] as ascending node ids, in a fixed order."""

def nas_bench_101_cells() -> tuple[
    NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32]
]:
    """(node counts [g], node types [nodes], edge counts [g], edges [edges, 2]) of the 423,624 unique cells."""

def largest_component(graph: Graph) -> int:
    """Number of nodes of the largest connected component."""

def ars(
    graph: Graph,
    k: int,
    count: int,
    weighting: str,
    seed: int,
    stream: int,
    most_attempts: int,
    threads: int,
    progress: Callable[..., bool | None] | None,
) -> tuple[NDArray[np.uint32], int, int, bool]:
    """(occurrences [count, k], accepted, attempts, given up)."""

def nrs(
    graph: Graph,
    k: int,
    count: int,
    weighting: str,
    seed: int,
    stream: int,
    threads: int,
    progress: Callable[..., bool | None] | None,
) -> NDArray[np.uint32]:
    """Occurrences [count, k]."""

def tree_roots(
    graph: Graph, p: float, seed: int, stream: int, tree_pass: int, before: int, independent: bool
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int]:
    """(members [n, 1], heads [n], children of all) of the roots of the enumeration tree that are entered."""

def tree_children(
    graph: Graph,
    members: NDArray[np.uint32],
    heads: NDArray[np.uint32],
    p: float,
    last_level: bool,
    seed: int,
    stream: int,
    tree_pass: int,
    before: int,
    independent: bool,
    threads: int,
    progress: Callable[..., bool | None] | None,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int]:
    """(members [m, d + 1], heads [m], children of all) of the children that are entered of nodes of depth d."""

def ids_of_set(graph: Graph, members: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """[n, k] nodes in the numbers of the core as ascending ids of the graph set."""

def places_of_choice(total: int, chosen: int, seed: int, stream: int) -> NDArray[np.uint64]:
    """[chosen] different places below ``total``, in random order: those that the samplers take."""

def sample_tree(
    graph: Graph,
    k: int,
    count: int,
    probabilities: NDArray[np.float64],
    capacity: int,
    weighting: str,
    seed: int,
    stream: int,
    trie: bool,
    threads: int,
    progress: Callable[..., bool | None] | None,
) -> dict[str, Any]:
    """occurrences [count, k], weights [count], probabilities [k], leaves, passes, hopeless; with the trie also
    pattern_ids [count], node_types [m, k], edges [m, k, k], automorphisms [m], trie_leaves."""

class FusibleIndex:
    """Where results leave the node sets of a graph set (native/fusible.hpp)."""

    def __init__(self, graph: Graph, outputs: NDArray[np.uint8]) -> None: ...

def fusible_sets(
    index: FusibleIndex,
    k: int,
    most: int,
    allowed: NDArray[np.uint8],
    most_in: int,
    most_out: int,
    most_edges: int,
    threads: int,
    progress: Callable[..., bool | None] | None,
) -> NDArray[np.uint32] | None:
    """All fusible sets [n, k] within the limits, graph by graph; None where there are more than ``most``."""

def join_patterns(
    node_types: NDArray[np.uint16],
    edges: NDArray[np.uint8],
    pair_types: NDArray[np.uint16],
    pair_edges: NDArray[np.uint8],
    most: int,
    threads: int,
    progress: Callable[[float], bool] | None,
) -> tuple[NDArray[np.uint16], NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32]] | int:
    """(types [m, k+1], edges, automorphisms [m], parts [m, k+1]) of the patterns all of whose connected parts are among
    canonical patterns [n, k]; where more than ``most`` are tried, a number they do not exceed (native/joins.hpp).
    """

def stratified(
    graph: Graph,
    k: int,
    room: int,
    hits: int,
    seed: int,
    stream: int,
    threads: int,
    progress: Callable[..., bool | None] | None,
) -> dict[str, Any]:
    """occurrences [n, k], weights [n], pattern_ids [n], node_types [m, k], edges [m, k, k], automorphisms [m], counts
    [m], quality [m]: 0 no bound on the error, 1 bounded, 2 exact."""

def connected_parts(
    node_types: NDArray[np.uint16],
    edges: NDArray[np.uint8],
    kept_types: NDArray[np.uint16],
    kept_edges: NDArray[np.uint8],
    threads: int,
) -> NDArray[np.int64]:
    """[n, k + 1] the row of the kept canonical k-pattern that remains of each (k+1)-pattern without a node, or -1."""

def growth_counts(
    graph: Graph,
    occurrences: NDArray[np.uint32],
    allowed: NDArray[np.uint8],
    distance: NDArray[np.uint8],
    steps_left: int,
    most_in: int,
    most_out: int,
    most_edges: int,
    fusible: FusibleIndex | None,
    threads: int,
    progress: Callable[..., bool | None] | None,
) -> NDArray[np.uint32]:
    """[n] number of nodes by which each occurrence [n, k] can be grown within the limits (native/expand.hpp)."""

def thin_lists(
    offsets: NDArray[np.int64],
    occurrences: NDArray[np.uint32],
    weights: NDArray[np.float64],
    most: int,
    seed: int,
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(rows that are kept of lists of occurrences [n, k], their weights): native/priorities.hpp."""

def exact_sums(numbers: NDArray[np.int32], terms: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """[n] sums of the terms with each number, the same for any order of the terms."""

class Collector:
    """Lists of weighted occurrences that come block by block (native/collect.hpp)."""

    def __init__(
        self,
        graph: Graph,
        k: int,
        most: int,
        room: int,
        seed: int,
        per_node: bool,
        first_node: int,
        threads: int,
    ) -> None: ...
    def grow(
        self,
        occurrences: NDArray[np.uint32],
        weights: NDArray[np.float64],
        rates: NDArray[np.float64],
        allowed: NDArray[np.uint8],
        distance: NDArray[np.uint8],
        steps_left: int,
        most_in: int,
        most_out: int,
        most_edges: int,
        fusible: FusibleIndex | None,
        share: int,
        shares: int,
        seed: int,
        progress: Callable[..., bool | None] | None,
    ) -> tuple[int, NDArray[np.uint16], NDArray[np.uint8], NDArray[np.int64]]:
        """Make the block that grows from occurrences [n, k - 1] in the order of their graphs: (number of the first
        new pattern, types, edges, automorphisms of the new ones).
        """
    def list(
        self, root: int, skip: int, most: int, progress: Callable[..., bool | None] | None
    ) -> tuple[int, int, tuple[int, NDArray[np.uint16], NDArray[np.uint8], NDArray[np.int64]]]:
        """Make a block of all occurrences from a place on: (root and skip of the next place, new patterns)."""
    def collect(
        self,
        first: int,
        divisors: NDArray[np.float64],
        complete: NDArray[np.uint8],
        wanted: NDArray[np.uint8],
        progress: Callable[..., bool | None] | None,
    ) -> None:
        """Take in the block that was made; the new patterns are judged."""
    def result(self) -> dict[str, Any]:
        """What is known of the wanted patterns that occur."""
    def lists(
        self, patterns: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]:
        """(offsets [m + 1], occurrences [n, k], weights [n]) of patterns by number."""
    def parts(self) -> dict[str, NDArray[Any]]:
        """All that is known, as arrays: occurrences with ids of the whole set of which the graph set is a slice."""
    def absorb(self, **parts: NDArray[Any]) -> None:
        """Take the `parts` of the collector of another slice; from then on ids are those of the whole set."""

def populations(graph: Graph) -> NDArray[np.uint64]:
    """[n, 3] node type, type of the self-loop (0: none), and number of nodes of each class."""

def give_back_memory() -> None:
    """Give freed memory back to the system, where that is not done by itself."""

def hash_node_sets(occurrences: NDArray[np.uint32], seed: int) -> NDArray[np.float64]:
    """[n] numbers in (0, 1] from the seed and the node sets [n, k]."""

def list_supports(
    graph: Graph,
    offsets: NDArray[np.int64],
    occurrences: NDArray[np.uint32],
    threads: int,
    progress: Callable[[float], bool] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """([m] graphs, [m] nodes covered) of lists of occurrences [n, k]."""

class Matcher:
    """Counts the induced occurrences of one pattern (node types [k], edges [k, k]) in a graph set.

    With ``fusible`` only fusible occurrences exist.
    """

    def __init__(
        self, graph: Graph, fusible: FusibleIndex | None, of_the_whole: NDArray[np.uint64] | None = None
    ) -> None:
        """``of_the_whole``: the `populations` of the larger set of which the graph is a slice."""
    def find_graphs(
        self,
        node_types: NDArray[np.uint16],
        edges: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        graphs: NDArray[np.uint32],
        least: int,
        enough: int,
        threads: int,
        steps: int,
        progress: Callable[..., bool | None] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.bool_]]:
        """(offsets [n + 1], graphs that hold each of n patterns, complete [n]); ``graphs[offsets]`` are those to look
        at, all where the offsets are empty, until ``enough`` are found or ``least`` are out of reach.
        """

    def pack_all(
        self,
        node_types: NDArray[np.uint16],
        edges: NDArray[np.uint8],
        threads: int,
        steps: int,
        progress: Callable[..., bool | None] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """(disjoint occurrences taken greedily [n], complete [n]) of n patterns."""

    def pack_free(
        self,
        node_types: NDArray[np.uint16],
        edges: NDArray[np.uint8],
        blocked: NDArray[np.uint8],
        threads: int,
        steps: int,
        progress: Callable[..., bool | None] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """(disjoint occurrences among the nodes that are not blocked [n], whether these are all)."""

    def cover_beyond(
        self,
        node_types: NDArray[np.uint16],
        edges: NDArray[np.uint8],
        covered: NDArray[np.uint8],
        threads: int,
        steps: int,
        progress: Callable[..., bool | None] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """(nodes that lie in an occurrence of each pattern and are not covered yet [n], whether these are all)."""

    def nodes_of(
        self,
        node_types: NDArray[np.uint16],
        edges: NDArray[np.uint8],
        blocked: NDArray[np.uint8],
        disjoint: bool,
        steps: int,
        progress: Callable[..., bool | None] | None,
    ) -> NDArray[np.uint32]:
        """The nodes of the occurrences that `pack_free` takes, or all that lie in some occurrence, ascending."""

    def find_images(
        self,
        node_types: NDArray[np.uint16],
        edges: NDArray[np.uint8],
        least: int,
        threads: int,
        steps: int,
        progress: Callable[..., bool | None] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
        """(minimum image-based support [n] or 0 if below ``least``, nodes covered [n], complete [n],
        nodes that can stand for each orbit [n, 16], -1 beyond the last) of n patterns.
        """

    def count(
        self,
        node_types: NDArray[np.uint16],
        edges: NDArray[np.uint8],
        coverage: bool,
        threads: int,
        steps: int,
        seconds: float,
        progress: Callable[..., bool | None] | None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64], int, bool, int]:
        """(graphs with an occurrence [g], counts [g], covered nodes or -1, complete, steps; 2^64 - 1 if cut off)."""

    def count_all(
        self,
        node_types: NDArray[np.uint16],
        edges: NDArray[np.uint8],
        threads: int,
        steps: int,
        progress: Callable[..., bool | None] | None,
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_], NDArray[np.uint64]]:
        """(counts [n], complete [n], steps [n]) of patterns [n, k], [n, k, k], each in at most so many steps."""

    def pack(
        self,
        node_types: NDArray[np.uint16],
        edges: NDArray[np.uint8],
        threads: int,
        steps: int,
        seconds: float,
        progress: Callable[..., bool | None] | None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64], bool, int]:
        """(graphs with an occurrence [g], disjoint occurrences taken greedily [g], complete, steps)."""

    def list(
        self,
        node_types: NDArray[np.uint16],
        edges: NDArray[np.uint8],
        limit: int,
        steps: int,
        seconds: float,
        progress: Callable[..., bool | None] | None,
    ) -> tuple[NDArray[np.uint32], bool, int]:
        """(the first occurrences [n, k] as ascending node ids, whether these are all, steps)."""

class QueryMatcher:
    """Answers queries over a graph set: patterns with wildcards, or not induced; with ``fusible`` as in `Matcher`."""

    def __init__(self, graph: Graph, fusible: FusibleIndex | None) -> None: ...
    def answer(
        self,
        node_types: NDArray[np.uint8],
        edges: NDArray[np.uint8],
        limit: int,
        threads: int,
        steps: int,
        seconds: float,
        progress: Callable[..., bool | None] | None,
    ) -> tuple[
        NDArray[np.uint32],
        NDArray[np.uint64],
        NDArray[np.uint64],
        NDArray[np.uint8],
        NDArray[np.uint32],
        bool,
    ]:
        """Which types each node [k, types] and each edge [k, k, 256] may have (0: no edge) to
        (graphs with an occurrence [g], counts [g], disjoint ones taken greedily [g], whether covered [nodes],
        the first occurrences [n, k] as ascending node ids, whether all is exact).
        """

def null_ensemble(
    graph: Graph,
    k: int,
    model: str,
    allow_cycles: bool,
    keep_pairs: bool,
    sweeps: float,
    seed: int,
    draws: int,
    by_graph: bool,
    threads: int,
    progress: Callable[..., bool | None] | None,
) -> dict[str, Any]:
    """node_types [m, k], edges [m, k, k], automorphisms [m]; of each pattern over the draws observed, mean, variance,
    at_least, at_most, most [m]; instances [draws], steps, accepted; by_graph: the same columns, graph and pattern."""

def null_series(
    graph: Graph,
    k: int,
    model: str,
    allow_cycles: bool,
    keep_pairs: bool,
    sweeps: float,
    seed: int,
    snapshots: int,
    threads: int,
    progress: Callable[..., bool | None] | None,
) -> tuple[NDArray[np.uint64], int, int]:
    """(counts [snapshots, observed patterns] along one chain, steps, accepted)."""

def null_draw(
    graph: Graph,
    model: str,
    allow_cycles: bool,
    keep_pairs: bool,
    sweeps: float,
    seed: int,
    draw: int,
    threads: int,
    progress: Callable[..., bool | None] | None,
) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """(edges [n, 2] of one draw as ids of the set, types [n]), self-loops left out."""

def graph_counts(
    graph: Graph, k: int, threads: int, progress: Callable[..., bool | None] | None
) -> tuple[
    NDArray[np.uint16],
    NDArray[np.uint8],
    NDArray[np.int64],
    tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64]],
]:
    """(types [m, k], edges [m, k, k], automorphisms [m], (graphs [n], patterns [n], counts [n])) of every graph."""

def node_orbits(
    graph: Graph, occurrences: NDArray[np.uint32]
) -> tuple[
    NDArray[np.uint16],
    NDArray[np.uint8],
    NDArray[np.int64],
    NDArray[np.uint32],
    NDArray[np.uint32],
    tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64]],
]:
    """(types [m, k], edges [m, k, k], automorphisms [m], patterns [o] and first places [o] of the orbits, (nodes [n],
    orbits [n], counts [n])) of occurrences."""
