// A topological order that is kept while edges change: it says whether a change would close a cycle (Pearce and
// Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs", 2006). Only the nodes between the ends of
// an edge that points backwards are looked at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "null_slots.hpp"

namespace grade {

class TopologicalOrder {
 public:
  explicit TopologicalOrder(const Slots& slots);

  bool acyclic() const { return acyclic_; }
  // To be called after these slots got new targets: false if there is a cycle now, and then the order is the one before.
  bool follow(std::span<const uint32_t> changed);

 private:
  bool add(uint32_t slot, std::span<const uint32_t> pending);
  void put(uint32_t node, uint32_t rank);

  const Slots& slots_;
  bool acyclic_;
  std::vector<uint32_t> rank_;
  std::vector<bool> seen_;
  std::vector<uint32_t> after_, before_, ranks_;               // of one repair
  std::vector<std::pair<uint32_t, uint32_t>> undo_;            // (node, rank) in the order of changes
};

}  // namespace grade
