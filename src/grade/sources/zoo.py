"""Operator graphs of real models, shipped with the package. grade/data/README.md says how they were made."""

import io
import lzma
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.sources.npz_files import read_npz
from grade.sources.source_registry import source

# In a checkout; wheels do not hold it.
LARGE = Path(__file__).parents[3] / "experiments" / "zoo" / "zoo-large.npz.xz"
MOST_UNPACKED = 2 << 30  # bytes; a small file can unpack to terabytes

# A dozen families, small to medium: plain chains, residual, branched, squeeze-and-excite, attention, windows.
# No DenseNet: the stars around its Concat nodes would be 97 % of all subgraphs of five nodes.
MINI = (
    "tv/vgg11",
    "tv/squeezenet1_0",
    "tv/resnet34",
    "tv/mobilenet_v2",
    "tv/googlenet",
    "tv/regnet_y_400mf",
    "tv/efficientnet_b0",
    "tv/inception_v3",
    "tv/convnext_tiny",
    "timm/vit_base_patch16_224_miil",
    "timm/mobilevit_s",
    "timm/swin_s3_tiny_224",
)


@source("zoo", "Operator graphs of 231 timm and torchvision models.")
def zoo() -> GraphSet:
    """231 graphs of ONNX operators: 209,879 nodes of 74 types, 270,112 edges."""
    with as_file(files("grade") / "data" / "zoo.npz") as path:
        return read_npz(path, origin="zoo")


@source(
    "zoo-large",
    "Models that experiments/zoo/collect.py captured and packed: in a checkout, or at PATH.",
    argument="PATH",
)
def zoo_large(path: str | None = None) -> GraphSet:
    """The models that experiments/zoo/collect.py packed: distinct graphs, with operands, outputs and names."""
    place = LARGE if path is None else Path(path)
    try:
        packed = lzma.LZMADecompressor()
        content = packed.decompress(place.read_bytes(), MOST_UNPACKED + 1)
        if len(content) <= MOST_UNPACKED and not packed.eof:
            raise EOFError("it ends too early")
    except FileNotFoundError:
        raise InputError(
            f"There is no file {place}; make it with experiments/zoo/collect.py, or name it: zoo-large:PATH."
        ) from None
    except (OSError, lzma.LZMAError, EOFError) as error:
        raise InputError(f"{place} cannot be read ({error}); get it again.") from None
    if len(content) > MOST_UNPACKED:
        raise InputError(f"{place} unpacks to more than {MOST_UNPACKED >> 30} GiB; get it again.")
    return read_npz(place, "zoo-large", io.BytesIO(content))


@source("zoo-mini", "A dozen small and varied graphs of zoo.")
def zoo_mini() -> GraphSet:
    """Twelve graphs of zoo, for examples and quick tests; the vocabulary is that of the whole."""
    graphs = zoo()
    names = list(graphs.graph_names)
    chosen = graphs.subset(np.array([names.index(name) for name in MINI]))
    return replace(chosen, origin="zoo-mini")
