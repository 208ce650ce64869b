#include "null_slots.hpp"

#include <algorithm>
#include <numeric>

namespace grade {

Slots::Slots(const NullGraph& graph, bool keep_pairs)
    : keep_pairs_(keep_pairs), out_offsets_(graph.nodes() + 1, 0), in_offsets_(graph.nodes() + 1, 0) {
  const size_t edges = graph.edges.size();
  source_.reserve(edges), target_.reserve(edges), type_.reserve(edges);
  for (const auto& [source, target, type] : graph.edges) {
    source_.push_back(source), target_.push_back(target), type_.push_back(type);
    ++out_offsets_[source + 1];
    ++in_offsets_[target + 1];
  }
  std::partial_sum(out_offsets_.begin(), out_offsets_.end(), out_offsets_.begin());
  std::partial_sum(in_offsets_.begin(), in_offsets_.end(), in_offsets_.begin());
  place_.resize(edges), slot_at_.resize(edges);
  std::vector<uint32_t> next(in_offsets_.begin(), in_offsets_.end() - 1);
  for (uint32_t slot = 0; slot < edges; ++slot) slot_at_[place_[slot] = next[target_[slot]]++] = slot;
  partner_.assign(edges, kNoSlot);
  kind_.assign(type_.begin(), type_.end());
  if (!keep_pairs) return;
  for (uint32_t slot = 0; slot < edges; ++slot) {
    const auto begin = target_.begin() + out_begin(target_[slot]), end = target_.begin() + out_end(target_[slot]);
    const auto back = std::lower_bound(begin, end, source_[slot]);
    if (back == end || *back != source_[slot]) continue;
    partner_[slot] = static_cast<uint32_t>(back - target_.begin());
    kind_[slot] |= uint32_t{type_[partner_[slot]]} << 8;
  }
}

uint8_t Slots::type_between(uint32_t u, uint32_t v) const {
  if (out_end(u) - out_begin(u) <= in_end(v) - in_begin(v)) {
    for (uint32_t slot = out_begin(u); slot < out_end(u); ++slot) {
      if (target_[slot] == v) return type_[slot];
    }
    return 0;
  }
  for (uint32_t place = in_begin(v); place < in_end(v); ++place) {
    if (source_[slot_at_[place]] == u) return type_[slot_at_[place]];
  }
  return 0;
}

void Slots::switch_one(uint32_t i, uint32_t j) {
  std::swap(target_[i], target_[j]);
  std::swap(place_[i], place_[j]);
  slot_at_[place_[i]] = i;
  slot_at_[place_[j]] = j;
}

void Slots::switch_targets(uint32_t i, uint32_t j) {
  switch_one(i, j);
  if (partner_[i] == kNoSlot) return;
  switch_one(partner_[i], partner_[j]);
  std::swap(partner_[i], partner_[j]);
  partner_[partner_[i]] = i;
  partner_[partner_[j]] = j;
}

bool Slots::may_switch(uint32_t i, uint32_t j) const {
  const uint32_t a = source_[i], b = target_[i], c = source_[j], d = target_[j];
  if (a == c || b == d || kind_[i] != kind_[j]) return false;
  if (keep_pairs_ && (a == d || b == c)) return false;  // also where j is the partner of i
  return may_link(a, d) && may_link(c, b);
}

bool Slots::may_rotate(uint32_t i, uint32_t j, uint32_t k) const {
  const uint32_t a = source_[i], b = target_[i], c = source_[j], d = target_[j], e = source_[k], f = target_[k];
  if (i == j || j == k || i == k || kind_[i] != kind_[j] || kind_[j] != kind_[k]) return false;
  if (a == d || c == f || e == b) return false;
  // A new edge may take the place of one that goes away in the same move, as when a triangle is reversed.
  auto free = [&](uint32_t u, uint32_t v) {
    return !linked(u, v) || (u == a && v == b) || (u == c && v == d) || (u == e && v == f);
  };
  if (!free(a, d) || !free(c, f) || !free(e, b)) return false;
  if ((a == c && d == f) || (c == e && f == b) || (a == e && d == b)) return false;  // one edge twice
  if (!keep_pairs_) return true;
  // Opposite edges: none of the new ones may have a partner that it had not, so none may lie between linked nodes,
  // and pairs that touch are left alone.
  if (partner_[i] != kNoSlot) {
    const uint32_t ends[] = {a, b, c, d, e, f};
    for (int x = 0; x < 6; ++x) {
      for (int y = x + 1; y < 6; ++y) {
        if (ends[x] == ends[y]) return false;
      }
    }
    return may_link(a, d) && may_link(c, f) && may_link(e, b);
  }
  auto opposite = [&](uint32_t u, uint32_t v) {  // is there v -> u, other than among the edges that go away?
    const bool going = (v == a && u == b) || (v == c && u == d) || (v == e && u == f);
    return linked(v, u) && !going;
  };
  if (opposite(a, d) || opposite(c, f) || opposite(e, b)) return false;
  return !((a == f && d == c) || (c == b && f == e) || (e == d && b == a));  // nor opposite to each other
}

std::vector<uint32_t> Slots::state() const { return slot_at_; }

void Slots::restore(std::span<const uint32_t> state) {
  for (uint32_t node = 0; node < nodes(); ++node) {
    for (uint32_t place = in_begin(node); place < in_end(node); ++place) {
      slot_at_[place] = state[place];
      place_[state[place]] = place;
      target_[state[place]] = node;
    }
  }
  if (!keep_pairs_) return;
  for (uint32_t slot = 0; slot < size(); ++slot) {
    if (partner_[slot] == kNoSlot) continue;
    for (uint32_t back = out_begin(target_[slot]); back < out_end(target_[slot]); ++back) {
      if (target_[back] == source_[slot]) partner_[slot] = back;
    }
  }
}

}  // namespace grade
