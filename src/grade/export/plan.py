"""A plan to run a pattern: the order of its operators, their inputs, and consistent shapes.

A pattern says which operators feed which, and nothing about shapes. All values here are feature maps [batch, width,
size, size]: convolutions, norms, pools, activations and attention's matrix products all take them. Inputs beyond the
pattern's own edges come from outside. Some widths must be equal (the terms of a sum) and others add up (the parts of a
concatenation, which gets one more from outside where that makes it fit).

An operator that is not known here, or that cannot take part with such shapes, becomes a placeholder: it adds up its
inputs.
"""

import re
from dataclasses import dataclass, replace

from grade.errors import InputError
from grade.graphs import Pattern
from grade.sources.aten_names import ONNX_NAMES

WIDTH, SIZE, BATCH = 8, 8, 2
LAST = 1_000  # where operands go whose place is not known

NORMS = {"BatchNormalization", "InstanceNormalization", "GroupNormalization", "LayerNormalization"}
ACTIVATIONS = {
    "Relu",
    "LeakyRelu",
    "PRelu",
    "Elu",
    "Selu",
    "Gelu",
    "Mish",
    "HardSwish",
    "HardSigmoid",
    "Sigmoid",
    "Tanh",
}
ACTIVATIONS |= {"Softplus", "Softmax", "LogSoftmax", "Clip", "Erf"}
FUNCTIONS = {
    "Exp",
    "Sqrt",
    "Neg",
    "Abs",
    "Sin",
    "Cos",
    "Reciprocal",
    "Identity",
    "Gemm",
    "Transpose",
    "Reshape",
}
UNARY = frozenset(NORMS | ACTIVATIONS | FUNCTIONS | {"MaxPool", "AveragePool", "Resize"})
BINARY = frozenset(["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"])
CONVOLUTION = frozenset(["Conv", "ConvTranspose"])
REDUCTION = frozenset(
    ["GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"]
)
PLACEHOLDER = "placeholder"
ORDERED = frozenset(["Sub", "Div", "Pow", "MatMul", "Concat"])  # the order of whose operands matters

Operands = dict[tuple[int, int], list[int]] | None  # (source, target) -> places among the target's operands


@dataclass(frozen=True)
class Example:
    """Sizes of example values: [batch, width, size, size] where nothing asks for others."""

    width: int = WIDTH
    size: int = SIZE
    batch: int = BATCH


SMALL_EXAMPLE = Example()


@dataclass(frozen=True)
class Value:
    """The shape of the values between operators: [batch, width, size, size]."""

    name: str
    width: int
    size: int = SIZE


@dataclass(frozen=True)
class Step:
    """One operator of the pattern."""

    node: int  # of the pattern
    label: str  # the type as the pattern names it
    operator: str  # its ONNX name, or PLACEHOLDER
    inputs: tuple[Value, ...]
    output: Value
    in_order: bool = True  # the order of its operands is known, or does not matter
    square: bool = False  # a power whose exponent is not part of the pattern: 2
    clamp: int | None = None  # the operand that is kept above zero, as the result is no number otherwise


@dataclass(frozen=True)
class Plan:
    """Steps in an order in which they can run."""

    inputs: tuple[Value, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Value, ...]  # of the operators that feed no other


def plan(pattern: Pattern, places: Operands = None, example: Example = SMALL_EXAMPLE) -> Plan:
    """How to run a pattern. The order of operands is that of ``places``, or of edge types that are places.

    >>> block = Pattern.of([0, 1, 2], [[0, 1, 0], [0, 0, 1], [0, 0, 0]], ("Conv", "Relu", "Add"))
    >>> made = plan(block)
    >>> [(step.operator, [value.name for value in step.inputs]) for step in made.steps]
    [('Conv', ['x1']), ('Relu', ['value0']), ('Add', ['value1', 'x2'])]
    """
    order = topological(pattern)
    places = places_of(pattern) if places is None else places
    sources = [[i for i in order if pattern.edges[i][j]] for j in range(pattern.size)]
    for target, found in enumerate(sources):
        found.sort(key=lambda source: min(places.get((source, target), [LAST])))
    operators = [operator_of(label, len(sources[node])) for node, label in enumerate(pattern.type_names)]
    while misfit := misfits(operators, sources, order, example.size):
        for node in misfit:
            operators[node] = PLACEHOLDER
    return assemble(pattern, operators, sources, order, places, example)


