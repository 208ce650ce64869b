// Null models at the border to Python.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "arrays.hpp"
#include "null_ensemble.hpp"

namespace grade {
namespace {

using namespace nb::literals;

NullRequest request_of(const std::string& model, bool allow_cycles, bool keep_pairs, double sweeps, uint64_t seed) {
  if (!(sweeps >= 0 && sweeps <= 1e9)) throw BadInput("the number of moves for each edge must be from 0 to 1e9");
  NullRequest request{NullModel::kDegrees, {allow_cycles, keep_pairs}, sweeps, seed};
  if (model == "types") {
    request.model = NullModel::kTypes;
  } else if (model == "levels") {
    request.model = NullModel::kLevels;
  } else if (model == "block") {
    request.model = NullModel::kBlock;
  } else if (model != "degrees") {
    throw BadInput("the null model must be degrees, types, levels or block");
  }
  return request;
}

// Variance with n - 1 in the denominator, from whole numbers.
double variance(const NullSums& sums, size_t draws) {
  if (draws < 2) return std::nan("");
  const auto n = static_cast<unsigned __int128>(draws);
  const auto square = static_cast<unsigned __int128>(sums.sum) * sums.sum;
  return static_cast<double>(n * sums.squares - square) / (static_cast<double>(draws) * static_cast<double>(draws - 1));
}

// Columns of rows: observed, mean, variance, at_least and at_most (draws), most.
nb::dict columns(const std::vector<const NullEnsemble::Row*>& rows, size_t draws) {
  auto [observed_out, observed] = make_array<uint64_t>({rows.size()});
  auto [most_out, most] = make_array<uint64_t>({rows.size()});
  auto [mean_out, mean] = make_array<double>({rows.size()});
  auto [variance_out, spread] = make_array<double>({rows.size()});
  auto [at_least_out, at_least] = make_array<uint64_t>({rows.size()});
  auto [at_most_out, at_most] = make_array<uint64_t>({rows.size()});
  for (size_t i = 0; i < rows.size(); ++i) {
    const NullSums& sums = rows[i]->sums;
    observed[i] = rows[i]->observed;
    most[i] = sums.most;
    mean[i] = draws ? static_cast<double>(sums.sum) / static_cast<double>(draws) : std::nan("");
    spread[i] = variance(sums, draws);
    at_least[i] = observed[i] == 0 ? draws : sums.greater + sums.equal;
    at_most[i] = draws - sums.greater;
  }
  nb::dict result;
  result["observed"] = observed_out;
  result["mean"] = mean_out;
  result["variance"] = variance_out;
  result["at_least"] = at_least_out;
  result["at_most"] = at_most_out;
  result["most"] = most_out;
  return result;
}

nb::dict ensemble(const Graph& set, int k, const std::string& model, bool allow_cycles, bool keep_pairs, double sweeps,
                  uint64_t seed, size_t draws, bool by_graph, int threads, std::optional<nb::callable> progress) {
  const NullRequest request = request_of(model, allow_cycles, keep_pairs, sweeps, seed);
  const KeepGoing keep_going = watch(std::move(progress));
  std::optional<NullEnsemble> found;
  std::vector<uint32_t> order;
  std::vector<const NullEnsemble::Row*> rows, graph_rows;
  {
    nb::gil_scoped_release release;
    found = null_ensemble(set, k, request, draws, by_graph, checked_threads(threads), keep_going);
    order = found->patterns.sorted();
    const std::vector<int32_t> row_of = rows_of(order);
    for (uint32_t id : order) rows.push_back(&found->rows[id]);
    for (auto& row : found->graph_rows) {
      row.pattern = static_cast<uint32_t>(row_of[row.pattern]);
      graph_rows.push_back(&row);
    }
    std::sort(graph_rows.begin(), graph_rows.end(), [](const auto* x, const auto* y) {
      return std::pair(x->graph, x->pattern) < std::pair(y->graph, y->pattern);
    });
  }
  auto [types, edges, automorphisms] = pattern_arrays(found->patterns, found->automorphisms, order, k);
  nb::dict result = columns(rows, draws);
  result["node_types"] = types;
  result["edges"] = edges;
  result["automorphisms"] = automorphisms;
  auto [instances_out, instances] = make_array<uint64_t>({draws});
  std::copy(found->instances.begin(), found->instances.end(), instances);
  result["instances"] = instances_out;
  result["steps"] = found->steps;
  result["accepted"] = found->accepted;
  if (by_graph) {
    nb::dict by = columns(graph_rows, draws);
    auto [graphs_out, graphs] = make_array<uint32_t>({graph_rows.size()});
    auto [patterns_out, patterns] = make_array<uint32_t>({graph_rows.size()});
    for (size_t i = 0; i < graph_rows.size(); ++i) {
      graphs[i] = graph_rows[i]->graph;
      patterns[i] = graph_rows[i]->pattern;
    }
    by["graph"] = graphs_out;
    by["pattern"] = patterns_out;
    result["by_graph"] = by;
  }
  return result;
}

nb::tuple series(const Graph& set, int k, const std::string& model, bool allow_cycles, bool keep_pairs, double sweeps,
                 uint64_t seed, size_t snapshots, int threads, std::optional<nb::callable> progress) {
  const NullRequest request = request_of(model, allow_cycles, keep_pairs, sweeps, seed);
  const KeepGoing keep_going = watch(std::move(progress));
  std::optional<NullSeries> found;
  {
    nb::gil_scoped_release release;
    found = null_series(set, k, request, snapshots, checked_threads(threads), keep_going);
  }
  auto [counts_out, counts] = make_array<uint64_t>({snapshots, found->patterns.size()});
  std::copy(found->counts.begin(), found->counts.end(), counts);
  return nb::make_tuple(counts_out, found->steps, found->accepted);
}

nb::tuple draw_edges(const Graph& set, const std::string& model, bool allow_cycles, bool keep_pairs, double sweeps,
                     uint64_t seed, size_t draw, int threads, std::optional<nb::callable> progress) {
  const NullRequest request = request_of(model, allow_cycles, keep_pairs, sweeps, seed);
  const KeepGoing keep_going = watch(std::move(progress));
  std::vector<NullGraph::Edge> found;
  {
    nb::gil_scoped_release release;
    found = null_draw(set, request, draw, checked_threads(threads), keep_going);
  }
  auto [ends_out, ends] = make_array<uint32_t>({found.size(), size_t(2)});
  auto [types_out, types] = make_array<uint8_t>({found.size()});
  for (size_t i = 0; i < found.size(); ++i) {
    ends[2 * i] = found[i].source;
    ends[2 * i + 1] = found[i].target;
    types[i] = found[i].type;
  }
  return nb::make_tuple(ends_out, types_out);
}

}  // namespace
}  // namespace grade

void bind_null(nanobind::module_& m) {
  using namespace grade;
  m.def("null_ensemble", &ensemble, "graph"_a, "k"_a, "model"_a, "allow_cycles"_a, "keep_pairs"_a, "sweeps"_a, "seed"_a,
        "draws"_a, "by_graph"_a, "threads"_a, "progress"_a.none());
  m.def("null_series", &series, "graph"_a, "k"_a, "model"_a, "allow_cycles"_a, "keep_pairs"_a, "sweeps"_a, "seed"_a,
        "snapshots"_a, "threads"_a, "progress"_a.none());
  m.def("null_draw", &draw_edges, "graph"_a, "model"_a, "allow_cycles"_a, "keep_pairs"_a, "sweeps"_a, "seed"_a, "draw"_a,
        "threads"_a, "progress"_a.none());
}
