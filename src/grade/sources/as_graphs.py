"""Conversion of Python objects to graph sets."""

import os
from collections.abc import Callable
from typing import Any

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.concatenation import join
from grade.settings import ReadSettings
from grade.sources.example_inputs import own_inputs
from grade.sources.loading import load


def as_graphs(models: Any, settings: ReadSettings | None = None) -> GraphSet:
    """The graph set of any object that the functions of `grade` take for graphs.

    Parameters
    ----------
    models
        a `GraphSet`; anything that `load` takes (a path, a glob, a built-in name); a PyTorch module with its example
        inputs as ``(module, arguments)`` or ``(module, arguments, keyword arguments)``, or alone where it says what it
        takes (`grade.sources.example_inputs.own_inputs`); a result of ``torch.export``; an ``onnx.ModelProto``; a
        networkx digraph; PyTorch Geometric's ``Data`` or batch; or a list of any of these, which becomes one set

    Examples
    --------
    >>> import torch
    >>> module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    >>> as_graphs(["zoo-mini", (module, (torch.zeros(1, 4),))])
    GraphSet('2 inputs': 13 graphs, 4,189 nodes, 4,967 edges)
    """
    if isinstance(models, GraphSet):
        return models
    if isinstance(models, str | os.PathLike):
        return load(os.fspath(models), settings)
    if is_module(models) or (isinstance(models, tuple) and models and is_module(models[0])):
        return captured(models, settings)
    for (module, name), convert in CONVERSIONS.items():
        if is_a(models, module, name):
            return convert(models, settings)
    if isinstance(models, list | tuple):
        if not models:
            raise InputError("An empty list names no graphs; give at least one model or set.")
        parts = [as_graphs(part, settings) for part in models]
        return parts[0] if len(parts) == 1 else join(parts, f"{len(parts)} inputs")
    raise InputError(
        f"An object of type {type(models).__name__} stands for no graphs; give a graph set, a path, a built-in name,"
        " (module, example inputs), an ONNX model, a networkx digraph, or a list of these."
    )


def captured(given: Any, settings: ReadSettings | None) -> GraphSet:
    """A PyTorch module, alone or in a tuple with its example inputs."""
    from grade.sources.torch_models import capture

    module, *inputs = given if isinstance(given, tuple) else (given,)
    found = inputs or own_inputs(module)
    if not found:
        raise InputError(
            f"A {type(module).__name__} needs example inputs to be captured; give (module, (tensor,)) instead."
        )
    arguments, keywords = [*found, {}][:2]
    if not isinstance(arguments, tuple | list) or not isinstance(keywords, dict) or len(found) > 2:
        raise InputError(
            f"The example inputs of a {type(module).__name__} must be a tuple of arguments and perhaps a dictionary"
            " of keyword arguments: (module, (tensor,), {'mask': tensor})."
        )
    return capture(module, arguments, keywords, settings=settings)


def from_program(program: Any, settings: ReadSettings | None) -> GraphSet:
    from grade.sources.torch_models import of_program

    return of_program(program, settings=settings)


def from_onnx(model: Any, settings: ReadSettings | None) -> GraphSet:
    from grade.sources.onnx_files import read_onnx_bytes

    return read_onnx_bytes(model.SerializeToString(), model.graph.name or "model", settings)


def from_digraph(graph: Any, _: ReadSettings | None) -> GraphSet:
    from grade.sources.networkx_graphs import from_networkx

    return from_networkx([graph])


def from_data(data: Any, _: ReadSettings | None) -> GraphSet:
    from grade.sources.pyg_data import from_pyg

    return from_pyg(data)


# Classes of other libraries by module and name, so that none is imported unless one of its objects is given.
CONVERSIONS: dict[tuple[str, str], Callable[[Any, ReadSettings | None], GraphSet]] = {
    ("torch.export.exported_program", "ExportedProgram"): from_program,
    ("onnx.onnx_ml_pb2", "ModelProto"): from_onnx,
    ("networkx.classes.graph", "Graph"): from_digraph,
    ("torch_geometric.data.data", "BaseData"): from_data,
}


def is_module(value: Any) -> bool:
    return is_a(value, "torch.nn.modules.module", "Module")


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether a value is of a class of a library, without importing the library."""
    return any((kind.__module__, kind.__name__) == (module, name) for kind in type(value).__mro__)
