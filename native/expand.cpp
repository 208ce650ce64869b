#include "expand.hpp"

#include <algorithm>
#include <array>

#include "random.hpp"

namespace grade {
namespace {

constexpr size_t kBlock = 4096;  // occurrences of one graph that are grown together
constexpr size_t kShards = 16;

uint64_t node_hash(uint32_t node, uint64_t key) { return mixed(node + key); }

// The candidates of one occurrence: nodes outside it that touch it and may be added.
class Growth {
 public:
  Growth(const Graph& graph, int k, const GrowthLimits& limits)
      : graph_(graph), k_(k), limits_(limits), slot_(graph.largest(), 0),
        counts_edges_(limits.fusible || limits.most_in < k || limits.most_out < k || limits.most_edges < k * (k + 1)) {}

  // Core ids of the members -> candidates (core ids), in a fixed order.
  std::span<const uint32_t> of(std::span<const uint32_t> members) {
    const uint32_t first = graph_.begin_of(graph_.graph_of(members[0]));
    candidates_.clear();
    nodes_.clear();
    bool near = limits_.distance.empty();
    for (uint32_t member : members) {
      slot_[member - first] = kMember;
      near = near || limits_.distance[graph_.original(member)] <= limits_.steps_left;
    }
    if (counts_edges_) {
      within_limits(members, first, near);
    } else {
      touching(members, first, near);
    }
    for (uint32_t member : members) slot_[member - first] = 0;
    return candidates_;
  }

 private:
  static constexpr uint32_t kMember = UINT32_MAX;
  struct Candidate {
    uint32_t node;
    int in, out, edges;
    bool legal;
  };

  bool may_join(uint32_t node, bool near) const {
    const uint32_t id = graph_.original(node);
    return (limits_.allowed.empty() || limits_.allowed[id] != 0) && (near || limits_.distance[id] <= limits_.steps_left);
  }

  // Where no number of edges is too many, they are not counted: around hubs that is most of the work.
  void touching(std::span<const uint32_t> members, uint32_t first, bool near) {
    for (uint32_t member : members) {
      for (const Neighbour& n : graph_.neighbours(member)) {
        uint32_t& slot = slot_[n.node - first];
        if (slot != 0) continue;
        slot = 1;
        met_.push_back(n.node);
      }
    }
    for (uint32_t node : met_) {
      slot_[node - first] = 0;
      if (may_join(node, near)) candidates_.push_back(node);
    }
    met_.clear();
  }

  void within_limits(std::span<const uint32_t> members, uint32_t first, bool near) {
    int edges = 0;
    for (int i = 0; i < k_; ++i) {  // degrees inside the occurrence
      out_[i] = in_[i] = 0;
      for (const Neighbour& n : graph_.neighbours(members[i])) {
        const uint32_t slot = slot_[n.node - first];
        if (slot != kMember) continue;
        const ArcClass& arc = graph_.arc_class(graph_.arc(n));
        out_[i] += arc.outward != 0;
        in_[i] += arc.inward != 0;
      }
      edges += out_[i];
    }
    for (int i = 0; i < k_; ++i) {
      for (const Neighbour& n : graph_.neighbours(members[i])) {
        uint32_t& slot = slot_[n.node - first];
        if (slot == kMember) continue;
        if (slot == 0) {
          nodes_.push_back({n.node, 0, 0, edges, may_join(n.node, near)});
          slot = static_cast<uint32_t>(nodes_.size());
        }
        Candidate& candidate = nodes_[slot - 1];
        const ArcClass& arc = graph_.arc_class(graph_.arc(n));
        const int outward = arc.outward != 0, inward = arc.inward != 0;
        candidate.in += outward;
        candidate.out += inward;
        candidate.edges += outward + inward;
        candidate.legal = candidate.legal && out_[i] + outward <= limits_.most_out &&
                          in_[i] + inward <= limits_.most_in;
      }
    }
    for (const Candidate& c : nodes_) {
      slot_[c.node - first] = 0;
      if (limits_.fusible && !is_used_up(c.node, c.out)) continue;
      if (c.legal && c.in <= limits_.most_in && c.out <= limits_.most_out && c.edges <= limits_.most_edges) {
        candidates_.push_back(c.node);
      }
    }
  }

  bool is_used_up(uint32_t node, int to_members) const {
    const FusibleIndex& index = *limits_.fusible;
    return !index.drains(node) && index.alone(node) && index.out_degree(node) == static_cast<uint32_t>(to_members);
  }

