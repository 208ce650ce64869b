"""Code, attributes and occurrences of motifs for a run's page."""

from contextlib import suppress
from typing import Any

import numpy as np

from grade.errors import InputError
from grade.export.model_files import import_onnx
from grade.export.occurrences import Files, Occurrences
from grade.export.onnx_model import onnx_model
from grade.export.operator_call import short
from grade.export.plan import PLACEHOLDER, operator_of
from grade.export.pytorch import source_code
from grade.export.translation import translate
from grade.graphs import GraphSet
from grade.runs import Catalogue

MOST = 40  # motifs with code and all occurrences; for others the page gives the command that writes them
LISTED = 10_000  # occurrences that a page lists, an equal number of each of these motifs at most
EXAMPLES = 5  # of each of the others
SECONDS = 5.0  # to list the occurrences of one
TRIED = 5
LONGEST = 200  # characters of an attribute


def listed_of(catalogue: Catalogue, graphs: GraphSet, files: Files) -> dict[int, list[list[Any]]]:
    """Motif -> its occurrences: [graph, names of nodes, tensors that enter, tensors that leave], both None where its
    file is not at hand. All occurrences of the first motifs, as far as they fit; the stored examples of the others.
    """
    fusible = bool(catalogue.run["settings"].get("fusible"))
    each = LISTED // max(min(len(catalogue.motifs), MOST), 1)
    found: dict[int, list[list[Any]]] = {}
    for row, motif in enumerate(catalogue.motifs):
        listed = None
        if row < MOST:
            listed = Occurrences(graphs, motif.pattern, each, fusible, SECONDS, files)
        if not listed:
            rows = np.array(motif.support.examples[:EXAMPLES], np.int64).reshape(-1, motif.size)
            listed = Occurrences.of_rows(graphs, rows, motif.text, files)
        found[motif.id] = [
            [graphs.graph_of(int(nodes[0])), one.nodes, one.inputs, one.outputs]
            for nodes, one in zip(listed.rows, listed, strict=True)
        ]
    return found


def code_of(catalogue: Catalogue, graphs: GraphSet, files: Files) -> dict[int, dict[str, Any]]:
    """Motif -> its code as PyTorch and as ONNX text, where both come from, and the attributes of its operators.

    Patterns of gates, atoms or words have no code: ``code`` is False.
    """
    fusible = bool(catalogue.run["settings"].get("fusible"))
    found: dict[int, dict[str, Any]] = {}
    for motif in catalogue.motifs[:MOST]:
        name, about = (
            f"Motif{motif.id}",
            f"Motif {motif.id} of {catalogue.run['settings']['graphs']}: {motif.text}",
        )
        entry: dict[str, Any] = {}
        try:
            if graphs.origins is None:
                raise InputError("the set has no files")
            made, occurrence = Occurrences(graphs, motif.pattern, TRIED, fusible, files=files).first_cut()
            translated = translate(made.model, set(made.weights), name, f"{about}, as in {occurrence.graph}")
            entry["pytorch"], entry["onnx"] = translated.source, as_text(made.model)
            entry["as_in"] = [occurrence.graph, *occurrence.nodes]
            entry["attributes"] = attributes_of(made.model)
        except InputError:
            entry["code"] = any(operator_of(name, 1) != PLACEHOLDER for name in motif.pattern.type_names)
            if entry["code"]:
                with suppress(InputError):  # a cycle cannot run; or onnx is not installed
                    entry["pytorch"] = source_code(motif.pattern, name, about)
                    entry["onnx"] = as_text(onnx_model(motif.pattern, name, about))
        found[motif.id] = entry
    return found


def as_text(model: Any) -> str:
    """A model in the text form of ONNX, without the values of weights."""
    onnx = import_onnx()

    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    for tensor in shown.graph.initializer:
        if tensor.ByteSize() > 256:
            shown.graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            )
    kept = [tensor for tensor in shown.graph.initializer if tensor.ByteSize() <= 256]
    del shown.graph.initializer[:]
    shown.graph.initializer.extend(kept)
    return str(onnx.printer.to_text(shown))


def attributes_of(model: Any) -> list[list[str]]:
    """[operator, type, attributes] of every operator that has some."""
    onnx = import_onnx()
    rows = []
    for node in model.graph.node:
        if node.attribute and node.op_type != "Constant":
            shown = [readable(onnx, attribute) for attribute in node.attribute]
            rows.append([node.name or node.output[0], node.op_type, ", ".join(shown)[:LONGEST]])
    return rows


def readable(onnx: Any, attribute: Any) -> str:
    """An attribute as text; numbers as short as single precision has them."""
    if attribute.type == onnx.AttributeProto.FLOAT:
        return f"{attribute.name} = {short(attribute.f)}"
    if attribute.type == onnx.AttributeProto.FLOATS:
        return f"{attribute.name} = [{', '.join(map(short, attribute.floats))}]"
    return str(onnx.helper.printable_attribute(attribute))
