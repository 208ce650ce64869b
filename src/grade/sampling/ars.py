"""ARS: acceptance-rejection sampling (the paper's appendix "Subgraph Sampling Methods", algorithm ARS).

k nodes of a random graph, chosen at random, are kept if they are connected. The graph is chosen in proportion
to C(n, k), where n is its number of nodes, so that every k-subset of every graph is equally likely and the
connected ones are drawn exactly uniformly. The paper's choice in proportion to the number of edges
(``weighting="edges"``) is uniform only where all graphs have the same size. With ``weighting="graphs"`` each
graph gets the same number of draws.

The share of k-subsets that are connected falls quickly with the size of the graphs and with k. A request that
would need more than a billion attempts is refused after a few.
"""

import numpy as np

from grade import _core
from grade.errors import InputError
from grade.sampling.sampler import Draw, Request, samplers

MOST_ATTEMPTS = 1_000_000_000  # about a minute of one core


@samplers.register("ars")
def draw(request: Request) -> Draw:
    """Uniform draws by rejection; the facts hold the acceptance rate."""
    request.refuse_probabilities("ars")
    occurrences, accepted, attempts, hopeless = _core.ars(
        request.graphs.core,
        request.k,
        request.count,
        request.weighting,
        request.seed,
        request.stream,
        MOST_ATTEMPTS,
        request.threads,
        request.progress,
    )
    if hopeless:
        rate = f"about {accepted / attempts:.2g}" if accepted else f"below {1 / attempts:.2g}"
        raise InputError(
            f"ARS accepts too few draws of {request.k} nodes from {request.graphs.origin}: {accepted:,} of"
            f" {attempts:,} attempts were connected, a rate of {rate}, so {request.count:,} samples would need"
            f" more than {MOST_ATTEMPTS:,} attempts; use rand-esu, rand-fase or nrs, or a smaller k."
        )
    return Draw(
        occurrences=occurrences,
        weights=np.ones(len(occurrences)),
        facts={"acceptance_rate": accepted / attempts},
    )
