"""The blocks of a folder that `grade blocks --out` made, to find them again in a model."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from grade.blocks.finding import Blocks
from grade.blocks.grammar import Wiring, base_name, isomorphism_classes
from grade.blocks.keeping import RESULT
from grade.errors import InputError
from grade.graphs import GraphSet


def known_structures(folder: Path) -> dict[str, tuple[list[str], list[list[Any]]]]:
    """Name -> (node types, edges) of the blocks that were written with their structure."""
    path = folder / RESULT
    try:
        data = json.loads(path.read_text("utf-8"))
        return {
            str(row["name"]): (list(map(base_name, row["node_types"])), [edge[:2] for edge in row["edges"]])
            for row in data["blocks"]
            if "node_types" in row
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"{folder} holds no blocks that can be read; make it with 'grade blocks SET --out {folder}'."
        ) from None


def only_known(found: Blocks, folder: Path) -> Blocks:
    """The same, but only blocks that the folder has, by operators and edges, and under the names that it gives.

    Of several blocks here that are one there (they differ in attributes, say), the first gets the name, others with
    a number.
    """
    known = known_structures(folder)
    mine = {block.name: plain_structure(found, block.symbol) for block in found.blocks}
    structures = [*known.values(), *mine.values()]
    words = sorted({word for types, _ in structures for word in types})
    place = {word: i for i, word in enumerate(words)}
    try:
        graphs = GraphSet.from_edges(
            node_counts=[len(types) for types, _ in structures],
            node_types=[place[word] for types, _ in structures for word in types],
            edge_counts=[len(edges) for _, edges in structures],
            edges=[edge for _, edges in structures for edge in edges],
            node_vocabulary=words,
        )
    except InputError as error:
        raise InputError(f"{folder / RESULT} is damaged ({error}); make it again.") from None
    classes = isomorphism_classes(Wiring.of(graphs)).tolist()
    name_of = dict(zip(classes[: len(known)], known, strict=True))
    blocks, taken = [], dict.fromkeys(name_of.values(), 0)
    kept = np.zeros_like(found.kept)
    for block, kind in zip(found.blocks, classes[len(known) :], strict=True):
        if kind not in name_of:
            continue
        name = name_of[kind]
        taken[name] += 1
        kept[block.symbol] = True
        blocks.append(replace(block, name=name if taken[name] == 1 else f"{name}-{taken[name]}"))
    return replace(found, kept=kept, blocks=blocks)


def plain_structure(found: Blocks, symbol: int) -> tuple[list[str], list[list[int]]]:
    types, edges = found.grammar.structure(symbol)
    names = [base_name(found.grammar.wiring.type_names[t]) for t in types]
    return names, [edge[:2] for edge in edges.tolist()]
