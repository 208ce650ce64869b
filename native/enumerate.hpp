// Listing and counting connected induced subgraphs one by one (ESU), without classifying them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"
#include "parallel.hpp"

namespace grade {

// Number of connected induced k-subgraphs.
uint64_t count_instances(const Graph& graph, int k, int threads, const KeepGoing& keep_going);

// Writes all of them, each as k ascending ids of the graph set, in an order that depends on the graph set alone.
// `result` must have room for exactly count_instances() rows.
void enumerate(const Graph& graph, int k, int threads, const KeepGoing& keep_going, std::span<uint32_t> result);

struct Block {
  std::vector<uint32_t> occurrences;  // [n, k] as `enumerate` writes them, in its order
  uint32_t next = 0;                  // the root to go on from; the number of nodes at the end
};

// Those of the roots from `first` on, until there are `most` or one root has brought more.
Block enumerate_block(const Graph& graph, int k, uint32_t first, size_t most, const KeepGoing& keep_going);

}  // namespace grade
