#include "joins.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <set>

#include "parts.hpp"

namespace grade {
namespace {

using Order = std::array<uint8_t, kMaxSize>;

// How one node hangs at a part: its type and self-loop, and its edges to and from each place of the part.
struct Attachment {
  uint16_t type;
  uint8_t loop;
  std::array<uint8_t, 2 * kMaxSize> ties{};  // [2 place] to the place, [2 place + 1] from it
  auto operator<=>(const Attachment&) const = default;
};

// Permutations that generate the automorphism group: for each place, one that fixes all places before it and takes it
// to each place that it can be taken to.
class Symmetries {
 public:
  explicit Symmetries(const SmallGraph& graph) : graph_(graph) {
    for (int place = 0; place < graph.k; ++place) {
      for (int image = place + 1; image < graph.k; ++image) {
        for (int fixed = 0; fixed < place; ++fixed) to_[fixed] = static_cast<uint8_t>(fixed);
        used_ = (1u << place) - 1;
        if (place_at(place, image) && extend(place + 1)) generators.push_back(to_);
      }
    }
  }

  std::vector<Order> generators;

 private:
  bool place_at(int place, int image) {
    if (used_ >> image & 1 || graph_.types[place] != graph_.types[image]) return false;
    to_[place] = static_cast<uint8_t>(image);
    for (int other = 0; other <= place; ++other) {
      if (edge(place, other) != edge(image, to_[other]) || edge(other, place) != edge(to_[other], image)) return false;
    }
    used_ |= 1u << image;
    return true;
  }

  bool extend(int place) {
    if (place == graph_.k) return true;
    const uint32_t before = used_;
    for (int image = 0; image < graph_.k; ++image) {
      if (place_at(place, image) && extend(place + 1)) return true;
      used_ = before;
    }
    return false;
  }

  uint8_t edge(int i, int j) const { return graph_.edges[i * graph_.k + j]; }

  const SmallGraph& graph_;
  Order to_{};
  uint32_t used_ = 0;
};

// The attachments and all their images under the symmetries of the part.
std::vector<Attachment> closed(const std::set<Attachment>& attachments, const SmallGraph& part) {
  const Symmetries symmetries(part);
  std::set<Attachment> all = attachments;
  std::vector<Attachment> fresh(attachments.begin(), attachments.end());
  while (!fresh.empty()) {
    const Attachment from = fresh.back();
    fresh.pop_back();
    for (const Order& to : symmetries.generators) {
      Attachment image = from;
      for (int place = 0; place < part.k; ++place) {
        image.ties[2 * to[place]] = from.ties[2 * place];
        image.ties[2 * to[place] + 1] = from.ties[2 * place + 1];
      }
      if (all.insert(image).second) fresh.push_back(image);
    }
  }
  return {all.begin(), all.end()};
}

SmallGraph joined(const SmallGraph& part, const Attachment& a, const Attachment& b, uint8_t outward, uint8_t inward) {
  SmallGraph graph{};
  const int k = graph.k = part.k + 2, u = part.k, v = part.k + 1;
  for (int i = 0; i < part.k; ++i) {
    graph.types[i] = part.types[i];
    std::copy_n(part.edges.begin() + i * part.k, part.k, graph.edges.begin() + i * k);
    graph.edges[u * k + i] = a.ties[2 * i];
    graph.edges[i * k + u] = a.ties[2 * i + 1];
    graph.edges[v * k + i] = b.ties[2 * i];
    graph.edges[i * k + v] = b.ties[2 * i + 1];
  }
  graph.types[u] = a.type;
  graph.types[v] = b.type;
  graph.edges[u * k + u] = a.loop;
  graph.edges[v * k + v] = b.loop;
  graph.edges[u * k + v] = outward;
  graph.edges[v * k + u] = inward;
  return graph;
}

// One thread's candidates.
class Joiner {
 public:
  Joiner(const PatternMap& given, int k) : given_(given), k_(k), seen_(k + 1), found(k + 1) {}

  void add(const SmallGraph& raw) {
    const CanonicalForm form = canonicalize_(raw);
    const SmallGraph graph = reordered(raw, form.order);
    if (!seen_.insert(graph).second) return;
    std::array<int32_t, kMaxSize> parts;
    for (int node = 0; node <= k_; ++node) {
      const SmallGraph part = without(graph, node);
      parts[node] = -1;
      if (!connected(part)) continue;
      const int64_t id = given_.find(reordered(part, canonicalize_(part).order));
      if (id < 0) return;
      parts[node] = static_cast<int32_t>(id);
    }
    found.insert(graph);
    automorphisms.push_back(form.automorphisms);
    parts_of_found.insert(parts_of_found.end(), parts.begin(), parts.begin() + k_ + 1);
  }

