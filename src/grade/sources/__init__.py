"""Where graph sets come from: one file per origin. A new one is imported here, which registers it."""

from grade.sources import (
    circuits,
    darts,
    edge_lists,
    graphml_files,
    json_lines,
    model_zoos,
    nas_bench_101,
    nas_bench_201,
    nas_bench_nlp,
    onnx_files,
    syntax,
    torch_models,
    younger,
    zoo,
)
from grade.sources.as_graphs import as_graphs
from grade.sources.loading import load
from grade.sources.networkx_graphs import from_networkx, to_networkx
from grade.sources.npz_files import read_npz
from grade.sources.pyg_data import from_pyg
from grade.sources.readers import Reader, reader, readers
from grade.sources.source_registry import Source, source, sources

__all__ = [
    "Reader",
    "Source",
    "as_graphs",
    "circuits",
    "darts",
    "edge_lists",
    "from_networkx",
    "from_pyg",
    "graphml_files",
    "json_lines",
    "load",
    "model_zoos",
    "nas_bench_101",
    "nas_bench_201",
    "nas_bench_nlp",
    "onnx_files",
    "read_npz",
    "reader",
    "readers",
    "source",
    "sources",
    "syntax",
    "to_networkx",
    "torch_models",
    "younger",
    "zoo",
]
