// Ways to choose nodes for the groups of a pattern once its core is placed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph.hpp"

namespace grade {

// C(n, c), at most 2^64 - 1, which then stands for "too many".
inline uint64_t choose(uint64_t n, uint64_t c) {
  if (c > n) return 0;
  if (c == 1) return n;
  unsigned __int128 value = 1;
  for (uint64_t i = 1; i <= c; ++i) {
    value = value * (n - c + i) / i;
    if (value > UINT64_MAX) return UINT64_MAX;
  }
  return static_cast<uint64_t>(value);
}

inline uint64_t plus(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

// Every group needs so many of its candidates, and no two of those chosen may be adjacent: a conflict.
class Choices {
 public:
  explicit Choices(const Graph& graph) : graph_(graph), slot_(graph.largest(), 0) {}

  void clear() { candidates_.clear(), begin_[groups_ = 0] = 0; }
  void add(uint32_t node) { candidates_.push_back(node); }
  // Ends a group whose candidates have `ties` neighbours each in the core. False: there are too few of them.
  bool close_group(uint32_t need, uint32_t ties) {
    need_[groups_] = need;
    ties_[groups_] = ties;
    begin_[++groups_] = static_cast<uint32_t>(candidates_.size());
    return begin_[groups_] - begin_[groups_ - 1] >= need;
  }
  const std::vector<uint32_t>& candidates() const { return candidates_; }

  // Call once all groups are closed. `first` is the smallest node of the graph. Returns the work done.
  uint64_t find_conflicts(uint32_t first) {
    pairs_.clear();
    open_.clear();
    uint32_t total = 0;
    for (int g = 0; g < groups_; ++g) total += need_[g];
    if (total < 2) return 0;
    // Both ends of a conflict have a neighbour outside the core.
    for (int g = 0; g < groups_; ++g) {
      for (uint32_t i = begin_[g]; i < begin_[g + 1]; ++i) {
        if (graph_.degree(candidates_[i]) > ties_[g]) open_.push_back(i);
      }
    }
    if (open_.size() < 2) return 0;
    uint64_t work = 0;
    for (uint32_t i : open_) slot_[candidates_[i] - first] = i + 1;
    for (uint32_t i : open_) {
      const auto list = graph_.neighbours(candidates_[i]);
      work += std::min(list.size(), kHub);
      if (list.size() <= kHub) {
        for (const Neighbour& n : list) {
          const uint32_t other = slot_[n.node - first];
          if (other && (other - 1 > i || graph_.degree(n.node) > kHub)) add_conflict(i, other - 1);
        }
        continue;
      }
      for (uint32_t j : open_) {  // a hub is found from its small neighbours, and from other hubs like this
        if (j >= i) break;
        if (graph_.degree(candidates_[j]) <= kHub) continue;
        const auto at = std::lower_bound(list.begin(), list.end(), candidates_[j],
                                         [](const Neighbour& n, uint32_t node) { return n.node > node; });
        if (at != list.end() && at->node == candidates_[j]) add_conflict(i, j);
      }
    }
    for (uint32_t i : open_) slot_[candidates_[i] - first] = 0;
    if (!pairs_.empty()) list_rivals();
    return work + pairs_.size();
  }

  // The number of ways, 2^64 - 1 if there are more. tick() is called for each branch and stops the count when it says
  // true; cover(node) is called for every node that is part of a choice.
  template <class Tick, class Cover>
  uint64_t count(Tick&& tick, Cover&& cover) {
    for (int g = 0; g < groups_; ++g) available_[g] = begin_[g + 1] - begin_[g];
    if (pairs_.empty()) {
      for (uint32_t node : candidates_) cover(node);
      return product();
    }
    cover_conflicts();
    taken_.clear();
    return branch(0, tick, cover);
  }

  // Calls visit(chosen) with the candidates of every choice, as long as it returns true; accept(group, node) and
  // release(node) frame the time for which a node is chosen, and a node that is not accepted is passed over.
  template <class Accept, class Release, class Visit>
  void each(Accept&& accept, Release&& release, Visit&& visit) {
    taken_.clear();
    pick(0, 0, groups_ ? need_[0] : 0, accept, release, visit);
  }

 private:
  static constexpr size_t kHub = 64;  // longer neighbour lists are not walked in search of conflicts

  void add_conflict(uint32_t i, uint32_t j) {
    const int g = group_of(i);
    if (g != group_of(j) || need_[g] > 1) pairs_.emplace_back(i, j);  // else never chosen together anyway
  }

  int group_of(uint32_t i) const {
    int g = 0;
    while (i >= begin_[g + 1]) ++g;
    return g;
  }

  void list_rivals() {
    rivals_of_.assign(candidates_.size() + 1, 0);
    for (const auto& [i, j] : pairs_) ++rivals_of_[i + 1], ++rivals_of_[j + 1];
    for (size_t i = 1; i < rivals_of_.size(); ++i) rivals_of_[i] += rivals_of_[i - 1];
    rivals_.resize(2 * pairs_.size());
    filled_.assign(rivals_of_.begin(), rivals_of_.end() - 1);
    for (const auto& [i, j] : pairs_) {
      rivals_[filled_[i]++] = j;
      rivals_[filled_[j]++] = i;
    }
    blocked_.assign(candidates_.size(), 0);
  }

  // A set of candidates that has an end of every conflict, taken from groups that need few: once it is decided which of
  // them are chosen, all others are free, and chosen by binomials.
  void cover_conflicts() {
    decided_.assign(candidates_.size(), 0);
    to_decide_.clear();
    for (const auto& [i, j] : pairs_) {
      if (decided_[i] || decided_[j]) continue;
      const int g = group_of(i), h = group_of(j);
      const uint32_t chosen = std::pair(need_[g], g) <= std::pair(need_[h], h) ? i : j;
      decided_[chosen] = 1;
      to_decide_.push_back(chosen);
      --available_[group_of(chosen)];
    }
  }

  uint64_t product() const {
    uint64_t value = 1;
    for (int g = 0; g < groups_; ++g) {
      const uint64_t ways = need_[g] ? choose(available_[g], need_[g]) : 1;
      if (__builtin_mul_overflow(value, ways, &value)) value = UINT64_MAX;
    }
    return value;
  }

  // Choices that take none of the candidates to decide from number `at` on, and those that take one of them first.
  template <class Tick, class Cover>
  uint64_t branch(size_t at, Tick& tick, Cover& cover) {
    uint64_t total = product();
    if (total) cover_available(cover);
    for (; at < to_decide_.size(); ++at) {
      const uint32_t i = to_decide_[at];
      const int g = group_of(i);
      if (blocked_[i] || need_[g] == 0) continue;
      if (tick()) break;
      --need_[g];
      block(i);
      taken_.push_back(i);
      total = plus(total, branch(at + 1, tick, cover));
      taken_.pop_back();
      unblock(i);
      ++need_[g];
    }
    return total;
  }

  template <class Cover>
  void cover_available(Cover& cover) const {
    for (uint32_t i : taken_) cover(candidates_[i]);
    for (int g = 0; g < groups_; ++g) {
      if (need_[g] == 0) continue;
      for (uint32_t i = begin_[g]; i < begin_[g + 1]; ++i) {
        if (!decided_[i] && !blocked_[i]) cover(candidates_[i]);
      }
    }
  }

  void block(uint32_t i) {
    for (uint32_t r = rivals_of_[i]; r < rivals_of_[i + 1]; ++r) {
      if (blocked_[rivals_[r]]++ == 0 && !decided_[rivals_[r]]) --available_[group_of(rivals_[r])];
    }
  }

  void unblock(uint32_t i) {
    for (uint32_t r = rivals_of_[i]; r < rivals_of_[i + 1]; ++r) {
      if (--blocked_[rivals_[r]] == 0 && !decided_[rivals_[r]]) ++available_[group_of(rivals_[r])];
    }
  }

  // `left` candidates from number `from` on for group g, then those of all later groups. False: stop.
  template <class Accept, class Release, class Visit>
  bool pick(int g, uint32_t from, uint32_t left, Accept& accept, Release& release, Visit& visit) {
    if (left == 0) {
      if (g + 1 < groups_) return pick(g + 1, begin_[g + 1], need_[g + 1], accept, release, visit);
      return visit(taken_);
    }
    for (uint32_t i = from; i + left <= begin_[g + 1]; ++i) {
      const uint32_t node = candidates_[i];
      if (in_conflict(i) || !accept(g, node)) continue;
      taken_.push_back(i);
      const bool go_on = pick(g, i + 1, left - 1, accept, release, visit);
      taken_.pop_back();
      release(node);
      if (!go_on) return false;
    }
    return true;
  }

  bool in_conflict(uint32_t i) const {
    if (pairs_.empty()) return false;
    return std::any_of(rivals_.begin() + rivals_of_[i], rivals_.begin() + rivals_of_[i + 1], [&](uint32_t rival) {
      return std::find(taken_.begin(), taken_.end(), rival) != taken_.end();
    });
  }

  const Graph& graph_;
  int groups_ = 0;
  std::vector<uint32_t> candidates_;  // of all groups, numbered through
  std::array<uint32_t, kMaxSize + 1> begin_{};
  std::array<uint32_t, kMaxSize> need_{}, ties_{}, available_{};  // [group]; available: neither blocked nor to decide
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;              // conflicts
  std::vector<uint32_t> rivals_of_, rivals_, filled_;             // the same by candidate
  std::vector<uint32_t> blocked_;                                 // [candidate] rivals that are taken
  std::vector<uint8_t> decided_;                                  // [candidate] is in to_decide_
  std::vector<uint32_t> open_, to_decide_, taken_;
  std::vector<uint32_t> slot_;  // [local node] number of the candidate + 1, while conflicts are looked for
};

}  // namespace grade
