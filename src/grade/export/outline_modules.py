"""A model as PyTorch source as a person would write it: a module class for each block, loops over equal layers.

Operators are translated one by one (`grade.export.torch_operators`). A class owns the weights that its operators read;
where their shapes differ between occurrences, the shapes are arguments of its constructor. INITIALIZERS in the source
names the initializer of the model that each parameter stands for.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from grade.blocks.finding import Unit
from grade.blocks.functions import Slot
from grade.blocks.outline import Outlined
from grade.export.module_classes import Child, Class, Own
from grade.export.operator_call import DTYPES, Call, UntranslatableError
from grade.export.pytorch import indented, plain, stem
from grade.export.torch_helpers import HELPERS
from grade.export.torch_operators import OPERATORS, SEVERAL
from grade.export.translation import INLINE, STAND_IN, attribute_value, dtype_of, literal

FLOATS = ("torch.float32", "torch.float64", "torch.float16", "torch.bfloat16")
WEIGHT = '''

def weight(shape: list[int], dtype: torch.dtype = torch.float32) -> nn.Parameter:
    """A parameter that waits for its values; load_state_dict brings them."""
    return nn.Parameter(torch.zeros(shape, dtype=dtype))
'''


class ModuleWriter:
    """Writes the classes of an outlined model."""

    def __init__(self, done: Outlined) -> None:
        import onnx

        self.onnx, self.done, self.maker, self.graph = onnx, done, done.maker, done.onnx_graph
        self.grammar = done.found.grammar
        self.helpers: set[str] = set()
        self.unknown: list[str] = []
        self.classes: dict[int, Class] = {}
        self.opset = next(
            (o.version for o in self.graph.model.opset_import if o.domain in ("", "ai.onnx")), 1
        )
        self.changeable = {value.name for value in self.graph.model.graph.input}
        self.ranks = self.known_ranks()
        self.names: set[str] = set()

    def known_ranks(self) -> dict[str, int]:
        """Numbers of dimensions, as far as they can be inferred."""
        try:
            model = self.onnx.shape_inference.infer_shapes(self.graph.model)
        except Exception:  # of its own C++ classes; ranks are a help, not a need
            model = self.graph.model
        infos = (*model.graph.input, *model.graph.output, *model.graph.value_info)
        ranks = {
            i.name: len(i.type.tensor_type.shape.dim) for i in infos if i.type.tensor_type.HasField("shape")
        }
        return ranks | {name: len(tensor.dims) for name, tensor in self.graph.initializers.items()}

    # Shape, type and content of a value of the model, where known.

    def is_weight(self, value: str) -> bool:
        return value in self.graph.constant_nodes or (
            value in self.graph.initializers and value not in self.changeable
        )

    def shape(self, value: str) -> list[int]:
        if value in self.graph.initializers:
            return list(self.graph.initializers[value].dims)
        return list(np.asarray(self.content(value)).shape)

    def dtype(self, value: str) -> str:
        if value in self.graph.initializers:
            return DTYPES.get(self.graph.initializers[value].data_type, "torch.float32")
        return dtype_of(np.asarray(self.content(value)))

    def content(self, value: str) -> Any:
        """The numbers of a constant."""
        if value in self.graph.constant_nodes:
            attribute = self.graph.constant_nodes[value].attribute[0]
            found = np.asarray(attribute_value(self.onnx, attribute))
            return found.astype(np.float32) if attribute.name in ("value_float", "value_floats") else found
        return self.onnx.numpy_helper.to_array(self.graph.initializers[value])

    def small(self, values: Sequence[str]) -> Any:
        """The numbers of a constant that is the same everywhere, and short enough to be written out; None otherwise."""
        if not self.maker.same_constant(list(values)) or np.prod(self.shape(values[0])) > INLINE:
            return None
        found = self.content(values[0])
        return (
            found if str(found.dtype) in ("float32", "float64", "float16", "int64", "int32", "bool") else None
        )

    # Classes.

    def class_of(self, symbol: int) -> Class:
        if symbol not in self.classes:
            function = self.maker.function(symbol)
            name = self.class_name(function.name)
            made = Class(symbol, name, self.done.found.places.of(symbol).tolist())
            arguments = [g for g in range(len(function.params)) if not self.owned(symbol, g)]
            made.arguments = [
                made.fresh("x" if len(arguments) == 1 else f"x{i + 1}") for i in range(len(arguments))
            ]
            variables: dict[str, str] = {}
            for group, argument in zip(arguments, made.arguments, strict=True):
                for slot in (s for s, g in function.param_of.items() if g == group):
                    variables[self.maker.value(made.occurrences[0], slot)] = argument
            root = self.graph.nodes[self.maker.node(made.occurrences[0], int(self.grammar.roots[symbol]))]
            outputs = [str(root.output[i]) for i in function.outputs]
            self.write_body(made, function.units, variables, outputs)
            self.classes[symbol] = made
        return self.classes[symbol]

    def class_name(self, name: str) -> str:
        words = re.findall(r"[A-Za-z0-9]+", name) or ["Block"]
        wanted = "".join(word[0].upper() + word[1:] for word in words)
        wanted = wanted if wanted[0].isalpha() else f"Block{wanted}"
        made, number = wanted, 1
        while made in self.names:
            number += 1
            made = f"{wanted}{number}"
        self.names.add(made)
        return made

    def owned(self, symbol: int, group: int) -> bool:
        """Whether an input of a block is a weight in every occurrence: then the block's class has it."""
        slot = self.maker.function(symbol).params[group]
        begins = self.done.found.places.of(symbol).tolist()
        return all(self.is_weight(self.maker.value(begin, slot)) for begin in begins)

    def write_body(
        self, made: Class, units: Sequence[Unit], variables: dict[str, str], outputs: Sequence[str]
    ) -> None:
        """The statements of a class. Values are known by their names in the first occurrence."""
        start = made.occurrences[0]
        readers: dict[str, int] = dict.fromkeys(outputs, 2)
        for unit in units:
            for slot in self.maker.slots_of(unit):
                value = self.maker.value(start, slot)
                readers[value] = readers.get(value, 0) + 1
        done = 0
        while done < len(units):
            unit = units[done]
            if unit.symbol < self.grammar.types:
                self.write_operator(made, unit, variables, readers)
                done += 1
                continue
            length = self.chain(made, units[done:], readers)
            self.write_call(made, units[done : done + length], variables)
            done += length
        made.results = [variables[value] for value in outputs]
        for own in made.own:
            shapes = [self.shape(value) for value in own.values]
            self.shape_argument(made, own.name, shapes)

    def chain(self, made: Class, units: Sequence[Unit], readers: dict[str, int]) -> int:
        """How many calls of one block follow on each other, each reading the one before and all else the same."""
        symbol, start = units[0].symbol, made.occurrences[0]
        function = self.maker.function(symbol)
        arguments = [p for g, p in enumerate(function.params) if not self.owned(symbol, g)]
        if len(function.outputs) != 1:
            return 1

        def reads(unit: Unit) -> list[str]:
            return [self.maker.value(start, (unit.begin + place, slot)) for place, slot in arguments]

        length, at = 1, None  # `at`: the arguments that the one before is
        while length < len(units) and units[length].symbol == symbol:
            result = self.result(made, units[length - 1], function.outputs[0])
            before, now = reads(units[length - 1]), reads(units[length])
            places = [i for i, value in enumerate(now) if value == result]
            if not places or readers.get(result, 0) != self.uses(units[length], result, start):
                break
            if at not in (None, places) or len({before[i] for i in places}) > 1:
                break
            if any(a != b for i, (a, b) in enumerate(zip(before, now, strict=True)) if i not in places):
                break
            at = places
            length += 1
        return length

    def uses(self, unit: Unit, value: str, start: int) -> int:
        return sum(self.maker.value(start, slot) == value for slot in self.maker.slots_of(unit))

    def result(self, made: Class, unit: Unit, output: int) -> str:
        root = self.maker.node(made.occurrences[0], unit.begin + int(self.grammar.roots[unit.symbol]))
        return str(self.graph.nodes[root].output[output])

    def write_call(self, made: Class, units: Sequence[Unit], variables: dict[str, str]) -> None:
        symbol, start = units[0].symbol, made.occurrences[0]
        function, inner = self.maker.function(symbol), self.class_of(symbol)
        wanted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", inner.name).lower()
        child = Child(
            made.fresh("layers" if len(units) > 1 else wanted, attribute=True),
            symbol,
            [unit.begin for unit in units],
        )
        made.children.append(child)
        arguments = [p for g, p in enumerate(function.params) if not self.owned(symbol, g)]

        def given(unit: Unit) -> list[str]:
            return [
                self.operand(made, (unit.begin + place, slot), variables)[0] or "None"
                for place, slot in arguments
            ]

        first = given(units[0])
        results = [self.result(made, units[-1], output) for output in function.outputs]
        targets = [
            made.fresh(f"{wanted}_out" if len(results) == 1 else f"{wanted}_out{i + 1}")
            for i in range(len(results))
        ]
        if len(units) == 1:
            made.lines.append(f"{', '.join(targets)} = self.{child.name}({', '.join(first)})")
        else:
            before = self.result(made, units[0], function.outputs[0])
            second = [self.maker.value(start, (units[1].begin + p, s)) for p, s in arguments]
            target = targets[0]
            made.lines.append(f"{target} = {first[second.index(before)]}")
            inside = [target if second[i] == before else text for i, text in enumerate(first)]
            made.lines += [
                f"for layer in self.{child.name}:",
                f"    {target} = layer({', '.join(inside)})",
            ]
        variables.update(zip(results, targets, strict=True))
        for number, (_, shapes) in enumerate(inner.shapes):
            for begin in child.begins:
                values = [shapes[self.occurrence(inner, at + begin)] for at in made.occurrences]
                self.shape_argument(made, inner.shapes[number][0], values)

    def occurrence(self, inner: Class, begin: int) -> int:
        return int(np.searchsorted(inner.occurrences, begin))

    def shape_argument(self, made: Class, name: str, shapes: list[list[int]]) -> str:
        """How a class knows a shape: a list of numbers where it is always the same, else a constructor argument."""
        if all(shape == shapes[0] for shape in shapes):
            return str(shapes[0])
        for known, values in made.shapes:
            if values == shapes:
                return known
        taken = {known for known, _ in made.shapes}
        base = name if name.endswith("_shape") else f"{name}_shape"
        new, number = base, 1
        while new in taken:
            number += 1
            new = f"{base}{number}"
        made.shapes.append((new, shapes))
        return new

    def write_operator(
        self, made: Class, unit: Unit, variables: dict[str, str], readers: dict[str, int]
    ) -> None:
        node = self.graph.nodes[self.maker.node(made.occurrences[0], unit.begin)]
        kind = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"
        word = stem(node.op_type)
        operands = [
            self.operand(made, (unit.begin, place), variables, word) if text else (None, None)
            for place, text in enumerate(node.input)
        ]
        if kind == "Identity" and operands[0][0] in variables.values():
            variables[node.output[0]] = str(operands[0][0])
            return
        used = [place for place, text in enumerate(node.output) if text and readers.get(text)]
        call = Call(
            inputs=[text for text, _ in operands],
            attributes={a.name: attribute_value(self.onnx, a) for a in node.attribute},
            constants=[known for _, known in operands],
            ranks=[self.ranks.get(text) for text in node.input],
            outputs=max(used, default=0) + 1,
            opset=self.opset,
            helpers=self.helpers,
        )
        try:
            if kind not in OPERATORS or (call.outputs > 1 and kind not in SEVERAL):
                raise UntranslatableError
            expression, note = OPERATORS[kind](call), ""
        except (UntranslatableError, KeyError):
            self.unknown.append(kind)
            given = [text for text in call.inputs if text is not None]
            expression = f"placeholder({', '.join([repr(kind).encode('unicode_escape').decode(), *given])})"
            note = "  # PLACEHOLDER"
        targets = []
        for place in range(call.outputs):
            target = (
                made.fresh(word if call.outputs == 1 else f"{word}_{place + 1}") if place in used else "_"
            )
            variables[node.output[place]] = target
            targets.append(target)
        made.lines.append(f"{', '.join(targets)} = {expression}{note}")

    def operand(
        self, made: Class, slot: Slot, variables: dict[str, str], word: str = "operand"
    ) -> tuple[str | None, Any]:
        """(expression, numbers where they are known) of the value that a slot reads."""
        values = [self.maker.value(begin, slot) for begin in made.occurrences]
        if not values[0]:
            return None, None
        if values[0] in variables:
            return variables[values[0]], None
        known = self.small(values)
        if known is not None:
            return f"torch.tensor({literal(known)}, dtype={dtype_of(known)})", known
        for own in made.own:
            if own.values == values:
                return f"self.{own.name}", None
        role = {1: "weight", 2: "bias", 3: "mean", 4: "variance"}.get(slot[1], f"operand{slot[1]}")
        own = Own(made.fresh(f"{word}_{role}", attribute=True), values)
        made.own.append(own)
        return f"self.{own.name}", None

    # The source.

    def source(self, about: str) -> str:
        inputs = [v.name for v in self.graph.model.graph.input if v.name not in self.graph.initializers]
        defaults = [v.name for v in self.graph.model.graph.input if v.name in self.graph.initializers]
        model = Class(None, self.class_name("Model"), [0])
        self.changeable -= set(defaults)  # the module has them as parameters
        model.arguments = [model.fresh("x" if len(inputs) == 1 else f"x{i + 1}") for i in range(len(inputs))]
        variables = dict(zip(inputs, model.arguments, strict=True))
        outputs = [value.name for value in self.graph.model.graph.output]
        for value in outputs:
            if value not in self.graph.producer and value not in variables:
                variables[value] = self.operand(model, (0, 0), variables)[0] or "None"
        self.write_body(model, self.maker.top(), variables, outputs)
        classes = [*self.classes.values(), model]
        initializers = dict(self.paths(model, 0, ""))
        text = [
            f'"""{plain(about)}',
            "",
            "Written by GraDE: a class for each block that repeats. INITIALIZERS names the initializer of the model",
            "that each parameter stands for.",
            '"""',
            "",
            "import torch",
            "import torch.nn.functional as F",
            "from torch import nn",
            "",
            "INITIALIZERS = {",
            *(f"    {json.dumps(path)}: {json.dumps(value)}," for path, value in initializers.items()),
            "}",
            "",
            *WEIGHT.strip("\n").split("\n"),
            "",
        ]
        for helper in sorted(self.helpers):
            text += ["", *HELPERS[helper].strip("\n").split("\n"), ""]
        if self.unknown:
            text += ["", *STAND_IN.strip("\n").split("\n"), ""]
        for each in classes:
            text += ["", *self.class_lines(each), ""]
        return re.sub(r"\n{4,}", "\n\n\n", "\n".join(text)).rstrip("\n") + "\n"

    def class_lines(self, made: Class) -> list[str]:
        constructor = ", ".join(["self", *(f"{name}: list[int]" for name, _ in made.shapes)])
        lines = [f"class {made.name}(nn.Module):"]
        if made.symbol is not None:
            block = self.done.found.by_symbol[made.symbol]
            lines += [f'    """{block.nodes} operators, {block.count} times in the model."""', ""]
        setting = [*(self.child_line(made, child) for child in made.children)]
        for own in made.own:
            shape = self.shape_argument(made, own.name, [self.shape(value) for value in own.values])
            kind = self.dtype(own.values[0])
            if kind in FLOATS:
                more = "" if kind == "torch.float32" else f", {kind}"
                setting.append(f"self.{own.name} = weight({shape}{more})")
            else:
                setting.append(f'self.register_buffer("{own.name}", torch.zeros({shape}, dtype={kind}))')
        if setting:
            lines += [
                f"    def __init__({constructor}) -> None:",
                "        super().__init__()",
                *indented(setting, 8),
                "",
            ]
        results = made.results
        kind = "torch.Tensor" if len(results) == 1 else f"tuple[{', '.join(['torch.Tensor'] * len(results))}]"
        arguments = ", ".join(["self", *(f"{name}: torch.Tensor" for name in made.arguments)])
        body = [*made.lines, f"return {', '.join(results)}"]
        return [*lines, f"    def forward({arguments}) -> {kind}:", *indented(body, 8)]

    def child_line(self, made: Class, child: Child) -> str:
        inner = self.classes[child.symbol]
        calls = []
        for begin in child.begins:
            given = [
                self.shape_argument(
                    made, name, [shapes[self.occurrence(inner, at + begin)] for at in made.occurrences]
                )
                for name, shapes in inner.shapes
            ]
            calls.append(f"{inner.name}({', '.join(given)})")
        if len(calls) == 1:
            return f"self.{child.name} = {calls[0]}"
        if len(set(calls)) == 1:
            return f"self.{child.name} = nn.ModuleList({calls[0]} for _ in range({len(calls)}))"
        return f"self.{child.name} = nn.ModuleList([{', '.join(calls)}])"

    def paths(self, made: Class, begin: int, prefix: str) -> list[tuple[str, str]]:
        """(name in the state dictionary, value in the model) of all parameters below one occurrence."""
        at = self.occurrence(made, begin)
        found = [(f"{prefix}{own.name}", own.values[at]) for own in made.own]
        for child in made.children:
            for number, first in enumerate(child.begins):
                middle = f"{child.name}." if len(child.begins) == 1 else f"{child.name}.{number}."
                found += self.paths(self.classes[child.symbol], begin + first, prefix + middle)
        return found


def module_source(done: Outlined, about: str) -> str:
    """The source of a module equivalent to the model."""
    return ModuleWriter(done).source(about)
