// Counts of the orders in which a digraph can be written down, for the orbit correction.
#pragma once

#include <cstdint>
#include <span>

namespace grade {

struct OrderCounts {
  int64_t linear_extensions;
  int64_t level_orders;
};

// `edges` is a k x k matrix of edge types. For a graph with cycles both counts are over the partial order
// "v can be reached from u and u not from v" of its strongly connected components.
OrderCounts count_orders(int k, std::span<const uint8_t> edges);

}  // namespace grade
