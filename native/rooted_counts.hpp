// Counts of patterns from complete lists of smaller ones, exact or with a stated bound on the error.
//
// Let B be a pattern whose occurrences are all listed, and C a pattern that holds it and up to three nodes more, which
// hang on B as branches: each has a parent, and the branches are trees. A map of C sends B to a listed occurrence, in
// any way that fits, and each node of a branch to a neighbour of its parent's image with the right type and edges. The
// number H of maps is a sum over the list of products of the branches' numbers. A map is an embedding if its nodes
// are distinct and induce C, and each occurrence of C is the image of automorphisms(C) embeddings. So
//
//   count(C) = p H / automorphisms(C),   p being the share of maps that are embeddings.
//
// Where H is small, all maps are tried, and the count is exact. Otherwise maps are drawn, independent and uniform, until
// r of them were embeddings, n in all; with R drawn from the gamma distribution of shape n, p is estimated by (r - 1) / R.
// The ratio of the estimate to p has the distribution of (r - 1) / Gamma(r), whatever p is (Huber, "A Bernoulli mean
// estimate with known relative error distribution", 2017): r alone says how often an error exceeds a bound. Where r
// embeddings take too many draws there is no count. So for every pattern the probability that it gets a count off by
// more than the bound is at most what r allows, whether or not it gets one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"
#include "parallel.hpp"
#include "pattern_map.hpp"

namespace grade {

// All occurrences of some patterns of one size.
struct CompleteLists {
  explicit CompleteLists(int size) : patterns(size) {}
  PatternMap patterns;                       // canonical forms
  std::vector<std::vector<uint32_t>> nodes;  // [patterns] core numbers, occurrence by occurrence in canonical order
};

enum class Quality : uint8_t { kNone, kBounded, kExact };

struct RootedCount {
  double count = 0;
  Quality quality = Quality::kNone;
};

struct RootedTask {
  uint32_t pattern;  // a row of the patterns
  uint64_t automorphisms;
  std::array<uint32_t, kMaxSize> nodes;  // one occurrence: core numbers in the order of the canonical form
};

// `lists` [size] of the patterns smaller than these. The result does not depend on the number of threads.
std::vector<RootedCount> rooted_counts(const Graph& graph, std::span<const CompleteLists> lists,
                                       const PatternMap& patterns, std::span<const RootedTask> tasks, uint64_t hits,
                                       uint64_t seed, uint64_t stream, int threads, const KeepGoing& keep_going);

}  // namespace grade
