"""Real models run in onnxruntime, and the parts of them that were cut out or translated, on the same tensors."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch

from grade.export.cutting import cut
from grade.export.model_files import ModelFile
from grade.export.translation import translate
from grade.graphs import GraphSet

NUMPY = {
    "tensor(float)": np.float32,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}
NUMPY |= {"tensor(double)": np.float64, "tensor(float16)": np.float16}

# Sizes that files leave open, and inputs that are not random numbers: sound and text for silero_vad and magika.
OPEN = {f"DynamicDimension.{i}": 64 for i in range(4)} | {"?": 64, "sequence": 576}
SOUND = {"input": np.linspace(-1, 1, 576, dtype=np.float32)[None], "sr": np.array(16_000)}
TEXT = {"bytes": np.random.default_rng(0).integers(0, 256, (1, 2048), dtype=np.int32)}


def session(model: Any) -> onnxruntime.InferenceSession:
    """Without optimisation, so that every tensor is computed as it is written."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    content = model if isinstance(model, str) else model.SerializeToString()
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


class RealModel:
    """A model file, its graph, and all tensors of its main graph for one random input."""

    def __init__(self, path: Path, graphs: GraphSet, seed: int = 0) -> None:
        self.path, self.graphs, self.file = path, graphs, ModelFile(path)
        self.rng = np.random.default_rng(seed)
        model = onnx.load(path)
        known = {output.name for output in model.graph.output}
        if model.functions:
            model = onnx.inliner.inline_local_functions(model)
        names = [v for node in model.graph.node for v in node.output if v and v not in known]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        running = session(model)
        feeds = {i.name: self.random(i.type, self.shape(i.shape)) for i in running.get_inputs()}
        known = SOUND if path.stem.startswith("silero") else TEXT
        feeds |= {name: value for name, value in known.items() if name in feeds}
        found = running.run(None, feeds)
        self.tensors: dict[str, Any] = feeds | {
            o.name: v for o, v in zip(running.get_outputs(), found, strict=True)
        }
        for tensor in model.graph.initializer:
            self.tensors[tensor.name] = onnx.numpy_helper.to_array(tensor)
        self.numbers = [self.number(node) for node in range(graphs.nodes)]

    def number(self, node: int) -> int:
        kind = self.graphs.node_vocabulary[self.graphs.node_types[node]]
        assert self.graphs.node_names is not None
        return self.file.find(self.graphs.node_names[node], kind)

    def shape(self, dimensions: list[Any]) -> list[int]:
        return [d if isinstance(d, int) and d > 0 else OPEN.get(str(d), 1) for d in dimensions]

    def random(self, kind: str, shape: list[int]) -> np.ndarray:
        if "float" in kind or "double" in kind:
            return self.rng.standard_normal(shape).astype(NUMPY[kind])
        return np.ones(shape, NUMPY[kind])

    def occurrences(self, size: int, count: int) -> list[list[int]]:
        """Random connected node sets outside of the bodies of If and Loop, whose tensors are not at hand."""
        found: list[list[int]] = []
        main = {
            node
            for node, number in enumerate(self.numbers)
            if self.file.operators[number].scope.outer is None
        }
        while len(found) < count:
            nodes = {int(self.rng.choice(sorted(main)))}
            while len(nodes) < size:
                near = {
                    int(other)
                    for node in nodes
                    for other in (*self.graphs.successors(node), *self.graphs.predecessors(node))
                }
                if not near & main - nodes:
                    break
                nodes.add(int(self.rng.choice(sorted(near & main - nodes))))
            found.append(sorted(nodes))
        return found

    def cut(self, nodes: list[int], values: bool) -> Any:
        return cut(self.file, [self.numbers[node] for node in nodes], set(self.numbers), values=values)

    def check_onnx(self, nodes: list[int], values: bool) -> float:
        """The largest deviation of what was cut out, relative to the largest value."""
        model = self.cut(nodes, values).model
        onnx.checker.check_model(model, full_check=True)
        running = session(model)
        found = running.run(None, {i.name: self.tensors[i.name] for i in running.get_inputs()})
        return max(
            deviation(value, self.tensors[o.name])
            for o, value in zip(running.get_outputs(), found, strict=True)
        )

    def check_torch(self, nodes: list[int], folder: Path) -> float | None:
        """The same for the translation to PyTorch; None where an operator has no counterpart."""
        made = self.cut(nodes, values=False)
        translated = translate(made.model, made.weights)
        module = imported(translated.source, folder)
        self.unknown = translated.unknown
        if translated.unknown:
            return None
        motif = module.Motif()
        state = {name: torch.tensor(self.tensors[value]) for name, value in translated.parameters.items()}
        motif.load_state_dict(state)
        found = motif(*(torch.tensor(self.tensors[value]) for value in translated.inputs))
        example = motif(*module.example_inputs()) if examples_fit(made.model) else ()
        for value in example if isinstance(example, tuple) else (example,):
            assert not torch.isnan(value.float()).any(), translated.source
        found = found if isinstance(found, tuple) else (found,)
        return max(
            deviation(value.detach().numpy(), self.tensors[name])
            for name, value in zip(translated.outputs, found, strict=True)
        )


def examples_fit(model: Any) -> bool:
    """Whether the model says all shapes, so that example inputs of these shapes go together."""
    if any(node.op_type in ("ConstantOfShape", "Range", "Tile") for node in model.graph.node):
        return False  # numbers of an input decide on shapes that no file knows
    return all(d.HasField("dim_value") for info in model.graph.input for d in info.type.tensor_type.shape.dim)


def deviation(found: np.ndarray, expected: np.ndarray) -> float:
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert found.dtype == expected.dtype, (found.dtype, expected.dtype)
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind != "f":
        return float((found != expected).any())
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    difference = np.abs(found[finite] - expected[finite])
    return float(difference.max(initial=0) / max(np.abs(expected[finite]).max(initial=0), 1e-6))


def imported(code: str, folder: Path) -> ModuleType:
    file = folder / "motif.py"
    file.write_text(code)
    spec = importlib.util.spec_from_file_location("motif", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
