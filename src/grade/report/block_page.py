"""Blocks as one HTML file: models as outlines and pictures to open block by block, the library, and the blocks that
models share.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from grade import __version__
from grade.blocks import Blocks, Unit
from grade.files import whole_file
from grade.report.block_tables import folded_units
from grade.report.drawing import Node, draw
from grade.report.rendering import render

MOST_MODELS, MOST_BLOCKS = 300, 2_000  # that the page shows; a note says so when there are more
MOST_DRAWN = 120  # units of a picture
MATRIX = 30  # blocks
LIBRARY = 100
MOST_UNREACHED = 50
IN_NOTEBOOK = 10
SHARED_BY = 12  # models that a block lists


def write_block_page(found: Blocks, out: Path) -> Path:
    """Write the page, whole or not at all."""
    with whole_file(out) as temporary:
        temporary.write_text(block_page(found), encoding="utf-8", errors="replace")
    return out


def blocks_html(found: Blocks) -> str:
    """The first blocks as a table for a notebook."""
    rows = "".join(
        f"<tr><td>{escape(block.name)}</td><td>{block.nodes:,}</td><td>{block.count:,}</td><td>{block.graphs:,}</td>"
        f"<td>{100 * block.coverage / max(found.nodes, 1):.1f} %</td></tr>"
        for block in found.blocks[:IN_NOTEBOOK]
    )
    head = "".join(f"<th>{name}</th>" for name in ("block", "nodes", "count", "graphs", "coverage"))
    return f"<table><caption>{escape(repr(found))}</caption><tr>{head}</tr>{rows}</table>"


def block_page(found: Blocks) -> str:
    """The page as text."""
    shown = found.blocks[:MOST_BLOCKS]
    library = found.library(LIBRARY)
    names = {block.name: i for i, block in enumerate(shown)}
    return render(
        "blocks.html",
        program_file="blocks.js",
        data={
            "nodes": found.nodes,
            "models": [model_data(found, graph) for graph in model_order(found)],
            "blocks": [block_data(found, block.symbol) for block in shown],
            "library": [[found.blocks.index(block), covered] for block, covered in library],
            "unreached": [
                [names.get(each.block, -1), each.block, each.nodes, each.count, each.graphs, each.coverage]
                for each in found.unreached[:MOST_UNREACHED]
            ],
            "matrix": matrix(found, [block.symbol for block, _ in library[:MATRIX]]),
        },
        found=found,
        models=len(found.graphs),
        left_models=max(len(found.graphs) - MOST_MODELS, 0),
        left_unreached=max(len(found.unreached) - MOST_UNREACHED, 0),
        left_blocks=max(len(found.blocks) - MOST_BLOCKS, 0),
        version=__version__,
    )


def model_order(found: Blocks) -> list[int]:
    """The graphs on the page: the largest ones of a large set, in the order of the set."""
    largest = np.argsort(-found.graphs.node_counts, kind="stable")[:MOST_MODELS]
    return sorted(largest.tolist())


def model_data(found: Blocks, graph: int) -> dict[str, Any]:
    """A model: name, sizes, outline, picture."""
    units = found.outline(graph)
    name = found.graphs.graph_names[graph]
    return {
        "name": name,
        "nodes": int(found.graphs.node_counts[graph]),
        "units": len(units),
        "outline": outline(found, units),
        "parts": parts(found, units),
        "picture": picture(found, units, name),
    }


def block_data(found: Blocks, symbol: int) -> dict[str, Any]:
    """A block: the row of the table, its parts, its picture, the models that have most of it."""
    block = found.by_symbol[symbol]
    units = found.inside(symbol)
    counts = np.bincount(found.places.graphs_of(symbol), minlength=len(found.graphs))
    most = np.argsort(-counts, kind="stable")[:SHARED_BY]
    return {
        "name": block.name,
        "nodes": block.nodes,
        "count": block.count,
        "graphs": block.graphs,
        "coverage": block.coverage,
        "outline": outline(found, units),
        "parts": parts(found, units),
        "picture": picture(found, units, block.name),
        "shared": [[found.graphs.graph_names[graph], int(counts[graph])] for graph in most if counts[graph]],
    }


def outline(found: Blocks, units: Sequence[Unit]) -> list[list[Any]]:
    """[text, number of the block or -1] of units that follow each other, equal ones together."""
    return [[text, number_of(found, unit)] for text, unit in folded_units(found, units)]


def parts(found: Blocks, units: Sequence[Unit]) -> list[list[Any]]:
    """[text, number of the block or -1] of each unit."""
    return [[found.text(unit), number_of(found, unit)] for unit in units]


def number_of(found: Blocks, unit: Unit) -> int:
    """The place of a unit's block on the page; -1 for an operator."""
    place = found.rank.get(unit.base, MOST_BLOCKS)
    return place if place < MOST_BLOCKS else -1


def picture(found: Blocks, units: Sequence[Unit], title: str) -> str:
    """Units as boxes, in the order of the parts; empty where there are too many."""
    if len(units) > MOST_DRAWN:
        return ""
    producers = found.producers([(unit.symbol, unit.begin) for unit in units])
    edges = [(source, target) for target, sources in enumerate(producers) for source in sources]
    nodes = [Node(found.text(unit), inside_of(found, unit), kind=found.name_of(unit.base)) for unit in units]
    return draw(nodes, edges, title=title)


def inside_of(found: Blocks, unit: Unit) -> str:
    size = int(found.grammar.sizes[unit.base])
    if size == 1:
        return ""
    return f"{unit.copies} x {size} nodes" if unit.copies > 1 else f"{size} nodes"


def matrix(found: Blocks, symbols: Sequence[int]) -> dict[str, Any]:
    """Models by blocks: how often each block is in each model."""
    graphs = model_order(found)
    counts = [np.bincount(found.places.graphs_of(symbol), minlength=len(found.graphs)) for symbol in symbols]
    return {
        "blocks": [found.blocks.index(found.by_symbol[symbol]) for symbol in symbols],
        "rows": [[int(column[graph]) for column in counts] for graph in graphs],
    }
