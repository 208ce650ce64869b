// Counts by isomorphism class, fed with small graphs in any order of their nodes.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "canonical.hpp"
#include "census.hpp"

namespace grade {

class Tally {
 public:
  explicit Tally(int k) : result{PatternMap(k), {}, {}} {}

  void add(const SmallGraph& graph, uint64_t count) {
    const CanonicalForm form = canonicalize_(graph);
    add_canonical(reordered(graph, form.order), form.automorphisms, count);
  }
  void add_canonical(const SmallGraph& canonical, uint64_t automorphisms, uint64_t count) {
    const auto [id, fresh] = result.patterns.insert(canonical);
    if (fresh) {
      result.automorphisms.push_back(automorphisms);
      result.counts.push_back(0);
    }
    if (__builtin_add_overflow(result.counts[id], count, &result.counts[id])) {
      throw std::overflow_error("a pattern occurs more than 2^64 times");
    }
  }
  void add(const PatternCounts& other) {
    for (uint32_t id = 0; id < other.patterns.size(); ++id) {
      add_canonical(other.patterns.at(id), other.automorphisms[id], other.counts[id]);
    }
  }

  PatternCounts result;

 private:
  Canonicalizer canonicalize_;
};

}  // namespace grade
