"""``grade blocks`` and ``grade outline``: repeated regions of any size, and models written with them."""

from grade.cli.app import app
from grade.settings import BlocksSettings, OutlineSettings, OutputSettings
from grade.terminal import command, progress_bar, show

PANEL = "Repeated regions"  # of the help


@command(
    app,
    "grade blocks zoo --min-count 5 --out zoo-blocks",
    "grade blocks model.onnx",
    "grade blocks 'models/*.onnx' --min-graphs 2 --top 50 --json",
    "grade blocks model.onnx --blocks zoo-blocks",
    called="blocks",
    panel=PANEL,
)
def blocks_of(settings: BlocksSettings, output: OutputSettings) -> None:
    """Find repeated regions of any size, and write every graph with them.

    Operators are merged pair by pair into blocks with one output, the pair that saves most first; equal blocks in a row
    become one unit. A block is an exact isomorphism class of operators with operand places.
    """
    from grade.blocks import blocks
    from grade.report.block_page import write_block_page
    from grade.report.block_tables import block_lines

    with progress_bar("blocks") as progress:
        found = blocks(**vars(settings), progress=progress)
        if settings.out is not None:
            write_block_page(found, settings.out / "blocks.html")
    show(output, found.data(), lambda: block_lines(found, settings.top, settings.model))


@command(
    app,
    "grade outline model.onnx --out outlined.onnx",
    "grade outline model.onnx --flat --min-count 4 --out outlined.onnx",
    "grade outline model.onnx --blocks zoo-blocks --out outlined.onnx",
    "grade outline model.onnx --to pytorch --out model.py",
    called="outline",
    panel=PANEL,
)
def outline_model(settings: OutlineSettings, output: OutputSettings) -> None:
    """Write a model with its repeated blocks as ONNX local functions, or as PyTorch source.

    The result is equivalent: inlining the functions gives the model back. Values, opsets and metadata are kept;
    external data is neither copied nor read.
    """
    from grade.export.outlines import write_outline
    from grade.report.block_tables import outline_lines

    with progress_bar("outline") as progress:
        done = write_outline(settings, progress)
    show(output, {"file": str(settings.out), **done.data()}, lambda: outline_lines(done, settings.out))
