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

// Where the enumeration goes on: the root, and how many of its occurrences have been listed.
struct Place {
  uint32_t root = 0;
  uint64_t skip = 0;
};

struct Block {
  std::vector<uint32_t> occurrences;  // [n, k] as `enumerate` writes them, in its order
  Place next;                         // the root is the number of nodes at the end
};

// The next occurrences, `most` of them or fewer: those of whole graphs where one fits, else of whole roots, else a part
// of those of one root.
Block enumerate_block(const Graph& graph, int k, Place from, size_t most, int threads, const KeepGoing& keep_going);

}  // namespace grade
