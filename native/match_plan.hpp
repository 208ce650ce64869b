// How the occurrences of one pattern are looked for: an index of the graph set, and a plan for the pattern.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "canonical.hpp"
#include "graph.hpp"

namespace grade {

// How many nodes of a graph set are of one class.
struct ClassSize {
  uint16_t type;
  uint8_t loop;
  uint64_t nodes;
};
std::vector<ClassSize> populations(const Graph& graph);

// What any pattern needs to know of a graph set: nodes by class, and what each node's neighbours are.
class MatchIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  explicit MatchIndex(const Graph& graph);
  // For a slice of a larger set: plans go by the populations of the whole, and so are those that the whole would get.
  MatchIndex(const Graph& graph, std::span<const ClassSize> of_the_whole);
  const Graph& graph() const { return graph_; }

  uint32_t find_class(uint16_t type, uint8_t loop) const;      // kNone if no node is like this
  uint32_t find_arc(uint8_t outward, uint8_t inward) const;    // 0 if no two nodes are tied like this
  uint32_t find_tag(uint32_t arc, uint32_t node_class) const;  // kNone if no neighbour is like this

  // Graph by graph; within a graph those with few neighbours first.
  std::span<const uint32_t> nodes_of(uint32_t node_class) const {
    return {by_class_.data() + class_offsets_[node_class], class_offsets_[node_class + 1] - class_offsets_[node_class]};
  }

  // Nodes of the class in the whole set.
  uint64_t population(uint32_t node_class) const { return populations_[node_class]; }

  // One of 64 bits for each tag: a node can stand for another only if it has all bits that the other needs.
  static uint64_t bit(uint32_t tag) { return uint64_t{1} << (tag & 63); }
  uint64_t signature(uint32_t node) const { return signatures_[node]; }

 private:
  const Graph& graph_;
  std::vector<uint32_t> by_class_, class_offsets_;
  std::vector<uint64_t> populations_;
  std::vector<uint64_t> signatures_;
  std::vector<uint16_t> arcs_;  // [outward * 256 + inward]
  std::unordered_map<uint32_t, uint32_t> classes_;
  std::unordered_map<uint64_t, uint32_t> tags_;
};

// One node of the pattern, or a group of interchangeable ones, in the order in which they are placed.
struct MatchStep {
  uint32_t node_class;
  uint32_t degree;      // neighbours within the pattern
  uint32_t out_degree;  // edges to other nodes of the pattern
  uint64_t signature;
  uint32_t need;         // nodes of the group; 1 for a node of the core
  uint16_t ties;         // places of the core, earlier than this one, that it is adjacent to
  uint16_t above;        // places whose nodes must have smaller ids, so that each node set is met once
  uint16_t lookalikes;   // places whose nodes pass every other test, and must be excluded by name
  std::array<uint32_t, kMaxSize> arc;  // [place] tie as seen from that place, 0 if there is none
  std::array<uint32_t, kMaxSize> tag;  // [place] how neighbour lists of that place name this node
};

// The CORE of the pattern is placed node by node, each next to one that is placed. The rest is chosen so that it is an
// independent set: given the core, what may stand for a node of the rest is known, nodes of the rest with equal ties
// and class form a GROUP, and the number of ways is a product of binomials wherever the candidates are not adjacent.
//
// Symmetry: let the group of automorphisms that fix places 0 .. i-1 take place i to places w. Asking that the
// node at w be greater than the node at i, for all i of the core, leaves one placement for every choice of sets
// (Grochow and Kellis, 2007, up to the swaps within groups, which sets do not tell apart).
struct MatchPlan {
  bool possible = false;  // false: some class or tie of the pattern is nowhere in the graph set
  int k = 0, core = 0, groups = 0;
  std::array<MatchStep, kMaxSize> steps;  // the places of the core, then the groups
  std::array<uint8_t, kMaxSize> order{};  // [position] node of the pattern: the core, then group by group
  uint16_t root_orbit = 0;  // nodes of the pattern that an automorphism exchanges with the first
  uint16_t funnels = 0;  // steps that every node of the pattern reaches within the pattern; if fusible
};

// The pattern must be connected. With `root`, that node of it stands first, and no symmetry is broken there: every node
// of the set that can stand for it begins an occurrence.
MatchPlan plan_match(const MatchIndex& index, const SmallGraph& pattern, bool fusible, int root = -1);

// Nodes that can stand at the first place: [begin, end) of the index's nodes of its class, graph by graph.
std::span<const uint32_t> roots_in(const MatchIndex& index, const MatchPlan& plan, uint32_t graph);
bool fits_root(const MatchIndex& index, const MatchPlan& plan, uint32_t node);

}  // namespace grade
