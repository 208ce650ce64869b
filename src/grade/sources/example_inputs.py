"""Example inputs: those that a PyTorch module suggests itself, and those of transformers by their parameters."""

import inspect
from collections.abc import Iterator
from typing import Any

TOKENS = 16  # length of the example text of a language model
USUAL = ("input_ids", "pixel_values", "input_values", "input_features")


def own_inputs(module: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Arguments and keyword arguments of a call, as the module itself describes them; None where it does not.

    Models of transformers have a configuration, models of timm the size of their images (``default_cfg``), and modules
    of Lightning an ``example_input_array``.
    """
    import torch

    example = getattr(module, "example_input_array", None)
    if example is not None:
        if isinstance(example, dict):
            return (), example
        return (example if isinstance(example, tuple) else (example,)), {}
    weight = next(module.parameters(), None)
    with torch.device("cpu" if weight is None else weight.device):
        configuration = getattr(module, "config", None)
        if hasattr(configuration, "to_dict") and hasattr(configuration, "model_type"):
            return (), transformers_inputs(module, configuration)
        size = (getattr(module, "default_cfg", None) or {}).get("input_size")
        return None if size is None else ((torch.empty(1, *size),), {})


def parameters(module: Any) -> tuple[list[str], list[str]]:
    """The names of the parameters of ``forward`` that must be given, and of the others."""
    given = [
        parameter
        for parameter in inspect.signature(module.forward).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD and parameter.kind is not parameter.VAR_POSITIONAL
    ]
    needed = [parameter.name for parameter in given if parameter.default is parameter.empty]
    return needed, [parameter.name for parameter in given if parameter.name not in needed]


def configurations(configuration: Any) -> Iterator[Any]:
    """A configuration of transformers and those that it nests, the outer ones first."""
    yield configuration
    for value in list(vars(configuration).values()):
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            yield from configurations(value)


def number(configuration: Any, *names: str, default: int) -> int:
    """The first of the named settings that a configuration, or one that it nests, has."""
    for part in configurations(configuration):
        for name in names:
            value = getattr(part, name, None)
            if isinstance(value, list | tuple) and value and isinstance(value[0], int):
                return int(value[0])
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return default


def transformers_inputs(module: Any, configuration: Any) -> dict[str, Any]:
    """The arguments of a call of a transformers model: its main input, and all others that it requires."""
    import torch

    needed, optional = parameters(module)
    known = {*needed, *optional}
    tokens = torch.zeros(1, TOKENS, dtype=torch.long)
    side = number(configuration, "image_size", default=224)
    channels = number(configuration, "num_channels", default=3)
    mels = number(configuration, "num_mel_bins", "feature_size", default=80)
    frames = 2 * number(configuration, "max_source_positions", default=1500)
    hidden = number(configuration, "hidden_size", "d_model", default=768)
    guesses: dict[str, Any] = {
        "input_ids": tokens,
        "decoder_input_ids": tokens,
        "bbox": torch.zeros(1, TOKENS, 4, dtype=torch.long),
        "pixel_values": torch.empty(1, channels, side, side),
        "input_features": torch.empty(1, mels, frames),
        "input_values": torch.empty(1, 16_000),
        "attention_mask": torch.ones(1, TOKENS, dtype=torch.long),
        "hidden_states": torch.empty(1, TOKENS, hidden),
        "inputs_embeds": torch.empty(1, TOKENS, hidden),
        "past_values": torch.empty(1, number(configuration, "context_length", default=512), channels),
    }
    main = getattr(module, "main_input_name", "input_ids")
    chosen = [name for name in guesses if name in needed]
    if main in guesses and main in known:
        chosen.append(main)
    if "pixel_values" in known and hasattr(configuration, "vision_config"):
        chosen += [name for name in ("input_ids", "pixel_values") if name in known]
    if hasattr(configuration, "audio_config") and "input_features" in known and "input_ids" in known:
        chosen += ["input_ids", "input_features"]
    if getattr(configuration, "is_encoder_decoder", False) and "decoder_input_ids" in known:
        chosen.append("decoder_input_ids")
    if not chosen:
        chosen = [name for name in USUAL if name in known][:1]
    inputs = {name: guesses[name] for name in chosen}
    if "use_cache" in known:
        inputs["use_cache"] = False
    return inputs


def without_caches(configuration: Any) -> Any:
    """The same configuration, which asks for no cache anywhere: a cache among the outputs cannot be captured."""
    for part in configurations(configuration):
        if hasattr(part, "use_cache"):
            part.use_cache = False
    return configuration
