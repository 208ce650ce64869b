"""A model as PyTorch source as a person would write it: a module class for each block, loops over equal layers.

Operators with weights are modules of torch.nn (`grade.export.module_layers`), others are translated one by one
(`grade.export.torch_operators`). A class owns the weights that its operators read; numbers that differ between
occurrences, as those of channels, are arguments of its constructor. Blocks of a few operators are written where they
are used. `load` in the source takes the weights from the model's file.
"""

import builtins
import keyword
import re
from collections.abc import Sequence
from typing import Any

from grade.blocks.finding import Unit
from grade.blocks.functions import Slot
from grade.blocks.outline import Outlined
from grade.export.module_classes import Child, Class, Layer, Own, Setting, Statement
from grade.export.module_layers import Use, is_usual, layer_specs, window_spec
from grade.export.module_reads import Reads, Value
from grade.export.module_setup import occurrence, setup_line
from grade.export.module_source import source_text
from grade.export.module_values import KnownValues
from grade.export.operator_call import Call, UntranslatableError
from grade.export.pytorch import stem
from grade.export.torch_operators import OPERATORS, SEVERAL
from grade.export.translation import attribute_value, dtype_of, literal

SMALL, FEW = 4, 3  # blocks of fewer operators are written out where fewer than this follow each other


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
        self.defaults = {value.name for value in self.graph.model.graph.input} & set(self.graph.initializers)
        self.known = KnownValues(onnx, done.maker)
        self.reads = Reads(done.maker, self.known)
        self.names: set[str] = set()

    # Classes.

    def class_of(self, symbol: int) -> Class:
        if symbol not in self.classes:
            function = self.maker.function(symbol)
            name = self.class_name(function.name)
            made = Class(symbol, name, self.done.found.places.of(symbol).tolist())
            given = [g for g in range(len(function.params)) if not self.reads.owned(symbol, g)]
            made.inputs = [made.fresh("x" if len(given) == 1 else f"x{i + 1}") for i in range(len(given))]
            variables = {
                self.reads.values(made, function.params[group]): text
                for group, text in zip(given, made.inputs, strict=True)
            }
            outputs = [
                self.reads.computed(made, int(self.grammar.roots[symbol]), i) for i in function.outputs
            ]
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

    def write_body(
        self, made: Class, units: Sequence[Unit], variables: dict[Value, str], outputs: Sequence[Value]
    ) -> None:
        """The statements of a class."""
        units = self.opened(made, units, outputs)
        readers = self.reads.readers(made, units, outputs)
        sums = self.sums(made, units, readers)
        done = 0
        while done < len(units):
            unit = units[done]
            if unit.symbol < self.grammar.types:
                self.write_operator(made, unit, variables, readers, sums)
                done += 1
                continue
            length = self.reads.chain(made, units[done:], readers)
            self.write_call(made, units[done : done + length], variables, readers)
            done += length
        made.results = [variables[value] for value in outputs]
        made.setup = [setup_line(self.known, self.classes, made, member) for member in made.members]

    def opened(self, made: Class, units: Sequence[Unit], outputs: Sequence[Value]) -> list[Unit]:
        """The units, with small blocks that do not follow each other as their operators."""
        readers, result, done = self.reads.readers(made, units, outputs), [], 0
        while done < len(units):
            unit = units[done]
            if unit.symbol < self.grammar.types:
                result.append(unit)
                done += 1
                continue
            length = self.reads.chain(made, units[done:], readers)
            if length < FEW and self.grammar.sizes[unit.symbol] < SMALL:
                for each in units[done : done + length]:
                    inside = self.maker.function(each.symbol).units
                    shifted = [Unit(u.symbol, u.base, 1, each.begin + u.begin) for u in inside]
                    result += self.opened(made, shifted, outputs)
            else:
                result += units[done : done + length]
            done += length
        return result

    # Calls of blocks.

    def write_call(
        self, made: Class, units: Sequence[Unit], variables: dict[Value, str], readers: dict[Value, int]
    ) -> None:
        inner = self.class_of(units[0].symbol)
        wanted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", inner.name).lower()
        several = len(units) > 1
        name = made.fresh("layers" if several else wanted, attribute=True)
        made.members.append(Child(name, units[0].symbol, [unit.begin for unit in units]))
        arguments = self.reads.arguments(made, units[0])
        given = [self.operand(made, value, variables)[0] or "None" for value in arguments]
        results = self.reads.results(made, units[-1])
        if not several:
            targets = [made.fresh(wanted) for _ in results]
            made.statements.append(Statement(targets, f"self.{name}({', '.join(given)})"))
            variables.update(zip(results, targets, strict=True))
            return
        result = self.reads.results(made, units[0])[0]
        passed = [each == result for each in self.reads.arguments(made, units[1])]
        place = passed.index(True)
        value, target = arguments[place], given[place]
        shared = list(variables.values()).count(target) > 1  # by an Identity
        if value not in variables or shared or readers[value] != self.reads.uses(made, units[0], value):
            target = made.fresh(wanted)  # what goes in is read elsewhere
            made.statements.append(Statement([target], given[place]))
        inside = [target if each else text for each, text in zip(passed, given, strict=True)]
        loop = (f"for layer in self.{name}:", f"    {target} = layer({', '.join(inside)})")
        made.statements.append(Statement([target], "", lines=loop))
        variables[results[0]] = target

    # Operators.

    def node(self, made: Class, unit: Unit) -> Any:
        return self.graph.nodes[self.maker.node(made.occurrences[0], unit.begin)]

    def sums(
        self, made: Class, units: Sequence[Unit], readers: dict[Value, int]
    ) -> dict[int, tuple[Unit, int]]:
        """Additions of a bias to a product with weights, which are one Linear: first place of the Add -> the product,
        and the operand of the Add that is the bias.
        """
        leaves = [unit for unit in units if unit.symbol < self.grammar.types]
        products = {
            self.reads.computed(made, unit.begin, 0): unit
            for unit in leaves
            if self.node(made, unit).op_type == "MatMul"
        }
        found: dict[int, tuple[Unit, int]] = {}
        for unit in leaves:
            if self.node(made, unit).op_type != "Add":
                continue
            for place in (0, 1):
                value, bias = self.reads.values(made, (unit.begin, 1 - place)), (unit.begin, place)
                if value not in products or readers[value] != 1 or unit.begin in found:
                    continue
                if layer_specs("Gemm", self.linear_uses(made, products[value], bias)) is not None:
                    found[unit.begin] = (products[value], place)
        return found

    def linear_uses(self, made: Class, product: Unit, bias: Slot) -> list[Use]:
        """A product and a bias as the operator Gemm; the weights of both."""
        uses = []
        for weight, more in zip(
            self.reads.values(made, (product.begin, 1)), self.reads.values(made, bias), strict=True
        ):
            shapes = [
                self.known.shape(value) if self.known.is_weight(value) else None for value in (weight, more)
            ]
            kinds = [
                self.known.dtype(value) if self.known.is_weight(value) else "value"
                for value in (weight, more)
            ]
            uses.append(Use({}, [None, *shapes], ["value", *kinds], None))
        return uses

    def uses_of(self, made: Class, unit: Unit) -> list[Use]:
        """An operator at all occurrences of a class."""
        count = len(self.node(made, unit).input)
        columns = [self.reads.values(made, (unit.begin, place)) for place in range(count)]
        weights = [all(value and self.known.is_weight(value) for value in column) for column in columns]
        uses = []
        for number, begin in enumerate(made.occurrences):
            node = self.graph.nodes[self.maker.node(begin, unit.begin)]
            row = [column[number] for column in columns]
            uses.append(
                Use(
                    {a.name: attribute_value(self.onnx, a) for a in node.attribute},
                    [
                        self.known.shape(text) if known else None
                        for text, known in zip(row, weights, strict=True)
                    ],
                    [
                        self.known.dtype(text) if known else "value" if text else ""
                        for text, known in zip(row, weights, strict=True)
                    ],
                    self.known.ranks.get(row[0]) if row else None,
                )
            )
        return uses

    def write_layer(
        self,
        made: Class,
        uses: list[Use],
        kind: str,
        slots: list[Slot],
        given: Slot,
        variables: dict[Value, str],
    ) -> str | None:
        """The call of a module of torch.nn; None where there is none for this operator."""
        specs = layer_specs(kind, uses)
        if specs is None:
            return None
        read, _ = self.operand(made, self.reads.values(made, given), variables)
        name = made.fresh(stem(specs[0].name.removeprefix("nn.")), attribute=True)
        columns = {key: self.reads.values(made, slots[place]) for key, place in specs[0].weights.items()}
        made.members.append(Layer(name, specs, columns))
        return f"self.{name}({read})"

    def write_operator(
        self,
        made: Class,
        unit: Unit,
        variables: dict[Value, str],
        readers: dict[Value, int],
        sums: dict[int, tuple[Unit, int]],
    ) -> None:
        node = self.node(made, unit)
        kind = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}::{node.op_type}"
        slots = [(unit.begin, place) for place in range(len(node.input))]
        if any(product.begin == unit.begin for product, _ in sums.values()):
            return  # written with its bias
        results = [self.reads.computed(made, unit.begin, place) for place in range(len(node.output))]
        if kind == "Identity" and self.reads.values(made, slots[0]) in variables:
            variables[results[0]] = variables[self.reads.values(made, slots[0])]
            return
        used = [place for place, value in enumerate(results) if value[0] and readers.get(value)]
        note, word = "", stem(node.op_type)
        if unit.begin in sums:
            product, place = sums[unit.begin]
            uses = self.linear_uses(made, product, (unit.begin, place))
            columns = [(product.begin, 0), (product.begin, 1), (unit.begin, place)]
            expression, word = self.write_layer(made, uses, "Gemm", columns, columns[0], variables), "linear"
        else:
            uses = self.uses_of(made, unit)
            given = slots[1] if kind == "Gather" and len(slots) > 1 else slots[0] if slots else (0, 0)
            expression = (
                self.write_layer(made, uses, kind, slots, given, variables)
                if max(used, default=0) == 0
                else None
            )
        if expression is None:
            expression, note = self.function_call(
                made, unit, kind, word, uses, variables, max(used, default=0) + 1
            )
        targets = []
        for place in range(max(used, default=0) + 1):
            several = max(used, default=0) > 0
            target = made.fresh(f"{word}_{place + 1}" if several else word) if place in used else "_"
            variables[results[place]] = target
            targets.append(target)
        made.statements.append(Statement(targets, expression, note))

    def function_call(
        self,
        made: Class,
        unit: Unit,
        kind: str,
        word: str,
        uses: list[Use],
        variables: dict[Value, str],
        outputs: int,
    ) -> tuple[str, str]:
        """(expression, remark) of an operator without a module."""
        node = self.node(made, unit)
        operands = [
            self.operand(made, self.reads.values(made, (unit.begin, place)), variables, word, place)
            if text
            else (None, None)
            for place, text in enumerate(node.input)
        ]
        call = Call(
            inputs=[text for text, _ in operands],
            attributes=dict(uses[0].attributes),
            constants=[known for _, known in operands],
            ranks=[self.known.ranks.get(text) for text in node.input],
            outputs=outputs,
            opset=self.opset,
            helpers=self.helpers,
        )
        try:
            if any(repr(use.attributes) != repr(uses[0].attributes) for use in uses):
                return self.window_call(made, call, kind, uses), ""
            if kind not in OPERATORS or (outputs > 1 and kind not in SEVERAL):
                raise UntranslatableError
            return OPERATORS[kind](call), ""
        except (UntranslatableError, KeyError):
            self.unknown.append(kind)
            given = [text for text in call.inputs if text is not None]
            name = repr(kind).encode("unicode_escape").decode()
            return f"placeholder({', '.join([name, *given])})", "  # PLACEHOLDER"

    def window_call(self, made: Class, call: Call, kind: str, uses: list[Use]) -> str:
        """A convolution with computed weights, whose sizes differ between occurrences."""
        specs = [window_spec(kind, use) for use in uses]
        known = [spec for spec in specs if spec is not None]
        if len(known) < len(specs) or len({spec.name for spec in known}) > 1:
            raise UntranslatableError
        given = [call[0], call[1], call.optional(2) or "None"]
        for option in known[0].options:
            if all(is_usual(spec, option) for spec in known):
                continue
            text = made.argument(option, option, [spec.options[option] for spec in known])
            if text.isidentifier() and text != "None":
                if not any(isinstance(m, Setting) and m.text == text for m in made.members):
                    made.members.append(Setting(made.fresh(text, attribute=True), text))
                text = (
                    f"self.{next(m.name for m in made.members if isinstance(m, Setting) and m.text == text)}"
                )
            given.append(f"{option}={text}")
        return f"{known[0].name}({', '.join(given)})"

    def operand(
        self, made: Class, values: Value, variables: dict[Value, str], word: str = "operand", place: int = 0
    ) -> tuple[str | None, Any]:
        """(expression, numbers where they are known) of an operand that has these values in the occurrences."""
        if not values[0]:
            return None, None
        if values in variables:
            return variables[values], None
        known = self.known.small(values)
        if known is not None:
            return f"torch.tensor({literal(known)}, dtype={dtype_of(known)})", known
        for own in made.members:
            if isinstance(own, Own) and own.values == values:
                return f"self.{own.name}", None
        role = {1: "weight", 2: "bias", 3: "mean", 4: "variance"}.get(place, "constant")
        made.members.append(Own(made.fresh(f"{word}_{role}", attribute=True), values))
        return f"self.{made.members[-1].name}", None

    # The model.

    def model(self) -> Class:
        """The class of the whole model."""
        graph = self.graph.model.graph
        inputs = [v.name for v in graph.input if v.name not in self.defaults]
        model = Class(None, self.class_name("Model"), [0])
        model.inputs = [model.fresh(variable(name)) for name in inputs]
        variables: dict[Value, str] = {(name,): text for name, text in zip(inputs, model.inputs, strict=True)}
        outputs: list[Value] = [(value.name,) for value in graph.output]
        for value in outputs:
            if value[0] not in self.graph.producer and value not in variables:
                variables[value] = self.operand(model, value, variables)[0] or "None"
        self.write_body(model, self.maker.top(), variables, outputs)
        return model

    def source(self, about: str) -> str:
        """The whole file."""
        model = self.model()
        counts = {block.symbol: (block.nodes, block.count) for block in self.done.found.blocks}
        return source_text(
            about,
            [*self.classes.values(), model],
            counts,
            self.paths(model, 0, ""),
            self.helpers,
            placeholders=bool(self.unknown),
            inlined=self.graph.inlined,
        )

    def paths(self, made: Class, begin: int, prefix: str) -> list[tuple[str, str, bool]]:
        """(name in the state dictionary, constant in the model, whether it is transposed) of all parameters below one
        occurrence.
        """
        at = occurrence(made, begin)
        found: list[tuple[str, str, bool]] = []
        for member in made.members:
            if isinstance(member, Own):
                found.append((f"{prefix}{member.name}", self.known.resolved(member.values[at]), False))
            elif isinstance(member, Layer):
                found += [
                    (
                        f"{prefix}{member.name}.{key}",
                        self.known.resolved(values[at]),
                        key in member.specs[at].transposed,
                    )
                    for key, values in member.values.items()
                ]
            elif isinstance(member, Child):
                for number, first in enumerate(member.begins):
                    middle = f"{member.name}." if len(member.begins) == 1 else f"{member.name}.{number}."
                    found += self.paths(self.classes[member.symbol], begin + first, prefix + middle)
        return found


def variable(name: str) -> str:
    """A value's name as one of Python.

    >>> variable("input_ids"), variable("input.1"), variable("495"), variable("input")
    ('input_ids', 'input_1', 'x', 'input_')
    """
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    if not word or word[0].isdigit():
        return "x"
    return f"{word}_" if keyword.iskeyword(word) or hasattr(builtins, word) else word


def module_source(done: Outlined, about: str) -> str:
    """The source of a module equivalent to the model."""
    return ModuleWriter(done).source(about)
