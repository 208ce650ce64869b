"""Cases to time: motifs of runs and blocks, cut out of their models where these are at hand."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grade.blocks.keeping import RESULT, read_result
from grade.errors import InputError
from grade.export.formats import TRIED, operands_of
from grade.export.model_files import import_onnx
from grade.export.occurrences import Occurrences
from grade.export.onnx_model import onnx_model
from grade.export.plan import Example
from grade.export.translation import translate
from grade.graphs import GraphSet, Pattern
from grade.graphs.patterns import MAX_SIZE
from grade.runs import Catalogue, Motif, RunFolder
from grade.runs.searched import searched_set
from grade.sources.loading import load_stored
from grade.timing.pieces import Case, loaded, refuse_unknown

SHAPE = (1, 64, 56, 56)  # batch, channels, height and width of example values


@dataclass(frozen=True)
class Found:
    """A case to time, and its origin."""

    case: Case
    text: str
    pattern: Pattern | None  # None for a block that is too large for one
    motif: Motif | None
    graphs: GraphSet | None


def parsed_shape(text: str | None) -> tuple[int, int, int, int]:
    """A shape as the command line has it.

    >>> parsed_shape("8x32x14x14")
    (8, 32, 14, 14)
    """
    if text is None:
        return SHAPE
    if not re.fullmatch(r"[1-9]\d{0,5}(x[1-9]\d{0,5}){3}", text):
        raise InputError(f"`shape` is {text!r}; give batch, channels, height and width such as 1x64x56x56.")
    batch, channels, height, width = (int(part) for part in text.split("x"))
    if height != width:
        raise InputError(f"`shape` is {text!r}; height and width must be equal.")
    return batch, channels, height, width


def find_case(run: Path, number: int, shape: str | None, pattern_only: bool, device: torch.device) -> Found:
    """A pattern of a run, or a block of a folder that 'grade blocks --out' made."""
    sizes = parsed_shape(shape)
    if (run / RESULT).is_file():
        return block_case(run, number, sizes, pattern_only, device)
    catalogue = Catalogue.load(RunFolder.open(run).catalogue)
    motif = catalogue.motif(number, run)
    graphs, reason = None, ""
    try:
        graphs = searched_set(catalogue)
        fusible = bool(catalogue.run["settings"].get("fusible"))
        found = None if graphs.origins is None else Occurrences(graphs, motif.pattern, TRIED, fusible)
    except InputError as error:
        found, reason = None, str(error)
    name = f"pattern {number}"
    case = make_case(name, motif.pattern, found, sizes, pattern_only, device, reason)
    return Found(case, motif.text, motif.pattern, motif, graphs)


def block_case(
    run: Path, number: int, sizes: tuple[int, int, int, int], pattern_only: bool, device: torch.device
) -> Found:
    """A block, by its number in the table of blocks."""
    data = read_result(run)
    blocks = data["blocks"]
    if not 1 <= number <= len(blocks):
        raise InputError(f"`pattern` is {number}, but {run} has blocks 1 to {len(blocks)}.")
    row = blocks[number - 1]
    name, nodes = str(row["name"]), int(row["nodes"])
    origin, example, digest = data["graphs"], row.get("example"), data["digest"]
    found, graphs, reason = None, None, ""
    try:
        if origin is None or example is None:
            raise InputError(f"{run} keeps no example of this block.")
        graphs = load_stored(origin)
        if graphs.digest != digest:
            raise InputError(
                f"The set {origin} has changed since {run} was made; find the blocks again with 'grade blocks'."
            )
        if graphs.origins is not None:
            found = Occurrences.of_rows(graphs, np.array([sorted(example)], np.int64), f"block {name}")
    except InputError as error:
        reason = str(error)
    pattern = None
    if nodes <= MAX_SIZE and "node_types" in row:
        types = sorted(set(row["node_types"]))
        edges = np.zeros((nodes, nodes), np.int64)
        for source, target, *_ in row["edges"]:
            edges[source, target] = 1
        pattern = Pattern.of([types.index(kind) for kind in row["node_types"]], edges, types)
    case = make_case(f"block {name}", pattern, found, sizes, pattern_only, device, reason)
    return Found(case, name if pattern is None else f"{name} = {pattern}", pattern, None, graphs)


def make_case(
    name: str,
    pattern: Pattern | None,
    found: Occurrences | None,
    sizes: tuple[int, int, int, int],
    pattern_only: bool,
    device: torch.device,
    reason: str,
) -> Case:
    """Cut out of a model where one is at hand; else of the pattern alone, with example shapes."""
    if found is not None and not pattern_only:
        try:
            cutout, occurrence = found.first_cut()
        except InputError as error:
            reason = str(error)
        else:
            return from_model(
                name, cutout.model, set(cutout.weights), sizes[0], device, f"as in {occurrence.graph}"
            )
    if pattern is None:
        more = f" ({reason})" if reason else ""
        raise InputError(
            f"{name} has more than {MAX_SIZE} nodes and no model file to take shapes from{more}; mine or build the set"
            " from ONNX files."
        )
    # The order of a block's operands is that of its edges, in numbers of its own.
    places = operands_of(found) if found is not None and found.pattern is not None else None
    example = Example(width=sizes[1], size=sizes[2], batch=sizes[0])
    model = onnx_model(pattern, "pattern", "", places, example)
    shape = "x".join(map(str, sizes))
    about = f"made of the pattern alone, with example values of {shape}"
    return from_model(name, model, set(), sizes[0], device, f"{about}. {reason}" if reason else about)


def from_model(
    name: str, model: Any, weights: set[str], batch: int, device: torch.device, about: str
) -> Case:
    """A case from a model; weights without values, among its inputs, get seeded ones."""
    onnx = import_onnx()
    for info in model.graph.input:
        dims = info.type.tensor_type.shape.dim
        for place, dim in enumerate(dims):
            if dim.dim_value > 0:
                continue
            if place:
                raise InputError(
                    f"{name} leaves a dimension of {info.name} open, so it has no shapes to be timed with; export the"
                    " model with fixed shapes, or set `pattern_only`."
                )
            dim.Clear()
            dim.dim_value = batch
    translated = translate(model, weights, "Part")
    refuse_unknown(name, translated)
    module = loaded(translated.source)
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    taken = [info for info in model.graph.input if info.name in weights]
    variances = variances_of(model)
    for own, value in translated.parameters.items():
        if value in weights:
            tensor = state[own].detach()
            tensor = tensor.abs() + 0.5 if value in variances else tensor
            model.graph.initializer.append(onnx.numpy_helper.from_array(tensor.numpy(), value))
    for info in taken:
        model.graph.input.remove(info)
    torch.manual_seed(0)
    inputs = {info.name: example_value(info) for info in model.graph.input}
    return Case(name, model, inputs, about, device)


def variances_of(model: Any) -> set[str]:
    """The weights that a batch norm takes for variances, also by other names: exporters share equal weights."""
    source = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "Identity"}
    found = {n.input[4] for n in model.graph.node if n.op_type == "BatchNormalization" and len(n.input) > 4}
    for value in list(found):
        while value in source:
            value = source[value]
            found.add(value)
    return found


DTYPES = {
    1: torch.float32, 2: torch.uint8, 3: torch.int8, 5: torch.int16, 6: torch.int32, 7: torch.int64, 9: torch.bool,
    10: torch.float16, 11: torch.float64, 16: torch.bfloat16,
}  # fmt: skip


def example_value(info: Any) -> torch.Tensor:
    """Positive numbers for floating-point inputs, ones for others."""
    kind = info.type.tensor_type
    shape, dtype = [dim.dim_value for dim in kind.shape.dim], DTYPES.get(kind.elem_type)
    if dtype is None:
        raise InputError(
            f"The input {info.name} has a type that no example values are known for; choose another one."
        )
    return (torch.rand(shape) + 0.5).to(dtype) if dtype.is_floating_point else torch.ones(shape, dtype=dtype)
