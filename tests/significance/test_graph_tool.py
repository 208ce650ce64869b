"""Counts, means and spreads of untyped digraphs against graph-tool's motif_significance."""

import numpy as np
import pytest

from grade import Pattern
from grade.significance import NullModel, significance
from tests.significance import graph_tool_peer
from tests.significance.realisations import small_graph

pytestmark = pytest.mark.skipif(
    not graph_tool_peer.version(),
    reason=f"{graph_tool_peer.PYTHON} has no graph-tool (Debian: apt-get install python3-graph-tool)",
)

DRAWS = 300


@pytest.mark.parametrize("seed", [1, 2])
def test_scores_agree_with_graph_tool(seed: int) -> None:
    """Same counts; means and deviations of two independent ensembles within five standard errors."""
    rng = np.random.default_rng(seed)
    ends = np.unique(rng.integers(0, 150, (600, 2)), axis=0)
    ends = ends[ends[:, 0] != ends[:, 1]]
    graphs = small_graph([0] * 150, [tuple(end) for end in ends.tolist()])
    ours = significance(graphs, 3, NullModel(allow_cycles=True), draws=DRAWS, seed=seed, least=1)
    patterns = [[(i, j) for i, j, _ in pattern.edge_list] for pattern in ours.patterns]
    task = {"k": 3, "nodes": 150, "edges": ends.tolist(), "patterns": patterns, "draws": DRAWS, "seed": seed}
    listed, *columns = graph_tool_peer.run(graph_tool_peer.SIGNIFICANCE, task)
    keys = [
        Pattern.of([0] * 3, [[int([i, j] in edges) for j in range(3)] for i in range(3)]).code
        for edges in listed
    ]
    place = [keys.index(pattern.code) for pattern in ours.patterns]
    counts, means, deviations, z = np.array(columns)[:, place]
    scores = ours.scores
    np.testing.assert_array_equal(counts, scores.observed)
    frequent = scores.mean > 5
    assert frequent.sum() >= 6
    # Its draws follow each other on one chain, so they are worth fewer than as many independent ones.
    error = np.sqrt(scores.deviation**2 + deviations**2) * np.sqrt(4 / DRAWS)
    assert (np.abs(means - scores.mean) < 5 * error)[frequent].all()
    ratio = np.log(deviations / scores.deviation)[frequent]
    assert (np.abs(ratio) < 5 * np.sqrt(4 / DRAWS)).all()
    assert (np.abs(z - scores.z) < 5 * np.sqrt(4 / DRAWS) * (1 + np.abs(z)))[frequent].all()
