"""Values of a model that are known without running it: ranks, and shape, type and content of constants."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from grade.blocks.functions import FunctionMaker
from grade.export.operator_call import DTYPES
from grade.export.translation import INLINE, attribute_value, dtype_of

FLOATS = ("torch.float32", "torch.float64", "torch.float16", "torch.bfloat16")
WRITTEN_FLOATS = 8  # most numbers of a constant of floats that is written out; longer ones are weights


class KnownValues:
    """Of one model. Weights are initializers and constants, also where an Identity hands them on."""

    def __init__(self, onnx: Any, maker: FunctionMaker) -> None:
        self.onnx, self.maker, self.graph = onnx, maker, maker.onnx_graph
        self.ranks = self.known_ranks()

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

    def resolved(self, value: str) -> str:
        """The initializer or constant that a value hands on."""
        while value in self.graph.constant_nodes and self.graph.constant_nodes[value].op_type == "Identity":
            value = self.graph.constant_nodes[value].input[0]
        return value

    def is_weight(self, value: str) -> bool:
        value = self.resolved(value)
        return value in self.graph.constant_nodes or value in self.graph.initializers

    def shape(self, value: str) -> list[int]:
        value = self.resolved(value)
        if value in self.graph.initializers:
            return list(self.graph.initializers[value].dims)
        return list(np.asarray(self.content(value)).shape)

    def dtype(self, value: str) -> str:
        value = self.resolved(value)
        if value in self.graph.initializers:
            return DTYPES.get(self.graph.initializers[value].data_type, "torch.float32")
        return dtype_of(np.asarray(self.content(value)))

    def content(self, value: str) -> Any:
        """The numbers of a constant."""
        value = self.resolved(value)
        if value in self.graph.constant_nodes:
            attribute = self.graph.constant_nodes[value].attribute[0]
            found = np.asarray(attribute_value(self.onnx, attribute))
            return found.astype(np.float32) if attribute.name in ("value_float", "value_floats") else found
        return self.onnx.numpy_helper.to_array(self.graph.initializers[value])

    def small(self, values: Sequence[str]) -> Any:
        """The numbers of a constant that is the same everywhere, and short enough to be written out; None otherwise."""
        if not self.maker.same_constant([self.resolved(value) for value in values]):
            return None
        most = WRITTEN_FLOATS if self.dtype(values[0]) in FLOATS else INLINE
        if np.prod(self.shape(values[0])) > most:
            return None
        found = self.content(values[0])
        return (
            found if str(found.dtype) in ("float32", "float64", "float16", "int64", "int32", "bool") else None
        )
