// The edges of one graph as slots, the state of every null model: sources stay, targets change places.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace grade {

constexpr uint32_t kNoSlot = UINT32_MAX;

// One graph with its nodes numbered from 0. Self-loops belong to the nodes: they are in the classes, not in the edges.
struct NullGraph {
  struct Edge {
    uint32_t source, target;
    uint8_t type;
  };
  std::vector<uint32_t> node_classes;
  std::vector<Edge> edges;  // by source, then target; no loops, none twice
  uint32_t nodes() const { return static_cast<uint32_t>(node_classes.size()); }
};

// A slot is a place for a target: node u owns as many slots as it has out-going edges, and node v stands in as many
// as it has in-coming ones. Targets that change places therefore keep both degrees of every node. A mutual pair, if
// pairs are to be kept, is two slots that are partners and move together.
class Slots {
 public:
  Slots(const NullGraph& graph, bool keep_pairs);

  uint32_t nodes() const { return static_cast<uint32_t>(out_offsets_.size()) - 1; }
  uint32_t size() const { return static_cast<uint32_t>(source_.size()); }
  uint32_t source(uint32_t slot) const { return source_[slot]; }
  uint32_t target(uint32_t slot) const { return target_[slot]; }
  uint8_t type(uint32_t slot) const { return type_[slot]; }
  // Slots of one kind agree in edge type and, where pairs are kept, in the type of the partner.
  uint32_t kind(uint32_t slot) const { return kind_[slot]; }
  uint32_t partner(uint32_t slot) const { return partner_[slot]; }

  uint32_t out_begin(uint32_t node) const { return out_offsets_[node]; }
  uint32_t out_end(uint32_t node) const { return out_offsets_[node + 1]; }
  uint32_t in_begin(uint32_t node) const { return in_offsets_[node]; }
  uint32_t in_end(uint32_t node) const { return in_offsets_[node + 1]; }
  // The slot at a place of the list of in-coming edges. Places belong to nodes for good, slots move among them.
  uint32_t slot_at(uint32_t place) const { return slot_at_[place]; }
  uint32_t place_of(uint32_t slot) const { return place_[slot]; }

  uint8_t type_between(uint32_t u, uint32_t v) const;  // of the edge u -> v, 0 if there is none
  bool linked(uint32_t u, uint32_t v) const { return type_between(u, v) != 0; }

  // Slots i and j change targets; so do their partners, the other way round.
  void switch_targets(uint32_t i, uint32_t j);
  // Slot i gets the target of j, j that of k, and k that of i.
  void rotate_targets(uint32_t i, uint32_t j, uint32_t k) {
    switch_targets(i, j);
    switch_targets(j, k);
  }
  // May i and j change targets: no loop, no edge twice, no pair made or broken where pairs are kept?
  bool may_switch(uint32_t i, uint32_t j) const;
  bool may_rotate(uint32_t i, uint32_t j, uint32_t k) const;

  // Puts the targets back to those of another state of the same graph.
  std::vector<uint32_t> state() const;
  void restore(std::span<const uint32_t> state);

 private:
  bool may_link(uint32_t u, uint32_t v) const { return u != v && !linked(u, v) && !(keep_pairs_ && linked(v, u)); }
  void switch_one(uint32_t i, uint32_t j);

  bool keep_pairs_;
  std::vector<uint32_t> out_offsets_, in_offsets_;
  std::vector<uint32_t> source_, target_, kind_, partner_;
  std::vector<uint32_t> place_, slot_at_;  // [slot] its place, and [place] its slot
  std::vector<uint8_t> type_;
};

}  // namespace grade
