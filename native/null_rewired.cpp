#include "null_rewired.hpp"

#include <algorithm>

namespace grade {
namespace {

constexpr size_t kMostTags = size_t{1} << 24;

}  // namespace

RewiredGraph::RewiredGraph(const Graph& set) : set_(set), arc_ids_(256 * 256, 0) {
  std::vector<uint8_t> types(1, 0);
  for (uint32_t id = 1; id <= set.arc_classes(); ++id) types.push_back(set.arc_class(id).outward);
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  uint32_t node_classes = 0;
  for (uint32_t node = 0; node < set.nodes(); ++node) node_classes = std::max(node_classes, set.class_of(node) + 1);
  if (types.size() * types.size() * node_classes > kMostTags) {
    throw BadInput("the set has too many types of edges and nodes for a null model");
  }
  arc_classes_.push_back({0, 0, 0});
  for (uint8_t outward : types) {
    for (uint8_t inward : types) {
      if (outward == 0 && inward == 0) continue;
      arc_ids_[outward * 256 + inward] = static_cast<uint32_t>(arc_classes_.size());
      arc_classes_.push_back({outward, inward, 0});
    }
  }
  for (ArcClass& arc : arc_classes_) arc.reverse = arc_ids_[arc.inward * 256 + arc.outward];
  for (uint32_t id = 0; id < node_classes; ++id) node_classes_.push_back(set.node_class(id));
  for (uint32_t arc = 0; arc < arc_classes_.size(); ++arc) {
    for (uint32_t id = 0; id < node_classes; ++id) tags_.push_back({arc, id});
  }
  largest_ = set.largest();
  node_offsets_.assign(2, 0);
}

NullGraph RewiredGraph::observed(size_t graph) const {
  const uint32_t begin = set_.begin_of(graph), end = set_.end_of(graph), first = begin;
  NullGraph result;
  result.node_classes.resize(end - begin);
  for (uint32_t id = begin; id < end; ++id) {
    const uint32_t node = set_.renumbered(id);
    result.node_classes[id - first] = set_.class_of(node);
    const size_t from = result.edges.size();
    for (const Neighbour& n : set_.neighbours(node)) {
      const uint8_t outward = set_.arc_class(set_.arc(n)).outward;
      if (outward) result.edges.push_back({id - first, set_.original(n.node) - first, outward});
    }
    std::sort(result.edges.begin() + static_cast<int64_t>(from), result.edges.end(),
              [](const NullGraph::Edge& x, const NullGraph::Edge& y) { return x.target < y.target; });
  }
  return result;
}

void RewiredGraph::take(size_t graph, const Slots& slots) {
  const uint32_t begin = set_.begin_of(graph), nodes = set_.end_of(graph) - begin;
  node_offsets_[1] = nodes;
  original_.resize(nodes), renumbered_.resize(nodes), class_of_.resize(nodes);
  if (lists_.size() < nodes) lists_.resize(nodes);
  for (uint32_t node = 0; node < nodes; ++node) {
    original_[node] = set_.original(begin + node) - begin;
    renumbered_[original_[node]] = node;
    class_of_[node] = set_.class_of(begin + node);
    lists_[node].clear();
  }
  // From the last node down, each writes itself into the lists of its neighbours: so these come out descending.
  auto entry_for = [&](uint32_t owner, uint32_t node) -> Entry& {
    if (lists_[owner].empty() || lists_[owner].back().node != node) lists_[owner].push_back({node, 0, 0});
    return lists_[owner].back();
  };
  for (uint32_t node = nodes; node-- > 0;) {
    const uint32_t id = original_[node];
    for (uint32_t slot = slots.out_begin(id); slot < slots.out_end(id); ++slot) {
      entry_for(renumbered_[slots.target(slot)], node).inward = slots.type(slot);
    }
    for (uint32_t place = slots.in_begin(id); place < slots.in_end(id); ++place) {
      const uint32_t slot = slots.slot_at(place);
      entry_for(renumbered_[slots.source(slot)], node).outward = slots.type(slot);
    }
  }
  offsets_.assign(1, 0);
  neighbours_.clear();
  const auto classes = static_cast<uint32_t>(node_classes_.size());
  for (uint32_t node = 0; node < nodes; ++node) {
    for (const Entry& entry : lists_[node]) {
      const uint32_t arc = arc_ids_[entry.outward * 256 + entry.inward];
      neighbours_.push_back({entry.node, arc * classes + class_of_[entry.node]});
    }
    offsets_.push_back(neighbours_.size());
  }
}

}  // namespace grade
