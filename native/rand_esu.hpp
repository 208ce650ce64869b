// Rand-ESU: subgraphs from the enumeration tree with a probability for each depth (Wernicke, "Efficient Detection of
// Network Motifs", 2006), in passes over the graph set until there are enough, and then thinned to the number asked
// for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"
#include "graph_choice.hpp"
#include "parallel.hpp"

namespace grade {

struct TreeRequest {
  int k;
  size_t count;
  std::span<const double> probabilities;  // [k], all 1 when the number asked for alone decides
  size_t capacity;                        // of a walk through the tree, see population.hpp; at least `count`
  Weighting weighting;                    // kOccurrences or kGraphs
  uint64_t seed, stream;
  int threads;
};

struct TreeSample {
  std::vector<uint32_t> members;      // [count, k] core ids, each row in the order of the tree, rows in random order
  std::vector<double> weights;        // [count] with kOccurrences their sum estimates the number of all occurrences
                                      // without bias; with kGraphs all are 1
  std::vector<double> probabilities;  // [k] p_d of the first pass; empty with kGraphs, where they differ
  uint64_t leaves = 0, passes = 0;    // reached, in so many passes (with kGraphs: in all graphs together)
  bool hopeless = false;              // given up, for the probabilities let too few through
};

// kOccurrences: one walk over all graphs. The same occurrence reached in two passes counts twice, as in the paper.
// kGraphs: a walk in each graph, which gets floor or ceil of the same share of the draws.
TreeSample rand_esu(const Graph& graph, const TreeRequest& request, const KeepGoing& keep_going);

}  // namespace grade
