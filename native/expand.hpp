// Growing occurrences by one node (the paper's algorithm "Expand One Node") without holding more than asked for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fusible.hpp"
#include "graph.hpp"
#include "parallel.hpp"

namespace grade {

// What a grown occurrence must satisfy to be made at all. Each limit holds for every subgraph of a subgraph that
// satisfies it, so that nothing is lost by applying it early.
struct GrowthLimits {
  std::span<const uint8_t> allowed;   // [nodes of the set] whether a node may be added; empty: all
  std::span<const uint8_t> distance;  // [nodes of the set] steps to the nearest wanted node; empty: no wish
  int steps_left;                     // after this one: some member must lie so near to a wanted node
  int most_in, most_out, most_edges;  // degrees inside the subgraph, and its number of edges
  // Given for fusible occurrences, which grow by nodes that give all they have to members; in a graph with cycles only
  // by those that lie in none.
  const FusibleIndex* fusible = nullptr;
};

// Number of ways to grow each of the occurrences [n, k] (ids of the graph set) within the limits.
std::vector<uint32_t> count_growth(const Graph& graph, int k, std::span<const uint32_t> occurrences,
                                   const GrowthLimits& limits, int threads, const KeepGoing& keep_going);

struct Grown {
  std::vector<uint32_t> occurrences;  // [m, k + 1] ascending ids of the graph set, ordered by graph, no node set twice
  std::vector<double> weights;        // [m] sum of weight / rate over the given occurrences inside
};

// One of several parts of what grows from the same occurrences, dealt by a hash of the node set.
struct Share {
  uint64_t number = 0, of = 1;
};

// Grows every occurrence by every adjacent node, keeps a grown node set when a seeded hash of it falls under the rate
// of the occurrence that it grew from, and joins equal node sets. The occurrences must be ordered by graph.
//
// A grown node set O' passes the rate r of an occurrence O with probability r, and then brings weight(O) / r: the
// expected sum over the occurrences inside O' is the sum of their weights, whatever the rates. The hash depends on the
// node set and the seed alone, so that the result is the same for any number of threads, and so that a node set that
// grew from several occurrences is dropped or kept as one. Hashes are of ids + first_node: where the graph set is a slice
// of a larger one, which begins at that node there, the same node sets pass as in the whole.
Grown expand(const Graph& graph, int k, std::span<const uint32_t> occurrences, std::span<const double> weights,
             std::span<const double> rates, const GrowthLimits& limits, Share share, uint64_t seed, uint32_t first_node,
             int threads, const KeepGoing& keep_going);

}  // namespace grade
