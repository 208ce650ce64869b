// Where a given region lies in a set of graphs, by exact matching.
#pragma once

#include <span>
#include <vector>

#include "blocks.hpp"

namespace grade {

// A region as a graph of its own; `root` is the only node that may be read from outside.
struct SoughtRegion {
  std::span<const uint32_t> types;
  std::span<const uint32_t> edges;  // [edges, 3] source, target, label
  uint32_t root;
};

// [found, nodes] the images of the region's nodes, its occurrences by their roots in the order given. An occurrence
// maps types, edges and labels exactly, and nobody outside reads any of its nodes but the root. Occurrences share no
// node with each other nor with those that are `taken`; of two that do, the earlier one counts.
std::vector<uint32_t> find_region(const BlockGraph& graph, const SoughtRegion& region, std::span<const uint32_t> roots,
                                  std::span<const uint8_t> taken);

}  // namespace grade
