// Sums of doubles that are exact, and so the same whatever the order of the terms and however they are dealt to
// threads or machines: each term is added to an integer that stands for its range of exponents.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace grade {

class ExactSum {
 public:
  // A finite term, not negative; below 2^-76 it counts for nothing, above 2^150 for too little.
  void add(double term) {
    const auto bits = std::bit_cast<uint64_t>(term);
    const int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1075 - kLowest;  // of the mantissa's last bit
    if (exponent < 0) return;
    const uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
    const int bin = std::min(exponent / kRange, kBins - 1);
    bins_[bin] += static_cast<__uint128_t>(mantissa) << std::min(exponent - bin * kRange, 2 * kRange);
  }

  void add(const ExactSum& other) {
    for (int bin = 0; bin < kBins; ++bin) bins_[bin] += other.bins_[bin];
  }

  // The sum as words, lowest first, to be stored and to be added again elsewhere.
  static constexpr size_t kWords = 14;
  void write(uint64_t* words) const {
    for (int bin = 0; bin < kBins; ++bin) {
      words[2 * bin] = static_cast<uint64_t>(bins_[bin]);
      words[2 * bin + 1] = static_cast<uint64_t>(bins_[bin] >> 64);
    }
  }
  void add_words(const uint64_t* words) {
    for (int bin = 0; bin < kBins; ++bin) {
      bins_[bin] += static_cast<__uint128_t>(words[2 * bin + 1]) << 64 | words[2 * bin];
    }
  }

  double value() const {
    double sum = 0;
    for (int bin = kBins; bin-- > 0;) sum += std::ldexp(static_cast<double>(bins_[bin]), kLowest + bin * kRange);
    return sum;
  }

 private:
  static constexpr int kLowest = -128, kRange = 32, kBins = 7;
  std::array<__uint128_t, kBins> bins_{};  // [i] in units of 2^(kLowest + 32 i); room for 2^43 terms
};

}  // namespace grade
