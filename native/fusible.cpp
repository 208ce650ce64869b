#include "fusible.hpp"

#include <algorithm>

namespace grade {

FusibleIndex::FusibleIndex(const Graph& graph)
    : out_degrees_(graph.nodes(), 0), levels_(graph.nodes(), 0), acyclic_(graph.graphs(), 1) {
  std::vector<uint32_t> waiting(graph.nodes(), 0);  // sources whose level is not known yet
  auto each_target = [&](uint32_t node, auto&& visit) {
    for (const Neighbour& n : graph.neighbours(node)) {
      if (graph.arc_class(graph.arc(n)).outward) visit(n.node);
    }
  };
  for (uint32_t node = 0; node < graph.nodes(); ++node) {
    each_target(node, [&](uint32_t target) {
      ++out_degrees_[node];
      ++waiting[target];
    });
  }
  std::vector<uint32_t> ready;
  for (size_t owner = 0; owner < graph.graphs(); ++owner) {
    const uint32_t begin = graph.begin_of(owner), end = graph.end_of(owner);
    ready.clear();
    for (uint32_t node = begin; node < end; ++node) {
      if (waiting[node] == 0) ready.push_back(node);
    }
    for (size_t i = 0; i < ready.size(); ++i) {
      const uint32_t node = ready[i];
      each_target(node, [&](uint32_t target) {
        levels_[target] = std::max(levels_[target], levels_[node] + 1);
        if (--waiting[target] == 0) ready.push_back(target);
      });
    }
    if (ready.size() == end - begin) continue;
    acyclic_[owner] = 0;
    std::fill(levels_.begin() + begin, levels_.begin() + end, 0u);
  }
}

bool ConvexityTest::operator()(std::span<const uint32_t> members, uint32_t output, uint32_t first, bool acyclic,
                               uint64_t& steps) {
  if (marks_.empty()) marks_.assign(graph_.largest(), 0);
  if (++round_ == UINT32_MAX / 2) {
    std::fill(marks_.begin(), marks_.end(), 0u);
    round_ = 1;
  }
  const uint32_t member = 2 * round_, met = member + 1;
  uint32_t deepest = 0;
  for (uint32_t node : members) {
    marks_[node - first] = member;
    deepest = std::max(deepest, index_.level(node));
  }
  queue_.clear();
  queue_.push_back(output);
  for (size_t i = 0; i < queue_.size(); ++i) {
    const uint32_t node = queue_[i];
    steps += graph_.degree(node);
    for (const Neighbour& n : graph_.neighbours(node)) {
      if (!graph_.arc_class(graph_.arc(n)).outward) continue;
      uint32_t& mark = marks_[n.node - first];
      if (mark == member && i > 0) return false;  // edges from the output to members stay inside
      if (mark == member || mark == met || (acyclic && index_.level(n.node) >= deepest)) continue;
      mark = met;
      queue_.push_back(n.node);
    }
  }
  return true;
}

}  // namespace grade
