"""Repeated regions side by side on the same FX graphs: torch's region tracker, module names, and blocks.

torch._dynamo finds identical regions for its hierarchical compilation; names of modules (blocks.0, blocks.1 ...) tell
what a person made repeat. Counted are the operators in regions of two or more that occur at least twice.

Run: python benchmarks/blocks_regions.py
"""

import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import torch
import torch._dynamo

from common import machine, write_results

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.blocks.architectures import MODELS

import grade
from grade import GraphSet

OPERATORS = ("call_function", "call_method", "call_module")


def traced(module: Any, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """The FX graph that dynamo makes of a module, and its region tracker."""
    caught: list[Any] = []

    def backend(made: Any, _: Any) -> Any:
        from torch._dynamo.symbolic_convert import InstructionTranslator

        caught.extend([made.graph, InstructionTranslator.current_tx().output.region_tracker])
        return made

    torch._dynamo.reset()
    with torch._dynamo.config.patch(track_nodes_for_deduplication=True), torch.no_grad():
        torch.compile(module, backend=backend, fullgraph=True)(*arguments)
    return caught[0], caught[1]


def as_set(graph: Any) -> tuple[GraphSet, list[Any]]:
    """Operators and which operand each reads."""
    nodes = [node for node in graph.nodes if node.op in OPERATORS]
    place = {node: i for i, node in enumerate(nodes)}
    arcs: dict[tuple[int, int], list[int]] = defaultdict(list)
    for node in nodes:
        for operand, source in enumerate(node.all_input_nodes):
            if source in place:
                arcs[place[source], place[node]].append(operand)
    types = [getattr(node.target, "__name__", str(node.target)) for node in nodes]
    vocabulary = sorted(set(types))
    words = sorted({"+".join(map(str, found)) for found in arcs.values()})
    read = {source for node in graph.nodes if node.op == "output" for source in node.all_input_nodes}
    return (
        GraphSet.from_edges(
            node_counts=[len(nodes)],
            node_types=[vocabulary.index(t) for t in types],
            edge_counts=[len(arcs)],
            edges=list(arcs),
            operands=[1 + words.index("+".join(map(str, found))) for found in arcs.values()],
            operand_vocabulary=["", *words],
            outputs=[node in read for node in nodes],
            node_vocabulary=vocabulary,
        ),
        nodes,
    )


def by_tracker(graph: Any, tracker: Any) -> tuple[int, int]:
    """(operators in regions, largest region)."""
    groups = tracker.get_identical_regions(graph)
    regions = [region for group in groups if len(group) > 1 for region in group if len(region) > 1]
    covered = {node for region in regions for node in region if node.op in OPERATORS}
    return len(covered), max((sum(n.op in OPERATORS for n in r) for r in regions), default=0)


def by_names(nodes: list[Any]) -> tuple[int, int]:
    """The same for modules whose names differ in a number only, and that hold the same operators."""
    inside: dict[str, list[str]] = defaultdict(list)
    members: dict[str, list[Any]] = defaultdict(list)
    for node in nodes:
        for path, _ in (node.meta.get("nn_module_stack") or {}).values():
            inside[path].append(str(node.target))
            members[path].append(node)
    alike = Counter((re.sub(r"\d+", "#", path), tuple(found)) for path, found in inside.items())
    chosen = [
        path
        for path, found in inside.items()
        if re.search(r"\d", path) and len(found) > 1 and alike[re.sub(r"\d+", "#", path), tuple(found)] > 1
    ]
    covered = {node for path in chosen for node in members[path]}
    return len(covered), max((len(inside[path]) for path in chosen), default=0)


def main() -> None:
    where, rows = machine(), []
    grade.blocks("zoo-mini")  # what is imported when it is first needed
    for name, make in MODELS.items():
        module, arguments = make()
        graph, tracker = traced(module, arguments)
        graphs, nodes = as_set(graph)
        begin = time.perf_counter()
        tracked = by_tracker(graph, tracker)
        tracker_seconds = time.perf_counter() - begin
        named = by_names(nodes)
        begin = time.perf_counter()
        found = grade.blocks(graphs)
        seconds = time.perf_counter() - begin
        covered = len({int(node) for block in found for node in found.occurrences(block).ravel()})
        for way, (operators, largest), spent in (
            ("torch region tracker", tracked, tracker_seconds),
            ("module names", named, None),
            ("blocks", (covered, max((block.nodes for block in found), default=0)), seconds),
        ):
            rows.append(
                {
                    "model": name,
                    "operators": len(nodes),
                    "found by": way,
                    "in repeated regions": operators,
                    "share": f"{100 * operators / len(nodes):.0f} %",
                    "largest region": largest,
                    "seconds": "" if spent is None else f"{spent:.3f}",
                }
            )
    write_results(
        "blocks_regions",
        "Repeated regions: torch's region tracker, module names, blocks",
        rows,
        [
            f"The FX graphs that torch {torch.__version__} traces of tests/blocks/architectures.py; the tracker's"
            " seconds are those of get_identical_regions, without the tracing that prepares it.",
            "Operators in regions of two or more that occur at least twice. For blocks: the largest block, a repetition"
            " aside.",
        ],
        where,
    )


if __name__ == "__main__":
    main()
