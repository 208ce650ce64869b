"""Models of diffusers, made with the defaults of their classes and called with inputs guessed from their signatures."""

import importlib
import itertools
from collections.abc import Iterator
from typing import Any

import torch

from grade.sources.example_inputs import parameters
from makers.package import Made, Package

TEXT = 16  # tokens
WIDTHS = (  # of the text that a model is given, by the names that configurations have for it
    "joint_attention_dim",
    "cross_attention_dim",
    "caption_channels",
    "text_embed_dim",
    "text_dim",
    "context_in_dim",
    "encoder_hid_dim",
    "caption_projection_dim",
    "cap_feat_dim",
    "hidden_size",
)


def diffusers_names() -> list[str]:
    models = importlib.import_module("diffusers.models")
    return sorted(
        name
        for name in dir(models)
        if isinstance(found := getattr(models, name), type) and issubclass(found, models.ModelMixin)
    )


def make_diffusers(name: str) -> Made:
    """The model and the first guess that it accepts."""
    model = getattr(importlib.import_module("diffusers.models"), name)().eval()
    refused = ""
    for inputs in guesses(model):
        try:
            with torch.no_grad():
                model(**inputs)
        except Exception as error:  # whatever the model's code raises for a wrong shape
            refused = refused or str(error)
        else:
            return model, (), inputs
    raise ValueError(f"no guess at its inputs is accepted: {refused}")


def guesses(model: Any) -> Iterator[dict[str, Any]]:
    needed, optional = parameters(model)
    settings = model.config

    def setting(*names: str, default: int) -> int:
        found = next((settings[name] for name in names if isinstance(settings.get(name), int)), default)
        return int(found)

    channels = setting("in_channels", "num_channels_latents", "input_channels", "in_dim", default=4)
    side = setting("sample_size", "sample_height", default=32)
    patch = setting("patch_size", default=1)
    images = (
        (1, channels, side, side),
        (1, channels, 4, 32, 32),
        (1, channels, 9, 64, 64),
        (1, 4, channels, 32, 32),
        (1, 64, channels),
        (1, channels, 256),
        (1, channels * patch * patch, side, side),
        (1, 64, channels * 4),
    )
    texts = [settings[name] for name in WIDTHS if isinstance(settings.get(name), int)] or [768]
    for image, text, all_known, long in itertools.product(images, texts, (False, True), (True, False)):
        patches = image[1] if len(image) == 3 else 64
        known: dict[str, Any] = {
            "hidden_states": torch.empty(image),
            "sample": torch.empty(image),
            "x": torch.empty(image),
            "encoder_hidden_states": torch.empty(1, TEXT, text),
            "timestep": torch.ones(1, dtype=torch.long if long else torch.float32),
            "pooled_projections": torch.empty(1, setting("pooled_projection_dim", default=768)),
            "encoder_attention_mask": torch.ones(1, TEXT, dtype=torch.long),
            "encoder_hidden_states_mask": torch.ones(1, TEXT, dtype=torch.long),
            "img_ids": torch.zeros(patches, 3),
            "txt_ids": torch.zeros(TEXT, 3),
            "guidance": torch.ones(1),
            "class_labels": torch.zeros(1, dtype=torch.long),
            "controlnet_cond": torch.empty(1, 3, 8 * side, 8 * side),
            "conditioning_scale": 1.0,
            "num_frames": 4,
            "image_only_indicator": torch.zeros(1, 4),
            "added_time_ids": torch.zeros(1, 3),
        }
        wanted = {*needed, *(optional if all_known else ())}
        if set(needed) <= set(known):
            yield {name: value for name, value in known.items() if name in wanted}


DIFFUSERS = Package(diffusers_names, make_diffusers)
