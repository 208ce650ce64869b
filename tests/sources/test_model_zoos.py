import importlib.util
from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn

from grade import InputError
from grade.settings import ReadSettings
from grade.sources import load
from grade.sources.loading import find
from grade.sources.model_zoos import (
    import_timm,
    import_transformers,
    read_timm_model,
    read_torch_module,
    read_transformers_model,
)
from grade.sources.torch_models import capture
from tests.sources.test_onnx_files import named_edges
from tests.sources.test_torch_models import layers
from tests.sources.torch_modules import OPERATORS, SmallResNet, called_operators


def needs(package: str) -> Any:
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed (extra {package!r})")


def place(name: str) -> str:
    return f"torch:tests.sources.torch_modules:{name}"


def test_a_callable_is_captured_by_its_name_in_a_child_process() -> None:
    graphs = load(place("resnet"))
    with torch.device("meta"):
        assert named_edges(graphs) == named_edges(capture(SmallResNet().eval(), (torch.empty(1, 3, 32, 32),)))
    assert list(graphs.graph_names) == [place("resnet")]


def test_what_was_made_at_import_may_go_with_what_is_made_later() -> None:
    """Modules and arguments that have values, and those on the meta device, in any combination."""
    expected = next(read_torch_module(place("made_later"), ReadSettings()))
    for name in ("module_of_import", "arguments_of_import", "both_of_import"):
        assert named_edges(next(read_torch_module(place(name), ReadSettings()))) == named_edges(expected)


def test_weights_of_a_terabyte_are_never_made() -> None:
    assert next(read_torch_module(place("huge"), ReadSettings())).node_vocabulary == ("aten.linear",)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (
            "torch:no_such_package:make",
            "torch:no_such_package:make cannot be made (ModuleNotFoundError: No module",
        ),
        (place("nothing"), "nothing cannot be made (AttributeError"),
        (place("no_arguments"), "no_arguments must return (module, example arguments)"),
        (place("raising"), "raising cannot be made (KeyError: 'no such\\nthing')."),
    ],
)
def test_a_callable_that_makes_no_module_is_refused(spec: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        next(read_torch_module(spec, ReadSettings()))
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_a_spec_without_a_callable_is_refused() -> None:
    for spec in ("torch:package.module", "torch::make", "torch:package:"):
        with pytest.raises(InputError, match="names no callable; write torch:"):
            find(spec)


@pytest.mark.parametrize("package", ["timm", "transformers"])
def test_a_package_that_is_missing_is_named_with_the_remedy(package: str) -> None:
    if importlib.util.find_spec(package) is not None:
        pytest.skip(f"{package} is installed")
    with pytest.raises(
        InputError, match=rf"{package} cannot be imported .*pip install grade-motifs\[{package}\]"
    ):
        load(f"{package}:*")


TIMM = [
    "resnet18",
    "resnet50d",
    "mobilenetv3_small_100",
    "efficientnet_b0",
    "convnext_tiny",
    "densenet121",
    "regnety_002",
    "vit_tiny_patch16_224",
    "deit_tiny_patch16_224",
    "mixer_s32_224",
    "vgg11",
    "ghostnet_100",
]


@needs("timm")
@pytest.mark.parametrize("name", TIMM)
def test_timm_models_have_the_layers_that_they_call(name: str) -> None:
    graphs = next(read_timm_model(f"timm:{name}", ReadSettings()))
    with torch.device("meta"):
        module = import_timm().create_model(name, pretrained=False).eval()
        expected = called_operators(module, torch.empty(1, *module.default_cfg["input_size"]))
    for activation in ("aten.gelu", "aten.silu"):  # timm has classes of its own for some
        expected.pop(activation, None)
    found = layers(graphs)
    assert {
        kind: count for kind, count in found.items() if kind not in ("aten.gelu", "aten.silu")
    } == expected
    assert list(graphs.graph_names) == [f"timm/{name}"]


@needs("timm")
def test_timm_models_are_found_by_pattern() -> None:
    assert [item.place for item in find("timm:resnet18*") if not hasattr(item, "core")] == [
        "timm:resnet18",
        "timm:resnet18d",
    ]
    with pytest.raises(InputError, match="timm has no model that matches 'nothing"):
        find("timm:nothing*")


TRANSFORMERS = ["BertConfig", "GPT2Config", "LlamaConfig", "ViTConfig", "T5Config", "WhisperConfig"]


@needs("transformers")
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers_models_have_the_layers_that_they_call(name: str) -> None:
    graphs = next(read_transformers_model(f"transformers:{name}", ReadSettings()))
    library = import_transformers()
    with torch.device("meta"):
        module = library.AutoModel.from_config(getattr(library, name)())
    kinds = [OPERATORS[type(part)] for part in module.modules() if type(part) in (nn.Linear, nn.LayerNorm)]
    kinds += [OPERATORS[type(part)] for part in module.modules() if type(part) in (nn.Conv1d, nn.Conv2d)]
    expected = Counter(kinds)  # in these architectures every such layer is called once
    found = layers(graphs)
    assert {kind: found[kind] for kind in expected} == expected
    assert sum(expected.values()) > 20


@needs("transformers")
def test_a_configuration_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="transformers has no configuration that matches 'Nothing"):
        find("transformers:NothingConfig")
