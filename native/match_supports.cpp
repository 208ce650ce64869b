// Supports that ask only whether an occurrence exists: quick where there are too many to count.
#include <algorithm>
#include <memory>

#include "match_search.hpp"

namespace grade {
namespace {

// Calls work(search, thread, pattern, stop) for all patterns on all threads, each with a search of its own.
template <class Conn, class Work>
void for_each_pattern(const MatchIndex& index, const FusibleIndex* fusible, size_t patterns, int threads,
                      const KeepGoing& keep_going, Work&& work) {
  std::vector<std::unique_ptr<MatchSearch<Conn>>> searches(threads);
  parallel_chunks(patterns, 1, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
                    auto& search = searches[thread];
                    if (!search) search = std::make_unique<MatchSearch<Conn>>(index, fusible);
                    for (size_t i = begin; i < end && !stop; ++i) work(*search, thread, i, stop);
                  });
}

template <class Work>
void with_narrowest(const MatchIndex& index, const FusibleIndex* fusible, size_t patterns, int threads,
                    const KeepGoing& keep_going, Work&& work) {
  if (index.graph().arc_classes() <= NarrowConn::kMaxArc) {
    for_each_pattern<NarrowConn>(index, fusible, patterns, threads, keep_going, work);
  } else {
    for_each_pattern<WideConn>(index, fusible, patterns, threads, keep_going, work);
  }
}

// Flags of the graph set's nodes in the core's numbers.
std::vector<uint8_t> in_own_numbers(const Graph& graph, std::span<const uint8_t> flags) {
  if (!flags.empty() && flags.size() != graph.nodes()) throw BadInput("blocked must have an entry for every node");
  std::vector<uint8_t> own(flags.size());
  for (size_t id = 0; id < flags.size(); ++id) own[graph.renumbered(static_cast<uint32_t>(id))] = flags[id];
  return own;
}

// Which nodes stand for which orbit of one pattern; kept by a thread from pattern to pattern.
class Images {
 public:
  explicit Images(size_t nodes) : orbits_(nodes, 0) {}

  void clear() {
    for (uint32_t node : covered_) orbits_[node] = 0;
    covered_.clear();
    counts_.fill(0);
  }
  bool stands_for(uint32_t node, int orbit) const { return orbits_[node] >> orbit & 1; }
  void add(uint32_t node, int orbit) {
    if (stands_for(node, orbit)) return;
    if (orbits_[node] == 0) covered_.push_back(node);
    orbits_[node] |= static_cast<uint16_t>(1u << orbit);
    ++counts_[orbit];
  }
  int64_t count(int orbit) const { return counts_[orbit]; }
  size_t covered() const { return covered_.size(); }

 private:
  std::vector<uint16_t> orbits_;  // [node] bit per orbit
  std::vector<uint32_t> covered_;
  std::array<int64_t, kMaxSize> counts_{};
};

// Sets covered[node] to 1 for every node that lies in an occurrence, and calls fresh(node) where it was 0. False: gave up.
template <class Search, class Fresh>
bool cover(Search& search, const MatchIndex& index, const SmallGraph& pattern, bool fusible, uint64_t steps,
           const std::atomic<bool>& stop, uint8_t* covered, Fresh&& fresh) {
  uint16_t done = 0;
  for (int node = 0; node < pattern.k; ++node) {  // each node of the pattern at the first place, but for symmetries
    if (done >> node & 1) continue;
    const MatchPlan plan = plan_match(index, pattern, fusible, node);
    if (!plan.possible) return true;
    done |= plan.root_orbit;
    search.prepare(plan, MatchGoal::kFirst, Deadline::max(), steps);
    search.watch(stop);
    for (uint32_t root : index.nodes_of(plan.steps[0].node_class)) {
      if (covered[root] || !fits_root(index, plan, root)) continue;
      search.from(root);
      for (int at = 0; search.found && at < plan.k; ++at) {
        uint8_t& flag = covered[search.member(at)];
        if (!flag) fresh(search.member(at));
        flag = 1;
      }
      if (search.aborted()) return false;
    }
  }
  return true;
}

}  // namespace

