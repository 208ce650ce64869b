"""A model with its repeated blocks as ONNX local functions: the same model, with the code of each block written once.

Values keep their names in the graph around the functions. Opsets, metadata and data in other files stay as they are.
"""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grade.blocks.finding import Blocks, Unit, find, find_known
from grade.blocks.functions import Function, FunctionMaker, Size, common_name, distinct
from grade.blocks.library import refuse_limits
from grade.blocks.onnx_graph import OnnxGraph, has_body, import_onnx, read_model
from grade.errors import InputError
from grade.files import whole_file
from grade.progress import Progress
from grade.settings import BlocksSettings

DOMAIN = "grade.blocks"
FUNCTIONS_SINCE = 8  # the IR version that has model-local functions


@dataclass(frozen=True, eq=False)
class Outlined:
    """The result of outlining a model."""

    model: Any  # onnx.ModelProto
    found: Blocks
    functions: list[Function]
    onnx_graph: OnnxGraph
    maker: FunctionMaker
    placeholders: tuple[str, ...] | None = None  # of PyTorch source: operators without a counterpart

    def data(self) -> dict[str, Any]:
        calls = sum(node.domain == DOMAIN for node in self.model.graph.node)
        return {
            "nodes": len(self.onnx_graph.nodes),
            "graph_nodes": len(self.model.graph.node),
            "calls": calls,
            "functions": [
                {
                    "name": function.name,
                    "nodes": int(self.found.grammar.sizes[function.symbol]),
                    "count": self.found.by_symbol[function.symbol].count,
                    "inputs": len(function.params),
                    "outputs": len(function.outputs),
                    "attributes": len(function.sizes),
                }
                for function in self.functions
            ],
            "bodies": sum(has_body(node) for node in self.onnx_graph.nodes),
            **({} if self.placeholders is None else {"placeholders": list(self.placeholders)}),
            "seconds": self.found.seconds,
        }


def outline(
    path: str | Path,
    out: str | Path | None = None,
    flat: bool = False,
    min_count: int = 2,
    max_size: int | None = None,
    only: Path | None = None,
    progress: Progress | None = None,
    inline: bool = False,
) -> Outlined:
    """Write a model with its repeated blocks as functions. ``only`` names a folder of blocks to look for; with
    ``inline`` functions that the model has are inlined first.
    """
    onnx = import_onnx()
    found, onnx_graph = model_blocks(path, min_count, max_size, only, progress, inline)
    if out is not None:
        check_target(Path(path), Path(out), onnx_graph.external)
    maker = FunctionMaker(onnx_graph, found, flat)
    model = rewritten(onnx, onnx_graph, maker)
    used = called_functions(model, maker)
    model.functions.extend(function_proto(onnx, onnx_graph, maker, function) for function in used)
    if used:
        model.ir_version = max(model.ir_version, FUNCTIONS_SINCE)
        model.opset_import.append(onnx.helper.make_opsetid(DOMAIN, 1))
    result = Outlined(model, found, used, onnx_graph, maker)
    if out is not None:
        with whole_file(out) as temporary:
            temporary.write_bytes(model.SerializeToString())
    return result


def model_blocks(
    path: str | Path,
    min_count: int = 2,
    max_size: int | None = None,
    only: Path | None = None,
    progress: Progress | None = None,
    inline: bool = False,
) -> tuple[Blocks, OnnxGraph]:
    """The blocks of a model, of operators that can stand for each other."""
    begin = time.perf_counter()
    onnx_graph = read_model(path, inline)
    taken = {function.domain for function in onnx_graph.model.functions}
    taken |= {opset.domain for opset in onnx_graph.model.opset_import}
    if DOMAIN in taken and not onnx_graph.inlined:
        raise InputError(
            f"{path} has functions of the domain {DOMAIN} already; outline the model that it was made from."
        )
    settings = BlocksSettings(graphs=str(path), min_count=min_count, max_size=max_size)
    if only is None:
        return find(onnx_graph.graphs, settings, {}, progress, begin, onnx_graph.wiring), onnx_graph
    refuse_limits(settings)
    return find_known(onnx_graph.graphs, settings, only, {}, progress, begin, onnx_graph.wiring), onnx_graph


def check_target(path: Path, out: Path, external: bool) -> None:
    """Refuse to write over the model, or where the files of its external data would not be found."""
    if out.exists() and out.samefile(path):
        raise InputError(f"{out} is the model itself; give another file to write.")
    if external and out.resolve().parent != path.resolve().parent:
        raise InputError(
            f"{path} has data in other files, which are found from its folder; write the outline to that folder, too."
        )


