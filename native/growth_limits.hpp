// Limits and rows of occurrences as they come from Python, for the files that bind growth.
#pragma once

#include "arrays.hpp"
#include "expand.hpp"

namespace grade {

inline GrowthLimits limits_of(const Vector<uint8_t>& allowed, const Vector<uint8_t>& distance, int steps_left,
                              int most_in, int most_out, int most_edges, const FusibleIndex* fusible) {
  return {span_of(allowed), span_of(distance), steps_left, most_in, most_out, most_edges, fusible};
}

inline std::span<const uint32_t> rows_of_matrix(const Matrix<uint32_t>& matrix) {
  return {matrix.data(), matrix.shape(0) * matrix.shape(1)};
}

}  // namespace grade
