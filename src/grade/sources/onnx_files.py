"""Operator graphs of ONNX files.

A node is an operator, typed by its name (``com.microsoft::Gelu`` outside the default domain); an arc leads
from the operator that computes a value to one that reads it. Model-local functions are inlined. The bodies of
If, Loop and Scan are flattened: values flow into a body from where the outer graph computes them, and out of
it through the If, Loop or Scan, which stays as the node where they come together:

    condition -> If <- last operators of both branches,   operators that compute the initial values -> body -> Loop

The arc from one iteration to the next is left out, so a flattened model has no cycle that it did not have before.

The file is mapped into memory and only names are read (`grade.sources.protobuf`): not the weights inside it,
nor any other file, whatever it says of external data.
"""

import mmap
import struct
from collections import ChainMap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.settings import ReadSettings
from grade.sources.operator_graph import (
    CONSTANT,
    INITIALIZER,
    MAX_OPERATORS,
    OperatorGraph,
    Value,
    attribute_suffix,
)
from grade.sources.protobuf import FIXED32, LENGTH, VARINT, WireError, fields, signed, text, varint
from grade.sources.readers import reader

DEFAULT_DOMAINS = ("", "ai.onnx")
MAX_NESTING = 50  # bodies in bodies, functions in functions
RANDOM = {
    "RandomNormal",
    "RandomUniform",
    "RandomNormalLike",
    "RandomUniformLike",
    "Multinomial",
    "Bernoulli",
}
Span = tuple[int, int]


@reader("onnx", "ONNX models", suffixes=(".onnx",))
def read_onnx(path: str, settings: ReadSettings | None = None) -> Iterator[GraphSet]:
    """The operator graph of an ONNX file, as a set of one graph that is named after the file."""
    try:
        with (
            Path(path).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            memoryview(mapped) as data,
        ):
            graphs = flattened(data, path, settings)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); check its name and permissions."
        ) from None
    except (WireError, InputError) as error:
        raise invalid(path, error) from None
    except ValueError:  # mmap has no class of its own for an empty file
        raise InputError(f"{path} is not a valid ONNX model (it is empty); export it again.") from None
    yield graphs


def read_onnx_bytes(content: bytes, name: str, settings: ReadSettings | None = None) -> GraphSet:
    """The operator graph of a serialised ModelProto, as a set of one graph of this name."""
    try:
        return flattened(memoryview(content), name, settings)
    except (WireError, InputError) as error:
        raise invalid(name, error) from None


def flattened(data: memoryview, name: str, settings: ReadSettings | None) -> GraphSet:
    choices = settings or ReadSettings()
    return Flattening(read_model(data), choices, data).run().graph_set(name, choices)


def invalid(name: str, error: Exception) -> InputError:
    return InputError(f"{name} is not a valid ONNX model ({error}); export it again.")


@dataclass(slots=True)
class Node:
    kind: str = ""
    domain: str = ""
    overload: str = ""
    name: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    bodies: list[tuple[str, "Body"]] = field(default_factory=list)  # with the names of their attributes
    attributes: list[Span] = field(default_factory=list)

    @property
    def type(self) -> str:
        return self.kind if self.domain in DEFAULT_DOMAINS else f"{self.domain}::{self.kind}"


@dataclass(slots=True)
class Body:
    """A graph or a function: nodes, and the names of inputs and outputs."""

    nodes: list[Node] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    initializers: list[str] = field(default_factory=list)
    name: str = ""
    domain: str = ""
    overload: str = ""
    defaults: list[Span] = field(default_factory=list)  # attributes of a function that have a default


@dataclass(slots=True)
class Model:
    graph: Body
    functions: dict[tuple[str, str, str], Body]


def read_model(data: memoryview) -> Model:
    """ModelProto: the graph and the functions."""
    graph, functions = None, {}
    for number, kind, begin, end in fields(data, 0, len(data)):
        if number == 7 and kind == LENGTH:
            if graph is not None:
                raise WireError("it has two graphs")
            graph = read_graph(data, begin, end, 0)
        elif number == 25 and kind == LENGTH:
            function = read_function(data, begin, end)
            functions[key(function.domain, function.name, function.overload)] = function
    if graph is None:
        raise WireError("it has no graph")
    model = Model(graph, functions)
    count_operators(model, graph.nodes, {}, [])
    return model


