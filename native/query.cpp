// The places are filled one after the other, each next to one that it must be tied to. Of all ways to fit a query onto
// one node set, only the one whose nodes are least, place by place, is counted: so no set of sets has to be kept.
#include "query.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>

namespace grade {
namespace {

struct Plan {
  std::array<int, kMaxSize> order;       // [position] place
  std::array<int, kMaxSize> anchor;      // [position] an earlier one that it must be tied to
  std::array<uint16_t, kMaxSize> below;  // [position] bit e: the node at position e must be smaller
  std::vector<uint8_t> fits_class;       // [k * node classes], by position
  std::vector<uint8_t> fits_arc;         // [k * k * (arc classes + 1)], by positions
};

class Planner {
 public:
  Planner(const Graph& graph, const Query& query) : graph_(graph), query_(query), k_(query.k) {}

  Plan plan(size_t classes) const {
    Plan plan{};
    std::vector<size_t> frequency(k_, 0);
    std::vector<uint8_t> by_place(k_ * classes);
    std::vector<size_t> members(classes, 0);
    for (uint32_t node = 0; node < graph_.nodes(); ++node) ++members[graph_.class_of(node)];
    for (int p = 0; p < k_; ++p) {
      for (size_t c = 0; c < classes; ++c) {
        const NodeClass& kind = graph_.node_class(static_cast<uint32_t>(c));
        by_place[p * classes + c] = query_.types[p][kind.type] && edge(p, p)[kind.loop];
        if (by_place[p * classes + c]) frequency[p] += members[c];
      }
    }
    order_places(frequency, plan);
    plan.fits_class.resize(k_ * classes);
    for (int i = 0; i < k_; ++i) {
      std::copy_n(by_place.begin() + static_cast<int64_t>(plan.order[i] * classes), classes,
                  plan.fits_class.begin() + static_cast<int64_t>(i * classes));
    }
    const size_t arcs = graph_.arc_classes() + 1;
    plan.fits_arc.resize(k_ * k_ * arcs);
    for (int i = 0; i < k_; ++i) {
      for (int j = 0; j < k_; ++j) {
        const int p = plan.order[i], q = plan.order[j];
        if (p == q) continue;
        uint8_t* fits = plan.fits_arc.data() + (i * k_ + j) * arcs;
        fits[0] = edge(p, q)[0] && edge(q, p)[0];
        for (uint32_t arc = 1; arc < arcs; ++arc) {
          fits[arc] = edge(p, q)[graph_.arc_class(arc).outward] && edge(q, p)[graph_.arc_class(arc).inward];
        }
      }
      for (int e = 0; e < i; ++e) {
        if (twins(plan.order[e], plan.order[i])) plan.below[i] |= static_cast<uint16_t>(1u << e);
      }
    }
    return plan;
  }

 private:
  const EdgeTypes& edge(int p, int q) const { return query_.edges[p * k_ + q]; }
  bool tied(int p, int q) const { return p != q && !(edge(p, q)[0] && edge(q, p)[0]); }

  // Two places that can be exchanged. Of the two ways to fill them, the least has the smaller node at the earlier one.
  bool twins(int p, int q) const {
    if (query_.types[p] != query_.types[q] || edge(p, p) != edge(q, q) || edge(p, q) != edge(q, p)) return false;
    for (int r = 0; r < k_; ++r) {
      if (r != p && r != q && (edge(p, r) != edge(q, r) || edge(r, p) != edge(r, q))) return false;
    }
    return true;
  }

  void order_places(const std::vector<size_t>& frequency, Plan& plan) const {
    uint16_t placed = 0;
    for (int i = 0; i < k_; ++i) {
      int best = -1;
      for (int p = 0; p < k_; ++p) {
        if (placed >> p & 1) continue;
        bool reachable = i == 0;
        for (int e = 0; e < i; ++e) reachable |= tied(plan.order[e], p);
        if (reachable && (best < 0 || frequency[p] < frequency[best])) best = p;
      }
      if (best < 0) throw BadInput("the query is not connected");
      plan.order[i] = best;
      placed |= static_cast<uint16_t>(1u << best);
      for (int e = i; e-- > 0;) {
        if (tied(plan.order[e], best)) plan.anchor[i] = e;
      }
    }
  }

