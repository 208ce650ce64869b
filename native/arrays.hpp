// What the files at the border to Python share: arrays in, arrays out, progress, checked numbers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "checked.hpp"
#include "graph.hpp"
#include "parallel.hpp"
#include "pattern_map.hpp"

namespace grade {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Cube = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Result = nb::ndarray<nb::numpy, T>;

template <class T>
std::span<const T> span_of(const Vector<T>& array) {
  return {array.data(), array.size()};
}

// A numpy array that owns its memory, filled by the caller.
template <class T>
std::pair<Result<T>, T*> make_array(std::initializer_list<size_t> shape) {
  size_t bytes = sizeof(T);
  for (size_t n : shape) bytes = checked_product(bytes, n);
  T* data = new T[bytes / sizeof(T)];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return {Result<T>(data, shape, owner), data};
}

// Python's progress callback, or none, with a look at pending signals (Ctrl-C) in either case.
inline KeepGoing watch(std::optional<nb::callable> progress) {
  return [progress = std::move(progress)](double fraction) {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress) return true;
    return !nb::object((*progress)(fraction)).is(nb::bool_(false));
  };
}

inline int checked_threads(int threads) {
  if (threads < 1 || threads > 1024) throw BadInput("the number of threads must be from 1 to 1024");
  return threads;
}

inline int checked_size(size_t k) {
  if (k < 1 || k > static_cast<size_t>(kMaxSize)) throw BadInput("patterns have 1 to 16 nodes");
  return static_cast<int>(k);
}

// Patterns as (types [m, k], edges [m, k, k], automorphisms [m]) in the given order of their ids.
inline std::tuple<Result<uint16_t>, Result<uint8_t>, Result<int64_t>> pattern_arrays(
    const PatternMap& patterns, const std::vector<uint64_t>& automorphisms, const std::vector<uint32_t>& ids, int k) {
  const size_t m = ids.size();
  auto [types_out, types] = make_array<uint16_t>({m, size_t(k)});
  auto [edges_out, edges] = make_array<uint8_t>({m, size_t(k), size_t(k)});
  auto [automorphisms_out, counts] = make_array<int64_t>({m});
  for (size_t row = 0; row < m; ++row) {
    const SmallGraph graph = patterns.at(ids[row]);
    std::copy_n(graph.types.begin(), k, types + row * k);
    std::copy_n(graph.edges.begin(), k * k, edges + row * k * k);
    counts[row] = static_cast<int64_t>(automorphisms[ids[row]]);
  }
  return {types_out, edges_out, automorphisms_out};
}

// The numbers of patterns as rows of the table that lists them in `order`.
inline std::vector<int32_t> rows_of(const std::vector<uint32_t>& order) {
  std::vector<int32_t> row_of(order.size());
  for (size_t row = 0; row < order.size(); ++row) row_of[order[row]] = static_cast<int32_t>(row);
  return row_of;
}

}  // namespace grade
