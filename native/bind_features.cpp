// Counts by graph and by node at the border to Python.
#include <algorithm>

#include "arrays.hpp"
#include "graph_counts.hpp"
#include "node_orbits.hpp"

namespace grade {
namespace {

using namespace nb::literals;

// Triples (owner [n], column [n], count [n]) in the order of the owners, then the columns.
template <class Counts, class Owner, class Column>
nb::tuple triples(const Counts& counts, Owner&& owner_of, Column&& column_of) {
  auto [owners_out, owners] = make_array<uint32_t>({counts.size()});
  auto [columns_out, columns] = make_array<uint32_t>({counts.size()});
  auto [counts_out, numbers] = make_array<uint64_t>({counts.size()});
  for (size_t i = 0; i < counts.size(); ++i) {
    owners[i] = owner_of(counts[i]);
    columns[i] = column_of(counts[i]);
    numbers[i] = counts[i].count;
  }
  return nb::make_tuple(owners_out, columns_out, counts_out);
}

nb::tuple by_graph(const Graph& graph, int k, int threads, std::optional<nb::callable> progress) {
  const KeepGoing keep_going = watch(std::move(progress));
  std::optional<GraphCounts> found;
  std::vector<uint32_t> order;
  {
    nb::gil_scoped_release release;
    found = graph_counts(graph, k, checked_threads(threads), keep_going);
    order = found->patterns.patterns.sorted();
  }
  const std::vector<int32_t> row_of = rows_of(order);
  auto [types, edges, automorphisms] = pattern_arrays(found->patterns.patterns, found->patterns.automorphisms, order, k);
  return nb::make_tuple(types, edges, automorphisms,
                        triples(
                            found->counts, [](const auto& c) { return c.graph; },
                            [&](const auto& c) { return static_cast<uint32_t>(row_of[c.pattern]); }));
}

nb::tuple by_node(const Graph& graph, Matrix<uint32_t> occurrences) {
  const int k = checked_size(occurrences.shape(1));
  std::optional<NodeOrbits> found;
  std::vector<uint32_t> order, columns;
  {
    nb::gil_scoped_release release;
    found = node_orbits(graph, k, {occurrences.data(), occurrences.shape(0) * k});
    order = found->patterns.sorted();
  }
  const std::vector<int32_t> row_of = rows_of(order);
  columns.resize(found->orbits.size());
  for (uint32_t orbit = 0; orbit < columns.size(); ++orbit) columns[orbit] = orbit;
  auto key = [&](uint32_t orbit) { return std::pair(row_of[found->orbits[orbit].pattern], found->orbits[orbit].place); };
  std::sort(columns.begin(), columns.end(), [&](uint32_t x, uint32_t y) { return key(x) < key(y); });
  const std::vector<int32_t> column_of = rows_of(columns);
  auto [patterns_out, patterns] = make_array<uint32_t>({columns.size()});
  auto [places_out, places] = make_array<uint32_t>({columns.size()});
  for (size_t i = 0; i < columns.size(); ++i) {
    patterns[i] = static_cast<uint32_t>(row_of[found->orbits[columns[i]].pattern]);
    places[i] = found->orbits[columns[i]].place;
  }
  auto [types, edges, automorphisms] = pattern_arrays(found->patterns, found->automorphisms, order, k);
  return nb::make_tuple(types, edges, automorphisms, patterns_out, places_out,
                        triples(
                            found->counts, [](const auto& c) { return c.node; },
                            [&](const auto& c) { return static_cast<uint32_t>(column_of[c.orbit]); }));
}

}  // namespace
}  // namespace grade

void bind_features(nanobind::module_& m) {
  using namespace grade;
  m.def("graph_counts", &by_graph, "graph"_a, "k"_a, "threads"_a, "progress"_a.none());
  m.def("node_orbits", &by_node, "graph"_a, "occurrences"_a);
}
