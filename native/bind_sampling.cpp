// The samplers at the border to Python.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <string>

#include "arrays.hpp"
#include "ars.hpp"
#include "graph_choice.hpp"
#include "nrs.hpp"
#include "population.hpp"
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

nb::tuple as_arrays(const Population& population, size_t depth) {
  const size_t n = population.heads.size();
  auto [members_out, members] = make_array<uint32_t>({n, depth});
  auto [heads_out, heads] = make_array<uint32_t>({n});
  std::copy(population.members.begin(), population.members.end(), members);
  std::copy(population.heads.begin(), population.heads.end(), heads);
  return nb::make_tuple(members_out, heads_out, population.children);
}

Chance chance_of(bool independent) { return independent ? Chance::kIndependent : Chance::kEven; }

// (members [n, 1], heads [n], children) of the roots that are entered; `before`: nodes of the set before this slice.
nb::tuple tree_roots(const Graph& graph, double p, uint64_t seed, uint64_t stream, uint64_t pass, uint64_t before,
                     bool independent) {
  if (!(p > 0 && p <= 1)) throw BadInput("the probability must be above 0 and up to 1");
  const std::array<uint64_t, 3> names{seed, stream, pass << 32};
  Population population;
  {
    nb::gil_scoped_release release;
    population = enter_roots(graph, 0, static_cast<uint32_t>(graph.nodes()), p, names, before,
                             chance_of(independent));
  }
  return as_arrays(population, 1);
}

// (members [m, depth + 1], heads [m], children) of the children that are entered.
nb::tuple tree_children(const Graph& graph, Matrix<uint32_t> members, Vector<uint32_t> heads, double p, bool last_level,
                        uint64_t seed, uint64_t stream, uint64_t pass, uint64_t before, bool independent, int threads,
                        std::optional<nb::callable> progress) {
  const size_t n = members.shape(0), depth = members.shape(1);
  if (!(p > 0 && p <= 1)) throw BadInput("the probability must be above 0 and up to 1");
  if (heads.size() != n || depth < 1 || depth >= size_t(kMaxSize)) throw BadInput("this is no population of a tree");
  const KeepGoing keep_going = watch(std::move(progress));
  const std::array<uint64_t, 3> names{seed, stream, pass << 32};
  Population population;
  {
    nb::gil_scoped_release release;
    population.members.assign(members.data(), members.data() + n * depth);
    population.heads.assign(heads.data(), heads.data() + n);
    for (uint32_t node : population.members) {
      if (node >= graph.nodes()) throw BadInput("this is no population of the tree of this graph set");
    }
    population = enter_children(graph, population, depth, p, last_level, names, before, chance_of(independent),
                                checked_threads(threads), keep_going);
  }
  return as_arrays(population, depth + 1);
}

// [n, k] core ids as ascending ids of the graph set.
Result<uint32_t> ids_of_set(const Graph& graph, Matrix<uint32_t> members) {
  const size_t n = members.shape(0), k = members.shape(1);
  auto [result, data] = make_array<uint32_t>({n, k});
  for (size_t i = 0; i < n * k; ++i) {
    if (members.data()[i] >= graph.nodes()) throw BadInput("a node is not of this graph set");
    data[i] = graph.original(members.data()[i]);
  }
  for (size_t i = 0; i < n; ++i) std::sort(data + i * k, data + (i + 1) * k);
  return result;
}

// So many different places below `total`, in random order: those that the samplers take.
Result<uint64_t> places_of_choice(uint64_t total, uint64_t chosen, uint64_t seed, uint64_t stream) {
  if (chosen > total) throw BadInput("there are fewer places than are to be chosen");
  Random random{seed, stream, 0, 2};
  const std::vector<uint64_t> places = random_places(total, chosen, random);
  auto [result, data] = make_array<uint64_t>({places.size()});
  std::copy(places.begin(), places.end(), data);
  return result;
}

// A dictionary: occurrences [n, k], weights [n], pattern_ids [n], node_types [m, k], edges [m, k, k],
// automorphisms [m], counts [m], quality [m]: 0 no bound, 1 bounded, 2 exact.
nb::dict draw_stratified(const Graph& graph, int k, size_t room, uint64_t hits, uint64_t seed, uint64_t stream,
                         int threads, std::optional<nb::callable> progress) {
  checked_draw(graph, k, room);
  const KeepGoing keep_going = watch(std::move(progress));
  std::optional<StratifiedSample> sample;
  std::vector<uint32_t> order;
  {
    nb::gil_scoped_release release;
    sample = stratified_sample(graph, k, room, hits, seed, stream, checked_threads(threads), keep_going);
    order = sample->patterns.sorted();  // the order that it has
  }
  const size_t n = sample->weights.size(), m = order.size();
  auto [occurrences_out, occurrences] = make_array<uint32_t>({n, size_t(k)});
  auto [weights_out, weights] = make_array<double>({n});
  auto [ids_out, ids] = make_array<int32_t>({n});
  auto [counts_out, counts] = make_array<double>({m});
  auto [quality_out, quality] = make_array<uint8_t>({m});
  std::copy(sample->members.begin(), sample->members.end(), occurrences);
  std::copy(sample->weights.begin(), sample->weights.end(), weights);
  std::copy(sample->pattern.begin(), sample->pattern.end(), ids);
  std::copy(sample->counts.begin(), sample->counts.end(), counts);
  std::transform(sample->quality.begin(), sample->quality.end(), quality, [](Quality q) { return static_cast<uint8_t>(q); });
  auto [types, edges, automorphisms] = pattern_arrays(sample->patterns, sample->automorphisms, order, k);
  nb::dict result;
  result["occurrences"] = occurrences_out;
  result["weights"] = weights_out;
  result["pattern_ids"] = ids_out;
  result["node_types"] = types;
  result["edges"] = edges;
  result["automorphisms"] = automorphisms;
  result["counts"] = counts_out;
  result["quality"] = quality_out;
  return result;
}

}  // namespace
}  // namespace grade

void bind_sampling(nanobind::module_& m) {
  using namespace grade;
  m.def("largest_component", &largest_component, "graph"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("tree_roots", &tree_roots, "graph"_a, "p"_a, "seed"_a, "stream"_a, "tree_pass"_a, "before"_a,
        "independent"_a);
  m.def("tree_children", &tree_children, "graph"_a, "members"_a, "heads"_a, "p"_a, "last_level"_a, "seed"_a, "stream"_a,
        "tree_pass"_a, "before"_a, "independent"_a, "threads"_a, "progress"_a.none());
  m.def("ids_of_set", &ids_of_set, "graph"_a, "members"_a);
  m.def("places_of_choice", &places_of_choice, "total"_a, "chosen"_a, "seed"_a, "stream"_a);
  m.def("ars", &draw_ars, "graph"_a, "k"_a, "count"_a, "weighting"_a, "seed"_a, "stream"_a, "most_attempts"_a,
        "threads"_a, "progress"_a.none());
  m.def("nrs", &draw_nrs, "graph"_a, "k"_a, "count"_a, "weighting"_a, "seed"_a, "stream"_a, "threads"_a,
        "progress"_a.none());
  m.def("stratified", &draw_stratified, "graph"_a, "k"_a, "room"_a, "hits"_a, "seed"_a, "stream"_a, "threads"_a,
        "progress"_a.none());
  m.def("sample_tree", &draw_from_tree, "graph"_a, "k"_a, "count"_a, "probabilities"_a, "capacity"_a, "weighting"_a,
        "seed"_a, "stream"_a, "trie"_a, "threads"_a, "progress"_a.none());
}
