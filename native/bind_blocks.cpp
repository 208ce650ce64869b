// The grammar of repeated regions at the border to Python.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>

#include "arrays.hpp"
#include "blocks.hpp"
#include "blocks_growth.hpp"
#include "blocks_identity.hpp"
#include "blocks_matching.hpp"
#include "blocks_order.hpp"

namespace grade {
namespace {

using namespace nb::literals;

template <class T>
Result<T> copied(const std::vector<T>& values) {
  auto [result, data] = make_array<T>({values.size()});
  std::copy(values.begin(), values.end(), data);
  return result;
}

// The lists of neighbours as the core sees them; where graphs begin is left open.
BlockGraph graph_of(const Vector<uint32_t>& types, const Vector<int64_t>& out_offsets, const Vector<uint32_t>& out_targets,
                    const Vector<uint32_t>& out_labels, const Vector<int64_t>& in_offsets,
                    const Vector<uint32_t>& in_sources, const Vector<uint32_t>& in_labels,
                    const Vector<uint8_t>& closed) {
  const size_t nodes = types.size(), edges = out_targets.size();
  if (out_offsets.size() != nodes + 1 || in_offsets.size() != nodes + 1 || closed.size() != nodes ||
      out_labels.size() != edges || in_sources.size() != edges || in_labels.size() != edges) {
    throw BadInput("the arrays of a graph set do not fit together");
  }
  return {{},
          span_of(types),
          span_of(out_offsets),
          span_of(out_targets),
          span_of(out_labels),
          span_of(in_offsets),
          span_of(in_sources),
          span_of(in_labels),
          span_of(closed)};
}

// [graphs] numbers that are equal for isomorphic graphs.
Result<uint32_t> graph_classes(Vector<int64_t> node_offsets, Vector<uint32_t> types, Vector<int64_t> out_offsets,
                               Vector<uint32_t> out_targets, Vector<uint32_t> out_labels, Vector<int64_t> in_offsets,
                               Vector<uint32_t> in_sources, Vector<uint32_t> in_labels) {
  const std::vector<uint8_t> closed(types.size(), 0);
  const BlockGraph graph{span_of(node_offsets), span_of(types),      span_of(out_offsets),
                         span_of(out_targets),  span_of(out_labels), span_of(in_offsets),
                         span_of(in_sources),   span_of(in_labels),  closed};
  std::vector<uint32_t> classes;
  {
    nb::gil_scoped_release release;
    const std::vector<uint32_t> levels = block_levels(graph);
    SymbolTable table(graph, levels, 0);
    for (size_t g = 0; g + 1 < node_offsets.size(); ++g) {
      std::vector<uint32_t> nodes(static_cast<size_t>(graph.node_offsets[g + 1] - graph.node_offsets[g]));
      std::iota(nodes.begin(), nodes.end(), static_cast<uint32_t>(graph.node_offsets[g]));
      classes.push_back(table.of(nodes, kNobody, kNobody, 0, 0, Links()).symbol);
    }
  }
  return copied(classes);
}

// [found * region nodes] images of a region, see blocks_matching.hpp.
Result<uint32_t> region_occurrences(Vector<uint32_t> types, Vector<int64_t> out_offsets, Vector<uint32_t> out_targets,
                                    Vector<uint32_t> out_labels, Vector<int64_t> in_offsets,
                                    Vector<uint32_t> in_sources, Vector<uint32_t> in_labels, Vector<uint8_t> closed,
                                    Vector<uint32_t> region_types, Vector<uint32_t> region_edges, uint32_t region_root,
                                    Vector<uint32_t> roots, Vector<uint8_t> taken) {
  const BlockGraph graph = graph_of(types, out_offsets, out_targets, out_labels, in_offsets, in_sources, in_labels, closed);
  if (taken.size() != types.size() ||
      std::any_of(roots.data(), roots.data() + roots.size(), [&](uint32_t root) { return root >= types.size(); })) {
    throw BadInput("the arrays of a graph set do not fit together");
  }
  std::vector<uint32_t> found;
  {
    nb::gil_scoped_release release;
    found = find_region(graph, {span_of(region_types), span_of(region_edges), region_root}, span_of(roots), span_of(taken));
  }
  return copied(found);
}

// For each block that can grow (block, size, root, nodes [occurrences * size]); see blocks_growth.hpp.
std::vector<std::tuple<size_t, uint32_t, uint32_t, Result<uint32_t>>> grown_regions(
    Vector<uint32_t> types, Vector<int64_t> out_offsets, Vector<uint32_t> out_targets, Vector<uint32_t> out_labels,
    Vector<int64_t> in_offsets, Vector<uint32_t> in_sources, Vector<uint32_t> in_labels, Vector<uint8_t> closed,
    Vector<uint32_t> order, Vector<int64_t> begin_offsets, Vector<int64_t> begins, Vector<uint32_t> sizes,
    Vector<uint32_t> roots, uint32_t max_size) {
  const BlockGraph graph = graph_of(types, out_offsets, out_targets, out_labels, in_offsets, in_sources, in_labels, closed);
  const size_t blocks = sizes.size();
  if (begin_offsets.size() != blocks + 1 || roots.size() != blocks || order.size() != types.size()) {
    throw BadInput("the arrays of blocks do not fit together");
  }
  std::vector<std::pair<size_t, GrownRegion>> found;
  {
    nb::gil_scoped_release release;
    RegionGrower grower(graph, max_size);
    for (size_t block = 0; block < blocks; ++block) {
      const auto from = static_cast<size_t>(begin_offsets.data()[block]);
      const auto count = static_cast<size_t>(begin_offsets.data()[block + 1]) - from;
      if (count < 2) continue;
      auto grown = grower.grow(span_of(order), span_of(begins).subspan(from, count), sizes.data()[block], roots.data()[block]);
      if (grown) found.emplace_back(block, std::move(*grown));
    }
  }
  std::vector<std::tuple<size_t, uint32_t, uint32_t, Result<uint32_t>>> result;
  for (const auto& [block, region] : found) result.emplace_back(block, region.size, region.root, copied(region.nodes));
  return result;
}

// [nodes] the longest path from a source; 2^32 - 1 on a directed cycle and below one.
Result<uint32_t> levels(Vector<int64_t> out_offsets, Vector<uint32_t> out_targets, Vector<int64_t> in_offsets) {
  if (out_offsets.size() == 0 || in_offsets.size() != out_offsets.size()) {
    throw BadInput("the arrays of a graph set do not fit together");
  }
  const std::vector<uint32_t> types(out_offsets.size() - 1, 0);
  const BlockGraph graph{{}, types, span_of(out_offsets), span_of(out_targets), {}, span_of(in_offsets), {}, {}, {}};
  std::vector<uint32_t> found;
  {
    nb::gil_scoped_release release;
    found = levels_or_nobody(graph);
  }
  return copied(found);
}

nb::dict grammar(Vector<int64_t> node_offsets, Vector<uint32_t> types, Vector<int64_t> out_offsets,
                 Vector<uint32_t> out_targets, Vector<uint32_t> out_labels, Vector<int64_t> in_offsets,
                 Vector<uint32_t> in_sources, Vector<uint32_t> in_labels, Vector<uint8_t> closed, uint32_t min_count,
                 uint32_t min_graphs, uint32_t max_size, uint32_t outputs, std::optional<nb::callable> progress) {
  const KeepGoing keep_going = watch(std::move(progress));
  BlockGraph graph = graph_of(types, out_offsets, out_targets, out_labels, in_offsets, in_sources, in_labels, closed);
  graph.node_offsets = span_of(node_offsets);
  Grammar made;
  {
    nb::gil_scoped_release release;
    made = make_grammar(graph, {min_count, min_graphs, max_size, outputs}, keep_going);
  }
  nb::dict result;
  result["first"] = copied(made.first);
  result["second"] = copied(made.second);
  result["copies"] = copied(made.copies);
  result["size"] = copied(made.size);
  result["root"] = copied(made.root);
  result["read_offsets"] = copied(made.read_offsets);
  result["reads"] = copied(made.reads);
  result["unit_labels"] = copied(made.unit_labels);
  result["unit_offsets"] = copied(made.unit_offsets);
  result["order"] = copied(made.order);
  result["levels"] = copied(made.levels);
  return result;
}

}  // namespace
}  // namespace grade

