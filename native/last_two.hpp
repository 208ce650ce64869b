// The last two nodes of an occurrence, which are counted in groups and not enumerated.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "frontier.hpp"
#include "graph.hpp"

namespace grade {

// Below a subgraph of k - 2 nodes with extension list E, an occurrence adds either two nodes u, v of E, or one node w
// of E and an exclusive neighbour of w. Nodes of E with the same ties and the same class are interchangeable, so that
// the non-adjacent pairs {u, v} are products of group sizes, and only the edges at E are walked. Around a hub of
// degree 90 this replaces thousands of occurrences by a handful of products.
template <class Conn, class Counts>
class LastTwo {
 public:
  LastTwo(const Graph& graph, int k, Frontier<Conn>& frontier, Counts& counts)
      : graph_(graph), k_(k), frontier_(frontier), counts_(counts) {}

  void count(uint32_t state, int32_t head) {
    if (frontier_.length(head, kFew + 1) <= kFew) {
      count_few(state, head);
    } else {
      count_many(state, head);
    }
  }

  // To be called when the trie was emptied: its states get new numbers.
  void forget_states() {
    group_stamp_.clear();
    group_of_state_.clear();
  }

 private:
  static constexpr int kFew = 8;  // lists up to this length are not worth grouping

  struct Group {  // nodes of the extension list with the same ties and class
    uint32_t state;
    uint32_t node_class;
    Conn conn;
    int64_t size;
  };

  // A short list: every node is a group of its own, and every pair is looked at.
  void count_few(uint32_t state, int32_t head) {
    groups_.clear();
    for (int32_t i = head; i >= 0; i = frontier_.links[i].next) {
      const uint32_t node = frontier_.links[i].node;
      groups_.push_back({counts_.trie.step(state, frontier_.ties(node), graph_.class_of(node)), graph_.class_of(node), frontier_.ties(node), 1});
      frontier_.bin(node) = frontier_.tied + static_cast<uint32_t>(groups_.size());
    }
    const uint32_t n = static_cast<uint32_t>(groups_.size());
    std::array<uint32_t, kFew> arc_to;
    uint32_t a = 0;
    for (int32_t i = head; i >= 0; i = frontier_.links[i].next, ++a) {
      arc_to.fill(0);
      for (const Neighbour& neighbour : graph_.neighbours(frontier_.links[i].node)) {
        if (frontier_.is_past(neighbour)) break;
        if (const uint32_t base = frontier_.bin(neighbour.node)) {
          if (base > frontier_.tied) arc_to[base - frontier_.tied - 1] = graph_.arc(neighbour);
        } else {
          const Tag& tag = graph_.tag(neighbour.tag);
          counts_.count(groups_[a].state, Conn::at(k_ - 2, tag.arc), tag.node_class, 1);
        }
      }
      for (uint32_t b = a + 1; b < n; ++b) count_pair(a, b, arc_to[b], 1);
    }
    for (int32_t i = head; i >= 0; i = frontier_.links[i].next) frontier_.bin(frontier_.links[i].node) = frontier_.tied;
  }

  void count_many(uint32_t state, int32_t head) {
    const int member = k_ - 2;
    // 1. Group the extension list.
    groups_.clear();
    extension_.clear();
    ++stamp_;
    for (int32_t i = head; i >= 0; i = frontier_.links[i].next) {
      const uint32_t node = frontier_.links[i].node;
      const uint32_t group = find_group(state, frontier_.ties(node), graph_.class_of(node));
      ++groups_[group].size;
      frontier_.bin(node) = frontier_.tied + (group + 1) * frontier_.arcs;
      extension_.push_back({node, group});
    }
    const size_t n = groups_.size();
    sort_by_group();
    const size_t bins = frontier_.tied + (n + 1) * frontier_.arcs;
    if (histogram_.size() < bins) {
      histogram_.resize(2 * bins, 0);
      touched_.resize(histogram_.size() + 1);
    }
    apart_.resize(n);
    for (uint32_t group = 0, from = 0; group < n; ++group) {
      // 2. The pairs with this group and later ones, as if none were adjacent.
      const int64_t size = groups_[group].size;
      apart_[group] = size * (size - 1) / 2;
      for (uint32_t b = group + 1; b < n; ++b) apart_[b] = size * groups_[b].size;
      // 3. Walk the edges at the group into a histogram.
      const uint32_t to = from + static_cast<uint32_t>(groups_[group].size);
      const size_t used = walk({by_group_.data() + from, by_group_.data() + to});
      from = to;
      for (size_t i = 0; i < used; ++i) {
        const uint32_t bin = touched_[i], times = histogram_[bin];
        histogram_[bin] = 0;
        if (bin < frontier_.tied) {
          const Tag& tag = graph_.tag(bin);
          counts_.count(groups_[group].state, Conn::at(member, tag.arc), tag.node_class, times);
        } else {
          count_adjacent(group, (bin - frontier_.tied) / frontier_.arcs, (bin - frontier_.tied) % frontier_.arcs, times);
        }
      }
      // 4. What is left of the products are non-adjacent pairs.
      for (uint32_t b = group; b < n; ++b) {
        if (apart_[b]) count_pair(group, b, 0, apart_[b]);
      }
    }
    for (const auto& [node, group] : extension_) frontier_.bin(node) = frontier_.tied;
  }

