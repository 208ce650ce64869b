"""ONNX files of timm and transformers models, with random weights, by both exporters of PyTorch.

Run: python experiments/blocks/export.py FOLDER     (pip install -c constraints.txt timm transformers onnxscript)
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from grade.sources.model_zoos import declare_missing_operators

SMALL = {"num_attention_heads": 4, "vocab_size": 100}
TIMM = (
    *(
        "resnet50",
        "vit_base_patch16_224",
        "mobilenetv3_small_050",
        "efficientnet_b0",
        "convnext_atto",
        "densenet121",
    ),
    *("swin_tiny_patch4_window7_224", "regnety_002", "mixer_s16_224", "efficientformer_l1"),
)


class FirstOutput(torch.nn.Module):
    """A model of transformers as a function of token ids."""

    def __init__(self, model: Any, **options: Any) -> None:
        super().__init__()
        self.model, self.options = model, options

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids, **self.options)[0]


def models() -> Iterator[tuple[str, Callable[[], torch.nn.Module], torch.Tensor]]:
    import timm
    import transformers as t

    for name in TIMM:
        yield f"timm-{name}", lambda name=name: timm.create_model(name), torch.randn(1, 3, 224, 224)
    ids = torch.arange(12)[None]
    gpt = t.GPT2Config(n_embd=96, n_head=4, n_layer=12, vocab_size=100, n_positions=64)
    llama = t.LlamaConfig(
        hidden_size=64, intermediate_size=128, num_hidden_layers=8, num_key_value_heads=2, **SMALL
    )
    bert = t.BertConfig(hidden_size=96, num_hidden_layers=12, intermediate_size=200, **SMALL)
    t5 = t.T5Config(d_model=64, d_kv=16, d_ff=128, num_layers=6, num_heads=4, vocab_size=100)
    yield "transformers-gpt2", lambda: FirstOutput(t.GPT2LMHeadModel(gpt), use_cache=False), ids
    yield "transformers-llama", lambda: FirstOutput(t.LlamaForCausalLM(llama), use_cache=False), ids
    yield "transformers-bert", lambda: FirstOutput(t.BertModel(bert)), ids
    yield "transformers-t5-encoder", lambda: FirstOutput(t.T5EncoderModel(t5)), ids


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    declare_missing_operators()
    for name, make, example in models():
        for exporter in ("dynamo", "script"):
            path = folder / f"{name}-{exporter}.onnx"
            if path.exists():
                continue
            torch.manual_seed(0)
            whole = path.with_suffix(".part")
            try:
                torch.onnx.export(
                    make().eval(),
                    (example,),
                    str(whole),
                    dynamo=exporter == "dynamo",
                    external_data=False,
                    verbose=False,
                )
            except Exception as error:  # each exporter refuses some models
                print(f"{path.name}: {type(error).__name__}", flush=True)
                continue
            whole.replace(path)
            print(path.name, path.stat().st_size, flush=True)


if __name__ == "__main__":
    main()
