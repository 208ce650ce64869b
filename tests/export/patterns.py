"""Patterns to export: real ones of many kinds, and those that are hard to give shapes to."""

from itertools import pairwise
from pathlib import Path

from grade.graphs import Pattern
from grade.mine import mine
from grade.sampling.census import take_census
from grade.sources import load


def chains(*paths: str, names: tuple[str, ...] = ()) -> Pattern:
    """A pattern from chains of nodes ``type`` or ``type#number``: the same word is the same node."""
    nodes = list(dict.fromkeys(word for path in paths for word in path.split()))
    types = names or tuple(dict.fromkeys(node.split("#")[0] for node in nodes))
    matrix = [[0] * len(nodes) for _ in nodes]
    for path in paths:
        words = path.split()
        for a, b in pairwise(words):
            matrix[nodes.index(a)][nodes.index(b)] = 1
    return Pattern.of([types.index(node.split("#")[0]) for node in nodes], matrix, types, ("none", "edge"))


HARD = {
    "sum of concatenations": chains(
        "Conv#1 Concat#1 Add", "Conv#2 Concat#1", "Conv#3 Concat#2 Add", "Relu Concat#2"
    ),
    "concatenation added to its part": chains("Conv Concat Add", "Conv Add", "Relu Concat"),
    "nested concatenations": chains(
        "Relu#1 Concat#1 Concat#2 Conv", "Relu#1 Concat#2", "Relu#1 Concat#1", "Relu#2 Concat#1"
    ),
    "squeeze and excite": chains("Relu#1 GlobalAveragePool Conv#1 Relu#2 Conv#2 Sigmoid Mul", "Relu#1 Mul"),
    "attention": chains("Gemm#1 Transpose MatMul#1 Softmax MatMul#2", "Gemm#2 MatMul#1", "Gemm#3 MatMul#2"),
    "reduced beside whole": chains("Conv#1 ReduceMean Concat Relu", "Conv#2 Concat"),
    "norm of a point": chains("Conv ReduceMean InstanceNormalization"),
    "layer norm of the mean": chains("Add ReduceMean LayerNormalization Gemm Gelu"),
    "three terms": chains("Relu#1 Add", "Relu#2 Add", "Relu#3 Add"),
    "unknown operators": chains("Shape Gather Unsqueeze Concat Reshape", "Relu Shape"),
    "pools and resizing": chains(
        "MaxPool Conv Resize Add", "AveragePool ConvTranspose Add", "GlobalMaxPool Resize#2"
    ),
    "arithmetic": chains("Sub Div Pow Max Min Neg", "Exp Div", "Abs Min"),
}


def zoo_patterns() -> list[Pattern]:
    """Patterns of all operators of zoo-mini: the most frequent ones of four nodes, and those of every type."""
    census = take_census(load("zoo-mini"), 4, threads=1)
    chosen, seen = [], set[str]()
    for pattern, _ in census.top(len(census.patterns)):
        if len(chosen) < 40 or set(pattern.type_names) - seen:
            chosen.append(pattern)
            seen |= set(pattern.type_names)
    return chosen


def demo_patterns(folder: Path) -> list[Pattern]:
    """What the demonstration finds, in a smaller set: motifs around convolutions."""
    return mine(
        "zoo-mini",
        8,
        folder,
        top=50,
        beam=300,
        contains=["Conv*"],
        max_in_degree=2,
        max_out_degree=2,
        rank_by="graphs",
        all=True,
        threads=1,
    ).patterns
