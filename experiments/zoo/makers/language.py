"""Language models of litgpt: every configuration that it lists, in its published size."""

import torch

from makers.package import Made, Package

NAMES = ("name", "hf_config")  # of a configuration, which say nothing of the model


def litgpt_names() -> list[str]:
    """One name of every configuration: many are those of models that differ in their weights alone."""
    from litgpt.config import name_to_config

    distinct: dict[str, str] = {}
    for name, settings in sorted(name_to_config.items()):
        shape = {key: value for key, value in settings.items() if key not in NAMES}
        distinct.setdefault(repr(sorted(shape.items())), name)
    return sorted(distinct.values())


def make_litgpt(name: str) -> Made:
    from litgpt import GPT
    from litgpt.config import Config

    model = GPT(Config.from_name(name))
    return model, (torch.zeros(1, 16, dtype=torch.long),)


LITGPT = Package(litgpt_names, make_litgpt)
