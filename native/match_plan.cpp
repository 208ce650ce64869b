#include "match_plan.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include "mixing.hpp"

namespace grade {
namespace {

constexpr uint16_t mask_of(int i) { return static_cast<uint16_t>(1u << i); }

// A pattern in terms of the graph set's classes, and the choices that make a plan of it.
class Planner {
 public:
  Planner(const MatchIndex& index, const SmallGraph& pattern) : index_(index), pattern_(pattern), k_(pattern.k) {}

  MatchPlan plan(bool fusible, int root) {
    MatchPlan plan;
    plan.k = k_;
    if (!(plan.possible = translate())) return plan;
    choose_root(root);
    choose_core();
    order_core();
    make_steps(plan);
    break_symmetry(plan, root >= 0);
    exclude_lookalikes(plan);
    if (fusible) find_funnels(plan);
    return plan;
  }

 private:
  int degree(int p) const { return std::popcount(neighbours_[p]); }
  uint64_t frequency(int p) const { return index_.population(class_[p]); }

  // Classes, arcs and tags of the graph set for every node and pair; false if one does not exist there.
  bool translate() {
    bool possible = true;
    for (int p = 0; p < k_; ++p) {
      neighbours_[p] = 0;
      class_[p] = index_.find_class(pattern_.types[p], pattern_.edges[p * k_ + p]);
      possible &= class_[p] != MatchIndex::kNone;
    }
    for (int p = 0; p < k_; ++p) {
      for (int q = 0; q < k_; ++q) {
        const uint8_t outward = pattern_.edges[p * k_ + q], inward = pattern_.edges[q * k_ + p];
        arc_[p][q] = 0;
        if (p == q || !(outward || inward)) continue;
        neighbours_[p] |= mask_of(q);
        if (!possible) continue;
        arc_[p][q] = index_.find_arc(outward, inward);
        tag_[p][q] = arc_[p][q] ? index_.find_tag(arc_[p][q], class_[q]) : MatchIndex::kNone;
        possible &= tag_[p][q] != MatchIndex::kNone;
      }
    }
    if (!connected(all())) throw BadInput("the pattern is not connected");
    return possible;
  }

  uint16_t all() const { return static_cast<uint16_t>((1u << k_) - 1); }

  bool connected(uint16_t nodes) const {
    uint16_t reached = nodes & static_cast<uint16_t>(-nodes), frontier = reached;
    while (frontier) {
      const uint16_t fresh = neighbours_[std::countr_zero(frontier)] & nodes & static_cast<uint16_t>(~reached);
      frontier = static_cast<uint16_t>((frontier & (frontier - 1)) | fresh);
      reached |= fresh;
    }
    return reached == nodes;
  }

  bool twins(int p, int q) const {
    if (neighbours_[p] != neighbours_[q] || class_[p] != class_[q]) return false;
    return std::equal(arc_[p].begin(), arc_[p].begin() + k_, arc_[q].begin());
  }

  // The root is the node that the fewest nodes can stand for: those of its class, of which each neighbour that it must
  // have rules out perhaps half.
  void choose_root(int given) {
    root_ = std::max(given, 0);
    auto merit = [&](int p) { return std::tuple(frequency(p) >> degree(p), -degree(p)); };
    for (int p = 1; given < 0 && p < k_; ++p) {
      if (merit(p) < merit(root_)) root_ = p;
    }
  }

  // The rest takes the largest families of twins first, then nodes with few neighbours.
  void choose_core() {
    std::array<std::tuple<int, int, int>, kMaxSize> wanted;
    for (int p = 0; p < k_; ++p) {
      int family = 0;
      for (int q = 0; q < k_; ++q) family += twins(p, q);
      wanted[p] = {-family, degree(p), p};
    }
    std::sort(wanted.begin(), wanted.begin() + k_);
    rest_ = 0;
    for (int i = 0; i < k_; ++i) {
      const int p = std::get<2>(wanted[i]);
      const uint16_t grown = rest_ | mask_of(p);
      if (p == root_ || (neighbours_[p] & rest_) || !connected(all() & static_cast<uint16_t>(~grown))) continue;
      rest_ = grown;
    }
  }

  // From the root on, always the node with the most neighbours placed; then the rarer; then that of higher degree.
  void order_core() {
    core_ = 0;
    order_[core_++] = root_;
    uint16_t placed = mask_of(root_);
    const uint16_t core = all() & static_cast<uint16_t>(~rest_);
    while (placed != core) {
      int best = -1;
      std::tuple<int, uint64_t, int> best_merit;
      for (uint16_t left = core & static_cast<uint16_t>(~placed); left; left &= left - 1) {
        const int p = std::countr_zero(left);
        const uint16_t ties = neighbours_[p] & placed;
        if (!ties) continue;
        const std::tuple merit(-std::popcount(ties), frequency(p), -degree(p));
        if (best < 0 || merit < best_merit) best = p, best_merit = merit;
      }
      order_[core_++] = best;
      placed |= mask_of(best);
    }
    // The members of a group lie side by side; a group with many ties has few candidates and goes first.
    int end = core_;
    uint16_t left = rest_;
    while (left) {
      int best = -1;
      for (uint16_t rest = left; rest; rest &= rest - 1) {
        const int p = std::countr_zero(rest);
        if (best < 0 || std::tuple(-degree(p), frequency(p)) < std::tuple(-degree(best), frequency(best))) best = p;
      }
      for (int p = 0; p < k_; ++p) {
        if ((left >> p & 1) && twins(best, p)) order_[end++] = p, left &= static_cast<uint16_t>(~mask_of(p));
      }
    }
  }

