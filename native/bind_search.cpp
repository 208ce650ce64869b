// The search's kernels at the border to Python.
#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "arrays.hpp"
#include "exact_sum.hpp"
#include "fusible_sets.hpp"
#include "growth_limits.hpp"
#include "joins.hpp"
#include "list_supports.hpp"
#include "parts.hpp"
#include "priorities.hpp"

namespace grade {
namespace {

using namespace nb::literals;

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

nb::tuple thin(Vector<int64_t> offsets, Matrix<uint32_t> occurrences, Vector<double> weights, size_t most, uint64_t seed,
               int threads) {
  Thinned thinned;
  {
    nb::gil_scoped_release release;
    thinned = thin_lists(checked_size(occurrences.shape(1)), span_of(offsets), rows_of_matrix(occurrences),
                         span_of(weights), most, seed, checked_threads(threads), {});
  }
  auto [rows_out, rows] = make_array<int64_t>({thinned.rows.size()});
  auto [weights_out, kept] = make_array<double>({thinned.weights.size()});
  std::copy(thinned.rows.begin(), thinned.rows.end(), rows);
  std::copy(thinned.weights.begin(), thinned.weights.end(), kept);
  return nb::make_tuple(rows_out, weights_out);
}

Result<double> sums_by_number(Vector<int32_t> numbers, Vector<double> terms, size_t n) {
  if (numbers.size() != terms.size()) throw BadInput("every term needs a number");
  auto [result, data] = make_array<double>({n});
  {
    nb::gil_scoped_release release;
    std::vector<ExactSum> sums(n);
    for (size_t i = 0; i < terms.size(); ++i) {
      if (numbers.data()[i] < 0 || size_t(numbers.data()[i]) >= n) throw BadInput("a number is too large");
      sums[numbers.data()[i]].add(terms.data()[i]);
    }
    for (size_t i = 0; i < n; ++i) data[i] = sums[i].value();
  }
  return result;
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

// [patterns, k + 1] rows of the kept patterns, or -1
Result<int64_t> parts_among(Matrix<uint16_t> types, Cube<uint8_t> edges, Matrix<uint16_t> kept_types,
                            Cube<uint8_t> kept_edges, int threads) {
  const std::vector<SmallGraph> patterns = patterns_of(types, edges), kept = patterns_of(kept_types, kept_edges);
  auto [result, data] = make_array<int64_t>({patterns.size(), size_t(types.shape(1))});
  {
    nb::gil_scoped_release release;
    const std::vector<int64_t> found = connected_parts(patterns, kept, checked_threads(threads));
    std::copy(found.begin(), found.end(), data);
  }
  return result;
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
  m.def("connected_parts", &parts_among, "node_types"_a, "edges"_a, "kept_types"_a, "kept_edges"_a, "threads"_a);
  m.def("growth_counts", &growth_counts, "graph"_a, "occurrences"_a, "allowed"_a, "distance"_a, "steps_left"_a,
        "most_in"_a, "most_out"_a, "most_edges"_a, "fusible"_a.none(), "threads"_a, "progress"_a.none());
  m.def("list_supports", &supports_of_lists, "graph"_a, "offsets"_a, "occurrences"_a, "threads"_a,
        "progress"_a.none());
  m.def("thin_lists", &thin, "offsets"_a, "occurrences"_a, "weights"_a, "most"_a, "seed"_a, "threads"_a);
  m.def("exact_sums", &sums_by_number, "numbers"_a, "terms"_a, "n"_a);
  m.def("give_back_memory", [] {  // what was freed, to the system
#ifdef __GLIBC__
    malloc_trim(0);
#endif
  });
  m.def("hash_node_sets", &hashes, "occurrences"_a, "seed"_a);
}
