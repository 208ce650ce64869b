// The border to Python: arrays in, arrays out, the GIL released while the core works.
#include <memory>
#include <optional>

#include "arrays.hpp"
#include "canonical.hpp"
#include "census.hpp"
#include "describe.hpp"
#include "classify.hpp"
#include "enumerate.hpp"
#include "graph.hpp"
#include "neighbours.hpp"
#include "orders.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_blocks(nb::module_& m);
void bind_collect(nb::module_& m);
void bind_features(nb::module_& m);
void bind_match(nb::module_& m);
void bind_nas_bench_101(nb::module_& m);
void bind_null(nb::module_& m);
void bind_query(nb::module_& m);
void bind_sampling(nb::module_& m);
void bind_search(nb::module_& m);

namespace grade {
namespace {

SmallGraph small_graph(int k, const uint16_t* types, const uint8_t* edges) {
  SmallGraph graph;
  graph.k = k;
  std::copy_n(types, k, graph.types.begin());
  std::copy_n(edges, k * k, graph.edges.begin());
  return graph;
}

nb::tuple canonical_forms(Matrix<uint16_t> node_types, Cube<uint8_t> edges) {
  const size_t n = node_types.shape(0);
  const int k = checked_size(node_types.shape(1));
  if (edges.shape(0) != n || edges.shape(1) != size_t(k) || edges.shape(2) != size_t(k)) {
    throw BadInput("edges must be [n, k, k] for node types [n, k]");
  }
  auto [types_out, types] = make_array<uint16_t>({n, size_t(k)});
  auto [edges_out, matrix] = make_array<uint8_t>({n, size_t(k), size_t(k)});
  auto [order_out, order] = make_array<uint8_t>({n, size_t(k)});
  auto [automorphisms_out, automorphisms] = make_array<int64_t>({n});
  {
    nb::gil_scoped_release release;
    Canonicalizer canonicalize;
    for (size_t i = 0; i < n; ++i) {
      const SmallGraph graph = small_graph(k, node_types.data() + i * k, edges.data() + i * k * k);
      const CanonicalForm form = canonicalize(graph);
      canonicalize.write(form.order, types + i * k, matrix + i * k * k);
      std::copy_n(form.order.begin(), k, order + i * k);
      automorphisms[i] = static_cast<int64_t>(form.automorphisms);
    }
  }
  return nb::make_tuple(types_out, edges_out, order_out, automorphisms_out);
}

nb::tuple orders(Cube<uint8_t> edges) {
  const size_t n = edges.shape(0);
  const int k = checked_size(edges.shape(1));
  if (edges.shape(2) != size_t(k)) throw BadInput("edges must be [n, k, k]");
  auto [linear_out, linear] = make_array<int64_t>({n});
  auto [level_out, level] = make_array<int64_t>({n});
  {
    nb::gil_scoped_release release;
    for (size_t i = 0; i < n; ++i) {
      const OrderCounts counts = count_orders(k, {edges.data() + i * k * k, size_t(k) * k});
      linear[i] = counts.linear_extensions;
      level[i] = counts.level_orders;
    }
  }
  return nb::make_tuple(linear_out, level_out);
}

// By pattern: what `count` finds (a census, or neighbours).
template <auto count>
nb::tuple counts_by_pattern(const Graph& graph, int k, int threads, std::optional<nb::callable> progress) {
  const KeepGoing keep_going = watch(std::move(progress));
  std::optional<PatternCounts> result;
  std::vector<uint32_t> ids;
  {
    nb::gil_scoped_release release;
    result = count(graph, k, checked_threads(threads), keep_going);
    ids = result->patterns.sorted();
  }
  auto [types, edges, automorphisms] = pattern_arrays(result->patterns, result->automorphisms, ids, k);
  auto [counts_out, counts] = make_array<uint64_t>({ids.size()});
  for (size_t row = 0; row < ids.size(); ++row) counts[row] = result->counts[ids[row]];
  return nb::make_tuple(types, edges, automorphisms, counts_out);
}

nb::tuple classify_occurrences(const Graph& graph, Matrix<uint32_t> occurrences, int threads,
                               std::optional<nb::callable> progress) {
  const int k = checked_size(occurrences.shape(1));
  const size_t n = occurrences.shape(0);
  const KeepGoing keep_going = watch(std::move(progress));
  auto [ids_out, ids] = make_array<int32_t>({n});
  std::optional<Classification> result;
  {
    nb::gil_scoped_release release;
    result.emplace(classify(graph, k, {occurrences.data(), n * k}, checked_threads(threads), keep_going));
    std::copy(result->ids.begin(), result->ids.end(), ids);
  }
  auto [types, edges, automorphisms] =
      pattern_arrays(result->patterns, result->automorphisms, result->patterns.sorted(), k);
  return nb::make_tuple(ids_out, types, edges, automorphisms);
}

// (components, cyclic, self-loops, isolated nodes, fingerprints) of each graph.
nb::tuple describe(Vector<int64_t> node_offsets, Vector<uint16_t> node_types, Vector<int64_t> out_offsets,
                   Vector<uint32_t> out_targets, Vector<uint8_t> out_types, Vector<int64_t> in_offsets,
                   Vector<uint32_t> in_sources, Vector<uint8_t> in_types, int threads) {
  const size_t n = std::max<size_t>(node_offsets.size(), 1) - 1;
  auto [components_out, components] = make_array<uint32_t>({n});
  auto [cyclic_out, cyclic] = make_array<uint8_t>({n});
  auto [loops_out, loops] = make_array<uint32_t>({n});
  auto [isolated_out, isolated] = make_array<uint32_t>({n});
  auto [fingerprints_out, fingerprints] = make_array<uint64_t>({n});
  {
    nb::gil_scoped_release release;
    describe_graphs({span_of(node_offsets), span_of(node_types), span_of(out_offsets), span_of(out_targets),
                     span_of(out_types), span_of(in_offsets), span_of(in_sources), span_of(in_types)},
                    checked_threads(threads), {},
                    {{components, n}, {cyclic, n}, {loops, n}, {isolated, n}, {fingerprints, n}});
  }
  return nb::make_tuple(components_out, cyclic_out, loops_out, isolated_out, fingerprints_out);
}

}  // namespace
}  // namespace grade