  void sort_by_group() {
    group_begin_.assign(groups_.size(), 0);
    uint32_t begin = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      group_begin_[g] = begin;
      begin += static_cast<uint32_t>(groups_[g].size);
    }
    by_group_.resize(extension_.size());
    for (const auto& [node, group] : extension_) by_group_[group_begin_[group]++] = node;
  }

  // Counts the neighbours of these nodes into the histogram and lists the bins in use: exclusive neighbours by
  // tag, all others at the bin of the neighbour plus the arc.
  size_t walk(std::span<const uint32_t> nodes) {
    uint32_t* const histogram = histogram_.data();
    uint32_t* const touched = touched_.data();
    const uint32_t* const bin_of = frontier_.bins();
    const uint32_t first = frontier_.first();
    size_t used = 0;
    uint32_t last = frontier_.tied, run = 0;
    auto close_run = [&] {
      touched[used] = last;
      used += histogram[last] == 0;
      histogram[last] += run;
    };
    for (uint32_t node : nodes) {
      for (const Neighbour& neighbour : graph_.neighbours(node)) {
        if (frontier_.is_past(neighbour)) break;
        const uint32_t base = bin_of[neighbour.node - first];
        const uint32_t bin = base ? base + graph_.arc(neighbour) : neighbour.tag;
        if (bin != last) {  // around hubs runs of one bin are the rule
          close_run();
          last = bin;
          run = 0;
        }
        ++run;
      }
    }
    close_run();
    return used;
  }

  // `place` is 0 for nodes that are no longer in the list, else a group + 1. Every adjacent pair was met twice:
  // from the groups of both its nodes.
  void count_adjacent(uint32_t a, uint32_t place, uint32_t arc, int64_t times) {
    if (place <= a) return;
    const uint32_t b = place - 1;
    if (a == b) {
      const uint32_t reverse = graph_.arc_class(arc).reverse;
      if (arc > reverse) return;
      if (arc == reverse) times /= 2;
    }
    if (times == 0) return;
    apart_[b] -= times;
    count_pair(a, b, arc, times);
  }

  // Two nodes of groups a and b, tied by `arc` as seen from a. Either could come first; the one in the lower
  // state does, so that fewer states are made.
  void count_pair(uint32_t a, uint32_t b, uint32_t arc, int64_t times) {
    if (groups_[a].state > groups_[b].state) {
      std::swap(a, b);
      arc = graph_.arc_class(arc).reverse;
    }
    Conn ties = groups_[b].conn;
    ties.add(k_ - 2, arc);
    counts_.count(groups_[a].state, ties, groups_[b].node_class, times);
  }

  uint32_t find_group(uint32_t state, const Conn& ties, uint32_t node_class) {
    if (!groups_.empty() && groups_.back().conn == ties && groups_.back().node_class == node_class) {
      return static_cast<uint32_t>(groups_.size()) - 1;
    }
    const uint32_t next = counts_.trie.step(state, ties, node_class);
    if (next >= group_stamp_.size()) {
      group_stamp_.resize(next + next / 2 + 64, 0);
      group_of_state_.resize(group_stamp_.size());
    }
    if (group_stamp_[next] != stamp_) {
      group_stamp_[next] = stamp_;
      group_of_state_[next] = static_cast<uint32_t>(groups_.size());
      groups_.push_back({next, node_class, ties, 0});
    }
    return group_of_state_[next];
  }

  const Graph& graph_;
  const int k_;
  Frontier<Conn>& frontier_;
  Counts& counts_;
  std::vector<Group> groups_;                 // bins of group g: from tied + (g + 1) * arcs
  std::vector<std::pair<uint32_t, uint32_t>> extension_;  // (node, group)
  std::vector<uint32_t> by_group_, group_begin_;
  std::vector<int64_t> apart_;                // [group] pairs of the present group and this one that are not adjacent
  std::vector<uint32_t> histogram_, touched_; // all zero between walks; bins in use
  std::vector<uint64_t> group_stamp_;
  std::vector<uint32_t> group_of_state_;
  uint64_t stamp_ = 0;
};

}  // namespace grade
