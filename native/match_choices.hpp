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

  // The number of ways, 2^64 - 1 if there are more. tick(work) is called now and then and stops the count when it says
  // true. If `covering`, cover(node) is called for every node that is part of a choice.
  template <class Tick, class Cover>
  uint64_t count(bool covering, Tick&& tick, Cover&& cover) {
    left_ = 0;
    for (int g = 0; g < groups_; ++g) {
      pool_[g] = free_[g] = begin_[g + 1] - begin_[g];
      left_ += need_[g];
    }
    if (pairs_.empty()) {
      for (size_t i = 0; covering && i < candidates_.size(); ++i) cover(candidates_[i]);
      return product();
    }
    cover_conflicts();
    taken_.clear();
    return branch(0, covering, tick, cover);
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
  enum State : uint8_t { kFree, kOpen, kDecided };  // free: not to be decided; open: not yet

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
    state_.assign(candidates_.size(), kFree);
    to_decide_.clear();
    for (const auto& [i, j] : pairs_) {
      if (state_[i] == kOpen || state_[j] == kOpen) continue;
      const int g = group_of(i), h = group_of(j);
      const uint32_t chosen = std::pair(need_[g], g) <= std::pair(need_[h], h) ? i : j;
      state_[chosen] = kOpen;
      to_decide_.push_back(chosen);
      --free_[group_of(chosen)];
    }
    std::sort(to_decide_.begin(), to_decide_.end(), [&](uint32_t i, uint32_t j) {
      return std::pair(need_[group_of(i)], i) < std::pair(need_[group_of(j)], j);
    });
  }

  uint64_t product() const {
    uint64_t value = 1;
    for (int g = 0; g < groups_; ++g) {
      const uint64_t ways = need_[g] ? choose(free_[g], need_[g]) : 1;
      if (__builtin_mul_overflow(value, ways, &value)) value = UINT64_MAX;
    }
    return value;
  }

  // Choices that take none of the candidates to decide from number `at` on, and those that take one of them first.
  template <class Tick, class Cover>
  uint64_t branch(size_t at, bool covering, Tick& tick, Cover& cover) {
    for (int g = 0; g < groups_; ++g) {
      if (pool_[g] < need_[g]) return 0;
    }
    if (left_ == 2) return last_two(covering, tick, cover);
    uint64_t total = product();
    if (total && covering) {
      for (uint32_t i : taken_) cover(candidates_[i]);
      for (uint32_t i = 0; i < candidates_.size(); ++i) {
        if (state_[i] == kFree && !blocked_[i] && need_[group_of(i)]) cover(candidates_[i]);
      }
    }
    for (size_t next = at; next < to_decide_.size(); ++next) {
      const uint32_t i = to_decide_[next];
      const int g = group_of(i);
      state_[i] = kDecided;
      if (blocked_[i]) continue;
      --pool_[g];
      if (need_[g] == 0 || tick(1)) continue;
      --need_[g], --left_;
      block(i);
      taken_.push_back(i);
      total = plus(total, branch(next + 1, covering, tick, cover));
      taken_.pop_back();
      unblock(i);
      ++need_[g], ++left_;
    }
    for (size_t next = at; next < to_decide_.size(); ++next) {
      state_[to_decide_[next]] = kOpen;
      if (!blocked_[to_decide_[next]]) ++pool_[group_of(to_decide_[next])];
    }
    return total;
  }

  // Pairs that are in the pool, less those in conflict.
  template <class Tick, class Cover>
  uint64_t last_two(bool covering, Tick& tick, Cover& cover) {
    int g = 0;
    while (need_[g] == 0) ++g;
    int h = g;
    if (need_[g] == 1) {
      do ++h;
      while (need_[h] == 0);
      if (begin_[h + 1] - begin_[h] < begin_[g + 1] - begin_[g]) std::swap(g, h);
    }
    uint64_t conflicts = each_partnered(g, h, tick, [](uint32_t, uint64_t) {});
    if (g == h) conflicts /= 2;
    const uint64_t total = (g == h ? choose(pool_[g], 2) : pool_[g] * uint64_t{pool_[h]}) - conflicts;
    if (total && covering) {
      for (uint32_t i : taken_) cover(candidates_[i]);
      auto cover_partnered = [&](uint32_t i, uint64_t partners) {
        if (partners) cover(candidates_[i]);
      };
      each_partnered(g, h, tick, cover_partnered);
      if (g != h) each_partnered(h, g, tick, cover_partnered);
    }
    return total;
  }

  // Calls visit(i, partners) for the pool of group g with the number of those in the pool of h that go with i; returns
  // the number of those that do not.
  template <class Tick, class Visit>
  uint64_t each_partnered(int g, int h, Tick& tick, Visit&& visit) {
    uint64_t conflicts = 0, work = 0;
    for (uint32_t i = begin_[g]; i < begin_[g + 1]; ++i) {
      if (!in_pool(i)) continue;
      uint64_t against = 0;
      for (uint32_t r = rivals_of_[i]; r < rivals_of_[i + 1]; ++r) {
        const uint32_t rival = rivals_[r];
        against += rival >= begin_[h] && rival < begin_[h + 1] && in_pool(rival);
      }
      visit(i, pool_[h] - (g == h) - against);
      conflicts += against;
      work += 1 + rivals_of_[i + 1] - rivals_of_[i];
    }
    tick(work);
    return conflicts;
  }

  bool in_pool(uint32_t i) const { return state_[i] != kDecided && !blocked_[i]; }

  void block(uint32_t i) {
    for (uint32_t r = rivals_of_[i]; r < rivals_of_[i + 1]; ++r) {
      const uint32_t rival = rivals_[r];
      if (blocked_[rival]++ || state_[rival] == kDecided) continue;
      --pool_[group_of(rival)];
      if (state_[rival] == kFree) --free_[group_of(rival)];
    }
  }

  void unblock(uint32_t i) {
    for (uint32_t r = rivals_of_[i]; r < rivals_of_[i + 1]; ++r) {
      const uint32_t rival = rivals_[r];
      if (--blocked_[rival] || state_[rival] == kDecided) continue;
      ++pool_[group_of(rival)];
      if (state_[rival] == kFree) ++free_[group_of(rival)];
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
  std::array<uint32_t, kMaxSize> need_{}, ties_{};     // [group] candidates still to choose; neighbours in the core
  std::array<uint32_t, kMaxSize> pool_{}, free_{};     // [group] candidates that are not blocked: open or free; free
  uint32_t left_ = 0;                                  // sum of need_
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;   // conflicts
  std::vector<uint32_t> rivals_of_, rivals_, filled_;  // the same by candidate
  std::vector<uint32_t> blocked_;                      // [candidate] rivals that are taken
  std::vector<State> state_;                           // [candidate]
  std::vector<uint32_t> open_, to_decide_, taken_;
  std::vector<uint32_t> slot_;  // [local node] number of the candidate + 1, while conflicts are looked for
};

}  // namespace grade
