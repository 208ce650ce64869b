"""The bytes that fusing saves, against counts by hand and against a definition spelled out with sets."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from grade.costs import Savings, ValueSizes
from grade.costs.saving import LOOKED_AT
from grade.costs.value_sizes import REDUCED, SMALL, VIEWS, WHOLE
from grade.export.shapes import sizes_from_files
from grade.graphs import GraphSet
from grade.graphs.queries import Query
from grade.sources import load

TYPES = ["Conv", "Relu", "Reshape", "Split", "ReduceMean", "Shape"]


def chain(names: list[str], edges: list[tuple[int, int]], **more: Any) -> GraphSet:
    vocabulary = sorted(set(names))
    return GraphSet.from_edges(
        node_counts=[len(names)],
        node_types=[vocabulary.index(name) for name in names],
        edge_counts=[len(edges)],
        edges=edges,
        node_vocabulary=vocabulary,
        **more,
    )


def saved(graphs: GraphSet, *nodes: int) -> float:
    return float(Savings(graphs).of_rows(np.array([nodes], np.uint32))[0]) / WHOLE


def test_by_hand() -> None:
    line = chain(["Conv", "BatchNormalization", "Relu", "Conv"], [(0, 1), (1, 2), (2, 3)])
    assert saved(line, 0, 1) == 2  # written once, read once
    assert saved(line, 0, 1, 2) == 4
    assert saved(line, 0, 2) == 0  # they share nothing
    skip = chain(["Conv", "Relu", "Add"], [(0, 1), (1, 2), (0, 2)])
    assert saved(skip, 0, 1, 2) == 5  # Conv: one write, two reads; Relu: one of each
    assert saved(skip, 1, 2) == 3  # Relu: one write, one read; Conv is read once, not twice
    assert saved(skip, 0, 1) == 1  # Conv is still written, for Add
    output = chain(["Conv", "Relu"], [(0, 1)], outputs=[True, True])
    assert saved(output, 0, 1) == 1  # the graph returns it, so it is still written
    look = chain(["Conv", "Reshape", "Relu"], [(0, 1), (1, 2)])
    assert saved(look, 0, 1) == 0  # a view moves nothing
    assert saved(look, 0, 1, 2) == 2
    parts = chain(["Conv", "Split", "Sigmoid", "Mul"], [(0, 1), (1, 2), (1, 3), (2, 3)])
    assert saved(parts, 1, 2, 3) == 1 + 0.5 + 0.5 + 2  # the whole written, each half read, and the gate
    loop = chain(["Conv", "Relu"], [(0, 1), (1, 0)])
    assert saved(loop, 0, 1) == 4  # legal, if odd


def test_default_sizes() -> None:
    names = ["Conv", "GlobalAveragePool", "Conv", "Mul", "Shape", "Gather", "Reshape"]
    edges = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (4, 5), (5, 6), (3, 6)]
    sizes = ValueSizes.default(chain(names, edges))
    assert sizes.bytes.tolist() == [WHOLE, REDUCED, REDUCED, WHOLE, SMALL, SMALL, WHOLE]
    assert sizes.storage.tolist() == [0, 1, 2, 3, 4, 5, 3]
    assert sizes.basis.startswith("default")


def definition(graphs: GraphSet, sizes: ValueSizes, members: set[int]) -> float:
    """Bytes that the operators move one by one, less what they move as one."""
    kinds = [graphs.node_vocabulary[kind] for kind in graphs.node_types]

    def place(node: int, seen: tuple[int, ...] = ()) -> int:
        inputs = [int(n) for n in graphs.predecessors(node)]
        if kinds[node] not in VIEWS or not inputs or node in seen:
            return node
        return place(max(inputs, key=lambda n: (sizes.bytes[n], -n)), (*seen, node))

    apart, entering, leaving = 0.0, dict[int, float](), dict[int, float]()
    for node in members:
        outside = [n for n in graphs.successors(node).tolist() if n not in members]
        origin = place(node)
        if origin in members and kinds[origin] not in VIEWS and (outside or graphs.outputs[node]):
            leaving[origin] = float(sizes.bytes[origin])
        if kinds[node] in VIEWS:
            continue
        apart += float(sizes.bytes[node])
        for source in graphs.predecessors(node).tolist():
            parts = len(graphs.successors(source)) if kinds[source] == "Split" else 1
            amount = float(sizes.bytes[source]) / parts
            apart += amount
            if place(source) not in members:
                entering[place(source)] = max(entering.get(place(source), 0.0), amount)
    return apart - sum(entering.values()) - sum(leaving.values())


@pytest.mark.parametrize("seed", range(30))
def test_against_the_definition(seed: int) -> None:
    draw = np.random.default_rng(seed)
    n = 9
    edges = [(i, j) for i in range(n) for j in range(i + 1, n) if draw.random() < 0.3]
    names = [TYPES[i] for i in draw.integers(0, len(TYPES), n)]
    graphs = chain(names, edges, outputs=(draw.random(n) < 0.2).tolist())
    known = np.where(draw.random(n) < 0.5, draw.integers(1, 1000, n).astype(float), np.nan)
    sizes = ValueSizes.of(graphs, known)
    rows = [np.sort(draw.choice(n, 4, replace=False)) for _ in range(40)]
    found = Savings(graphs, sizes).of_rows(np.array(rows, np.uint32))
    wanted = [definition(graphs, sizes, set(row.tolist())) for row in rows]
    assert found == pytest.approx(wanted)


def test_a_total_is_that_of_the_disjoint_occurrences() -> None:
    graphs = load("zoo-mini")
    savings = Savings(graphs)
    pattern = Query("Conv -> BatchNormalization -> Relu").pattern(
        graphs.node_vocabulary, graphs.edge_vocabulary
    )
    assert pattern is not None
    found = savings.of_pattern(pattern)
    rows = savings.packed(pattern)
    assert len(np.unique(rows)) == rows.size == 3 * found.occurrences
    assert found.total == pytest.approx(
        sum(definition(graphs, savings.sizes, set(row.tolist())) for row in rows)
    )
    assert LOOKED_AT > 1


def test_shapes_of_the_models(tmp_path: Path) -> None:
    """Conv [1, 4, 8, 8] -> Relu -> GlobalAveragePool, of halves; the batch is open."""

    def value(name: str, *dims: int | str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT16, dims)

    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c"], ["r"], name="relu"),
            helper.make_node("GlobalAveragePool", ["r"], ["y"], name="pool"),
        ],
        "test",
        [value("x", "batch", 3, 8, 8)],
        [value("y", "batch", 4, 1, 1)],
        [helper.make_tensor("w", TensorProto.FLOAT16, [4, 3, 3, 3], np.zeros(108, np.float16))],
    )
    file = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), file)
    graphs = load(str(file))
    sizes, reasons = sizes_from_files(graphs)
    assert (sizes.bytes.tolist(), reasons) == ([512.0, 512.0, 8.0], [])
    assert sizes.basis == "shapes of the models"
    assert Savings(graphs, sizes).of_rows(np.array([[0, 1], [1, 2], [0, 2]])).tolist() == [1024, 1024, 0]
    file.write_bytes(b"")
    sizes, reasons = sizes_from_files(graphs)
    assert sizes.share_known == 0
    assert "has changed" in reasons[0]
