#include "graph_counts.hpp"

#include <algorithm>

#include "tally.hpp"

namespace grade {

GraphCounts graph_counts(const Graph& graph, int k, int threads, const KeepGoing& keep_going) {
  std::vector<std::unique_ptr<RepeatedCensus>> workers;
  for (int thread = 0; thread < threads; ++thread) workers.push_back(std::make_unique<RepeatedCensus>(graph, k));
  std::vector<std::vector<GraphCounts::Count>> found(threads);  // with the pattern numbers of each thread
  parallel_chunks(graph.graphs(), 1, threads, keep_going, [&](int thread, size_t g, size_t, const std::atomic<bool>& stop) {
    RepeatedCensus& worker = *workers[thread];
    worker.count(graph.begin_of(g), graph.end_of(g), stop);
    auto& counts = worker.table().counts;
    for (uint32_t id = 0; id < counts.size(); ++id) {
      if (counts[id]) found[thread].push_back({static_cast<uint32_t>(g), id, counts[id]});
      counts[id] = 0;
    }
  });
  Tally tally(k);
  GraphCounts result{{PatternMap(k), {}, {}}, {}};
  for (int thread = 0; thread < threads; ++thread) {
    const PatternCounts& table = workers[thread]->table();
    for (const auto& [g, id, count] : found[thread]) {
      const SmallGraph pattern = table.patterns.at(id);
      tally.add_canonical(pattern, table.automorphisms[id], count);
      result.counts.push_back({g, tally.result.patterns.insert(pattern).first, count});
    }
  }
  std::sort(result.counts.begin(), result.counts.end(),
            [](const auto& x, const auto& y) { return std::pair(x.graph, x.pattern) < std::pair(y.graph, y.pattern); });
  result.patterns = std::move(tally.result);
  return result;
}

}  // namespace grade
