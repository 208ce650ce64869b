// Counts by isomorphism class, fed with small graphs in any order of their nodes, by several threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "canonical.hpp"
#include "census.hpp"
#include "checked.hpp"

namespace grade {

constexpr size_t kMaxStates = size_t{1} << 22;  // bounds a trie's memory; full tries are emptied into the table

class Tally {
 public:
  explicit Tally(int k) : result{PatternMap(k), {}, {}} {}

  void add(const SmallGraph& graph, uint64_t count) {
    const CanonicalForm form = canonicalize_(graph);
    add_canonical(reordered(graph, form.order), form.automorphisms, count);
  }
  // The pattern's number in the result, where it gets a count of 0 if it is new.
  uint32_t number(const SmallGraph& graph) {
    const CanonicalForm form = canonicalize_(graph);
    const SmallGraph canonical = reordered(graph, form.order);
    add_canonical(canonical, form.automorphisms, 0);
    return result.patterns.insert(canonical).first;
  }
  void add_canonical(const SmallGraph& canonical, uint64_t automorphisms, uint64_t count) {
    const auto [id, fresh] = result.patterns.insert(canonical);
    if (fresh) {
      result.automorphisms.push_back(automorphisms);
      result.counts.push_back(0);
    }
    add_checked(result.counts[id], count);
  }
  void add(const PatternCounts& other) {
    for (uint32_t id = 0; id < other.patterns.size(); ++id) {
      add_canonical(other.patterns.at(id), other.automorphisms[id], other.counts[id]);
    }
  }

  PatternCounts result;

 private:
  Canonicalizer canonicalize_;
};

// What one worker for each thread finds from all roots. A Worker has run(begin, end, stop), flush() and a tally.
template <class Worker>
PatternCounts tally_all(const Graph& graph, int k, int threads, const KeepGoing& keep_going) {
  std::deque<Worker> workers;  // they stay where they are
  for (int i = 0; i < threads; ++i) workers.emplace_back(graph, k);
  const size_t chunk = std::clamp<size_t>(graph.nodes() / (1024 * threads), 1, 256);
  parallel_chunks(graph.nodes(), chunk, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
                    workers[thread].run(static_cast<uint32_t>(begin), static_cast<uint32_t>(end), stop);
                  });
  parallel_chunks(threads, 1, threads, keep_going,
                  [&](int, size_t begin, size_t, const std::atomic<bool>&) { workers[begin].flush(); });
  for (int i = 1; i < threads; ++i) workers[0].tally.add(workers[i].tally.result);
  return std::move(workers[0].tally.result);
}

}  // namespace grade
