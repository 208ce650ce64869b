// Which pattern each of a list of occurrences is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"
#include "pattern_map.hpp"

namespace grade {

struct Classification {
  std::vector<uint32_t> ids;            // [occurrences] pattern of each
  PatternMap patterns;                  // canonical forms, in order of first appearance
  std::vector<uint64_t> automorphisms;  // of each pattern
};

// The subgraph that k nodes of one graph induce, the nodes in the given order.
class InducedSubgraph {
 public:
  explicit InducedSubgraph(const Graph& graph) : graph_(graph), place_(graph.largest(), 0) {}
  void operator()(std::span<const uint32_t> nodes, SmallGraph& result);

 private:
  const Graph& graph_;
  std::vector<uint8_t> place_;  // [local node] its place + 1 while it is a member
};

// `occurrences` is [n, k] row by row. The nodes of a row must be distinct and lie in one graph.
Classification classify(const Graph& graph, int k, std::span<const uint32_t> occurrences);

}  // namespace grade
