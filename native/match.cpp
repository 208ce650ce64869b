#include "match.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "match_search.hpp"

namespace grade {
namespace {

constexpr uint64_t kTrial = 1u << 18;  // steps after which threads are worth starting

// Nodes that can stand at the first place, graph by graph.
void find_roots(const MatchIndex& index, const MatchPlan& plan, std::vector<uint32_t>& roots) {
  roots.clear();
  if (!plan.possible) return;
  for (uint32_t node : index.nodes_of(plan.steps[0].node_class)) {
    if (fits_root(index, plan, node)) roots.push_back(node);
  }
}

// Occurrences by root, in any order, turned into occurrences by graph.
using Found = std::vector<std::pair<uint32_t, uint64_t>>;

void sum_by_graph(const Graph& graph, Found& found, MatchCounts& result) {
  std::sort(found.begin(), found.end());
  for (const auto& [root, count] : found) {
    if (result.graphs.empty() || root >= graph.end_of(result.graphs.back())) {
      result.graphs.push_back(graph.graph_of(root));
      result.counts.push_back(0);
    }
    result.counts.back() = plus(result.counts.back(), count);
    result.complete &= result.counts.back() != UINT64_MAX;
  }
}

// Pieces of work that a thread was given together, and what it found.
struct Done {
  size_t begin, end;
  uint64_t steps;
  size_t found_begin, found_end;  // in the thread's list
  bool whole;                     // false: given up on the way
};

// What counting with a limit comes to.
struct Spent {
  uint64_t steps = 0;        // kCutOff if they did not suffice
  uint32_t cut = UINT32_MAX;  // then the root at which it ended
  bool whole() const { return steps != kCutOff; }
};

// One search for each thread, made when it is first needed.
template <class Conn>
class Crew {
 public:
  Crew(const MatchIndex& index, const FusibleIndex* fusible) : index_(index), fusible_(fusible) {}

  MatchSearch<Conn>& member(size_t i) {
    while (searches_.size() <= i) searches_.push_back(std::make_unique<MatchSearch<Conn>>(index_, fusible_));
    return *searches_[i];
  }

  // Every root's occurrences, in any order. Where the steps do not suffice, those of the first roots, as many as they
  // suffice for, and a part of the next one's.
  Spent count(const MatchPlan& plan, int threads, const Limit& limit, const KeepGoing& keep_going, uint8_t* covered,
              Found& found) {
    find_roots(index_, plan, roots_);
    found.clear();
    MatchSearch<Conn>& trial = member(0);
    trial.prepare(plan, MatchGoal::kCount, limit.deadline);
    trial.covered = covered;
    const uint64_t most = std::min(kTrial, limit.steps);
    uint64_t steps = 0;
    size_t done = 0;
    for (; done < roots_.size(); ++done) {
      trial.begin_unit(most - steps);
      trial.from(roots_[done]);
      if (trial.aborted() || trial.steps() > most - steps) break;  // left out here and found again below
      steps += trial.steps();
      if (trial.found) found.emplace_back(roots_[done], trial.found);
    }
    if (done == roots_.size()) return {steps};
    return count_rest(plan, done, steps, threads, limit, keep_going, covered, found);
  }

