// Graphlet degrees: how often each node is in each place of each pattern, places that a symmetry exchanges being one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"
#include "pattern_map.hpp"

namespace grade {

struct NodeOrbits {
  PatternMap patterns;                  // canonical forms
  std::vector<uint64_t> automorphisms;  // of each pattern
  struct Orbit {
    uint32_t pattern, place;  // the first place of the orbit in the canonical order
  };
  std::vector<Orbit> orbits;
  struct Count {
    uint32_t node, orbit;  // id in the graph set, number of the orbit
    uint64_t count;
  };
  std::vector<Count> counts;  // by node, then orbit
};

// `occurrences` is [n, k] row by row, of ids in the graph set.
NodeOrbits node_orbits(const Graph& graph, int k, std::span<const uint32_t> occurrences);

}  // namespace grade
