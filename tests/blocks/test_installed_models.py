"""Models of timm, torchvision and transformers, where they are installed: their layers are the blocks."""

from collections import Counter
from typing import Any

import pytest
import torch

import grade
from grade.blocks import Blocks
from grade.sources.model_zoos import declare_missing_operators
from tests.blocks.test_known_models import operators

IMAGE = torch.zeros(1, 3, 224, 224)


def package(name: str) -> Any:
    declare_missing_operators()
    return pytest.importorskip(name, reason=f"{name} is not installed (pip install {name})")


def residual_row(found: Blocks) -> list[tuple[int, Counter[str]]]:
    """(copies, operators) of the units with a shortcut."""
    row = [(unit.copies, operators(found, unit.base)) for unit in found.outline(0)]
    return [(copies, inside) for copies, inside in row if {"aten.add", "aten.add_"} & set(inside)]


def assert_resnet_50(model: torch.nn.Module) -> None:
    row = residual_row(grade.blocks((model.eval(), (IMAGE,))))
    assert [copies for copies, _ in row] == [1, 2, 1, 3, 1, 5, 1, 2]
    kinds = {frozenset(inside.items()) for _, inside in row}
    assert len(kinds) == 2
    convolutions = [inside["aten.conv2d"] for _, inside in row]
    assert convolutions == [4, 3] * 4


def test_torchvision_resnet_50() -> None:
    assert_resnet_50(package("torchvision").models.resnet50())


def test_timm_resnet_50() -> None:
    assert_resnet_50(package("timm").create_model("resnet50"))


LAYER = {"aten.scaled_dot_product_attention", "aten.gelu", "aten.tanh"}


def layers(found: Blocks) -> int:
    """The copies of the one unit that has all the attention and all the activations of a model."""
    with_layers = [unit for unit in found.outline(0) if LAYER & set(operators(found, unit.base))]
    assert len(with_layers) == 1, [found.text(unit) for unit in found.outline(0)]
    assert operators(found, with_layers[0].base)["aten.scaled_dot_product_attention"] == 1
    return with_layers[0].copies


def test_torchvision_vit_b() -> None:
    assert layers(grade.blocks((package("torchvision").models.vit_b_16().eval(), (IMAGE,)))) == 12


def test_timm_vit_b() -> None:
    model = package("timm").create_model("vit_base_patch16_224")
    assert layers(grade.blocks((model.eval(), (IMAGE,)))) == 12


def test_transformers_gpt2() -> None:
    transformers = package("transformers")
    config = transformers.GPT2Config(n_layer=7, n_embd=32, n_head=4, vocab_size=99, use_cache=False)
    model = transformers.GPT2LMHeadModel(config).eval()
    assert layers(grade.blocks((model, (torch.zeros(1, 6, dtype=torch.long),)))) == 7
