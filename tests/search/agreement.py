"""Whether `mine` returns the patterns that it must, by the miner in plain Python."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grade import mine
from grade.errors import InputError
from grade.graphs import GraphSet, Pattern
from grade.verify import list_occurrences
from tests.native.test_census import random_set
from tests.reference import nauty_key
from tests.search.brute_force import Found, Plain, network_like, packed, which, with_outputs

Holds = Callable[[Found], bool]
RANKINGS = ("occurrences", "graphs", "disjoint", "coverage", "mni")


def inner(pattern: Found) -> np.ndarray:
    """[k, k] whether there is an edge, self-loops aside."""
    return (pattern.edges > 0) & ~np.eye(len(pattern.edges), dtype=bool)


def is_acyclic(pattern: Found) -> bool:
    left = set(range(len(pattern.edges)))
    while left:
        free = [j for j in left if not any(pattern.edges[i, j] for i in left)]
        if not free:
            return False
        left -= set(free)
    return True


CONSTRAINTS: list[tuple[dict[str, Any], Holds]] = [
    ({}, lambda p: True),
    ({"contains": ["type-1"]}, lambda p: 1 in p.code[0]),
    ({"only": ["type-[1-9]"]}, lambda p: 0 not in p.code[0]),
    ({"never": ["type-0"]}, lambda p: 0 not in p.code[0]),
    ({"max_in_degree": 1}, lambda p: inner(p).sum(axis=0).max() <= 1),
    ({"max_out_degree": 1}, lambda p: inner(p).sum(axis=1).max() <= 1),
    ({"min_edges": 4}, lambda p: inner(p).sum() >= 4),
    ({"max_edges": 5}, lambda p: inner(p).sum() <= 5),
    ({"acyclic": True}, is_acyclic),
    ({"single_source": True}, lambda p: (inner(p).sum(axis=0) == 0).sum() == 1),
    ({"single_sink": True}, lambda p: (inner(p).sum(axis=1) == 0).sum() == 1),
    ({"min_graphs": 2}, lambda p: len(p.graphs) >= 2),
    ({"min_graphs": 3, "max_in_degree": 2}, lambda p: len(p.graphs) >= 3 and inner(p).sum(axis=0).max() <= 2),
    ({"min_mni": 2}, lambda p: p.mni >= 2),
    ({"fusible": True}, lambda p: True),
    ({"fusible": True, "min_graphs": 2}, lambda p: len(p.graphs) >= 2),
    ({"fusible": True, "contains": ["type-1"]}, lambda p: 1 in p.code[0]),
]


@dataclass
class Case:
    """One set with all its patterns, so that many settings can be tried on it."""

    graphs: GraphSet
    k: int
    patterns: dict[bool, list[Found]]  # by whether only fusible occurrences count
    by_key: dict[bool, dict[Any, Found]]
    disjoint: dict[bool, dict[Any, int]]

    @classmethod
    def of(cls, graphs: GraphSet, k: int) -> "Case":
        patterns: dict[bool, list[Found]] = {}
        by_key: dict[bool, dict[Any, Found]] = {}
        disjoint: dict[bool, dict[Any, int]] = {}
        for fusible in (False, True):
            found = Plain(graphs).patterns(k, fusible)
            patterns[fusible], by_key[fusible], disjoint[fusible] = found, {}, {}
            for pattern in found:
                key = nauty_key(np.array(pattern.code[0]), pattern.edges)
                listed = list_occurrences(
                    graphs, Pattern.of(pattern.code[0], pattern.edges), fusible=fusible
                ).tolist()
                assert sorted(map(tuple, listed)) == pattern.occurrences
                by_key[fusible][key] = pattern
                disjoint[fusible][key] = packed(listed)
        return cls(graphs, k, patterns, by_key, disjoint)

    def support(self, name: str, pattern: Found, fusible: bool) -> float:
        if name == "disjoint":
            return self.disjoint[fusible][nauty_key(np.array(pattern.code[0]), pattern.edges)]
        if name == "graphs":
            return len(pattern.graphs)
        return float({"occurrences": pattern.count, "coverage": pattern.coverage, "mni": pattern.mni}[name])

    def difference(self, rank_by: str, wishes: dict[str, Any], holds: Holds, top: int) -> str | None:
        """What `mine` returns wrongly; None where all is right."""
        fusible = bool(wishes.get("fusible"))
        expected = which(
            self.patterns[fusible], lambda pattern: self.support(rank_by, pattern, fusible), holds
        )
        try:
            found = mine(
                self.graphs, k=self.k, rank_by=rank_by, top=top, all=True, beam=5000, threads=1, **wishes
            )
        except InputError as error:
            return None if not expected else f"refused with {len(expected)} expected: {error}"
        got = []
        for motif, pattern in zip(found.motifs, found.patterns, strict=True):
            truth = self.by_key[fusible][nauty_key(np.array(pattern.node_types), np.array(pattern.edges))]
            if not holds(truth):
                return f"{pattern} breaks a constraint"
            got.append((self.support(rank_by, truth, fusible), truth.count))
            supports = getattr(motif, "support", motif)
            for name in RANKINGS:
                value, right = getattr(supports, name), self.support(name, truth, fusible)
                if value != right:
                    return f"{name} of {pattern} is {right}, not {value}"
        return None if got == expected[:top] else f"{got} instead of {expected[:top]}"


def random_case(seed: int, k: int) -> Case:
    """Small sets with cycles, self-loops, several edge types and graph outputs."""
    rng = np.random.default_rng([seed, k])
    kinds = int(rng.choice([1, 1, 2]))
    if seed % 2:
        graphs = network_like(rng, 12, 12, 2, kinds)
    else:
        graphs = random_set(rng, 4, {3: 10, 4: 9, 5: 8, 6: 8}[k], 2, kinds, 1.2)
    return Case.of(with_outputs(graphs, rng.random(graphs.nodes) < 0.15) if seed % 3 == 0 else graphs, k)
