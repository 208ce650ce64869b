#include "node_orbits.hpp"

#include <algorithm>
#include <unordered_map>

#include "canonical.hpp"
#include "classify.hpp"

namespace grade {
namespace {

constexpr uint16_t kMark = UINT16_MAX;  // no set has so many types

// [place] the first place that a symmetry takes it to. Two nodes can be exchanged exactly when the pattern with the
// one marked is isomorphic to the pattern with the other marked.
std::vector<uint32_t> orbits_of(const SmallGraph& pattern, Canonicalizer& canonicalize) {
  PatternMap marked(pattern.k);
  std::vector<uint32_t> first, orbit(pattern.k);
  for (uint32_t place = 0; place < orbit.size(); ++place) {
    SmallGraph copy = pattern;
    copy.types[place] = kMark;
    const auto [id, fresh] = marked.insert(reordered(copy, canonicalize(copy).order));
    if (fresh) first.push_back(place);
    orbit[place] = first[id];
  }
  return orbit;
}

}  // namespace

NodeOrbits node_orbits(const Graph& graph, int k, std::span<const uint32_t> occurrences) {
  NodeOrbits result{PatternMap(k), {}, {}, {}};
  InducedSubgraph induced(graph);
  Canonicalizer canonicalize;
  PatternMap memo(k);                  // subgraphs as they were met
  std::vector<uint32_t> orbit_at;      // [memo, k] orbit of each of their nodes
  std::vector<std::vector<uint32_t>> numbers;  // [pattern, place] orbit
  std::unordered_map<uint64_t, uint64_t> counts;
  std::vector<uint32_t> nodes(k);
  SmallGraph raw;
  for (size_t row = 0; row < occurrences.size(); row += k) {
    for (int i = 0; i < k; ++i) {
      if (occurrences[row + i] >= graph.nodes()) throw BadInput("an occurrence names a node that the set does not have");
      nodes[i] = graph.renumbered(occurrences[row + i]);
    }
    std::sort(nodes.begin(), nodes.end());  // one way to write a node set: more hits in the memo
    induced(nodes, raw);
    const auto [seen, fresh] = memo.insert(raw);
    if (fresh) {
      const CanonicalForm form = canonicalize(raw);
      const SmallGraph canonical = reordered(raw, form.order);
      const auto [pattern, new_pattern] = result.patterns.insert(canonical);
      if (new_pattern) {
        result.automorphisms.push_back(form.automorphisms);
        std::vector<uint32_t> number(k), first = orbits_of(canonical, canonicalize);
        for (int place = 0; place < k; ++place) {
          if (first[place] == static_cast<uint32_t>(place)) {
            number[place] = static_cast<uint32_t>(result.orbits.size());
            result.orbits.push_back({pattern, static_cast<uint32_t>(place)});
          } else {
            number[place] = number[first[place]];
          }
        }
        numbers.push_back(std::move(number));
      }
      orbit_at.resize(orbit_at.size() + k);
      for (int place = 0; place < k; ++place) {
        orbit_at[size_t{seen} * k + form.order[place]] = numbers[pattern][place];
      }
    }
    for (int i = 0; i < k; ++i) {
      ++counts[uint64_t{graph.original(nodes[i])} << 32 | orbit_at[size_t{seen} * k + i]];
    }
  }
  result.counts.reserve(counts.size());
  for (const auto& [key, count] : counts) {
    result.counts.push_back({static_cast<uint32_t>(key >> 32), static_cast<uint32_t>(key), count});
  }
  std::sort(result.counts.begin(), result.counts.end(),
            [](const auto& x, const auto& y) { return std::pair(x.node, x.orbit) < std::pair(y.node, y.orbit); });
  return result;
}

}  // namespace grade
