// Candidates for patterns of k + 1 nodes: all whose connected parts of k nodes are among given ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "canonical.hpp"
#include "parallel.hpp"
#include "pattern_map.hpp"

namespace grade {

struct Joined {
  PatternMap patterns;                  // canonical forms, by code
  std::vector<uint64_t> automorphisms;  // of each pattern
  std::vector<int32_t> parts;           // [patterns, k + 1] the given pattern that is left without a node, or -1 where
                                        // what is left is not connected
  bool complete = true;                 // false: there were more than asked for, and they are left out
  uint64_t bound = 0;                   // then: there are at most so many
};

// A connected pattern C of three nodes or more has two nodes u and v without which, one or both, it stays connected
// (two leaves of a spanning tree). So C is the join of C - u and C - v at their common part: for every part of k - 1
// nodes, all pairs of ways to attach a node to it, and all edges that the two nodes can have between them. What has a
// connected part that is not among the given patterns is dropped (Agrawal and Srikant, 1994; Kuramochi and Karypis,
// 2001). `patterns` are canonical, distinct, connected and of one size k >= 2; `pairs` are the patterns of two nodes
// that may occur in a candidate.
Joined join_patterns(std::span<const SmallGraph> patterns, std::span<const SmallGraph> pairs, size_t most, int threads,
                     const KeepGoing& keep_going);

}  // namespace grade
