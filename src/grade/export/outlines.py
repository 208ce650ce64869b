"""Outlines of models in the forms that `grade outline` writes."""

from dataclasses import replace

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
        inline=settings.to == "pytorch",
    )
    if settings.to == "pytorch":
        from grade.export.outline_modules import ModuleWriter

        check_target(settings.model, settings.out, external=False)
        writer = ModuleWriter(done)
        source = writer.source(f"The model {settings.model.name}.")
        with whole_file(settings.out) as temporary:
            temporary.write_text(source, "utf-8")
        return replace(done, placeholders=tuple(writer.unknown))
    return done
