#include "nrs.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace grade {
namespace {

// One thread's draws. A node is unprocessed (the paper's V_u, which here holds all but V from the start), or it is a
// member of V, or it has been looked at and left out.
class Reservoir {
 public:
  Reservoir(const Graph& graph, int k) : graph_(graph), k_(k), state_(graph.largest(), kUnprocessed) {}

  // The paper's NRSonSingleGraph, from the edge (source, target).
  std::span<const uint32_t> draw(uint32_t first, uint32_t source, uint32_t target, Random& random) {
    first_ = first;
    touched_.clear();
    size_ = 0;
    auto add = [&](uint32_t node) {
      join(size_, node, look_at(node));
      ++size_;
    };
    add(source);
    add(target);
    while (size_ < k_) add(across_boundary(random));
    for (uint64_t i = k_ + 1; boundary() > 0; ++i) {
      const uint32_t node = across_boundary(random);
      const uint32_t ties = look_at(node);
      if (random.uniform() * static_cast<double>(i) >= k_) continue;
      const int leaving = static_cast<int>(random.below(k_));
      if (connected_without(leaving, ties)) {
        state_[members_[leaving] - first_] = kLeftOut;
        join(leaving, node, ties);
      }
    }
    for (uint32_t local : touched_) state_[local] = kUnprocessed;
    return {members_.data(), size_t(k_)};
  }

 private:
  static constexpr uint8_t kUnprocessed = 0xFF, kLeftOut = 0xFE;  // a member's state is its place in V

  // Edges between the two ends of a neighbour entry: opposite directions are two edges.
  uint32_t edges(const Neighbour& n) const {
    const ArcClass& arc = graph_.arc_class(graph_.arc(n));
    return (arc.outward != 0) + (arc.inward != 0);
  }

  // Takes a node out of V_u: the boundaries of the members next to it shrink. Returns which members these are.
  uint32_t look_at(uint32_t node) {
    state_[node - first_] = kLeftOut;
    touched_.push_back(node - first_);
    uint32_t ties = 0;
    for (const Neighbour& n : graph_.neighbours(node)) {
      const uint8_t place = state_[n.node - first_];
      if (place >= kLeftOut) continue;
      ties |= 1u << place;
      boundary_[place] -= edges(n);
    }
    return ties;
  }

  // Puts a processed node at a place of V, which may be taken; `ties` are the places it is tied to.
  void join(int place, uint32_t node, uint32_t ties) {
    const uint32_t bit = 1u << place;
    members_[place] = node;
    state_[node - first_] = static_cast<uint8_t>(place);
    ties_[place] = ties & ~bit;
    for (int other = 0; other < size_; ++other) {
      if (other != place) ties_[other] = (ties_[other] & ~bit) | (ties >> other & 1u) << place;
    }
    boundary_[place] = 0;
    for (const Neighbour& n : graph_.neighbours(node)) {
      if (state_[n.node - first_] == kUnprocessed) boundary_[place] += edges(n);
    }
  }

  uint64_t boundary() const {
    uint64_t sum = 0;
    for (int place = 0; place < size_; ++place) sum += boundary_[place];
    return sum;
  }

  // The outer end of a uniform edge between V and V_u (of EL): a member in proportion to its boundary, then one of
  // its edges. Trying a few at random spares hubs the walk through their lists.
  uint32_t across_boundary(Random& random) {
    uint64_t at = random.below(boundary());
    int place = 0;
    while (at >= boundary_[place]) at -= boundary_[place++];
    const auto list = graph_.neighbours(members_[place]);
    for (int attempt = 0; attempt < 8; ++attempt) {
      const uint64_t slot = random.below(2 * list.size());  // two slots each, the second empty for a single edge
      const Neighbour& n = list[slot / 2];
      if (state_[n.node - first_] == kUnprocessed && slot % 2 < edges(n)) return n.node;
    }
    for (const Neighbour& n : list) {
      if (state_[n.node - first_] != kUnprocessed) continue;
      if (at < edges(n)) return n.node;
      at -= edges(n);
    }
    return UINT32_MAX;  // not reached: `at` is below the number of these edges
  }