 private:
  Spent count_rest(const MatchPlan& plan, size_t first, uint64_t steps, int threads, const Limit& limit,
                   const KeepGoing& keep_going, uint8_t* covered, Found& found) {
    // Where there are few roots, one of them may be a hub with most of the work: share it out by its neighbours.
    const size_t left = roots_.size() - first;
    const uint32_t slices = plan.core > 1 && left < size_t(256) * threads ? 64 : 1;
    const size_t chunk = slices > 1 ? 1 : std::clamp<size_t>(left / (size_t(256) * threads), 1, 64);
    std::vector<Found> founds(threads);
    std::vector<std::vector<Done>> dones(threads);
    std::atomic<uint64_t> finished{steps};
    for (int t = 0; t < threads; ++t) {
      member(t).prepare(plan, MatchGoal::kCount, limit.deadline);
      member(t).covered = covered;
    }
    parallel_chunks(left * slices, chunk, threads, keep_going,
                    [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
                      MatchSearch<Conn>& search = *searches_[thread];
                      search.watch(stop);
                      Found& mine = founds[thread];
                      const size_t found_begin = mine.size();
                      search.begin_unit(limit.steps, &finished);
                      for (size_t unit = begin; unit < end; ++unit) {
                        const uint32_t root = roots_[first + unit / slices];
                        search.from(root, static_cast<uint32_t>(unit % slices), slices);
                        if (search.found) mine.emplace_back(root, search.found);
                      }
                      // Each slice looks at the root and its neighbours again, which is no step of the whole.
                      const bool again = begin % slices != 0 && !search.aborted();
                      const uint64_t repeated =
                          again ? 1 + index_.graph().neighbours(roots_[first + begin / slices]).size() : 0;
                      const uint64_t own = search.steps() - repeated;
                      dones[thread].push_back({begin, end, own, found_begin, mine.size(), !search.aborted()});
                      if (!search.aborted()) finished += own;
                    });
    bool whole = finished <= limit.steps;
    for (const auto& each : dones) {
      for (const Done& done : each) whole &= done.whole;
    }
    if (whole || std::chrono::steady_clock::now() >= limit.deadline) {
      for (const Found& each : founds) found.insert(found.end(), each.begin(), each.end());
      return whole ? Spent{finished} : Spent{kCutOff};
    }
    Spent spent{steps};
    // On a thread of its own, so that it can be stopped.
    parallel_chunks(1, 1, 1, keep_going, [&](int, size_t, size_t, const std::atomic<bool>& stop) {
      spent = first_ones(first, slices, steps, limit, founds, dones, stop, found);
    });
    return spent;
  }

  // Of what the threads have done when the steps ran out: what the first roots brought. Roots that were given up on the
  // way are done again.
  Spent first_ones(size_t first, uint32_t slices, uint64_t steps, const Limit& limit, const std::vector<Found>& founds,
                   const std::vector<std::vector<Done>>& dones, const std::atomic<bool>& stop, Found& found) {
    struct Piece {
      size_t begin, end;  // roots
      uint64_t steps = 0;
      bool whole = true;
      std::vector<std::pair<int, const Done*>> parts = {};
    };
    std::vector<std::pair<int, const Done*>> order;
    for (size_t t = 0; t < dones.size(); ++t) {
      for (const Done& done : dones[t]) order.emplace_back(static_cast<int>(t), &done);
    }
    std::sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.second->begin < b.second->begin; });
    size_t at = 0;
    MatchSearch<Conn>& search = member(0);
    search.watch(stop);
    for (size_t root = first; root < roots_.size();) {
      Piece piece{root, root + 1};
      for (; at < order.size() && order[at].second->begin / slices == root - first; ++at) {
        const Done& done = *order[at].second;
        piece.end = std::max(piece.end, first + (done.end + slices - 1) / slices);
        piece.steps += done.steps;
        piece.whole &= done.whole;
        piece.parts.push_back(order[at]);
      }
      piece.whole &= !piece.parts.empty() && (slices == 1 || piece.parts.size() == slices);
      if (piece.whole && piece.steps <= limit.steps - steps) {
        steps += piece.steps;
        for (const auto& [thread, done] : piece.parts) {
          const auto begin = founds[thread].begin();
          found.insert(found.end(), begin + static_cast<int64_t>(done->found_begin),
                       begin + static_cast<int64_t>(done->found_end));
        }
        root = piece.end;
        continue;
      }
      for (; root < piece.end; ++root) {
        search.begin_unit(limit.steps - steps);
        search.from(roots_[root]);
        const bool whole = !search.aborted() && search.steps() <= limit.steps - steps;
        if (whole) steps += search.steps();
        if (search.found) found.emplace_back(roots_[root], search.found);
        if (!whole) return {kCutOff, roots_[root]};
      }
    }
    return {steps};
  }

