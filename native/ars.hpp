// ARS, acceptance-rejection sampling: k random nodes of a random graph, kept if they are connected.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

#include "graph.hpp"
#include "graph_choice.hpp"
#include "parallel.hpp"

namespace grade {

struct ArsReport {
  uint64_t accepted, attempts;
  bool hopeless;  // given up, since the rest would take more than the attempts allowed
};

// Writes [count, k] ascending ids of the graph set. Draw i has its own generator and its own attempts, so neither
// the threads nor the number of draws changes it. With kOccurrences a graph of n nodes is chosen in proportion to
// C(n, k), which makes every k-subset of every graph equally likely, so the accepted ones are exactly uniform.
ArsReport ars(const Graph& graph, int k, Weighting weighting, uint64_t seed, uint64_t stream, uint64_t most_attempts,
              int threads, const KeepGoing& keep_going, std::span<uint32_t> result);

}  // namespace grade
