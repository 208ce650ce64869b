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

// (graphs [g], counts [g], covered nodes or -1, complete, steps)
nb::tuple count(const Matcher& matcher, Vector<uint16_t> types, Matrix<uint8_t> edges, bool coverage, int threads,
                uint64_t steps, double seconds, std::optional<nb::callable> progress) {
  const SmallGraph pattern = checked_pattern(types, edges);
  const KeepGoing keep_going = watch(std::move(progress));
  MatchCounts result;
  {
    nb::gil_scoped_release release;
    result = matcher.count(pattern, coverage, checked_threads(threads), limit_of(steps, seconds), keep_going);
  }
  const int64_t covered = result.covered ? static_cast<int64_t>(*result.covered) : -1;
  return nb::make_tuple(array_of(result.graphs), array_of(result.counts), covered, result.complete, result.steps);
}

// Patterns of one size as the kernels want them.
std::vector<SmallGraph> checked_patterns(const Matrix<uint16_t>& types, const Cube<uint8_t>& edges) {
  const size_t n = types.shape(0);
  const int k = checked_size(types.shape(1));
  if (edges.shape(0) != n || edges.shape(1) != size_t(k) || edges.shape(2) != size_t(k)) {
    throw BadInput("edges must be [n, k, k] for node types [n, k]");
  }
  std::vector<SmallGraph> patterns(n);
  for (size_t i = 0; i < n; ++i) patterns[i] = pattern_of(types.data() + i * k, edges.data() + i * k * k, k);
  return patterns;
}

nb::tuple count_all(const Matcher& matcher, Matrix<uint16_t> types, Cube<uint8_t> edges, int threads, uint64_t steps,
                    std::optional<nb::callable> progress) {
  const std::vector<SmallGraph> patterns = checked_patterns(types, edges);
  const size_t n = patterns.size();
  const KeepGoing keep_going = watch(std::move(progress));
  auto [counts_out, counts] = make_array<uint64_t>({n});
  auto [complete_out, complete] = make_array<bool>({n});
  auto [taken_out, taken] = make_array<uint64_t>({n});
  {
    nb::gil_scoped_release release;
    matcher.count_all(patterns, checked_threads(threads), steps, keep_going, {counts, n}, {complete, n}, {taken, n});
  }
  return nb::make_tuple(counts_out, complete_out, taken_out);
}

// (offsets [n + 1], graphs of all patterns, complete [n])
nb::tuple find_graphs(const Matcher& matcher, Matrix<uint16_t> types, Cube<uint8_t> edges, Vector<int64_t> offsets,
                      Vector<uint32_t> graphs, int64_t least, int64_t enough, int threads, uint64_t steps,
                      std::optional<nb::callable> progress) {
  const std::vector<SmallGraph> patterns = checked_patterns(types, edges);
  const KeepGoing keep_going = watch(std::move(progress));
  GraphsOfPatterns result;
  {
    nb::gil_scoped_release release;
    result = matcher.find_graphs(patterns, {span_of(offsets), span_of(graphs), least, enough},
                                 checked_threads(threads), steps, keep_going);
  }
  auto [offsets_out, ends] = make_array<int64_t>({patterns.size() + 1});
  ends[0] = 0;
  for (size_t i = 0; i < patterns.size(); ++i) ends[i + 1] = ends[i] + static_cast<int64_t>(result.graphs[i].size());
  auto [graphs_out, found] = make_array<uint32_t>({static_cast<size_t>(ends[patterns.size()])});
  auto [complete_out, complete] = make_array<bool>({patterns.size()});
  for (size_t i = 0; i < patterns.size(); ++i) {
    std::copy(result.graphs[i].begin(), result.graphs[i].end(), found + ends[i]);
    complete[i] = result.complete[i];
  }
  return nb::make_tuple(offsets_out, graphs_out, complete_out);
}