  const Graph& graph_;
  const Query& query_;
  const int k_;
};

// One thread's search.
class Search {
 public:
  std::vector<uint32_t> rows;

  Search(const Graph& graph, const FusibleIndex* fusible, const Plan& plan, int k, size_t classes, Deadline deadline,
         const std::atomic<uint64_t>& finished, std::vector<uint8_t>& covered, std::vector<uint8_t>& used)
      : graph_(graph), fusible_(fusible), plan_(plan), k_(k), classes_(classes), arcs_(graph.arc_classes() + 1),
        deadline_(deadline), finished_(finished), covered_(covered), used_(used) {
    if (fusible) convex_.emplace(graph, *fusible);
  }

  bool aborted() const { return aborted_; }

  uint64_t steps() const { return steps_; }  // in the present graph

  // All occurrences of one graph, in so many steps, less those that all threads have finished; keeps at most `limit`.
  void from(size_t owner, size_t limit, uint64_t most_steps, const std::atomic<bool>& stop, uint64_t& count,
            uint64_t& disjoint) {
    count_ = disjoint_ = steps_ = next_look_ = 0;
    most_steps_ = most_steps;
    aborted_ = false;
    limit_ = limit;
    stop_ = &stop;
    owner_ = owner;
    first_ = graph_.begin_of(owner);
    rows.clear();
    std::fill(covered_.begin() + first_, covered_.begin() + graph_.end_of(owner), 0);
    std::fill(used_.begin() + first_, used_.begin() + graph_.end_of(owner), 0);
    for (uint32_t node = first_; node < graph_.end_of(owner) && !aborted_; ++node) {
      if (tick()) break;
      if (!fits_class(0, node)) continue;
      members_[0] = node;
      extend(1);
    }
    count = count_;
    disjoint = disjoint_;
  }

 private:
  bool tick() {
    if (++steps_ >= next_look_) {
      next_look_ = steps_ + 4096;
      const uint64_t others = finished_.load(std::memory_order_relaxed);
      if (steps_ > most_steps_ || others > most_steps_ - steps_ || stop_->load(std::memory_order_relaxed) ||
          (deadline_ != Deadline::max() && std::chrono::steady_clock::now() >= deadline_)) {
        aborted_ = true;
      }
    }
    return aborted_;
  }

  bool fits_class(int position, uint32_t node) const {
    return plan_.fits_class[position * classes_ + graph_.class_of(node)];
  }
  bool fits_arc(int from, int to, uint32_t arc) const { return plan_.fits_arc[(from * k_ + to) * arcs_ + arc]; }

  // The class of the arcs between two nodes as the first one sees it; 0 where there are none.
  uint32_t arc_between(uint32_t a, uint32_t b) const {
    const bool turned = graph_.degree(b) < graph_.degree(a);
    const auto list = graph_.neighbours(turned ? b : a);
    const uint32_t wanted = turned ? a : b;
    const auto at = std::lower_bound(list.begin(), list.end(), wanted,
                                     [](const Neighbour& n, uint32_t node) { return n.node > node; });
    if (at == list.end() || at->node != wanted) return 0;
    return turned ? graph_.arc_class(graph_.arc(*at)).reverse : graph_.arc(*at);
  }

