"""Outlines of models in the forms that `grade outline` writes."""

from grade.blocks.outline import Outlined, check_target, outline
from grade.errors import InputError
from grade.files import whole_file, writable_target
from grade.progress import Progress
from grade.settings import OutlineSettings

FORMATS = ("onnx", "pytorch")


def write_outline(settings: OutlineSettings, progress: Progress | None = None) -> Outlined:
    """The work of `grade outline`."""
    if settings.to not in FORMATS:
        raise InputError(f"There is no format {settings.to!r}; give {' or '.join(FORMATS)}.")
    writable_target(settings.out)
    done = outline(
        settings.model,
        settings.out if settings.to == "onnx" else None,
        flat=settings.flat,
        min_count=settings.min_count,
        max_size=settings.max_size,
        only=settings.blocks,
        progress=progress,
    )
    if settings.to == "pytorch":
        from grade.export.outline_modules import module_source

        check_target(settings.model, settings.out, external=False)
        with whole_file(settings.out) as temporary:
            temporary.write_text(module_source(done, f"The model {settings.model.name}."), "utf-8")
    return done
