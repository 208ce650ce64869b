"""Models of transformers beside the bare ones: with the heads of their tasks, and in the sizes that were published.

The bare model of every configuration is `transformers:CONFIGURATION` of the package's own reader. A head has a name
such as ``BertForQuestionAnswering``, a size such as ``bert-large`` (`sizes.toml`).
"""

import importlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from grade.sources.example_inputs import transformers_inputs, without_caches
from makers.package import Made, Package

TABLE = Path(__file__).with_name("sizes.toml")


def auto(module: str) -> Any:
    return importlib.import_module(f"transformers.models.auto.{module}")


@cache
def heads() -> dict[str, str]:
    """The class of configuration of every class of models."""
    configurations = auto("configuration_auto").CONFIG_MAPPING_NAMES
    models = auto("modeling_auto")
    bare: set[str] = set()
    found: dict[str, str] = {}
    mappings = {name for name in dir(models) if name.endswith("MAPPING_NAMES")} - {"CONFIG_MAPPING_NAMES"}
    for mapping in sorted(mappings):
        for kind, classes in getattr(models, mapping).items():
            for name in [classes] if isinstance(classes, str) else classes:
                if mapping == "MODEL_MAPPING_NAMES":
                    bare.add(name)
                elif kind in configurations:
                    found.setdefault(name, configurations[kind])
    return {name: configuration for name, configuration in sorted(found.items()) if name not in bare}


def make_head(name: str) -> Made:
    import transformers

    configuration = without_caches(getattr(transformers, heads()[name])())
    model = getattr(transformers, name)(configuration)
    return model, (), transformers_inputs(model, configuration)


def sizes() -> dict[str, dict[str, Any]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def make_size(name: str) -> Made:
    import transformers

    settings = dict(sizes()[name])
    configuration = without_caches(getattr(transformers, settings.pop("configuration"))(**settings))
    model = transformers.AutoModel.from_config(configuration)
    return model, (), transformers_inputs(model, configuration)


def head_names() -> list[str]:
    importlib.import_module("transformers")
    return list(heads())


def size_names() -> list[str]:
    importlib.import_module("transformers")
    return list(sizes())


HEADS = Package(head_names, make_head, rank=1, family=lambda name: "heads of " + heads()[name])
SIZES = Package(size_names, make_size)