def rewritten(onnx: Any, onnx_graph: OnnxGraph, maker: FunctionMaker) -> Any:
    """The model with calls in the place of blocks, and without constants that only blocks read."""
    graph = onnx_graph.model.graph
    nodes = [
        call(onnx, maker, unit.symbol, unit.begin)
        if unit.symbol >= maker.found.grammar.types
        else onnx_graph.nodes[maker.node(0, unit.begin)]
        for unit in maker.top()
    ]
    read = {text for node in nodes for text in node.input} | onnx_graph.wanted
    for text, node in reversed(onnx_graph.constant_nodes.items()):
        if text in read:
            read.update(node.input)
    present = read | {text for node in nodes for text in node.output}
    before = {text for node in onnx_graph.nodes for text in node.input} | onnx_graph.wanted
    model = type(onnx_graph.model)()
    for name, value in onnx_graph.model.ListFields():
        if name.name != "graph":
            copy_field(model, name, value)
    result = model.graph
    for name, value in graph.ListFields():
        if name.name not in ("node", "initializer", "value_info"):
            copy_field(result, name, value)
    # Constants first, as some of them may be read by anything.
    result.node.extend(
        node for text, node in onnx_graph.constant_nodes.items() if text in read or text not in before
    )
    result.node.extend(nodes)
    changeable = {value.name for value in graph.input}
    result.initializer.extend(
        tensor
        for tensor in graph.initializer
        if tensor.name in read or tensor.name not in before or tensor.name in changeable
    )
    result.value_info.extend(value for value in graph.value_info if value.name in present)
    return model


def copy_field(message: Any, field: Any, value: Any) -> None:
    repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
    if repeated:
        getattr(message, field.name).extend(value)
    elif field.message_type is not None:
        getattr(message, field.name).CopyFrom(value)
    else:
        setattr(message, field.name, value)


def call(onnx: Any, maker: FunctionMaker, symbol: int, begin: int) -> Any:
    """The call of a function for one occurrence, with the values that it reads and computes there."""
    function, grammar = maker.function(symbol), maker.found.grammar
    root = maker.onnx_graph.nodes[maker.node(begin, int(grammar.roots[symbol]))]
    node = onnx.helper.make_node(
        function.name,
        [maker.value(begin, slot) for slot in function.params],
        [root.output[i] for i in function.outputs],
        name=root.name,
        domain=DOMAIN,
    )
    for size, name in zip(function.sizes, function.size_names, strict=True):
        node.attribute.append(renamed(maker.attribute(begin, size), name))
    return node


def renamed(attribute: Any, name: str) -> Any:
    """The same content under another name."""
    copy = type(attribute)()
    copy.CopyFrom(attribute)
    copy.name = name
    return copy


def called_functions(model: Any, maker: FunctionMaker) -> list[Function]:
    """The functions that calls reach, inner ones first."""
    names = {node.op_type for node in model.graph.node if node.domain == DOMAIN}
    order: list[Function] = []
    waiting = [(block.symbol, False) for block in maker.found.blocks if block.name in names]
    done: set[int] = set()
    while waiting:
        symbol, ready = waiting.pop()
        if ready:
            order.append(maker.function(symbol))
        elif symbol not in done:
            done.add(symbol)
            waiting.append((symbol, True))
            inner = {unit.symbol for unit in maker.function(symbol).units}
            waiting += [(part, False) for part in sorted(inner) if part >= maker.found.grammar.types]
    return order