  void extend(int position) {
    if (position == k_) return finish();
    const auto list = graph_.neighbours(members_[plan_.anchor[position]]);
    for (size_t i = list.size(); i-- > 0;) {  // in ascending order, since the least way to fit is the one that counts
      const Neighbour& n = list[i];
      if (tick()) return;
      if (!fits_class(position, n.node)) continue;
      if (!fits_arc(plan_.anchor[position], position, graph_.arc(n))) continue;
      bool fits = true;
      for (int e = 0; e < position && fits; ++e) {
        fits = members_[e] != n.node && !((plan_.below[position] >> e & 1) && members_[e] > n.node);
        if (!fits) break;
        const uint32_t arc = e == plan_.anchor[position] ? graph_.arc(n) : arc_between(members_[e], n.node);
        arc_[e][position] = arc;
        arc_[position][e] = arc ? graph_.arc_class(arc).reverse : 0;
        fits = fits_arc(e, position, arc);
      }
      if (!fits) continue;
      members_[position] = n.node;
      extend(position + 1);
      if (aborted_) return;
    }
  }

  void finish() {
    if (!least() || !may_fuse()) return;
    ++count_;
    bool free = true;
    for (int i = 0; i < k_; ++i) {
      covered_[members_[i]] = 1;
      free &= !used_[members_[i]];
    }
    if (free) {
      ++disjoint_;
      for (int i = 0; i < k_; ++i) used_[members_[i]] = 1;
    }
    if (rows.size() / k_ >= limit_) return;
    const size_t begin = rows.size();
    for (int i = 0; i < k_; ++i) rows.push_back(graph_.original(members_[i]));
    std::sort(rows.begin() + static_cast<int64_t>(begin), rows.end());
  }

  // Whether no other way to fit the query onto the same nodes comes before this one.
  bool least() {
    std::iota(rank_.begin(), rank_.begin() + k_, 0);
    std::sort(rank_.begin(), rank_.begin() + k_, [&](int i, int j) { return members_[i] < members_[j]; });
    return !smaller(0, 0, false);
  }

  // Fills position after position with members in ascending order, as long as the result can still be smaller.
  bool smaller(int position, uint16_t taken, bool already) {
    if (position == k_) return already;
    for (int r = 0; r < k_; ++r) {
      const int member = rank_[r];
      if (taken >> member & 1) continue;
      if (!already && members_[member] > members_[position]) return false;
      bool fits = fits_class(position, members_[member]);
      for (int e = 0; e < position && fits; ++e) fits = fits_arc(e, position, arc_[image_[e]][member]);
      if (!fits) continue;
      image_[position] = member;
      if (smaller(position + 1, static_cast<uint16_t>(taken | 1u << member), already || member != position)) return true;
    }
    return false;
  }

  bool may_fuse() {
    if (!fusible_) return true;
    uint32_t output = UINT32_MAX;
    for (int i = 0; i < k_; ++i) {
      uint32_t inside = 0;
      for (int j = 0; j < k_; ++j) inside += j != i && arc_[i][j] && graph_.arc_class(arc_[i][j]).outward;
      if (!fusible_->drains(members_[i]) && fusible_->out_degree(members_[i]) == inside) continue;
      if (output != UINT32_MAX) return false;
      output = members_[i];
    }
    return output == UINT32_MAX || (*convex_)({members_.data(), static_cast<size_t>(k_)}, output, first_,
                                           fusible_->acyclic(static_cast<uint32_t>(owner_)), steps_);
  }

