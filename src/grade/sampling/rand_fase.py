"""Rand-FaSE: the sampled tree with a trie of labels (the paper's appendix "Subgraph Sampling Methods", algorithm
Rand-FaSE).

The tree, its probabilities p_1 .. p_k and their planning are those of `rand_esu`. On the way down, the label of
each member (its type and its edges to the members before it, FaSE's LS-label) leads through a trie; subgraphs that
end in the same leaf of the trie are isomorphic, so the canonical form is computed once for each of these leaves.

Every occurrence carries the weight 1 / q, where q is the probability of having been drawn: p_1 ... p_k times
the share that thinning kept. The sum of the weights of a pattern is an unbiased estimate of its number of
occurrences in the set. (The paper's pseudo-code multiplies q by p_k once more than it draws with it, which changes
all weights by one factor.) With ``weighting="graphs"`` all weights are 1.
"""

from grade.graphs import PatternTable
from grade.sampling.rand_esu import sample_tree, tree_facts
from grade.sampling.sampler import Draw, Request, samplers


@samplers.register("rand-fase")
def draw(request: Request) -> Draw:
    """Uniform draws with inverse-probability weights and patterns from the trie."""
    result = sample_tree(request, trie=True)
    graphs = request.graphs
    patterns = PatternTable(
        result["node_types"],
        result["edges"],
        result["automorphisms"],
        graphs.node_vocabulary,
        graphs.edge_vocabulary,
    )
    return Draw(
        occurrences=result["occurrences"],
        weights=result["weights"],
        facts={**tree_facts(request, result), "trie_leaves": result["trie_leaves"]},
        pattern_ids=result["pattern_ids"],
        patterns=patterns,
    )
