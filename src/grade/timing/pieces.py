"""An ONNX model as PyTorch modules: as a whole, or cut into pieces that run one after the other.

Every strategy starts from the same model with the same weights, so that all of them compute the same.
"""

import itertools
import linecache
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from grade.errors import InputError
from grade.export.model_files import import_onnx, reads_of
from grade.export.translation import Translated, translate

NUMBERS = itertools.count(1)


@dataclass(frozen=True, eq=False)
class Piece:
    """Some operators of a model as one callable: values in, values out."""

    call: Callable[..., Any]  # takes tensors, returns one or a tuple
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    operators: tuple[str, ...]  # their types


@dataclass(eq=False)
class Case:
    """A part of a model with weights and example inputs, the computation of every strategy."""

    name: str
    model: Any  # onnx.ModelProto; every weight is an initializer
    inputs: dict[str, torch.Tensor]  # by value, in the order of the model
    about: str = ""  # where model and shapes come from
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    values: dict[str, torch.Tensor] = field(
        default_factory=dict
    )  # every value, as the eager module computes it

    def __post_init__(self) -> None:
        self.onnx = import_onnx()
        self.fold_constants()
        self.weights = {t.name: t for t in self.model.graph.initializer}
        self.outputs = tuple(value.name for value in self.model.graph.output)
        self.nodes = list(self.model.graph.node)
        self.device = torch.device(self.device)
        self.inputs = {name: tensor.to(self.device) for name, tensor in self.inputs.items()}
        self.find_values()
        self.refuse_nothing()

    def fold_constants(self) -> None:
        """Nodes Constant become initializers, which every reader of models treats alike."""
        graph, kept = self.model.graph, []
        for node in graph.node:
            if node.op_type == "Constant" and len(node.attribute) == 1 and node.attribute[0].name == "value":
                tensor = self.onnx.TensorProto()
                tensor.CopyFrom(node.attribute[0].t)
                tensor.name = node.output[0]
                graph.initializer.append(tensor)
            else:
                kept.append(node)
        del graph.node[:]
        graph.node.extend(kept)

    def find_values(self) -> None:
        """Run the operators one by one, and keep every value. Results of weights alone become weights."""
        self.values.update(self.inputs)
        with torch.inference_mode():
            for node in list(self.nodes):
                piece = self.piece([node], outputs=[value for value in node.output if value])
                try:
                    results = piece.call(*(self.values[value] for value in piece.reads))
                except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError) as error:
                    reason = " ".join(str(error).split())[:200]
                    raise InputError(
                        f"{self.name} cannot run with these shapes: {node.op_type} says {reason!r}; give others with"
                        " `shape`."
                    ) from None
                results = results if isinstance(results, tuple) else (results,)
                found = dict(zip(piece.writes, results, strict=False))
                if not piece.reads and not set(found) & set(self.outputs):
                    self.nodes.remove(node)
                    for value, tensor in found.items():
                        self.weights[value] = self.onnx.numpy_helper.from_array(tensor.cpu().numpy(), value)
                else:
                    self.values.update(found)

    def refuse_nothing(self) -> None:
        """Refuse results without a number in them, since strategies could not be compared."""
        if not any(bool(tensor.isfinite().any()) for tensor in self.results()):
            raise InputError(
                f"{self.name} computes no finite number from example values, so strategies cannot be compared; choose"
                " another one."
            )

    def results(self) -> list[torch.Tensor]:
        """The outputs that every strategy must compute."""
        return [self.values[value] for value in self.outputs]

    def piece(self, nodes: Sequence[Any], outputs: Iterable[str] | None = None) -> Piece:
        """Some operators as a module of their own, with the weights of the model."""
        model = self.submodel(nodes, outputs)
        translated = translate(model, set(), "Part")
        refuse_unknown(self.name, translated)
        module = module_of(translated, self.weights, self.onnx).to(self.device)
        return Piece(module, translated.inputs, translated.outputs, tuple(node.op_type for node in nodes))

    def submodel(self, nodes: Sequence[Any], outputs: Iterable[str] | None = None) -> Any:
        """The ONNX model of some operators; its outputs are the values that others or the model need."""
        made = {value for node in nodes for value in node.output if value}
        read = dict.fromkeys(value for node in nodes for value in reads_of(node) if value not in made)
        if outputs is None:
            inside = {id(node) for node in nodes}
            outside = {value for node in self.nodes if id(node) not in inside for value in reads_of(node)}
            outside |= set(self.outputs)
            outputs = [value for node in nodes for value in node.output if value in outside]
        helper = self.onnx.helper
        graph = helper.make_graph(
            list(nodes),
            "part",
            [self.described(value) for value in read if value not in self.weights],
            [self.described(value) for value in outputs],
            [self.weights[value] for value in read if value in self.weights],
        )
        return helper.make_model(
            graph, opset_imports=list(self.model.opset_import), ir_version=min(self.model.ir_version, 10)
        )

    def described(self, value: str) -> Any:
        helper, known = self.onnx.helper, self.values.get(value)
        if known is None:  # an output that is about to be computed for the first time
            return helper.make_empty_tensor_value_info(value)
        return helper.make_tensor_value_info(value, KINDS[known.dtype], list(known.shape))

    def single_pieces(self) -> list[list[Any]]:
        """Every operator by itself."""
        return [[node] for node in self.nodes]