  const Graph& graph_;
  const FusibleIndex* fusible_;
  const Plan& plan_;
  const int k_;
  const size_t classes_, arcs_;
  const Deadline deadline_;
  const std::atomic<uint64_t>& finished_;
  std::optional<ConvexityTest> convex_;
  std::vector<uint8_t>&covered_, &used_;  // [nodes], in the core's numbers
  const std::atomic<bool>* stop_ = nullptr;
  std::array<uint32_t, kMaxSize> members_{};                     // [position]
  std::array<std::array<uint32_t, kMaxSize>, kMaxSize> arc_{};   // [position][position]
  std::array<int, kMaxSize> rank_{}, image_{};
  uint64_t steps_ = 0, next_look_ = 0, most_steps_ = 0, count_ = 0, disjoint_ = 0;
  size_t limit_ = 0, owner_ = 0;
  uint32_t first_ = 0;
  bool aborted_ = false;
};

}  // namespace

size_t QueryMatcher::node_types() const {
  size_t types = 0;
  for (uint32_t node = 0; node < graph_.nodes(); ++node) {
    types = std::max<size_t>(types, graph_.node_class(graph_.class_of(node)).type + size_t{1});
  }
  return types;
}

QueryAnswer QueryMatcher::answer(const Query& query, size_t most, int threads, const Limit& limit,
                                 const KeepGoing& keep_going) const {
  const Graph& graph = graph_;
  size_t classes = 0;
  for (uint32_t node = 0; node < graph.nodes(); ++node) classes = std::max<size_t>(classes, graph.class_of(node) + 1);
  const Plan plan = Planner(graph, query).plan(classes);
  std::vector<uint8_t> covered(graph.nodes(), 0), used(graph.nodes(), 0);
  std::vector<uint64_t> counts(graph.graphs(), 0), disjoint(graph.graphs(), 0);
  std::vector<std::vector<uint32_t>> rows(most ? graph.graphs() : 0);
  std::vector<uint64_t> steps(graph.graphs(), 0);
  std::vector<uint8_t> whole(graph.graphs(), 0);
  std::atomic<uint64_t> finished{0};
  std::vector<std::unique_ptr<Search>> crew;
  for (int t = 0; t < threads; ++t) {
    crew.push_back(
        std::make_unique<Search>(graph, fusible_, plan, query.k, classes, limit.deadline, finished, covered, used));
  }
  auto from = [&](Search& search, size_t g, uint64_t most_steps, const std::atomic<bool>& stop) {
    search.from(g, most, most_steps, stop, counts[g], disjoint[g]);
    if (most) rows[g] = std::move(search.rows);
    steps[g] = search.steps();
    whole[g] = !search.aborted();
  };
  parallel_chunks(graph.graphs(), 1, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
                    for (size_t g = begin; g < end; ++g) {
                      from(*crew[thread], g, limit.steps, stop);
                      if (whole[g]) finished += steps[g];
                    }
                  });
  QueryAnswer result;
  result.complete = finished <= limit.steps && std::ranges::all_of(whole, [](uint8_t each) { return each != 0; });
  if (!result.complete && std::chrono::steady_clock::now() < limit.deadline) {
    // The first graphs, as many as the steps suffice for, and a part of the next one: whoever did what.
    finished = 0;
    parallel_chunks(1, 1, 1, keep_going, [&](int, size_t, size_t, const std::atomic<bool>& stop) {
      uint64_t left = limit.steps;
      size_t g = 0;
      for (; g < graph.graphs(); ++g) {
        if (!whole[g] || steps[g] > left) from(*crew[0], g, left, stop);
        if (!whole[g] || steps[g] > left) break;
        left -= steps[g];
      }
      for (size_t later = g + 1; later < graph.graphs(); ++later) counts[later] = disjoint[later] = 0;
      const size_t end = g < graph.graphs() ? graph.end_of(g) : graph.nodes();
      std::fill(covered.begin() + static_cast<int64_t>(end), covered.end(), 0);
    });
  }
  result.covered.assign(graph.nodes(), 0);
  for (uint32_t node = 0; node < graph.nodes(); ++node) result.covered[graph.original(node)] = covered[node];
  for (size_t g = 0; g < graph.graphs(); ++g) {
    if (counts[g] == 0) continue;
    result.graphs.push_back(static_cast<uint32_t>(g));
    result.counts.push_back(counts[g]);
    result.disjoint.push_back(disjoint[g]);
    if (!most) continue;
    const size_t space = most * query.k - result.occurrences.size();
    result.occurrences.insert(result.occurrences.end(), rows[g].begin(),
                              rows[g].begin() + static_cast<int64_t>(std::min(space, rows[g].size())));
  }
  return result;
}

}  // namespace grade
