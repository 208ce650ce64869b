// Arithmetic that says when a result is too large instead of wrapping round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace grade {

// Raised where a result passes what 64 bits can hold or memory can address.
struct TooLarge : std::overflow_error {
  using std::overflow_error::overflow_error;
};

inline void add_checked(uint64_t& sum, uint64_t count) {
  if (__builtin_add_overflow(sum, count, &sum)) throw TooLarge("a count passes 2^64");
}

inline uint64_t multiplied_checked(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) throw TooLarge("a count passes 2^64");
  return product;
}

// The size of an array, or of one more of its dimensions.
inline size_t checked_product(size_t a, size_t b) {
  size_t product;
  if (__builtin_mul_overflow(a, b, &product) || product > PTRDIFF_MAX) {
    throw TooLarge("an array of this shape cannot be addressed");
  }
  return product;
}

}  // namespace grade