  void make_steps(MatchPlan& plan) {
    plan.core = core_;
    for (int i = 0; i < k_; ++i) {
      place_[order_[i]] = i;
      plan.order[i] = static_cast<uint8_t>(order_[i]);
    }
    for (int i = 0; i < k_; ++i) {
      const int p = order_[i];
      if (i > core_ && twins(order_[i - 1], p)) {
        step_of_[i] = step_of_[i - 1];
        ++plan.steps[step_of_[i]].need;
        continue;
      }
      step_of_[i] = i < core_ ? i : core_ + plan.groups++;
      MatchStep& step = plan.steps[step_of_[i]];
      step = {};
      step.node_class = class_[p];
      step.degree = static_cast<uint32_t>(degree(p));
      step.need = 1;
      for (uint16_t left = neighbours_[p]; left; left &= left - 1) {
        const int q = std::countr_zero(left), place = place_[q];
        step.out_degree += pattern_.edges[p * k_ + q] != 0;
        step.signature |= MatchIndex::bit(tag_[p][q]);
        if (place >= std::min(i, core_)) continue;
        step.ties |= mask_of(place);
        step.arc[place] = arc_[q][p];
        step.tag[place] = tag_[q][p];
      }
    }
  }

  void break_symmetry(MatchPlan& plan, bool any_root) {
    colour();
    plan.root_orbit = mask_of(order_[0]);
    for (int i = 0; i < core_; ++i) {
      for (int w = i + 1; w < k_; ++w) {
        if (colour_[order_[i]] != colour_[order_[w]]) continue;
        std::array<int, kMaxSize> image;
        for (int fixed = 0; fixed < i; ++fixed) image[fixed] = order_[fixed];
        if (!extends(image, i, mask_of(order_[w]))) continue;
        if (i == 0) plan.root_orbit |= mask_of(order_[w]);
        if (i > 0 || !any_root) plan.steps[step_of_[w]].above |= mask_of(i);
      }
    }
  }

  // Equal for nodes that an automorphism exchanges, and for few others: two rounds of refinement.
  void colour() {
    std::array<uint64_t, kMaxSize> next;
    for (int p = 0; p < k_; ++p) colour_[p] = mixed(class_[p] + 1);
    for (int round = 0; round < 2; ++round) {
      for (int p = 0; p < k_; ++p) {
        next[p] = mixed(colour_[p]);
        for (uint16_t left = neighbours_[p]; left; left &= left - 1) {
          const int q = std::countr_zero(left);
          next[p] += mixed(colour_[q] ^ (uint64_t{arc_[p][q]} << 20));
        }
      }
      colour_ = next;
    }
  }

  // Whether an automorphism takes the first `place` places to `image`, and the next one to one of `choices`.
  bool extends(std::array<int, kMaxSize>& image, int place, uint16_t choices) const {
    if (place == k_) return true;
    const int p = order_[place];
    for (uint16_t left = choices; left; left &= left - 1) {
      const int q = std::countr_zero(left);
      bool fits = colour_[p] == colour_[q] && class_[p] == class_[q];
      for (int i = 0; i < place && fits; ++i) fits = image[i] != q && arc_[order_[i]][p] == arc_[image[i]][q];
      if (!fits) continue;
      image[place] = q;
      if (extends(image, place + 1, all())) return true;
    }
    return false;
  }

  // A placed node passes for a later step if its class and its ties to all other places are the same.
  void exclude_lookalikes(MatchPlan& plan) {
    for (int s = 0; s < core_ + plan.groups; ++s) {
      MatchStep& step = plan.steps[s];
      const int placed = std::min(s, core_);
      for (int e = 0; e < placed; ++e) {
        if (plan.steps[e].node_class != step.node_class || (step.ties >> e & 1) || (step.above >> e & 1)) continue;
        bool same = true;
        for (int place = 0; place < placed && same; ++place) {
          same = place == e || arc_[order_[place]][order_[e]] == step.arc[place];
        }
        if (same) step.lookalikes |= mask_of(e);
      }
    }
  }

  void find_funnels(MatchPlan& plan) {
    std::array<uint16_t, kMaxSize> reaches;  // bit q: p leads to q
    for (int p = 0; p < k_; ++p) {
      reaches[p] = mask_of(p);
      for (int q = 0; q < k_; ++q) {
        if (pattern_.edges[p * k_ + q]) reaches[p] |= mask_of(q);
      }
    }
    for (int via = 0; via < k_; ++via) {
      for (int p = 0; p < k_; ++p) {
        if (reaches[p] >> via & 1) reaches[p] |= reaches[via];
      }
    }
    uint16_t common = all();
    for (int p = 0; p < k_; ++p) common &= reaches[p];
    for (int i = 0; i < k_; ++i) {
      if (common >> order_[i] & 1) plan.funnels |= mask_of(step_of_[i]);
    }
  }

