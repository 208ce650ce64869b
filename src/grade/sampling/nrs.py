"""NRS: neighbour reservoir sampling (the paper's appendix "Subgraph Sampling Methods", algorithm NRS).

A random edge grows by random boundary edges to k nodes; then the other nodes of the neighbourhood are visited one by
one, and the i-th replaces a random member with probability k / i if the result is connected. Quick at any k, but not
uniform: well-connected subgraphs are drawn too often (``experiments/sample_size`` measures how much).

Graphs are chosen in proportion to their number of edges, as the paper has it (``weighting`` "occurrences" and
"edges" alike, since the number of occurrences is not known here), or uniformly ("graphs"). Edges in components of
fewer than k nodes, from which no draw can succeed, are left out, and so are self-loops.
"""

import numpy as np

from grade import _core
from grade.sampling.sampler import Draw, Request, samplers


@samplers.register("nrs")
def draw(request: Request) -> Draw:
    """Fast, biased draws."""
    request.refuse_probabilities("nrs")
    occurrences = _core.nrs(
        request.graphs.core,
        request.k,
        request.count,
        request.weighting,
        request.seed,
        request.stream,
        request.threads,
        request.progress,
    )
    return Draw(occurrences=occurrences, weights=np.ones(len(occurrences)))
