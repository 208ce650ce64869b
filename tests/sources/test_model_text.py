"""Names in models that are no text: onnx's own parser hands their bytes on."""

from pathlib import Path

import pytest
from onnx import TensorProto, helper

from grade import InputError
from grade.blocks.onnx_graph import read_model
from grade.export.model_files import ModelFile


@pytest.mark.parametrize("word", ["slope", "layer", "inner"])
def test_names_that_are_no_text_are_refused_in_one_sentence(word: str, tmp_path: Path) -> None:
    nodes = [helper.make_node("LeakyRelu", ["x"], ["inner"], name="layer", slope=0.5, alpha=0.1)]
    nodes.append(helper.make_node("Relu", ["inner"], ["y"]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2]) for name in "xy"]
    content = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:])).SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert len(read_model(path).graphs) == len(ModelFile(path).model.graph.node) - 1
    path.write_bytes(content.replace(word.encode(), word[:-1].encode() + b"\xff"))
    for read in (read_model, ModelFile):
        with pytest.raises(
            InputError, match=r"model\.onnx is not a valid ONNX model \(a name is not UTF-8\)"
        ):
            read(path)