// (disjoint occurrences [n], complete [n])
nb::tuple pack_all(const Matcher& matcher, Matrix<uint16_t> types, Cube<uint8_t> edges, int threads, uint64_t steps,
                   std::optional<nb::callable> progress) {
  const std::vector<SmallGraph> patterns = checked_patterns(types, edges);
  const size_t n = patterns.size();
  const KeepGoing keep_going = watch(std::move(progress));
  auto [disjoint_out, disjoint] = make_array<int64_t>({n});
  auto [complete_out, complete] = make_array<bool>({n});
  {
    nb::gil_scoped_release release;
    matcher.pack_all(patterns, checked_threads(threads), steps, keep_going, {disjoint, n}, {complete, n});
  }
  return nb::make_tuple(disjoint_out, complete_out);
}

// (disjoint occurrences [n], complete [n])
nb::tuple pack_free(const Matcher& matcher, Matrix<uint16_t> types, Cube<uint8_t> edges, Vector<uint8_t> blocked,
                    int threads, uint64_t steps, std::optional<nb::callable> progress) {
  const std::vector<SmallGraph> patterns = checked_patterns(types, edges);
  const size_t n = patterns.size();
  const KeepGoing keep_going = watch(std::move(progress));
  auto [disjoint_out, disjoint] = make_array<int64_t>({n});
  auto [complete_out, complete] = make_array<bool>({n});
  {
    nb::gil_scoped_release release;
    matcher.pack_free(patterns, span_of(blocked), checked_threads(threads), steps, keep_going, {disjoint, n},
                      {complete, n});
  }
  return nb::make_tuple(disjoint_out, complete_out);
}

// (nodes newly covered [n], complete [n])
nb::tuple cover_beyond(const Matcher& matcher, Matrix<uint16_t> types, Cube<uint8_t> edges, Vector<uint8_t> covered,
                       int threads, uint64_t steps, std::optional<nb::callable> progress) {
  const std::vector<SmallGraph> patterns = checked_patterns(types, edges);
  const size_t n = patterns.size();
  const KeepGoing keep_going = watch(std::move(progress));
  auto [fresh_out, fresh] = make_array<int64_t>({n});
  auto [complete_out, complete] = make_array<bool>({n});
  {
    nb::gil_scoped_release release;
    matcher.cover_beyond(patterns, span_of(covered), checked_threads(threads), steps, keep_going, {fresh, n},
                         {complete, n});
  }
  return nb::make_tuple(fresh_out, complete_out);
}

Result<uint32_t> nodes_of(const Matcher& matcher, Vector<uint16_t> types, Matrix<uint8_t> edges,
                          Vector<uint8_t> blocked, bool disjoint, uint64_t steps,
                          std::optional<nb::callable> progress) {
  const SmallGraph pattern = checked_pattern(types, edges);
  const KeepGoing keep_going = watch(std::move(progress));
  std::vector<uint32_t> nodes;
  {
    nb::gil_scoped_release release;
    nodes = matcher.nodes_of(pattern, span_of(blocked), disjoint, steps, keep_going);
  }
  return array_of(nodes);
}

// (minimum image-based support [n], covered nodes [n], complete [n], images of each orbit [n, 16])
nb::tuple find_images(const Matcher& matcher, Matrix<uint16_t> types, Cube<uint8_t> edges, int64_t least, int threads,
                      uint64_t steps, std::optional<nb::callable> progress) {
  const std::vector<SmallGraph> patterns = checked_patterns(types, edges);
  const size_t n = patterns.size();
  const KeepGoing keep_going = watch(std::move(progress));
  auto [fewest_out, fewest] = make_array<int64_t>({n});
  auto [covered_out, covered] = make_array<int64_t>({n});
  auto [complete_out, complete] = make_array<bool>({n});
  auto [images_out, images] = make_array<int64_t>({n, size_t(kMaxSize)});
  {
    nb::gil_scoped_release release;
    matcher.find_images(patterns, least, checked_threads(threads), steps, keep_going, {fewest, n}, {covered, n},
                        {complete, n}, {images, n * kMaxSize});
  }
  return nb::make_tuple(fewest_out, covered_out, complete_out, images_out);
}

