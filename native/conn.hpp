// How one node is tied to the members of a growing subgraph: one arc class per member, packed into an integer.
#pragma once

#include <cstdint>

#include "mixing.hpp"

namespace grade {

// Up to 15 members with 4 bits each: enough for 15 arc classes, so for graphs with up to 3 edge types.
struct NarrowConn {
  static constexpr int kBits = 4;
  static constexpr uint32_t kMaxArc = 15;
  uint64_t bits = 0;

  static NarrowConn at(int member, uint32_t arc) { return {uint64_t{arc} << (kBits * member)}; }
  bool none() const { return bits == 0; }
  uint32_t arc(int member) const { return bits >> (kBits * member) & kMaxArc; }
  void add(int member, uint32_t arc) { bits |= uint64_t{arc} << (kBits * member); }
  void clear(int member) { bits &= ~(uint64_t{kMaxArc} << (kBits * member)); }
  uint64_t mix() const { return bits; }
  friend bool operator==(const NarrowConn&, const NarrowConn&) = default;
};

// Up to 16 members with 16 bits each: enough for every pair of 255 edge types.
struct WideConn {
  static constexpr uint32_t kMaxArc = 65'535;
  uint16_t arcs[16] = {};

  static WideConn at(int member, uint32_t arc) {
    WideConn conn;
    conn.add(member, arc);
    return conn;
  }
  bool none() const { return *this == WideConn{}; }
  uint32_t arc(int member) const { return arcs[member]; }
  void add(int member, uint32_t arc) { arcs[member] = static_cast<uint16_t>(arc); }
  void clear(int member) { arcs[member] = 0; }
  uint64_t mix() const {
    uint64_t value = 0;
    for (uint16_t arc : arcs) value = (value ^ arc) * kGolden;
    return value;
  }
  friend bool operator==(const WideConn&, const WideConn&) = default;
};

}  // namespace grade
