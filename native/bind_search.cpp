// The search's kernels at the border to Python.
#include "arrays.hpp"
#include "expand.hpp"
#include "fusible_sets.hpp"
#include "joins.hpp"
#include "list_supports.hpp"

namespace grade {
namespace {

using namespace nb::literals;

GrowthLimits limits_of(const Vector<uint8_t>& allowed, const Vector<uint8_t>& distance, int steps_left, int most_in,
                       int most_out, int most_edges, const FusibleIndex* fusible) {
  return {span_of(allowed), span_of(distance), steps_left, most_in, most_out, most_edges, fusible};
}

std::span<const uint32_t> rows_of_matrix(const Matrix<uint32_t>& matrix) {
  return {matrix.data(), matrix.shape(0) * matrix.shape(1)};
}

Result<uint32_t> growth_counts(const Graph& graph, Matrix<uint32_t> occurrences, Vector<uint8_t> allowed,
                               Vector<uint8_t> distance, int steps_left, int most_in, int most_out, int most_edges,
                               const FusibleIndex* fusible, int threads, std::optional<nb::callable> progress) {
  const KeepGoing keep_going = watch(std::move(progress));
  auto [result, data] = make_array<uint32_t>({occurrences.shape(0)});
  {
    nb::gil_scoped_release release;
    const auto counts = count_growth(graph, checked_size(occurrences.shape(1)), rows_of_matrix(occurrences),
                                     limits_of(allowed, distance, steps_left, most_in, most_out, most_edges, fusible),
                                     checked_threads(threads), keep_going);
    std::copy(counts.begin(), counts.end(), data);
  }
  return result;
}

nb::tuple expand_occurrences(const Graph& graph, Matrix<uint32_t> occurrences, Vector<double> weights,
                             Vector<double> rates, Vector<uint8_t> allowed, Vector<uint8_t> distance, int steps_left,
                             int most_in, int most_out, int most_edges, const FusibleIndex* fusible, uint64_t seed, int threads,
                             std::optional<nb::callable> progress, uint32_t first_node) {
  const KeepGoing keep_going = watch(std::move(progress));
  const int k = checked_size(occurrences.shape(1));
  std::optional<Grown> grown;
  {
    nb::gil_scoped_release release;
    grown = expand(graph, k, rows_of_matrix(occurrences), span_of(weights), span_of(rates),
                   limits_of(allowed, distance, steps_left, most_in, most_out, most_edges, fusible), seed,
                   checked_threads(threads), keep_going, first_node);
  }
  const size_t n = grown->weights.size();
  auto [rows_out, rows] = make_array<uint32_t>({n, size_t(k) + 1});
  auto [weights_out, sums] = make_array<double>({n});
  auto [ids_out, ids] = make_array<int32_t>({n});
  std::copy(grown->occurrences.begin(), grown->occurrences.end(), rows);
  std::copy(grown->weights.begin(), grown->weights.end(), sums);
  std::copy(grown->ids.begin(), grown->ids.end(), ids);
  auto [types, edges, automorphisms] =
      pattern_arrays(grown->patterns, grown->automorphisms, grown->patterns.sorted(), k + 1);
  return nb::make_tuple(rows_out, weights_out, ids_out, types, edges, automorphisms);
}

// Occurrences [n, k], or None where there are more than `most`.
std::optional<Result<uint32_t>> fusible_sets(const FusibleIndex& index, int k, size_t most, Vector<uint8_t> allowed,
                                             int most_in, int most_out, int most_edges, int threads,
                                             std::optional<nb::callable> progress) {
  const KeepGoing keep_going = watch(std::move(progress));
  FusibleSets sets;
  {
    nb::gil_scoped_release release;
    if (allowed.size() && allowed.size() != index.graph().nodes()) {
      throw BadInput("a limit must have one entry for each node");
    }
    sets = list_fusible(index, k, most, {span_of(allowed), {}, 0, most_in, most_out, most_edges},
                        checked_threads(threads), keep_going);
  }
  if (!sets.complete) return std::nullopt;
  auto [rows_out, rows] = make_array<uint32_t>({sets.occurrences.size() / k, size_t(k)});
  std::copy(sets.occurrences.begin(), sets.occurrences.end(), rows);
  return rows_out;
}

Result<double> hashes(Matrix<uint32_t> occurrences, uint64_t seed) {
  auto [result, data] = make_array<double>({occurrences.shape(0)});
  hash_node_sets(checked_size(occurrences.shape(1)), rows_of_matrix(occurrences), seed,
                 {data, occurrences.shape(0)});
  return result;
}

nb::tuple supports_of_lists(const Graph& graph, Vector<int64_t> offsets, Matrix<uint32_t> occurrences, int threads,
                            std::optional<nb::callable> progress) {
  if (offsets.size() == 0) throw BadInput("the offsets are empty");
  const KeepGoing keep_going = watch(std::move(progress));
  const size_t patterns = offsets.size() - 1;
  auto [graphs_out, graphs] = make_array<int64_t>({patterns});
  auto [covered_out, covered] = make_array<int64_t>({patterns});
  {
    nb::gil_scoped_release release;
    list_supports(graph, checked_size(occurrences.shape(1)), span_of(offsets), rows_of_matrix(occurrences),
                  checked_threads(threads), keep_going, {{graphs, patterns}, {covered, patterns}});
  }
  return nb::make_tuple(graphs_out, covered_out);
}

std::vector<SmallGraph> patterns_of(const Matrix<uint16_t>& types, const Cube<uint8_t>& edges) {
  const size_t n = types.shape(0);
  const int k = checked_size(types.shape(1));
  if (edges.shape(0) != n || edges.shape(1) != size_t(k) || edges.shape(2) != size_t(k)) {
    throw BadInput("edges must be [n, k, k] for node types [n, k]");
  }
  std::vector<SmallGraph> patterns(n);
  for (size_t i = 0; i < n; ++i) {
    patterns[i].k = k;
    std::copy_n(types.data() + i * k, k, patterns[i].types.begin());
    std::copy_n(edges.data() + i * k * k, k * k, patterns[i].edges.begin());
  }
  return patterns;
}

// (types, edges, automorphisms, parts [m, k + 1]); where there are more than `most`, a number that they do not exceed.
nb::object join(Matrix<uint16_t> types, Cube<uint8_t> edges, Matrix<uint16_t> pair_types,
                              Cube<uint8_t> pair_edges, size_t most, int threads,
                              std::optional<nb::callable> progress) {
  const std::vector<SmallGraph> patterns = patterns_of(types, edges), pairs = patterns_of(pair_types, pair_edges);
  if (!pairs.empty() && pairs[0].k != 2) throw BadInput("pairs have 2 nodes");
  const KeepGoing keep_going = watch(std::move(progress));
  const int k = checked_size(types.shape(1));
  std::optional<Joined> joined;
  {
    nb::gil_scoped_release release;
    joined = join_patterns(patterns, pairs, most, checked_threads(threads), keep_going);
  }
  if (!joined->complete) return nb::int_(joined->bound);
  auto [types_out, edges_out, automorphisms_out] =
      pattern_arrays(joined->patterns, joined->automorphisms, joined->patterns.sorted(), k + 1);
  auto [parts_out, parts] = make_array<int32_t>({joined->patterns.size(), size_t(k) + 1});
  std::copy(joined->parts.begin(), joined->parts.end(), parts);
  return nb::make_tuple(types_out, edges_out, automorphisms_out, parts_out);
}

}  // namespace
}  // namespace grade

