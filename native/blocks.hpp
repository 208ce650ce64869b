// Repeated regions of any size: a grammar of a set of acyclic graphs, made by merging pairs of units.
//
// A unit is a region that its edges leave from one node only, its root. A unit whose edges all lead to one other unit
// can be merged into it; the pair of labels, with the places of the consumer that read, that occurs most is merged
// everywhere. Such regions are convex: no path leaves one and comes back. Parallel edges collapse as units merge, so
// that residual connections close by themselves. A chain of equal units becomes one unit, a repetition.
//
// Every unit numbers its nodes by place. A symbol is an isomorphism class of regions, found by exact comparison
// (blocks_identity.hpp); all units of one symbol number their nodes alike, so that a place means the same in each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel.hpp"

namespace grade {

constexpr uint32_t kNobody = UINT32_MAX;

// A graph set as two lists of neighbours; a label says all that tells one edge from another.
struct BlockGraph {
  std::span<const int64_t> node_offsets;  // [graphs + 1]
  std::span<const uint32_t> types;        // [nodes]
  std::span<const int64_t> out_offsets;
  std::span<const uint32_t> out_targets;
  std::span<const uint32_t> out_labels;
  std::span<const int64_t> in_offsets;
  std::span<const uint32_t> in_sources;
  std::span<const uint32_t> in_labels;
  // [nodes] 1 where the output is needed outside of the graph: such a node stays a root, unless blocks may have several
  // outputs; then its type is one that other nodes do not have.
  std::span<const uint8_t> closed;

  size_t nodes() const { return types.size(); }
  uint32_t out_degree(uint32_t node) const { return static_cast<uint32_t>(out_offsets[node + 1] - out_offsets[node]); }
};

struct BlockLimits {
  uint32_t min_count;   // fewest times that a pair occurs
  uint32_t min_graphs;  // fewest graphs that it occurs in
  uint32_t max_size;    // most nodes of a block (repetitions may be longer)
  uint32_t outputs;     // most nodes of a block whose output is needed outside, the root included
};

// Symbols 0 .. types - 1 are single nodes. A symbol made of two parts numbers the nodes of `first` before those of
// `second`, and one of them, which has the root, reads the other; a repetition (copies > 0) numbers the nodes of its
// copies one after the other, and each reads the one before it. `reads` are (place that is read, place that reads,
// label), each as its part numbers.
struct Grammar {
  std::vector<uint32_t> first, second, copies, size, root;  // by symbol; `root` is a place
  std::vector<uint64_t> read_offsets;                       // [symbols + 1]
  std::vector<uint32_t> reads;                              // [reads, 3]
  std::vector<uint32_t> unit_labels;
  std::vector<uint64_t> unit_offsets;  // [units + 1] into `order`
  std::vector<uint32_t> order;         // [nodes] the nodes of each unit by place, units by graph and root
  std::vector<uint32_t> levels;        // [nodes] longest path from a source
};

// Longest path from a source to each node; throws BadInput where a graph has a cycle.
std::vector<uint32_t> block_levels(const BlockGraph& graph);

Grammar make_grammar(const BlockGraph& graph, const BlockLimits& limits, const KeepGoing& keep_going);

}  // namespace grade
