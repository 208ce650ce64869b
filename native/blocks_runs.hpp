// Where chains of equal regions are to be cut. Merging alone may find the copies of a repeated region at the wrong
// phase: of abc abc abc it may leave a, bca x 2, bc. So runs are looked for first, as runs are in strings: along the
// chains of nodes that all paths pass, a period of types proposes a region, which is followed up and down the graph as
// far as it repeats with all that hangs on it; of the phases, those count that are cut where a single tensor crosses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "blocks_identity.hpp"
#include "parallel.hpp"

namespace grade {

// Equal regions that follow each other, upstream ones first, and the nodes between them.
struct Run {
  std::vector<std::vector<uint32_t>> copies;
  std::vector<uint32_t> cuts;
};

class RunFinder {
 public:
  RunFinder(const BlockGraph& graph, std::span<const uint32_t> levels)
      : graph_(graph), levels_(levels), reader_(graph, levels), seen_(graph.nodes(), 0) {}

  // [nodes] where a node should stay the root of its unit until all units around it are made: 1 for outermost runs, more
  // for runs within their copies, which come first; 0 elsewhere. Of runs that overlap, the one that saves most counts.
  // Only in the graphs asked for, and only for runs that are not one unit already.
  std::vector<uint8_t> cuts(std::span<const uint32_t> unit_of, std::span<const uint8_t> graphs,
                            const KeepGoing& keep_going);

 private:
  using Images = std::vector<uint32_t>;  // by place, kNobody where there is none
  static constexpr int kLook = 6;
  using Used = std::unordered_set<uint32_t>;
  struct Tree;

  std::optional<Run> longest(const std::vector<uint32_t>& copy, const Reads& link, uint32_t root);
  Tree post_dominators(uint32_t begin, std::span<const uint32_t> downstream_first) const;
  std::vector<uint32_t> between(const Tree& tree, uint32_t begin, uint32_t from, uint32_t to) const;
  bool covers(const Run& run, uint32_t begin, std::span<const uint32_t> chain);
  void runs_of_chain(const Tree& tree, uint32_t begin, std::span<const uint32_t> chain, std::vector<Run>& found);
  Images upstream(const Region& region, const Images& copy, const Reads& link, uint32_t root) const;
  Images downstream(const Region& region, const Images& copy, const Reads& link, uint32_t root) const;
  void match_above(const Region& region, const Images& copy, const std::vector<uint8_t>& wanted, Images& images,
                   Used& used) const;
  bool has_edge(uint32_t source, uint32_t target, uint32_t label) const;
  void look_around(uint32_t begin, uint32_t end);
  int resemblance(uint32_t node, uint32_t other) const;
  uint32_t reader_of(uint32_t node, uint32_t label, const Images& copy) const;
  uint32_t entry_of(const Region& region, const Images& above, const std::vector<uint32_t>& step, uint32_t cut) const;

  const BlockGraph& graph_;
  std::span<const uint32_t> levels_;
  RegionReader reader_;
  mutable std::vector<uint8_t> seen_;
  uint32_t around_begin_ = 0;
  std::vector<uint32_t> around_;  // [nodes of a graph, above or below, kLook]
};

}  // namespace grade
