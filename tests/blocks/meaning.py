"""Models compared by what they compute, exactly."""

from typing import Any

import onnx
from onnx import numpy_helper


class Meaning:
    """Values as what computes them: equal numbers for equal expressions over inputs and constants, in all models."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def number(self, *content: Any) -> int:
        return self.numbers.setdefault(content, len(self.numbers))

    def of(self, model: onnx.ModelProto) -> tuple[list[int], list[int]]:
        """(numbers of the outputs, sorted numbers of all operators)."""
        graph = model.graph
        known = {value.name: self.number("input", value.name) for value in graph.input}
        for tensor in graph.initializer:
            known[tensor.name] = self.constant(tensor)
        known[""] = self.number("absent")
        operators = []
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                known[node.output[0]] = self.constant(node.attribute[0].t)
                continue
            inner = sorted(a.SerializeToString(deterministic=True) for a in node.attribute)
            made = self.number(
                node.op_type, node.domain, *inner, "of", *(known.get(text, text) for text in node.input)
            )
            operators.append(made)
            known.update(
                (text, self.number("output", made, place)) for place, text in enumerate(node.output) if text
            )
        return [known[value.name] for value in graph.output], sorted(operators)

    def constant(self, tensor: onnx.TensorProto) -> int:
        if tensor.external_data:
            return self.number("external", *((e.key, e.value) for e in tensor.external_data))
        return self.number(
            "constant", tensor.data_type, tuple(tensor.dims), numpy_helper.to_array(tensor).tobytes()
        )
