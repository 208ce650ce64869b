// Counting one pattern at the border to Python.
#include <algorithm>
#include <memory>

#include "arrays.hpp"
#include "match.hpp"

namespace grade {
namespace {

using namespace nb::literals;

SmallGraph pattern_of(const uint16_t* types, const uint8_t* edges, int k) {
  SmallGraph pattern;
  pattern.k = k;
  std::copy_n(types, k, pattern.types.begin());
  std::copy_n(edges, k * k, pattern.edges.begin());
  return pattern;
}

SmallGraph checked_pattern(const Vector<uint16_t>& types, const Matrix<uint8_t>& edges) {
  const int k = checked_size(types.size());
  if (edges.shape(0) != size_t(k) || edges.shape(1) != size_t(k)) {
    throw BadInput("edges must be [k, k] for node types [k]");
  }
  return pattern_of(types.data(), edges.data(), k);
}

template <class T>
Result<T> array_of(const std::vector<T>& values) {
  auto [result, data] = make_array<T>({values.size()});
  std::copy(values.begin(), values.end(), data);
  return result;
}

// (graphs [g], counts [g], covered nodes or -1, complete)
nb::tuple count(const Matcher& matcher, Vector<uint16_t> types, Matrix<uint8_t> edges, bool coverage, int threads,
                double seconds, std::optional<nb::callable> progress) {
  const SmallGraph pattern = checked_pattern(types, edges);
  const KeepGoing keep_going = watch(std::move(progress));
  MatchCounts result;
  {
    nb::gil_scoped_release release;
    result = matcher.count(pattern, coverage, checked_threads(threads), deadline_after(seconds), keep_going);
  }
  const int64_t covered = result.covered ? static_cast<int64_t>(*result.covered) : -1;
  return nb::make_tuple(array_of(result.graphs), array_of(result.counts), covered, result.complete);
}

nb::tuple count_all(const Matcher& matcher, Matrix<uint16_t> types, Cube<uint8_t> edges, int threads, double seconds,
                    std::optional<nb::callable> progress) {
  const size_t n = types.shape(0);
  const int k = checked_size(types.shape(1));
  if (edges.shape(0) != n || edges.shape(1) != size_t(k) || edges.shape(2) != size_t(k)) {
    throw BadInput("edges must be [n, k, k] for node types [n, k]");
  }
  const KeepGoing keep_going = watch(std::move(progress));
  auto [counts_out, counts] = make_array<uint64_t>({n});
  auto [complete_out, complete] = make_array<bool>({n});
  {
    nb::gil_scoped_release release;
    std::vector<SmallGraph> patterns(n);
    for (size_t i = 0; i < n; ++i) patterns[i] = pattern_of(types.data() + i * k, edges.data() + i * k * k, k);
    matcher.count_all(patterns, checked_threads(threads), seconds, keep_going, {counts, n}, {complete, n});
  }
  return nb::make_tuple(counts_out, complete_out);
}

nb::tuple pack(const Matcher& matcher, Vector<uint16_t> types, Matrix<uint8_t> edges, int threads, double seconds,
               std::optional<nb::callable> progress) {
  const SmallGraph pattern = checked_pattern(types, edges);
  const KeepGoing keep_going = watch(std::move(progress));
  MatchCounts result;
  {
    nb::gil_scoped_release release;
    result = matcher.pack(pattern, checked_threads(threads), deadline_after(seconds), keep_going);
  }
  return nb::make_tuple(array_of(result.graphs), array_of(result.counts), result.complete);
}

nb::tuple list(const Matcher& matcher, Vector<uint16_t> types, Matrix<uint8_t> edges, size_t limit, double seconds,
               std::optional<nb::callable> progress) {
  const SmallGraph pattern = checked_pattern(types, edges);
  const KeepGoing keep_going = watch(std::move(progress));
  MatchList result;
  {
    nb::gil_scoped_release release;
    result = matcher.list(pattern, limit, deadline_after(seconds), keep_going);
  }
  const size_t k = types.size();
  auto [rows_out, rows] = make_array<uint32_t>({result.occurrences.size() / k, k});
  std::copy(result.occurrences.begin(), result.occurrences.end(), rows);
  return nb::make_tuple(rows_out, result.complete);
}

}  // namespace
}  // namespace grade

void bind_match(nanobind::module_& m) {
  using namespace grade;
  nb::class_<Matcher>(m, "Matcher")
      .def(
          "__init__",
          [](Matcher* self, const Graph& graph, bool fusible) {
            nb::gil_scoped_release release;
            new (self) Matcher(graph, fusible);
          },
          "graph"_a, "fusible"_a, nb::keep_alive<1, 2>())
      .def("count", &count, "node_types"_a, "edges"_a, "coverage"_a, "threads"_a, "seconds"_a, "progress"_a.none())
      .def("count_all", &count_all, "node_types"_a, "edges"_a, "threads"_a, "seconds"_a, "progress"_a.none())
      .def("pack", &pack, "node_types"_a, "edges"_a, "threads"_a, "seconds"_a, "progress"_a.none())
      .def("list", &list, "node_types"_a, "edges"_a, "limit"_a, "seconds"_a, "progress"_a.none());
}