nb::tuple pack(const Matcher& matcher, Vector<uint16_t> types, Matrix<uint8_t> edges, int threads, uint64_t steps,
               double seconds, std::optional<nb::callable> progress) {
  const SmallGraph pattern = checked_pattern(types, edges);
  const KeepGoing keep_going = watch(std::move(progress));
  MatchCounts result;
  {
    nb::gil_scoped_release release;
    result = matcher.pack(pattern, checked_threads(threads), limit_of(steps, seconds), keep_going);
  }
  return nb::make_tuple(array_of(result.graphs), array_of(result.counts), result.complete, result.steps);
}

nb::tuple list(const Matcher& matcher, Vector<uint16_t> types, Matrix<uint8_t> edges, size_t limit, uint64_t steps,
               double seconds, std::optional<nb::callable> progress) {
  const SmallGraph pattern = checked_pattern(types, edges);
  const KeepGoing keep_going = watch(std::move(progress));
  MatchList result;
  {
    nb::gil_scoped_release release;
    result = matcher.list(pattern, limit, limit_of(steps, seconds), keep_going);
  }
  const size_t k = types.size();
  auto [rows_out, rows] = make_array<uint32_t>({result.occurrences.size() / k, k});
  std::copy(result.occurrences.begin(), result.occurrences.end(), rows);
  return nb::make_tuple(rows_out, result.complete, result.steps);
}

// [n, 3] type, loop and number of nodes of each class
Result<uint64_t> class_populations(const Graph& graph) {
  const std::vector<ClassSize> found = populations(graph);
  auto [result, data] = make_array<uint64_t>({found.size(), size_t{3}});
  for (const ClassSize& each : found) {
    *data++ = each.type;
    *data++ = each.loop;
    *data++ = each.nodes;
  }
  return result;
}

}  // namespace
}  // namespace grade

void bind_match(nanobind::module_& m) {
  using namespace grade;
  m.def("populations", &class_populations, "graph"_a);
  nb::class_<Matcher>(m, "Matcher")
      .def(
          "__init__",
          [](Matcher* self, const Graph& graph, const FusibleIndex* fusible,
             std::optional<Matrix<uint64_t>> of_the_whole) {
            std::vector<ClassSize> known;
            if (of_the_whole && of_the_whole->shape(1) != 3) throw BadInput("populations must be [n, 3]");
            for (size_t i = 0; of_the_whole && i < of_the_whole->shape(0); ++i) {
              const uint64_t* row = of_the_whole->data() + i * 3;
              known.push_back({static_cast<uint16_t>(row[0]), static_cast<uint8_t>(row[1]), row[2]});
            }
            nb::gil_scoped_release release;
            new (self) Matcher(graph, fusible, known);
          },
          "graph"_a, "fusible"_a.none(), "of_the_whole"_a.none() = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("count", &count, "node_types"_a, "edges"_a, "coverage"_a, "threads"_a, "steps"_a, "seconds"_a,
           "progress"_a.none())
      .def("count_all", &count_all, "node_types"_a, "edges"_a, "threads"_a, "steps"_a, "progress"_a.none())
      .def("find_graphs", &find_graphs, "node_types"_a, "edges"_a, "offsets"_a, "graphs"_a, "least"_a, "enough"_a,
           "threads"_a, "steps"_a, "progress"_a.none())
      .def("pack_all", &pack_all, "node_types"_a, "edges"_a, "threads"_a, "steps"_a, "progress"_a.none())
      .def("pack_free", &pack_free, "node_types"_a, "edges"_a, "blocked"_a, "threads"_a, "steps"_a,
           "progress"_a.none())
      .def("cover_beyond", &cover_beyond, "node_types"_a, "edges"_a, "covered"_a, "threads"_a, "steps"_a,
           "progress"_a.none())
      .def("nodes_of", &nodes_of, "node_types"_a, "edges"_a, "blocked"_a, "disjoint"_a, "steps"_a,
           "progress"_a.none())
      .def("find_images", &find_images, "node_types"_a, "edges"_a, "least"_a, "threads"_a, "steps"_a,
           "progress"_a.none())
      .def("pack", &pack, "node_types"_a, "edges"_a, "threads"_a, "steps"_a, "seconds"_a, "progress"_a.none())
      .def("list", &list, "node_types"_a, "edges"_a, "limit"_a, "steps"_a, "seconds"_a, "progress"_a.none());
}
