// Rand-FaSE: the sampled tree of Rand-ESU with a trie of labels that tells which leaves are isomorphic (Paredes and
// Ribeiro, "Rand-FaSE: fast approximate subgraph census", 2015).
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "pattern_map.hpp"
#include "rand_esu.hpp"

namespace grade {

struct ClassifiedLeaves {
  std::vector<uint32_t> ids;            // [count] pattern of each occurrence
  PatternMap patterns;                  // canonical forms
  std::vector<uint64_t> automorphisms;  // of each pattern
  size_t trie_leaves;                   // canonical forms computed
};

// The pattern of every leaf, members in the order of the tree: a path in the trie of LS-labels, where the label of a
// member is its type, its self-loop and its edges to the members before it. The canonical form is computed once for
// each leaf of the trie.
ClassifiedLeaves classify_by_trie(const Graph& graph, int k, std::span<const uint32_t> members);

}  // namespace grade
