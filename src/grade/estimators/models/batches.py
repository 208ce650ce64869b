"""Patterns encoded for scoring, and the patterns of a sample for drawing batches; all on one device."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grade.estimators.models import orders
from grade.estimators.models.encoding import Graphs


@dataclass(frozen=True)
class Candidates:
    """Patterns of one size, ready to be scored."""

    graphs: Graphs  # [n]
    before: Tensor  # [n, K, K] the order family's precedence
    order_counts: Tensor  # [n] number of orders in the family
    keys: Tensor  # [n] counter keys

    def __len__(self) -> int:
        return len(self.graphs)

    def take(self, index: Tensor) -> "Candidates":
        return Candidates(
            self.graphs.take(index), self.before[index], self.order_counts[index], self.keys[index]
        )

    @staticmethod
    def join(parts: "Sequence[Candidates]") -> "Candidates":
        return Candidates(
            Graphs.join([p.graphs for p in parts]),
            *(torch.cat([getattr(p, name) for p in parts]) for name in ("before", "order_counts", "keys")),
        )


@dataclass(frozen=True)
class TrainingData:
    """The patterns of the samples on the device, with their probabilities of being drawn into a batch."""

    candidates: Candidates
    cumulative: Tensor  # [n] cumulated probabilities

    def draw(self, batch: int) -> Graphs:
        """A batch of graphs, each in an order drawn from the family.

        One graph from each of ``batch`` equal strata of the distribution: unbiased, with less noise than independent
        draws, of a fixed shape, and for batches as large as the sample the same as a pass over it.
        """
        device = self.cumulative.device
        place = torch.arange(batch, device=device)
        strata = (place + torch.rand(batch, device=device, dtype=torch.float64)) / batch
        row = torch.searchsorted(self.cumulative, strata).clamp(max=len(self.cumulative) - 1)
        uniforms = torch.rand(batch, self.candidates.graphs.capacity, device=device, dtype=torch.float64)
        order, _ = orders.draw_orders(self.candidates.before[row], uniforms)
        return self.candidates.graphs.take(row).reorder(order)
