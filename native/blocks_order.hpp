// A numbering of the nodes of a set of acyclic graphs that follows from their structure, so that what breaks ties by
// number depends on the order in which nodes and graphs were given only where the structure looks the same on both sides.
#pragma once

#include <vector>

#include "blocks.hpp"

namespace grade {

// Longest path from a source to each node; kNobody for nodes on a directed cycle and below one.
std::vector<uint32_t> levels_or_nobody(const BlockGraph& graph);

// The set with its nodes and graphs in canonical order: a graph's nodes from its sources down, those that lead to one
// node side by side, ordered by their operand places, their levels, and what lies around them, near first, then far.
class CanonicalOrder {
 public:
  CanonicalOrder(const BlockGraph& graph, std::span<const uint32_t> levels);

  BlockGraph graph() const;
  std::vector<uint32_t> levels;       // [nodes] as numbered here
  std::vector<uint32_t> node_of;      // [nodes] number here -> number given
  std::vector<uint32_t> graph_place;  // [graphs] number given -> place here

 private:
  std::vector<int64_t> node_offsets_, out_offsets_, in_offsets_;
  std::vector<uint32_t> types_, out_targets_, out_labels_, in_sources_, in_labels_;
  std::vector<uint8_t> closed_;
};

}  // namespace grade
