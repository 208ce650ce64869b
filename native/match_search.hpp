// One thread's search for the occurrences of a planned pattern.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>

#include "conn.hpp"
#include "match.hpp"
#include "match_choices.hpp"

namespace grade {

enum class MatchGoal { kCount, kList, kPack, kFirst };

// `conn_` says of every node of the current graph how it is tied to the places of the core: a node can stand at a place
// exactly when its entry equals what the plan asks for there, so that the induced test is one comparison.
template <class Conn>
class MatchSearch {
 public:
  std::vector<uint32_t> rows;  // kList: the occurrences so far
  uint64_t found = 0;          // occurrences from the last root, 2^64 - 1 at most
  const uint8_t* blocked = nullptr;  // kPack: [nodes] 1 for nodes that no occurrence may have
  uint8_t* covered = nullptr;  // kCount: [nodes] is set to 1 for every node of an occurrence, by all threads at once

  MatchSearch(const MatchIndex& index, const FusibleIndex* fusible)
      : index_(index), graph_(index.graph()), fusible_(fusible), conn_(graph_.largest()), choices_(graph_) {
    if (fusible_) convex_.emplace(graph_, *fusible_);
  }

  // Gives up after so many steps, or at the deadline; finds at most `limit` rows.
  void prepare(const MatchPlan& plan, MatchGoal goal, Deadline deadline, uint64_t steps = UINT64_MAX,
               size_t limit = SIZE_MAX) {
    plan_ = &plan;
    goal_ = goal;
    deadline_ = deadline;
    stop_ = nullptr;
    finished_ = nullptr;
    limit_ = limit;
    full_ = false;
    begin_unit(steps);
    for (int s = 0; s < plan.core + plan.groups; ++s) {
      required_[s] = Conn{};
      for (int place = 0; place < std::min(s, plan.core); ++place) {
        if (plan.steps[s].arc[place]) required_[s].add(place, plan.steps[s].arc[place]);
      }
    }
    if (goal == MatchGoal::kPack && used_.empty()) used_.assign(graph_.largest(), 0);
  }

  // A piece of the work that has so many steps, less those that all threads have finished meanwhile.
  void begin_unit(uint64_t steps, const std::atomic<uint64_t>* finished = nullptr) {
    steps_ = next_look_ = 0;
    most_steps_ = steps;
    finished_ = finished;
    aborted_ = false;
    forget_used();
  }
  uint64_t steps() const { return steps_; }  // of the present piece

  void watch(const std::atomic<bool>& stop) { stop_ = &stop; }
  bool aborted() const { return aborted_; }  // by the deadline, the flag or the number of steps
  bool full() const { return full_; }        // the limit of rows is reached
  uint32_t member(int position) const { return members_[position]; }  // of the occurrence that was found last

  // All occurrences whose first place is `root`, which must be fit for it; of the nodes at the second place only
  // every `slices`-th. kPack and kFirst stop at the first.
  void from(uint32_t root, uint32_t slice = 0, uint32_t slices = 1) {
    found = 0;
    unwind_ = aborted_ || full_;
    if (tick(1)) return;
    enter_graph_of(root);
    if (is_used(root)) return;
    slice_ = slice;
    slices_ = slices;
    turn_ = 0;
    output_ = kNobody;
    accept(0, root);
    put(0, root);
    extend(1);
    take_back(0);
  }

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;

  // Counts work, and looks at the clock and the flag now and then; true: unwind.
  bool tick(uint64_t work) {
    steps_ += work;
    if (steps_ >= next_look_) {
      next_look_ = steps_ + 4096;
      const uint64_t others = finished_ ? finished_->load(std::memory_order_relaxed) : 0;
      if (steps_ > most_steps_ || others > most_steps_ - steps_ || (stop_ && stop_->load(std::memory_order_relaxed)) ||
          (deadline_ != Deadline::max() && std::chrono::steady_clock::now() >= deadline_)) {
        aborted_ = unwind_ = true;
      }
    }
    return unwind_;
  }

  void forget_used() {
    for (uint32_t node : used_nodes_) used_[node - first_] = 0;
    used_nodes_.clear();
  }

  void enter_graph_of(uint32_t root) {
    if (root >= first_ && root < end_) return;
    forget_used();
    const uint32_t owner = graph_.graph_of(root);
    first_ = graph_.begin_of(owner);
    end_ = graph_.end_of(owner);
    acyclic_ = fusible_ && fusible_->acyclic(owner);
  }

  bool is_used(uint32_t node) const {
    return goal_ == MatchGoal::kPack && (used_[node - first_] || (blocked && blocked[node]));
  }

  // Whether results may leave the occurrence at this node: they do so at one and no second.
  bool accept(int step, uint32_t node) {
    if (!fusible_) return true;
    if (!fusible_->drains(node) && fusible_->out_degree(node) == plan_->steps[step].out_degree) return true;
    if (output_ != kNobody) return false;
    output_ = node;
    output_step_ = step;
    return true;
  }
  void release(uint32_t node) {
    if (output_ == node) output_ = kNobody;
  }

  void put(int place, uint32_t node) {
    members_[place] = node;
    for (const Neighbour& n : graph_.neighbours(node)) conn_[n.node - first_].add(place, graph_.arc(n));
  }
  void take_back(int place) {
    for (const Neighbour& n : graph_.neighbours(members_[place])) conn_[n.node - first_].clear(place);
  }

