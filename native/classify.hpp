// Which pattern each of a list of occurrences is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"
#include "parallel.hpp"
#include "pattern_map.hpp"

namespace grade {

// The subgraph that k nodes of one graph induce, the nodes in the given order.
class InducedSubgraph {
 public:
  explicit InducedSubgraph(const Graph& graph) : graph_(graph), place_(graph.largest(), 0) {}
  void operator()(std::span<const uint32_t> nodes, SmallGraph& result);

 private:
  const Graph& graph_;
  std::vector<uint8_t> place_;  // [local node] its place + 1 while it is a member
};

// Patterns of occurrences, one at a time. Numbers are given in order of first appearance.
class Classifier {
 public:
  // `remembered` bounds the memo of subgraphs as they were met.
  Classifier(const Graph& graph, int k, size_t remembered = 1 << 20)
      : graph_(graph), k_(k), remembered_(remembered), induced_(graph), memo_(k), patterns_(k) {}

  // `ids` are k ids of the graph set; they must be distinct and lie in one graph.
  uint32_t operator()(std::span<const uint32_t> ids);

  const PatternMap& patterns() const { return patterns_; }  // canonical forms
  const std::vector<uint64_t>& automorphisms() const { return automorphisms_; }

 private:
  const Graph& graph_;
  int k_;
  size_t remembered_;
  InducedSubgraph induced_;
  Canonicalizer canonicalize_;
  PatternMap memo_;  // subgraphs as they were met -> pattern
  std::vector<uint32_t> pattern_of_raw_;
  PatternMap patterns_;
  std::vector<uint64_t> automorphisms_;
  SmallGraph raw_{};
};

// The patterns of several classifiers under numbers that do not depend on who met what: in the order of their codes.
struct SharedPatterns {
  PatternMap patterns;
  std::vector<uint64_t> automorphisms;
  std::vector<std::vector<uint32_t>> number;  // [classifier][its own number]
};
SharedPatterns numbered_together(std::span<const Classifier> classifiers, int k);

struct Classification {
  std::vector<uint32_t> ids;            // [occurrences] pattern of each
  PatternMap patterns;                  // canonical forms, in the order of their codes
  std::vector<uint64_t> automorphisms;  // of each pattern
};

// `occurrences` is [n, k] row by row. The nodes of a row must be distinct and lie in one graph. The result does not
// depend on the number of threads.
Classification classify(const Graph& graph, int k, std::span<const uint32_t> occurrences, int threads,
                        const KeepGoing& keep_going);

}  // namespace grade
