"""The space of patterns that an estimator describes, read off its samples."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from grade.errors import InputError
from grade.graphs import PatternTable, SubgraphSample


@dataclass(frozen=True)
class GraphSpace:
    """The patterns that a model can describe, read off its training sample.

    A node's state is its type; where the sample has self-loops it is the type together with the loop's
    type, so that the diagonal of the edge matrix carries nothing.
    """

    sizes: tuple[int, ...]  # the k of the samples, ascending
    node_types: int  # a
    edge_types: int  # b, the absent edge included
    loops: bool  # whether self-loops occur
    acyclic: bool  # whether all patterns are acyclic (self-loops aside)
    node_vocabulary: tuple[str, ...] = ()
    edge_vocabulary: tuple[str, ...] = ()

    @classmethod
    def of(cls, samples: Sequence[SubgraphSample]) -> "GraphSpace":
        """The space of samples of different sizes over one vocabulary."""
        if not samples or any(len(sample) == 0 for sample in samples):
            raise InputError("The sample is empty: an estimator needs at least one occurrence of each size.")
        sizes = sorted(sample.size for sample in samples)
        if len(set(sizes)) != len(sizes):
            raise InputError(f"Two samples have the same size ({sizes}); give one sample for each size.")
        tables = [sample.patterns for sample in samples]
        vocabularies = {(table.node_vocabulary, table.edge_vocabulary) for table in tables}
        if len(vocabularies) > 1:
            raise InputError("The samples have different vocabularies; they must come from one graph set.")
        nodes, edges = vocabularies.pop()
        return cls(
            sizes=tuple(sizes),
            node_types=len(nodes) or 1 + max(int(table.node_types.max()) for table in tables),
            edge_types=max(2, len(edges) or 1 + max(int(table.edges.max()) for table in tables)),
            loops=any(bool(table.edges.diagonal(axis1=1, axis2=2).any()) for table in tables),
            acyclic=all(bool(are_acyclic(table.edges).all()) for table in tables),
            node_vocabulary=nodes,
            edge_vocabulary=edges,
        )

    @property
    def capacity(self) -> int:
        return self.sizes[-1]

    @property
    def node_states(self) -> int:
        return self.node_types * (self.edge_types if self.loops else 1)

    def upper(self, family: str) -> bool:
        """Whether edges can only lead forward in orders of this family."""
        return self.acyclic and family != "all"

    def check(self, patterns: PatternTable) -> None:
        """Refuse patterns of another size or vocabulary."""
        if patterns.size not in self.sizes:
            known = ", ".join(map(str, self.sizes))
            raise InputError(
                f"The model was fitted to patterns of {known} nodes and cannot score {patterns.size} nodes."
            )
        for kind, own, other in (
            ("node", self.node_vocabulary, patterns.node_vocabulary),
            ("edge", self.edge_vocabulary, patterns.edge_vocabulary),
        ):
            if own and other and own != other:
                raise InputError(
                    f"The patterns' {kind} vocabulary differs from the one the model was fitted to; score"
                    " patterns of the same graph set."
                )
        if len(patterns) and (
            patterns.node_types.max() >= self.node_types or patterns.edges.max() >= self.edge_types
        ):
            raise InputError(
                f"A pattern has a type outside the model's vocabulary of {self.node_types} node types and"
                f" {self.edge_types - 1} edge types."
            )

    def log_uniform(self, patterns: PatternTable) -> NDArray[np.float64]:
        """[n] log-probability of each class when all typed digraphs of k labelled nodes are equally
        likely.
        """
        k = patterns.size
        labelled = k * math.log(self.node_types) + k * k * math.log(self.edge_types)
        result: NDArray[np.float64] = gammaln(k + 1) - np.log(patterns.automorphisms) - labelled
        return result

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "GraphSpace":
        tuples = {name: tuple(values[name]) for name in ("sizes", "node_vocabulary", "edge_vocabulary")}
        return cls(**{**values, **tuples})


def are_acyclic(edges: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """[n] whether digraphs [n, k, k] have no directed cycle, self-loops aside.

    >>> are_acyclic(np.array([[[1, 1], [0, 0]], [[0, 1], [1, 0]]], np.uint8)).tolist()
    [True, False]
    """
    reach: NDArray[np.bool_] = (edges > 0) & ~np.eye(edges.shape[1], dtype=np.bool_)
    for middle in range(edges.shape[1]):
        reach = np.asarray(reach | (reach[:, :, middle, None] & reach[:, middle, None, :]))
    return np.asarray(~np.diagonal(reach, axis1=1, axis2=2).any(1))
