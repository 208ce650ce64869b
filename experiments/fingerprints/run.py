"""Families of models by their motif fingerprints, and two search spaces by their profiles.

    python experiments/fingerprints/run.py [--out FOLDER]

1. `zoo` and `zoo-large`: every model is the distribution of its 3-node patterns; distances are those of Jensen and
   Shannon. The map places the models of `zoo` by their distances (classical multidimensional scaling), and the share of
   models whose nearest other model is of the same family says how much a fingerprint knows. In `zoo-large` the nearest
   is looked for in other packages only, where another hand wrote the same family.
2. NAS-Bench-101 and 201: their types differ, and so does what a node means. Three comparisons: structure alone; types
   that both have (1x1 and 3x3 convolution, 3x3 pooling, input, output), the rest being types of their own; and the
   same after the cells of 201 were written as those of 101: an operation `none` passes nothing on, so its node goes;
   `skip_connect` passes everything on, so its neighbours are joined; what then no longer lies between input and output
   goes as well, as in 101.

Results: families.png and README.md.
"""

import argparse
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from grade.graphs import GraphSet
from grade.report.plots import COLOURS, canvas, save
from grade.significance import Features, features, profile_distance
from grade.significance.fingerprints import joint_profiles
from grade.sources import load

HERE = Path(__file__).parent
FAMILIES = ("vit", "regnet", "efficientnet", "mobilenet", "swin", "densenet", "resnet", "convnext")
COMMON = {
    "conv1x1-bn-relu": "conv1x1",
    "nor_conv_1x1": "conv1x1",
    "conv3x3-bn-relu": "conv3x3",
    "nor_conv_3x3": "conv3x3",
    "maxpool3x3": "pool3x3",
    "avg_pool_3x3": "pool3x3",
}


def family_of(name: str) -> str:
    """The family of a model by the start of its name; empty for the others."""
    model = name.split("/")[-1].removeprefix("tf_")
    return next((family for family in FAMILIES if model.startswith(family)), "")


def distances(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """[n, n] Jensen-Shannon distances of the rows.

    Where one row is 0 and the other is q, their mean adds (q - q log q) / 2 to its entropy, so that only the patterns
    of one row have to be looked at.
    """

    def terms(p: NDArray[np.float64]) -> NDArray[np.float64]:
        return -np.where(p > 0, p * np.log2(np.where(p > 0, p, 1)), 0)

    entropies, totals = terms(shares).sum(axis=1), shares.sum(axis=1)
    result = np.zeros((len(shares), len(shares)))
    for i, row in enumerate(shares):
        own = np.flatnonzero(row)
        others = shares[:, own]
        outside = (totals - others.sum(axis=1) + entropies - terms(others).sum(axis=1)) / 2
        mean = terms((others + row[own]) / 2).sum(axis=1) + outside
        result[i] = np.sqrt(np.maximum(mean - (entropies + entropies[i]) / 2, 0))
    return result


def scaled(between: NDArray[np.float64]) -> NDArray[np.float64]:
    """[n, 2] places whose distances are near these (classical multidimensional scaling)."""
    centre = np.eye(len(between)) - 1 / len(between)
    values, vectors = np.linalg.eigh(-0.5 * centre @ between**2 @ centre)
    return vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))


def families(out: Path) -> list[str]:
    found = features(load("zoo"), 3)
    families_of = np.array([family_of(name) for name in found.row_names])
    between = distances(found.to_numpy("shares"))
    places = scaled(between)
    figure, axes = canvas("zoo: models by their patterns of 3 nodes", "", "")
    others = np.flatnonzero(families_of == "")
    axes.scatter(*places[others].T, s=10, color="#c8ccd2", linewidths=0, label="others")
    for number, family in enumerate(FAMILIES):
        rows = np.flatnonzero(families_of == family)
        axes.scatter(
            *places[rows].T, s=26, color=COLOURS[number], linewidths=0, label=f"{family} ({len(rows)})"
        )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, out / "families.png")

    return [nearest_family("zoo", between, families_of, np.arange(len(between)))]


def families_across_packages() -> list[str]:
    """The same for zoo-large: is the nearest model of another package of the same family?"""
    found = features(load("zoo-large"), 3)
    parts = [name.split("/") for name in found.row_names]
    packages = np.array([part[0] for part in parts])
    families_of = np.array([family_of(part[1]) if len(part) == 2 else "" for part in parts])
    spread = [f for f in FAMILIES if len(set(packages[families_of == f])) > 1]
    families_of[~np.isin(families_of, spread)] = ""
    return [
        nearest_family(
            "zoo-large, other packages", distances(found.to_numpy("shares")), families_of, packages
        )
    ]


