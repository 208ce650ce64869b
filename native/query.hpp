// Exact counting of queries: patterns with wildcards, and patterns that need not be induced.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "fusible.hpp"
#include "match.hpp"

namespace grade {

using EdgeTypes = std::bitset<256>;  // bit 0: no edge

// What each place may be. An occurrence is a node set on which the places fit in at least one way.
struct Query {
  int k = 0;
  std::vector<std::vector<bool>> types;  // [k][node types]
  std::vector<EdgeTypes> edges;          // [k * k], the edge from place p to place q; p = q is the self-loop
};

struct QueryAnswer {
  std::vector<uint32_t> graphs;       // those with an occurrence, ascending
  std::vector<uint64_t> counts;       // [graphs] occurrences
  std::vector<uint64_t> disjoint;     // [graphs] occurrences that share no node, taken greedily in a fixed order
  std::vector<uint8_t> covered;       // [nodes of the graph set] 1 where a node lies in an occurrence
  std::vector<uint32_t> occurrences;  // [n, k] the first ones, graph by graph
  bool complete = true;               // false: cut off by the limit
};

// With `fusible`, only the occurrences that a compiler could fuse, as in `Matcher`.
class QueryMatcher {
 public:
  QueryMatcher(const Graph& graph, const FusibleIndex* fusible) : graph_(graph), fusible_(fusible) {}

  // One more than the largest node type of the set.
  size_t node_types() const;

  // Throws BadInput for a query that is not connected through edges that it demands. No result depends on the number
  // of threads, unless a deadline cuts it off.
  QueryAnswer answer(const Query& query, size_t most, int threads, const Limit& limit,
                     const KeepGoing& keep_going) const;

 private:
  const Graph& graph_;
  const FusibleIndex* fusible_;
};

}  // namespace grade
