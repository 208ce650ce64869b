// Supports of patterns from their lists of occurrences.
#pragma once

#include <cstdint>
#include <span>

#include "graph.hpp"
#include "parallel.hpp"

namespace grade {

struct ListSupports {
  std::span<int64_t> graphs;   // [patterns] graphs with a listed occurrence
  std::span<int64_t> covered;  // [patterns] nodes in a listed occurrence
};

// `occurrences` is [n, k]; those of pattern p are the rows offsets[p] .. offsets[p + 1] - 1.
void list_supports(const Graph& graph, int k, std::span<const int64_t> offsets, std::span<const uint32_t> occurrences,
                   int threads, const KeepGoing& keep_going, const ListSupports& result);

}  // namespace grade