def function_proto(onnx: Any, onnx_graph: OnnxGraph, maker: FunctionMaker, function: Function) -> Any:
    """A block as an ONNX function. Inside, values have the common part of their names, else the first of them."""
    found, grammar = maker.found, maker.found.grammar
    begin, symbol = maker.first(function.symbol), function.symbol
    begins = found.places.of(symbol).tolist()
    params = list(function.param_names)
    computed = computed_names(onnx_graph, maker, begin, function)
    others = [computed_names(onnx_graph, maker, at, function) for at in begins[1:]]
    common = [common_name(row) or row[0] for row in zip(computed, *others, strict=True)]
    inner_names = distinct([*params, *common])[len(params) :]
    name_of = dict(zip(computed, inner_names, strict=True))
    constants = list(dict.fromkeys(function.constants.values()))
    constant_name = dict(
        zip(
            constants,
            distinct([*params, *inner_names, *constants])[len(params) + len(inner_names) :],
            strict=True,
        )
    )

    def operand(slot: tuple[int, int]) -> str:
        if slot in function.param_of:
            return params[function.param_of[slot]]
        if slot in function.constants:
            return constant_name[function.constants[slot]]
        if slot in function.inner:
            place, output = function.inner[slot]
            return name_of[str(onnx_graph.nodes[maker.node(begin, place)].output[output])]
        return ""

    def sized(size: Size, name: str) -> Any:
        """An attribute of an operator or call inside: an attribute of this function, or a content of its own."""
        attribute = renamed(maker.attribute(begin, size), name)
        if size not in function.size_of:
            return attribute
        read = type(attribute)()
        read.name, read.type = name, attribute.type
        read.ref_attr_name = function.size_names[function.size_of[size]]
        return read

    nodes = [constant_node(onnx, onnx_graph, value, constant_name[value]) for value in constants]
    for unit in function.units:
        if unit.symbol < grammar.types:
            node = type(onnx_graph.nodes[0])()
            node.CopyFrom(onnx_graph.nodes[maker.node(begin, unit.begin)])
            keep_common_notes(node, [onnx_graph.nodes[maker.node(at, unit.begin)] for at in begins])
            node.input[:] = [operand((unit.begin, slot)) for slot in range(len(node.input))]
            node.output[:] = [name_of[text] if text else "" for text in node.output]
            for attribute in node.attribute:
                if (unit.begin, attribute.name) in function.size_of:
                    attribute.CopyFrom(sized((unit.begin, attribute.name), attribute.name))
            nodes.append(node)
            continue
        inside = maker.function(unit.symbol)
        place_of_root = unit.begin + int(grammar.roots[unit.symbol])
        roots = [onnx_graph.nodes[maker.node(at, place_of_root)] for at in begins]
        node = onnx.helper.make_node(
            inside.name,
            [operand((unit.begin + place, slot)) for place, slot in inside.params],
            [name_of[roots[0].output[i]] for i in inside.outputs],
            name=common_name([root.name for root in roots]),
            domain=DOMAIN,
        )
        for (place, given), name in zip(inside.sizes, inside.size_names, strict=True):
            node.attribute.append(sized((unit.begin + place, given), name))
        nodes.append(node)
    drop_equal_names(nodes)
    root = onnx_graph.nodes[maker.node(begin, int(grammar.roots[symbol]))]
    opsets = [*onnx_graph.model.opset_import, onnx.helper.make_opsetid(DOMAIN, 1)]
    used = {node.domain if node.domain != "ai.onnx" else "" for node in nodes}
    return onnx.helper.make_function(
        DOMAIN,
        function.name,
        params,
        [name_of[str(root.output[i])] for i in function.outputs],
        nodes,
        [opset for opset in opsets if (opset.domain if opset.domain != "ai.onnx" else "") in used],
        attributes=function.size_names,
        doc_string=f"{int(grammar.sizes[symbol])} operators, {found.by_symbol[symbol].count} occurrences.",
    )


def keep_common_notes(node: Any, occurrences: Sequence[Any]) -> None:
    """Name, documentation and metadata of an operator in a function: as far as they hold for all occurrences."""
    node.name = common_name([each.name for each in occurrences])
    if any(each.doc_string != node.doc_string for each in occurrences):
        node.ClearField("doc_string")
    entries = [{entry.key: entry.value for entry in each.metadata_props} for each in occurrences]
    for entry in list(node.metadata_props):
        if any(each.get(entry.key) != entry.value for each in entries):
            node.metadata_props.remove(entry)


def drop_equal_names(nodes: Sequence[Any]) -> None:
    """Names that several operators of a function share are dropped: onnxruntime refuses them."""
    met = Counter(node.name for node in nodes)
    for node in nodes:
        if met[node.name] > 1:
            node.name = ""


def computed_names(onnx_graph: OnnxGraph, maker: FunctionMaker, begin: int, function: Function) -> list[str]:
    """The values that the body of a function computes, by their names in its first occurrence."""
    grammar = maker.found.grammar

    def outputs(unit: Unit) -> Iterable[str]:
        if unit.symbol < grammar.types:
            return [text for text in onnx_graph.nodes[maker.node(begin, unit.begin)].output if text]
        root = onnx_graph.nodes[maker.node(begin, unit.begin + int(grammar.roots[unit.symbol]))]
        return [root.output[i] for i in maker.function(unit.symbol).outputs]

    return [text for unit in function.units for text in outputs(unit)]


def constant_node(onnx: Any, onnx_graph: OnnxGraph, value: str, name: str) -> Any:
    """A Constant operator of a value that the graph has as an initializer or as a Constant."""
    if value in onnx_graph.constant_nodes:
        node = type(onnx_graph.constant_nodes[value])()
        node.CopyFrom(onnx_graph.constant_nodes[value])
        node.output[:] = [name]
        return node
    return onnx.helper.make_node("Constant", [], [name], value=onnx_graph.initializers[value])
