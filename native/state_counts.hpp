// How often each state of the trie was met, and the table of patterns that these counts end in.
#pragma once

#include <cstdint>
#include <vector>

#include "checked.hpp"
#include "graph.hpp"
#include "tally.hpp"
#include "trie.hpp"

namespace grade {

// With `kRepeated` the trie outlives the call: see RepeatedCensus.
template <class Conn, bool kRepeated>
class StateCounts {
 public:
  StateCounts(const Graph& graph, int k) : tally(k), graph_(graph), k_(k) {}

  // Occurrences whose last node is tied like this to a subgraph of k - 1 nodes.
  void count(uint32_t state, const Conn& ties, uint32_t node_class, uint64_t times) {
    ++leaves_;
    if (ways != 1) times = ways ? multiplied_checked(times, ways) : throw TooLarge("a count passes 2^64");
    if (rarely_repeats_) {
      if (state != parent_state_) {
        parent_ = trie.subgraph(state, k_ - 1, graph_, 1);
        parent_state_ = state;
      }
      Trie<Conn>::append(parent_, k_ - 1, ties, node_class, graph_);
      tally.add(parent_, times);
      return;
    }
    const uint32_t leaf = trie.step(state, ties, node_class);
    if (leaf >= counts_.size()) counts_.resize(leaf + leaf / 2 + 64, 0);
    if constexpr (kRepeated) {
      if (counts_[leaf] == 0) leaves_met_.push_back(leaf);
    }
    add_checked(counts_[leaf], times);
  }

  // To be called between two roots. True if the trie was emptied.
  bool settle() {
    bool emptied = false;
    if (trie.size() > kMaxStates) {
      flush();
      distinct_before_ = distinct();
      emptied = true;
    }
    return choose_way() || emptied;
  }

  void flush() {
    if constexpr (kRepeated) {
      hand_over();
      pattern_of_.clear();
    }
    for (uint32_t state = 0; state < counts_.size(); ++state) {
      if (counts_[state]) tally.add(trie.subgraph(state, k_, graph_), counts_[state]);
    }
    trie.clear();
    counts_.clear();
    parent_state_ = 0;
  }

  // Moves what was counted to the tally and keeps the trie.
  void hand_over() {
    pattern_of_.resize(counts_.size(), 0);
    for (const uint32_t leaf : leaves_met_) {
      uint32_t& pattern = pattern_of_[leaf];  // + 1
      if (pattern == 0) pattern = tally.number(trie.subgraph(leaf, k_, graph_)) + 1;
      add_checked(tally.result.counts[pattern - 1], counts_[leaf]);
      counts_[leaf] = 0;
    }
    leaves_met_.clear();
  }

  Tally tally;
  Trie<Conn> trie;
  uint64_t ways = 1;  // one occurrence that is counted stands for so many; 0: more than 2^64

 private:
  static constexpr size_t kTrial = size_t{1} << 18;  // new states after which the way of counting is reconsidered

  // Where nearly every leaf is a new state, the trie only costs: then each leaf goes to the table at once.
  bool choose_way() {
    if constexpr (kRepeated) return false;
    const size_t found = distinct() - distinct_before_;
    if (found < kTrial && leaves_ < 16 * kTrial) return false;
    const bool rare = 2 * found > leaves_, turned = rare != rarely_repeats_;
    if (turned) flush();
    rarely_repeats_ = rare;
    leaves_ = 0;
    distinct_before_ = distinct();
    return turned;
  }
  size_t distinct() const { return rarely_repeats_ ? tally.result.counts.size() : trie.size(); }

  const Graph& graph_;
  const int k_;
  std::vector<uint64_t> counts_;                     // [state] occurrences that end there
  std::vector<uint32_t> leaves_met_, pattern_of_;    // only if repeated: states with counts, and their patterns + 1
  bool rarely_repeats_ = false;
  size_t leaves_ = 0, distinct_before_ = 0;          // leaves since the way was last chosen, and what was known then
  uint32_t parent_state_ = 0;
  SmallGraph parent_{};                              // subgraph of parent_state_ with room for one more node
};

}  // namespace grade
