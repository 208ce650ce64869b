// The levels of stratified growth: for every pattern of one size the occurrences that are kept.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "pattern_map.hpp"

namespace grade {

constexpr double kUnit = 1 << 20;   // weights are added up as whole numbers of 1 / kUnit: in any order the same

using Nodes = std::array<uint32_t, kMaxSize>;  // core numbers, ascending

struct Kept {
  Nodes nodes;
  double weight, priority;
};

// The occurrences of one pattern that are kept.
struct List {
  std::vector<Kept> kept;
  double dropped = 0;  // the largest priority that was dropped
  uint64_t found = 0;
  unsigned __int128 total = 0;  // of all weights, in 1 / kUnit
  bool all_exact = true;        // every weight is 1 and every occurrence is found

  void thin(size_t most, int k) {
    if (kept.size() <= most) return;
    auto before = [k](const Kept& x, const Kept& y) {
      if (x.priority != y.priority) return x.priority > y.priority;
      return std::lexicographical_compare(x.nodes.begin(), x.nodes.begin() + k, y.nodes.begin(), y.nodes.begin() + k);
    };
    std::nth_element(kept.begin(), kept.begin() + static_cast<int64_t>(most), kept.end(), before);
    for (size_t i = most; i < kept.size(); ++i) dropped = std::max(dropped, kept[i].priority);
    kept.resize(most);
  }
  double sum() const { return static_cast<double>(total) / kUnit; }
};

// How well a pattern is covered.
struct Cover {
  double share;
  bool exact;
};

struct Level {
  int k;
  PatternMap patterns;  // in the order of their codes
  std::vector<uint64_t> automorphisms;
  std::vector<List> lists;
  bool exact(size_t id) const { return lists[id].all_exact && lists[id].dropped == 0; }
  Cover cover(size_t id) const {
    return {std::min(static_cast<double>(lists[id].kept.size()) / std::max(lists[id].sum(), 1.0), 1.0), exact(id)};
  }
};

}  // namespace grade
