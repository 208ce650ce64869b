"""Export a collection of real models to ONNX files with shapes: the models of settings.toml, weights drawn at random.

    pip install -c constraints.txt --no-deps timm torchvision onnxscript onnx_ir
    pip install -c constraints.txt transformers
    python experiments/case_study/collect.py FOLDER        # 3 GB; models that are there already are kept

Batches of 1, images of 224 x 224 (299 x 299 for inception_v3), texts of 128 words. Nothing is downloaded.
"""

import argparse
import sys
import time
import tomllib
import warnings
from pathlib import Path
from typing import Any

import torch

from grade.sources.model_zoos import import_timm, import_transformers

HERE = Path(__file__).parent
OPSET = 17


def image_model(name: str) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    model = import_timm().create_model(name, pretrained=False, exportable=True)
    return model, (torch.randn(1, *model.default_cfg["input_size"]),)


class Logits(torch.nn.Module):
    """A language model as a function of tokens that returns one tensor."""

    def __init__(self, model: torch.nn.Module, both: bool) -> None:
        super().__init__()
        self.model, self.both = model, both

    def forward(self, tokens: torch.Tensor) -> Any:
        given = {"decoder_input_ids": tokens} if self.both else {}
        return self.model(input_ids=tokens, **given, use_cache=False, return_dict=False)[0]


class Encoder(torch.nn.Module):
    """The same for models without a cache."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> Any:
        return self.model(input_ids=tokens, return_dict=False)[0]


def text_model(name: str, settings: dict[str, Any]) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    transformers = import_transformers()
    config = getattr(transformers, name)(vocab_size=settings["vocabulary"])
    config._attn_implementation = "eager"
    for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
        if (getattr(config, key, None) or 0) >= settings["vocabulary"]:
            setattr(config, key, 0)
    if name in settings["layers"]:
        config.num_hidden_layers = settings["layers"][name]
    model = transformers.AutoModel.from_config(config)
    both = bool(config.is_encoder_decoder)
    cached = both or "Cache" in str(model.forward.__doc__) or name in ("GPT2Config", "LlamaConfig")
    tokens = torch.randint(1, settings["vocabulary"], (1, settings["length"]))
    return (Logits(model, both) if cached else Encoder(model)), (tokens,)


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
    unfinished.rename(target)


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
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr, flush=True)
            continue
        print(f"{name}: {time.perf_counter() - begin:.1f} s", flush=True)
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
