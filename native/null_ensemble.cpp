#include "null_ensemble.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "census.hpp"
#include "null_rewired.hpp"

namespace grade {
namespace {

constexpr uint64_t kToHub = 1, kToDraw = 2, kAlong = 3;  // names of random streams

std::unique_ptr<NullChain> chain_of(const NullGraph& graph, const NullRequest& request) {
  switch (request.model) {
    case NullModel::kTypes: return types_chain(graph, request.options);
    case NullModel::kLevels: return levels_chain(graph, request.options);
    case NullModel::kBlock: return block_chain(graph, request.options);
    default: return degrees_chain(graph, request.options);
  }
}

uint64_t steps_for(const Slots& slots, const NullRequest& request) {
  return static_cast<uint64_t>(std::ceil(request.sweeps * slots.size()));
}

// As many steps, unless the work is stopped before.
void run(NullChain& chain, uint64_t steps, Random& random, const std::atomic<bool>& stop) {
  constexpr uint64_t kSlice = 1 << 14;
  while (steps > 0 && !stop) {
    const uint64_t some = std::min(steps, kSlice);
    chain.run(some, random);
    steps -= some;
  }
}

// Lets the caller stop work that is not counted as progress.
KeepGoing only_watching(const KeepGoing& keep_going) {
  return [&keep_going](double) { return !keep_going || keep_going(0); };
}

// The states at the hub of all graphs, and how the chains went there.
struct Hub {
  std::vector<std::vector<uint32_t>> states;
  std::atomic<uint64_t> steps{0}, accepted{0};
};

void go_to_hub(const Graph& set, const NullRequest& request, int threads, const KeepGoing& keep_going, Hub& hub) {
  hub.states.resize(set.graphs());
  const RewiredGraph reader(set);
  parallel_chunks(set.graphs(), 1, threads, keep_going, [&](int, size_t g, size_t, const std::atomic<bool>& stop) {
    const auto chain = chain_of(reader.observed(g), request);
    Random random{request.seed, kToHub, g};
    run(*chain, steps_for(chain->slots(), request), random, stop);
    hub.states[g] = chain->slots().state();
    hub.steps += chain->steps();
    hub.accepted += chain->accepted();
  });
}

// One thread's chains, kept from draw to draw where the set is small enough.
class Chains {
 public:
  Chains(const Graph& set, const NullRequest& request) : request_(request), kept_(set.graphs()) {}
  // The chain of this graph, back at the hub.
  NullChain& at_hub(const RewiredGraph& reader, size_t graph, std::span<const uint32_t> state) {
    std::unique_ptr<NullChain>& place = edges_ < kMostEdges || kept_[graph] ? kept_[graph] : spare_;
    if (!kept_[graph]) {
      place = chain_of(reader.observed(graph), request_);
      edges_ += place->slots().size() + 16;  // an empty chain takes room as well
    }
    place->restore(state);
    return *place;
  }

 private:
  static constexpr size_t kMostEdges = size_t{1} << 21;
  const NullRequest& request_;
  std::vector<std::unique_ptr<NullChain>> kept_;
  std::unique_ptr<NullChain> spare_;
  size_t edges_ = 0;
};

// One thread's counter of graphs with changing edges.
class Counter {
 public:
  Counter(const Graph& set, int k) : graph_(set), census_(graph_, k) {}
  const RewiredGraph& graph() const { return graph_; }
  // Counts are added up in table() until they are taken.
  void count(size_t graph, const Slots& slots, const std::atomic<bool>& stop) {
    graph_.take(graph, slots);
    census_.count(0, static_cast<uint32_t>(graph_.nodes()), stop);
  }
  PatternCounts& table() { return census_.table(); }
  // visit(pattern, count) for all that was counted, which starts from 0 again.
  template <class Visit>
  void take(Visit&& visit) {
    auto& counts = table().counts;
    for (uint32_t id = 0; id < counts.size(); ++id) {
      if (counts[id] == 0) continue;
      visit(id, counts[id]);
      counts[id] = 0;
    }
  }
  // Numbers these patterns as they are numbered there.
  void know(const PatternCounts& known) {
    for (uint32_t id = 0; id < known.patterns.size(); ++id) {
      table().patterns.insert(known.patterns.at(id));
      table().automorphisms.push_back(known.automorphisms[id]);
      table().counts.push_back(0);
    }
  }

