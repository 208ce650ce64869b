"""ONNX files by the nodes of graph sets: the operator of each node, and the tensors around it.

The operators of a file are walked as `grade.sources.onnx_files` walks them (functions inlined, the bodies of If, Loop
and Scan before the operator that holds them), so that a node's name leads to its operator. Weights that lie in other
files are not read.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grade.errors import InputError
from grade.sources.protobuf import check_text

DEFAULT_DOMAINS = ("", "ai.onnx")


def import_onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.external_data_helper
        import onnx.helper
        import onnx.inliner
        import onnx.numpy_helper
        import onnx.printer
        import onnx.shape_inference
    except ImportError:
        raise InputError(
            "ONNX models need onnx, which is not installed; run 'pip install grade-motifs[onnx]'."
        ) from None
    return onnx


@dataclass(eq=False)
class Scope:
    """A graph of the file: the main one, or the body of an operator."""

    graph: Any  # onnx.GraphProto
    outer: "Scope | None" = None
    owner: int = -1  # the operator whose body it is
    members: list[int] = field(default_factory=list)  # numbers of its operators
    producer: dict[str, int] = field(default_factory=dict)  # value -> operator of this graph
    readers: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    initializers: dict[str, Any] = field(default_factory=dict)  # name -> onnx.TensorProto
    infos: dict[str, Any] = field(default_factory=dict)  # name -> onnx.ValueInfoProto

    def find(self, table: str, name: str) -> Any:
        """An entry of this graph or of those around it."""
        scope: Scope | None = self
        while scope is not None:
            if name in getattr(scope, table):
                return getattr(scope, table)[name]
            scope = scope.outer
        return None


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator of the file."""

    name: str  # as the graph set calls its node
    place: int  # of the operator of the main graph that it is, or lies in
    node: Any  # onnx.NodeProto
    scope: Scope

    @property
    def type(self) -> str:
        return type_of(self.node)


class ModelFile:
    """An ONNX file, read once and asked for many occurrences."""

    def __init__(self, path: str | Path) -> None:
        self.onnx = import_onnx()
        self.path = Path(path)
        try:
            model = self.onnx.load(str(path), load_external_data=False)
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror}); put the file back.") from None
        except Exception as error:  # protobuf has no class of its own for a damaged file
            raise InputError(f"{path} is not a valid ONNX model ({error}); export it again.") from None
        check_text(model, path)
        names = list(named_operators(model, model.graph.node, "", None))
        if model.functions:
            model = self.onnx.inliner.inline_local_functions(model)
        try:
            self.model = self.onnx.shape_inference.infer_shapes(model, data_prop=True)
        except (
            Exception
        ):  # too large to be inferred, or a model that contradicts itself: shapes stay as they are
            self.model = model
        self.operators: list[Operator] = []
        self.main = self.walk(self.model.graph, None, iter(names))
        self.numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, operator in enumerate(self.operators):
            self.numbers[operator.name, operator.type].append(number)

    def walk(self, graph: Any, outer: Scope | None, names: Iterator[tuple[str, int, str]]) -> Scope:
        scope = Scope(graph, outer)
        scope.initializers = {tensor.name: tensor for tensor in graph.initializer}
        for info in (*graph.value_info, *graph.input, *graph.output):
            scope.infos[info.name] = info
        for node in graph.node:
            inner = [self.walk(body, scope, names) for body in bodies_of(node)]
            name, place, kind = next(names, ("", 0, ""))
            if kind != type_of(node):
                raise InputError(f"{self.path} cannot be followed at its operator {name!r}; export it again.")
            number = len(self.operators)
            scope.members.append(number)
            for body in inner:
                body.owner = number
            self.operators.append(Operator(name, place, node, scope))
            for value in node.output:
                scope.producer[value] = number
            for value in (*node.input, *(v for body in inner for v in captured(body))):
                if value:
                    scope.readers[value].append(number)
        return scope

    def find(self, name: str, kind: str, place: int | None = None) -> int:
        """The number of the operator of a node of a graph set."""
        base = kind.partition("[")[0]  # attributes may stand behind it
        found = self.numbers.get((name, base), [])
        if len(found) > 1 and place is not None:
            found = [number for number in found if self.operators[number].place == place]
        if len(found) != 1:
            how = "no" if not found else "more than one"
            raise InputError(
                f"{self.path} has {how} operator {name!r} of type {base}, so it is not the file that the set was"
                " built from, or its names are not unique; build the set again."
            )
        return found[0]

    def in_one_graph(self, numbers: Sequence[int]) -> tuple[Scope, set[int]]:
        """The graph that operators lie in; those in a body of one of them go with it, body and all."""
        chosen = set(numbers)

        def goes_with_owner(number: int) -> bool:
            scope = self.operators[number].scope
            while scope.outer is not None:
                if scope.owner in chosen:
                    return True
                scope = scope.outer
            return False

        chosen = {number for number in chosen if not goes_with_owner(number)}
        scopes = {id(self.operators[number].scope): self.operators[number].scope for number in chosen}
        if len(scopes) != 1:
            raise InputError(
                f"The occurrence reaches into a body of If, Loop or Scan of {self.path} without the operator that holds"
                " the body, so it is no model of its own; choose another one."
            )
        return next(iter(scopes.values())), chosen

    def tensors(self, numbers: Sequence[int], constants: Collection[int] = ()) -> tuple[list[str], list[str]]:
        """Names of the tensors that enter operators of one graph, and of those that leave.

        Weights and the results of ``constants`` (`constants_beside`) are left aside.
        """
        chosen = set(numbers)
        entering: dict[str, None] = {}
        leaving: dict[str, None] = {}
        for number in sorted(chosen):
            operator = self.operators[number]
            for value in reads_of(operator.node):
                maker = operator.scope.producer.get(value)
                if maker not in chosen and not self.is_constant(operator.scope, value, constants):
                    entering.setdefault(value)
            for value in operator.node.output:
                if value and self.leaves(operator.scope, value, chosen):
                    leaving.setdefault(value)
        return list(entering), list(leaving)

    def leaves(self, scope: Scope, value: str, chosen: set[int]) -> bool:
        """Whether an operator outside reads a value, or the graph returns it."""
        readers = scope.readers.get(value, [])
        returned = any(output.name == value for output in scope.graph.output)
        return returned or any(reader not in chosen for reader in readers)

    def is_constant(self, scope: Scope, value: str, constants: Collection[int] = ()) -> bool:
        """Whether a value is a weight, or comes from a Constant or one of these operators."""
        if scope.find("initializers", value) is not None:
            return True
        maker = scope.find("producer", value)
        return maker is not None and (maker in constants or self.operators[maker].type == "Constant")

    def constants_beside(self, kept: Collection[int]) -> set[int]:
        """Operators that compute on weights and constants alone, and are none of ``kept``, the nodes of the set."""
        found: set[int] = set()
        for number, operator in enumerate(self.operators):  # makers come before their readers
            reads = [] if number in kept else reads_of(operator.node)
            if reads and all(self.is_constant(operator.scope, value, found) for value in reads):
                found.add(number)
        return found