void bind_search(nanobind::module_& m) {
  using namespace grade;
  nb::class_<FusibleIndex>(m, "FusibleIndex")
      .def(
          "__init__",
          [](FusibleIndex* self, const Graph& graph, Vector<uint8_t> outputs) {
            nb::gil_scoped_release release;
            new (self) FusibleIndex(graph, span_of(outputs));
          },
          "graph"_a, "outputs"_a, nb::keep_alive<1, 2>());
  m.def("fusible_sets", &fusible_sets, "index"_a, "k"_a, "most"_a, "allowed"_a, "most_in"_a, "most_out"_a,
        "most_edges"_a, "threads"_a, "progress"_a.none());
  m.def("join_patterns", &join, "node_types"_a, "edges"_a, "pair_types"_a, "pair_edges"_a, "most"_a, "threads"_a,
        "progress"_a.none());
  m.def("growth_counts", &growth_counts, "graph"_a, "occurrences"_a, "allowed"_a, "distance"_a, "steps_left"_a,
        "most_in"_a, "most_out"_a, "most_edges"_a, "fusible"_a.none(), "threads"_a, "progress"_a.none());
  m.def("expand", &expand_occurrences, "graph"_a, "occurrences"_a, "weights"_a, "rates"_a, "allowed"_a, "distance"_a,
        "steps_left"_a, "most_in"_a, "most_out"_a, "most_edges"_a, "fusible"_a.none(), "seed"_a, "threads"_a, "progress"_a.none(),
        "first_node"_a = 0);
  m.def("list_supports", &supports_of_lists, "graph"_a, "offsets"_a, "occurrences"_a, "threads"_a,
        "progress"_a.none());
  m.def("hash_node_sets", &hashes, "occurrences"_a, "seed"_a);
}
