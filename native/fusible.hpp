// Which node sets could be fused into one operator: convex, and results leave at one node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"

namespace grade {

// What the test of fusibility needs to know of a graph set.
//
// Results leave a node set at a node that is consumed outside of it, or that DRAINS: a graph output, or a node that
// nobody consumes. (A strongly connected component of several nodes that neither is consumed nor holds a graph output
// drains at its first node: it is the end of its graph.) Every node therefore leads to a node that drains, and the
// results of every node set leave somewhere.
//
// A convex set holds strongly connected components whole or not at all, so these are the UNITS that sets are made of;
// in an acyclic graph every node is a unit.
class FusibleIndex {
 public:
  // `outputs` says which nodes of the graph set are graph outputs; empty: nothing is known of them.
  FusibleIndex(const Graph& graph, std::span<const uint8_t> outputs);

  const Graph& graph() const { return graph_; }
  uint32_t out_degree(uint32_t node) const { return out_degrees_[node]; }  // self-loops aside
  bool drains(uint32_t node) const { return drains_[node]; }
  // Length of the longest path that ends here; 0 throughout a graph with a cycle (longer than a self-loop).
  uint32_t level(uint32_t node) const { return levels_[node]; }
  bool acyclic(uint32_t graph) const { return acyclic_[graph]; }

  uint32_t unit(uint32_t node) const { return units_.empty() ? node : units_[node]; }  // its smallest node
  uint32_t next_of_unit(uint32_t node) const { return next_.empty() ? node : next_[node]; }  // round and round
  bool alone(uint32_t node) const { return next_of_unit(node) == node; }
  uint32_t unit_size(uint32_t unit) const { return sizes_.empty() ? 1 : sizes_[unit]; }  // by its smallest node

 private:
  void find_units(uint32_t begin, uint32_t end);
  void close_unit(std::span<const uint32_t> members);

  const Graph& graph_;
  std::vector<uint32_t> out_degrees_, levels_, units_, next_, sizes_;
  std::vector<uint8_t> acyclic_, drains_;
};

// Whether no directed path leaves a node set and comes back, when results leave it at one node only. One per thread.
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