def named_operators(
    model: Any, nodes: Sequence[Any], prefix: str, place: int | None, depth: int = 0
) -> Iterator[tuple[str, int, str]]:
    """(name, place in the main graph, type) of all operators in the order of the readers of graph sets."""
    functions = {(plain(f.domain), f.name, getattr(f, "overload", "")): f for f in model.functions}
    if depth > 50:
        raise InputError("Its functions call each other, or are nested more than 50 deep.")
    for number, node in enumerate(nodes):
        at = number if place is None else place
        name = prefix + (node.name or next(filter(None, node.output), node.op_type))
        function = functions.get((plain(node.domain), node.op_type, getattr(node, "overload", "")))
        if function is not None:
            yield from named_operators(model, function.node, f"{name}/", at, depth + 1)
            continue
        for attribute in node.attribute:
            for body in attribute_bodies(attribute):
                yield from named_operators(model, body.node, f"{name}/{attribute.name}/", at, depth + 1)
        yield name, at, type_of(node)


def plain(domain: str) -> str:
    return "" if domain in DEFAULT_DOMAINS else domain


def type_of(node: Any) -> str:
    """The operator's name, with its domain unless that is the default one."""
    domain = plain(node.domain)
    return f"{domain}::{node.op_type}" if domain else str(node.op_type)


def bodies_of(node: Any) -> list[Any]:
    return [body for attribute in node.attribute for body in attribute_bodies(attribute)]


def attribute_bodies(attribute: Any) -> list[Any]:
    """The graphs that an attribute holds (AttributeProto.GRAPH is 5, GRAPHS 10)."""
    return [attribute.g] if attribute.type == 5 else list(attribute.graphs) if attribute.type == 10 else []


def reads_of(node: Any) -> list[str]:
    """The values that an operator reads, those that its bodies take from around them included."""
    inner = [value for body in bodies_of(node) for value in captured_by(body)]
    return list(dict.fromkeys([*(value for value in node.input if value), *inner]))


def captured_by(graph: Any) -> list[str]:
    """Values that a body reads and does not make."""
    own = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    own |= {value for node in graph.node for value in node.output}
    read = [value for node in graph.node for value in reads_of(node)] + [info.name for info in graph.output]
    return [value for value in dict.fromkeys(read) if value and value not in own]


def captured(scope: Scope) -> list[str]:
    return captured_by(scope.graph)
