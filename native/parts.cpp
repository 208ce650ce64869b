#include "parts.hpp"

#include <array>
#include <bit>

#include "pattern_map.hpp"

namespace grade {

SmallGraph without(const SmallGraph& graph, int node) {
  SmallGraph part{};
  part.k = graph.k - 1;
  for (int i = 0, p = 0; i < graph.k; ++i) {
    if (i == node) continue;
    part.types[p] = graph.types[i];
    for (int j = 0, q = 0; j < graph.k; ++j) {
      if (j != node) part.edges[p * part.k + q++] = graph.edges[i * graph.k + j];
    }
    ++p;
  }
  return part;
}

bool connected(const SmallGraph& graph) {
  std::array<uint16_t, kMaxSize> near{};
  for (int i = 0; i < graph.k; ++i) {
    for (int j = 0; j < graph.k; ++j) {
      if (!graph.edges[i * graph.k + j]) continue;
      near[i] |= static_cast<uint16_t>(1u << j);
      near[j] |= static_cast<uint16_t>(1u << i);
    }
  }
  uint16_t reached = 1, frontier = 1;
  while (frontier) {
    const int node = std::countr_zero(frontier);
    const auto fresh = static_cast<uint16_t>(near[node] & ~reached);
    frontier = static_cast<uint16_t>((frontier & (frontier - 1)) | fresh);
    reached |= fresh;
  }
  return std::popcount(reached) == graph.k;
}

std::vector<int64_t> connected_parts(std::span<const SmallGraph> patterns, std::span<const SmallGraph> kept,
                                     int threads) {
  if (patterns.empty()) return {};
  const int size = patterns[0].k;
  std::vector<int64_t> result(patterns.size() * size, -1);
  if (kept.empty()) return result;
  if (kept[0].k != size - 1) throw BadInput("parts have one node less than the patterns");
  PatternMap known(size - 1);
  for (const SmallGraph& part : kept) {
    if (!known.insert(part).second) throw BadInput("a pattern is there twice");
  }
  std::vector<Canonicalizer> canonicalizers(threads);
  parallel_chunks(patterns.size(), 64, threads, {},
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
    for (size_t i = begin; i < end && !stop; ++i) {
      for (int node = 0; node < size; ++node) {
        const SmallGraph part = without(patterns[i], node);
        if (!connected(part)) continue;
        result[i * size + node] = known.find(reordered(part, canonicalizers[thread](part).order));
      }
    }
  });
  return result;
}

}  // namespace grade
