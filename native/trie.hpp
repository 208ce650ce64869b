// The trie of labelled subgraphs in enumeration order (FaSE's idea, with node types and edge types).
#pragma once

#include <cstdint>
#include <vector>

#include "canonical.hpp"
#include "conn.hpp"
#include "graph.hpp"

namespace grade {

// A state is a sequence of (ties to the earlier members, node class). Two occurrences in the same state have
// the same types and the same edges in the order in which they were found, so they are isomorphic.
template <class Conn>
class Trie {
 public:
  static constexpr uint32_t kRoot = 0;

  Trie() : slots_(1 << 12) { states_.push_back({}); }

  uint32_t step(uint32_t state, const Conn& conn, uint32_t node_class) {
    size_t at = hash(state, conn, node_class);
    for (;; ++at) {
      Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.state == state && slot.node_class == node_class && slot.conn == conn && slot.next) return slot.next;
      if (slot.next == 0) return add(slot, state, conn, node_class);
    }
  }

  size_t size() const { return states_.size(); }
  void clear() {
    states_.resize(1);
    slots_.assign(1 << 12, Slot{});
  }

  // The subgraph that a state stands for, its members in enumeration order, with room for some more.
  SmallGraph subgraph(uint32_t state, int members, const Graph& graph, int more = 0) const {
    SmallGraph result;
    result.k = members + more;
    result.edges.fill(0);
    for (int i = members - 1; i >= 0; --i) {
      const State& s = states_[state];
      append(result, i, s.conn, s.node_class, graph);
      state = s.parent;
    }
    return result;
  }

  // Writes member number i with its ties to the members before it.
  static void append(SmallGraph& subgraph, int i, const Conn& conn, uint32_t node_class, const Graph& graph) {
    const int k = subgraph.k;
    const NodeClass& node = graph.node_class(node_class);
    subgraph.types[i] = node.type;
    subgraph.edges[i * k + i] = node.loop;
    for (int j = 0; j < i; ++j) {
      const ArcClass& arc = graph.arc_class(conn.arc(j));  // seen from member j
      subgraph.edges[j * k + i] = arc.outward;
      subgraph.edges[i * k + j] = arc.inward;
    }
  }

 private:
  struct Slot {
    Conn conn;
    uint32_t state = 0, node_class = 0, next = 0;  // next == 0 marks a free slot
  };
  struct State {
    Conn conn;
    uint32_t parent = 0, node_class = 0;
  };

  static size_t hash(uint32_t state, const Conn& conn, uint32_t node_class) {
    return quickly_mixed(uint64_t{state} << 32 | node_class, conn.mix());
  }

  uint32_t add(Slot& slot, uint32_t state, const Conn& conn, uint32_t node_class) {
    const auto id = static_cast<uint32_t>(states_.size());
    slot = {conn, state, node_class, id};
    states_.push_back({conn, state, node_class});
    if (states_.size() * 2 > slots_.size()) {
      std::vector<Slot> old(slots_.size() * 2);
      old.swap(slots_);
      for (const Slot& s : old) {
        if (s.next == 0) continue;
        size_t at = hash(s.state, s.conn, s.node_class);
        while (slots_[at & (slots_.size() - 1)].next) ++at;
        slots_[at & (slots_.size() - 1)] = s;
      }
    }
    return id;
  }

  std::vector<Slot> slots_;
  std::vector<State> states_;
};

}  // namespace grade
