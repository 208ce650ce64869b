// Exact census: all connected induced k-subgraphs, counted by isomorphism class.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "parallel.hpp"
#include "pattern_map.hpp"

namespace grade {

struct PatternCounts {
  PatternMap patterns;                  // canonical forms
  std::vector<uint64_t> automorphisms;  // of each pattern
  std::vector<uint64_t> counts;
};

PatternCounts census(const Graph& graph, int k, int threads, const KeepGoing& keep_going);

}  // namespace grade
