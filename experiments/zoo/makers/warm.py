"""The reader of `collect.py`: one process imports everything once, and a fork of it captures each model.

What it takes from the reader of a model it gives back unchanged; only the making of weights is skipped, which are
never looked at.
"""

import gc
import importlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from grade.graphs import GraphSet
from grade.settings import ReadSettings
from grade.sources.model_zoos import declare_missing_operators, prepare_torch
from grade.sources.readers import Item, reader, readers

IMPORTED = (
    "timm",
    "torchvision.models",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.llama.modeling_llama",
    "transformers.generation.utils",
    "diffusers.models",
    "diffusers.models.unets.unet_2d_condition",
    "open_clip",
    "segmentation_models_pytorch",
    "pytorchcv.model_provider",
    "litgpt",
)
FIRST = (
    "timm:vit_tiny_patch16_224",
    "timm:resnet18",
    "transformers:BertConfig",
)  # they fill the caches of torch


@dataclass(frozen=True)
class Candidate(Item):
    """A model to capture: unpickling it in the worker registers the reader below."""

    @staticmethod
    def of(item: Item) -> "Candidate":
        return Candidate("warm", item.place)


def skip_initialisation() -> None:
    """Leave tensors as they are where they would be filled with random numbers."""
    import torch

    def untouched(tensor: Any, *_: Any, **__: Any) -> Any:
        return tensor

    for name in vars(torch.nn.init).copy():
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, untouched)
    with suppress(ImportError):
        importlib.import_module("timm.layers.weight_init")._trunc_normal_ = untouched


def prepare() -> None:
    prepare_torch()
    declare_missing_operators()
    skip_initialisation()
    for name in IMPORTED:
        with suppress(ImportError):
            importlib.import_module(name)
    for place in FIRST:
        with suppress(Exception):  # a package that is not installed
            list(read(place, ReadSettings(names="onnx")))
    gc.collect()
    gc.freeze()  # a fork that collects would copy the pages of all that was imported


@reader("warm", "models of collect.py", prepare=prepare, isolated=True)
def read(place: str, settings: ReadSettings) -> Iterator[GraphSet]:
    gc.disable()
    yield from readers[place.partition(":")[0]].read(place, settings)