def nearest_family(
    title: str, between: NDArray[np.float64], families_of: NDArray[np.str_], groups: NDArray[Any]
) -> str:
    """A row of the table: how often the nearest model of another group is of the same family, and by chance."""
    chosen = np.flatnonzero(families_of != "")
    own, kinds = groups[chosen], families_of[chosen]
    others = own[:, None] != own
    among = np.where(others, between[np.ix_(chosen, chosen)], np.inf)
    right = kinds[among.argmin(axis=1)] == kinds
    chance = ((kinds[:, None] == kinds) & others).sum(axis=1) / others.sum(axis=1)
    return (
        f"| {title} | {len(chosen)} | {len(set(kinds.tolist()))} | {100 * right.mean():.0f} % |"
        f" {100 * chance.mean():.0f} % |"
    )


def renamed(graphs: GraphSet, names: dict[str, str]) -> list[nx.DiGraph]:
    """Graphs of networkx with a type at each node, renamed."""
    vocabulary = [names.get(name, name) for name in graphs.node_vocabulary]
    result = []
    for graph in range(len(graphs)):
        begin, end = graphs.node_offsets[graph : graph + 2].tolist()
        one = nx.DiGraph()
        one.add_nodes_from(
            (i, {"type": vocabulary[t]}) for i, t in enumerate(graphs.node_types[begin:end].tolist())
        )
        one.add_edges_from(graphs.edge_list(graph).tolist())
        result.append(one)
    return result


def as_in_101(graph: nx.DiGraph) -> nx.DiGraph:
    """A cell of NAS-Bench-201 without the operations that do nothing."""
    graph = graph.copy()
    for node, kind in list(graph.nodes(data="type")):
        if kind == "skip_connect":
            graph.add_edges_from((u, v) for u in graph.predecessors(node) for v in graph.successors(node))
        if kind in ("skip_connect", "none"):
            graph.remove_node(node)
    first = [node for node, kind in graph.nodes(data="type") if kind == "input"]
    last = [node for node, kind in graph.nodes(data="type") if kind == "output"]
    live = nx.descendants(graph, first[0]) & nx.ancestors(graph, last[0]) | {first[0], last[0]}
    return graph.subgraph(live).copy()


def typed(graphs: list[nx.DiGraph], structure_only: bool = False) -> Features:
    """Their features of 4 nodes."""
    names = sorted({kind for graph in graphs for _, kind in graph.nodes(data="type")})
    number = {name: 0 if structure_only else i for i, name in enumerate(names)}
    types, edges, nodes, counts = [], [], [], []
    for graph in graphs:
        place = {node: i for i, node in enumerate(graph.nodes)}
        types += [number[kind] for _, kind in graph.nodes(data="type")]
        edges += [(place[u], place[v]) for u, v in graph.edges]
        nodes.append(len(place))
        counts.append(graph.number_of_edges())
    built = GraphSet.from_edges(
        node_counts=nodes,
        node_types=types,
        edge_counts=counts,
        edges=edges,
        node_vocabulary=["node"] if structure_only else names,
    )
    return features(built, 4)


def spaces(cells: int = 20_000) -> list[str]:
    """Lines of a table: the distance of both spaces by patterns of 4 nodes, and what makes most of it."""
    first, second = load("nas-bench-101"), load("nas-bench-201")
    some = np.sort(np.random.default_rng(0).choice(len(first), cells, replace=False))
    one, other = renamed(first.subset(some), COMMON), renamed(second, COMMON)
    clean = [as_in_101(graph) for graph in other]
    clean = [graph for graph in clean if graph.number_of_edges() and len(graph) >= 4]
    lines = [
        f"| comparison ({cells:,} cells of 101 drawn at random, {len(other):,} of 201) | Jensen-Shannon distance"
        " | patterns in both | largest part of the divergence |",
        "|---|---|---|---|",
    ]
    for name, a, b in (
        ("structure alone", typed(one, True), typed(other, True)),
        ("common types", typed(one), typed(other)),
        (f"structure alone, 201 written as 101 ({len(clean):,} cells)", typed(one, True), typed(clean, True)),
        ("common types, 201 written as 101", typed(one), typed(clean)),
    ):
        distance, parts = profile_distance(a, b)
        texts, p, q = joint_profiles(a, b)
        top = int(parts.argmax())
        lines.append(
            f"| {name} | {distance:.3f} | {int(((p > 0) & (q > 0)).sum())} of {len(texts)} |"
            f" `{texts[top]}` ({100 * parts[top]:.0f} %; {100 * p[top]:.1f} % of 101, {100 * q[top]:.1f} % of 201) |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE / "results")
    out = parser.parse_args().out
    out.mkdir(exist_ok=True)
    lines = [
        "# Fingerprints",
        "",
        "Made by `python experiments/fingerprints/run.py`.",
        "",
        "## Families",
        "",
        "How often the nearest other model, by patterns of 3 nodes, is of the same family.",
        "",
        "| set | models | families | same family | by chance |",
        "|---|---|---|---|---|",
        *families(out),
        *families_across_packages(),
    ]
    lines += [
        "",
        "![Families](families.png)",
        "",
        "## NAS-Bench-101 and 201, patterns of 4 nodes",
        "",
    ]
    lines += spaces()
    (out / "README.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
