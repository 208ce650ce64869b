// Patterns without one of their nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "canonical.hpp"
#include "parallel.hpp"

namespace grade {

SmallGraph without(const SmallGraph& graph, int node);
bool connected(const SmallGraph& graph);  // directions aside

// [patterns, k + 1] for every node of a (k+1)-pattern: the number of the k-pattern among `kept` (canonical forms) that
// remains without it; -1 where the rest is not connected, or not among them.
std::vector<int64_t> connected_parts(std::span<const SmallGraph> patterns, std::span<const SmallGraph> kept,
                                     int threads);

}  // namespace grade