  // Is V connected when the member at `leaving` makes way for a node tied to `ties`?
  bool connected_without(int leaving, uint32_t ties) const {
    const uint32_t bit = 1u << leaving, all = (1u << k_) - 1;
    uint32_t reached = bit, frontier = ties & ~bit;  // from the new node, which takes that place
    while (frontier) {
      const int place = std::countr_zero(frontier);
      reached |= 1u << place;
      frontier = (frontier | ties_[place]) & ~reached;
    }
    return reached == all;
  }

  const Graph& graph_;
  const int k_;
  std::vector<uint8_t> state_;     // [local node]
  std::vector<uint32_t> touched_;  // local nodes that are not unprocessed
  int size_ = 0;
  uint32_t first_ = 0;
  std::array<uint32_t, kMaxSize> members_{}, ties_{};  // by place
  std::array<uint64_t, kMaxSize> boundary_{};          // edges from the member to unprocessed nodes
};

}  // namespace

void nrs(const Graph& graph, int k, Weighting weighting, uint64_t seed, uint64_t stream, int threads,
         const KeepGoing& keep_going, std::span<uint32_t> result) {
  const size_t count = result.size() / k;
  // edges_before[v]: edges that leave a node below v, where they lie in a component of at least k nodes.
  std::vector<uint64_t> edges_before(graph.nodes() + 1, 0);
  const std::vector<uint32_t> sizes = component_sizes(graph);
  auto leaves = [&](const Neighbour& n) { return graph.arc_class(graph.arc(n)).outward != 0; };
  for (uint32_t node = 0; node < graph.nodes(); ++node) {
    const auto list = graph.neighbours(node);
    const bool eligible = sizes[node] >= static_cast<uint32_t>(k);
    edges_before[node + 1] =
        edges_before[node] + (eligible ? uint64_t(std::count_if(list.begin(), list.end(), leaves)) : 0);
  }
  std::vector<uint32_t> owners;
  if (weighting == Weighting::kGraphs) {
    std::vector<uint32_t> eligible;
    for (uint32_t g = 0; g < graph.graphs(); ++g) {
      if (edges_before[graph.begin_of(g)] < edges_before[graph.end_of(g)]) eligible.push_back(g);
    }
    owners = shared_out(eligible, count, Random{seed, stream, 1});
  }

  std::vector<Reservoir> reservoirs(threads, Reservoir(graph, k));
  parallel_chunks(count, 64, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
    for (size_t i = begin; i < end && !stop; ++i) {
      Random random{seed, stream, 0, i};
      // A uniform edge of the set is a graph in proportion to its edges, and then a uniform edge of it.
      const size_t from = owners.empty() ? 0 : graph.begin_of(owners[i]);
      const size_t to = owners.empty() ? graph.nodes() : graph.end_of(owners[i]);
      const uint64_t edge = edges_before[from] + random.below(edges_before[to] - edges_before[from]);
      const auto after = std::upper_bound(edges_before.begin(), edges_before.end(), edge);
      const auto source = static_cast<uint32_t>(after - edges_before.begin() - 1);
      uint64_t rank = edge - edges_before[source];
      const auto list = graph.neighbours(source);
      const auto target = std::find_if(list.begin(), list.end(),
                                       [&](const Neighbour& n) { return leaves(n) && rank-- == 0; });
      const auto members =
          reservoirs[thread].draw(graph.begin_of(graph.graph_of(source)), source, target->node, random);
      uint32_t* row = result.data() + i * k;
      std::transform(members.begin(), members.end(), row, [&](uint32_t node) { return graph.original(node); });
      std::sort(row, row + k);
    }
  });
}

}  // namespace grade
