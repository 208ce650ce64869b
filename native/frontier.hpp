// The nodes that a growing subgraph may take next, with their ties to its members.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"

namespace grade {

// Extension lists are linked lists that share their tails: the list below a node of one begins with the neighbours
// that nobody else had, and goes on with what stood behind that node. Nodes up to the root count as not there.
template <class Conn>
class Frontier {
 public:
  struct Link {
    uint32_t node;
    int32_t next;
  };
  static constexpr int32_t kEnd = -1;

  explicit Frontier(const Graph& graph)
      : graph_(graph), arcs(static_cast<uint32_t>(graph.arc_classes()) + 1), tied(static_cast<uint32_t>(graph.tags())) {}

  // Every node of the graph is without ties then, as it is after `leave` of every member.
  void begin_graph(size_t graph) {
    first_ = graph_.begin_of(graph);
    const size_t nodes = graph_.end_of(graph) - first_;
    if (ties_.size() < nodes) {
      ties_.resize(nodes);
      bins_.resize(nodes, 0);
    }
  }
  void begin_root(uint32_t root) {
    root_ = root;
    links.clear();
  }

  Conn& ties(uint32_t node) { return ties_[node - first_]; }
  uint32_t& bin(uint32_t node) { return bins_[node - first_]; }
  // Lists end at the root: neighbours come by descending id.
  bool is_past(const Neighbour& neighbour) const { return neighbour.node <= root_; }
  const uint32_t* bins() const { return bins_.data(); }
  uint32_t first() const { return first_; }
  uint32_t root() const { return root_; }

  // Makes `node` member number `member`: marks its neighbours and puts the exclusive ones before `tail`.
  int32_t enter(uint32_t node, int member, int32_t tail) {
    for (const Neighbour& n : graph_.neighbours(node)) {
      if (n.node <= root_) break;
      Conn& its_ties = ties(n.node);
      if (its_ties.none()) {
        links.push_back({n.node, tail});
        tail = static_cast<int32_t>(links.size()) - 1;
        bin(n.node) = tied;
      }
      its_ties.add(member, graph_.arc(n));
    }
    return tail;
  }
  void leave(uint32_t node, int member) {
    for (const Neighbour& n : graph_.neighbours(node)) {
      if (n.node <= root_) break;
      Conn& its_ties = ties(n.node);
      its_ties.clear(member);
      if (its_ties.none()) bin(n.node) = 0;
    }
  }

  // The length of a list, as far as `most`.
  int length(int32_t head, int most) const {
    int length = 0;
    for (int32_t i = head; i >= 0 && length < most; i = links[i].next) ++length;
    return length;
  }

 private:
  const Graph& graph_;
  uint32_t root_ = 0, first_ = 0;  // first_: first node of the current graph
  std::vector<Conn> ties_;         // [local node] ties to the members
  std::vector<uint32_t> bins_;     // [local node] 0 while it has no ties

 public:
  const uint32_t arcs;      // number of arc classes, and one for none
  const uint32_t tied;      // bin of tied nodes outside the list; whoever uses bins above it sets them back to it
  std::vector<Link> links;  // of all lists
};

}  // namespace grade
