"""Common base of the three diffusion estimators: the network, the training loss, and the path likelihood."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from grade.errors import InputError
from grade.estimators.models.batches import Candidates, TrainingData
from grade.estimators.models.encoding import Graphs
from grade.estimators.models.graph_transformer import GraphTransformer, GraphTransformerSettings
from grade.estimators.models.likelihood import Process, mean_over_rounds, path_log_likelihood
from grade.estimators.models.network import BELOW_BOUNDS, NetworkEstimator
from grade.estimators.training.devices import rows_that_fit
from grade.settings.parameters import setting

SMOOTHING = 1e-3  # share of the uniform distribution in the marginals, so that no type has a prior of zero
KERNELS = ("bridge", "paper")


class Denoise(nn.Module):
    """The network's posteriors of the clean graph: node types [n, K, a] and edge types [n, K, K, b]."""

    def __init__(self, network: nn.Module, bfloat16: bool) -> None:
        super().__init__()
        self.network, self.autocast = network, bfloat16

    def forward(self, graphs: Graphs, t: Tensor) -> tuple[Tensor, Tensor]:
        """Noisy graphs, all of the same time t, a scalar."""
        times = t.float().expand(len(graphs))
        with torch.autocast(graphs.nodes.device.type, torch.bfloat16, enabled=self.autocast):
            node_logits, edge_logits, _ = self.network(graphs.nodes, graphs.edges, graphs.sizes, times)
        return node_logits.softmax(-1), edge_logits.softmax(-1)


@dataclass(frozen=True, kw_only=True)
class DiffusionSettings(GraphTransformerSettings):
    """The settings of all diffusion models."""

    path_steps: int = setting("Steps of a noise path.", 20, least=1)
    kernel: str = setting("Reverse transition: bridge (exact for each component) or paper.", "bridge")
    crowding: float = setting(
        "Power of a path's times: above 1, more of its steps lie near the data.", 1.0, above=0
    )
    edge_loss: float = setting("Weight of the edges in the loss.", 1.0, least=0)
    mean_loss: bool = setting("Average the loss over nodes and over edges rather than sum it.", False)


Own = TypeVar("Own", bound=DiffusionSettings)


class Diffusion(NetworkEstimator[Own]):
    """A diffusion model over graphs as an estimator; subclasses say which process."""

    floor = BELOW_BOUNDS

    @property
    @abstractmethod
    def process(self) -> Process:
        """The noise for ``self.space``, by the present settings; ``self.node_marginal`` and ``self.edge_marginal`` are
        known.
        """

    def training_times(self, uniforms: Tensor) -> Tensor:
        """Times [n] in (0, 1] to train at, from uniform numbers."""
        return uniforms.clamp(min=1e-3)

    def build(self) -> nn.Module:
        return GraphTransformer.of(self.space, self.settings)

    def prepare(self, data: TrainingData) -> None:
        """The marginal distributions of node states and of edge types over the slots."""
        if self.settings.kernel not in KERNELS:
            raise InputError(f"There is no kernel {self.settings.kernel!r}; known are {', '.join(KERNELS)}.")
        graphs = data.candidates.graphs
        shares = data.cumulative.diff(prepend=torch.zeros_like(data.cumulative[:1]))  # [n]
        upper = self.space.upper(self.settings.orders)

        def marginal(values: Tensor, places: Tensor, states: int) -> Tensor:
            """Distribution of the values over [n] numbers of places; state 0 gets the rest."""
            counts = functional.one_hot(values.flatten(1), states).sum(1)  # [n, states]
            total = shares @ counts.double()
            total[0] = shares @ places.double() - total[1:].sum()
            return ((1 - SMOOTHING) * total / total.sum() + SMOOTHING / states).float()

        slots = graphs.slot_mask(upper).flatten(1).sum(1)
        self.node_marginal = marginal(graphs.nodes, graphs.sizes, self.space.node_states)
        self.edge_marginal = marginal(graphs.edges, slots, self.space.edge_types)

    def extra(self) -> dict[str, Tensor]:
        return {"marginal.node": self.node_marginal, "marginal.edge": self.edge_marginal}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.node_marginal, self.edge_marginal = tensors["marginal.node"], tensors["marginal.edge"]

    def draw_noise(self, graphs: Graphs) -> tuple[Tensor, ...]:
        """A time for each graph, and the graph as it is then: nodes [n, K], edges [n, K, K], times [n]."""
        device, n = graphs.nodes.device, len(graphs)
        # Times spread evenly; the golden ratio keeps them independent of the order of the batch.
        times = self.training_times(
            (torch.arange(n, device=device) * 0.6180339887 + torch.rand(1, device=device)) % 1
        )
        process = self.process
        kept_nodes = torch.as_tensor(process.node.keep(times))[:, None]
        kept_edges = torch.as_tensor(process.edge.keep(times))[:, None, None]
        nodes = process.node.jump(graphs.nodes, kept_nodes, torch.rand(graphs.nodes.shape, device=device))
        edges = process.edge.jump(graphs.edges, kept_edges, torch.rand(graphs.edges.shape, device=device))
        slots = graphs.slot_mask(self.space.upper(self.settings.orders))
        return nodes * graphs.node_mask, edges * slots, times

    def loss(self, network: nn.Module, graphs: Graphs, *noise: Tensor) -> Tensor:
        """Cross-entropy of the clean graph given a noisy one: sum over nodes + lambda * sum over edge
        slots.
        """
        nodes, edges, times = noise
        node_mask, slots = graphs.node_mask, graphs.slot_mask(self.space.upper(self.settings.orders))
        node_logits, edge_logits, _ = network(nodes, edges, graphs.sizes, times)
        node_loss = functional.cross_entropy(
            node_logits.flatten(0, 1), graphs.nodes.flatten(), reduction="none"
        )
        edge_loss = functional.cross_entropy(
            edge_logits.flatten(0, 2), graphs.edges.flatten(), reduction="none"
        )
        node_sum = (node_loss * node_mask.flatten()).sum()
        edge_sum = (edge_loss * slots.flatten()).sum()
        if self.settings.mean_loss:
            return node_sum / node_mask.sum() + self.settings.edge_loss * edge_sum / slots.sum()
        return (node_sum + self.settings.edge_loss * edge_sum) / len(graphs)

    def validation_settings(self) -> Own:
        """Cheaper scoring for the held-out patterns, on even times: crowded ones rank better, but bound less."""
        return replace(self.settings, rounds=4, path_steps=10, kernel="bridge", crowding=1.0)

    @torch.no_grad()
    def log_likelihood(self, network: nn.Module, candidates: Candidates, settings: Own) -> Tensor:
        upper = self.space.upper(settings.orders)
        denoise, process = Denoise(network, settings.bfloat16), self.process
        self.evaluations += len(candidates) * settings.rounds * settings.path_steps
        return mean_over_rounds(
            lambda graphs, uniforms: path_log_likelihood(
                denoise,
                process,
                graphs,
                upper=upper,
                steps=settings.path_steps,
                kernel=settings.kernel,
                uniforms=uniforms,
                crowding=settings.crowding,
                compile=settings.compile and self.device.type == "cuda",
            ),
            candidates,
            settings,
            self.rows_at_once(),
        )

    def rows_at_once(self) -> int:
        # A dozen tensors of [K, K, width] live at a time.
        return rows_that_fit(
            self.device, 12 * self.space.capacity**2 * self.settings.width, self.settings.memory
        )
