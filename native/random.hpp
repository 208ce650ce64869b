// Random numbers that depend on names, not on history: every draw has a generator of its own, seeded from what it
// is (seed, stream, index, ...), so that results are the same whatever thread does the work.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "mixing.hpp"

namespace grade {

// splitmix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014): 16 bytes of state with
// the increment, which is drawn as well, so that two generators never run through the same sequence shifted.
class Random {
 public:
  Random(std::initializer_list<uint64_t> names) {
    for (uint64_t name : names) state_ = mixed(state_ + kGolden + mixed(name + 0xD1B54A32D192ED03ull));
    increment_ = mixed(state_ ^ 0xA0761D6478BD642Full) | 1;
  }

  uint64_t bits() { return mixed(state_ += increment_); }

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  // Uniform in {0, ..., bound - 1} without bias (Lemire, "Fast Random Integer Generation in an Interval", 2019).
  uint64_t below(uint64_t bound) {
    __uint128_t product = static_cast<__uint128_t>(bits()) * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t threshold = -bound % bound;
      while (static_cast<uint64_t>(product) < threshold) product = static_cast<__uint128_t>(bits()) * bound;
    }
    return static_cast<uint64_t>(product >> 64);
  }

 private:
  uint64_t state_ = 0, increment_;
};

}  // namespace grade