  const MatchIndex& index_;
  const FusibleIndex* fusible_;
  std::vector<std::unique_ptr<MatchSearch<Conn>>> searches_;
  std::vector<uint32_t> roots_;
};

}  // namespace

Matcher::Matcher(const Graph& graph, const FusibleIndex* fusible, std::span<const ClassSize> of_the_whole)
    : graph_(graph), index_(graph, of_the_whole), fusible_(fusible) {
  if (fusible && &fusible->graph() != &graph) throw BadInput("the index of fusibility is that of another graph set");
}

// Calls use(crew) with the narrowest ties that hold every arc class; a core has at most 15 places.
template <class Use>
auto Matcher::with_search(Use&& use) const {
  if (graph_.arc_classes() <= NarrowConn::kMaxArc) {
    Crew<NarrowConn> crew(index_, fusible_);
    return use(crew);
  }
  Crew<WideConn> crew(index_, fusible_);
  return use(crew);
}

MatchCounts Matcher::count(const SmallGraph& pattern, bool coverage, int threads, const Limit& limit,
                           const KeepGoing& keep_going) const {
  const MatchPlan plan = plan_match(index_, pattern, fusible_ != nullptr);
  return with_search([&](auto& crew) {
    std::vector<uint8_t> covered(coverage ? graph_.nodes() : 0, 0);
    Found found;
    MatchCounts result;
    const Spent spent = crew.count(plan, threads, limit, keep_going, coverage ? covered.data() : nullptr, found);
    result.complete = spent.whole();
    result.steps = spent.steps;
    sum_by_graph(graph_, found, result);
    if (coverage) {  // nodes of graphs that were done with
      const uint32_t end = spent.cut == UINT32_MAX ? graph_.nodes() : graph_.begin_of(graph_.graph_of(spent.cut));
      result.covered = static_cast<uint64_t>(std::count(covered.begin(), covered.begin() + end, uint8_t{1}));
    }
    return result;
  });
}

void Matcher::count_all(std::span<const SmallGraph> patterns, int threads, uint64_t most_steps,
                        const KeepGoing& keep_going, std::span<uint64_t> counts, std::span<bool> complete,
                        std::span<uint64_t> steps) const {
  with_search([&](auto& crew) {
    Found found;
    size_t i = 0;
    auto whole = [&](double share) {
      return !keep_going || keep_going((static_cast<double>(i) + share) / static_cast<double>(patterns.size()));
    };
    auto reported = std::chrono::steady_clock::now();
    for (; i < patterns.size(); ++i) {
      const auto now = std::chrono::steady_clock::now();
      if (now - reported > std::chrono::milliseconds(100)) {
        reported = now;
        if (!whole(0)) throw Stopped();
      }
      const MatchPlan plan = plan_match(index_, patterns[i], fusible_ != nullptr);
      const Spent spent = crew.count(plan, threads, {most_steps}, whole, nullptr, found);
      complete[i] = spent.whole();
      steps[i] = spent.steps;
      counts[i] = 0;
      for (const auto& entry : found) counts[i] = plus(counts[i], entry.second);
      if (counts[i] == UINT64_MAX) complete[i] = false;
    }
  });
}

