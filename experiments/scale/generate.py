"""Makes graph sets of any size with the statistics of real ones.

    python experiments/scale/generate.py --nodes 30e6 --types 314 --mean-size 1980 --out scale-30m

Generated graphs are walks through the operator sequences of `zoo`. A walk copies consecutive nodes with their inputs,
which stay as far back as they were, and at a small rate jumps to another node of the type that it has just copied. So
operator pairs, degrees, depth, and runs that repeat are those of `zoo`, but no graph is a copy. What a larger set has
and a sample of it lacks is extrapolated: sizes of graphs are log-normal with the spread of `zoo`, and hubs above its
largest degree follow the Pareto tail that is fitted to its hubs. More types than `zoo` has are variants of its own:
each graph prefers one variant of a type, and a tenth of the nodes of `zoo` have a variant of their own everywhere.

The same seed gives the same set, and a longer set begins with the graphs of a shorter one. Memory is bounded by one
piece of a million nodes.
"""

import argparse
import heapq
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grade import GraphSet
from grade.errors import InputError
from grade.graphs.strings import ranges
from grade.graphs.writer import GraphSetWriter
from grade.sources import load

PIECE = 1_000_000  # nodes that are made at a time
RUN = 200  # nodes between two jumps, in the mean
LEAST, LARGEST = 10, 45_670  # nodes of a graph
HUB = 32  # degree from which the tail is fitted
OWN_VARIANT = 0.1  # share of the nodes of zoo that have a variant of their own in every graph
ROOM = 4  # a new hub's edges end among so many times their number of following nodes
MAX_TYPES = 1000

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Model:
    """The real set, its nodes in topological order, and everything that is fitted to it."""

    types: Integers  # [nodes]
    last: Integers  # [nodes] the last node of the graph that a node lies in
    begins: Integers  # [graphs] first nodes
    in_offsets: Integers  # [nodes + 1]
    distances: Integers  # [edges] along in_offsets: how far back a source lies
    by_type: Integers  # nodes that are not the last of their graph, by type
    type_offsets: Integers  # [types + 1]
    spread: float  # standard deviation of the logarithm of a graph's nodes
    hub_share: float  # nodes of a degree above HUB
    tail: float  # exponent of their degrees
    largest: int  # degree
    vocabulary: tuple[str, ...]

    @classmethod
    def fitted(cls, graphs: GraphSet) -> "Model":
        place = topological_places(graphs)
        order = np.argsort(place)
        types = graphs.node_types[order].astype(np.int64)
        degrees = np.diff(graphs.in_offsets)[order]
        edges = ranges(graphs.in_offsets[:-1][order], degrees)
        targets = np.repeat(np.arange(graphs.nodes), degrees)
        last = np.repeat(graphs.node_offsets[1:] - 1, graphs.node_counts)
        inner = np.flatnonzero(last > np.arange(graphs.nodes))
        by_type = inner[np.argsort(types[inner], kind="stable")]
        both = np.diff(graphs.in_offsets) + np.diff(graphs.out_offsets)
        hubs = both[both > HUB]
        return cls(
            types,
            last,
            graphs.node_offsets[:-1][graphs.node_counts > 0],
            np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64),
            targets - place[graphs.in_sources[edges]],
            by_type,
            np.searchsorted(types[by_type], np.arange(len(graphs.node_vocabulary) + 1)).astype(np.int64),
            float(np.log(graphs.node_counts[graphs.node_counts > 0]).std()),
            len(hubs) / graphs.nodes,
            float(1 / np.log(hubs / HUB).mean()),  # the maximum-likelihood estimate (Hill, 1975)
            int(both.max()),
            graphs.node_vocabulary,
        )


def topological_places(graphs: GraphSet) -> Integers:
    """[nodes] the place of each node: those of a graph stay together, sources before targets, else as numbered."""
    place = np.empty(graphs.nodes, np.int64)
    waiting = np.diff(graphs.in_offsets)
    for begin, end in zip(graphs.node_offsets[:-1].tolist(), graphs.node_offsets[1:].tolist(), strict=True):
        ready = [node for node in range(begin, end) if waiting[node] == 0]
        for number in range(begin, end):
            if not ready:
                raise InputError(f"A graph of {graphs.origin} has a cycle, so its nodes have no order.")
            node = heapq.heappop(ready)
            place[node] = number
            for target in graphs.successors(node).tolist():
                waiting[target] -= 1
                if waiting[target] == 0:
                    heapq.heappush(ready, target)
    return place


