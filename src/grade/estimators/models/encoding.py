"""Patterns as tensors: the space of graphs that a model describes, and batches of graphs in it."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import gammaln
from torch import Tensor

from grade.errors import InputError
from grade.estimators.models import counters, orders
from grade.graphs import PatternTable, SubgraphSample

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Graphs:
    """A batch of typed digraphs, padded to a common capacity K; all tensors on one device."""

    nodes: Tensor  # [n, K] node states, 0 in the padding
    edges: Tensor  # [n, K, K] edge types, 0 = no edge; the diagonal is 0
    sizes: Tensor  # [n] number of nodes

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def capacity(self) -> int:
        return self.nodes.shape[1]

    @property
    def node_mask(self) -> Tensor:
        """[n, K] True at nodes, False in the padding."""
        return torch.arange(self.capacity, device=self.sizes.device) < self.sizes[:, None]

    def slot_mask(self, upper: bool) -> Tensor:
        """[n, K, K] True where an edge can be: off the diagonal, or above it when orders are topological."""
        node = self.node_mask
        slots = torch.ones(self.capacity, self.capacity, dtype=torch.bool, device=node.device)
        slots = (
            slots.triu(1)
            if upper
            else slots & ~torch.eye(self.capacity, dtype=torch.bool, device=node.device)
        )
        return node[:, :, None] & node[:, None, :] & slots

    @staticmethod
    def join(parts: "Sequence[Graphs]") -> "Graphs":
        """The graphs of several batches end to end."""
        return Graphs(
            *(torch.cat([getattr(part, name) for part in parts]) for name in ("nodes", "edges", "sizes"))
        )

    def take(self, index: Tensor) -> "Graphs":
        return Graphs(self.nodes[index], self.edges[index], self.sizes[index])

    def reorder(self, order: Tensor) -> "Graphs":
        """With the node ``order[:, p]`` at place p."""
        nodes, edges = orders.reorder(self.nodes, self.edges, order)
        return Graphs(nodes, edges, self.sizes)

    def to(self, device: torch.device) -> "Graphs":
        return Graphs(self.nodes.to(device), self.edges.to(device), self.sizes.to(device))


@dataclass(frozen=True)
class GraphSpace:
    """What a model can describe, read off its training sample.

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
        off = [table.edges * (1 - np.eye(table.size, dtype=np.uint8)) for table in tables]
        return cls(
            sizes=tuple(sizes),
            node_types=len(nodes) or 1 + max(int(table.node_types.max()) for table in tables),
            edge_types=max(2, len(edges) or 1 + max(int(table.edges.max()) for table in tables)),
            loops=any(bool(table.edges.diagonal(axis1=1, axis2=2).any()) for table in tables),
            acyclic=all(bool(orders.is_acyclic(torch.from_numpy(edges)).all()) for edges in off),
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

    def encode(self, patterns: PatternTable, device: torch.device = CPU) -> tuple[Graphs, NDArray[np.bool_]]:
        """The patterns as graphs on a device, and [n] which of them the space contains.

        A pattern with a self-loop or a cycle, where the training sample had none, is not in the space.
        """
        n, size = patterns.node_types.shape
        # Small numbers travel, and become large ones where they are used.
        matrix = torch.from_numpy(patterns.edges).to(device).long()
        loops = matrix.diagonal(dim1=1, dim2=2)
        nodes = torch.zeros(n, self.capacity, dtype=torch.int64, device=device)
        nodes[:, :size] = torch.from_numpy(patterns.node_types.astype(np.int64)).to(device)
        if self.loops:
            nodes[:, :size] = nodes[:, :size] * self.edge_types + loops
        edges = torch.zeros(n, self.capacity, self.capacity, dtype=torch.int64, device=device)
        edges[:, :size, :size] = matrix * (1 - torch.eye(size, dtype=torch.int64, device=device))
        graphs = Graphs(nodes, edges, torch.full((n,), size, device=device))
        inside = torch.ones(n, dtype=torch.bool, device=device)
        if not self.loops:
            inside &= ~loops.any(1)
        if self.acyclic:
            inside &= orders.is_acyclic(graphs.edges)
        return graphs, inside.cpu().numpy()

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


def pattern_keys(patterns: PatternTable, device: torch.device = CPU) -> Tensor:
    """[n] counter keys: a function of the pattern alone, so that its noise is the same in every table and
    batch.
    """
    types = torch.from_numpy(patterns.node_types.astype(np.int64)).to(device)
    edges = torch.from_numpy(patterns.edges).to(device).flatten(1)
    return counters.content_keys(torch.cat([types, edges.long()], 1))