  const Graph& graph_;
  const int k_;
  const GrowthLimits& limits_;
  std::vector<uint32_t> slot_;  // [local node] number + 1 of a candidate, or kMember
  std::vector<Candidate> nodes_;
  const bool counts_edges_;
  std::vector<uint32_t> met_, candidates_;
  std::array<int, kMaxSize> out_{}, in_{};
};

// Distinct node sets of one size with weights, found by their whole content.
class NodeSets {
 public:
  explicit NodeSets(int k) : k_(k) {}

  void add(std::span<const uint32_t> nodes, uint64_t hash, double weight) {
    if (weights.size() * 2 >= slots_.size()) grow();
    for (size_t at = hash;; ++at) {
      uint32_t& entry = slots_[at & (slots_.size() - 1)];
      if (entry == 0) {
        rows.insert(rows.end(), nodes.begin(), nodes.end());
        hashes_.push_back(hash);
        weights.push_back(weight);
        entry = static_cast<uint32_t>(weights.size());
        return;
      }
      if (hashes_[entry - 1] == hash && std::equal(nodes.begin(), nodes.end(), rows.begin() + size_t(entry - 1) * k_)) {
        weights[entry - 1] += weight;
        return;
      }
    }
  }

  void add(const NodeSets& other) {
    for (size_t i = 0; i < other.weights.size(); ++i) {
      add({other.rows.data() + i * k_, size_t(k_)}, other.hashes_[i], other.weights[i]);
    }
  }

  std::vector<uint32_t> rows;
  std::vector<double> weights;

 private:
  void grow() {
    slots_.assign(std::max<size_t>(slots_.size() * 2, 64), 0);
    for (uint32_t i = 0; i < weights.size(); ++i) {
      size_t at = hashes_[i];
      while (slots_[at & (slots_.size() - 1)]) ++at;
      slots_[at & (slots_.size() - 1)] = i + 1;
    }
  }