void bind_blocks(nanobind::module_& m) {
  using namespace grade;
  m.def("block_grammar", &grammar, "node_offsets"_a, "types"_a, "out_offsets"_a, "out_targets"_a, "out_labels"_a,
        "in_offsets"_a, "in_sources"_a, "in_labels"_a, "closed"_a, "min_count"_a, "min_graphs"_a, "max_size"_a,
        "outputs"_a, "progress"_a.none());
  m.def("block_levels", &levels, "out_offsets"_a, "out_targets"_a, "in_offsets"_a);
  m.def("region_occurrences", &region_occurrences, "types"_a, "out_offsets"_a, "out_targets"_a, "out_labels"_a,
        "in_offsets"_a, "in_sources"_a, "in_labels"_a, "closed"_a, "region_types"_a, "region_edges"_a, "region_root"_a,
        "roots"_a, "taken"_a);
  m.def("grown_regions", &grown_regions, "types"_a, "out_offsets"_a, "out_targets"_a, "out_labels"_a, "in_offsets"_a,
        "in_sources"_a, "in_labels"_a, "closed"_a, "order"_a, "begin_offsets"_a, "begins"_a, "sizes"_a, "roots"_a,
        "max_size"_a);
  m.def("graph_classes", &graph_classes, "node_offsets"_a, "types"_a, "out_offsets"_a, "out_targets"_a, "out_labels"_a,
        "in_offsets"_a, "in_sources"_a, "in_labels"_a);
}