def operator_of(label: str, inputs: int) -> str:
    """The operator of a type, if it is known and takes this number of inputs."""
    name = ONNX_NAMES.get(label, label)
    most = {
        **dict.fromkeys(UNARY | CONVOLUTION | REDUCTION, 1),
        **dict.fromkeys(BINARY | {"MatMul"}, 2),
        "Concat": inputs,
    }
    return name if name in most and inputs <= most[name] else PLACEHOLDER


def misfits(operators: list[str], sources: list[list[int]], order: list[int], size: int) -> list[int]:
    """Operators that cannot take part with any shapes; empty when all fit.

    A concatenation that is added to one of its own parts has no width. Parts of a concatenation, and the factors of a
    matrix product, cannot be reduced to a point on one side only, and a single point has no variance to norm: then no
    reduction is done.
    """
    group = width_groups(operators, sources)
    for node in order:
        if operators[node] == "Concat" and group[node] in upstream_groups(node, operators, sources, group):
            return [node]
    sizes = sizes_of(operators, sources, order, size)
    reductions = [node for node in order if operators[node] in REDUCTION]
    for node in order:
        if operators[node] in ("Concat", "MatMul") and len({sizes[source] for source in sources[node]}) > 1:
            return reductions
        if operators[node] == "InstanceNormalization" and sizes[node] == 1:
            return reductions
    return []


def width_groups(operators: list[str], sources: list[list[int]]) -> list[int]:
    """[nodes] equal for nodes whose outputs must be of the same width."""
    group = list(range(len(operators)))
    for node, operator in enumerate(operators):
        if operator not in CONVOLUTION and operator != "Concat":
            for source in sources[node]:
                old, new = group[source], group[node]
                group = [new if g == old else g for g in group]
    return group


def upstream_groups(node: int, operators: list[str], sources: list[list[int]], group: list[int]) -> set[int]:
    """Groups whose widths the width of a concatenation is made of."""
    found: set[int] = set()
    waiting = [group[source] for source in sources[node]]
    while waiting:
        now = waiting.pop()
        if now not in found:
            found.add(now)
            inner = (n for n, g in enumerate(group) if g == now and operators[n] == "Concat")
            waiting += [group[source] for other in inner for source in sources[other]]
    return found


def sizes_of(operators: list[str], sources: list[list[int]], order: list[int], size: int) -> list[int]:
    """[nodes] height and width of each output: 1 behind a reduction, until it meets a value that is not reduced."""
    sizes = [size] * len(operators)
    for node in order:
        given = [sizes[source] for source in sources[node]]
        if operators[node] in REDUCTION:
            sizes[node] = 1
        elif operators[node] in BINARY and len(given) < 2:
            sizes[node] = size  # the other one comes from outside
        elif operators[node] == "Resize":
            sizes[node] = size
        else:
            sizes[node] = max(given, default=size)
    return sizes


def places_of(pattern: Pattern) -> dict[tuple[int, int], list[int]]:
    """Operand places from edge types such as ``0`` and ``1+2``, which sets with positions have.

    >>> sub = Pattern.of([0, 1], [[0, 2], [0, 0]], ("Relu", "Sub"), ("none", "0", "1"))
    >>> places_of(sub)
    {(0, 1): [1]}
    """
    found = {}
    for i, j, kind in pattern.edge_list:
        name = pattern.edge_vocabulary[kind] if kind < len(pattern.edge_vocabulary) else ""
        if re.fullmatch(r"\d+(\+\d+)*", name) and len(pattern.edge_vocabulary) > 2:
            found[i, j] = [int(place) for place in name.split("+")]
    return found


