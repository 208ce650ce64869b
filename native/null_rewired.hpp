// One graph of a set as the census wants it, with edges that change: rebuilt for every draw of a null model.
#pragma once

#include <memory>
#include <vector>

#include "graph.hpp"
#include "null_slots.hpp"

namespace grade {

// Node classes, arc classes and tags are those of the whole set for good, whatever the edges are, so that one census
// worker can count one graph of the set after another. Nodes are numbered by descending degree, which never changes.
class RewiredGraph : public Graph {
 public:
  explicit RewiredGraph(const Graph& set);

  // The edges of graph number `graph` of the set, as they were observed. Node 0 is the first of its nodes.
  NullGraph observed(size_t graph) const;
  // Becomes this graph of the set with the edges of `slots`.
  void take(size_t graph, const Slots& slots);

 private:
  struct Entry {
    uint32_t node;
    uint8_t outward, inward;
  };
  const Graph& set_;
  std::vector<uint32_t> arc_ids_;  // [outward * 256 + inward]
  std::vector<std::vector<Entry>> lists_;
};

}  // namespace grade