def count_operators(
    model: Model, nodes: list[Node], known: dict[tuple[str, str, str], int], calls: list[tuple[str, str, str]]
) -> int:
    """How many operators there will be when all functions are inlined; too many are refused before any is made."""
    total = 0
    for node in nodes:
        called = key(node.domain, node.kind, node.overload)
        total += 1 + sum(count_operators(model, body.nodes, known, calls) for _, body in node.bodies)
        if called in model.functions:
            if called in calls or len(calls) >= MAX_NESTING:
                raise InputError(f"the function {called[1]!r} calls itself, or calls are nested too deep")
            if called not in known:
                inner = model.functions[called].nodes
                known[called] = count_operators(model, inner, known, [*calls, called])
            total += known[called]
        if total > MAX_OPERATORS:
            raise InputError(f"it unfolds to more than {MAX_OPERATORS:,} operators")
    return total


def key(domain: str, name: str, overload: str) -> tuple[str, str, str]:
    return ("" if domain in DEFAULT_DOMAINS else domain), name, overload


def read_graph(data: memoryview, begin: int, end: int, depth: int) -> Body:
    """GraphProto."""
    if depth > MAX_NESTING:
        raise WireError(f"its graphs are nested more than {MAX_NESTING} deep")
    graph = Body()
    for number, kind, first, last in fields(data, begin, end):
        if kind != LENGTH:
            continue
        if number == 1:
            graph.nodes.append(read_node(data, first, last, depth))
        elif number == 5:
            graph.initializers.append(name_in(data, first, last, 8))
        elif number == 15:  # a sparse one is named by its values
            graph.initializers += [
                name_in(data, a, b, 8) for n, k, a, b in fields(data, first, last) if n == 1 and k == LENGTH
            ]
        elif number == 11:
            graph.inputs.append(name_in(data, first, last, 1))
        elif number == 12:
            graph.outputs.append(name_in(data, first, last, 1))
    return graph


def read_function(data: memoryview, begin: int, end: int) -> Body:
    """FunctionProto."""
    function = Body()
    for number, kind, first, last in fields(data, begin, end):
        if kind != LENGTH:
            continue
        if number == 7:
            function.nodes.append(read_node(data, first, last, 0))
        elif number == 4:
            function.inputs.append(text(data, first, last))
        elif number == 5:
            function.outputs.append(text(data, first, last))
        elif number == 1:
            function.name = text(data, first, last)
        elif number == 10:
            function.domain = text(data, first, last)
        elif number == 13:
            function.overload = text(data, first, last)
        elif number == 11:
            function.defaults.append((first, last))
    return function


def read_node(data: memoryview, begin: int, end: int, depth: int) -> Node:
    """NodeProto."""
    node = Node()
    for number, kind, first, last in fields(data, begin, end):
        if kind != LENGTH:
            continue
        if number == 1:
            node.inputs.append(text(data, first, last))
        elif number == 2:
            node.outputs.append(text(data, first, last))
        elif number == 5:
            node.attributes.append((first, last))
            for n, k, a, b in fields(data, first, last):
                if n in (6, 11) and k == LENGTH:
                    node.bodies.append((name_in(data, first, last, 1), read_graph(data, a, b, depth + 1)))
        elif number == 4:
            node.kind = text(data, first, last)
        elif number == 3:
            node.name = text(data, first, last)
        elif number == 7:
            node.domain = text(data, first, last)
        elif number == 8:
            node.overload = text(data, first, last)
    if not node.kind:
        raise WireError("a node has no operator")
    return node


def name_in(data: memoryview, begin: int, end: int, wanted: int) -> str:
    """The text field of this number in a message; empty where it is missing."""
    found = ""
    for number, kind, first, last in fields(data, begin, end):
        if number == wanted and kind == LENGTH:
            found = text(data, first, last)
    return found


Scope = ChainMap[str, Value]  # the value of each name; an inner graph sees the names of the outer ones


