"""Patterns as tensors: batches of graphs in the space that a model describes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grade.estimators.models import counters, orders
from grade.estimators.space import GraphSpace
from grade.graphs import PatternTable

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


def encode(
    space: GraphSpace, patterns: PatternTable, device: torch.device = CPU
) -> tuple[Graphs, NDArray[np.bool_]]:
    """The patterns as graphs on a device, and [n] which of them the space contains.

    A pattern with a self-loop or a cycle, where the training sample had none, is not in the space.
    """
    n, size = patterns.node_types.shape
    # Small numbers travel, and become large ones where they are used.
    matrix = torch.from_numpy(patterns.edges).to(device).long()
    loops = matrix.diagonal(dim1=1, dim2=2)
    nodes = torch.zeros(n, space.capacity, dtype=torch.int64, device=device)
    nodes[:, :size] = torch.from_numpy(patterns.node_types.astype(np.int64)).to(device)
    if space.loops:
        nodes[:, :size] = nodes[:, :size] * space.edge_types + loops
    edges = torch.zeros(n, space.capacity, space.capacity, dtype=torch.int64, device=device)
    edges[:, :size, :size] = matrix * (1 - torch.eye(size, dtype=torch.int64, device=device))
    graphs = Graphs(nodes, edges, torch.full((n,), size, device=device))
    inside = torch.ones(n, dtype=torch.bool, device=device)
    if not space.loops:
        inside &= ~loops.any(1)
    if space.acyclic:
        inside &= orders.is_acyclic(graphs.edges)
    return graphs, inside.cpu().numpy()


def pattern_keys(patterns: PatternTable, device: torch.device = CPU) -> Tensor:
    """[n] counter keys: a function of the pattern alone, so that its noise is the same in every table and
    batch.
    """
    types = torch.from_numpy(patterns.node_types.astype(np.int64)).to(device)
    edges = torch.from_numpy(patterns.edges).to(device).flatten(1)
    return counters.content_keys(torch.cat([types, edges.long()], 1))
