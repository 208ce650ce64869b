// The exact census of every graph of a set by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "census.hpp"

namespace grade {

struct GraphCounts {
  PatternCounts patterns;  // with the counts of the whole set
  struct Count {
    uint32_t graph, pattern;
    uint64_t count;
  };
  std::vector<Count> counts;  // by graph, then pattern
};

GraphCounts graph_counts(const Graph& graph, int k, int threads, const KeepGoing& keep_going);

}  // namespace grade