  int k_;
  std::vector<uint32_t> slots_;
  std::vector<uint64_t> hashes_;
};

// [begin, end) rows of the occurrences of each graph that has any. The rows must be ordered by graph.
std::vector<std::pair<size_t, size_t>> rows_by_graph(const Graph& graph, int k, std::span<const uint32_t> occurrences) {
  std::vector<std::pair<size_t, size_t>> ranges;
  uint32_t begin = 0, end = 0;  // ids of the last graph
  for (size_t row = 0; row * k < occurrences.size(); ++row) {
    const uint32_t node = occurrences[row * k];
    if (node >= graph.nodes()) throw BadInput("an occurrence names a node that the graph set does not have");
    if (node < begin) throw BadInput("the occurrences are not ordered by graph");
    if (node >= end) {
      const uint32_t owner = graph.graph_of(node);
      begin = graph.begin_of(owner), end = graph.end_of(owner);
      ranges.push_back({row, row});
    }
    ranges.back().second = row + 1;
  }
  return ranges;
}

void members_of(const Graph& graph, int k, std::span<const uint32_t> occurrences, size_t row,
                std::array<uint32_t, kMaxSize>& members) {
  const uint32_t owner = graph.graph_of(occurrences[row * k]);
  for (int i = 0; i < k; ++i) {
    const uint32_t id = occurrences[row * k + i];
    if (id < graph.begin_of(owner) || id >= graph.end_of(owner) || (i && id <= occurrences[row * k + i - 1])) {
      throw BadInput("the nodes of an occurrence must ascend and lie in one graph");
    }
    members[i] = graph.renumbered(id);
  }
}

void check(int k, std::span<const uint32_t> occurrences, const Graph& graph, const GrowthLimits& limits) {
  if (k < 1 || k >= kMaxSize) throw BadInput("occurrences of 1 to 15 nodes can be grown");
  if (occurrences.size() % k) throw BadInput("occurrences must be [n, k]");
  for (auto array : {limits.allowed, limits.distance}) {
    if (!array.empty() && array.size() != graph.nodes()) throw BadInput("a limit must have one entry for each node");
  }
}

}  // namespace

std::vector<uint32_t> count_growth(const Graph& graph, int k, std::span<const uint32_t> occurrences,
                                   const GrowthLimits& limits, int threads, const KeepGoing& keep_going) {
  check(k, occurrences, graph, limits);
  const size_t n = occurrences.size() / k;
  for (size_t row = 0; row < n; ++row) {
    if (occurrences[row * k] >= graph.nodes()) throw BadInput("an occurrence names a node that the graph set does not have");
  }
  std::vector<uint32_t> result(n);
  std::vector<Growth> growths(threads, Growth(graph, k, limits));
  parallel_chunks(n, 256, threads, keep_going, [&](int thread, size_t begin, size_t end, const std::atomic<bool>&) {
    std::array<uint32_t, kMaxSize> members;
    for (size_t row = begin; row < end; ++row) {
      members_of(graph, k, occurrences, row, members);
      result[row] = static_cast<uint32_t>(growths[thread].of({members.data(), size_t(k)}).size());
    }
  });
  return result;
}

Grown expand(const Graph& graph, int k, std::span<const uint32_t> occurrences, std::span<const double> weights,
             std::span<const double> rates, const GrowthLimits& limits, Share share, uint64_t seed, uint32_t first_node,
             int threads, const KeepGoing& keep_going) {
  check(k, occurrences, graph, limits);
  if (weights.size() * k != occurrences.size() || rates.size() != weights.size()) {
    throw BadInput("every occurrence needs a weight and a rate");
  }
  if (share.number >= share.of) throw BadInput("there are fewer shares");
  // A graph of many rows is done in blocks. Their node sets are dealt to shards by hash, so that those of one shard can
  // be joined apart from the others. Blocks and shards follow from the rows alone: results do not depend on threads.
  struct Block {
    size_t first, last;            // rows
    std::vector<NodeSets> shards;  // what grew from them
  };
  struct Part {
    size_t first, last;  // blocks of one graph
    size_t shard;
  };
  std::vector<Block> blocks;
  std::vector<Part> parts;
  for (const auto& [begin, end] : rows_by_graph(graph, k, occurrences)) {
    const size_t before = blocks.size(), shards = end - begin > kBlock ? kShards : 1;
    for (size_t row = begin; row < end; row += kBlock) {
      blocks.push_back({row, std::min(end, row + kBlock), std::vector<NodeSets>(shards, NodeSets(k + 1))});
    }
    for (size_t shard = 0; shard < shards; ++shard) parts.push_back({before, blocks.size(), shard});
  }

  const uint64_t key = mixed(seed + kGolden);
  std::vector<Growth> growths(threads, Growth(graph, k, limits));
  parallel_chunks(blocks.size(), 1, threads, keep_going,
                  [&](int thread, size_t number, size_t, const std::atomic<bool>& stop) {
    std::array<uint32_t, kMaxSize> members, grown;
    Block& block = blocks[number];
    for (size_t row = block.first; row < block.last && !stop; ++row) {
      members_of(graph, k, occurrences, row, members);
      const uint32_t* ids = occurrences.data() + row * k;
      uint64_t sum = 0;
      for (int i = 0; i < k; ++i) sum += node_hash(first_node + ids[i], key);
      for (uint32_t candidate : growths[thread].of({members.data(), size_t(k)})) {
        const uint32_t id = graph.original(candidate);
        const uint64_t hash = mixed(sum + node_hash(first_node + id, key));
        if (static_cast<double>(hash >> 11) * 0x1p-53 >= rates[row]) continue;
        if (share.of > 1 && mixed(hash) % share.of != share.number) continue;
        const auto at = std::upper_bound(ids, ids + k, id) - ids;
        std::copy_n(ids, at, grown.begin());
        grown[at] = id;
        std::copy(ids + at, ids + k, grown.begin() + at + 1);
        // The top bits say which rates let a set pass, the lowest where it lies in a table: these are in between.
        NodeSets& shard = block.shards[(hash >> 32) % block.shards.size()];
        shard.add({grown.data(), size_t(k) + 1}, hash, weights[row] / rates[row]);
      }
    }
  });
  parallel_chunks(parts.size(), 1, threads, keep_going, [&](int, size_t i, size_t, const std::atomic<bool>& stop) {
    const auto [first, last, shard] = parts[i];
    for (size_t block = first + 1; block < last && !stop; ++block) {
      blocks[first].shards[shard].add(blocks[block].shards[shard]);
      blocks[block].shards[shard] = NodeSets(k + 1);  // give the memory back
    }
  });

  std::vector<size_t> begin_of(parts.size() + 1, 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    begin_of[i + 1] = begin_of[i] + blocks[parts[i].first].shards[parts[i].shard].weights.size();
  }
  Grown result{std::vector<uint32_t>(begin_of.back() * (k + 1)), std::vector<double>(begin_of.back())};
  parallel_chunks(parts.size(), 1, threads, keep_going, [&](int, size_t i, size_t, const std::atomic<bool>&) {
    NodeSets& sets = blocks[parts[i].first].shards[parts[i].shard];
    std::copy(sets.rows.begin(), sets.rows.end(), result.occurrences.begin() + begin_of[i] * (k + 1));
    std::copy(sets.weights.begin(), sets.weights.end(), result.weights.begin() + begin_of[i]);
    sets = NodeSets(0);
  });
  return result;
}

}  // namespace grade
