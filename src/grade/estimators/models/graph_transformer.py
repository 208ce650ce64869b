"""The graph transformer of DiGress, for directed graphs: the network of the diffusion models and of
GraphVAE's encoder.

Three streams, nodes X [n, K, dx], edges E [n, K, K, de] and a global vector y [n, dy], are updated together
in each layer (Vignac et al. 2023, "DiGress", appendix B). Unlike the public code, which is written for undirected
graphs, nothing is symmetrised, the input of an edge slot is the pair (e_ij, e_ji), and the places of the nodes in
their order are added after the input layer (the paper's appendix "Model Architecture").
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from grade.estimators.space import GraphSpace
from grade.settings import NetworkSettings
from grade.settings.parameters import setting


@dataclass(frozen=True, kw_only=True)
class GraphTransformerSettings(NetworkSettings):
    """The settings of all estimators with this network; they average over random draws."""

    edge_width: int = setting("Width of the edge and global streams.", 64, least=1)
    rounds: int = setting("Noise paths (GraphVAE: latent vectors) averaged per pattern.", 20, least=1)


class Layer(nn.Module):
    """One update of the three streams: attention per channel, gated by the edges, and feed-forward parts."""

    def __init__(self, dx: int, de: int, dy: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.scale, self.dropout = (dx // heads) ** -0.5, dropout
        self.qkv = nn.Linear(dx, 3 * dx)
        self.edge_gate = nn.Linear(de, 2 * dx)  # E1, E2
        self.global_gates = nn.Linear(dy, 4 * dx)  # FiLM of the edges and of the nodes
        self.edge_out, self.node_out = nn.Linear(dx, de), nn.Linear(dx, dx)
        self.global_self, self.global_nodes, self.global_edges = (
            nn.Linear(dy, dy),
            nn.Linear(4 * dx, dy),
            nn.Linear(4 * de, dy),
        )
        self.global_out = nn.Sequential(nn.Linear(dy, dy), nn.ReLU(), nn.Linear(dy, dy))
        self.node_norms = nn.ModuleList([nn.LayerNorm(dx), nn.LayerNorm(dx)])
        self.edge_norms = nn.ModuleList([nn.LayerNorm(de), nn.LayerNorm(de)])
        self.global_norms = nn.ModuleList([nn.LayerNorm(dy), nn.LayerNorm(dy)])
        self.node_feed = nn.Sequential(nn.Linear(dx, dx), nn.ReLU(), nn.Linear(dx, dx))
        self.edge_feed = nn.Sequential(nn.Linear(de, 2 * de), nn.ReLU(), nn.Linear(2 * de, de))
        self.global_feed = nn.Sequential(nn.Linear(dy, 2 * dy), nn.ReLU(), nn.Linear(2 * dy, dy))

    def forward(
        self, X: Tensor, E: Tensor, y: Tensor, node: Tensor, pair: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """``node`` [n, K, 1] and ``pair`` [n, K, K, 1] are True where there is a node, or a pair of nodes."""
        q, k, v = self.qkv(X).chunk(3, -1)
        multiply, add = self.edge_gate(E).chunk(2, -1)
        Y = q[:, :, None] * k[:, None] * self.scale  # [n, K, K, dx]: the channels of all heads side by side
        Y = Y * (1 + multiply) + add
        edge_add, edge_gate, node_add, node_gate = self.global_gates(y).chunk(4, -1)

        new_E = self.edge_out(edge_add[:, None, None] + (1 + edge_gate[:, None, None]) * Y)
        attention = Y.masked_fill(~pair, -1e4).softmax(2)
        seen = (attention * v[:, None]).sum(2)  # [n, K, dx]
        new_X = self.node_out(node_add[:, None] + (1 + node_gate[:, None]) * seen)
        new_y = (
            self.global_self(y)
            + self.global_nodes(pool(X, node, (1,)))
            + self.global_edges(pool(E, pair, (1, 2)))
        )

        X = self.residual(X, new_X, self.node_norms[0])
        E = self.residual(E, new_E, self.edge_norms[0])
        y = self.residual(y, self.global_out(new_y), self.global_norms[0])
        X = self.residual(X, self.node_feed(X), self.node_norms[1])
        E = self.residual(E, self.edge_feed(E), self.edge_norms[1])
        y = self.residual(y, self.global_feed(y), self.global_norms[1])
        return X, E, y

    def residual(self, x: Tensor, new: Tensor, norm: nn.Module) -> Tensor:
        result: Tensor = norm(x + functional.dropout(new, self.dropout, self.training))
        return result


def pool(x: Tensor, mask: Tensor, over: tuple[int, ...]) -> Tensor:
    """[n, 4 d] mean, minimum, maximum and standard deviation over the places where the mask is True."""
    count = mask.sum(over).clamp(min=1)
    mean = (x * mask).sum(over) / count
    shape = [len(x), *(1 for _ in over), x.shape[-1]]
    deviation = (((x - mean.view(shape)).square() * mask).sum(over) / count + 1e-5).sqrt()
    low, high = x.masked_fill(~mask, 1e4).amin(over), x.masked_fill(~mask, -1e4).amax(over)
    return torch.cat([mean, low, high, deviation], -1)


class GraphTransformer(nn.Module):
    """Logits of the clean node and edge types of a noisy graph, and the global vector."""

    def __init__(
        self,
        *,
        node_states: int,
        edge_types: int,
        capacity: int,
        layers: int,
        width: int,
        edge_width: int,
        heads: int,
        dropout: float,
    ) -> None:
        super().__init__()
        dx, de, dy = width, edge_width, edge_width
        self.node_states, self.edge_types = node_states, edge_types
        # A linear map of a one-hot vector is a row of a table.
        self.node_in = nn.Sequential(nn.Embedding(node_states, dx), nn.ReLU(), nn.Linear(dx, dx), nn.ReLU())
        self.edge_in = nn.Embedding(2 * edge_types, 2 * de)
        self.edge_in_out = nn.Sequential(nn.ReLU(), nn.Linear(2 * de, de), nn.ReLU())
        self.size_in = nn.Embedding(capacity + 1, 2 * dy)
        self.time_in = nn.Linear(1, 2 * dy)
        self.global_in_out = nn.Sequential(nn.ReLU(), nn.Linear(2 * dy, dy), nn.ReLU())
        self.places = nn.Parameter(sinusoids(capacity, dx))
        self.layers = nn.ModuleList(Layer(dx, de, dy, heads, dropout) for _ in range(layers))
        self.node_head = nn.Sequential(nn.Linear(dx, dx), nn.ReLU(), nn.Linear(dx, node_states))
        self.edge_head = nn.Sequential(nn.Linear(de, de), nn.ReLU(), nn.Linear(de, edge_types))

    @classmethod
    def of(cls, space: GraphSpace, settings: GraphTransformerSettings) -> "GraphTransformer":
        """A network with random weights for the graphs of a space."""
        return cls(
            node_states=space.node_states,
            edge_types=space.edge_types,
            capacity=space.capacity,
            layers=settings.layers,
            width=settings.width,
            edge_width=settings.edge_width,
            heads=settings.heads,
            dropout=settings.dropout,
        )

    def forward(
        self, nodes: Tensor, edges: Tensor, sizes: Tensor, time: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Nodes [n, K], edges [n, K, K], sizes [n], time [n] -> node logits [n, K, a], edge logits [n, K,
        K, b], y.
        """
        mask = torch.arange(nodes.shape[1], device=nodes.device) < sizes[:, None]
        node, pair = mask[:, :, None], (mask[:, :, None] & mask[:, None])[..., None]
        X = self.node_in(nodes) + self.places
        E = self.edge_in_out(self.edge_in(edges) + self.edge_in(edges.transpose(1, 2) + self.edge_types))
        y = self.global_in_out(self.size_in(sizes) + self.time_in(time[:, None].to(self.places.dtype)))
        for layer in self.layers:
            X, E, y = layer(X, E, y, node, pair)
        node_logits = self.node_head(X).float() + functional.one_hot(nodes, self.node_states)
        edge_logits = self.edge_head(E).float() + functional.one_hot(edges, self.edge_types)
        return node_logits, edge_logits, y

    @staticmethod
    def operations(nodes: int, *, layers: int, width: int, edge_width: int) -> int:
        """Multiplications and additions of the matrix products for one graph, in one forward pass."""
        dx, de, dy, k = width, edge_width, edge_width, nodes
        node = 3 * dx * dx + dx * dx + 2 * dx * dx
        edge = 2 * de * dx + dx * de + 4 * de * de
        world = 4 * dx * dy + dy * dy + 4 * dx * dy + 4 * de * dy + 2 * dy * dy + 4 * dy * dy
        ends = k * 2 * dx * dx + k * k * 3 * de * de
        return 2 * (layers * (k * node + k * k * edge + world) + ends)


def sinusoids(capacity: int, width: int) -> Tensor:
    """[capacity, width] the usual encoding of places, as the start of a learned one."""
    angle = torch.arange(capacity)[:, None] / 100.0 ** (torch.arange(0, width, 2) / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :width]
