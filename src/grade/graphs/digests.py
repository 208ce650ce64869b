"""A digest of the exact structure of each graph, to find equal graphs.

Nodes are put into an order that does not depend on how they were numbered, as far as that is cheap to find:
colour refinement (each node's colour is mixed with those of its neighbours, round by round) tells nodes apart by
their surroundings, and the nodes are sorted by colour. The digest is that of all types and edges in this order.
So graphs with equal digests are isomorphic, types and all. The converse holds where refinement tells all nodes
apart, or where those it leaves alike are numbered in the same order: copies of a model have equal digests, and so
nearly always has a model whose operators were merely listed in another order.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from grade.graphs.graph_set import GraphSet
from grade.graphs.in_pieces import ranges_of_graphs

ROUNDS = 16
PIECE = 2_000_000  # nodes that are worked on at a time

Colours = NDArray[np.uint64]


def structure_digests(graphs: GraphSet) -> list[bytes]:
    """A digest of 32 bytes for each graph. It depends on the names of types, not on their numbers.

    >>> def triangle(types, edges):
    ...     return GraphSet.from_edges(node_counts=[3], node_types=types, edge_counts=[2], edges=edges,
    ...                                node_vocabulary=["conv", "add"])
    >>> one, other = triangle([0, 0, 1], [[0, 1], [1, 2]]), triangle([1, 0, 0], [[1, 2], [2, 0]])
    >>> structure_digests(one) == structure_digests(other)
    True
    >>> structure_digests(one) == structure_digests(triangle([0, 0, 1], [[1, 0], [1, 2]]))
    False
    """
    digests: list[bytes] = []
    for first, last in ranges_of_graphs(graphs.node_offsets, PIECE):
        whole = first == 0 and last == len(graphs)
        digests += digests_of_piece(graphs if whole else graphs.subset(np.arange(first, last)))
    return digests


def digests_of_piece(graphs: GraphSet) -> list[bytes]:
    node_words, edge_words = word_digests(graphs.node_vocabulary), word_digests(graphs.edge_vocabulary)
    colours = refine(graphs, first_numbers(node_words), first_numbers(edge_words))
    graph_of_node = np.repeat(np.arange(len(graphs)), graphs.node_counts)
    order = np.lexsort((colours, graph_of_node))  # ties stay as they are numbered
    place = np.empty(graphs.nodes, np.int64)
    place[order] = np.arange(graphs.nodes)
    place -= graphs.node_offsets[graph_of_node]

    sources = np.repeat(np.arange(graphs.nodes), np.diff(graphs.out_offsets))
    ends = np.stack([place[sources], place[graphs.out_targets]], axis=1)
    edge_order = np.lexsort((ends[:, 1], ends[:, 0], graph_of_node[sources]))
    ends, kinds = ends[edge_order].astype("<u4"), edge_words[graphs.out_types[edge_order]]
    types = node_words[graphs.node_types[order]]
    digests = []
    edge_offsets = graphs.out_offsets[graphs.node_offsets]
    for graph in range(len(graphs)):
        nodes = slice(graphs.node_offsets[graph], graphs.node_offsets[graph + 1])
        edges = slice(edge_offsets[graph], edge_offsets[graph + 1])
        digest = hashlib.blake2b(
            int(graphs.node_offsets[graph + 1] - nodes.start).to_bytes(8, "little"), digest_size=32
        )
        for part in (types[nodes], ends[edges], kinds[edges]):
            digest.update(part.tobytes())
        digests.append(digest.digest())
    return digests


def refine(graphs: GraphSet, node_words: Colours, edge_words: Colours) -> Colours:
    """[nodes] colours after a fixed number of rounds: fixed, so that they do not depend on the other graphs."""
    colours = mix(node_words[graphs.node_types])
    incoming, outgoing = edge_words[graphs.in_types], edge_words[graphs.out_types] * np.uint64(3)
    for _ in range(ROUNDS):
        from_sources = segment_sums(mix(colours[graphs.in_sources] + incoming), graphs.in_offsets)
        from_targets = segment_sums(mix(colours[graphs.out_targets] + outgoing), graphs.out_offsets)
        colours = mix(colours * np.uint64(5) + mix(from_sources) + from_targets)
    return colours


def mix(values: Colours) -> Colours:
    """A bijection of 64-bit numbers in which every bit depends on every bit (multiply, shift, fold)."""
    values = (values ^ (values >> np.uint64(32))) * np.uint64(0x9E37_79B9_7F4A_7C15)
    values = (values ^ (values >> np.uint64(29))) * np.uint64(0xD6E8_FEB8_6659_FD93)
    return values ^ (values >> np.uint64(32))


def segment_sums(values: Colours, offsets: NDArray[np.int64]) -> Colours:
    """Sums (modulo 2^64) of consecutive segments, which may be empty."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    difference: Colours = sums[offsets[1:]] - sums[offsets[:-1]]
    return difference


def word_digests(words: tuple[str, ...]) -> NDArray[np.void]:
    """[words] 16 bytes for each word: enough to avoid collisions."""
    digests = [hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=16).digest() for word in words]
    return np.array(digests, "V16")


def first_numbers(digests: NDArray[np.void]) -> Colours:
    return np.frombuffer(digests.tobytes(), "<u8")[::2].astype(np.uint64)
