// Queries at the border to Python.
#include "arrays.hpp"
#include "query.hpp"

namespace grade {
namespace {

using namespace nb::literals;

template <class T>
Result<T> array_of(const std::vector<T>& values) {
  auto [result, data] = make_array<T>({values.size()});
  std::copy(values.begin(), values.end(), data);
  return result;
}

// (graphs [g], occurrences [g], disjoint [g], covered [nodes], first occurrences [n, k], complete)
nb::tuple answer(const QueryMatcher& matcher, Matrix<uint8_t> types, Cube<uint8_t> edges, size_t limit, int threads,
                 uint64_t steps, double seconds, std::optional<nb::callable> progress) {
  Query query;
  query.k = checked_size(types.shape(0));
  const size_t k = types.shape(0), kinds = types.shape(1);
  if (edges.shape(0) != k || edges.shape(1) != k || edges.shape(2) != 256) {
    throw BadInput("edges must be [k, k, 256] for node types [k, types]");
  }
  if (kinds < matcher.node_types()) throw BadInput("types must be [k, types] for all types of the graph set");
  query.types.assign(k, std::vector<bool>(kinds));
  query.edges.assign(k * k, {});
  for (size_t p = 0; p < k; ++p) {
    for (size_t t = 0; t < kinds; ++t) query.types[p][t] = types.data()[p * kinds + t];
  }
  for (size_t pair = 0; pair < k * k; ++pair) {
    for (size_t t = 0; t < 256; ++t) query.edges[pair][t] = edges.data()[pair * 256 + t];
  }
  const KeepGoing keep_going = watch(std::move(progress));
  QueryAnswer result;
  {
    nb::gil_scoped_release release;
    result = matcher.answer(query, limit, checked_threads(threads), limit_of(steps, seconds), keep_going);
  }
  auto [rows_out, rows] = make_array<uint32_t>({result.occurrences.size() / k, k});
  std::copy(result.occurrences.begin(), result.occurrences.end(), rows);
  return nb::make_tuple(array_of(result.graphs), array_of(result.counts), array_of(result.disjoint),
                        array_of(result.covered), rows_out, result.complete);
}

}  // namespace
}  // namespace grade

void bind_query(nanobind::module_& m) {
  using namespace grade;
  nb::class_<QueryMatcher>(m, "QueryMatcher")
      .def(
          "__init__",
          [](QueryMatcher* self, const Graph& graph, const FusibleIndex* fusible) {
            nb::gil_scoped_release release;
            new (self) QueryMatcher(graph, fusible);
          },
          "graph"_a, "fusible"_a.none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("answer", &answer, "node_types"_a, "edges"_a, "limit"_a, "threads"_a, "steps"_a, "seconds"_a,
           "progress"_a.none());
}
