// The border to Python: arrays in, arrays out, the GIL released while the core works.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>

#include "canonical.hpp"
#include "census.hpp"
#include "classify.hpp"
#include "enumerate.hpp"
#include "graph.hpp"
#include "orders.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_nas_bench_101(nb::module_& m);

namespace grade {
namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Cube = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Result = nb::ndarray<nb::numpy, T>;

template <class T>
std::span<const T> span_of(const Vector<T>& array) {
  return {array.data(), array.size()};
}

// A numpy array that owns its memory, filled by the caller.
template <class T>
std::pair<Result<T>, T*> make_array(std::initializer_list<size_t> shape) {
  size_t size = 1;
  for (size_t n : shape) size *= n;
  T* data = new T[size];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return {Result<T>(data, shape, owner), data};
}

// Python's progress callback, or none, with a look at pending signals (Ctrl-C) in either case.
KeepGoing watch(std::optional<nb::callable> progress) {
  return [progress = std::move(progress)](double fraction) {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress) return true;
    return nb::cast<bool>((*progress)(fraction));
  };
}

int checked_threads(int threads) {
  if (threads < 1 || threads > 1024) throw BadInput("the number of threads must be from 1 to 1024");
  return threads;
}

int checked_size(size_t k) {
  if (k < 1 || k > static_cast<size_t>(kMaxSize)) throw BadInput("patterns have 1 to 16 nodes");
  return static_cast<int>(k);
}

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

// Patterns as (types [m, k], edges [m, k, k], automorphisms [m]) in the given order of their ids.
std::tuple<Result<uint16_t>, Result<uint8_t>, Result<int64_t>> pattern_arrays(
    const PatternMap& patterns, const std::vector<uint64_t>& automorphisms, const std::vector<uint32_t>& ids, int k) {
  const size_t m = ids.size();
  auto [types_out, types] = make_array<uint16_t>({m, size_t(k)});
  auto [edges_out, edges] = make_array<uint8_t>({m, size_t(k), size_t(k)});
  auto [automorphisms_out, counts] = make_array<int64_t>({m});
  for (size_t row = 0; row < m; ++row) {
    const SmallGraph graph = patterns.at(ids[row]);
    std::copy_n(graph.types.begin(), k, types + row * k);
    std::copy_n(graph.edges.begin(), k * k, edges + row * k * k);
    counts[row] = static_cast<int64_t>(automorphisms[ids[row]]);
  }
  return {types_out, edges_out, automorphisms_out};
}

nb::tuple take_census(const Graph& graph, int k, int threads, std::optional<nb::callable> progress) {
  const KeepGoing keep_going = watch(std::move(progress));
  std::optional<PatternCounts> result;
  std::vector<uint32_t> ids;
  {
    nb::gil_scoped_release release;
    result = census(graph, k, checked_threads(threads), keep_going);
    ids = result->patterns.sorted();
  }
  auto [types, edges, automorphisms] = pattern_arrays(result->patterns, result->automorphisms, ids, k);
  auto [counts_out, counts] = make_array<uint64_t>({ids.size()});
  for (size_t row = 0; row < ids.size(); ++row) counts[row] = result->counts[ids[row]];
  return nb::make_tuple(types, edges, automorphisms, counts_out);
}

nb::tuple classify_occurrences(const Graph& graph, Matrix<uint32_t> occurrences) {
  const int k = checked_size(occurrences.shape(1));
  const size_t n = occurrences.shape(0);
  auto [ids_out, ids] = make_array<int32_t>({n});
  std::optional<Classification> result;
  std::vector<uint32_t> order;
  {
    nb::gil_scoped_release release;
    result.emplace(classify(graph, k, {occurrences.data(), n * k}));
    order = result->patterns.sorted();
    std::vector<int32_t> row_of(order.size());
    for (size_t row = 0; row < order.size(); ++row) row_of[order[row]] = static_cast<int32_t>(row);
    for (size_t i = 0; i < n; ++i) ids[i] = row_of[result->ids[i]];
  }
  auto [types, edges, automorphisms] = pattern_arrays(result->patterns, result->automorphisms, order, k);
  return nb::make_tuple(ids_out, types, edges, automorphisms);
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
    } catch (const Stopped&) {
      PyErr_SetString(PyExc_KeyboardInterrupt, "stopped");
    }
  });

  nb::class_<Graph>(m, "Graph")
      .def(
          "__init__",
          [](Graph* self, Vector<int64_t> node_offsets, Vector<uint16_t> node_types, Vector<int64_t> out_offsets,
             Vector<uint32_t> out_targets, Vector<uint8_t> out_types, Vector<int64_t> in_offsets,
             Vector<uint32_t> in_sources, Vector<uint8_t> in_types) {
            nb::gil_scoped_release release;
            new (self) Graph({span_of(node_offsets), span_of(node_types), span_of(out_offsets), span_of(out_targets),
                              span_of(out_types), span_of(in_offsets), span_of(in_sources), span_of(in_types)});
          },
          "node_offsets"_a, "node_types"_a, "out_offsets"_a, "out_targets"_a, "out_types"_a, "in_offsets"_a,
          "in_sources"_a, "in_types"_a);

  m.def("canonical_forms", &canonical_forms, "node_types"_a, "edges"_a);
  m.def("count_orders", &orders, "edges"_a);
  m.def("census", &take_census, "graph"_a, "k"_a, "threads"_a, "progress"_a.none());
  m.def("classify", &classify_occurrences, "graph"_a, "occurrences"_a);
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
  bind_nas_bench_101(m);
}