  const MatchIndex& index_;
  const SmallGraph& pattern_;
  const int k_;
  std::array<uint32_t, kMaxSize> class_;
  std::array<uint16_t, kMaxSize> neighbours_;  // bit q: q is adjacent
  std::array<std::array<uint32_t, kMaxSize>, kMaxSize> arc_, tag_;  // [p][q] q as it stands in the list of p
  std::array<uint64_t, kMaxSize> colour_;
  std::array<int, kMaxSize> order_, step_of_;  // [position] node, and its step
  std::array<int, kMaxSize> place_;            // [node] position
  uint16_t rest_ = 0;
  int root_ = 0, core_ = 0;
};

}  // namespace

MatchIndex::MatchIndex(const Graph& graph) : graph_(graph), signatures_(graph.nodes(), 0), arcs_(256 * 256, 0) {
  uint32_t classes = 0;
  for (uint32_t node = 0; node < graph.nodes(); ++node) classes = std::max(classes, graph.class_of(node) + 1);
  for (uint32_t id = 0; id < classes; ++id) {
    classes_[uint32_t{graph.node_class(id).loop} << 16 | graph.node_class(id).type] = id;
  }
  for (uint32_t id = 1; id <= graph.arc_classes(); ++id) {
    arcs_[graph.arc_class(id).outward * 256 + graph.arc_class(id).inward] = static_cast<uint16_t>(id);
  }
  for (uint32_t id = 0; id < graph.tags(); ++id) {
    tags_[uint64_t{graph.tag(id).node_class} << 32 | graph.tag(id).arc] = id;
  }
  class_offsets_.assign(classes + 1, 0);
  for (uint32_t node = 0; node < graph.nodes(); ++node) {
    ++class_offsets_[graph.class_of(node) + 1];
    for (const Neighbour& n : graph.neighbours(node)) signatures_[node] |= bit(n.tag);
  }
  populations_.assign(class_offsets_.begin() + 1, class_offsets_.end());
  for (size_t i = 1; i < class_offsets_.size(); ++i) class_offsets_[i] += class_offsets_[i - 1];
  by_class_.resize(graph.nodes());
  std::vector<uint32_t> end(class_offsets_.begin(), class_offsets_.end() - 1);
  for (size_t owner = 0; owner < graph.graphs(); ++owner) {
    for (uint32_t node = graph.end_of(owner); node-- > graph.begin_of(owner);) {
      by_class_[end[graph.class_of(node)]++] = node;
    }
  }
}

MatchIndex::MatchIndex(const Graph& graph, std::span<const ClassSize> of_the_whole) : MatchIndex(graph) {
  for (const ClassSize& known : of_the_whole) {
    const uint32_t id = find_class(known.type, known.loop);
    if (id != kNone) populations_[id] = known.nodes;
  }
}

std::vector<ClassSize> populations(const Graph& graph) {
  std::vector<ClassSize> result;
  for (uint32_t node = 0; node < graph.nodes(); ++node) {
    const uint32_t id = graph.class_of(node);
    while (id >= result.size()) {
      const NodeClass& next = graph.node_class(static_cast<uint32_t>(result.size()));
      result.push_back({next.type, next.loop, 0});
    }
    ++result[id].nodes;
  }
  return result;
}

uint32_t MatchIndex::find_class(uint16_t type, uint8_t loop) const {
  const auto at = classes_.find(uint32_t{loop} << 16 | type);
  return at == classes_.end() ? kNone : at->second;
}

uint32_t MatchIndex::find_arc(uint8_t outward, uint8_t inward) const { return arcs_[outward * 256 + inward]; }

uint32_t MatchIndex::find_tag(uint32_t arc, uint32_t node_class) const {
  const auto at = tags_.find(uint64_t{node_class} << 32 | arc);
  return at == tags_.end() ? kNone : at->second;
}

MatchPlan plan_match(const MatchIndex& index, const SmallGraph& pattern, bool fusible, int root) {
  return Planner(index, pattern).plan(fusible, root);
}

std::span<const uint32_t> roots_in(const MatchIndex& index, const MatchPlan& plan, uint32_t graph) {
  const auto nodes = index.nodes_of(plan.steps[0].node_class);  // graph by graph, so parted by the first of a graph
  auto first_from = [&](uint32_t limit) {
    return std::partition_point(nodes.begin(), nodes.end(), [&](uint32_t node) { return node < limit; });
  };
  return {first_from(index.graph().begin_of(graph)), first_from(index.graph().end_of(graph))};
}

bool fits_root(const MatchIndex& index, const MatchPlan& plan, uint32_t node) {
  const MatchStep& step = plan.steps[0];
  return (index.signature(node) & step.signature) == step.signature && index.graph().degree(node) >= step.degree;
}

}  // namespace grade