def assemble(
    pattern: Pattern,
    operators: list[str],
    sources: list[list[int]],
    order: list[int],
    places: dict[tuple[int, int], list[int]],
    example: Example,
) -> Plan:
    """Give every value its width and its size, and every operator the inputs that it lacks."""
    group, sizes = width_groups(operators, sources), sizes_of(operators, sources, order, example.size)
    least = example.width
    known: dict[int, int] = {}

    def width(of: int) -> int:
        """The width of a group, large enough for each concatenation in it."""
        if of not in known:
            parts = [sources[n] for n, g in enumerate(group) if g == of and operators[n] == "Concat"]
            known[of] = max(
                [least, *(sum(width(group[i]) for i in part) + least * (len(part) < 2) for part in parts)]
            )
        return known[of]

    inputs: list[Value] = []
    values: dict[int, Value] = {}

    def from_outside(wide: int, size: int) -> Value:
        inputs.append(Value(f"x{len(inputs) + 1}", wide, size))
        return inputs[-1]

    steps: list[Step] = []
    signs: dict[str, Sign] = {}
    for node in order:
        given = [values[source] for source in sources[node]]
        values[node] = Value(f"value{len(steps)}", width(group[node]), sizes[node])
        operator, output, square = operators[node], values[node], False
        if operator == "Concat":
            missing = output.width - sum(value.width for value in given)
            given += [from_outside(missing, output.size)] if missing else []
        elif operator in BINARY or operator == "MatMul":
            slots: list[Value | None] = [None, None]
            for source, value in zip(sources[node], given, strict=True):
                free = [
                    place for place in places.get((source, node), []) if place < 2 and slots[place] is None
                ]
                for place in free or [0 if slots[0] is None else 1]:
                    slots[place] = value
            square = operator == "Pow" and slots[1] is None
            given = [
                slot or (output if square else from_outside(output.width, output.size)) for slot in slots
            ]
            given = given[:1] if square else given
        elif not given:
            wide = least if operator in CONVOLUTION else output.width
            given.append(from_outside(wide, example.size))
        in_order = operator not in ORDERED or all(places.get((source, node)) for source in sources[node])
        step = Step(node, pattern.type_names[node], operator, tuple(given), output, in_order, square)
        steps.append(replace(step, clamp=clamped(step, signs)))
        signs[output.name] = sign_of(step, signs)
    last = [values[node] for node in order if not any(pattern.edges[node])]
    if len(inputs) == 1:
        steps = [replace(step, inputs=tuple(renamed(value) for value in step.inputs)) for step in steps]
        inputs = [renamed(inputs[0])]
    return Plan(tuple(inputs), tuple(steps), tuple(last))


@dataclass(frozen=True)
class Sign:
    """Which values may come up, for inputs that are all positive."""

    negative: bool = False
    zero: bool = False


POSITIVE = {"Exp", "Sigmoid", "Softmax", "Softplus"}
NOT_NEGATIVE = {"Relu", "Clip", "Abs", "HardSigmoid"}
KEEPS = {
    "Add",
    "Mul",
    "Div",
    "Max",
    "MaxPool",
    "AveragePool",
    "Identity",
    "Transpose",
    "Reshape",
    "Concat",
    "Resize",
}
KEEPS |= {"Sqrt", "Reciprocal", "Min", "MatMul", "Pow", *REDUCTION}


def sign_of(step: Step, signs: dict[str, Sign]) -> Sign:
    """The ranges that a step's result can have."""
    given = [signs.get(value.name, Sign()) for value in step.inputs]
    zero = any(sign.zero for sign in given)
    if step.operator in POSITIVE:
        return Sign()
    if step.operator in NOT_NEGATIVE:
        return Sign(zero=any(sign.negative or sign.zero for sign in given))
    if step.square:
        return Sign(zero=zero)
    if step.operator in KEEPS:
        return Sign(any(sign.negative for sign in given), zero)
    return Sign(negative=True, zero=zero)


def clamped(step: Step, signs: dict[str, Sign]) -> int | None:
    """The operand that must not be negative (under a root, of a power) or zero (of a quotient), if it may be."""
    given = [signs.get(value.name, Sign()) for value in step.inputs]
    match step.operator:
        case "Sqrt" if given[0].negative:
            return 0
        case "Pow" if not step.square and (given[0].negative or given[0].zero):
            return 0
        case "Div" if given[1].zero:
            return 1
        case "Reciprocal" if given[0].zero:
            return 0
    return None


def renamed(value: Value) -> Value:
    """A single input needs no number."""
    return replace(value, name="x") if value.name == "x1" else value


def topological(pattern: Pattern) -> list[int]:
    """The nodes in an order in which every one comes after those that feed it, and soon after the last of them."""
    left, order = set(range(pattern.size)), list[int]()
    while left:
        ready = [j for j in left if not any(pattern.edges[i][j] for i in left)]
        if not ready:
            raise InputError(f"The pattern {pattern} has a cycle, so it cannot run; choose one without.")
        latest = {j: max((n for n, i in enumerate(order) if pattern.edges[i][j]), default=-1) for j in ready}
        order.append(max(ready, key=lambda j: (latest[j], -j)))
        left.remove(order[-1])
    return order
