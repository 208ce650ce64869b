#include "null_switching.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace grade {
namespace {

constexpr uint64_t kLongestWalk = 4;  // nodes of a stretch that `exchange` moves

}  // namespace

SwitchChain::SwitchChain(const NullGraph& graph, const NullOptions& options, std::vector<uint32_t> classes,
                         Keeps keeps)
    : slots_(graph, options.keep_pairs), keeps_(keeps), classes_(std::move(classes)) {
  if (!options.allow_cycles) {
    order_.emplace(slots_);
    if (!order_->acyclic()) order_.reset();
  }
  auto group = [&](auto&& key_of) {
    Groups groups;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers;
    groups.group_of.resize(slots_.size());
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      groups.group_of[i] = numbers.try_emplace(key_of(i), static_cast<uint32_t>(numbers.size())).first->second;
    }
    groups.offsets.assign(numbers.size() + 1, 0);
    for (uint32_t g : groups.group_of) ++groups.offsets[g + 1];
    for (size_t g = 0; g < numbers.size(); ++g) groups.offsets[g + 1] += groups.offsets[g];
    groups.members.resize(slots_.size());
    std::vector<uint32_t> next(groups.offsets.begin(), groups.offsets.end() - 1);
    for (uint32_t i = 0; i < slots_.size(); ++i) groups.members[next[groups.group_of[i]]++] = i;
    return groups;
  };
  by_source_ = group([&](uint32_t i) { return std::pair(slots_.kind(i), classes_[slots_.source(i)]); });
  by_target_ = group([&](uint32_t place) {
    const uint32_t slot = slots_.slot_at(place);
    return std::pair(slots_.kind(slot), classes_[slots_.target(slot)]);
  });
  by_kind_ = group([&](uint32_t i) { return std::pair(slots_.kind(i), 0u); });
}

void SwitchChain::restore(std::span<const uint32_t> state) {
  slots_.restore(state);
  if (order_) order_.emplace(slots_);
}

void SwitchChain::run(uint64_t steps, Random& random) {
  if (slots_.size() < 2) return;
  for (uint64_t step = 0; step < steps; ++step) {
    ++steps_;
    if (const auto move = propose(random)) accepted_ += apply(*move);
  }
}

// A random member of the group of this slot; the family says which grouping.
uint32_t SwitchChain::another(uint32_t slot, uint64_t family, Random& random) const {
  auto pick = [&](const Groups& groups, uint32_t at) {
    const uint32_t group = groups.group_of[at], begin = groups.offsets[group], end = groups.offsets[group + 1];
    return groups.members[begin + random.below(end - begin)];
  };
  if (family == 0) return pick(by_source_, slot);
  if (family == 1) return slots_.slot_at(pick(by_target_, slots_.place_of(slot)));
  return pick(by_kind_, slot);
}

uint32_t SwitchChain::random_out(uint32_t node, Random& random) const {
  const uint32_t degree = slots_.out_end(node) - slots_.out_begin(node);
  return degree == 0 ? kNoSlot : slots_.out_begin(node) + static_cast<uint32_t>(random.below(degree));
}

std::optional<SwitchChain::Move> SwitchChain::propose(Random& random) const {
  std::optional<Move> move;
  // Where there may be no cycle, most moves are near ones: others cost a search that grows with the graph.
  const uint64_t choice = random.below(order_ ? 16 + slots_.nodes() / 16 : 4);
  if (choice < 4) {
    const uint32_t i = static_cast<uint32_t>(random.below(slots_.size()));
    const uint64_t family = random.below(3);
    const uint32_t j = another(i, family, random);
    if (choice == 0) {
      move = Move{{i, j, another(i, family, random)}, 3};
    } else {
      move = Move{{i, j, 0}, 2};
    }
  } else {
    move = near_move(random);
  }
  if (!move || (keeps_ == Keeps::kClassPairs && !keeps_classes(*move))) return {};
  const auto [i, j, k] = move->slots;
  if (move->size == 2 ? !slots_.may_switch(i, j) : !slots_.may_rotate(i, j, k)) return {};
  return move;
}

// `exchange` or `siblings`, with equal probability.
std::optional<SwitchChain::Move> SwitchChain::near_move(Random& random) const {
  const uint32_t i = static_cast<uint32_t>(random.below(slots_.size()));
  if (random.below(2)) {
    const uint32_t a = slots_.source(i), parents = slots_.in_end(a) - slots_.in_begin(a);
    if (parents == 0) return {};
    const uint32_t up = slots_.slot_at(slots_.in_begin(a) + static_cast<uint32_t>(random.below(parents)));
    const uint32_t sibling = slots_.target(random_out(slots_.source(up), random));
    const uint32_t j = random_out(sibling, random);
    if (sibling == a || j == kNoSlot) return {};
    return Move{{i, j, 0}, 2};
  }
  Move move{{i, 0, 0}, 3};
  for (int part = 1; part < 3; ++part) {
    const uint64_t length = 1 + random.below(kLongestWalk);
    uint32_t slot = move.slots[part - 1];
    for (uint64_t node = 0; node < length; ++node) {
      slot = random_out(slots_.target(slot), random);
      if (slot == kNoSlot) return {};
    }
    move.slots[part] = slot;
  }
  return move;
}

bool SwitchChain::keeps_classes(const Move& move) const {
  using Pair = std::pair<uint32_t, uint32_t>;
  std::array<Pair, 3> before, after;
  for (int at = 0; at < move.size; ++at) {
    const uint32_t slot = move.slots[at], next = move.slots[(at + 1) % move.size];
    const uint32_t from = classes_[slots_.source(slot)];
    before[at] = {from, classes_[slots_.target(slot)]};
    after[at] = {from, classes_[slots_.target(next)]};
  }
  return std::is_permutation(before.begin(), before.begin() + move.size, after.begin());
}

bool SwitchChain::apply(const Move& move) {
  const auto [i, j, k] = move.slots;
  if (move.size == 2) {
    slots_.switch_targets(i, j);
  } else {
    slots_.rotate_targets(i, j, k);
  }
  if (!order_ || order_->follow(move.changed())) return true;
  revert_targets(move);
  return false;
}

void SwitchChain::take_back(const Move& move) {
  revert_targets(move);
  if (order_) order_->follow(move.changed());
}

void SwitchChain::revert_targets(const Move& move) {
  const auto [i, j, k] = move.slots;
  if (move.size == 3) slots_.switch_targets(j, k);
  slots_.switch_targets(i, j);
}

}  // namespace grade
