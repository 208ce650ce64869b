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

struct MatchCounts {
  std::vector<uint32_t> graphs;     // those with an occurrence, ascending
  std::vector<uint64_t> counts;     // [graphs] number of node sets
  std::optional<uint64_t> covered;  // nodes that lie in an occurrence
  bool complete = true;  // false: cut off, or past 2^64 - 1 in a graph; then the numbers are lower bounds
};

struct MatchList {
  std::vector<uint32_t> occurrences;  // [n, k] ids of the graph set, ascending in a row
  bool complete = true;               // false: there may be more
};

// Occurrences have a fixed order, given by pattern and graph set alone, in which `list` and `pack` take them; graphs
// come one after the other. When nothing is cut off, no result depends on the number of threads.
// With `fusible`, only those occurrences exist that are convex (no directed path leaves the node set and comes back)
// and that edges leave at one node at most.
class Matcher {
 public:
  Matcher(const Graph& graph, bool fusible);

  MatchCounts count(const SmallGraph& pattern, bool coverage, int threads, Deadline deadline,
                    const KeepGoing& keep_going) const;

  // Many patterns, each with its own time: total counts (2^64 - 1 at most) and whether they are complete.
  void count_all(std::span<const SmallGraph> patterns, int threads, double seconds, const KeepGoing& keep_going,
                 std::span<uint64_t> counts, std::span<bool> complete) const;

  // Takes each occurrence that shares no node with those taken before it: their number in each graph.
  MatchCounts pack(const SmallGraph& pattern, int threads, Deadline deadline, const KeepGoing& keep_going) const;

  // The first `limit` occurrences.
  MatchList list(const SmallGraph& pattern, size_t limit, Deadline deadline, const KeepGoing& keep_going) const;

 private:
  template <class Use>
  auto with_search(Use&& use) const;

  const Graph& graph_;
  MatchIndex index_;
  std::optional<FusibleIndex> fusible_;
};

Deadline deadline_after(double seconds);

}  // namespace grade
