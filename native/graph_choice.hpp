// Which graph of the set a draw starts in.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "random.hpp"

namespace grade {

// By what share of the draws falls to a graph. Only graphs that hold a connected k-subgraph get any.
enum class Weighting {
  kOccurrences,  // every occurrence counts the same
  kEdges,        // in proportion to the number of edges, as the paper has it
  kGraphs,       // every graph counts the same
};

// [nodes] number of nodes of the connected component of each (edges taken without direction).
std::vector<uint32_t> component_sizes(const Graph& graph);

// [graphs] size of the largest connected component: a graph holds a connected k-subgraph exactly if this is >= k.
std::vector<uint32_t> largest_components(const Graph& graph, const std::vector<uint32_t>& sizes);

// Draws numbers in proportion to weights, some of which may be zero.
class WeightedChoice {
 public:
  explicit WeightedChoice(const std::vector<double>& weights);
  uint32_t operator()(Random& random) const;

 private:
  std::vector<double> cumulative_;
};

// [count] the graph of each draw when every graph of `eligible` counts the same: each gets floor or ceil of its
// share (which of the two is random), in random order.
std::vector<uint32_t> shared_out(const std::vector<uint32_t>& eligible, size_t count, Random random);

// The first `chosen` places of a random order of 0 .. total - 1.
std::vector<uint64_t> random_places(uint64_t total, uint64_t chosen, Random& random);

}  // namespace grade
