#include "blocks_matching.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph.hpp"

namespace grade {
namespace {

constexpr uint64_t kStepsPerNode = 200, kLeastSteps = 10'000;  // of one root, before it counts as no occurrence

class Matcher {
 public:
  Matcher(const BlockGraph& graph, const SoughtRegion& region, std::span<const uint8_t> taken)
      : graph_(graph), region_(region), taken_(taken.begin(), taken.end()), readers_(region.types.size()) {
    const auto n = static_cast<uint32_t>(region.types.size());
    std::vector<uint32_t> open(n, 0);  // readers without a place in the order
    std::vector<std::vector<uint32_t>> sources(n);
    for (size_t e = 0; e + 2 < region.edges.size(); e += 3) {
      const uint32_t source = region.edges[e], target = region.edges[e + 1];
      if (source >= n || target >= n) throw BadInput("a region has an edge to no node");
      readers_[source].emplace_back(target, region.edges[e + 2]);
      sources[target].push_back(source);
      ++open[source];
    }
    inputs_.resize(n);
    std::vector<uint32_t> ready{region.root < n ? region.root : 0};
    while (!ready.empty()) {  // depth first, so that a wrong choice fails soon
      const uint32_t place = ready.back();
      ready.pop_back();
      order_.push_back(place);
      for (uint32_t source : sources[place]) {
        inputs_[place].push_back(region.types[source]);
        if (--open[source] == 0) ready.push_back(source);
      }
      std::sort(inputs_[place].begin(), inputs_[place].end());
    }
    depth_in_order_.resize(n);
    for (uint32_t depth = 0; depth < order_.size(); ++depth) depth_in_order_[order_[depth]] = depth;
    if (order_.size() != n || region.root >= n || !readers_[region.root].empty()) {
      throw BadInput("a region is no acyclic graph that ends in its root");
    }
  }

  // Fills `image` with the occurrence that ends in this node, if there is one.
  bool at(uint32_t root, std::vector<uint32_t>& image) {
    const auto n = static_cast<uint32_t>(order_.size());
    if (taken_[root] || graph_.types[root] != region_.types[region_.root]) return false;
    image.assign(n, kNobody);
    image[region_.root] = root;
    taken_[root] = 1;
    depth_of_.clear();
    depth_of_[root] = 0;
    std::vector<uint32_t> cursor(n + 1, 0);
    std::vector<std::set<uint32_t>> culprits(n + 1);  // earlier choices that may be why a depth finds none
    uint64_t steps = std::max(kLeastSteps, kStepsPerNode * n);
    uint32_t depth = 1;  // readers first: those of a node have their images before it gets one
    while (depth > 0 && depth < n && steps-- > 0) {
      const uint32_t x = order_[depth], y = next_image(x, image, cursor[depth], culprits[depth]);
      if (y != kNobody) {
        image[x] = y;
        taken_[y] = 1;
        depth_of_[y] = depth;
        cursor[++depth] = 0;
        culprits[depth].clear();
        continue;
      }
      for (const auto& [reader, label] : readers_[x]) culprits[depth].insert(depth_in_order_[reader]);
      const uint32_t back = *culprits[depth].rbegin();
      culprits[depth].erase(back);
      culprits[back].insert(culprits[depth].begin(), culprits[depth].end());
      while (depth > back) {
        if (--depth == 0) break;
        taken_[image[order_[depth]]] = 0;
        image[order_[depth]] = kNobody;
      }
    }
    if (depth == n) return true;
    for (uint32_t y : image) {
      if (y != kNobody) taken_[y] = 0;
    }
    return false;
  }

 private:
  uint32_t next_image(uint32_t x, const std::vector<uint32_t>& image, uint32_t& cursor, std::set<uint32_t>& culprits) {
    const auto [reader, label] = readers_[x].front();
    const int64_t begin = graph_.in_offsets[image[reader]], end = graph_.in_offsets[image[reader] + 1];
    while (begin + cursor < end) {
      const int64_t e = begin + cursor++;
      const uint32_t y = graph_.in_sources[e];
      if (graph_.in_labels[e] != label || graph_.closed[y] || graph_.types[y] != region_.types[x] ||
          !same_readers(x, y, image) || !has_inputs(x, y)) {
        continue;
      }
      if (!taken_[y]) return y;
      const auto here = depth_of_.find(y);
      if (here != depth_of_.end() && image[order_[here->second]] == y) culprits.insert(here->second);
    }
    return kNobody;
  }

  // Whether the node reads operators of the types that the region's reads.
  bool has_inputs(uint32_t x, uint32_t y) {
    const std::vector<uint32_t>& wanted = inputs_[x];
    types_.clear();
    for (int64_t e = graph_.in_offsets[y]; e < graph_.in_offsets[y + 1]; ++e) {
      types_.push_back(graph_.types[graph_.in_sources[e]]);
    }
    std::sort(types_.begin(), types_.end());
    return std::includes(types_.begin(), types_.end(), wanted.begin(), wanted.end());
  }

  bool same_readers(uint32_t x, uint32_t y, const std::vector<uint32_t>& image) {
    if (readers_[x].size() != graph_.out_degree(y)) return false;
    mine_.clear();
    theirs_.clear();
    for (const auto& [reader, label] : readers_[x]) mine_.emplace_back(image[reader], label);
    for (int64_t e = graph_.out_offsets[y]; e < graph_.out_offsets[y + 1]; ++e) {
      theirs_.emplace_back(graph_.out_targets[e], graph_.out_labels[e]);
    }
    std::sort(mine_.begin(), mine_.end());
    std::sort(theirs_.begin(), theirs_.end());
    return mine_ == theirs_;
  }

  const BlockGraph& graph_;
  const SoughtRegion& region_;
  std::vector<uint8_t> taken_;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> readers_;  // by place: (place, label)
  std::vector<std::vector<uint32_t>> inputs_;  // by place: the types of what it reads inside
  std::vector<uint32_t> order_, depth_in_order_, types_;
  std::unordered_map<uint32_t, uint32_t> depth_of_;  // of nodes that have been chosen for this root
  std::vector<std::pair<uint32_t, uint32_t>> mine_, theirs_;
};

}  // namespace

std::vector<uint32_t> find_region(const BlockGraph& graph, const SoughtRegion& region, std::span<const uint32_t> roots,
                                  std::span<const uint8_t> taken) {
  Matcher matcher(graph, region, taken);
  std::vector<uint32_t> found, image;
  for (uint32_t root : roots) {
    if (matcher.at(root, image)) found.insert(found.end(), image.begin(), image.end());
  }
  return found;
}

}  // namespace grade
