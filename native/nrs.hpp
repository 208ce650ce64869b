// NRS, neighbour reservoir sampling (Lu and Bressan, "Sampling Connected Induced Subgraphs Uniformly at Random", 2012).
#pragma once

#include <cstdint>
#include <span>

#include "graph.hpp"
#include "graph_choice.hpp"
#include "parallel.hpp"

namespace grade {

// Writes [count, k] ascending ids of the graph set. Draw i has its own generator. The first edge is uniform among
// the edges of its graph that lie in a component of at least k nodes; graphs are chosen in proportion to the number
// of these edges (kOccurrences and kEdges alike, as the paper has it) or all the same (kGraphs).
void nrs(const Graph& graph, int k, Weighting weighting, uint64_t seed, uint64_t stream, int threads,
         const KeepGoing& keep_going, std::span<uint32_t> result);

}  // namespace grade
