// Mixing of bits, for hash tables and for random numbers: the one place for its constants.
#pragma once

#include <cstdint>

namespace grade {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ull;  // 2^64 divided by the golden ratio, made odd

// The finaliser of splitmix64: a bijection of 64 bits in which every input bit reaches every output bit.
constexpr uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

// Two numbers mixed well enough for a hash table whose keys are not chosen by an adversary, in half the time.
constexpr uint64_t quickly_mixed(uint64_t a, uint64_t b) {
  uint64_t value = a * kGolden;
  value = (value ^ (value >> 29) ^ b) * 0xBF58476D1CE4E5B9ull;
  return value ^ (value >> 32);
}

}  // namespace grade
