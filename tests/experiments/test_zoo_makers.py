"""A dozen models of each package that experiments/zoo/collect.py knows, captured where the package is installed."""

import importlib.util
import json
import os
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch

from grade import GraphSet
from grade.graphs.digests import structure_digests
from grade.settings import ReadSettings
from grade.sources.worker_pool import Limits, read_in_workers

ZOO = Path(__file__).parents[2] / "experiments" / "zoo"
DISTRIBUTIONS = {"open_clip": "open_clip_torch"}
MODELS = {
    "timm": "resnet18 resnet50 vit_tiny_patch16_224 swin_tiny_patch4_window7_224 convnext_tiny mobilenetv3_small_100"
    " efficientnet_b0 densenet121 regnety_002 mixer_s32_224 ghostnet_100 tf_efficientnetv2_b0",
    "torchvision": "alexnet vgg11 resnet18 resnext50_32x4d mobilenet_v2 shufflenet_v2_x0_5 mnasnet0_5 densenet121"
    " googlenet squeezenet1_0 vit_b_32 fcn_resnet50",
    "transformers": "BertConfig GPT2Config T5Config ViTConfig ResNetConfig DistilBertConfig OPTConfig BartConfig"
    " ElectraConfig SwinConfig CLIPConfig Wav2Vec2Config",
    "heads_of_transformers": "BertForQuestionAnswering BertForMaskedLM GPT2LMHeadModel ViTForImageClassification"
    " T5ForConditionalGeneration DistilBertForSequenceClassification OPTForCausalLM BartForConditionalGeneration"
    " ElectraForPreTraining ResNetForImageClassification SegformerForSemanticSegmentation Wav2Vec2ForCTC",
    "sizes_of_transformers": "bert-tiny bert-mini bert-small bert-medium electra-base deit-tiny distilgpt2 t5-base"
    " resnet-18 resnet-34 convnextv2-atto pythia-70m",
    "pytorchcv": "alexnet vgg11 resnet10 preresnet18 resnext14_16x4d seresnet10 densenet121 mobilenet_w1"
    " squeezenet_v1_0 shufflenet_g1_w1 darknet53 efficientnet_b0",
    "open_clip": "RN50 ViT-B-32 ViT-B-16 ViT-S-32 ViT-M-32 ViT-S-16 RN101 convnext_base coca_base ViT-B-32-256"
    " ViT-B-16-plus EVA02-B-16",
    "segmentation_models_pytorch": "unet/resnet18 unetplusplus/resnet18 linknet/resnet18 fpn/resnet18 pspnet/resnet18"
    " deeplabv3/resnet18 deeplabv3plus/resnet18 pan/resnet18 manet/resnet18 upernet/resnet18 unet/vgg11"
    " unet/mobilenet_v2",
    "diffusers": "UNet2DModel UNet2DConditionModel UNet3DConditionModel AutoencoderKL AutoencoderTiny VQModel"
    " SD3Transformer2DModel WanTransformer3DModel PRXTransformer2DModel T2IAdapter"
    " AutoencoderKLCosmos AutoencoderKLFlux2",
    "litgpt": "pythia-14m pythia-70m pythia-160m pythia-410m tiny-llama-1.1b Gemma-2b phi-1_5 Llama-3.2-1B Qwen2.5-0.5B"
    " OLMo-1B-hf SmolLM2-135M stablelm-3b-4e1t",
}


def distribution(key: str) -> str:
    return key.rpartition("_of_")[-1]


def spec(key: str, name: str) -> str:
    direct = key in ("timm", "transformers")
    return f"{key}:{name}" if direct else f"torch:makers:{key}.{name.replace('.', '·')}"


@pytest.mark.parametrize("key", MODELS)
def test_a_dozen_models_of_each_package_are_captured(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every graph has as many convolutions and layer norms as the modules compute when they run."""
    package = distribution(key)
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    monkeypatch.syspath_prepend(str(ZOO))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ZOO), os.environ.get("PYTHONPATH", "")]))
    from makers import PACKAGES  # type: ignore[import-not-found]  # in experiments/zoo
    from makers.warm import Candidate  # type: ignore[import-not-found]  # likewise

    names = MODELS[key].split()
    assert len(names) == 12
    if key in PACKAGES:
        assert not [name for name in PACKAGES[key].names() if name.endswith("Config")], "no models"
        listed = {PACKAGES[key].spec(key, name) for name in PACKAGES[key].names()}
        names = [name for name in names if spec(key, name) in listed]
        assert len(names) >= 10, "names have changed"
    items = [Candidate("warm", spec(key, name)) for name in names]
    found, failed = {}, {}
    for item, message in read_in_workers(items, ReadSettings(names="aten"), 1, Limits(300, 6)):
        if isinstance(message, GraphSet):
            found[item.place] = message
        elif message is not None:
            failed[item.place] = message.reason
    assert not failed
    compared = 0
    for name in names:
        graphs = found[spec(key, name)]
        assert len(graphs) == 1
        assert graphs.outputs is not None
        assert graphs.outputs.any()
        assert graphs.node_names is not None
        if key in PACKAGES:
            with torch.device("meta"):
                made = PACKAGES[key].make(name)
            counted = Counter(graphs.node_vocabulary[kind] for kind in graphs.node_types.tolist())
            try:
                calls = called(*made)
            except (
                RuntimeError
            ):  # it asks for the value of a tensor: torch.export can trace that, meta cannot
                continue
            compared += bool(calls)
            assert {
                operator: counted[operator] >= number for operator, number in calls.items()
            } == dict.fromkeys(calls, True), name


def called(module: torch.nn.Module, arguments: tuple[Any, ...] = (), keywords: Any = None) -> Counter[str]:
    """How often the layers of a module run, by the operator that each is."""
    calls: Counter[str] = Counter()
    kinds = {torch.nn.Conv2d: ["aten.conv2d"], torch.nn.LayerNorm: ["aten.layer_norm"]}
    for part in module.eval().modules():
        part.register_forward_hook(lambda layer, *_: calls.update(kinds.get(type(layer), ())))
    with torch.no_grad():
        module(*arguments, **(keywords or {}))
    return calls


@pytest.mark.parametrize("package", sorted({distribution(key) for key in MODELS}))
def test_what_is_captured_is_what_the_manifest_says(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest models of the manifest, where the package has the version that it names."""
    import lzma

    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    lines = lzma.decompress((ZOO / "results" / "manifest.jsonl.xz").read_bytes()).decode().splitlines()
    rows = [row for row in map(json.loads, lines) if row["package"] == package and not row["skipped"]]
    installed = version(DISTRIBUTIONS.get(package, package))
    if not rows or rows[0]["version"] != installed:
        pytest.skip(f"{package} {installed} is not the version of the manifest")
    monkeypatch.syspath_prepend(str(ZOO))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ZOO), os.environ.get("PYTHONPATH", "")]))
    from makers.warm import Candidate

    expected = {row["spec"]: row["digest"] for row in sorted(rows, key=lambda row: row["nodes"])[:12]}
    items = [Candidate("warm", place) for place in expected]
    stream = read_in_workers(items, ReadSettings(names="onnx"), 1, Limits(300, 6))
    found = {item.place: structure_digests(m)[0].hex() for item, m in stream if isinstance(m, GraphSet)}
    assert found == expected
