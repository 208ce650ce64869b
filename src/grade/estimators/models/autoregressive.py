"""AR-E: an autoregressive estimator with an exact likelihood in one network evaluation per order.

A pattern in an order of its nodes is written as a sequence,

    type of node 1, type of node 2, edge 1 -> 2 (and 2 -> 1), type of node 3, edges 1 -> 3, 2 -> 3, ...

without the edges that lead back where all patterns are acyclic and orders are topological. A causal
transformer, conditioned on the number of nodes, gives the probability of each token from those before it;
their product is the probability of the matrix, and the sum over orders that of the class
(`grade.estimators.models.orders`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from grade.estimators.models import orders
from grade.estimators.models.batches import Candidates
from grade.estimators.models.encoding import Graphs
from grade.estimators.models.network import NetworkEstimator
from grade.estimators.protocol import estimators
from grade.estimators.space import GraphSpace
from grade.estimators.training.compiling import compiled, filled_rows
from grade.estimators.training.devices import rows_that_fit
from grade.settings import EstimatorSettings, NetworkSettings
from grade.settings.parameters import setting

NODE, FORWARD, BACK = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class AutoregressiveSettings(NetworkSettings):
    """How the network learns from few samples, and how many orders it scores."""

    estimator: ClassVar[str] = "autoregressive"

    masking: float = setting("Share of the context that is hidden in training.", 0.0, least=0, most=1)
    order_draws: int = setting(
        "Orders drawn per pattern in scoring; all of them where there are no more.", 16, least=1
    )


def sequence(capacity: int, upper: bool) -> list[tuple[int, int, int]]:
    """(kind, i, j) of each token: the type of node j, the edge i -> j, or the edge j -> i.

    >>> sequence(2, upper=False)
    [(0, 0, 0), (0, 0, 1), (1, 0, 1), (2, 0, 1)]
    """
    tokens = []
    for j in range(capacity):
        tokens.append((NODE, 0, j))
        for i in range(j):
            tokens += [(FORWARD, i, j)] if upper else [(FORWARD, i, j), (BACK, i, j)]
    return tokens


class Block(nn.Module):
    """A pre-norm transformer layer with causal attention."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.feed_norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        qkv = self.qkv(self.attention_norm(x)).view(n, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each [n, heads, length, width / heads]
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + functional.dropout(
            self.out(seen.transpose(1, 2).reshape(n, length, width)), self.dropout, self.training
        )
        return x + functional.dropout(self.feed(self.feed_norm(x)), self.dropout, self.training)


