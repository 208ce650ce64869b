// Exact counting of the induced occurrences of one pattern.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "fusible.hpp"
#include "match_plan.hpp"
#include "parallel.hpp"

namespace grade {

using Deadline = std::chrono::steady_clock::time_point;

// How much one question may take. Steps are counted alike on any machine, for any number of threads and in any slices
// of a set: the steps of a whole are those of its graphs. So it does not depend on the load whether a number is exact.
struct Limit {
  uint64_t steps = UINT64_MAX;
  Deadline deadline = Deadline::max();
};

struct MatchCounts {
  std::vector<uint32_t> graphs;     // those with an occurrence, ascending
  std::vector<uint64_t> counts;     // [graphs] number of node sets
  std::optional<uint64_t> covered;  // nodes that lie in an occurrence
  bool complete = true;  // false: cut off, or past 2^64 - 1 in a graph; then the numbers are lower bounds
  uint64_t steps = 0;    // that it took; kCutOff if these did not suffice
};

struct MatchList {
  std::vector<uint32_t> occurrences;  // [n, k] ids of the graph set, ascending in a row
  bool complete = true;               // false: there may be more
  uint64_t steps = 0;                 // that it took; kCutOff if these did not suffice
};

constexpr uint64_t kCutOff = UINT64_MAX;

// Which graphs to look at for each pattern: offsets [patterns + 1] into `graphs`, ascending; empty offsets: at all.
struct GraphQuery {
  std::span<const int64_t> offsets;
  std::span<const uint32_t> graphs;
  int64_t least, enough;
};

struct GraphsOfPatterns {
  std::vector<std::vector<uint32_t>> graphs;  // [patterns] ascending
  std::vector<uint8_t> complete;              // [patterns] 0: a search gave up, so that there may be more
};

// Occurrences have a fixed order, given by pattern and graph set alone, in which `list` and `pack` take them; graphs
// come one after the other. No result depends on the number of threads: where the steps do not suffice, what comes first
// in that order is counted. Only a deadline cuts off at a place that depends on the machine.
// With `fusible`, only fusible occurrences exist.
class Matcher {
 public:
  // `of_the_whole`: populations of the larger set of which the graph is a slice; empty: it is no slice.
  Matcher(const Graph& graph, const FusibleIndex* fusible, std::span<const ClassSize> of_the_whole = {});

  MatchCounts count(const SmallGraph& pattern, bool coverage, int threads, const Limit& limit,
                    const KeepGoing& keep_going) const;

  // Many patterns, each with its own limit: total counts (2^64 - 1 at most), whether they are complete, and steps.
  void count_all(std::span<const SmallGraph> patterns, int threads, uint64_t most_steps, const KeepGoing& keep_going,
                 std::span<uint64_t> counts, std::span<bool> complete, std::span<uint64_t> steps) const;

  // Takes each occurrence that shares no node with those taken before it: their number in each graph.
  MatchCounts pack(const SmallGraph& pattern, int threads, const Limit& limit, const KeepGoing& keep_going) const;

  // Supports of many patterns, each found by asking whether there is an occurrence rather than by counting them
  // (match_supports.cpp). A search that takes more than `steps` gives up: what it found is a lower bound.

  // Graphs that hold each pattern: among those asked for, until `enough` are found or `least` are out of reach.
  GraphsOfPatterns find_graphs(std::span<const SmallGraph> patterns, const GraphQuery& query, int threads,
                               uint64_t steps, const KeepGoing& keep_going) const;
  // [patterns] occurrences taken by `pack` over all graphs.
  void pack_all(std::span<const SmallGraph> patterns, int threads, uint64_t steps, const KeepGoing& keep_going,
                std::span<int64_t> disjoint, std::span<bool> complete) const;
  // [patterns] nodes that can stand for the node of the pattern with the fewest (minimum image-based support; Bringmann
  // and Nijssen, 2008), or 0 if they are fewer than `least`; and nodes that lie in an occurrence. `images` [patterns,
  // kMaxSize]: the nodes that can stand for each orbit of a pattern, -1 beyond its last one, so that the supports of
  // several slices can be added up.
  void find_images(std::span<const SmallGraph> patterns, int64_t least, int threads, uint64_t steps,
                   const KeepGoing& keep_going, std::span<int64_t> fewest, std::span<int64_t> covered,
                   std::span<bool> complete, std::span<int64_t> images) const;

  // [patterns] the same among the nodes that are not blocked ([nodes of the graph set]); nothing for empty `blocked`.
  void pack_free(std::span<const SmallGraph> patterns, std::span<const uint8_t> blocked, int threads, uint64_t steps,
                 const KeepGoing& keep_going, std::span<int64_t> disjoint, std::span<bool> complete) const;
  // [patterns] nodes that lie in an occurrence and are not in `covered` ([nodes of the graph set]).
  void cover_beyond(std::span<const SmallGraph> patterns, std::span<const uint8_t> covered, int threads, uint64_t steps,
                    const KeepGoing& keep_going, std::span<int64_t> fresh, std::span<bool> complete) const;
  // The nodes of one pattern's occurrences, as ids of the graph set: those that `pack_free` takes, k for each
  // occurrence, or (without `disjoint`) all nodes that lie in some occurrence, ascending.
  std::vector<uint32_t> nodes_of(const SmallGraph& pattern, std::span<const uint8_t> blocked, bool disjoint,
                                 uint64_t steps, const KeepGoing& keep_going) const;

  // The first `most` occurrences.
  MatchList list(const SmallGraph& pattern, size_t most, const Limit& limit, const KeepGoing& keep_going) const;

 private:
  template <class Use>
  auto with_search(Use&& use) const;

  const Graph& graph_;
  MatchIndex index_;
  const FusibleIndex* fusible_;
};

Limit limit_of(uint64_t steps, double seconds);

}  // namespace grade
