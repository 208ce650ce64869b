"""From the probability of a matrix to the probability of an isomorphism class.

A model assigns a probability to one matrix, that is, to a pattern whose nodes stand in one order. The score
has to rank classes. Training shows each pattern in an order drawn from a family with probability q(order);
q depends on the pattern's structure alone, so |Aut| orders give each matrix, all equally likely, and

    p(matrix) = p(class) * |Aut| * q(order)      hence      log p(class) = log p(matrix) - log q(order) -
    log |Aut|.

With q = 1 / N (all N orders of the family alike) this is log p(matrix) + log(N / |Aut|). An imperfect model violates
the identity for single orders, and the class is the sum over its matrices,

    p(class) = sum over orders p(matrix) / |Aut| = mean over orders drawn from q of p(matrix) / q(order) /
    |Aut|,

taken exactly where the orders are few and by sampling where they are many.

All families are the linear extensions of some precedence relation, which is how they are represented here:

=========== =========================================================================================
linear      u before v wherever v can be reached from u and not u from v (acyclic: topological orders)
level       u before v wherever level(u) < level(v); levels are longest paths over components
canonical   levels, ties in canonical order: a single order, no correction needed
all         no relation: all k! orders
=========== =========================================================================================

Orders are drawn place by place, uniformly among the nodes whose predecessors are all placed. That is
uniform over the family for level, canonical and all; for linear it is not, but q is known exactly, which is
all that the identity needs, and no counting of linear extensions (exponential in k) is involved.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grade.errors import InputError
from grade.estimators.models import counters
from grade.graphs import PatternTable

FAMILIES = ("linear", "level", "canonical", "all")


def reachability(edges: Tensor) -> Tensor:
    """[n, k, k] whether j can be reached from i by one edge or more (Warshall)."""
    reach = edges != 0
    for middle in range(edges.shape[1]):
        reach = reach | (reach[:, :, middle, None] & reach[:, middle, None, :])
    return reach


def strict_order(edges: Tensor) -> Tensor:
    """[n, k, k] whether j can be reached from i and not i from j: a strict partial order, also with
    cycles.
    """
    reach = reachability(edges)
    return reach & ~reach.transpose(1, 2)


def levels(edges: Tensor) -> Tensor:
    """[n, k] level of each node: longest path that leads to it over strongly connected components; sources
    have 0.

    >>> levels(torch.tensor([[[0, 1, 1], [0, 0, 1], [0, 0, 0]]])).tolist()
    [[0, 1, 2]]
    """
    strict = strict_order(edges).long()
    level = torch.zeros(edges.shape[:2], dtype=torch.int64, device=edges.device)
    for _ in range(edges.shape[1] - 1):
        level = (strict * (level[:, :, None] + 1)).amax(1)
    return level


def is_acyclic(edges: Tensor) -> Tensor:
    """[n] whether no node reaches itself."""
    return ~reachability(edges).diagonal(dim1=1, dim2=2).any(1)


def precedence(edges: Tensor, sizes: Tensor, family: str) -> Tensor:
    """[n, K, K] bool: node i must stand before node j. Padding (nodes from ``sizes`` on) stays at the end,
    in place.
    """
    n, capacity, _ = edges.shape
    index = torch.arange(capacity, device=edges.device)
    if family == "linear":
        before = strict_order(edges)
    elif family == "level":
        level = levels(edges)
        before = level[:, :, None] < level[:, None, :]
    elif family == "canonical":
        place = levels(edges) * capacity + index
        before = place[:, :, None] < place[:, None, :]
    elif family == "all":
        before = torch.zeros(n, capacity, capacity, dtype=torch.bool, device=edges.device)
    else:
        raise InputError(f"There is no order family {family!r}; known are {', '.join(FAMILIES)}.")
    padding = index >= sizes[:, None]
    end = (~padding[:, :, None] | (index[:, None] < index)) & padding[:, None, :]
    return (before & ~padding[:, :, None] & ~padding[:, None, :]) | end


def draw_orders(before: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
    """Draw one order for each relation: ([n, K] the node at each place, [n] log q of the order).

    ``before`` [n, K, K] is a strict partial order, ``uniforms`` [n, K] are numbers in [0, 1).

    >>> order, log_q = draw_orders(torch.tensor([[[0, 1], [0, 0]]]).bool(), torch.tensor([[0.9, 0.1]]))
    >>> order.tolist(), log_q.tolist()
    ([[0, 1]], [0.0])
    """
    n, capacity, _ = before.shape
    placed = torch.zeros(n, capacity, dtype=torch.bool, device=before.device)
    log_q = torch.zeros(n, dtype=torch.float64, device=before.device)
    order = []
    for place in range(capacity):
        available = ~placed & ~(before & ~placed[:, :, None]).any(1)  # [n, K]
        choices = available.sum(1)
        wanted = (uniforms[:, place] * choices).long().clamp(max=capacity - 1)
        node = (available & (available.cumsum(1) == wanted[:, None] + 1)).long().argmax(1)
        log_q = log_q - choices.double().log()
        placed = placed | (torch.arange(capacity, device=before.device) == node[:, None])
        order.append(node)
    return torch.stack(order, 1), log_q


def all_orders(before: Tensor) -> tuple[Tensor, Tensor]:
    """Every order of every relation: ([r] row of ``before``, [r, K] the node at each place)."""
    n, capacity, _ = before.shape
    row = torch.arange(n, device=before.device)
    placed = torch.zeros(n, capacity, dtype=torch.bool, device=before.device)
    order = torch.zeros(n, 0, dtype=torch.int64, device=before.device)
    for _ in range(capacity):
        available = ~placed & ~(before[row] & ~placed[:, :, None]).any(1)
        parent, node = available.nonzero(as_tuple=True)
        row, placed = row[parent], placed[parent]
        placed[torch.arange(len(node), device=before.device), node] = True
        order = torch.cat([order[parent], node[:, None]], 1)
    return row, order


def reorder(nodes: Tensor, edges: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes [n, K] and edges [n, K, K] with the node ``order[p]`` at place p."""
    rows = order[:, :, None].expand(-1, -1, order.shape[1])
    columns = order[:, None, :].expand(-1, order.shape[1], -1)
    return nodes.gather(1, order), edges.gather(1, rows).gather(2, columns)


