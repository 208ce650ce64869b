// Supports of patterns from their lists of occurrences.
#pragma once

#include <cstdint>
#include <span>

#include "graph.hpp"

namespace grade {

struct ListSupports {
  std::span<int64_t> graphs;    // [patterns] graphs with a listed occurrence
  std::span<int64_t> disjoint;  // [patterns] listed occurrences that share no node, taken greedily from the first on
  std::span<int64_t> covered;   // [patterns] nodes in a listed occurrence
};

// `occurrences` is [n, k]; those of pattern p are the rows offsets[p] .. offsets[p + 1] - 1.
void list_supports(const Graph& graph, int k, std::span<const int64_t> offsets, std::span<const uint32_t> occurrences,
                   const ListSupports& result);

}  // namespace grade
