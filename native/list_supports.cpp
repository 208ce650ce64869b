#include "list_supports.hpp"

#include <vector>

namespace grade {

void list_supports(const Graph& graph, int k, std::span<const int64_t> offsets, std::span<const uint32_t> occurrences,
                   int threads, const KeepGoing& keep_going, const ListSupports& result) {
  // A mark is the number of the pattern that set it, so that nothing has to be cleared between patterns.
  struct Marks {
    std::vector<uint32_t> covered, seen;  // [nodes], [graphs]
  };
  std::vector<Marks> all_marks(threads);
  const auto rows = static_cast<int64_t>(occurrences.size() / k);
  parallel_chunks(offsets.size() - 1, 8, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
    Marks& marks = all_marks[thread];
    marks.covered.resize(graph.nodes(), 0);
    marks.seen.resize(graph.graphs(), 0);
    for (size_t pattern = begin; pattern < end && !stop; ++pattern) {
      const uint32_t mark = static_cast<uint32_t>(pattern) + 1;
      int64_t graphs = 0, nodes = 0;
      if (offsets[pattern] < 0 || offsets[pattern] > offsets[pattern + 1] || offsets[pattern + 1] > rows) {
        throw BadInput("the offsets do not fit the occurrences");
      }
      for (int64_t row = offsets[pattern]; row < offsets[pattern + 1]; ++row) {
        const auto members = occurrences.subspan(row * k, k);
        for (uint32_t id : members) {
          if (id >= graph.nodes()) throw BadInput("an occurrence names a node that the graph set does not have");
          nodes += marks.covered[id] != mark;
          marks.covered[id] = mark;
        }
        uint32_t& owner = marks.seen[graph.graph_of(graph.renumbered(members[0]))];
        graphs += owner != mark;
        owner = mark;
      }
      result.graphs[pattern] = graphs;
      result.covered[pattern] = nodes;
    }
  });
}

}  // namespace grade
