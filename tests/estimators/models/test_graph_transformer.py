"""The graph transformer: directed, and blind to padding."""

import pytest
import torch

from grade.estimators.models.graph_transformer import GraphTransformer, Layer


def network(capacity: int) -> GraphTransformer:
    torch.manual_seed(0)
    sizes = {"layers": 2, "width": 16, "edge_width": 8, "heads": 2, "dropout": 0.0}
    return GraphTransformer(node_states=3, edge_types=2, capacity=capacity, **sizes).eval()  # type: ignore[arg-type]  # all ints


def random_graphs(n: int, capacity: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    nodes = torch.randint(3, (n, capacity), generator=generator)
    return nodes, torch.randint(2, (n, capacity, capacity), generator=generator) * ~torch.eye(
        capacity, dtype=torch.bool
    )


def test_a_graph_and_its_transpose_give_different_logits() -> None:
    nodes, edges = random_graphs(20, 4)
    nodes = torch.zeros_like(nodes)  # the edges alone have to make the difference
    sizes, time = torch.full((20,), 4), torch.full((20,), 0.5)
    node, edge, _ = network(4)(nodes, edges, sizes, time)
    other_node, other_edge, _ = network(4)(nodes, edges.transpose(1, 2), sizes, time)
    differs = (edges != edges.transpose(1, 2)).flatten(1).any(1)
    assert differs.any()
    assert ((node - other_node)[differs].abs().flatten(1).amax(1) > 1e-4).all()
    # Beyond the residual from the input: logits of an edge are not the transposed ones' mirror image.
    assert ((edge - other_edge.transpose(1, 2))[differs].abs().flatten(1).amax(1) > 1e-4).all()


def test_padding_has_no_influence() -> None:
    model = network(6)
    nodes, edges = random_graphs(5, 6)
    sizes, time = torch.full((5,), 4), torch.rand(5)
    other_nodes, other_edges = nodes.clone(), edges.clone()
    other_nodes[:, 4:] = 2 - other_nodes[:, 4:]
    other_edges[:, 4:], other_edges[:, :, 4:] = 0, 0
    first, second = model(nodes, edges, sizes, time), model(other_nodes, other_edges, sizes, time)
    assert torch.allclose(first[0][:, :4], second[0][:, :4], atol=1e-5)
    assert torch.allclose(first[1][:, :4, :4], second[1][:, :4, :4], atol=1e-5)
    assert torch.allclose(first[2], second[2], atol=1e-5)


def test_time_size_and_place_reach_the_output() -> None:
    model = network(4)
    nodes, edges = torch.ones(1, 4, dtype=torch.int64), torch.zeros(1, 4, 4, dtype=torch.int64)
    early, late = (model(nodes, edges, torch.tensor([4]), torch.tensor([t]))[0] for t in (0.1, 0.9))
    assert not torch.allclose(early, late, atol=1e-4)
    small = model(nodes, edges, torch.tensor([3]), torch.tensor([0.1]))[0]
    assert not torch.allclose(early[:, :3], small[:, :3], atol=1e-4)
    assert not torch.allclose(early[:, 0], early[:, 1], atol=1e-4)


def test_operations_are_those_of_the_linear_layers() -> None:
    """The count that speed is reported with, against the layers that the network really has."""
    k, dx, de = 5, 32, 16
    layer = Layer(dx, de, de, 4, 0.0)
    once = {name: m.weight.numel() for name, m in layer.named_modules() if isinstance(m, torch.nn.Linear)}
    times = {
        name: k * k if name.startswith("edge") else 1 if name.startswith("global") else k for name in once
    }
    per_layer = 2 * sum(once[name] * times[name] for name in once)
    counted = [GraphTransformer.operations(k, layers=n, width=dx, edge_width=de) for n in (1, 2)]
    assert counted[1] - counted[0] == pytest.approx(per_layer, rel=1e-9)
