#include "graph.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace grade {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw BadInput(what);
}

void check_offsets(std::span<const int64_t> offsets, size_t owners, size_t items, const char* what) {
  require(offsets.size() == owners + 1 && offsets[0] == 0 &&
              offsets[owners] == static_cast<int64_t>(items),
          what);
  for (size_t i = 0; i < owners; ++i) require(offsets[i] <= offsets[i + 1], what);
}

// Numbers keys from 0 in the order in which they are first met; quick for small keys.
class Numbering {
 public:
  uint32_t operator()(uint64_t key) {
    uint32_t& number = key < kDirect ? direct(key) : rest_[key];
    if (number == 0) number = ++last_;
    return number - 1;
  }

 private:
  static constexpr uint64_t kDirect = 1 << 20;
  uint32_t& direct(uint64_t key) {
    if (key >= direct_.size()) direct_.resize(key + 1, 0);
    return direct_[key];
  }
  std::vector<uint32_t> direct_;
  std::unordered_map<uint64_t, uint32_t> rest_;
  uint32_t last_ = 0;
};

}  // namespace

Graph::Graph(const GraphArrays& a) {
  const size_t nodes = a.node_types.size();
  const size_t edges = a.out_targets.size();
  require(nodes < UINT32_MAX, "more nodes than the core can number");
  require(!a.node_offsets.empty(), "the node offsets are empty");
  check_offsets(a.node_offsets, a.node_offsets.size() - 1, nodes, "the node offsets do not fit the nodes");
  check_offsets(a.out_offsets, nodes, edges, "the offsets of out-going edges do not fit the edges");
  check_offsets(a.in_offsets, nodes, edges, "the offsets of in-coming edges do not fit the edges");
  require(a.out_types.size() == edges && a.in_sources.size() == edges && a.in_types.size() == edges,
          "the edge arrays differ in length");

  node_offsets_.assign(a.node_offsets.begin(), a.node_offsets.end());
  auto degree_of = [&](uint32_t id) {
    return a.out_offsets[id + 1] - a.out_offsets[id] + a.in_offsets[id + 1] - a.in_offsets[id];
  };
  original_.resize(nodes);
  renumbered_.resize(nodes);
  std::iota(original_.begin(), original_.end(), 0u);
  for (size_t graph = 0; graph < graphs(); ++graph) {
    largest_ = std::max(largest_, end_of(graph) - begin_of(graph));
    std::stable_sort(original_.begin() + begin_of(graph), original_.begin() + end_of(graph),
                     [&](uint32_t u, uint32_t v) { return degree_of(u) > degree_of(v); });
  }
  for (uint32_t node = 0; node < nodes; ++node) renumbered_[original_[node]] = node;

  arc_classes_.push_back({0, 0, 0});
  std::vector<uint32_t> arc_ids(256 * 256, 0);
  auto arc_id = [&](uint8_t outward, uint8_t inward) {
    uint32_t& id = arc_ids[outward * 256 + inward];
    if (id == 0) {
      id = static_cast<uint32_t>(arc_classes_.size());
      arc_classes_.push_back({outward, inward, id});
      if (outward != inward) {  // the reverse gets its number at once, so that both know each other
        arc_ids[inward * 256 + outward] = arc_classes_[id].reverse = id + 1;
        arc_classes_.push_back({inward, outward, id});
      }
    }
    return id;
  };
  Numbering class_ids;

  class_of_.resize(nodes);
  offsets_.assign(nodes + 1, 0);
  neighbours_.reserve(2 * edges);
  for (size_t graph = 0; graph < graphs(); ++graph) {
    const uint32_t begin = begin_of(graph), end = end_of(graph);
    for (uint32_t node = begin; node < end; ++node) {
      const uint32_t id = original_[node];
      // Merge the ascending sequences of targets and sources.
      int64_t out = a.out_offsets[id], in = a.in_offsets[id], previous = -1;
      const int64_t out_end = a.out_offsets[id + 1], in_end = a.in_offsets[id + 1];
      uint8_t loop = 0;
      while (out < out_end || in < in_end) {
        const int64_t target = out < out_end ? int64_t{a.out_targets[out]} : INT64_MAX;
        const int64_t source = in < in_end ? int64_t{a.in_sources[in]} : INT64_MAX;
        const int64_t other = std::min(target, source);
        require(other >= begin && other < end, "an edge leaves its graph");
        require(other > previous, "the edges of a node are not in ascending order, or one is there twice");
        previous = other;
        const uint8_t outward = target == other ? a.out_types[out++] : 0;
        const uint8_t inward = source == other ? a.in_types[in++] : 0;
        require((target != other || outward) && (source != other || inward), "an edge has type 0");
        if (other == id) {
          require(outward == inward, "in-coming and out-going edges disagree");
          loop = outward;
        } else {
          neighbours_.push_back({renumbered_[other], arc_id(outward, inward)});
        }
      }
      std::sort(neighbours_.begin() + static_cast<int64_t>(offsets_[node]), neighbours_.end(),
                [](const Neighbour& x, const Neighbour& y) { return x.node > y.node; });
      offsets_[node + 1] = neighbours_.size();
      class_of_[node] = class_ids(uint64_t{loop} << 16 | a.node_types[id]);
      if (class_of_[node] == node_classes_.size()) node_classes_.push_back({a.node_types[id], loop});
    }
  }

  // Both directions must tell the same story: every neighbour lists this node with the reverse arc.
  for (uint32_t node = 0; node < nodes; ++node) {
    for (const Neighbour& n : neighbours(node)) {
      const auto back = neighbours(n.node);
      const auto at = std::lower_bound(back.begin(), back.end(), node,
                                       [](const Neighbour& x, uint32_t wanted) { return x.node > wanted; });
      require(at != back.end() && at->node == node && at->tag == arc_classes_[n.tag].reverse,
              "in-coming and out-going edges disagree");
    }
  }

  // The tags held bare arc classes so far, since the classes of later nodes were not known yet.
  Numbering tag_ids;
  for (Neighbour& n : neighbours_) {
    const Tag tag{n.tag, class_of_[n.node]};
    n.tag = tag_ids(uint64_t{tag.node_class} * arc_classes_.size() + tag.arc);
    if (n.tag == tags_.size()) tags_.push_back(tag);
  }
}

uint32_t Graph::graph_of(uint32_t node) const {
  return static_cast<uint32_t>(
      std::upper_bound(node_offsets_.begin(), node_offsets_.end(), node) - node_offsets_.begin() - 1);
}

}  // namespace grade
