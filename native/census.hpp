// Exact census: all connected induced k-subgraphs, counted by isomorphism class.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "graph.hpp"
#include "parallel.hpp"
#include "pattern_map.hpp"

namespace grade {

struct PatternCounts {
  PatternMap patterns;                  // canonical forms
  std::vector<uint64_t> automorphisms;  // of each pattern
  std::vector<uint64_t> counts;
};

PatternCounts census(const Graph& graph, int k, int threads, const KeepGoing& keep_going);

// The census of one graph after another by one thread, with one trie and one table of patterns for all of them.
class RepeatedCensus {
 public:
  // The graph may change between two counts, but neither its arc classes nor its tags, and node classes only grow.
  RepeatedCensus(const Graph& graph, int k);
  ~RepeatedCensus();
  // Adds the occurrences with their roots in [begin, end), as the graph is now, to the table.
  void count(uint32_t begin, uint32_t end, const std::atomic<bool>& stop);
  // The caller may set counts back, and insert patterns in canonical form before the first count.
  PatternCounts& table();

  struct Worker;

 private:
  std::unique_ptr<Worker> worker_;
};

}  // namespace grade