  size_t seen() const { return seen_.size(); }

 private:
  const PatternMap& given_;
  const int k_;
  Canonicalizer canonicalize_;
  PatternMap seen_;

 public:
  PatternMap found;
  std::vector<uint64_t> automorphisms;
  std::vector<int32_t> parts_of_found;
};

}  // namespace

Joined join_patterns(std::span<const SmallGraph> patterns, std::span<const SmallGraph> pairs, size_t most, int threads,
                     const KeepGoing& keep_going) {
  const int k = patterns.empty() ? 2 : patterns[0].k;
  if (k < 2 || k >= kMaxSize) throw BadInput("patterns of 2 to 15 nodes can be joined");
  Canonicalizer canonicalize;
  PatternMap given(k), parts(k - 1), known_pairs(2);
  std::vector<std::set<Attachment>> attachments;
  for (const SmallGraph& pattern : patterns) {
    if (!given.insert(pattern).second) throw BadInput("a pattern is there twice");
  }
  for (const SmallGraph& pattern : patterns) {
    for (int node = 0; node < k; ++node) {
      const SmallGraph part = without(pattern, node);
      if (!connected(part)) continue;
      const Order order = canonicalize(part).order;
      const auto [id, fresh] = parts.insert(reordered(part, order));
      if (fresh) attachments.emplace_back();
      Attachment attachment{pattern.types[node], pattern.edges[node * k + node], {}};
      for (int place = 0; place < k - 1; ++place) {
        const int other = order[place] + (order[place] >= node);
        attachment.ties[2 * place] = pattern.edges[node * k + other];
        attachment.ties[2 * place + 1] = pattern.edges[other * k + node];
      }
      attachments[id].insert(attachment);
    }
  }
  std::set<std::pair<uint8_t, uint8_t>> links;  // edge types there and back between two nodes
  for (const SmallGraph& pair : pairs) {
    known_pairs.insert(pair);
    links.insert({pair.edges[1], pair.edges[2]});
    links.insert({pair.edges[2], pair.edges[1]});
  }

  std::vector<Joiner> joiners(threads, Joiner(given, k));
  std::vector<Canonicalizer> pair_forms(threads);
  std::atomic<bool> full{false};
  std::atomic<size_t> kept{0};
  parallel_chunks(attachments.size(), 1, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
    Joiner& joiner = joiners[thread];
    for (size_t id = begin; id < end && !full; ++id) {
      const SmallGraph part = parts.at(static_cast<uint32_t>(id));
      const std::vector<Attachment> images = closed(attachments[id], part);
      const size_t before = joiner.seen();
      for (const Attachment& a : attachments[id]) {
        if (stop || full) break;
        for (const Attachment& b : images) {
          joiner.add(joined(part, a, b, 0, 0));
          for (const auto& [outward, inward] : links) {
            SmallGraph pair{};
            pair.k = 2;
            pair.types[0] = a.type;
            pair.types[1] = b.type;
            pair.edges = {a.loop, outward, inward, b.loop};
            if (known_pairs.find(reordered(pair, pair_forms[thread](pair).order)) < 0) continue;
            joiner.add(joined(part, a, b, outward, inward));
          }
        }
        if (kept + joiner.seen() - before > most) full = true;
      }
      kept += joiner.seen() - before;
    }
  });

  Joined result{PatternMap(k + 1), {}, {}, !full, 0};
  if (full) {
    for (uint32_t id = 0; id < attachments.size(); ++id) {
      result.bound += attachments[id].size() * closed(attachments[id], parts.at(id)).size() * (1 + links.size());
    }
    return result;
  }
  PatternMap all(k + 1);
  std::vector<std::pair<int, uint32_t>> origin;  // thread, and its number there
  for (int thread = 0; thread < threads; ++thread) {
    for (uint32_t i = 0; i < joiners[thread].found.size(); ++i) {
      if (all.insert(joiners[thread].found.at(i)).second) origin.push_back({thread, i});
    }
  }
  for (uint32_t id : all.sorted()) {
    const auto [thread, at] = origin[id];
    result.patterns.insert(all.at(id));
    result.automorphisms.push_back(joiners[thread].automorphisms[at]);
    const auto first = joiners[thread].parts_of_found.begin() + int64_t{at} * (k + 1);
    result.parts.insert(result.parts.end(), first, first + k + 1);
  }
  return result;
}

}  // namespace grade
