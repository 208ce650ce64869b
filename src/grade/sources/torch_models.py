"""Operator graphs of PyTorch modules, captured by ``torch.export`` without weights and without computing anything.

    from grade.sources.torch_models import capture
    graphs = capture(module, (image,))

A node is an ATen operator (or, with ``names="onnx"``, the ONNX operator that does the same), an arc leads to an
operator that reads its result. Operators that change a tensor in place are named like those that do not;
later readers of the tensor read from them. Operators that compute nothing (detach, dropout outside training ...) are
left out; the bodies of ``torch.cond`` and its like are flattened as those of ONNX files are.
"""

import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.settings import ReadSettings
from grade.sources.aten_names import ONNX_NAMES
from grade.sources.operator_graph import INITIALIZER, OperatorGraph, Value

if TYPE_CHECKING:
    import torch
    from torch.fx import GraphModule, Node

SILENT = {"aten.detach", "aten.alias", "aten.contiguous", "aten.lift_fresh_copy", "aten.lift_fresh"}
DROPOUTS = {"aten.dropout", "aten.feature_dropout", "aten.alpha_dropout", "aten.feature_alpha_dropout"}
WRAPPERS = ("wrap_with_set_grad_enabled", "wrap_with_autocast", "wrap", "hints_wrapper")  # leave no trace
RANDOM = ("rand", "normal", "bernoulli", "multinomial", "dropout", "uniform")
Result = Value | list[Value]  # several where an operator stands for a graph with several outputs


def capture(
    module: "torch.nn.Module",
    example_args: Sequence[Any],
    example_kwargs: Mapping[str, Any] | None = None,
    *,
    name: str = "",
    settings: ReadSettings | None = None,
) -> GraphSet:
    """The operator graph of a module, as a set of one.

    Make the module and the tensors on the meta device (``with torch.device("meta"):``) and it takes next to no memory,
    whatever its size. The module is captured as it is: call ``eval()`` first for its behaviour outside training.

    >>> import torch
    >>> with torch.device("meta"):
    ...     module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()
    ...     graphs = capture(module, (torch.empty(1, 3, 8, 8),))
    >>> graphs.node_vocabulary, graphs.edge_list(0).tolist(), list(graphs.node_names)
    (('aten.conv2d', 'aten.relu'), [[0, 1]], ['0/conv2d', '1/relu'])
    """
    import torch

    choices = settings or ReadSettings()
    if choices.names not in ("aten", "onnx"):
        raise InputError(f"Operators cannot be named by {choices.names!r}; give aten or onnx.")
    label = name or type(module).__name__
    try:
        with torch.no_grad(), quick_tracing():
            program = torch.export.export(
                module, tuple(example_args), dict(example_kwargs or {}), strict=False
            )
    except (KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:  # any error of the module's code or torch.export
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"{label} cannot be captured by torch.export ({type(error).__name__}: {reason})."
        ) from None
    return of_program(program, label, choices)


@contextmanager
def quick_tracing() -> Iterator[None]:
    """Trace without texts for debuggers: stack traces, and Python code of the graph, cost a third of the time."""
    import torch.fx
    from torch.fx import _lazy_graph_module as lazy  # private, so it may go; the graph is the same without it

    config = torch.fx.config
    before = getattr(config, "do_not_emit_stack_traces", None)
    if before is not None:
        config.do_not_emit_stack_traces = True
    try:
        with getattr(lazy, "_use_lazy_graph_module", lambda _: nullcontext())(True):
            yield
    finally:
        if before is not None:
            config.do_not_emit_stack_traces = before


def of_program(
    program: "torch.export.ExportedProgram",
    name: str = "exported program",
    settings: ReadSettings | None = None,
) -> GraphSet:
    """The operator graph of a result of ``torch.export``, as a set of one."""
    choices = settings or ReadSettings()
    signature = program.graph_signature
    stored = {*signature.inputs_to_parameters, *signature.inputs_to_buffers}
    stored.update(signature.inputs_to_lifted_tensor_constants)
    walk = Walk(choices.names == "onnx")
    walk.result.outputs = walk.graph(program.graph_module, None, stored, "")
    return walk.result.graph_set(name, choices)


class Walk:
    """Makes one `OperatorGraph` of a captured graph and all that it nests."""

    def __init__(self, onnx_names: bool) -> None:
        self.onnx_names = onnx_names
        self.result = OperatorGraph()
        self.place = 0  # in the captured graph; the operators of a body count as the one that has it

    def graph(
        self, module: "GraphModule", actuals: list[Value] | None, stored: set[str], prefix: str
    ) -> list[Value]:
        """Add the operators of a graph whose placeholders stand for ``actuals``; returns its outputs."""
        scope = Scope()
        given = iter(actuals or [])
        for number, node in enumerate(module.graph.nodes):
            if actuals is None:
                self.place = number
            if node.op == "placeholder":
                value = next(given, Value(absent=True)) if actuals is not None else Value()
                if node.name in stored:
                    self.result.add(INITIALIZER, node.name, [], [value], constant=True)
                scope.define(node, value)
            elif node.op == "get_attr":
                if not is_graph(module, node):
                    constant = Value()
                    self.result.add(INITIALIZER, f"{prefix}{node.target}", [], [constant], constant=True)
                    scope.define(node, constant)
            elif node.op == "output":
                return [value for part in inputs_of(node.args) for value in scope.read(part)]
            else:
                self.call(module, node, scope, prefix)
        return []

    def call(self, module: "GraphModule", node: "Node", scope: "Scope", prefix: str) -> None:
        """Add one operator, or the graph that replaces it."""
        if node.target is operator.getitem:
            scope.pick(node)
            return
        schema = getattr(node.target, "_schema", None)
        inputs = inputs_of([node.args, node.kwargs])
        bodies = [part for part in inputs if part.op == "get_attr" and is_graph(module, part)]
        operands = [part for part in inputs if part not in bodies]
        kind, name = operator_name(node, schema), f"{prefix}{place_of(node)}{node.name}"
        if kind in SILENT or (kind in DROPOUTS and not argument(node, 2)):
            scope.define(node, scope.last(operands[0]), view_of=operands[0])
            return
        if schema is not None and not schema.returns and not written(node, schema):
            return  # an assertion
        reads = [value for part in operands for value in scope.read(part)]
        if bodies:
            fed = reads[1:] if kind == "cond" else reads  # the condition is not for the branches
            outputs = [
                self.graph(getattr(module, str(body.target)), fed, set(), f"{name}/{body.target}/")
                for body in bodies
            ]
            if kind in WRAPPERS:
                scope.define(node, outputs[0])
                return
            reads += [value for body in outputs for value in body]
        result = Value()
        shown = ONNX_NAMES.get(kind, kind) if self.onnx_names else kind
        foldable = not bodies and bool(reads) and not any(word in kind for word in RANDOM)
        self.result.add(
            shown,
            name,
            reads,
            [result],
            foldable=foldable,
            constant=not operands and created(kind),
            place=self.place,
        )
        scope.define(node, result, view_of=viewed(node, schema))
        for target in written(node, schema):
            scope.write(target, result)


