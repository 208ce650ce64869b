"""Acyclic graph sets for tests."""

from random import Random

from hypothesis import strategies as st

from grade import GraphSet


@st.composite
def acyclic_sets(draw: st.DrawFn, max_graphs: int = 3, max_nodes: int = 14) -> GraphSet:
    """Few types, so that much repeats; nodes in any order, edges of two types, isolated nodes, empty graphs."""
    counts = draw(st.lists(st.integers(0, max_nodes), min_size=1, max_size=max_graphs))
    edges: list[tuple[int, int]] = []
    kinds: list[int] = []
    edge_counts = []
    for count in counts:
        shuffled = draw(st.permutations(range(count)))
        pairs = [(i, j) for j in range(count) for i in range(j)]
        chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * count)) if pairs else []
        edges += [(shuffled[i], shuffled[j]) for i, j in chosen]
        kinds += draw(st.lists(st.integers(1, 2), min_size=len(chosen), max_size=len(chosen)))
        edge_counts.append(len(chosen))
    nodes = sum(counts)
    return GraphSet.from_edges(
        node_counts=counts,
        node_types=draw(st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes)),
        edge_counts=edge_counts,
        edges=edges,
        edge_types=kinds,
        node_vocabulary=["add", "conv", "relu"],
        edge_vocabulary=["none", "edge", "skip"],
    )


@st.composite
def stacks(draw: st.DrawFn) -> tuple[GraphSet, int, int]:
    """A stem, copies of one random block that each read the one before, and a head; (set, copies, block size).

    The block has one input and one output, and every node lies between them.
    """
    size, copies = draw(st.integers(1, 7)), draw(st.integers(2, 6))
    types = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    inner: list[tuple[int, int]] = []  # the input is node -1, the output node size - 1
    for node in range(size):
        sources = draw(st.sets(st.integers(-1, node - 1), min_size=1, max_size=2))
        inner += [(source, node) for source in sources]
    for node in range(-1, size - 1):  # what nothing reads is read by the output
        if not any(source == node for source, _ in inner):
            inner.append((node, size - 1))
    edges, base = [(0, 1)], 1
    for _ in range(copies):
        edges += [(base + 1 + source if source >= 0 else base, base + 1 + target) for source, target in inner]
        base += size
    edges.append((base, base + 1))
    all_types = [3, 4, *types * copies, 5]
    graphs = GraphSet.from_edges(
        node_counts=[len(all_types)],
        node_types=all_types,
        edge_counts=[len(edges)],
        edges=edges,
        node_vocabulary=["add", "conv", "relu", "image", "stem", "head"],
    )
    return graphs, copies, size


def shuffled(graphs: GraphSet, random: Random) -> GraphSet:
    """The same graphs in another order, and the nodes of each in another order."""
    chosen = list(range(len(graphs)))
    random.shuffle(chosen)
    types: list[int] = []
    edges: list[tuple[int, int]] = []
    kinds: list[int] = []
    edge_counts = []
    for graph in chosen:
        begin, count = int(graphs.node_offsets[graph]), int(graphs.node_counts[graph])
        number = list(range(count))
        random.shuffle(number)
        inverse = sorted(range(count), key=number.__getitem__)
        types += [int(graphs.node_types[begin + node]) for node in inverse]
        arcs = graphs.edge_list(graph).tolist()
        edges += [(number[source], number[target]) for source, target in arcs]
        kinds += graphs.edge_types_of(graph).tolist()
        edge_counts.append(len(arcs))
    return GraphSet.from_edges(
        node_counts=graphs.node_counts[chosen],
        node_types=types,
        edge_counts=edge_counts,
        edges=edges,
        edge_types=kinds,
        node_vocabulary=graphs.node_vocabulary,
        edge_vocabulary=graphs.edge_vocabulary,
        graph_names=[graphs.graph_names[graph] for graph in chosen],
    )
