"""Example inputs of a translated module, with which it runs.

Real numbers are positive, so that no root, logarithm or quotient turns them into NaN. Whole numbers are ones. Those
that say how an operator reshapes, pads or cuts are such that the shapes of the model come out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from grade.export.operator_call import DTYPES

EXAMPLE = 4  # size of a dimension that the model leaves open; 1 for the first one, the batch
FLOATS = ("torch.float32", "torch.float64", "torch.float16", "torch.bfloat16")
TO_THE_END = 2**31 - 1  # of an axis that is cut
Shape = Sequence[int | None]  # None where the model leaves a dimension open


def example_of(graph: Any, value: str, shapes: Mapping[str, Shape], kinds: Mapping[str, int]) -> str:
    """The expression of an example input.

    Parameters
    ----------
    graph
        onnx.GraphProto that takes the value
    shapes
        value -> its shape, as far as it is known
    kinds
        value -> onnx.TensorProto.DataType
    """
    shape = sizes(shapes.get(value, []))
    kind = DTYPES.get(kinds.get(value, 1), "torch.float32")
    numbers = whole_numbers(graph, value, shapes, shape[0]) if len(shape) == 1 else None
    if numbers is not None:
        return f"torch.tensor({numbers}, dtype={kind})"
    if kind == "torch.float32":
        return f"torch.rand({shape}) + 0.5"
    return (
        f"(torch.rand({shape}) + 0.5).to({kind})" if kind in FLOATS else f"torch.ones({shape}, dtype={kind})"
    )


def sizes(shape: Shape) -> list[int]:
    return [size if size else 1 if place == 0 else EXAMPLE for place, size in enumerate(shape)]


def whole_numbers(graph: Any, value: str, shapes: Mapping[str, Shape], count: int) -> list[int] | None:
    """The numbers of a value that says how its first reader changes a shape; None if it has no such reader."""
    names = {value}
    for node in graph.node:  # in the order of computing
        for place, name in enumerate(node.input):
            if name not in names:
                continue
            if node.op_type in ("Cast", "Identity"):
                names.add(node.output[0])
            elif (node.op_type, place) in (("Pad", 1), ("Slice", 1)):
                return [0] * count
            elif (node.op_type, place) == ("Slice", 2):
                return [TO_THE_END] * count
            elif (node.op_type, place) in (("Reshape", 1), ("Expand", 1)):
                return target_shape(shapes.get(node.output[0]), count, node.op_type == "Reshape")
    return None


def target_shape(shape: Shape | None, count: int, one_free: bool) -> list[int] | None:
    """The shape that an operator makes; with ``one_free`` its last open dimension follows from the others."""
    if shape is None or len(shape) != count:
        return None
    found = sizes(shape)
    open_places = [place for place, size in enumerate(shape) if not size]
    if one_free and open_places:
        found[open_places[-1]] = -1
    return found
