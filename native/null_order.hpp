// A topological order that is kept while edges change: it says whether a change would close a cycle.
//
// An edge that points backwards starts two searches, one forwards from its target and one backwards from its source, both
// between the two in the order, and in turns by the number of edges looked at. If they meet there is a cycle. As
// soon as one is exhausted there is none, and what it visited moves to the other end of the edge. So a change costs as
// much as the smaller side (Haeupler et al., "Incremental Cycle Detection, Topological Ordering, and Strong Component
// Maintenance", 2012, section 2). Positions are labels with gaps, so that nothing in between has to move.
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
  enum class Way { kForwards, kBackwards };
  struct Search {
    std::vector<uint32_t> visited;
    size_t next = 0;       // of the visited, to be expanded
    uint64_t edges = 0;    // looked at
    bool exhausted() const { return next == visited.size(); }
  };
  bool add(uint32_t slot, std::span<const uint32_t> pending);
  template <Way way>
  bool expand(uint32_t limit, std::span<const uint32_t> pending);  // false if it meets the other search
  void place_after(std::vector<uint32_t>& nodes, uint32_t anchor);
  void link_after(uint32_t node, uint32_t anchor);
  void spread();

  const Slots& slots_;
  bool acyclic_;
  std::vector<uint64_t> label_;           // [nodes + 1] ascending along the order; last the anchor before the first node
  std::vector<uint32_t> before_, after_;  // [nodes + 1] neighbours in the order, a ring through the anchor
  std::vector<uint64_t> mark_;            // [nodes] the search that visited it
  uint64_t searches_ = 0;
  Search forwards_, backwards_;
  struct Moved {
    uint32_t node, anchor;
    uint64_t label;
  };
  std::vector<Moved> undo_;
  bool spread_ = false;  // labels were spread anew since the undo list began
};

}  // namespace grade
