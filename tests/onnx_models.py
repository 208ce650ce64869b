"""ONNX models for tests, and a second way to count what is in them, by the onnx package."""

from collections.abc import Iterator
from pathlib import Path

import onnx
import onnx.inliner
from onnx import TensorProto, helper
from onnx.backend.test import __file__ as backend_test

BUNDLED = Path(backend_test).parent / "data"
LIGHT = sorted((BUNDLED / "light").glob("*.onnx"))


def tensor(name: str, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, [1])


def weight(name: str) -> onnx.TensorProto:
    return helper.make_tensor(name, TensorProto.FLOAT, [1], [0.5])


def model(
    nodes: list[onnx.NodeProto],
    inputs: str = "x",
    outputs: str = "y",
    initializers: str = "",
    functions: list[onnx.FunctionProto] | None = None,
) -> onnx.ModelProto:
    """A model from nodes and from the names of what goes in and out, in words."""
    graph = helper.make_graph(
        nodes,
        "test",
        [tensor(name) for name in inputs.split()],
        [tensor(name) for name in outputs.split()],
        [weight(name) for name in initializers.split()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions or [])


def save(made: onnx.ModelProto, path: Path) -> str:
    path.write_bytes(made.SerializeToString())
    return str(path)


def branching() -> onnx.ModelProto:
    """If and Loop, one in the other, with values captured from outside.

    x -> Relu(r) ; If(c): then Add(r, x), else Neg -> Identity ; Loop over Mul(carried, r) ; Sub(If, Loop) -> y
    """
    node = helper.make_node
    then = helper.make_graph([node("Add", ["r", "x"], ["t"], name="add")], "then", [], [tensor("t")])
    loop_body = helper.make_graph(
        [
            node("Mul", ["carried", "r"], ["next"], name="mul"),
            node("Identity", ["going"], ["go_on"], name="same"),
        ],
        "body",
        [tensor("i", TensorProto.INT64), tensor("going", TensorProto.BOOL), tensor("carried")],
        [tensor("go_on", TensorProto.BOOL), tensor("next")],
    )
    otherwise = helper.make_graph(
        [
            node("Neg", ["x"], ["n"], name="neg"),
            node("Loop", ["", "c", "n"], ["looped"], name="inner", body=loop_body),
        ],
        "else",
        [],
        [tensor("looped")],
    )
    return model(
        [
            node("Relu", ["x"], ["r"], name="relu"),
            node("Cast", ["x"], ["c"], name="cast", to=TensorProto.BOOL),
            node("If", ["c"], ["chosen"], name="choose", then_branch=then, else_branch=otherwise),
            node("Sub", ["chosen", "r"], ["y"], name="sub"),
        ]
    )


def calling() -> onnx.ModelProto:
    """Two functions, one of which calls the other; the last call swaps the outputs."""
    node, opset = helper.make_node, [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    gate = helper.make_function(
        "local", "Gate", ["a"], ["g"], [node("Sigmoid", ["a"], ["s"]), node("Mul", ["a", "s"], ["g"])], opset
    )
    pair = helper.make_function(
        "local",
        "Pair",
        ["a", "b"],
        ["p", "q"],
        [node("Gate", ["a"], ["p"], domain="local"), node("Add", ["p", "b"], ["q"])],
        opset,
    )
    return model(
        [
            node("Relu", ["x"], ["r"]),
            node("Pair", ["r", "x"], ["p", "q"], domain="local", name="first"),
            node("Pair", ["q", "p"], ["s", "t"], domain="local", name="second"),
            node("Gate", ["t"], ["u"], domain="local", name="third"),
            node("Concat", ["u", "s"], ["y"], axis=0),
        ],
        functions=[gate, pair],
    )


def walk(graph: onnx.GraphProto, outer: dict[str, str], prefix: str) -> Iterator[tuple[str, str, list[str]]]:
    """(name, operator, names of the operators that it reads) of all operators, bodies included.

    Names are made unique by their place; values of bodies are wired as `grade.sources.onnx_files` says.
    """
    scope = dict(outer)
    for value in [*graph.input, *graph.initializer]:
        scope.setdefault(value.name, "") if prefix else scope.__setitem__(value.name, "")
    for number, node in enumerate(graph.node):
        scope.update(dict.fromkeys(filter(None, node.output), f"{prefix}{number}"))
    for number, node in enumerate(graph.node):
        name = f"{prefix}{number}"
        reads = [scope[value] for value in node.input if value]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                inner = dict(scope)
                for place, value in enumerate(attribute.g.input):
                    fed = node.input[place] if place < len(node.input) and place > 0 else ""
                    inner[value.name] = scope.get(fed, "")
                below = f"{name}.{attribute.name}."
                yield from walk(attribute.g, inner, below)
                made = {out: f"{below}{i}" for i, n in enumerate(attribute.g.node) for out in n.output}
                reads += [{**inner, **made}[value.name] for value in attribute.g.output]
        yield name, node.op_type, reads


def count(made: onnx.ModelProto, constants: bool = False) -> tuple[int, int]:
    """Operators, and pairs of operators of which one reads the other; Constant is left out unless asked for."""
    flat = onnx.inliner.inline_local_functions(made) if made.functions else made
    rows = list(walk(flat.graph, {}, ""))
    kept = {name for name, kind, _ in rows if constants or kind != "Constant"}
    arcs = {(source, name) for name, _, reads in rows for source in reads if {source, name} <= kept}
    return len(kept), len(arcs)
