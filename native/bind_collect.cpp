// The collector of occurrence lists at the border to Python.
#include "arrays.hpp"
#include "collect.hpp"
#include "enumerate.hpp"
#include "growth_limits.hpp"

namespace grade {
namespace {

using namespace nb::literals;

// (number of the first new pattern, types, edges, automorphisms of the new ones)
nb::tuple fresh(const Collector& collector, uint32_t first, int k) {
  std::vector<uint32_t> ids(collector.patterns().size() - first);
  std::iota(ids.begin(), ids.end(), first);
  auto [types, edges, automorphisms] = pattern_arrays(collector.patterns(), collector.automorphisms(), ids, k);
  return nb::make_tuple(first, types, edges, automorphisms);
}

// A collector, and the graph set that its occurrences come from.
struct Collecting {
  Collecting(const Graph& graph, int k, size_t most, size_t room, uint64_t seed, bool per_node, uint32_t first_node,
             int threads)
      : graph(graph), k(checked_size(k)), threads(checked_threads(threads)), first_node(first_node),
        collector(graph, k, most, room, seed, per_node, first_node, threads) {}
  Collecting(const Collecting&) = delete;

  nb::tuple grow(Matrix<uint32_t> occurrences, Vector<double> weights, Vector<double> rates, Vector<uint8_t> allowed,
                 Vector<uint8_t> distance, int steps_left, int most_in, int most_out, int most_edges,
                 const FusibleIndex* fusible, uint64_t share, uint64_t shares, uint64_t seed,
                 std::optional<nb::callable> progress) {
    const KeepGoing keep_going = watch(std::move(progress));
    if (checked_size(occurrences.shape(1)) + 1 != k) throw BadInput("occurrences must have one node less");
    uint32_t first;
    {
      nb::gil_scoped_release release;
      Grown grown = expand(graph, k - 1, rows_of_matrix(occurrences), span_of(weights), span_of(rates),
                           limits_of(allowed, distance, steps_left, most_in, most_out, most_edges, fusible),
                           {share, shares}, seed, first_node, threads, keep_going);
      first = collector.take(std::move(grown.occurrences), std::move(grown.weights), share > 0, share + 1 < shares,
                             keep_going);
    }
    return fresh(collector, first, k);
  }

  nb::tuple list(uint32_t root, uint64_t skip, size_t most, std::optional<nb::callable> progress) {
    const KeepGoing keep_going = watch(std::move(progress));
    Place next;
    uint32_t first;
    {
      nb::gil_scoped_release release;
      if (root >= graph.nodes()) throw BadInput("there is no such root");
      Block block = enumerate_block(graph, k, {root, skip}, most, threads, keep_going);
      next = block.next;
      auto within = [&](const Place& place) {
        return place.skip > 0 || (place.root < graph.nodes() && graph.begin_of(graph.graph_of(place.root)) < place.root);
      };
      first = collector.take(std::move(block.occurrences), {}, within({root, skip}), within(next), keep_going);
    }
    return nb::make_tuple(next.root, next.skip, fresh(collector, first, k));
  }

  void collect(uint32_t first, Vector<double> divisors, Vector<uint8_t> complete, Vector<uint8_t> wanted,
               std::optional<nb::callable> progress) {
    const KeepGoing keep_going = watch(std::move(progress));
    nb::gil_scoped_release release;
    collector.judge(first, span_of(divisors), span_of(complete), span_of(wanted));
    collector.collect(keep_going);
  }

