#include "null_order.hpp"

#include <algorithm>

namespace grade {

TopologicalOrder::TopologicalOrder(const Slots& slots)
    : slots_(slots), rank_(slots.nodes(), 0), seen_(slots.nodes(), false) {
  std::vector<uint32_t> waiting(slots.nodes()), ready;
  for (uint32_t node = 0; node < slots.nodes(); ++node) {
    waiting[node] = slots.in_end(node) - slots.in_begin(node);
    if (waiting[node] == 0) ready.push_back(node);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    rank_[ready[i]] = static_cast<uint32_t>(i);
    for (uint32_t slot = slots.out_begin(ready[i]); slot < slots.out_end(ready[i]); ++slot) {
      if (--waiting[slots.target(slot)] == 0) ready.push_back(slots.target(slot));
    }
  }
  acyclic_ = ready.size() == slots.nodes();
}

bool TopologicalOrder::follow(std::span<const uint32_t> changed) {
  undo_.clear();
  for (size_t i = 0; i < changed.size(); ++i) {
    if (add(changed[i], changed.subspan(i))) continue;
    for (auto change = undo_.rbegin(); change != undo_.rend(); ++change) rank_[change->first] = change->second;
    return false;
  }
  return true;
}

void TopologicalOrder::put(uint32_t node, uint32_t rank) {
  undo_.push_back({node, rank_[node]});
  rank_[node] = rank;
}

// Takes up the edge of `slot`; those that are `pending` are not there yet.
bool TopologicalOrder::add(uint32_t slot, std::span<const uint32_t> pending) {
  const uint32_t source = slots_.source(slot), target = slots_.target(slot);
  const uint32_t low = rank_[target], high = rank_[source];
  if (high < low) return true;
  auto is_pending = [&](uint32_t other) { return std::find(pending.begin(), pending.end(), other) != pending.end(); };
  after_.assign(1, target);
  seen_[target] = true;
  bool cycle = false;
  for (size_t i = 0; i < after_.size() && !cycle; ++i) {
    for (uint32_t out = slots_.out_begin(after_[i]); out < slots_.out_end(after_[i]); ++out) {
      const uint32_t next = slots_.target(out);
      if (seen_[next] || rank_[next] > high || is_pending(out)) continue;
      if (next == source) {
        cycle = true;
        break;
      }
      seen_[next] = true;
      after_.push_back(next);
    }
  }
  for (uint32_t node : after_) seen_[node] = false;
  if (cycle) return false;
  before_.assign(1, source);
  seen_[source] = true;
  for (size_t i = 0; i < before_.size(); ++i) {
    for (uint32_t place = slots_.in_begin(before_[i]); place < slots_.in_end(before_[i]); ++place) {
      const uint32_t in = slots_.slot_at(place), next = slots_.source(in);
      if (seen_[next] || rank_[next] < low || is_pending(in)) continue;
      seen_[next] = true;
      before_.push_back(next);
    }
  }
  for (uint32_t node : before_) seen_[node] = false;
  // Everything before the source goes ahead of everything after the target, each in its order, on the same ranks.
  auto by_rank = [&](uint32_t u, uint32_t v) { return rank_[u] < rank_[v]; };
  std::sort(before_.begin(), before_.end(), by_rank);
  std::sort(after_.begin(), after_.end(), by_rank);
  ranks_.clear();
  for (uint32_t node : before_) ranks_.push_back(rank_[node]);
  for (uint32_t node : after_) ranks_.push_back(rank_[node]);
  std::sort(ranks_.begin(), ranks_.end());
  size_t at = 0;
  for (uint32_t node : before_) put(node, ranks_[at++]);
  for (uint32_t node : after_) put(node, ranks_[at++]);
  return true;
}

}  // namespace grade
