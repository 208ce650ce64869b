#include "fusible.hpp"

#include <algorithm>
#include <numeric>

namespace grade {

namespace {

template <class Visit>
void each_target(const Graph& graph, uint32_t node, Visit&& visit) {
  for (const Neighbour& n : graph.neighbours(node)) {
    if (graph.arc_class(graph.arc(n)).outward) visit(n.node);
  }
}

}  // namespace

FusibleIndex::FusibleIndex(const Graph& graph, std::span<const uint8_t> outputs)
    : graph_(graph),
      out_degrees_(graph.nodes(), 0),
      levels_(graph.nodes(), 0),
      acyclic_(graph.graphs(), 1),
      drains_(graph.nodes(), 0) {
  if (!outputs.empty() && outputs.size() != graph.nodes()) throw BadInput("outputs must have one entry for each node");
  std::vector<uint32_t> waiting(graph.nodes(), 0);  // sources whose level is not known yet
  for (uint32_t node = 0; node < graph.nodes(); ++node) {
    each_target(graph, node, [&](uint32_t target) {
      ++out_degrees_[node];
      ++waiting[target];
    });
    drains_[node] = out_degrees_[node] == 0 || (!outputs.empty() && outputs[graph.original(node)]);
  }
  std::vector<uint32_t> ready;
  for (uint32_t owner = 0; owner < graph.graphs(); ++owner) {
    const uint32_t begin = graph.begin_of(owner), end = graph.end_of(owner);
    ready.clear();
    for (uint32_t node = begin; node < end; ++node) {
      if (waiting[node] == 0) ready.push_back(node);
    }
    for (size_t i = 0; i < ready.size(); ++i) {
      const uint32_t node = ready[i];
      each_target(graph, node, [&](uint32_t target) {
        levels_[target] = std::max(levels_[target], levels_[node] + 1);
        if (--waiting[target] == 0) ready.push_back(target);
      });
    }
    if (ready.size() == end - begin) continue;
    acyclic_[owner] = 0;
    std::fill(levels_.begin() + begin, levels_.begin() + end, 0u);
    find_units(begin, end);
  }
}

// Strongly connected components of one graph (Tarjan 1972), without recursion.
void FusibleIndex::find_units(uint32_t begin, uint32_t end) {
  if (units_.empty()) {
    units_.resize(graph_.nodes());
    std::iota(units_.begin(), units_.end(), 0u);
    next_ = units_;
    sizes_.assign(graph_.nodes(), 1);
  }
  struct Visit {
    uint32_t node;
    size_t at;  // in its neighbour list
  };
  std::vector<uint32_t> number(end - begin, 0), low(end - begin, 0), stack;
  std::vector<uint8_t> stacked(end - begin, 0);
  std::vector<Visit> path;
  uint32_t count = 0;
  auto enter = [&](uint32_t node) {
    number[node - begin] = low[node - begin] = ++count;
    stacked[node - begin] = 1;
    stack.push_back(node);
    path.push_back({node, 0});
  };
  for (uint32_t root = begin; root < end; ++root) {
    if (number[root - begin]) continue;
    enter(root);
    while (!path.empty()) {
      const uint32_t node = path.back().node, local = node - begin;
      const auto list = graph_.neighbours(node);
      if (path.back().at < list.size()) {
        const Neighbour& n = list[path.back().at++];
        if (!graph_.arc_class(graph_.arc(n)).outward) continue;
        if (!number[n.node - begin]) {
          enter(n.node);
        } else if (stacked[n.node - begin]) {
          low[local] = std::min(low[local], number[n.node - begin]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) {
        uint32_t& above = low[path.back().node - begin];
        above = std::min(above, low[local]);
      }
      if (low[local] != number[local]) continue;
      const auto from = std::find(stack.begin(), stack.end(), node) - stack.begin();
      for (size_t i = static_cast<size_t>(from); i < stack.size(); ++i) stacked[stack[i] - begin] = 0;
      std::sort(stack.begin() + from, stack.end());
      close_unit(std::span(stack).subspan(static_cast<size_t>(from)));
      stack.resize(static_cast<size_t>(from));
    }
  }
}

void FusibleIndex::close_unit(std::span<const uint32_t> members) {
  bool ends = members.size() > 1;  // nothing leads out of it, and it holds no graph output
  for (size_t i = 0; i < members.size(); ++i) {
    units_[members[i]] = members[0];
    next_[members[i]] = members[(i + 1) % members.size()];
    ends = ends && !drains_[members[i]];
    each_target(graph_, members[i], [&](uint32_t target) {
      ends = ends && std::binary_search(members.begin(), members.end(), target);
    });
  }
  sizes_[members[0]] = static_cast<uint32_t>(members.size());
  if (ends) drains_[members[0]] = 1;
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
