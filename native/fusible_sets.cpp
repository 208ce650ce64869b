#include "fusible_sets.hpp"

#include <algorithm>
#include <array>
#include <atomic>

namespace grade {
namespace {

constexpr size_t kRoots = 1024;  // done by one thread in one go

class Walker {
 public:
  Walker(const FusibleIndex& index, int k, const GrowthLimits& limits)
      : index_(index), graph_(index.graph()), k_(k), limits_(limits), places_(graph_.largest()) {}

  // Calls visit(members) for every fusible set of k nodes whose results leave at this unit; it returns false to stop.
  template <class Visit>
  void from(uint32_t root, uint32_t first, Visit&& visit) {
    first_ = first;
    members_.clear();
    candidates_.clear();
    edges_ = 0;
    if (index_.unit_size(root) > static_cast<uint32_t>(k_) || exits_of(root) != 1 || !enter(root)) return;
    extend(0, visit);
    leave(root, 0);
  }

 private:
  struct Place {
    uint32_t fed = 0;     // edges from the unit of this node, its smallest, to members outside of it
    uint16_t in = 0;      // edges to this member from members
    bool member = false;
  };

  Place& place(uint32_t node) { return places_[node - first_]; }

  template <class Use>
  void each_of_unit(uint32_t unit, Use&& use) const {
    uint32_t node = unit;
    do {
      use(node);
      node = index_.next_of_unit(node);
    } while (node != unit);
  }

  // Nodes of a unit where its results leave it.
  uint32_t exits_of(uint32_t unit) const {
    uint32_t exits = 0;
    each_of_unit(unit, [&](uint32_t node) { exits += index_.drains(node) || leaving(node, unit) > 0; });
    return exits;
  }

  uint32_t leaving(uint32_t node, uint32_t unit) const {
    if (index_.alone(node)) return index_.out_degree(node);
    uint32_t count = 0;
    for (const Neighbour& n : graph_.neighbours(node)) {
      count += graph_.arc_class(graph_.arc(n)).outward && index_.unit(n.node) != unit;
    }
    return count;
  }

  // Whether all that a unit gives goes to members.
  bool is_used_up(uint32_t unit) {
    if (members_.size() + index_.unit_size(unit) > static_cast<size_t>(k_)) return false;
    uint32_t edges = 0;
    bool drains = false;
    each_of_unit(unit, [&](uint32_t node) {
      edges += leaving(node, unit);
      drains |= index_.drains(node);
    });
    return !drains && edges == place(unit).fed;
  }

  // False, and nothing changed, if the unit is too large or breaks a limit.
  bool enter(uint32_t unit) {
    if (members_.size() + index_.unit_size(unit) > static_cast<size_t>(k_)) return false;
    bool legal = true;
    each_of_unit(unit, [&](uint32_t node) {
      legal &= limits_.allowed.empty() || limits_.allowed[graph_.original(node)] != 0;
    });
    if (!legal) return false;
    each_of_unit(unit, [&](uint32_t node) {
      members_.push_back(node);
      place(node).member = true;
    });
    const size_t known = candidates_.size();
    each_of_unit(unit, [&](uint32_t node) {
      int out = 0;
      for (const Neighbour& n : graph_.neighbours(node)) {
        const ArcClass& arc = graph_.arc_class(graph_.arc(n));
        if (arc.outward && place(n.node).member) {
          ++out;
          ++edges_;
          legal &= ++place(n.node).in <= limits_.most_in;
        }
        if (!arc.inward || index_.unit(n.node) == unit) continue;
        const uint32_t feeding = index_.unit(n.node);
        ++place(feeding).fed;
        if (is_used_up(feeding)) candidates_.push_back(feeding);
      }
      legal &= out <= limits_.most_out;
    });
    if (legal && edges_ <= limits_.most_edges) return true;
    leave(unit, known);
    return false;
  }

  void leave(uint32_t unit, size_t known) {
    each_of_unit(unit, [&](uint32_t node) {
      for (const Neighbour& n : graph_.neighbours(node)) {
        const ArcClass& arc = graph_.arc_class(graph_.arc(n));
        if (arc.outward && place(n.node).member) {
          --edges_;
          --place(n.node).in;
        }
        if (arc.inward && index_.unit(n.node) != unit) --place(index_.unit(n.node)).fed;
      }
    });
    each_of_unit(unit, [&](uint32_t node) {
      place(node).member = false;
      members_.pop_back();
    });
    candidates_.resize(known);
  }

  template <class Visit>
  bool extend(size_t begin, Visit& visit) {
    if (members_.size() == static_cast<size_t>(k_)) return visit(members_);
    const size_t end = candidates_.size();
    bool go_on = true;
    for (size_t i = begin; i < end && go_on; ++i) {
      const uint32_t unit = candidates_[i];
      if (!enter(unit)) continue;
      go_on = extend(i + 1, visit);
      leave(unit, end);
    }
    return go_on;
  }

  const FusibleIndex& index_;
  const Graph& graph_;
  const int k_;
  const GrowthLimits& limits_;
  std::vector<Place> places_;  // [local node]
  std::vector<uint32_t> members_, candidates_;
  uint32_t first_ = 0;
  int edges_ = 0;
};

}  // namespace

FusibleSets list_fusible(const FusibleIndex& index, int k, size_t most, const GrowthLimits& limits, int threads,
                         const KeepGoing& keep_going) {
  if (k < 1 || k > kMaxSize) throw BadInput("fusible sets have 1 to 16 nodes");
  const Graph& graph = index.graph();
  std::vector<std::vector<uint32_t>> parts((graph.nodes() + kRoots - 1) / kRoots);
  std::vector<Walker> walkers(threads, Walker(index, k, limits));
  std::atomic<size_t> found{0};
  std::atomic<bool> full{false};
  parallel_chunks(parts.size(), 1, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
    for (size_t part = begin; part < end; ++part) {
      const auto first = static_cast<uint32_t>(part * kRoots);
      const auto last = static_cast<uint32_t>(std::min(graph.nodes(), (part + 1) * kRoots));
      uint32_t owner = graph.graph_of(first);
      for (uint32_t root = first; root < last && !stop && !full; ++root) {
        while (root >= graph.end_of(owner)) ++owner;
        if (index.unit(root) != root) continue;
        walkers[thread].from(root, graph.begin_of(owner), [&](const std::vector<uint32_t>& members) {
          if (found.fetch_add(1, std::memory_order_relaxed) >= most) full = true;
          if (full || stop) return false;
          const size_t at = parts[part].size();
          for (uint32_t node : members) parts[part].push_back(graph.original(node));
          std::sort(parts[part].begin() + static_cast<int64_t>(at), parts[part].end());
          return true;
        });
      }
    }
  });
  FusibleSets result;
  result.complete = !full;
  if (full) return result;
  result.occurrences.reserve(found * k);
  for (std::vector<uint32_t>& part : parts) {
    result.occurrences.insert(result.occurrences.end(), part.begin(), part.end());
    part = {};
  }
  return result;
}

}  // namespace grade