GraphsOfPatterns Matcher::find_graphs(std::span<const SmallGraph> patterns, const GraphQuery& query, int threads,
                                      uint64_t steps, const KeepGoing& keep_going) const {
  const bool all = query.offsets.empty();
  if (!all && (query.offsets.size() != patterns.size() + 1 || query.offsets.front() < 0 ||
               !std::is_sorted(query.offsets.begin(), query.offsets.end()) ||
               query.offsets.back() > static_cast<int64_t>(query.graphs.size()))) {
    throw BadInput("the offsets do not fit the graphs");
  }
  for (uint32_t graph : query.graphs) {
    if (graph >= graph_.graphs()) throw BadInput("the graph set has no such graph");
  }
  GraphsOfPatterns result{std::vector<std::vector<uint32_t>>(patterns.size()),
                          std::vector<uint8_t>(patterns.size(), 1)};
  with_narrowest(index_, fusible_, patterns.size(), threads, keep_going,
                 [&](auto& search, int, size_t i, const std::atomic<bool>& stop) {
    const MatchPlan plan = plan_match(index_, patterns[i], fusible_ != nullptr);
    if (!plan.possible) return;
    search.prepare(plan, MatchGoal::kFirst, Deadline::max(), steps);
    search.watch(stop);
    std::vector<uint32_t>& found = result.graphs[i];
    const int64_t asked = all ? static_cast<int64_t>(graph_.graphs()) : query.offsets[i + 1] - query.offsets[i];
    for (int64_t at = 0; at < asked; ++at) {
      const auto have = static_cast<int64_t>(found.size());
      if (have >= query.enough || have + asked - at < query.least) break;
      const uint32_t graph = all ? static_cast<uint32_t>(at) : query.graphs[query.offsets[i] + at];
      for (uint32_t root : roots_in(index_, plan, graph)) {
        if (!fits_root(index_, plan, root)) continue;
        search.from(root);
        if (search.found) found.push_back(graph);
        if (search.found || search.aborted()) break;
      }
      if (search.aborted()) break;
    }
    result.complete[i] = !search.aborted();
  });
  return result;
}

void Matcher::pack_all(std::span<const SmallGraph> patterns, int threads, uint64_t steps, const KeepGoing& keep_going,
                       std::span<int64_t> disjoint, std::span<bool> complete) const {
  pack_free(patterns, {}, threads, steps, keep_going, disjoint, complete);
}

void Matcher::pack_free(std::span<const SmallGraph> patterns, std::span<const uint8_t> blocked, int threads,
                        uint64_t steps, const KeepGoing& keep_going, std::span<int64_t> disjoint,
                        std::span<bool> complete) const {
  const std::vector<uint8_t> taboo = in_own_numbers(graph_, blocked);
  with_narrowest(index_, fusible_, patterns.size(), threads, keep_going,
                 [&](auto& search, int, size_t i, const std::atomic<bool>& stop) {
    const MatchPlan plan = plan_match(index_, patterns[i], fusible_ != nullptr);
    disjoint[i] = 0;
    complete[i] = true;
    if (!plan.possible) return;
    search.blocked = taboo.empty() ? nullptr : taboo.data();
    search.prepare(plan, MatchGoal::kPack, Deadline::max(), steps);
    search.watch(stop);
    for (uint32_t root : index_.nodes_of(plan.steps[0].node_class)) {
      if (!fits_root(index_, plan, root)) continue;
      search.from(root);
      disjoint[i] += search.found != 0;
      if (search.aborted()) break;
    }
    complete[i] = !search.aborted();
  });
}

void Matcher::cover_beyond(std::span<const SmallGraph> patterns, std::span<const uint8_t> covered, int threads,
                           uint64_t steps, const KeepGoing& keep_going, std::span<int64_t> fresh,
                           std::span<bool> complete) const {
  std::vector<uint8_t> known = in_own_numbers(graph_, covered);
  known.resize(graph_.nodes(), 0);
  std::vector<std::vector<uint8_t>> flags(threads, known);
  std::vector<std::vector<uint32_t>> found(threads);
  with_narrowest(index_, fusible_, patterns.size(), threads, keep_going,
                 [&](auto& search, int thread, size_t i, const std::atomic<bool>& stop) {
    found[thread].clear();
    complete[i] = cover(search, index_, patterns[i], fusible_ != nullptr, steps, stop, flags[thread].data(),
                        [&](uint32_t node) { found[thread].push_back(node); });
    fresh[i] = static_cast<int64_t>(found[thread].size());
    for (uint32_t node : found[thread]) flags[thread][node] = 0;
  });
}