  // Of the wanted patterns that occur, in the order of their codes.
  nb::dict result() {
    collector.finish();
    const std::vector<uint32_t> ids = collector.met();
    const size_t n = ids.size();
    auto [types, edges, automorphisms] = pattern_arrays(collector.patterns(), collector.automorphisms(), ids, k);
    auto [ids_out, numbers] = make_array<uint32_t>({n});
    auto [counts_out, counts] = make_array<double>({n});
    auto [squares_out, squares] = make_array<double>({n});
    auto [per_node_out, per_node] = make_array<double>({n});
    auto [met_out, met] = make_array<int64_t>({n});
    auto [graphs_out, graphs] = make_array<int64_t>({n});
    auto [coverage_out, coverage] = make_array<int64_t>({n});
    auto [complete_out, complete] = make_array<bool>({n});
    auto [known_out, known] = make_array<bool>({n});
    for (size_t i = 0; i < n; ++i) {
      const Collected& list = collector[ids[i]];
      numbers[i] = ids[i];
      counts[i] = collector.count(ids[i]);
      squares[i] = list.squared ? list.squared->value() : static_cast<double>(list.met);
      per_node[i] = list.per_node ? list.per_node->value() : 0.0;
      met[i] = static_cast<int64_t>(list.met);
      graphs[i] = list.graphs;
      coverage[i] = static_cast<int64_t>(list.cover_known ? list.covered : 0);
      complete[i] = list.complete;
      known[i] = list.cover_known;
    }
    nb::dict result;
    result["node_types"] = types;
    result["edges"] = edges;
    result["automorphisms"] = automorphisms;
    result["numbers"] = ids_out;
    result["counts"] = counts_out;
    result["squares"] = squares_out;
    result["per_node"] = per_node_out;
    result["met"] = met_out;
    result["graphs"] = graphs_out;
    result["coverage"] = coverage_out;
    result["complete"] = complete_out;
    result["coverage_known"] = known_out;
    result["most"] = collector.most();
    return result;
  }

  // All that is known of the wanted patterns that occur, in the order of their codes: what `absorb` takes.
  nb::dict parts() {
    collector.finish();
    const std::vector<uint32_t> ids = collector.met();
    const size_t n = ids.size(), words = ExactSum::kWords;
    auto [types, edges, automorphisms] = pattern_arrays(collector.patterns(), collector.automorphisms(), ids, k);
    auto [met_out, met] = make_array<uint64_t>({n});
    auto [graphs_out, graphs] = make_array<uint64_t>({n});
    auto [covered_out, covered] = make_array<uint64_t>({n});
    auto [known_out, known] = make_array<uint8_t>({n});
    auto [complete_out, complete] = make_array<uint8_t>({n});
    auto [counted_out, counted] = make_array<uint64_t>({n, words});
    auto [squared_out, squared] = make_array<uint64_t>({n, words});
    auto [per_node_out, per_node] = make_array<uint64_t>({n, words});
    auto [offsets_out, offsets] = make_array<int64_t>({n + 1});
    offsets[0] = 0;
    const ExactSum nothing;
    for (size_t i = 0; i < n; ++i) {
      const Collected& list = collector[ids[i]];
      met[i] = list.met;
      graphs[i] = list.graphs;
      covered[i] = list.covered;
      known[i] = list.cover_known;
      complete[i] = list.complete;
      (list.counted ? *list.counted : nothing).write(counted + i * words);
      (list.squared ? *list.squared : nothing).write(squared + i * words);
      (list.per_node ? *list.per_node : nothing).write(per_node + i * words);
      offsets[i + 1] = offsets[i] + static_cast<int64_t>(collector.listed(ids[i]));
    }
    const auto rows = static_cast<size_t>(offsets[n]);
    auto [rows_out, occurrences] = make_array<uint32_t>({rows, size_t(k)});
    auto [weights_out, weights] = make_array<double>({rows});
    auto [priorities_out, priorities] = make_array<double>({rows});
    for (size_t i = 0; i < n; ++i) {
      const auto begin = static_cast<size_t>(offsets[i]);
      collector.write_records(ids[i], occurrences + begin * k, weights + begin, priorities + begin);
    }
    nb::dict result;
    result["node_types"] = types;
    result["edges"] = edges;
    result["automorphisms"] = automorphisms;
    result["met"] = met_out;
    result["graphs"] = graphs_out;
    result["covered"] = covered_out;
    result["cover_known"] = known_out;
    result["complete"] = complete_out;
    result["counted"] = counted_out;
    result["squared"] = squared_out;
    result["per_node"] = per_node_out;
    result["offsets"] = offsets_out;
    result["occurrences"] = rows_out;
    result["weights"] = weights_out;
    result["priorities"] = priorities_out;
    return result;
  }

