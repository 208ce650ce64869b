"""An ONNX model as operators and values, with every difference that a rewriting of the model has to keep.

Unlike in `grade.sources.onnx_files`, which reads the structure for patterns, two operators are of one type only if one
can stand for the other: name, domain, attributes, which inputs and outputs are there. The sizes of convolutions and
pools are left open, as in the modules that people write: a function takes them as attributes. Constants are not
operators, but values that may differ from place to place; so is the Identity of a constant, as exporters write it where
a weight is used again. External data is neither loaded nor looked at.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from grade.blocks.grammar import Wiring
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.concatenation import operand_vocabulary
from grade.graphs.operands import operand_word
from grade.sources.protobuf import check_text

WINDOWS = ("Conv", "ConvTranspose", "MaxPool", "AveragePool")
SIZES = (
    "kernel_shape",
    "strides",
    "pads",
    "dilations",
    "group",
)  # of them, which may differ between occurrences


@dataclass(frozen=True, eq=False)
class OnnxGraph:
    """The top graph of a model."""

    model: Any  # onnx.ModelProto
    nodes: list[Any]  # operators without constants, in the order of the file, which is topological
    producer: dict[str, tuple[int, int]]  # value -> (operator, place among its outputs)
    constants: dict[str, bytes]  # value -> digest of a constant that may be written elsewhere, too
    constant_nodes: dict[str, Any]  # value -> its Constant operator, or the Identity of another constant
    initializers: dict[str, Any]  # value -> tensor
    wanted: frozenset[
        str
    ]  # values that are needed by name: graph outputs, and what bodies of If and Loop read
    external: bool  # whether some of its data is in other files
    inlined: bool  # whether it had functions, which have been inlined
    graphs: GraphSet = field(repr=False)
    wiring: Wiring = field(repr=False)


def read_model(path: str | Path, inline: bool = False) -> OnnxGraph:
    """Read a model, its functions inlined on request; its external data stays where it is."""
    onnx = import_onnx()
    try:
        model = onnx.load(str(path), load_external_data=False)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); check its name and permissions."
        ) from None
    except Exception as error:  # of protobuf, whose classes have moved between versions
        raise InputError(
            f"{path} is not a valid ONNX model ({type(error).__name__}); export it again."
        ) from None
    check_text(model, path)
    if not model.HasField("graph"):
        raise InputError(f"{path} is not a valid ONNX model (it has no graph); export it again.")
    inlined = inline and bool(model.functions)
    if inlined:
        from onnx.inliner import inline_local_functions

        try:
            model = inline_local_functions(model)
        except Exception as error:
            raise InputError(
                f"{path} has functions that cannot be inlined ({type(error).__name__}); export it without functions."
            ) from None
    return graph_of(model, str(path), inlined)


def import_onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise InputError(
            "Outlines of models need onnx, which is not installed; run 'pip install grade-motifs[onnx]'."
        ) from None
    return onnx


def graph_of(model: Any, name: str, inlined: bool = False) -> OnnxGraph:
    """Operators, values, and their connections."""
    graph = model.graph
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    changeable = {
        value.name for value in graph.input
    }  # an initializer that is an input, too, is only a default
    constants = {
        text: tensor_digest(tensor)
        for text, tensor in initializers.items()
        if text not in changeable and not is_external(tensor)
    }
    constant_nodes: dict[str, Any] = {}
    nodes: list[Any] = []
    producer: dict[str, tuple[int, int]] = {}
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx") and len(node.output) == 1:
            constant_nodes[node.output[0]] = node
            if not (node.attribute and is_external(node.attribute[0].t)):
                constants[node.output[0]] = constant_digest(node)
            continue
        if hands_on(node) and (node.input[0] in initializers or node.input[0] in constant_nodes):
            constant_nodes[node.output[0]] = node
            continue
        for place, text in enumerate(node.output):
            if text:
                producer[text] = (len(nodes), place)
        nodes.append(node)
    refuse_twice(graph, name)
    beside = [*graph.initializer, *(a.t for node in constant_nodes.values() for a in node.attribute)]
    known = {*producer, *constant_nodes, *initializers, *changeable, *sparse_names(graph)}
    captured = {text for node in nodes for attribute in node.attribute for text in read_inside(attribute)}
    wanted = frozenset({value.name for value in graph.output} | (captured & known))

    for value in graph.output:
        if value.name not in known:
            raise InputError(
                f"{name} is not a valid ONNX model: nothing computes its output {value.name!r}; export it again."
            )
    arcs: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for number, node in enumerate(nodes):
        for slot, text in enumerate(node.input):
            if text and text not in known:
                raise InputError(
                    f"{name} is not a valid ONNX model: nothing computes {text!r}; export it again."
                )
            if text in producer:
                source, place = producer[text]
                if source >= number:
                    raise InputError(
                        f"{name} is not a valid ONNX model: {text!r} is read before it is computed; export it again."
                    )
                arcs.setdefault((number, source), []).append((place, slot))
    closed = np.array([any(text in wanted for text in node.output) for node in nodes], np.bool_)
    return OnnxGraph(
        model,
        nodes,
        producer,
        constants,
        constant_nodes,
        initializers,
        wanted,
        any(is_external(tensor) for tensor in beside),
        inlined,
        *wired(nodes, arcs, closed, Path(name).stem),
    )


def refuse_twice(graph: Any, name: str) -> None:
    """A value has one origin: an operator, or an input or initializer."""
    met = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    for text in (text for node in graph.node for text in node.output if text):
        if text in met:
            raise InputError(
                f"{name} is not a valid ONNX model: {text!r} is computed twice; export it again."
            )
        met.add(text)


def wired(
    nodes: list[Any],
    arcs: dict[tuple[int, int], list[tuple[int, int]]],
    closed: "np.ndarray[Any, np.dtype[np.bool_]]",
    name: str,
) -> tuple[GraphSet, Wiring]:
    """The graph for the grammar, and its types as precise as a rewriting needs them."""
    signatures = [signature(node, number) for number, node in enumerate(nodes)]
    distinct = sorted(set(signatures))
    number_of = {text: i for i, text in enumerate(distinct)}
    words = [type_name(node) for node in nodes]
    vocabulary = sorted(set(words))
    pairs = sorted(arcs)  # by target, then source
    words_of = operand_vocabulary()
    graphs = GraphSet.from_edges(
        node_counts=[len(nodes)],
        node_types=[vocabulary.index(word) for word in words],
        edge_counts=[len(pairs)],
        edges=[(source, target) for target, source in pairs],
        node_vocabulary=vocabulary,
        graph_names=[name],
        node_names=[node.name or next(filter(None, node.output), "") for node in nodes],
        outputs=closed | ~np.isin(np.arange(len(nodes)), [source for _, source in pairs]),
        operands=words_of.places(
            [operand_word((slot, place) for place, slot in arcs[pair]) for pair in pairs]
        ),
        operand_vocabulary=words_of.words,
        origin=name,
    )
    labels = [tuple(sorted(arcs[pair])) for pair in pairs]
    kinds = sorted(set(labels))
    place_of = {kind: i for i, kind in enumerate(kinds)}
    type_names = [""] * len(distinct)
    for text, word in zip(signatures, words, strict=True):
        type_names[number_of[text]] = word
    wiring = Wiring(
        graphs.node_offsets,
        np.array([number_of[text] for text in signatures], np.uint32),
        np.array([source for _, source in pairs], np.uint32),
        np.array([target for target, _ in pairs], np.uint32),
        np.array([place_of[label] for label in labels], np.uint32),
        closed & np.isin(np.arange(len(nodes)), [source for _, source in pairs]),
        tuple(type_names),
        tuple(("edge", "+".join(f"{place}:{slot}" for place, slot in kind)) for kind in kinds),
        graphs.graph_names,
    )
    return graphs, wiring


def type_name(node: Any) -> str:
    return str(node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}")


def signature(node: Any, number: int) -> bytes:
    """Equal for operators that can stand for each other. One with a body (If, Loop) is like no other: the body may read
    values of the graph around it.
    """
    parts = [node.op_type.encode(), node.domain.encode(), getattr(node, "overload", "").encode()]
    parts.append(bytes(bool(text) for text in node.input) + b"/" + bytes(bool(text) for text in node.output))
    open_ones = open_attributes(node)
    for attribute in sorted(node.attribute, key=lambda a: a.name):
        if any(read_inside(attribute)) or attribute.HasField("g") or attribute.graphs:
            parts.append(b"body %d" % number)
        if attribute.name in open_ones:
            parts.append(b"%s %d %d" % (attribute.name.encode(), attribute.type, len(attribute.ints)))
        else:
            parts.append(attribute.SerializeToString(deterministic=True))
    return b"\\0".join(b"%d " % len(part) + part for part in parts)


def has_body(node: Any) -> bool:
    """Whether an operator has graphs inside, as If, Loop and Scan do."""
    return any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)


def hands_on(node: Any) -> bool:
    """Whether an operator only hands on its input."""
    return bool(node.op_type == "Identity" and node.domain in ("", "ai.onnx") and len(node.input) == 1)


def open_attributes(node: Any) -> list[str]:
    """The names of the sizes that operators of this type may differ in; none where pads need a closer look."""
    given = {attribute.name: attribute for attribute in node.attribute}
    if node.op_type not in WINDOWS or node.domain not in ("", "ai.onnx"):
        return []
    pads = list(given["pads"].ints) if "pads" in given else []
    if pads[: len(pads) // 2] != pads[len(pads) // 2 :]:
        return []
    if "auto_pad" in given and given["auto_pad"].s not in (b"NOTSET", b"VALID"):
        return []
    return [name for name in SIZES if name in given]


def read_inside(attribute: Any) -> set[str]:
    """The values that bodies in an attribute read, at any depth, whoever computes them."""
    found: set[str] = set()
    for body in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
        found.update(value.name for value in body.output)
        for node in body.node:
            found.update(text for text in node.input if text)
            for inner in node.attribute:
                found |= read_inside(inner)
    return found


def sparse_names(graph: Any) -> set[str]:
    return {tensor.values.name for tensor in graph.sparse_initializer}


def is_external(tensor: Any) -> bool:
    return bool(tensor.data_location == 1 or tensor.external_data)


def tensor_digest(tensor: Any) -> bytes:
    """Equal for tensors of equal type, shape and content, as far as they are stored in the same way."""
    copy = type(tensor)()
    copy.CopyFrom(tensor)
    copy.ClearField("name")
    copy.ClearField("doc_string")
    return hashlib.sha256(copy.SerializeToString(deterministic=True)).digest()


def constant_digest(node: Any) -> bytes:
    """Like `tensor_digest` for a Constant operator with a dense tensor; otherwise a digest of its attributes."""
    if len(node.attribute) == 1 and node.attribute[0].name == "value":
        return tensor_digest(node.attribute[0].t)
    return hashlib.sha256(b"".join(a.SerializeToString(deterministic=True) for a in node.attribute)).digest()