class Flattening:
    """Walks a model and all that it nests, and makes one `OperatorGraph` of it."""

    def __init__(self, model: Model, settings: ReadSettings, data: memoryview) -> None:
        self.model, self.data = model, data
        self.wanted = settings.attributes or []
        self.result = OperatorGraph()
        self.place = 0  # in the model's list of nodes; bodies and functions count as the node that has them

    def run(self) -> OperatorGraph:
        self.result.outputs = self.body(self.model.graph, None, ChainMap(), "", {})
        return self.result

    def body(
        self, body: Body, actuals: list[Value] | None, outer: Scope, prefix: str, attributes: dict[str, str]
    ) -> list[Value]:
        """Add the operators of a graph or function; returns its outputs.

        Its inputs stand for ``actuals``; those of the model itself (None) come from outside.
        """
        scope = outer.new_child()
        own = scope.maps[0]

        def define(name: str, value: Value) -> Value:
            if name in own:
                raise InputError(f"the value {name!r} is computed twice")
            scope[name] = value
            return value

        for name in body.initializers:
            value = define(name, Value())
            self.result.add(INITIALIZER, prefix + name, [], [value], constant=True)
        for place, name in enumerate(body.inputs):
            if name not in own:  # up to IR version 3 initializers are inputs, too
                if actuals is None:
                    define(name, Value())
                else:
                    define(name, actuals[place] if place < len(actuals) else Value(absent=True))
        outputs = [
            [define(name, Value()) if name else Value() for name in node.outputs] for node in body.nodes
        ]
        for number, (node, results) in enumerate(zip(body.nodes, outputs, strict=True)):
            if actuals is None:
                self.place = number
            self.node(node, results, scope, prefix, attributes)
        return [look_up(name, scope, f"the output of {prefix or 'the graph'}") for name in body.outputs]

    def node(
        self, node: Node, results: list[Value], scope: Scope, prefix: str, attributes: dict[str, str]
    ) -> None:
        """Add one operator, or the body that replaces it."""
        name = prefix + (node.name or next(filter(None, node.outputs), node.kind))
        inputs = [
            look_up(text, scope, f"the operator {name!r}") if text else Value(absent=True)
            for text in node.inputs
        ]
        function = self.model.functions.get(key(node.domain, node.kind, node.overload))
        if function is not None:
            self.inline(node, function, inputs, results, name, attributes)
            return
        reads = list(inputs)
        for attribute, body in node.bodies:
            actuals = inputs
            if node.kind == "Loop" and inputs:
                actuals = [Value(), *inputs[1:]]  # the number of the iteration is not how many there may be
            elif node.kind == "Scan" and len(inputs) == len(body.inputs) + 1:
                actuals = inputs[1:]  # opset 8 had the lengths of the sequences first
            reads += self.body(body, actuals, scope, f"{name}/{attribute}/", attributes)
        kind = node.type
        if self.wanted:
            kind += self.suffix(node, attributes)
        constant = node.type == CONSTANT
        foldable = not node.bodies and node.kind not in RANDOM
        self.result.add(kind, name, reads, results, constant=constant, foldable=foldable, place=self.place)

    def inline(
        self,
        node: Node,
        function: Body,
        inputs: list[Value],
        results: list[Value],
        name: str,
        attributes: dict[str, str],
    ) -> None:
        """Put the operators of a model-local function in the place of its call."""
        given: dict[str, str] = {}
        if self.wanted:
            for span in (*function.defaults, *node.attributes):
                given.update(self.attribute(span, attributes))
        outputs = self.body(function, inputs, ChainMap(), f"{name}/", given)
        if len(results) > len(outputs):
            raise InputError(f"the call {name!r} has more outputs than its function")
        for value, output in zip(results, outputs, strict=False):
            value.alias = output

    def suffix(self, node: Node, attributes: dict[str, str]) -> str:
        """The wanted attributes of an operator, to stand in its type: ``[kernel_shape=3x3]``."""
        values: dict[str, str] = {}
        for span in node.attributes:
            values.update(self.attribute(span, attributes))
        return attribute_suffix(node.kind, values, self.wanted)

    def attribute(self, span: Span, caller: dict[str, str]) -> dict[str, str]:
        """Name and value (numbers and texts only) of an AttributeProto; a reference is looked up in the caller."""
        name, reference, values = "", "", []
        for number, kind, begin, end in fields(self.data, *span):
            if number == 1 and kind == LENGTH:
                name = text(self.data, begin, end)
            elif number == 21 and kind == LENGTH:
                reference = text(self.data, begin, end)
            elif number in NUMBERS:
                values += NUMBERS[number](self.data, kind, begin, end)
            elif number in (4, 9) and kind == LENGTH:
                values.append(text(self.data, begin, end))
        if reference:
            return {name: caller[reference]} if reference in caller else {}
        return {name: "x".join(values)} if values else {}


def look_up(name: str, scope: Scope, who: str) -> Value:
    if name not in scope:
        raise InputError(f"{who} reads {name!r}, which nothing computes")
    return scope[name]


def whole_numbers(data: memoryview, kind: int, begin: int, end: int) -> list[str]:
    """One number, or a packed list of them."""
    if kind == VARINT:
        return [str(signed(begin))]
    found, place = [], begin
    while kind == LENGTH and place < end:
        value, place = varint(data, place, end)
        found.append(str(signed(value)))
    return found


def fractions(data: memoryview, kind: int, begin: int, end: int) -> list[str]:
    """One 32-bit float, or a packed list of them."""
    if kind not in (FIXED32, LENGTH) or (end - begin) % 4:
        raise WireError("a number has a wrong length")
    return [f"{value:.6g}" for (value,) in struct.iter_unpack("<f", data[begin:end])]


NUMBERS: dict[int, Callable[[memoryview, int, int, int], list[str]]] = {
    2: fractions,
    3: whole_numbers,
    7: fractions,
    8: whole_numbers,
}