  void absorb(Matrix<uint16_t> types, Cube<uint8_t> edges, Vector<int64_t> automorphisms, Vector<uint64_t> met,
              Vector<uint64_t> graphs, Vector<uint64_t> covered, Vector<uint8_t> cover_known,
              Vector<uint8_t> complete, Matrix<uint64_t> counted, Matrix<uint64_t> squared,
              Matrix<uint64_t> per_node, Vector<int64_t> offsets, Matrix<uint32_t> occurrences,
              Vector<double> weights, Vector<double> priorities) {
    auto flat = [](const auto& array) {
      size_t size = 1;
      for (size_t i = 0; i < array.ndim(); ++i) size *= array.shape(i);
      return std::span(array.data(), size);
    };
    nb::gil_scoped_release release;
    collector.absorb({flat(types), flat(edges), flat(automorphisms), flat(met), flat(graphs), flat(covered),
                      flat(cover_known), flat(complete), flat(counted), flat(squared), flat(per_node), flat(offsets),
                      flat(occurrences), flat(weights), flat(priorities)});
  }

  nb::tuple lists(Vector<uint32_t> patterns) {
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (patterns.data()[i] >= collector.patterns().size()) throw BadInput("there is no such pattern");
    }
    auto [offsets_out, offsets] = make_array<int64_t>({patterns.size() + 1});
    offsets[0] = 0;
    for (size_t i = 0; i < patterns.size(); ++i) {
      offsets[i + 1] = offsets[i] + static_cast<int64_t>(collector.listed(patterns.data()[i]));
    }
    const auto rows = static_cast<size_t>(offsets[patterns.size()]);
    auto [rows_out, occurrences] = make_array<uint32_t>({rows, size_t(k)});
    auto [weights_out, weights] = make_array<double>({rows});
    {
      nb::gil_scoped_release release;
      collector.write(span_of(patterns), occurrences, weights, {});
    }
    return nb::make_tuple(offsets_out, rows_out, weights_out);
  }

  const Graph& graph;
  const int k, threads;
  const uint32_t first_node;
  Collector collector;
};

}  // namespace
}  // namespace grade

void bind_collect(nanobind::module_& m) {
  using namespace grade;
  nb::class_<Collecting>(m, "Collector")
      .def(nb::init<const Graph&, int, size_t, size_t, uint64_t, bool, uint32_t, int>(), "graph"_a, "k"_a, "most"_a, "room"_a,
           "seed"_a, "per_node"_a, "first_node"_a, "threads"_a, nb::keep_alive<1, 2>())
      .def("grow", &Collecting::grow, "occurrences"_a, "weights"_a, "rates"_a, "allowed"_a, "distance"_a,
           "steps_left"_a, "most_in"_a, "most_out"_a, "most_edges"_a, "fusible"_a.none(), "share"_a, "shares"_a,
           "seed"_a, "progress"_a.none())
      .def("list", &Collecting::list, "root"_a, "skip"_a, "most"_a, "progress"_a.none())
      .def("collect", &Collecting::collect, "first"_a, "divisors"_a, "complete"_a, "wanted"_a, "progress"_a.none())
      .def("result", &Collecting::result)
      .def("parts", &Collecting::parts)
      .def("absorb", &Collecting::absorb, "node_types"_a, "edges"_a, "automorphisms"_a, "met"_a, "graphs"_a,
           "covered"_a, "cover_known"_a, "complete"_a, "counted"_a, "squared"_a, "per_node"_a, "offsets"_a,
           "occurrences"_a, "weights"_a, "priorities"_a)
      .def("lists", &Collecting::lists, "patterns"_a);
}
