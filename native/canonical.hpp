// Exact canonical form of a typed digraph with at most 16 nodes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph.hpp"

namespace grade {

// A typed digraph of k nodes. edges[i * k + j] is the type of i -> j, 0 where there is none.
struct SmallGraph {
  int k = 0;
  std::array<uint16_t, kMaxSize> types{};
  std::array<uint8_t, kMaxSize * kMaxSize> edges{};  // rows are read 16 entries at a time, so past k * k as well
};

struct CanonicalForm {
  std::array<uint8_t, kMaxSize> order;  // order[p] is the node put at place p
  uint64_t automorphisms;
};

// Finds a relabelling that depends on the isomorphism class alone, by colour refinement and a search
// over individualised nodes that is pruned by the symmetries it meets. Keep one per thread.
class Canonicalizer {
 public:
  CanonicalForm operator()(const SmallGraph& graph);
  // The graph that was read last, with its nodes in the given order.
  void write(const std::array<uint8_t, kMaxSize>& order, uint16_t* types, uint8_t* edges) const;

 private:
  // Nodes in the order of their cells; bit p of `starts` is set where a cell begins.
  struct Partition {
    std::array<uint8_t, kMaxSize> nodes;
    uint32_t starts;
  };
  using Permutation = std::array<uint8_t, kMaxSize>;
  using Code = std::vector<uint16_t>;  // adjacency rows under an order, one run of k per edge type

  void read(const SmallGraph& graph);
  void read_mixed_types(const SmallGraph& graph);
  Partition by_class_and_degree() const;
  uint64_t signature(int node, const std::array<uint8_t, kMaxSize>& colour) const;
  void refine(Partition& partition) const;
  uint32_t open_cells(const Partition& partition) const;
  int cell_end(const Partition& partition, int start) const;
  bool twins(int u, int v) const;
  bool twin_cell(const Partition& partition, int start) const;
  bool all_cells_are_twins(const Partition& partition) const;
  void find_twins(const Partition& partition);
  int search(const Partition& partition, int depth, uint16_t fixed, bool first_path);
  int leaf(const Partition& partition, int depth);
  void write_code(const Partition& partition, Code& code) const;
  void add_automorphism(const Partition& from, const Partition& to);
  int orbit(int node);
  void join(int a, int b);

  int k_ = 0;
  int kinds_ = 0;  // distinct edge types, self-loops aside
  std::array<uint32_t, kMaxSize> class_{};                                    // type and self-loop
  std::array<uint8_t, kMaxSize * kMaxSize> type_of_kind_{};
  std::array<std::array<uint16_t, kMaxSize>, kMaxSize * kMaxSize> out_{}, in_{};  // [kind][node] bit masks
  std::array<uint16_t, kMaxSize> twins_{};  // nodes that can be swapped with this one, itself included

  // State of one search.
  bool have_leaf_ = false;
  Partition first_{}, best_{};
  std::array<uint8_t, kMaxSize> path_{}, first_path_nodes_{}, best_path_{};
  int first_depth_ = 0, best_depth_ = 0;
  Code first_code_, best_code_, code_;
  std::vector<Permutation> generators_;
  std::array<uint8_t, kMaxSize> orbit_{};  // union-find over all automorphisms found
  uint64_t automorphisms_ = 1;
};

// The graph with its nodes in the given order.
SmallGraph reordered(const SmallGraph& graph, const std::array<uint8_t, kMaxSize>& order);

}  // namespace grade
