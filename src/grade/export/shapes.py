"""The sizes of the values of a graph set, from the shapes in its ONNX files where those are at hand."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.costs import ValueSizes
from grade.errors import InputError
from grade.export.model_files import ModelFile
from grade.export.occurrences import opened
from grade.graphs import GraphSet
from grade.progress import NEVER, Deadline
from grade.report.surroundings import name_of


def sizes_from_files(graphs: GraphSet, deadline: Deadline = NEVER) -> tuple[ValueSizes, list[str]]:
    """(sizes, why some are not known, one sentence for each reason). An open batch counts as 1."""
    known = np.full(graphs.nodes, np.nan)
    if graphs.origins is None:
        return ValueSizes.of(graphs, known), []
    reasons: dict[str, None] = {}
    at: dict[str, ModelFile | InputError] = {}
    for graph in range(len(graphs)):
        deadline.check()
        deadline.report(graph / len(graphs))
        origin = graphs.origins.file(graph)
        if origin is None or not origin[0].endswith(".onnx"):
            continue
        if origin[0] not in at:
            at = {origin[0]: opened(*origin, graphs.graph_names[graph])}  # one file in memory at a time
        file = at[origin[0]]
        if isinstance(file, InputError):
            reasons.setdefault(str(file))
            continue
        begin, end = graphs.node_offsets[graph : graph + 2].tolist()
        known[begin:end] = node_bytes(graphs, file, begin, end)
    return ValueSizes.of(graphs, known), list(reasons)


def node_bytes(graphs: GraphSet, file: ModelFile, begin: int, end: int) -> NDArray[np.float64]:
    """[nodes] of one graph; NaN where the file does not tell."""
    found = np.full(end - begin, np.nan)
    for node in range(begin, end):
        place = None if graphs.node_places is None else int(graphs.node_places[node])
        kind = graphs.node_vocabulary[graphs.node_types[node]]
        try:
            operator = file.operators[file.find(name_of(graphs, node), kind, place)]
        except InputError:  # a name that is not unique
            continue
        infos = [operator.scope.find("infos", value) for value in operator.node.output if value]
        sizes = [bytes_of(file.onnx, info) for info in infos]
        known = [size for size in sizes if size is not None]
        if known and len(known) == len(sizes):
            found[node - begin] = sum(known)
    return found


def bytes_of(onnx: Any, info: Any) -> float | None:
    """The size of a value (onnx.ValueInfoProto); an open first dimension counts as 1."""
    if info is None or info.type.WhichOneof("value") != "tensor_type":
        return None
    kind = info.type.tensor_type
    if not kind.HasField("shape") or kind.elem_type == onnx.TensorProto.STRING or not kind.elem_type:
        return None
    dims = [d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim]
    if dims and dims[0] is None:
        dims[0] = 1
    if any(size is None or size < 0 for size in dims):
        return None
    return float(prod(size for size in dims if size is not None)) * item_bytes(onnx, kind.elem_type)


def item_bytes(onnx: Any, kind: int) -> float:
    if kind == onnx.TensorProto.BFLOAT16:
        return 2.0
    return float(onnx.helper.tensor_dtype_to_np_dtype(kind).itemsize)
