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

// One search for each thread, made when it is first needed.
template <class Conn>
class Crew {
 public:
  Crew(const MatchIndex& index, const FusibleIndex* fusible) : index_(index), fusible_(fusible) {}

  MatchSearch<Conn>& member(size_t i) {
    while (searches_.size() <= i) searches_.push_back(std::make_unique<MatchSearch<Conn>>(index_, fusible_));
    return *searches_[i];
  }

  // Every root's occurrences, in any order. False when it was cut off.
  bool count(const MatchPlan& plan, int threads, Deadline deadline, const KeepGoing& keep_going, uint8_t* covered,
             Found& found) {
    find_roots(index_, plan, roots_);
    found.clear();
    MatchSearch<Conn>& trial = member(0);
    trial.prepare(plan, MatchGoal::kCount, deadline, kTrial);
    trial.covered = covered;
    size_t done = 0;
    for (; done < roots_.size(); ++done) {
      trial.from(roots_[done]);
      if (trial.aborted()) break;  // what this root has brought is left out and found again below
      if (trial.found) found.emplace_back(roots_[done], trial.found);
    }
    if (done == roots_.size()) return true;

    // Where there are few roots, one of them may be a hub with most of the work: share it out by its neighbours.
    const size_t left = roots_.size() - done;
    const uint32_t slices = plan.core > 1 && left < size_t(256) * threads ? 64 : 1;
    const size_t chunk = std::clamp<size_t>(left / (size_t(256) * threads), 1, 64);
    std::vector<Found> shares(threads);
    for (int t = 0; t < threads; ++t) {
      member(t).prepare(plan, MatchGoal::kCount, deadline);
      member(t).covered = covered;
    }
    parallel_chunks(left * slices, chunk, threads, keep_going,
                    [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
                      MatchSearch<Conn>& search = *searches_[thread];
                      search.watch(stop);
                      for (size_t unit = begin; unit < end; ++unit) {
                        const uint32_t root = roots_[done + unit / slices];
                        search.from(root, static_cast<uint32_t>(unit % slices), slices);
                        if (search.found) shares[thread].emplace_back(root, search.found);
                      }
                    });
    bool complete = true;
    for (int t = 0; t < threads; ++t) {
      found.insert(found.end(), shares[t].begin(), shares[t].end());
      complete &= !member(t).aborted();
    }
    return complete;
  }

 private:
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

MatchCounts Matcher::count(const SmallGraph& pattern, bool coverage, int threads, Deadline deadline,
                           const KeepGoing& keep_going) const {
  const MatchPlan plan = plan_match(index_, pattern, fusible_ != nullptr);
  return with_search([&](auto& crew) {
    std::vector<uint8_t> covered(coverage ? graph_.nodes() : 0, 0);
    Found found;
    MatchCounts result;
    result.complete = crew.count(plan, threads, deadline, keep_going, coverage ? covered.data() : nullptr, found);
    sum_by_graph(graph_, found, result);
    if (coverage) result.covered = static_cast<uint64_t>(std::count(covered.begin(), covered.end(), uint8_t{1}));
    return result;
  });
}

void Matcher::count_all(std::span<const SmallGraph> patterns, int threads, double seconds, const KeepGoing& keep_going,
                        std::span<uint64_t> counts, std::span<bool> complete) const {
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
      complete[i] = crew.count(plan, threads, deadline_after(seconds), whole, nullptr, found);
      counts[i] = 0;
      for (const auto& entry : found) counts[i] = plus(counts[i], entry.second);
      if (counts[i] == UINT64_MAX) complete[i] = false;
    }
  });
}

MatchCounts Matcher::pack(const SmallGraph& pattern, int threads, Deadline deadline,
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
    std::vector<Found> shares(threads);
    for (int t = 0; t < threads; ++t) crew.member(t).prepare(plan, MatchGoal::kPack, deadline);
    parallel_chunks(graphs, 1, threads, keep_going,
                    [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
                      auto& search = crew.member(thread);
                      search.watch(stop);
                      for (size_t g = begin; g < end; ++g) {
                        for (size_t i = starts[g]; i < starts[g + 1]; ++i) {
                          search.from(roots[i]);
                          if (search.found) shares[thread].emplace_back(roots[i], search.found);
                        }
                      }
                    });
    Found found;
    for (int t = 0; t < threads; ++t) {
      found.insert(found.end(), shares[t].begin(), shares[t].end());
      result.complete &= !crew.member(t).aborted();
    }
    sum_by_graph(graph_, found, result);
    return result;
  });
}

MatchList Matcher::list(const SmallGraph& pattern, size_t limit, Deadline deadline,
                        const KeepGoing& keep_going) const {
  const MatchPlan plan = plan_match(index_, pattern, fusible_ != nullptr);
  std::vector<uint32_t> roots;
  find_roots(index_, plan, roots);
  MatchList result;
  if (roots.empty() || limit == 0) {
    result.complete = roots.empty();
    return result;
  }
  return with_search([&](auto& crew) {
    auto& search = crew.member(0);
    search.prepare(plan, MatchGoal::kList, deadline, UINT64_MAX, limit);
    // One thread, so that the order is that of the roots and no more is found than asked for.
    parallel_chunks(roots.size(), 64, 1, keep_going,
                    [&](int, size_t begin, size_t end, const std::atomic<bool>& stop) {
                      search.watch(stop);
                      for (size_t i = begin; i < end && !search.full(); ++i) search.from(roots[i]);
                    });
    result.occurrences = std::move(search.rows);
    result.complete = !search.aborted() && !search.full();
    return result;
  });
}

Deadline deadline_after(double seconds) {
  const auto now = std::chrono::steady_clock::now();
  if (!(seconds < 1e9)) return Deadline::max();  // about 30 years
  return now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace grade
