// A table of distinct small graphs of one size, found by their whole content: never by a hash alone.
#pragma once

#include <cstdint>
#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

#include "canonical.hpp"

namespace grade {

class PatternMap {
 public:
  explicit PatternMap(int k) : k_(k), width_(k * 2 + k * k), slots_(1024, 0) {}

  // Number of the graph as it is written (not of its class), and whether it is new.
  std::pair<uint32_t, bool> insert(const SmallGraph& graph);
  int64_t find(const SmallGraph& graph) const;  // its number, or -1

  size_t size() const { return codes_.size() / width_; }
  SmallGraph at(uint32_t id) const;
  // Types as big-endian pairs of bytes, then edges row by row: comparing codes compares (types, edges).
  std::string_view code(uint32_t id) const {
    return {reinterpret_cast<const char*>(codes_.data()) + size_t{id} * width_, size_t(width_)};
  }
  // Ids in the order of their codes.
  std::vector<uint32_t> sorted() const;
  size_t bytes() const { return codes_.capacity() + slots_.capacity() * sizeof(uint32_t); }

 private:
  using Code = std::array<uint8_t, kMaxSize * 2 + kMaxSize * kMaxSize>;

  void grow();
  std::string_view write(const SmallGraph& graph, Code& code) const;

  int k_, width_;
  std::vector<uint8_t> codes_;
  std::vector<uint32_t> slots_;  // id + 1, 0 where free
};

}  // namespace grade
