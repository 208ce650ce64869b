"""Operators and values to a graph: the common part of reading ONNX files and PyTorch modules.

A reader makes one node for each operator and one `Value` for each thing that is computed, and says which node
reads which value. Here follow the choices that do not depend on where the model came from: whether constants
are kept, whether operators on constants alone are folded and transparent ones taken out, and what an edge says.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.operands import Arc, operand_word
from grade.settings import ReadSettings
from grade.sources.from_labels import graph_from_labels

MAX_OPERATORS = 5_000_000  # of one graph: far above any model, and a bound for hostile nesting
LAST_POSITION = 32  # later inputs (of a wide Concat) share one edge type: a set holds at most 255

CONSTANT, INITIALIZER = "Constant", "Initializer"


@dataclass(eq=False, slots=True)
class Value:
    """A value that is computed once and read any number of times.

    It is made before it is known where it comes from: ``node`` is bound later, or ``alias`` when it is the
    same as another value (the input of a function and the caller's argument). A value without either comes
    from outside: an input of the model.
    """

    node: int | None = None
    result: int = 0  # which of the node's results it is
    alias: "Value | None" = None
    absent: bool = False  # an optional input that was not given

    def resolve(self) -> "Value":
        """The value at the end of the chain of aliases."""
        end, passed = self, {id(self): self}
        while end.alias is not None:
            end = end.alias
            if id(end) in passed:
                raise InputError("a value is defined by itself")
            passed[id(end)] = end
        for value in passed.values():  # so that long chains are walked once
            value.alias = end if value is not end else None
        return end


class OperatorGraph:
    """Operators, and the values between them.

    >>> model = OperatorGraph()
    >>> image, weight, hidden = Value(), Value(), Value()
    >>> model.add(INITIALIZER, "w", [], [weight], constant=True)
    >>> model.add("Conv", "conv1", [image, weight], [hidden])
    >>> model.add("Mul", "square", [hidden, hidden], [Value()])
    >>> graphs = model.graph_set("tiny", ReadSettings())
    >>> graphs.node_vocabulary, graphs.edge_list(0).tolist(), list(graphs.node_names)
    (('Conv', 'Mul'), [[0, 1]], ['conv1', 'square'])
    >>> model.graph_set("tiny", ReadSettings(positions=True)).edge_vocabulary
    ('none', '0+1', 'edge')
    """

    def __init__(self) -> None:
        self.types: list[str] = []
        self.names: list[str] = []
        self.constant: list[bool] = []
        self.foldable: list[bool] = []
        self.reads: list[list[Value]] = []
        self.places: list[int] = []
        self.outputs: list[Value] | None = None  # the outputs of the model, where known

    def add(
        self,
        kind: str,
        name: str,
        inputs: list[Value],
        outputs: list[Value],
        *,
        constant: bool = False,
        foldable: bool = True,
        place: int = 0,
    ) -> None:
        """An operator that reads ``inputs`` in this order and computes ``outputs``.

        ``foldable`` is False where equal inputs may give different results, or where the operator does more
        than compute. ``place`` is where it stands in its file.
        """
        if len(self.types) >= MAX_OPERATORS:
            raise InputError(f"it unfolds to more than {MAX_OPERATORS:,} operators")
        for result, value in enumerate(outputs):
            value.node, value.result = len(self.types), result
        self.places.append(place)
        self.types.append(kind)
        self.names.append(name)
        self.constant.append(constant)
        self.foldable.append(foldable)
        self.reads.append(inputs)

    def graph_set(self, name: str, settings: ReadSettings, origin: str = "") -> GraphSet:
        """The graph as a set of one."""
        types, through = list(self.types), self.dropped(settings.drop)
        reads = [
            [] if node in through else [self.origin(value, through) for value in inputs]
            for node, inputs in enumerate(self.reads)
        ]
        aside: set[int | None] = {value.resolve().node for node in through for value in self.reads[node][1:]}
        kept = [not constant and node not in through for node, constant in enumerate(self.constant)]
        for node, kind in enumerate(types):
            if self.constant[node]:
                kept[node] = settings.initializers if kind == INITIALIZER else settings.constants
        if settings.fold:
            folded = self.folded(reads) - through.keys()
            for node in folded:
                types[node], reads[node], kept[node] = CONSTANT, [], settings.constants
            aside |= folded | {node for node, constant in enumerate(self.constant) if constant}
        used = {value.node for inputs in reads for value in inputs}
        for gone in aside - used:  # constants that only operators read which are gone
            if gone is not None and (self.constant[gone] or types[gone] == CONSTANT):
                kept[gone] = False
        place = dict(zip((node for node, keep in enumerate(kept) if keep), range(len(types)), strict=False))
        arcs: dict[tuple[int, int], list[Arc]] = defaultdict(list)
        for node, number in place.items():
            for position, value in enumerate(reads[node]):
                if value.node is not None and value.node in place:
                    arcs[place[value.node], number].append(Arc(position, value.result))
        outputs = None
        if self.outputs is not None:
            ends = {self.origin(value, through).node for value in self.outputs}
            outputs = [node in ends for node in place]
        return graph_from_labels(
            name,
            [types[node] for node in place],
            {pair: edge_label([arc.operand for arc in found], settings) for pair, found in arcs.items()},
            [self.names[node] for node in place],
            origin,
            operands={pair: operand_word(found) for pair, found in arcs.items()},
            outputs=outputs,
            node_places=[self.places[node] for node in place],
        )

    def dropped(self, types: str) -> dict[int, Value]:
        """The operators to take out, each with the value that it hands on.

        One of them whose second result is wanted (the mask of a Dropout) does more than that and stays.
        """
        names = [name.strip() for name in types.split(",") if name.strip()]
        found = {
            node: self.reads[node][0]
            for node, kind in enumerate(self.types)
            if self.reads[node]
            and not self.reads[node][0].absent
            and any(fnmatchcase(kind.partition("[")[0], name) for name in names)
        }
        if found:
            for value in (value for values in (*self.reads, self.outputs or []) for value in values):
                end = value.resolve()
                if end.result and end.node is not None:
                    found.pop(end.node, None)
        return found

    def origin(self, value: Value, through: dict[int, Value]) -> Value:
        """Where a value comes from when these operators hand their input on."""
        passed: list[int] = []
        end = value.resolve()
        while end.node is not None and end.node in through:
            if end.node in passed[:1] or len(passed) > len(through):
                raise InputError("a value is defined by itself")
            passed.append(end.node)
            end = through[end.node].resolve()
        for node in passed:  # so that long chains are walked once
            through[node] = end
        return end

    def folded(self, reads: list[list[Value]]) -> set[int]:
        """Operators whose inputs are all constant, directly or through others like them."""
        readers: dict[int, list[int]] = defaultdict(list)
        open_inputs = [0] * len(reads)  # inputs that are not known to be constant
        for node, inputs in enumerate(reads):
            for value in inputs:
                if not value.absent:
                    open_inputs[node] += 1
                    if value.node is not None:
                        readers[value.node].append(node)
        folded: set[int] = set()
        waiting = [node for node, constant in enumerate(self.constant) if constant]
        while waiting:
            for reader in readers[waiting.pop()]:
                open_inputs[reader] -= 1
                if open_inputs[reader] == 0 and self.foldable[reader]:
                    folded.add(reader)
                    waiting.append(reader)
        return folded


def attribute_suffix(kind: str, values: Mapping[str, str], wanted: Collection[str]) -> str:
    """The wanted attributes of an operator, to stand in its type.

    >>> attribute_suffix("Conv", {"kernel_shape": "3x3", "group": "2"}, ["Conv.kernel_shape", "MaxPool.group"])
    '[kernel_shape=3x3]'
    """
    chosen = [
        f"{name}={values[name]}" for name in sorted(values) if name in wanted or f"{kind}.{name}" in wanted
    ]
    return f"[{','.join(chosen)}]" if chosen else ""


def edge_label(positions: list[int], settings: ReadSettings) -> str:
    """The type of the edge between two operators, from the inputs at which the one reads the other.

    >>> edge_label([0, 1], ReadSettings()), edge_label([0, 1], ReadSettings(parallel=True))
    ('edge', 'edge x2')
    >>> edge_label([0], ReadSettings(positions=True)), edge_label([1, 70], ReadSettings(positions=True))
    ('0', '1+32')
    """
    if settings.positions:
        return "+".join(map(str, sorted({min(position, LAST_POSITION) for position in positions})))
    if settings.parallel and len(positions) > 1:
        return f"edge x{min(len(positions), LAST_POSITION)}"
    return "edge"