def count_orders(patterns: PatternTable, family: str) -> NDArray[np.int64]:
    """[n] number of orders of each pattern in the family."""
    if family == "linear":
        return patterns.linear_extensions
    if family == "level":
        return patterns.level_orders
    return np.full(len(patterns), math.factorial(patterns.size) if family == "all" else 1, np.int64)


def log_symmetry(patterns: PatternTable, family: str) -> NDArray[np.float64]:
    """[n] log of the number of orders in the family that give the same matrix: |Aut|, but one where ties are
    broken in canonical order.
    """
    return np.zeros(len(patterns)) if family == "canonical" else np.log(patterns.automorphisms)


@dataclass(frozen=True)
class OrbitRows:
    """Ordered matrices whose likelihoods make up the likelihood of classes."""

    pattern: Tensor  # [r] ascending
    order: Tensor  # [r, K]
    log_weight: Tensor  # [r] log of the factor of p(matrix) in the sum over orders


def orbit_rows(before: Tensor, counts: Tensor, draws: int, keys: Tensor) -> OrbitRows:
    """All orders of the patterns that have at most ``draws``, and ``draws`` sampled ones of the others.

    p(class) * |Aut| = sum over the pattern's rows of p(matrix) * exp(log_weight). ``keys`` [n] or [1] are
    the counters' keys; one key for all patterns means that they share their random numbers.
    """
    few = counts <= draws
    exact, exact_order = all_orders(before[few])
    few_index, many_index = few.nonzero()[:, 0], (~few).nonzero()[:, 0]
    many = many_index.repeat_interleave(draws)
    draw = torch.arange(draws, device=before.device).repeat(len(many_index))
    uniforms = counters.uniform(counters.combine(keys.expand(len(before))[many], draw), before.shape[1])
    many_order, log_q = draw_orders(before[many], uniforms)
    pattern = torch.cat([few_index[exact], many])
    order = torch.cat([exact_order, many_order])
    log_weight = torch.cat(
        [torch.zeros(len(exact), dtype=torch.float64, device=log_q.device), -log_q - math.log(draws)]
    )
    sort = torch.argsort(pattern, stable=True)
    return OrbitRows(pattern[sort], order[sort], log_weight[sort])


def segment_logsumexp(values: Tensor, segment: Tensor, segments: int) -> Tensor:
    """[segments] log of the sum of exp(values) of each segment; -inf for an empty one.

    >>> segment_logsumexp(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0, 0, 1]), 2)
    tensor([0.6931, 1.0000])
    """
    top = torch.full((segments,), -math.inf, dtype=values.dtype, device=values.device)
    top = top.scatter_reduce(0, segment, values, "amax")
    shift = torch.where(top.isfinite(), top, torch.zeros_like(top))
    total = torch.zeros_like(top).index_add(0, segment, (values - shift[segment]).exp())
    return total.log() + shift
