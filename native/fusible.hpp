// Which occurrences could be fused into one operator.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"

namespace grade {

// What the test of fusibility needs to know of a graph set.
class FusibleIndex {
 public:
  explicit FusibleIndex(const Graph& graph);

  uint32_t out_degree(uint32_t node) const { return out_degrees_[node]; }  // self-loops aside
  // Length of the longest path that ends here; 0 throughout a graph with a cycle (longer than a self-loop).
  uint32_t level(uint32_t node) const { return levels_[node]; }
  bool acyclic(uint32_t graph) const { return acyclic_[graph]; }

 private:
  std::vector<uint32_t> out_degrees_, levels_;
  std::vector<uint8_t> acyclic_;
};

// Whether no directed path leaves a node set and comes back, when edges leave it at one node only. Keep one per thread.
class ConvexityTest {
 public:
  ConvexityTest(const Graph& graph, const FusibleIndex& index) : graph_(graph), index_(index) {}

  // `first` is the smallest node of the graph that the members lie in. Adds the edges walked to `steps`.
  bool operator()(std::span<const uint32_t> members, uint32_t output, uint32_t first, bool acyclic, uint64_t& steps);

 private:
  const Graph& graph_;
  const FusibleIndex& index_;
  std::vector<uint32_t> marks_, queue_;  // marks_[local node]: 2 * round for a member, 2 * round + 1 for a node met
  uint32_t round_ = 0;
};

}  // namespace grade
