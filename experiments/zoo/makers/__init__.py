"""Models by name of packages that GraDE has no source for: callables for ``torch:makers:PACKAGE.NAME``.

`collect.py` calls them in processes that are forked from one that has imported everything (`warm.py`), on the meta
device. Nothing is downloaded.
"""

from collections.abc import Iterator

from grade.sources.model_zoos import declare_missing_operators
from makers.diffusion import DIFFUSERS
from makers.images import OPEN_CLIP, PYTORCHCV, SEGMENTATION, TORCHVISION
from makers.language import LITGPT
from makers.package import Package
from makers.transformer import HEADS, SIZES

declare_missing_operators()
PACKAGES: dict[str, Package] = {
    "torchvision": TORCHVISION,
    "pytorchcv": PYTORCHCV,
    "open_clip": OPEN_CLIP,
    "segmentation_models_pytorch": SEGMENTATION,
    "diffusers": DIFFUSERS,
    "litgpt": LITGPT,
    "heads_of_transformers": HEADS,
    "sizes_of_transformers": SIZES,
}
globals().update(PACKAGES)


def specs() -> Iterator[tuple[str, str, str, int]]:
    """(package, spec, family, rank) of every model of the packages that are installed; rank 0 is tried first."""
    for key, models in PACKAGES.items():
        try:
            names = models.names()
        except ImportError:
            continue
        for name in names:
            yield key.partition("_of_")[-1] or key, models.spec(key, name), models.family(name), models.rank