class Scope:
    """The values of the names of a graph at the present point, writes in place included.

    Nodes that are views of one tensor have the same root. After a write to one of them, a
    reader of another one depends on its origin and on the written value.
    """

    def __init__(self) -> None:
        self.values: dict[Node, Result] = {}
        self.root: dict[Node, Node] = {}
        self.writes: dict[Node, tuple[Node, Value]] = {}  # root -> (what was written to, the value after it)
        self.age: dict[Node, int] = {}  # number of writes to the root before the node was made
        self.written: dict[Node, int] = {}

    def define(self, node: "Node", value: Result, view_of: "Node | None" = None) -> None:
        self.values[node] = value
        self.root[node] = self.root[view_of] if view_of is not None else node
        self.age[node] = self.written.get(self.root[node], 0)

    def write(self, target: "Node", value: Value) -> None:
        root = self.root[target]
        self.writes[root] = target, value
        self.written[root] = self.written.get(root, 0) + 1

    def read(self, node: "Node") -> list[Value]:
        """The values that someone who reads this node now depends on."""
        if node not in self.values:
            return []  # a graph, not a tensor
        value = self.values[node]
        values = value if isinstance(value, list) else [value]
        root = self.root[node]
        if self.written.get(root, 0) > self.age[node]:
            target, written = self.writes[root]
            return [written] if target is node else [*values, written]
        return values

    def last(self, node: "Node") -> Result:
        values = self.read(node)
        return values[0] if len(values) == 1 else values

    def pick(self, node: "Node") -> None:
        """One of several results: of a flattened graph the one that is meant, of an operator the operator."""
        source: Any  # the arguments of getitem are a node and a number
        place: Any
        source, place = node.args
        value = self.values[source]
        if isinstance(value, list):
            value = value[place]
        elif (whole := value.resolve()).node is not None:
            value = Value(whole.node, result=int(place))
        self.define(node, value, view_of=source)


def operator_name(node: "Node", schema: Any) -> str:
    """``aten.relu`` for aten::relu and aten::relu_; the plain name of an operator that is in no library."""
    if schema is None:
        target = node.target
        return str(getattr(target, "_name", getattr(target, "__name__", target)))
    library, _, name = schema.name.partition("::")
    return f"{library}.{name.removesuffix('_') if written(node, schema) else name}"


def inputs_of(arguments: Any) -> "list[Node]":
    """All nodes in (nested) arguments, in their order, those that are there twice included."""
    from torch.fx import Node

    if isinstance(arguments, Node):
        return [arguments]
    if isinstance(arguments, Mapping):
        arguments = list(arguments.values())
    if isinstance(arguments, list | tuple):
        return [node for part in arguments for node in inputs_of(part)]
    return []


def place_of(node: "Node") -> str:
    """The path of the submodule that a call was made in, with a slash behind it."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = stack[-1][0] if stack else ""
    return f"{path}/" if path else ""


def argument(node: "Node", place: int) -> Any:
    return node.args[place] if len(node.args) > place else None


def written(node: "Node", schema: Any) -> "list[Node]":
    """The arguments that an operator changes in place."""
    return [part for part, alias in aliases(node, schema) if alias.is_write]


def viewed(node: "Node", schema: Any) -> "Node | None":
    """The argument that the result of an operator is a view of, or is."""
    results = [result.alias_info for result in schema.returns] if schema is not None else []
    names = {name for alias in results if alias is not None for name in alias.before_set}
    return next((part for part, alias in aliases(node, schema) if names & set(alias.before_set)), None)


def aliases(node: "Node", schema: Any) -> "Iterator[tuple[Node, Any]]":
    """(argument, its aliasing by the operator's schema) where there is any."""
    from torch.fx import Node

    for place, parameter in enumerate(schema.arguments if schema is not None else ()):
        given = node.args[place] if place < len(node.args) else node.kwargs.get(parameter.name)
        if parameter.alias_info is not None and isinstance(given, Node):
            yield given, parameter.alias_info


def created(kind: str) -> bool:
    """Whether an operator without inputs makes the same tensor every time."""
    return kind.startswith("aten.") and not any(word in kind for word in RANDOM)


def is_graph(module: "GraphModule", node: "Node") -> bool:
    import torch

    found: Any = module
    for part in str(node.target).split("."):
        found = getattr(found, part)
    return isinstance(found, torch.nn.Module)
