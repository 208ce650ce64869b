#include "list_supports.hpp"

#include <vector>

namespace grade {

void list_supports(const Graph& graph, int k, std::span<const int64_t> offsets, std::span<const uint32_t> occurrences,
                   const ListSupports& result) {
  // A mark is the number of the pattern that set it, so that nothing has to be cleared between patterns.
  std::vector<uint32_t> covered(graph.nodes(), 0), used(graph.nodes(), 0), seen(graph.graphs(), 0);
  const auto rows = static_cast<int64_t>(occurrences.size() / k);
  for (size_t pattern = 0; pattern + 1 < offsets.size(); ++pattern) {
    const uint32_t mark = static_cast<uint32_t>(pattern) + 1;
    int64_t graphs = 0, disjoint = 0, nodes = 0;
    if (offsets[pattern] < 0 || offsets[pattern] > offsets[pattern + 1] || offsets[pattern + 1] > rows) {
      throw BadInput("the offsets do not fit the occurrences");
    }
    for (int64_t row = offsets[pattern]; row < offsets[pattern + 1]; ++row) {
      const auto members = occurrences.subspan(row * k, k);
      bool free = true;
      for (uint32_t id : members) {
        if (id >= graph.nodes()) throw BadInput("an occurrence names a node that the graph set does not have");
        free &= used[id] != mark;
        nodes += covered[id] != mark;
        covered[id] = mark;
      }
      if (free) {
        ++disjoint;
        for (uint32_t id : members) used[id] = mark;
      }
      uint32_t& owner = seen[graph.graph_of(members[0])];
      graphs += owner != mark;
      owner = mark;
    }
    result.graphs[pattern] = graphs;
    result.disjoint[pattern] = disjoint;
    result.covered[pattern] = nodes;
  }
}

}  // namespace grade
