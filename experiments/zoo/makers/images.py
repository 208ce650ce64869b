"""Models of images: torchvision, pytorchcv, open_clip, segmentation_models_pytorch."""

import torch

from makers.package import Made, Package

IMAGE = (1, 3, 224, 224)


def torchvision_names() -> list[str]:
    from torchvision import models

    return sorted(models.list_models())


def make_torchvision(name: str) -> Made:
    from torchvision import models

    detector = any(word in name for word in ("rcnn", "fcos", "retinanet", "ssd"))
    options = {"weights_backbone": None} if "backbone" in str(models.get_model_builder(name).__doc__) else {}
    model = models.get_model(name, weights=None, **options)
    if detector:
        return model, ([torch.empty(3, 224, 224)],)
    if name in ("raft_large", "raft_small"):
        return model, (torch.empty(1, 3, 128, 128), torch.empty(1, 3, 128, 128))
    if any(word in name for word in ("r3d", "mc3", "r2plus1d", "s3d", "mvit", "swin3d")):
        return model, (torch.empty(1, 3, 16, 224, 224),)
    return model, (torch.empty(1, 3, 299, 299) if name == "inception_v3" else torch.empty(IMAGE),)


def pytorchcv_names() -> list[str]:
    from pytorchcv.model_provider import _models

    return sorted(_models)


def make_pytorchcv(name: str) -> Made:
    from pytorchcv.model_provider import get_model

    model = get_model(name, pretrained=False)
    size = getattr(model, "in_size", (224, 224))
    return model, (torch.empty(1, getattr(model, "in_channels", 3), *size),)


def open_clip_names() -> list[str]:
    import open_clip

    return sorted(open_clip.list_models())


def make_open_clip(name: str) -> Made:
    import open_clip

    model = open_clip.create_model(name, pretrained=None, device="meta")
    size = model.visual.image_size
    side = size if isinstance(size, tuple) else (size, size)
    return model, (torch.empty(1, 3, *side), torch.zeros(1, model.context_length, dtype=torch.long))


def segmentation_names() -> list[str]:
    """Every decoder with every encoder of the package's own list."""
    import segmentation_models_pytorch as library

    encoders = library.encoders.get_encoder_names()
    return sorted(f"{kind}/{encoder}" for kind in library.MODEL_ARCHITECTURES_MAPPING for encoder in encoders)


def make_segmentation(name: str) -> Made:
    import segmentation_models_pytorch as library

    kind, encoder = name.split("/")
    return library.create_model(kind, encoder_name=encoder, encoder_weights=None), (
        torch.empty(1, 3, 256, 256),
    )


TORCHVISION = Package(torchvision_names, make_torchvision)
PYTORCHCV = Package(pytorchcv_names, make_pytorchcv)
OPEN_CLIP = Package(open_clip_names, make_open_clip)
SEGMENTATION = Package(segmentation_names, make_segmentation, rank=2)