MatchCounts Matcher::pack(const SmallGraph& pattern, int threads, const Limit& limit,
                          const KeepGoing& keep_going) const {
  const MatchPlan plan = plan_match(index_, pattern, fusible_ != nullptr);
  std::vector<uint32_t> roots, starts;  // the first root of each graph
  find_roots(index_, plan, roots);
  uint32_t end = 0;
  for (size_t i = 0; i < roots.size(); ++i) {
    if (roots[i] < end) continue;
    starts.push_back(static_cast<uint32_t>(i));
    end = graph_.end_of(graph_.graph_of(roots[i]));
  }
  const size_t graphs = starts.size();
  starts.push_back(static_cast<uint32_t>(roots.size()));
  MatchCounts result;
  if (graphs == 0) return result;
  return with_search([&](auto& crew) {
    struct Taken {
      uint64_t disjoint = 0, steps = 0;
      bool whole = false;
    };
    std::vector<Taken> taken(graphs);
    std::atomic<uint64_t> finished{0};
    for (int t = 0; t < threads; ++t) crew.member(t).prepare(plan, MatchGoal::kPack, limit.deadline);
    auto take_in = [&](auto& search, size_t g) {
      Taken& mine = taken[g] = {};
      for (size_t i = starts[g]; i < starts[g + 1]; ++i) {
        search.from(roots[i]);
        mine.disjoint += search.found;
      }
      mine.steps = search.steps();
      mine.whole = !search.aborted();
    };
    parallel_chunks(graphs, 1, threads, keep_going,
                    [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
                      auto& search = crew.member(thread);
                      search.watch(stop);
                      for (size_t g = begin; g < end; ++g) {
                        search.begin_unit(limit.steps, &finished);
                        take_in(search, g);
                        if (taken[g].whole) finished += taken[g].steps;
                      }
                    });
    const bool late = std::chrono::steady_clock::now() >= limit.deadline;
    parallel_chunks(1, 1, 1, keep_going, [&](int, size_t, size_t, const std::atomic<bool>& stop) {
      auto& search = crew.member(0);
      search.watch(stop);
      for (size_t g = 0; g < graphs; ++g) {
        const uint64_t left = limit.steps - result.steps;
        if (!late && !(taken[g].whole && taken[g].steps <= left)) {  // given up for later graphs, or here it ends
          search.begin_unit(left);
          take_in(search, g);
        }
        const bool whole = taken[g].whole && taken[g].steps <= left;
        if (taken[g].disjoint) {
          result.graphs.push_back(graph_.graph_of(roots[starts[g]]));
          result.counts.push_back(taken[g].disjoint);
        }
        if (whole) {
          result.steps += taken[g].steps;
          continue;
        }
        result.complete = false;
        if (!late) break;
      }
    });
    if (!result.complete) result.steps = kCutOff;
    return result;
  });
}

MatchList Matcher::list(const SmallGraph& pattern, size_t most, const Limit& limit,
                        const KeepGoing& keep_going) const {
  const MatchPlan plan = plan_match(index_, pattern, fusible_ != nullptr);
  std::vector<uint32_t> roots;
  find_roots(index_, plan, roots);
  MatchList result;
  if (roots.empty() || most == 0) {
    result.complete = roots.empty();
    return result;
  }
  return with_search([&](auto& crew) {
    auto& search = crew.member(0);
    search.prepare(plan, MatchGoal::kList, limit.deadline, UINT64_MAX, most);
    // One thread, so that the order is that of the roots and no more is found than asked for.
    parallel_chunks(roots.size(), 64, 1, keep_going,
                    [&](int, size_t begin, size_t end, const std::atomic<bool>& stop) {
                      search.watch(stop);
                      for (size_t i = begin; i < end && !search.full() && result.steps != kCutOff; ++i) {
                        const uint64_t left = limit.steps - result.steps;
                        search.begin_unit(left);
                        search.from(roots[i]);
                        const bool whole = !search.aborted() && search.steps() <= left;
                        result.steps = whole ? result.steps + search.steps() : kCutOff;
                      }
                    });
    result.occurrences = std::move(search.rows);
    result.complete = result.steps != kCutOff && !search.full();
    return result;
  });
}

Limit limit_of(uint64_t steps, double seconds) {
  if (!(seconds < 1e9)) return {steps};  // about 30 years
  using Clock = std::chrono::steady_clock;
  return {steps, Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))};
}

}  // namespace grade