  // Calls visit(node) for the nodes that can stand for a step next to the core as it is placed.
  template <class Visit>
  void each_candidate(int s, Visit&& visit) {
    const MatchStep& step = plan_->steps[s];
    int anchor = std::countr_zero(step.ties);
    for (uint16_t left = step.ties; left; left &= left - 1) {
      const int place = std::countr_zero(left);
      if (graph_.degree(members_[place]) < graph_.degree(members_[anchor])) anchor = place;
    }
    uint32_t least = 0;
    for (uint16_t left = step.above; left; left &= left - 1) {
      least = std::max(least, members_[std::countr_zero(left)] + 1);
    }
    const auto list = graph_.neighbours(members_[anchor]);
    if (tick(list.size())) return;
    for (const Neighbour& n : list) {
      if (n.node < least) break;  // lists are in descending order
      if (n.tag != step.tag[anchor] || !(conn_[n.node - first_] == required_[s]) || is_used(n.node)) continue;
      bool placed = false;
      for (uint16_t left = step.lookalikes; left; left &= left - 1) {
        placed |= members_[std::countr_zero(left)] == n.node;
      }
      if (placed) continue;
      visit(n.node);
      if (unwind_) return;
    }
  }

  void extend(int place) {
    if (place == plan_->core) return finish();
    const MatchStep& step = plan_->steps[place];
    each_candidate(place, [&](uint32_t node) {
      if ((index_.signature(node) & step.signature) != step.signature || graph_.degree(node) < step.degree) return;
      if (place == 1 && turn_++ % slices_ != slice_) return;
      if (!accept(place, node)) return;
      put(place, node);
      extend(place + 1);
      take_back(place);
      release(node);
    });
  }

  // The core is placed: find the candidates of every group, then count or visit the choices among them.
  void finish() {
    const int core = plan_->core;
    choices_.clear();
    for (int s = core; s < core + plan_->groups; ++s) {
      each_candidate(s, [&](uint32_t node) { choices_.add(node); });
      if (!choices_.close_group(plan_->steps[s].need, plan_->steps[s].degree) || unwind_) return;
    }
    if (tick(choices_.find_conflicts(first_))) return;
    if (goal_ == MatchGoal::kCount && !fusible_) {
      const uint64_t ways = choices_.count(
          covered != nullptr, [&](uint64_t work) { return tick(work); }, [&](uint32_t node) { cover(node); });
      found = plus(found, ways);
      for (int place = 0; ways && covered && place < core; ++place) cover(members_[place]);
      return;
    }
    choices_.each([&](int group, uint32_t node) { return accept(core + group, node); },
                  [&](uint32_t node) { release(node); },
                  [&](const std::vector<uint32_t>& chosen) {
                    for (size_t i = 0; i < chosen.size(); ++i) members_[core + i] = choices_.candidates()[chosen[i]];
                    if (!tick(1)) visit();
                    return !unwind_;
                  });
  }

  void cover(uint32_t node) {
    std::atomic_ref<uint8_t> flag(covered[node]);
    if (!flag.load(std::memory_order_relaxed)) flag.store(1, std::memory_order_relaxed);
  }

  void visit() {
    const std::span<const uint32_t> members(members_.data(), plan_->k);
    // Where all members lead to the output, a way back from it would close a cycle.
    const bool surely_convex = output_ == kNobody || (acyclic_ && (plan_->funnels >> output_step_ & 1));
    if (!surely_convex && !(*convex_)(members, output_, first_, acyclic_, steps_)) return;
    ++found;
    if (goal_ == MatchGoal::kCount) {
      for (size_t i = 0; covered && i < members.size(); ++i) cover(members[i]);
    } else if (goal_ == MatchGoal::kList) {
      const size_t begin = rows.size();
      for (uint32_t node : members) rows.push_back(graph_.original(node));
      std::sort(rows.begin() + static_cast<int64_t>(begin), rows.end());
      unwind_ = full_ = rows.size() / plan_->k >= limit_;
    } else if (goal_ == MatchGoal::kFirst) {
      unwind_ = true;
    } else {
      for (uint32_t node : members) {
        used_[node - first_] = 1;
        used_nodes_.push_back(node);
      }
      unwind_ = true;  // the root is used
    }
  }

  const MatchIndex& index_;
  const Graph& graph_;
  const FusibleIndex* fusible_;
  std::optional<ConvexityTest> convex_;
  const MatchPlan* plan_ = nullptr;
  MatchGoal goal_ = MatchGoal::kCount;
  std::array<Conn, kMaxSize> required_;  // [step]
  Deadline deadline_;
  const std::atomic<bool>* stop_ = nullptr;
  const std::atomic<uint64_t>* finished_ = nullptr;
  uint64_t steps_ = 0, next_look_ = 0, most_steps_ = UINT64_MAX;
  size_t limit_ = SIZE_MAX;
  bool aborted_ = false, full_ = false, unwind_ = false;

  uint32_t first_ = 0, end_ = 0;  // nodes of the current graph
  bool acyclic_ = false;
  std::vector<Conn> conn_;     // [local node]
  std::vector<uint8_t> used_;  // [local node] kPack: lies in an occurrence that was taken
  std::vector<uint32_t> used_nodes_;
  std::array<uint32_t, kMaxSize> members_{};
  uint32_t slice_ = 0, slices_ = 1, turn_ = 0;
  uint32_t output_ = kNobody;  // the member that edges leave from
  int output_step_ = 0;
  Choices choices_;
};

}  // namespace grade
