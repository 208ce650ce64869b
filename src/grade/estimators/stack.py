"""Networks of one shape trained side by side: each kernel that is launched serves all of them.

Small networks leave a GPU idle between the launches of their kernels, so that several trained at once take little
longer than one, as long as their batches are small too. Their weights are the rows of one matrix, and a step is
mapped over the rows (`torch.vmap`); members share nothing, neither batches nor noise nor the norm that gradients are
clipped by. Every parameter begins at a multiple of 128 bytes, as if it had been allocated by itself: kernels that read
several numbers at a time take no other addresses. Between parameters there are zeros, which stay zero.
"""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from grade.estimators.encoding import Graphs

Loss = Callable[..., Tensor]
"""(network, ordered graphs, noise ...) -> their loss, a scalar."""

ALIGNED = 32  # floats


class Stack(nn.Module):
    """Members that ``build`` makes, each from a seed of its own."""

    def __init__(self, build: Callable[[], nn.Module], seeds: Sequence[int], device: torch.device) -> None:
        super().__init__()
        rows = []
        for seed in seeds:
            torch.manual_seed(seed)
            network = build().to(device)
            rows.append(row_of(network))
        # In a list, so that torch does not count the template's own weights among the parameters.
        self.template = [network]
        self.shapes = {name: parameter.shape for name, parameter in network.named_parameters()}
        self.weights = nn.Parameter(torch.stack(rows))  # [members, weights]

    def __len__(self) -> int:
        return len(self.weights)

    def loss(self, loss: Loss, graphs: Graphs, *noise: Tensor) -> Tensor:
        """Sum of the members' losses; the graphs, and tensors of noise, [members * batch] are theirs in turn."""
        template = self.template[0].train(self.training)

        def member_loss(
            weights: Tensor, nodes: Tensor, edges: Tensor, sizes: Tensor, *noise: Tensor
        ) -> Tensor:
            named = self.parameters_in(weights)
            own = Graphs(nodes, edges, sizes)
            return loss(lambda *given: functional_call(template, named, given), own, *noise)

        given = (graphs.nodes, graphs.edges, graphs.sizes, *noise)
        batches = (t.view(len(self), -1, *t.shape[1:]) for t in given)
        # The fused attention kernels refuse the strides that a map gives them.
        with sdpa_kernel(SDPBackend.MATH):
            losses: Tensor = torch.vmap(member_loss, randomness="different")(self.weights, *batches)
        return losses.sum()

    def parameters_in(self, row: Tensor) -> dict[str, Tensor]:
        """A member's parameters, as views of its row [weights]."""
        places = torch.split(row, [padded(shape.numel()) for shape in self.shapes.values()])
        return {
            name: place[: shape.numel()].view(shape)
            for (name, shape), place in zip(self.shapes.items(), places, strict=True)
        }

    def clip(self, limit: float) -> None:
        """Scale down each member's gradient whose norm is above the limit."""
        gradient = self.weights.grad
        assert gradient is not None
        gradient.mul_((limit / (gradient.norm(dim=1, keepdim=True) + 1e-6)).clamp(max=1.0))

    def members(self) -> list[nn.Module]:
        """The networks on their own, with weights of their own."""
        return [self.member(i) for i in range(len(self))]

    def member(self, index: int) -> nn.Module:
        """One of them."""
        network = copy.deepcopy(self.template[0]).eval()
        named = self.parameters_in(self.weights.detach()[index])
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                parameter.copy_(named[name])
        return network


def row_of(network: nn.Module) -> Tensor:
    """[weights] all parameters of a network, each followed by zeros up to where the next may begin."""
    flat = [parameter.detach().flatten() for parameter in network.parameters()]
    return torch.cat([functional.pad(part, (0, padded(len(part)) - len(part))) for part in flat])


def padded(numbers: int) -> int:
    """
    >>> padded(1), padded(64)
    (32, 64)
    """
    return -(-numbers // ALIGNED) * ALIGNED


def stacked(loss: Loss) -> Loss:
    """The loss of a stack of networks, from that of one."""

    def of_stack(stack: Stack, graphs: Graphs, *noise: Tensor) -> Tensor:
        return stack.loss(loss, graphs, *noise)

    return of_stack
