// The structure of a graph set checked and described graph by graph, without the lists that the kernels need.
#pragma once

#include <cstdint>
#include <span>

#include "graph.hpp"
#include "parallel.hpp"

namespace grade {

struct GraphFacts {
  std::span<uint32_t> components;    // [graphs] parts that no edge connects, directions aside
  std::span<uint8_t> cyclic;         // [graphs] whether there is a directed cycle, or a self-loop
  std::span<uint32_t> loops;         // [graphs] self-loops
  std::span<uint32_t> isolated;      // [graphs] nodes without an edge to or from another node
  std::span<uint64_t> fingerprints;  // [graphs] equal for isomorphic graphs, and rarely for others
};

// Throws BadInput where the arrays do not describe a graph set, like the constructor of Graph.
void describe_graphs(const GraphArrays& arrays, int threads, const KeepGoing& keep_going, const GraphFacts& facts);

}  // namespace grade
