// Bookkeeping of the merging of units: which root feeds which unit, and the kinds of pairs with their counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "blocks.hpp"
#include "random.hpp"

namespace grade {

// A set of (root, unit) pairs with linear probing; it never holds more than it was made for.
class FeedSet {
 public:
  explicit FeedSet(size_t most) {
    size_t capacity = 16;
    while (capacity < most + most / 2) capacity *= 2;
    slots_.assign(capacity, kEmpty);
  }
  bool contains(uint32_t root, uint32_t unit) const { return slots_[find(key(root, unit))] != kEmpty; }
  void insert(uint32_t root, uint32_t unit) { slots_[find(key(root, unit))] = key(root, unit); }
  bool erase(uint32_t root, uint32_t unit) {
    size_t hole = find(key(root, unit));
    if (slots_[hole] == kEmpty) return false;
    for (size_t at = next(hole); slots_[at] != kEmpty; at = next(at)) {  // close the gap
      const size_t home = place_of(slots_[at]);
      if (((at - home) & (slots_.size() - 1)) >= ((at - hole) & (slots_.size() - 1))) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole] = kEmpty;
    return true;
  }

 private:
  static constexpr uint64_t kEmpty = UINT64_MAX;
  static uint64_t key(uint32_t root, uint32_t unit) { return uint64_t(root) << 32 | unit; }
  size_t place_of(uint64_t key) const { return mixed(key) & (slots_.size() - 1); }
  size_t next(size_t at) const { return (at + 1) & (slots_.size() - 1); }
  size_t find(uint64_t key) const {
    size_t at = place_of(key);
    while (slots_[at] != kEmpty && slots_[at] != key) at = next(at);
    return at;
  }
  std::vector<uint64_t> slots_;
};

// Kinds of pairs, each known by its content: label of the unit, label of its consumer, (place, edge label) of each
// read. The units of a kind form a list through their handles.
class PairTable {
 public:
  struct Pair {
    uint64_t begin;
    uint32_t length, count, head, queued;  // queued: the count under which it waits in the heap
  };

  explicit PairTable(size_t units) : pair_of(units, kNobody), next_(units), before_(units), slots_(1024, kNobody) {}

  uint32_t intern(std::span<const uint32_t> content) {
    if (pairs_.size() * 2 >= slots_.size()) rehash();
    size_t at = hash(content) & (slots_.size() - 1);
    for (; slots_[at] != kNobody; at = (at + 1) & (slots_.size() - 1)) {
      const auto known = this->content(slots_[at]);
      if (std::equal(known.begin(), known.end(), content.begin(), content.end())) return slots_[at];
    }
    slots_[at] = static_cast<uint32_t>(pairs_.size());
    pairs_.push_back({contents_.size(), static_cast<uint32_t>(content.size()), 0, kNobody, 0});
    contents_.insert(contents_.end(), content.begin(), content.end());
    return slots_[at];
  }

  void add(uint32_t unit, uint32_t id) {
    Pair& pair = pairs_[id];
    pair_of[unit] = id;
    before_[unit] = kNobody;
    next_[unit] = pair.head;
    if (pair.head != kNobody) before_[pair.head] = unit;
    pair.head = unit;
    if (++pair.count > pair.queued) touched.push_back(id);
  }

  void remove(uint32_t unit) {
    if (pair_of[unit] == kNobody) return;
    Pair& pair = pairs_[pair_of[unit]];
    if (before_[unit] != kNobody) next_[before_[unit]] = next_[unit];
    else pair.head = next_[unit];
    if (next_[unit] != kNobody) before_[next_[unit]] = before_[unit];
    --pair.count;
    pair_of[unit] = kNobody;
  }

  std::vector<uint32_t> units(uint32_t id) const {
    std::vector<uint32_t> found;
    for (uint32_t unit = pairs_[id].head; unit != kNobody; unit = next_[unit]) found.push_back(unit);
    return found;
  }

  size_t size() const { return pairs_.size(); }
  Pair& operator[](uint32_t id) { return pairs_[id]; }
  std::span<const uint32_t> content(uint32_t id) const {
    return {contents_.data() + pairs_[id].begin, pairs_[id].length};
  }

  std::vector<uint32_t> pair_of;  // [units]
  std::vector<uint32_t> touched;  // pairs whose count has risen above the one they wait with

 private:
  static uint64_t hash(std::span<const uint32_t> content) {
    uint64_t sum = content.size();
    for (uint32_t word : content) sum = mixed(sum + word + 0x9E3779B97F4A7C15ull);
    return sum;
  }
  void rehash() {
    slots_.assign(slots_.size() * 2, kNobody);
    for (uint32_t id = 0; id < pairs_.size(); ++id) {
      size_t at = hash(content(id)) & (slots_.size() - 1);
      while (slots_[at] != kNobody) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = id;
    }
  }

  std::vector<uint32_t> next_, before_;
  std::vector<Pair> pairs_;
  std::vector<uint32_t> contents_, slots_;
};

}  // namespace grade
