// Exact counts over an ensemble of randomised sets, and what a test of the observed counts needs of them.
//
// From the observed graphs a chain runs to a hub, and from the hub one chain for each draw, all of the same length. The
// chains are reversible, so under the null hypothesis that the observed graphs are a uniform draw, these and the draws
// are exchangeable: the empirical p-value is valid however slowly the chain mixes (Besag and Clifford, "Generalized
// Monte Carlo significance tests", 1989). Slow mixing costs power only.
#pragma once

#include <string>
#include <vector>

#include "null_switching.hpp"
#include "parallel.hpp"
#include "pattern_map.hpp"

namespace grade {

enum class NullModel { kDegrees, kTypes, kLevels, kBlock };

struct NullRequest {
  NullModel model;
  NullOptions options;
  double sweeps;  // proposed moves for each edge of a graph, from the observed graphs to the hub and on to a draw
  uint64_t seed;
};

// Counts of one pattern over the draws. Whole numbers, so that sums do not depend on their order.
struct NullSums {
  uint64_t seen = 0, greater = 0, equal = 0;  // draws with the pattern; with more than was observed; with as many
  uint64_t most = 0, sum = 0;
  unsigned __int128 squares = 0;

  void add(uint64_t count, uint64_t observed);
  void add(const NullSums& other);
};

struct NullEnsemble {
  struct Row {  // a pattern, in the whole set or in one graph
    uint32_t pattern, graph;
    uint64_t observed;
    NullSums sums;
  };
  PatternMap patterns;
  std::vector<uint64_t> automorphisms;
  std::vector<Row> rows;        // of the whole set, one for each pattern
  std::vector<Row> graph_rows;  // by graph, then pattern, if asked for
  std::vector<uint64_t> instances;  // [draws] occurrences of all patterns
  uint64_t steps, accepted;         // of all chains
};

NullEnsemble null_ensemble(const Graph& set, int k, const NullRequest& request, size_t draws, bool by_graph, int threads,
                           const KeepGoing& keep_going);

// [snapshots, patterns] counts along one chain for each graph, `request.sweeps` apart, with the observed graphs first.
struct NullSeries {
  PatternMap patterns;  // those observed
  std::vector<uint64_t> counts;
  uint64_t steps, accepted;
};
NullSeries null_series(const Graph& set, int k, const NullRequest& request, size_t snapshots, int threads,
                       const KeepGoing& keep_going);

// [edges] (source, target, type) with ids of the set: the graphs of one draw. Self-loops are left out.
std::vector<NullGraph::Edge> null_draw(const Graph& set, const NullRequest& request, size_t draw, int threads,
                                       const KeepGoing& keep_going);

}  // namespace grade