 private:
  RewiredGraph graph_;
  RepeatedCensus census_;
};

std::vector<std::unique_ptr<Counter>> counters_for(const Graph& set, int k, const PatternCounts& known, int threads) {
  std::vector<std::unique_ptr<Counter>> counters;
  for (int thread = 0; thread < threads; ++thread) {
    counters.push_back(std::make_unique<Counter>(set, k));
    counters.back()->know(known);
  }
  return counters;
}

// The exact census with the patterns in the order of their codes.
PatternCounts observed_counts(const Graph& set, int k, int threads, const KeepGoing& keep_going) {
  const PatternCounts found = census(set, k, threads, keep_going);
  PatternCounts result{PatternMap(k), {}, {}};
  for (uint32_t id : found.patterns.sorted()) {
    result.patterns.insert(found.patterns.at(id));
    result.automorphisms.push_back(found.automorphisms[id]);
    result.counts.push_back(found.counts[id]);
  }
  return result;
}

using GraphSums = std::unordered_map<uint64_t, NullEnsemble::Row>;  // by graph << 32 | pattern
using GraphCounts = std::unordered_map<uint64_t, uint64_t>;

}  // namespace

void NullSums::add(uint64_t count, uint64_t observed) {
  ++seen;
  greater += count > observed;
  equal += count == observed;
  most = std::max(most, count);
  if (__builtin_add_overflow(sum, count, &sum)) throw std::overflow_error("counts over all draws exceed 2^64");
  squares += static_cast<unsigned __int128>(count) * count;
}

void NullSums::add(const NullSums& other) {
  seen += other.seen;
  greater += other.greater;
  equal += other.equal;
  most = std::max(most, other.most);
  if (__builtin_add_overflow(sum, other.sum, &sum)) throw std::overflow_error("counts over all draws exceed 2^64");
  squares += other.squares;
}

NullEnsemble null_ensemble(const Graph& set, int k, const NullRequest& request, size_t draws, bool by_graph, int threads,
                           const KeepGoing& keep_going) {
  const KeepGoing watching = only_watching(keep_going);
  const PatternCounts observed = observed_counts(set, k, threads, watching);
  const auto known = static_cast<uint32_t>(observed.counts.size());
  auto counters = counters_for(set, k, observed, threads);

  std::vector<GraphCounts> found_by(by_graph ? set.graphs() : 0);  // [graph] counts observed, by key
  if (by_graph) {
    parallel_chunks(set.graphs(), 1, threads, watching, [&](int thread, size_t g, size_t, const std::atomic<bool>& stop) {
      Counter& counter = *counters[thread];
      counter.count(g, Slots(counter.graph().observed(g), false), stop);
      counter.take([&](uint32_t id, uint64_t count) { found_by[g][id] = count; });
    });
  }
  Hub hub;
  go_to_hub(set, request, threads, watching, hub);

  std::vector<Chains> chains;
  for (int thread = 0; thread < threads; ++thread) chains.emplace_back(set, request);
  std::vector<std::vector<NullSums>> sums(threads);
  std::vector<GraphSums> graph_sums(threads);
  NullEnsemble result{observed.patterns, observed.automorphisms, {}, {}, std::vector<uint64_t>(draws, 0), 0, 0};
  parallel_chunks(draws, 1, threads, keep_going, [&](int thread, size_t draw, size_t, const std::atomic<bool>& stop) {
    Counter& counter = *counters[thread];
    std::unordered_map<uint32_t, uint64_t> totals;
    for (size_t g = 0; g < set.graphs() && !stop; ++g) {
      NullChain& chain = chains[thread].at_hub(counter.graph(), g, hub.states[g]);
      const uint64_t steps = chain.steps(), accepted = chain.accepted();
      Random random{request.seed, kToDraw, draw, g};
      run(chain, steps_for(chain.slots(), request), random, stop);
      hub.steps += chain.steps() - steps;
      hub.accepted += chain.accepted() - accepted;
      counter.count(g, chain.slots(), stop);
      if (!by_graph) continue;
      counter.take([&](uint32_t id, uint64_t count) {
        totals[id] += count;
        const auto seen = found_by[g].find(id);
        const uint64_t there = seen == found_by[g].end() ? 0 : seen->second;
        NullEnsemble::Row& row = graph_sums[thread][uint64_t{g} << 32 | id];
        row.observed = there;
        row.sums.add(count, there);
      });
    }
    if (stop) return;
    auto add = [&](uint32_t id, uint64_t count) {
      if (id >= sums[thread].size()) sums[thread].resize(id + id / 2 + 64);
      sums[thread][id].add(count, id < known ? observed.counts[id] : 0);
      result.instances[draw] += count;
    };
    counter.take(add);
    for (const auto& [id, count] : totals) add(id, count);
  });

  for (uint32_t id = 0; id < known; ++id) result.rows.push_back({id, 0, observed.counts[id], {}});
  GraphSums merged;
  for (size_t g = 0; g < found_by.size(); ++g) {
    for (const auto& [id, count] : found_by[g]) {
      merged[uint64_t{g} << 32 | id] = {static_cast<uint32_t>(id), static_cast<uint32_t>(g), count, {}};
    }
  }
  for (int thread = 0; thread < threads; ++thread) {
    const PatternCounts& table = counters[thread]->table();
    std::vector<uint32_t> number(table.counts.size());  // patterns of this thread as numbered in the result
    for (uint32_t id = 0; id < number.size(); ++id) {
      const auto [there, fresh] = result.patterns.insert(table.patterns.at(id));
      if (fresh) {
        result.automorphisms.push_back(table.automorphisms[id]);
        result.rows.push_back({there, 0, 0, {}});
      }
      number[id] = there;
      if (id < sums[thread].size()) result.rows[there].sums.add(sums[thread][id]);
    }
    for (const auto& [key, row] : graph_sums[thread]) {
      const uint64_t moved = (key >> 32) << 32 | number[key & UINT32_MAX];
      NullEnsemble::Row& sum = merged[moved];
      sum.pattern = static_cast<uint32_t>(moved), sum.graph = static_cast<uint32_t>(key >> 32), sum.observed = row.observed;
      sum.sums.add(row.sums);
    }
  }
  for (const auto& [key, row] : merged) result.graph_rows.push_back(row);
  result.steps = hub.steps, result.accepted = hub.accepted;
  return result;
}

NullSeries null_series(const Graph& set, int k, const NullRequest& request, size_t snapshots, int threads,
                       const KeepGoing& keep_going) {
  const KeepGoing watching = only_watching(keep_going);
  const PatternCounts observed = observed_counts(set, k, threads, watching);
  const size_t known = observed.counts.size();
  auto counters = counters_for(set, k, observed, threads);
  std::vector<std::vector<uint64_t>> sums(threads, std::vector<uint64_t>(snapshots * known, 0));
  std::atomic<uint64_t> steps{0}, accepted{0};
  parallel_chunks(set.graphs(), 1, threads, keep_going, [&](int thread, size_t g, size_t, const std::atomic<bool>& stop) {
    Counter& counter = *counters[thread];
    const auto chain = chain_of(counter.graph().observed(g), request);
    Random random{request.seed, kAlong, g};
    for (size_t at = 0; at < snapshots && !stop; ++at) {
      if (at > 0) run(*chain, steps_for(chain->slots(), request), random, stop);
      counter.count(g, chain->slots(), stop);
      counter.take([&](uint32_t id, uint64_t count) {
        if (id < known) sums[thread][at * known + id] += count;
      });
    }
    steps += chain->steps();
    accepted += chain->accepted();
  });
  for (int thread = 1; thread < threads; ++thread) {
    for (size_t i = 0; i < sums[0].size(); ++i) sums[0][i] += sums[thread][i];
  }
  return {observed.patterns, std::move(sums[0]), steps, accepted};
}

std::vector<NullGraph::Edge> null_draw(const Graph& set, const NullRequest& request, size_t draw, int threads,
                                       const KeepGoing& keep_going) {
  Hub hub;
  go_to_hub(set, request, threads, keep_going, hub);
  const RewiredGraph reader(set);
  std::vector<std::vector<NullGraph::Edge>> edges(set.graphs());
  parallel_chunks(set.graphs(), 1, threads, keep_going, [&](int, size_t g, size_t, const std::atomic<bool>& stop) {
    const auto chain = chain_of(reader.observed(g), request);
    chain->restore(hub.states[g]);
    Random random{request.seed, kToDraw, draw, g};
    run(*chain, steps_for(chain->slots(), request), random, stop);
    const Slots& slots = chain->slots();
    const uint32_t first = set.begin_of(g);
    for (uint32_t slot = 0; slot < slots.size(); ++slot) {
      edges[g].push_back({slots.source(slot) + first, slots.target(slot) + first, slots.type(slot)});
    }
  });
  std::vector<NullGraph::Edge> result;
  for (const auto& part : edges) result.insert(result.end(), part.begin(), part.end());
  return result;
}

}  // namespace grade
