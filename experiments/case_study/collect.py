"""Export a collection of real models to ONNX files with shapes: the models of settings.toml, weights drawn at random.

    pip install -c constraints.txt --no-deps timm torchvision onnxscript onnx_ir
    pip install -c constraints.txt transformers
    python experiments/case_study/collect.py FOLDER        # 2 GB; models that are there already are kept

Batches of 1, images of 224 x 224 (299 x 299 for inception_v3), texts of 128 words. Nothing is downloaded.
"""

import argparse
import sys
import time
import tomllib
import warnings
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import torch

from grade.sources.model_zoos import import_timm, import_transformers

HERE = Path(__file__).parent
OPSET = 17


def image_model(name: str) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    model = import_timm().create_model(name, pretrained=False, exportable=True)
    return model, (torch.randn(1, *model.default_cfg["input_size"]),)


class Text(torch.nn.Module):
    """A model of texts as a function of tokens alone that returns one tensor."""

    def __init__(self, model: torch.nn.Module, kept: dict[str, Any]) -> None:
        super().__init__()
        self.model, self.kept = model, kept

    def forward(self, tokens: torch.Tensor) -> Any:
        # The mask of ones keeps the exporter from operators that ONNX lacks.
        return self.model(tokens, attention_mask=torch.ones_like(tokens), return_dict=False, **self.kept)[0]


def text_model(name: str, settings: dict[str, Any]) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    transformers = import_transformers()
    config = getattr(transformers, name)(vocab_size=settings["vocabulary"])
    config._attn_implementation = "eager"
    for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
        if (getattr(config, key, None) or 0) >= settings["vocabulary"]:
            setattr(config, key, 0)
    model = transformers.AutoModel.from_config(config)
    kept = {"use_cache": False} if hasattr(config, "use_cache") else {}
    tokens = torch.randint(1, settings["vocabulary"], (1, settings["length"]))
    return Text(model, kept), (tokens,)


def export(name: str, settings: dict[str, Any], target: Path) -> None:
    torch.manual_seed(0)
    make = text_model(name, settings) if name.endswith("Config") else image_model(name)
    model, inputs = make[0].eval().requires_grad_(False), make[1]
    unfinished = target.with_suffix(".part")
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model, inputs, str(unfinished), opset_version=OPSET, dynamo=False, do_constant_folding=True
        )
    write_shapes(unfinished, inputs)
    unfinished.rename(target)


def write_shapes(path: Path, inputs: tuple[torch.Tensor, ...]) -> None:
    """Note the shape of every value, as one run has it: inference of shapes stops at sizes that are computed."""
    model = onnx.load(path)
    held = onnx.ModelProto()
    held.CopyFrom(model)
    values = [value for node in held.graph.node for value in node.output if value]
    given = {info.name for info in held.graph.output}
    held.graph.output.extend(onnx.helper.make_empty_tensor_value_info(v) for v in values if v not in given)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(held.SerializeToString(), options)
    names = [info.name for info in session.get_outputs()]
    feeds = {i.name: t.numpy() for i, t in zip(session.get_inputs(), inputs, strict=True)}
    for name, array in zip(names, session.run(names, feeds), strict=True):
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        info = onnx.helper.make_tensor_value_info(name, kind, array.shape)
        if name not in given:
            model.graph.value_info.append(info)
    onnx.save(model, path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="names of models, separated by commas")
    arguments = parser.parse_args()
    settings = tomllib.loads((HERE / "settings.toml").read_text())["collection"]
    names = arguments.only.split(",") if arguments.only else settings["timm"] + settings["transformers"]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in names:
        target = arguments.folder / f"{name.removesuffix('Config').lower()}.onnx"
        if target.exists():
            continue
        begin = time.perf_counter()
        try:
            export(name, settings, target)
        except Exception as error:  # a library that changed; the others are still wanted
            failed += 1
            print(
                f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[-1][:300]}",
                file=sys.stderr,
                flush=True,
            )
            continue
        print(f"{name}: {time.perf_counter() - begin:.1f} s", flush=True)
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