@dataclass(frozen=True, eq=False)
class Variants:
    """More types than the real set has: each of its types has some variants, the first ones more common."""

    first: Integers  # [base types] number of a type's first variant
    count: Integers  # [base types]
    own: Integers  # [nodes of the real set] a variant that a node has everywhere, -1 for most
    names: tuple[str, ...]

    @classmethod
    def of(cls, model: Model, types: int, seed: int) -> "Variants":
        base = len(model.vocabulary)
        if not base <= types <= MAX_TYPES:
            raise InputError(f"The number of types is {types}; give {base} to {MAX_TYPES}.")
        share = np.sqrt(np.bincount(model.types, minlength=base))
        wanted = np.cumsum(share) / share.sum() * (types - base)
        count = 1 + np.diff(np.rint(np.concatenate([[0.0], wanted]))).astype(np.int64)
        random = np.random.default_rng([seed, 1])
        own = zipf(random, count[model.types])
        own[random.random(len(own)) >= OWN_VARIANT] = -1
        names = tuple(
            word if number == 0 else f"{word}.{number + 1}"
            for word, variants in zip(model.vocabulary, count.tolist(), strict=True)
            for number in range(variants)
        )
        return cls(np.cumsum(count) - count, count, own, names)


def zipf(random: np.random.Generator, count: Integers) -> Integers:
    """One number below each count, roughly in proportion to 1 / (number + 1)."""
    return np.minimum(np.floor((count + 1.0) ** random.random(count.shape)).astype(np.int64), count) - 1


def draw_sizes(random: np.random.Generator, model: Model, mean: float) -> Integers:
    """[graphs] nodes of the graphs of one piece."""
    normal = random.normal(np.log(mean) - model.spread**2 / 2, model.spread, int(4 * PIECE / mean) + 10)
    sizes = np.clip(np.exp(normal), LEAST, LARGEST).astype(np.int64)
    return sizes[: int(np.searchsorted(np.cumsum(sizes), PIECE)) + 1]


def walk(random: np.random.Generator, model: Model, sizes: Integers) -> Integers:
    """[nodes] the real node that each new one copies."""
    at = model.begins[random.integers(0, len(model.begins), len(sizes))]
    left, open_, runs = sizes.copy(), np.arange(len(sizes)), []
    while len(open_):
        here = at[open_]
        length = np.minimum(random.geometric(1 / RUN, len(open_)), model.last[here] - here + 1)
        length = np.minimum(length, left[open_])
        runs.append(np.stack([open_, here, length]))
        left[open_] -= length
        kind = model.types[here + length - 1]
        choices = np.diff(model.type_offsets)[kind]
        same = model.type_offsets[kind] + (random.random(len(open_)) * choices).astype(np.int64)
        anywhere = model.begins[random.integers(0, len(model.begins), len(open_))]
        at[open_] = np.where(
            choices > 0, model.by_type[np.minimum(same, len(model.by_type) - 1)] + 1, anywhere
        )
        open_ = open_[left[open_] > 0]
    graph, start, length = np.concatenate(runs, axis=1)
    order = np.argsort(graph, kind="stable")
    return ranges(start[order], length[order])


def hub_edges(random: np.random.Generator, model: Model, sizes: Integers) -> tuple[Integers, Integers]:
    """(sources, targets) of hubs that a set so large has beyond the largest of the real one; half of them gather."""
    expected = int(sizes.sum()) * model.hub_share * (model.largest / HUB) ** -model.tail
    count = random.poisson(expected)
    degrees = (model.largest * (1 - random.random(count)) ** (-1 / model.tail)).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    sources, targets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for degree in degrees.tolist():
        holders = np.flatnonzero(sizes > ROOM * degree)
        if len(holders) == 0:
            continue
        graph = int(random.choice(holders))
        hub = int(offsets[graph]) + int(random.integers(0, sizes[graph] - ROOM * degree))
        others = 1 + random.choice(ROOM * degree, degree, replace=False)
        spreads = random.random() < 0.5
        sources.append(np.full(degree, hub) if spreads else hub + ROOM * degree - others)
        targets.append(hub + others if spreads else np.full(degree, hub + ROOM * degree))
    return np.concatenate(sources), np.concatenate(targets)