std::vector<uint32_t> Matcher::nodes_of(const SmallGraph& pattern, std::span<const uint8_t> blocked, bool disjoint,
                                        uint64_t steps, const KeepGoing& keep_going) const {
  const std::vector<uint8_t> taboo = in_own_numbers(graph_, blocked);
  std::vector<uint32_t> nodes;
  with_narrowest(index_, fusible_, 1, 1, keep_going, [&](auto& search, int, size_t, const std::atomic<bool>& stop) {
    if (disjoint) {
      const MatchPlan plan = plan_match(index_, pattern, fusible_ != nullptr);
      if (!plan.possible) return;
      search.blocked = taboo.empty() ? nullptr : taboo.data();
      search.prepare(plan, MatchGoal::kPack, Deadline::max(), steps);
      search.watch(stop);
      for (uint32_t root : index_.nodes_of(plan.steps[0].node_class)) {
        if (!fits_root(index_, plan, root)) continue;
        search.from(root);
        for (int at = 0; search.found && at < plan.k; ++at) nodes.push_back(graph_.original(search.member(at)));
        if (search.aborted()) break;
      }
      return;
    }
    std::vector<uint8_t> covered(graph_.nodes(), 0);
    cover(search, index_, pattern, fusible_ != nullptr, steps, stop, covered.data(), [](uint32_t) {});
    for (uint32_t node = 0; node < graph_.nodes(); ++node) {
      if (covered[node]) nodes.push_back(graph_.original(node));
    }
    std::sort(nodes.begin(), nodes.end());
  });
  return nodes;
}

void Matcher::find_images(std::span<const SmallGraph> patterns, int64_t least, int threads, uint64_t steps,
                          const KeepGoing& keep_going, std::span<int64_t> fewest, std::span<int64_t> covered,
                          std::span<bool> complete, std::span<int64_t> images_of) const {
  std::vector<std::unique_ptr<Images>> all_images(threads);
  with_narrowest(index_, fusible_, patterns.size(), threads, keep_going,
                 [&](auto& search, int thread, size_t i, const std::atomic<bool>& stop) {
    fewest[i] = covered[i] = 0;
    complete[i] = true;
    std::fill_n(images_of.begin() + i * kMaxSize, kMaxSize, -1);
    // A plan for each orbit of the pattern, with a node of it at the first place.
    std::vector<MatchPlan> plans;
    std::array<uint8_t, kMaxSize> orbit_of{};
    uint16_t done = 0;
    for (int node = 0; node < patterns[i].k; ++node) {
      if (done >> node & 1) continue;
      plans.push_back(plan_match(index_, patterns[i], fusible_ != nullptr, node));
      if (!plans.back().possible) return;
      for (int other = 0; other < patterns[i].k; ++other) {
        if (plans.back().root_orbit >> other & 1) orbit_of[other] = static_cast<uint8_t>(plans.size() - 1);
      }
      done |= plans.back().root_orbit;
    }
    auto& images = all_images[thread];
    if (!images) images = std::make_unique<Images>(graph_.nodes());
    images->clear();
    int64_t smallest = INT64_MAX;
    for (size_t orbit = 0; orbit < plans.size() && smallest >= least && complete[i]; ++orbit) {
      const MatchPlan& plan = plans[orbit];
      search.prepare(plan, MatchGoal::kFirst, Deadline::max(), steps);
      search.watch(stop);
      for (uint32_t root : index_.nodes_of(plan.steps[0].node_class)) {
        if (images->stands_for(root, static_cast<int>(orbit)) || !fits_root(index_, plan, root)) continue;
        search.from(root);
        for (int at = 0; search.found && at < plan.k; ++at) images->add(search.member(at), orbit_of[plan.order[at]]);
        if (search.aborted()) break;
      }
      complete[i] = !search.aborted();
      images_of[i * kMaxSize + orbit] = images->count(static_cast<int>(orbit));
      smallest = std::min(smallest, images->count(static_cast<int>(orbit)));
    }
    fewest[i] = smallest >= least ? smallest : 0;
    covered[i] = static_cast<int64_t>(images->covered());
  });
}

}  // namespace grade
