// The samplers at the border to Python.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>

#include "arrays.hpp"
#include "ars.hpp"
#include "graph_choice.hpp"
#include "nrs.hpp"
#include "rand_esu.hpp"
#include "rand_fase.hpp"
#include "stratified.hpp"

namespace grade {
namespace {

using namespace nb::literals;

uint32_t largest_component(const Graph& graph) {
  const std::vector<uint32_t> sizes = component_sizes(graph);
  return sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
}

int checked_draw(const Graph& graph, int k, size_t count) {
  if (k < 2 || k > kMaxSize) throw BadInput("k must be from 2 to 16");
  if (count < 1) throw BadInput("the number of draws must be at least 1");
  if (largest_component(graph) < static_cast<uint32_t>(k)) throw BadInput("there is no connected subgraph of k nodes");
  return k;
}

Weighting weighting_of(const std::string& name) {
  if (name == "occurrences") return Weighting::kOccurrences;
  if (name == "edges") return Weighting::kEdges;
  if (name == "graphs") return Weighting::kGraphs;
  throw BadInput("the weighting must be occurrences, edges or graphs");
}

nb::tuple draw_ars(const Graph& graph, int k, size_t count, const std::string& weighting, uint64_t seed,
                   uint64_t stream, uint64_t most_attempts, int threads, std::optional<nb::callable> progress) {
  checked_draw(graph, k, count);
  const KeepGoing keep_going = watch(std::move(progress));
  auto [result, data] = make_array<uint32_t>({count, size_t(k)});
  ArsReport report;
  {
    nb::gil_scoped_release release;
    report = ars(graph, k, weighting_of(weighting), seed, stream, most_attempts, checked_threads(threads), keep_going,
                 {data, count * k});
  }
  return nb::make_tuple(result, report.accepted, report.attempts, report.hopeless);
}

Result<uint32_t> draw_nrs(const Graph& graph, int k, size_t count, const std::string& weighting, uint64_t seed,
                          uint64_t stream, int threads, std::optional<nb::callable> progress) {
  checked_draw(graph, k, count);
  const KeepGoing keep_going = watch(std::move(progress));
  auto [result, data] = make_array<uint32_t>({count, size_t(k)});
  {
    nb::gil_scoped_release release;
    nrs(graph, k, weighting_of(weighting), seed, stream, checked_threads(threads), keep_going, {data, count * k});
  }
  return result;
}

// A dictionary: occurrences [n, k], weights [n], probabilities [k], leaves, passes, hopeless; and from the trie
// pattern_ids [n], node_types [m, k], edges [m, k, k], automorphisms [m].
nb::dict draw_from_tree(const Graph& graph, int k, size_t count, Vector<double> probabilities, size_t capacity,
                        const std::string& weighting, uint64_t seed, uint64_t stream, bool trie, int threads,
                        std::optional<nb::callable> progress) {
  checked_draw(graph, k, count);
  if (probabilities.size() != size_t(k) ||
      !std::all_of(probabilities.data(), probabilities.data() + k, [](double p) { return p > 0 && p <= 1; })) {
    throw BadInput("there must be k probabilities above 0 and up to 1");
  }
  const TreeRequest request{k, count, span_of(probabilities), std::max<size_t>(capacity, 1), weighting_of(weighting),
                            seed, stream, checked_threads(threads)};
  const KeepGoing keep_going = watch(std::move(progress));
  TreeSample sample;
  std::optional<ClassifiedLeaves> classified;
  std::vector<uint32_t> order;
  {
    nb::gil_scoped_release release;
    sample = rand_esu(graph, request, keep_going);
    if (sample.hopeless) sample.members.clear(), sample.weights.clear();
    if (trie) {
      classified = classify_by_trie(graph, k, sample.members);
      order = classified->patterns.sorted();
    }
  }
  const size_t n = sample.weights.size();
  auto [occurrences_out, occurrences] = make_array<uint32_t>({n, size_t(k)});
  auto [weights_out, weights] = make_array<double>({n});
  auto [probabilities_out, used] = make_array<double>({sample.probabilities.size()});
  for (size_t i = 0; i < n; ++i) {
    uint32_t* row = occurrences + i * k;
    std::transform(sample.members.begin() + i * k, sample.members.begin() + (i + 1) * k, row,
                   [&](uint32_t node) { return graph.original(node); });
    std::sort(row, row + k);
  }
  std::copy(sample.weights.begin(), sample.weights.end(), weights);
  std::copy(sample.probabilities.begin(), sample.probabilities.end(), used);
  nb::dict result;
  result["occurrences"] = occurrences_out;
  result["weights"] = weights_out;
  result["probabilities"] = probabilities_out;
  result["leaves"] = sample.leaves;
  result["passes"] = sample.passes;
  result["hopeless"] = sample.hopeless;
  if (classified) {
    auto [ids_out, ids] = make_array<int32_t>({n});
    const std::vector<int32_t> row_of = rows_of(order);
    for (size_t i = 0; i < n; ++i) ids[i] = row_of[classified->ids[i]];
    auto [types, edges, automorphisms] = pattern_arrays(classified->patterns, classified->automorphisms, order, k);
    result["pattern_ids"] = ids_out;
    result["node_types"] = types;
    result["edges"] = edges;
    result["automorphisms"] = automorphisms;
    result["trie_leaves"] = classified->trie_leaves;
  }
  return result;
}

// A dictionary: occurrences [n, k], weights [n], pattern_ids [n], node_types [m, k], edges [m, k, k],
// automorphisms [m], counts [m], exact [m].
nb::dict draw_stratified(const Graph& graph, int k, size_t room, uint64_t seed, uint64_t stream, int threads,
                         std::optional<nb::callable> progress) {
  checked_draw(graph, k, room);
  const KeepGoing keep_going = watch(std::move(progress));
  std::optional<StratifiedSample> sample;
  std::vector<uint32_t> order;
  {
    nb::gil_scoped_release release;
    sample = stratified_sample(graph, k, room, seed, stream, checked_threads(threads), keep_going);
    order = sample->patterns.sorted();  // the order that it has
  }
  const size_t n = sample->weights.size(), m = order.size();
  auto [occurrences_out, occurrences] = make_array<uint32_t>({n, size_t(k)});
  auto [weights_out, weights] = make_array<double>({n});
  auto [ids_out, ids] = make_array<int32_t>({n});
  auto [counts_out, counts] = make_array<double>({m});
  auto [exact_out, exact] = make_array<bool>({m});
  std::copy(sample->members.begin(), sample->members.end(), occurrences);
  std::copy(sample->weights.begin(), sample->weights.end(), weights);
  std::copy(sample->pattern.begin(), sample->pattern.end(), ids);
  std::copy(sample->counts.begin(), sample->counts.end(), counts);
  std::copy(sample->exact.begin(), sample->exact.end(), exact);
  auto [types, edges, automorphisms] = pattern_arrays(sample->patterns, sample->automorphisms, order, k);
  nb::dict result;
  result["occurrences"] = occurrences_out;
  result["weights"] = weights_out;
  result["pattern_ids"] = ids_out;
  result["node_types"] = types;
  result["edges"] = edges;
  result["automorphisms"] = automorphisms;
  result["counts"] = counts_out;
  result["exact"] = exact_out;
  return result;
}

}  // namespace
}  // namespace grade

void bind_sampling(nanobind::module_& m) {
  using namespace grade;
  m.def("largest_component", &largest_component, "graph"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("ars", &draw_ars, "graph"_a, "k"_a, "count"_a, "weighting"_a, "seed"_a, "stream"_a, "most_attempts"_a,
        "threads"_a, "progress"_a.none());
  m.def("nrs", &draw_nrs, "graph"_a, "k"_a, "count"_a, "weighting"_a, "seed"_a, "stream"_a, "threads"_a,
        "progress"_a.none());
  m.def("stratified", &draw_stratified, "graph"_a, "k"_a, "room"_a, "seed"_a, "stream"_a, "threads"_a,
        "progress"_a.none());
  m.def("sample_tree", &draw_from_tree, "graph"_a, "k"_a, "count"_a, "probabilities"_a, "capacity"_a, "weighting"_a,
        "seed"_a, "stream"_a, "trie"_a, "threads"_a, "progress"_a.none());
}
