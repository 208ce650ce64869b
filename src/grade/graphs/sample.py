"""SubgraphSample: occurrences that a sampler drew, what patterns they are, and how they were drawn."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade.graphs.patterns import PatternTable


@dataclass(frozen=True, eq=False)
class SubgraphSample:
    """A multiset of occurrences: the same node set drawn twice counts twice, as in the paper's training sets.

    ``weights`` are inverse inclusion probabilities up to a common factor; all 1 for a uniform sample.
    """

    occurrences: NDArray[np.uint32]  # [n, k] ascending global node ids
    weights: NDArray[np.float64]  # [n]
    pattern_ids: NDArray[np.int32]  # [n] rows of `patterns`
    patterns: PatternTable  # the distinct patterns of the occurrences
    drawn: dict[str, Any] = field(default_factory=dict)  # method, seed, count, density, seconds, ...

    @property
    def size(self) -> int:
        """Number of nodes of every occurrence, the paper's k."""
        return self.patterns.size

    def __len__(self) -> int:
        return len(self.occurrences)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """[patterns] how often each pattern was drawn."""
        return np.bincount(self.pattern_ids, minlength=len(self.patterns)).astype(np.int64)

    @cached_property
    def weighted_counts(self) -> NDArray[np.float64]:
        """[patterns] sum of the weights of each pattern's occurrences."""
        return np.bincount(self.pattern_ids, self.weights, minlength=len(self.patterns))

    def __repr__(self) -> str:
        how = json.dumps(self.drawn.get("method", "?"))
        return f"SubgraphSample({len(self):,} occurrences of {len(self.patterns):,} patterns, k={self.size}, by {how})"