NB_MODULE(_core, m) {
  using namespace grade;
  m.doc() = "GraDE's native core: arrays in, arrays out.";
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const BadInput& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    } catch (const TooLarge& e) {
      PyErr_SetString(PyExc_OverflowError, e.what());
    } catch (const Stopped&) {
      const nb::object stopped = nb::module_::import_("grade.progress").attr("Stopped");
      PyErr_SetNone(stopped.ptr());
    }
  });

  nb::class_<Graph>(m, "Graph")
      .def(
          "__init__",
          [](Graph* self, Vector<int64_t> node_offsets, Vector<uint16_t> node_types, Vector<int64_t> out_offsets,
             Vector<uint32_t> out_targets, Vector<uint8_t> out_types, Vector<int64_t> in_offsets,
             Vector<uint32_t> in_sources, Vector<uint8_t> in_types, int threads) {
            nb::gil_scoped_release release;
            new (self) Graph({span_of(node_offsets), span_of(node_types), span_of(out_offsets), span_of(out_targets),
                              span_of(out_types), span_of(in_offsets), span_of(in_sources), span_of(in_types)},
                             checked_threads(threads));
          },
          "node_offsets"_a, "node_types"_a, "out_offsets"_a, "out_targets"_a, "out_types"_a, "in_offsets"_a,
          "in_sources"_a, "in_types"_a, "threads"_a = 1);

  m.def("describe_graphs", &describe, "node_offsets"_a, "node_types"_a, "out_offsets"_a, "out_targets"_a,
        "out_types"_a, "in_offsets"_a, "in_sources"_a, "in_types"_a, "threads"_a);
  m.def("canonical_forms", &canonical_forms, "node_types"_a, "edges"_a);
  m.def("count_orders", &orders, "edges"_a);
  m.def("census", &counts_by_pattern<census>, "graph"_a, "k"_a, "threads"_a, "progress"_a.none());
  m.def("neighbours", &counts_by_pattern<neighbours>, "graph"_a, "k"_a, "threads"_a, "progress"_a.none());
  m.def("classify", &classify_occurrences, "graph"_a, "occurrences"_a, "threads"_a = 1,
        "progress"_a.none() = nb::none());
  m.def(
      "count_instances",
      [](const Graph& graph, int k, int threads, std::optional<nb::callable> progress) {
        const KeepGoing keep_going = watch(std::move(progress));
        nb::gil_scoped_release release;
        return count_instances(graph, k, checked_threads(threads), keep_going);
      },
      "graph"_a, "k"_a, "threads"_a, "progress"_a.none());
  m.def(
      "enumerate",
      [](const Graph& graph, int k, size_t count, int threads, std::optional<nb::callable> progress) {
        const KeepGoing keep_going = watch(std::move(progress));
        auto [result, data] = make_array<uint32_t>({count, size_t(checked_size(k))});
        {
          nb::gil_scoped_release release;
          enumerate(graph, k, checked_threads(threads), keep_going, {data, count * k});
        }
        return result;
      },
      "graph"_a, "k"_a, "count"_a, "threads"_a, "progress"_a.none());
  bind_blocks(m);
  bind_collect(m);
  bind_features(m);
  bind_match(m);
  bind_nas_bench_101(m);
  bind_null(m);
  bind_query(m);
  bind_sampling(m);
  bind_search(m);
}