KINDS = {
    torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 5, torch.int32: 6, torch.int64: 7, torch.bool: 9,
    torch.float16: 10, torch.float64: 11, torch.bfloat16: 16,
}  # fmt: skip


def refuse_unknown(name: str, translated: Translated) -> None:
    if translated.unknown:
        kinds = ", ".join(sorted(set(translated.unknown)))
        raise InputError(
            f"{name} has operators without a counterpart in PyTorch ({kinds}), so it cannot be timed; choose"
            " another one."
        )


def module_of(translated: Translated, weights: dict[str, Any], onnx: Any) -> torch.nn.Module:
    """The module of a translation, with weights where the model has them."""
    module = loaded(translated.source)
    with torch.no_grad():
        named = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        for own, value in translated.parameters.items():
            if value in weights:
                array = onnx.numpy_helper.to_array(weights[value])
                named[own].copy_(torch.from_numpy(array.copy()))
    return module.eval().requires_grad_(False)


def loaded(source: str) -> torch.nn.Module:
    """The one module class of a source that the export wrote."""
    name = f"grade_part_{next(NUMBERS)}"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    made = types.ModuleType(name)
    exec(
        compile(source, name, "exec"), made.__dict__
    )  # written by grade.export.translation from checked names
    kinds = [
        kind for kind in vars(made).values() if isinstance(kind, type) and issubclass(kind, torch.nn.Module)
    ]
    return next(kind for kind in kinds if kind.__module__ == name)()


def in_order(pieces: Sequence[Piece], inputs: Sequence[str], outputs: Sequence[str]) -> Callable[..., Any]:
    """Pieces as one callable; values are dropped after their last use, as a runtime would."""
    last = {value: number for number, piece in enumerate(pieces) for value in piece.reads}
    dropped = [
        [value for value in piece.reads if last[value] == number and value not in outputs]
        for number, piece in enumerate(pieces)
    ]

    def run(*given: torch.Tensor) -> Any:
        values = dict(zip(inputs, given, strict=True))
        for piece, gone in zip(pieces, dropped, strict=True):
            result = piece.call(*[values[value] for value in piece.reads])
            if len(piece.writes) == 1:
                values[piece.writes[0]] = result[0] if isinstance(result, tuple) else result
            else:
                values.update(zip(piece.writes, result, strict=True))
            for value in gone:
                values.pop(value, None)
        return tuple(values[value] for value in outputs)

    return run
