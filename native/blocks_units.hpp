// Units of a graph set while they are merged: their nodes, places and labels, and which have one consumer only.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "blocks_identity.hpp"
#include "blocks_pairs.hpp"

namespace grade {

// Units are known by a handle, one of their nodes. A unit with one consumer is a child of it.
class BlockUnits {
 protected:
  explicit BlockUnits(const BlockGraph& graph)
      : graph_(graph),
        feeds_(shared_edges(graph)),
        unit_(graph.nodes()),
        place_(graph.nodes(), 0),
        next_member_(graph.nodes()),
        member_count_(graph.nodes(), 1),
        label_(graph.types.begin(), graph.types.end()),
        root_(graph.nodes()),
        consumers_(graph.nodes()),
        child_(graph.nodes(), kNobody),
        next_child_(graph.nodes(), kNobody),
        previous_child_(graph.nodes(), kNobody),
        linked_(graph.nodes(), 0) {
    const auto nodes = static_cast<uint32_t>(graph.nodes());
    for (uint32_t node = 0; node < nodes; ++node) {
      unit_[node] = next_member_[node] = root_[node] = node;
      consumers_[node] = graph.out_degree(node);
      if (consumers_[node] < 2) continue;
      for (uint32_t target : targets(node)) feeds_.insert(node, target);
    }
    for (uint32_t node = 0; node < nodes; ++node) {
      if (consumers_[node] == 1) link(node);
    }
  }

  static size_t shared_edges(const BlockGraph& graph) {
    size_t edges = 0;
    for (uint32_t node = 0; node < graph.nodes(); ++node) {
      if (graph.out_degree(node) > 1) edges += graph.out_degree(node);
    }
    return edges;
  }

  std::span<const uint32_t> targets(uint32_t node) const {
    return graph_.out_targets.subspan(static_cast<size_t>(graph_.out_offsets[node]), graph_.out_degree(node));
  }

  uint32_t consumer_of(uint32_t unit) const { return unit_[targets(root_[unit]).front()]; }
  uint32_t size_of(uint32_t unit) const { return member_count_[unit]; }

  template <class Visit>
  void for_members(uint32_t unit, Visit visit) const {
    uint32_t member = unit;
    do {
      const uint32_t next = next_member_[member];
      visit(member);
      member = next;
    } while (member != unit);
  }

  // The unit becomes a child of its only consumer.
  void link(uint32_t unit) {
    const uint32_t parent = consumer_of(unit);
    linked_[unit] = 1;
    previous_child_[unit] = kNobody;
    next_child_[unit] = child_[parent];
    if (child_[parent] != kNobody) previous_child_[child_[parent]] = unit;
    child_[parent] = unit;
  }

  void unlink(uint32_t unit) {
    if (!linked_[unit]) return;
    linked_[unit] = 0;
    if (previous_child_[unit] != kNobody) next_child_[previous_child_[unit]] = next_child_[unit];
    else child_[consumer_of(unit)] = next_child_[unit];
    if (next_child_[unit] != kNobody) previous_child_[next_child_[unit]] = previous_child_[unit];
  }

  // Where the unit's consumer reads it, as its nodes are numbered.
  Reads reads_of(uint32_t unit) const {
    Reads reads;
    const uint32_t root = root_[unit];
    for (int64_t e = graph_.out_offsets[root]; e < graph_.out_offsets[root + 1]; ++e) {
      reads.emplace_back(place_[graph_.out_targets[e]], graph_.out_labels[e]);
    }
    std::sort(reads.begin(), reads.end());
    return reads;
  }

  // Nodes of the units by place, those of later units after those of earlier ones.
  std::vector<uint32_t> nodes_of(std::span<const uint32_t> units) const {
    std::vector<uint32_t> nodes;
    for (uint32_t unit : units) {
      const size_t begin = nodes.size();
      nodes.resize(begin + size_of(unit));
      for_members(unit, [&](uint32_t member) { nodes[begin + place_[member]] = member; });
    }
    return nodes;
  }

  // Joins a unit and its only consumer; the handle of the larger stays. Places and the label are the caller's.
  uint32_t absorb(uint32_t unit, uint32_t consumer) {
    const bool above = size_of(unit) > size_of(consumer);
    const uint32_t large = above ? unit : consumer, small = above ? consumer : unit;
    const bool child = linked_[consumer];
    unlink(unit);
    if (child) unlink(consumer);
    const uint32_t root = root_[consumer];
    for_members(small, [&](uint32_t member) { unit_[member] = large; });
    member_count_[large] += member_count_[small];
    std::vector<uint32_t> now_children;
    for_members(small, [&](uint32_t member) {
      for (int64_t e = graph_.in_offsets[member]; e < graph_.in_offsets[member + 1]; ++e) {
        const uint32_t source = graph_.in_sources[e];
        if (unit_[source] == large || !feeds_.erase(source, small)) continue;
        if (!feeds_.contains(source, large)) feeds_.insert(source, large);
        else if (--consumers_[source] == 1) now_children.push_back(unit_[source]);
      }
    });
    std::swap(next_member_[large], next_member_[small]);
    root_[large] = root;
    while (child_[small] != kNobody) {
      const uint32_t moved = child_[small];
      child_[small] = next_child_[moved];
      next_child_[moved] = child_[large];
      previous_child_[moved] = kNobody;
      if (child_[large] != kNobody) previous_child_[child_[large]] = moved;
      child_[large] = moved;
    }
    for (uint32_t fresh : now_children) link(fresh);
    if (child) link(large);
    return large;
  }

  const BlockGraph& graph_;
  FeedSet feeds_;  // roots that several units read, and those units
  std::vector<uint32_t> unit_, place_, next_member_;     // by node
  std::vector<uint32_t> member_count_, label_, root_;    // by handle
  std::vector<uint32_t> consumers_;                      // by root: how many units read it
  std::vector<uint32_t> child_, next_child_, previous_child_;
  std::vector<uint8_t> linked_;
};

}  // namespace grade
