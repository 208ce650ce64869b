"""Where graph sets come from: one file per origin. A new one is imported here, which registers it."""

from grade.sources import darts, nas_bench_101, nas_bench_201, nas_bench_nlp, onnx_files, zoo
from grade.sources.base import Source, source, sources
from grade.sources.loading import load
from grade.sources.networkx_graphs import from_networkx, to_networkx
from grade.sources.npz_files import read_npz

__all__ = [
    "Source",
    "darts",
    "from_networkx",
    "load",
    "nas_bench_101",
    "nas_bench_201",
    "nas_bench_nlp",
    "onnx_files",
    "read_npz",
    "source",
    "sources",
    "to_networkx",
    "zoo",
]
