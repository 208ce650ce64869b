// Larger regions that repeat as often as a block, and that no merge reached because more frequent pairs took their nodes.
//
// A region with one output stays one when a node joins that only its nodes read (a step up), or the only node that reads
// its root (a step down). A block grows as long as all its occurrences agree on a step and share no node.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "blocks.hpp"

namespace grade {

struct GrownRegion {
  uint32_t size, root;          // `root` is a place
  std::vector<uint32_t> nodes;  // [occurrences, size] the same column the same role
};

class RegionGrower {
 public:
  RegionGrower(const BlockGraph& graph, uint32_t max_size)
      : graph_(graph), max_size_(max_size), owner_(graph.nodes(), 0), place_(graph.nodes(), 0) {}

  // Occurrences as places in `order` where each begins; nothing where they do not agree on a single step.
  std::optional<GrownRegion> grow(std::span<const uint32_t> order, std::span<const int64_t> begins, uint32_t size,
                                  uint32_t root);

 private:
  using Key = std::vector<uint32_t>;  // type, then place and label of each read
  using Rows = std::vector<std::vector<uint32_t>>;

  bool step_up(Rows& rows);
  bool step_down(Rows& rows, uint32_t& root);
  void own(const std::vector<uint32_t>& row, uint32_t owner);
  // The nodes that only nodes of the row read, with how they are read, equal ones side by side.
  std::vector<std::pair<Key, uint32_t>> above(const std::vector<uint32_t>& row, uint32_t owner);
  // The only node that reads the root, with how it does; none if there are several or if it is owned.
  std::optional<std::pair<Key, uint32_t>> below(uint32_t root) const;

  const BlockGraph& graph_;
  uint32_t max_size_;
  std::vector<uint32_t> owner_, place_;  // [nodes] number of the occurrence plus one, and the place in it
};

}  // namespace grade
