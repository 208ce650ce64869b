"""Models whose structure is known: ResNet-50, ViT-B, a GPT."""

from collections import Counter
from typing import Any

import pytest

import grade
from grade.blocks import Blocks
from tests.blocks.architectures import MODELS


@pytest.fixture(scope="module")
def found() -> dict[str, Blocks]:
    return {name: grade.blocks(make()) for name, make in MODELS.items()}


def operators(blocks: Blocks, symbol: int) -> Counter[str]:
    types, _ = blocks.grammar.structure(symbol)
    return Counter(blocks.grammar.wiring.type_names[t] for t in types)


def test_resnet_50_has_4_and_12_bottlenecks(found: dict[str, Blocks]) -> None:
    blocks = found["resnet-50"]
    row = [unit for unit in blocks.outline(0) if "aten.add" in operators(blocks, unit.base)]
    assert [unit.copies for unit in row] == [1, 2, 1, 3, 1, 5, 1, 2]
    first, plain = operators(blocks, row[0].base), operators(blocks, row[1].base)
    assert {unit.base for unit in row[::2]} == {row[0].base}
    assert {unit.base for unit in row[1::2]} == {row[1].base}
    assert plain == {"aten.conv2d": 3, "aten.batch_norm": 3, "aten.relu": 3, "aten.add": 1}
    assert first == {"aten.conv2d": 4, "aten.batch_norm": 4, "aten.relu": 3, "aten.add": 1}


@pytest.mark.parametrize(("name", "layers"), [("vit-b", 12), ("gpt", 7)])
def test_transformers_are_one_block_times_their_layers(
    found: dict[str, Blocks], name: str, layers: int
) -> None:
    blocks = found[name]
    repeated = [unit for unit in blocks.outline(0) if unit.copies > 1]
    assert [unit.copies for unit in repeated] == [layers]
    inside: Any = operators(blocks, repeated[0].base)
    assert inside["aten.softmax"] == 1
    assert inside["aten.add"] == 2
    assert inside["aten.layer_norm"] == 2
    assert inside["aten.linear"] == 4
    # nothing of a layer is left outside
    outside: Counter[str] = Counter()
    for unit in blocks.outline(0):
        if unit.copies == 1:
            outside += operators(blocks, unit.base)
    assert not {"aten.softmax", "aten.gelu", "aten.matmul"} & set(outside)