def piece(model: Model, variants: Variants, number: int, first: int, mean: float, seed: int) -> GraphSet:
    """The graphs of one piece; ``first`` of them are made already."""
    random = np.random.default_rng([seed, 2, number])
    sizes = draw_sizes(random, model, mean)
    templates = walk(random, model, sizes)
    graph = np.repeat(np.arange(len(sizes)), sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)])

    preferred = zipf(random, np.broadcast_to(variants.count, (len(sizes), len(variants.count))))
    base = model.types[templates]
    own = variants.own[templates]
    types = variants.first[base] + np.where(own >= 0, own, preferred[graph, base])

    degrees = np.diff(model.in_offsets)[templates]
    targets = np.repeat(np.arange(len(templates)), degrees)
    sources = targets - model.distances[ranges(model.in_offsets[:-1][templates], degrees)]
    inside = sources >= offsets[graph[targets]]
    more_sources, more_targets = hub_edges(random, model, sizes)
    key = np.concatenate([targets[inside], more_targets]) * len(templates)
    key = np.unique(key + np.concatenate([sources[inside], more_sources]))
    targets, sources = np.divmod(key, len(templates))
    owner = graph[targets]
    return GraphSet.from_edges(
        node_counts=sizes,
        node_types=types,
        edge_counts=np.bincount(owner, minlength=len(sizes)),
        edges=np.stack([sources, targets], axis=1) - offsets[owner][:, None],
        node_vocabulary=variants.names,
        graph_names=[f"graph-{first + i}" for i in range(len(sizes))],
        origin="generated",
    )


def cut(graphs: GraphSet, nodes: int) -> GraphSet:
    """The first graphs with so many nodes in all, but for a rest too small for another graph."""
    return graphs.subset(np.arange(int(np.searchsorted(graphs.node_offsets, nodes, side="right")) - 1))


def generate(
    out: Path, nodes: int, types: int, mean: float | None = None, seed: int = 0, overwrite: bool = False
) -> tuple[int, int, int]:
    """Write a set; returns its numbers of graphs, nodes and edges."""
    if nodes < LEAST:
        raise InputError(f"The number of nodes is {nodes}; give {LEAST} or more.")
    real = load("zoo")
    model = Model.fitted(real)
    variants = Variants.of(model, types, seed)
    mean = float(real.node_counts.mean()) if mean is None else mean
    if not LEAST <= mean <= LARGEST:
        raise InputError(f"The mean size is {mean:g}; give {LEAST} to {LARGEST:,} nodes.")
    name = f"generated: {nodes:,} nodes, {types} types, graphs of {mean:.0f}, seed {seed}"
    with GraphSetWriter(out, origin=name, key=name, overwrite=overwrite) as writer:
        number = 0
        while (left := nodes - writer.size[1]) > 0:
            made = piece(model, variants, number, writer.size[0], mean, seed)
            made = made if made.nodes <= left else cut(made, left)
            writer.append(made)
            number += 1
            if made.nodes < PIECE:  # the last piece, which was cut
                break
        size = writer.size
        writer.finish()
    return size


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--out", type=Path, required=True, help="the folder of the set")
    arguments.add_argument("--nodes", type=float, default=300e3, help="of all graphs, about (300e3)")
    arguments.add_argument("--types", type=int, default=314, help="node types, at most 1000 (314)")
    arguments.add_argument("--mean-size", type=float, help="mean nodes of a graph (that of zoo)")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--force", action="store_true", help="replace a set that is there")
    given = arguments.parse_args()
    try:
        size = generate(given.out, int(given.nodes), given.types, given.mean_size, given.seed, given.force)
    except InputError as error:
        arguments.exit(2, f"generate: {error}\n")
    print("{}: {:,} graphs, {:,} nodes, {:,} edges".format(given.out, *size))


if __name__ == "__main__":
    main()