class CausalTransformer(nn.Module):
    """Log-probability of ordered graphs."""

    tokens: Tensor  # [T, 3] kind, i, j
    source: Tensor  # [T] where the token's value stands in (nodes, edges) end to end
    node_index: Tensor  # places of the node tokens in the sequence
    edge_index: Tensor  # places of the edge tokens

    def __init__(self, space: GraphSpace, settings: AutoregressiveSettings) -> None:
        super().__init__()
        capacity, width = space.capacity, settings.width
        tokens = sequence(capacity, space.upper(settings.orders))
        source = [
            j if kind == NODE else capacity + (i * capacity + j if kind == FORWARD else j * capacity + i)
            for kind, i, j in tokens
        ]
        self.register_buffer("tokens", torch.tensor(tokens), persistent=False)
        self.register_buffer("source", torch.tensor(source), persistent=False)
        kinds = torch.tensor(tokens)[:, 0]
        self.register_buffer("node_index", (kinds == NODE).nonzero()[:, 0], persistent=False)
        self.register_buffer("edge_index", (kinds != NODE).nonzero()[:, 0], persistent=False)
        self.node_states, self.edge_types = space.node_states, space.edge_types
        self.dropout, self.masking = settings.dropout, settings.masking
        self.previous = nn.Embedding(space.node_states + space.edge_types + 1, width)  # the last one starts
        self.types = nn.Embedding(2 * (space.node_states + 1), width)  # types of i and of j, or not known yet
        self.places = nn.Embedding(3 + 2 * capacity, width)  # kind, i, j
        self.size = nn.Embedding(capacity + 1, width)
        self.blocks = nn.ModuleList(
            Block(width, settings.heads, settings.dropout) for _ in range(settings.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.node_head = nn.Linear(width, space.node_states)
        self.edge_head = nn.Linear(width, space.edge_types)
        self.apply(initialise)

    def forward(self, graphs: Graphs) -> Tensor:
        """[n] log-probability of each matrix given its size."""
        kind, i, j = self.tokens.T
        is_node, capacity = kind == NODE, graphs.capacity
        values = torch.cat([graphs.nodes, graphs.edges.flatten(1)], 1)[:, self.source]  # [n, T]

        unknown, start = self.node_states, self.node_states + self.edge_types
        ids = torch.where(is_node, values, self.node_states + values)
        previous = torch.cat([torch.full_like(ids[:, :1], start), ids[:, :-1]], 1)
        # An edge depends on the types of its two ends above all; both stand earlier in the sequence.
        nodes = graphs.nodes
        if self.training and self.masking > 0:
            nodes = hide(nodes, self.masking, unknown)
            previous = hide(previous, self.masking, start)
        type_i = torch.where(is_node, unknown, nodes[:, i])
        type_j = torch.where(is_node, unknown, nodes[:, j]) + unknown + 1
        places = self.places(torch.stack([kind, 3 + i, 3 + capacity + j])).sum(0)  # [T, width]
        x = self.previous(previous) + self.types(type_i) + self.types(type_j)
        x = functional.dropout(x + places + self.size(graphs.sizes)[:, None], self.dropout, self.training)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)

        present = j < graphs.sizes[:, None]  # [n, T]
        total = torch.zeros(len(graphs), device=x.device)
        for head, index in ((self.node_head, self.node_index), (self.edge_head, self.edge_index)):
            logits = head(x[:, index]).float()
            chosen = logits.gather(2, values[:, index, None])[:, :, 0] - logits.logsumexp(2)
            total = total + (chosen * present[:, index]).sum(1)
        return total


def hide(ids: Tensor, share: float, stand_in: int) -> Tensor:
    """A share of the ids replaced, so that the network learns what to expect when it knows less."""
    return torch.where(torch.rand(ids.shape, device=ids.device) < share, stand_in, ids)


def chunks(rows: NDArray[np.int64], limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of candidates that have at most ``limit`` rows together, or are a single candidate.

    >>> list(chunks(np.array([2, 2, 3, 9, 1]), 5))
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    ends, begin = np.cumsum(rows), 0
    while begin < len(rows):
        done = ends[begin] - rows[begin]
        end = max(begin + 1, int(np.searchsorted(ends, done + limit, "right")))
        yield begin, end
        begin = end


def initialise(module: nn.Module) -> None:
    """Small normal weights: at the start all tokens are nearly equally likely."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


@estimators.register("autoregressive")
class Autoregressive(NetworkEstimator[AutoregressiveSettings]):
    """The estimator around the causal transformer."""

    settings_type: ClassVar[type[EstimatorSettings]] = AutoregressiveSettings

    def build(self) -> nn.Module:
        return CausalTransformer(self.space, self.settings)

    def loss(self, network: nn.Module, graphs: Graphs, *noise: Tensor) -> Tensor:
        """Mean over the batch of -log p(matrix) in the order drawn."""
        result: Tensor = -network(graphs).mean()
        return result

    def validation_settings(self) -> AutoregressiveSettings:
        return replace(self.settings, order_draws=min(self.settings.order_draws, 4))

    @torch.no_grad()
    def log_likelihood(
        self, network: nn.Module, candidates: Candidates, settings: AutoregressiveSettings
    ) -> Tensor:
        """log of the sum over orders of p(matrix): all orders where they are few, ``order_draws``
        otherwise.
        """
        limit, fast = self.rows_at_once(), settings.compile and self.device.type == "cuda"
        forward = compiled(network) if fast else network
        rows_of = candidates.order_counts.clamp(max=settings.order_draws)  # [n]
        # A compiled network wants batches of few shapes: they are filled up with the last row.
        shape = filled_rows(int(rows_of.sum()), limit) if fast else 0
        result = []
        for begin, end in chunks(rows_of.cpu().numpy(), limit):
            chunk = candidates.take(torch.arange(begin, end, device=self.device))
            keys = (
                torch.full((1,), settings.seed, device=self.device) if settings.shared_noise else chunk.keys
            )
            rows = orders.orbit_rows(chunk.before, chunk.order_counts, settings.order_draws, keys)
            number = len(rows.pattern)
            place = torch.arange(max(number, shape), device=self.device).clamp(max=number - 1)
            graphs = chunk.graphs.take(rows.pattern[place]).reorder(rows.order[place])
            with torch.autocast(self.device.type, torch.bfloat16, enabled=settings.bfloat16):
                values = forward(graphs)[:number].double()
            self.evaluations += number
            if not settings.orbit:  # the plain probability of a matrix, averaged over the orders
                number_of = torch.bincount(rows.pattern, minlength=len(chunk))
                values = values - rows.log_weight - number_of[rows.pattern].log()
            result.append(orders.segment_logsumexp(values + rows.log_weight, rows.pattern, len(chunk)))
        return torch.cat(result)

    def rows_at_once(self) -> int:
        # A few tensors of [T, 4 width] live at a time.
        tokens = len(sequence(self.space.capacity, self.space.upper(self.settings.orders)))
        return rows_that_fit(self.device, 24 * tokens * self.settings.width, self.settings.memory)
