"""GraphVAE (Simonovsky and Komodakis 2018): the paper's variational baseline.

The graph transformer encodes a pattern as the mean and variance of a normal distribution over a latent
vector; a multi-layer perceptron decodes a latent vector to the types of all nodes and edges, independent of
each other. The score is the evidence lower bound, log p(G | z) - KL(q(z | G) || N(0, I)), averaged over
latent draws (the paper's appendix "Baselines").
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from grade.estimators.models.batches import Candidates
from grade.estimators.models.encoding import Graphs
from grade.estimators.models.graph_transformer import GraphTransformer, GraphTransformerSettings
from grade.estimators.models.likelihood import Uniforms, mean_over_rounds
from grade.estimators.models.network import BELOW_BOUNDS, NetworkEstimator
from grade.estimators.protocol import estimators
from grade.estimators.space import GraphSpace
from grade.estimators.training.devices import rows_that_fit
from grade.settings import EstimatorSettings
from grade.settings.parameters import setting


@dataclass(frozen=True, kw_only=True)
class GraphVAESettings(GraphTransformerSettings):
    """The latent space, besides the settings of the graph transformer."""

    estimator: ClassVar[str] = "graphvae"

    latent: int = setting("Size of the latent vector.", 32, least=1)


class Autoencoder(nn.Module):
    """Encoder and decoder."""

    def __init__(self, space: GraphSpace, settings: GraphVAESettings) -> None:
        super().__init__()
        self.latent, self.upper = settings.latent, space.upper(settings.orders)
        self.node_shape = (space.capacity, space.node_states)
        self.edge_shape = (space.capacity, space.capacity, space.edge_types)
        self.encoder = GraphTransformer.of(space, settings)
        self.moments = nn.Linear(settings.edge_width, 2 * settings.latent)
        self.size = nn.Embedding(space.capacity + 1, settings.latent)
        hidden, outputs = 4 * settings.width, math.prod(self.node_shape) + math.prod(self.edge_shape)
        self.decoder = nn.Sequential(
            nn.Linear(settings.latent, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, outputs),
        )

    def forward(self, graphs: Graphs, normal: Tensor) -> Tensor:
        """[n] evidence lower bound with the latent vectors mean + deviation * ``normal`` [n, latent]."""
        _, _, y = self.encoder(graphs.nodes, graphs.edges, graphs.sizes, torch.zeros_like(graphs.sizes))
        mean, log_variance = self.moments(y).float().chunk(2, -1)
        log_variance = log_variance.clamp(-10, 10)
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1)
        z = mean + (0.5 * log_variance).exp() * normal
        logits = self.decoder(z + self.size(graphs.sizes)).float()
        split = math.prod(self.node_shape)
        node_logits = logits[:, :split].view(-1, *self.node_shape).log_softmax(-1)
        edge_logits = logits[:, split:].view(-1, *self.edge_shape).log_softmax(-1)
        nodes = node_logits.gather(-1, graphs.nodes[..., None])[..., 0] * graphs.node_mask
        edges = edge_logits.gather(-1, graphs.edges[..., None])[..., 0] * graphs.slot_mask(self.upper)
        bound: Tensor = nodes.sum(1) + edges.flatten(1).sum(1) - divergence
        return bound


@estimators.register("graphvae")
class GraphVAE(NetworkEstimator[GraphVAESettings]):
    """The estimator around the autoencoder."""

    settings_type: ClassVar[type[EstimatorSettings]] = GraphVAESettings

    floor = BELOW_BOUNDS

    def build(self) -> nn.Module:
        return Autoencoder(self.space, self.settings)

    def loss(self, network: nn.Module, graphs: Graphs, *noise: Tensor) -> Tensor:
        """Mean of the negative bound with one latent draw each."""
        normal = torch.randn(len(graphs), self.settings.latent, device=graphs.nodes.device)
        result: Tensor = -network(graphs, normal).mean()
        return result

    def validation_settings(self) -> GraphVAESettings:
        return replace(self.settings, rounds=4)

    @torch.no_grad()
    def log_likelihood(
        self, network: nn.Module, candidates: Candidates, settings: GraphVAESettings
    ) -> Tensor:
        def bound(graphs: Graphs, uniforms: Uniforms) -> Tensor:
            self.evaluations += len(graphs)
            # The inverse of the normal distribution function makes normal numbers of uniform ones.
            normal = math.sqrt(2) * torch.erfinv(2 * uniforms(0, settings.latent).clamp(min=1e-12) - 1)
            result: Tensor = network(graphs, normal.float()).double()
            return result

        return mean_over_rounds(bound, candidates, settings, self.rows_at_once())

    def rows_at_once(self) -> int:
        return rows_that_fit(
            self.device, 12 * self.space.capacity**2 * self.settings.width, self.settings.memory
        )
