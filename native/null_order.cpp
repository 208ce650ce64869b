#include "null_order.hpp"

#include <algorithm>

namespace grade {
namespace {

constexpr uint64_t kEnd = uint64_t{1} << 63;

}  // namespace

TopologicalOrder::TopologicalOrder(const Slots& slots)
    : slots_(slots), label_(slots.nodes() + 1, 0), before_(slots.nodes() + 1), after_(slots.nodes() + 1),
      mark_(slots.nodes(), 0) {
  std::vector<uint32_t> waiting(slots.nodes()), ready;
  for (uint32_t node = 0; node < slots.nodes(); ++node) {
    waiting[node] = slots.in_end(node) - slots.in_begin(node);
    if (waiting[node] == 0) ready.push_back(node);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    for (uint32_t slot = slots.out_begin(ready[i]); slot < slots.out_end(ready[i]); ++slot) {
      if (--waiting[slots.target(slot)] == 0) ready.push_back(slots.target(slot));
    }
  }
  acyclic_ = ready.size() == slots.nodes();
  uint32_t last = slots.nodes();
  for (const uint32_t node : ready) {
    after_[last] = node;
    before_[node] = last;
    last = node;
  }
  after_[last] = slots.nodes();
  before_[slots.nodes()] = last;
  spread();
}

// Equal gaps between all labels.
void TopologicalOrder::spread() {
  const uint32_t anchor = slots_.nodes();
  const uint64_t gap = kEnd / (uint64_t{anchor} + 2);
  uint64_t label = 0;
  for (uint32_t node = after_[anchor]; node != anchor; node = after_[node]) label_[node] = label += gap;
  spread_ = true;
}

bool TopologicalOrder::follow(std::span<const uint32_t> changed) {
  undo_.clear();
  spread_ = false;
  for (size_t i = 0; i < changed.size(); ++i) {
    if (add(changed[i], changed.subspan(i))) continue;
    for (auto moved = undo_.rbegin(); moved != undo_.rend(); ++moved) {
      link_after(moved->node, moved->anchor);
      label_[moved->node] = moved->label;
    }
    if (spread_) spread();
    return false;
  }
  return true;
}

// Takes up the edge of `slot`; those that are `pending` are not there yet.
bool TopologicalOrder::add(uint32_t slot, std::span<const uint32_t> pending) {
  const uint32_t source = slots_.source(slot), target = slots_.target(slot);
  if (label_[source] < label_[target]) return true;
  ++searches_;
  forwards_.visited.assign(1, target), backwards_.visited.assign(1, source);
  forwards_.next = backwards_.next = 0;
  forwards_.edges = backwards_.edges = 0;
  mark_[target] = 2 * searches_, mark_[source] = 2 * searches_ + 1;
  while (true) {
    const bool fewer = forwards_.edges <= backwards_.edges;
    if (!(fewer ? expand<Way::kForwards>(source, pending) : expand<Way::kBackwards>(target, pending))) return false;
    if (forwards_.exhausted()) {
      place_after(forwards_.visited, source);
      return true;
    }
    if (backwards_.exhausted()) {
      // Moving them ahead of the target is moving them behind the node before it, which is none of them.
      place_after(backwards_.visited, before_[target]);
      return true;
    }
  }
}

template <TopologicalOrder::Way way>
bool TopologicalOrder::expand(uint32_t limit, std::span<const uint32_t> pending) {
  constexpr bool on = way == Way::kForwards;
  Search& search = on ? forwards_ : backwards_;
  const uint64_t own = 2 * searches_ + !on, other = 2 * searches_ + on;
  const uint32_t node = search.visited[search.next++];
  const uint32_t begin = on ? slots_.out_begin(node) : slots_.in_begin(node);
  const uint32_t end = on ? slots_.out_end(node) : slots_.in_end(node);
  search.edges += end - begin + 1;
  for (uint32_t at = begin; at < end; ++at) {
    const uint32_t slot = on ? at : slots_.slot_at(at);
    const uint32_t next = on ? slots_.target(slot) : slots_.source(slot);
    if (mark_[next] == own || (on ? label_[next] > label_[limit] : label_[next] < label_[limit])) continue;
    if (std::find(pending.begin(), pending.end(), slot) != pending.end()) continue;
    if (mark_[next] == other) return false;
    mark_[next] = own;
    search.visited.push_back(next);
  }
  return true;
}

// Moves these nodes behind the anchor, in the order they have.
void TopologicalOrder::place_after(std::vector<uint32_t>& nodes, uint32_t anchor) {
  std::sort(nodes.begin(), nodes.end(), [&](uint32_t u, uint32_t v) { return label_[u] < label_[v]; });
  const uint32_t behind = after_[anchor];
  uint64_t label = label_[anchor];
  const uint64_t to = behind == slots_.nodes() ? kEnd : label_[behind], gap = (to - label) / (nodes.size() + 1);
  for (const uint32_t node : nodes) {
    undo_.push_back({node, before_[node], label_[node]});
    link_after(node, anchor);
    label_[node] = label += gap;
    anchor = node;
  }
  if (gap == 0) spread();
}

void TopologicalOrder::link_after(uint32_t node, uint32_t anchor) {
  after_[before_[node]] = after_[node];
  before_[after_[node]] = before_[node];
  const uint32_t next = after_[anchor];
  before_[node] = anchor, after_[node] = next;
  after_[anchor] = before_[next] = node;
}

}  // namespace grade
