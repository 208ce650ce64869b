"""Models by name: definitions in Python packages, captured without weights, each in a process of its own.

    torch:MODULE:CALLABLE            what the callable returns: (module, example arguments[, keyword arguments])
    timm:GLOB                        models of timm, e.g. timm:resnet*
    transformers:GLOB                models of transformers by the class of their configuration, e.g. BertConfig

The modules are made on the meta device, so that a model of any size needs little memory, and put into evaluation
mode. Nothing is downloaded.
"""

import importlib
import os
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.settings import ReadSettings
from grade.sources.example_inputs import transformers_inputs, without_caches
from grade.sources.readers import Item, reader
from grade.sources.source_registry import source
from grade.sources.torch_models import capture

MISSING_OPERATORS = (  # of a torchvision whose library was built for another torch; nothing here calls them
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
KEPT: list[Any] = []  # libraries of operators: an operator goes when its library goes


@source(
    "torch",
    "A PyTorch module that a function of yours makes.",
    argument="MODULE:CALLABLE",
    needs_argument=True,
    runs_code=True,
)
def torch_module(place: str) -> list[Item]:
    package, colon, function = place.partition(":")
    if not colon or not package or not function:
        raise InputError(f"torch:{place} names no callable; write torch:package.module:callable.")
    return [Item("torch", f"torch:{place}")]


@source("timm", "Models of timm by name, e.g. timm:resnet*.", argument="GLOB", needs_argument=True)
def timm_models(pattern: str) -> list[Item]:
    timm = import_timm()
    names = [name for name in timm.list_models() if fnmatchcase(name, pattern)]
    if not names:
        raise InputError(f"timm has no model that matches {pattern!r}; try 'timm:resnet*'.")
    return [Item("timm", f"timm:{name}") for name in names]


@source(
    "transformers",
    "Models of transformers, e.g. transformers:BertConfig.",
    argument="GLOB",
    needs_argument=True,
)
def transformers_models(pattern: str) -> list[Item]:
    transformers = import_transformers()
    mapping = importlib.import_module("transformers.models.auto.modeling_auto").MODEL_MAPPING_NAMES
    configurations = importlib.import_module(
        "transformers.models.auto.configuration_auto"
    ).CONFIG_MAPPING_NAMES
    known = sorted({configurations[kind] for kind in mapping if kind in configurations})
    names = [name for name in known if fnmatchcase(name, pattern)]
    if not names:
        guess = "" if not hasattr(transformers, pattern) else " (there is such a class, but no model for it)"
        raise InputError(
            f"transformers has no configuration that matches {pattern!r}{guess}; try 'transformers:BertConfig'."
        )
    return [Item("transformers", f"transformers:{name}") for name in names]


def prepare_torch() -> None:
    """Import torch and use it once, so that the processes that are forked from this one need not."""
    import torch

    torch.set_num_threads(1)
    capture(torch.nn.ReLU(), (torch.empty(1, device="meta"),))


def prepare_timm() -> None:
    prepare_torch()
    import_timm()


def prepare_transformers() -> None:
    prepare_torch()
    import_transformers()


@reader("torch", "PyTorch modules", prepare=prepare_torch, isolated=True)
def read_torch_module(place: str, settings: ReadSettings) -> Iterator[GraphSet]:
    import torch
    from torch.utils._pytree import tree_map

    package, _, function = place.removeprefix("torch:").partition(":")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 (modules beside the user, as with python -m)
    try:
        make: Any = importlib.import_module(package)
        for part in function.split("."):
            make = getattr(make, part)
        with torch.device("meta"):
            made = make()
    except MemoryError:
        raise
    except Exception as error:  # the user's code may raise anything
        raise InputError(f"{place} cannot be made ({type(error).__name__}: {one_line(error)}).") from None
    module, arguments, keywords = (
        [*made, {}][:3] if isinstance(made, tuple) and len(made) in (2, 3) else (None, (), {})
    )
    if not isinstance(module, torch.nn.Module) or not isinstance(arguments, tuple | list):
        raise InputError(
            f"{place} must return (module, example arguments) or (module, arguments, keyword arguments)."
        )

    def to_meta(value: Any) -> Any:
        return value.to("meta") if isinstance(value, torch.Tensor) else value

    # Modules and arguments that were made when the code was imported have values.
    arguments, keywords = tree_map(to_meta, (tuple(arguments), keywords))
    yield capture(module.eval().to("meta"), arguments, keywords, name=place, settings=settings)


@reader("timm", "timm models", prepare=prepare_timm, isolated=True)
def read_timm_model(place: str, settings: ReadSettings) -> Iterator[GraphSet]:
    import torch

    timm, name = import_timm(), place.removeprefix("timm:")
    try:
        with torch.device("meta"):
            module = timm.create_model(name, pretrained=False).eval()
            image = torch.empty(1, *module.default_cfg["input_size"])
    except MemoryError:
        raise
    except Exception as error:
        raise InputError(f"{place} cannot be made ({type(error).__name__}: {one_line(error)}).") from None
    yield capture(module, (image,), name=f"timm/{name}", settings=settings)


@reader("transformers", "transformers models", prepare=prepare_transformers, isolated=True)
def read_transformers_model(place: str, settings: ReadSettings) -> Iterator[GraphSet]:
    import torch

    transformers, name = import_transformers(), place.removeprefix("transformers:")
    try:
        configuration = without_caches(getattr(transformers, name)())
        with torch.device("meta"):
            module = transformers.AutoModel.from_config(configuration).eval()
            inputs = transformers_inputs(module, configuration)
    except MemoryError:
        raise
    except Exception as error:
        raise InputError(f"{place} cannot be made ({type(error).__name__}: {one_line(error)}).") from None
    yield capture(module, (), inputs, name=f"transformers/{name.removesuffix('Config')}", settings=settings)


def import_timm() -> Any:
    """timm, also where torchvision was built for another torch: its own operators are then declared, not there."""
    return import_extra("timm", "timm")


def import_transformers() -> Any:
    return import_extra("transformers", "transformers")


def import_extra(name: str, extra: str) -> Any:
    try:
        declare_missing_operators()
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"{name} cannot be imported ({one_line(error)}); install it with 'pip install grade-motifs[{extra}]', under"
            " constraints.txt so that torch stays as it is."
        ) from None


def declare_missing_operators() -> None:
    """torchvision's Python part refers to operators of its compiled part, which may not load with this torch."""
    import torch

    try:
        importlib.import_module("torchvision")
    except ImportError:
        return  # whoever needs it says so
    except RuntimeError:
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        library: Any = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]  # torch's
        for schema in MISSING_OPERATORS:
            if not hasattr(torch.ops.torchvision, schema.partition("(")[0]):
                library.define(schema)
        KEPT.append(library)


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
