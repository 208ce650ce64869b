#include "population.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "random.hpp"

namespace grade {
namespace {

constexpr size_t kChunk = 256;

// One thread's view of a node of the tree. In ESU the extension set of a child is what its parent's set holds after
// the child, and then the neighbours that the child alone has. So all the sets along a path are stretches of one list
// that only grows, the candidates: the list follows from the members, and one number, the head, says where the
// stretch of the last member begins. Nodes are opened in the order of the tree, so most begin like the one before, and
// that part of the list stays.
class Node {
 public:
  explicit Node(const Graph& graph) : graph_(graph), seen_(graph.largest(), 0) {}

  void open(std::span<const uint32_t> members, uint32_t first, uint32_t head) {
    size_t same = 0;
    while (same < depth_ && same < members.size() && members_[same] == members[same]) ++same;
    const size_t kept = same == 0 ? 0 : ends_[same - 1];
    for (size_t i = kept; i < candidates_.size(); ++i) seen_[candidates_[i] - first_] = 0;
    candidates_.resize(kept);
    first_ = first;
    head_ = head;
    if (same == 0) see(members[0]);
    for (depth_ = same; depth_ < members.size(); ++depth_) {
      members_[depth_] = members[depth_];
      for (const Neighbour& n : graph_.neighbours(members[depth_])) {
        if (n.node <= members_[0]) break;
        if (!seen_[n.node - first_]) see(n.node);
      }
      ends_[depth_] = candidates_.size();
    }
  }

  size_t children() const { return candidates_.size() - head_; }
  uint32_t child(size_t i) const { return candidates_[head_ + i]; }
  uint32_t head_of_child(size_t i) const { return static_cast<uint32_t>(head_ + i + 1); }
  size_t children_of_child(size_t i) const {
    size_t exclusive = 0;
    for (const Neighbour& n : graph_.neighbours(child(i))) {
      if (n.node <= members_[0]) break;
      exclusive += !seen_[n.node - first_];
    }
    return children() - i - 1 + exclusive;
  }

 private:
  void see(uint32_t node) {
    seen_[node - first_] = 1;
    candidates_.push_back(node);
  }

  const Graph& graph_;
  std::vector<uint8_t> seen_;         // [local node] is it among the candidates?
  std::vector<uint32_t> candidates_;  // the root, then all that was ever put into an extension set
  std::array<uint32_t, kMaxSize> members_{};
  std::array<size_t, kMaxSize> ends_{};  // of the candidates, after each member's neighbours
  size_t depth_ = 0;
  uint32_t first_ = 0, head_ = 0;
};

// Chooses among items, each with probability p. Evenly: the items cover stretches of length p of a line, on which every
// whole number after a random start chooses the item that it falls on. Independently: each by itself.
class Chooser {
 public:
  Chooser(double p, Chance chance, Random random)
      : p_(p), independent_(chance == Chance::kIndependent), random_(random), at_(random_.uniform()) {}

  // How many items are passed over until the next one that is chosen.
  size_t skip() {
    if (independent_) return passed_over();
    const double steps = std::max(1.0, std::ceil((1 - at_) / p_));
    if (!(steps < 1e15)) return SIZE_MAX / 2;
    at_ += steps * p_ - 1;
    return static_cast<size_t>(steps) - 1;
  }

 private:
  size_t passed_over() {  // geometrically distributed
    if (p_ >= 1) return 0;
    const double items = std::floor(std::log1p(-random_.uniform()) / std::log1p(-p_));
    return items < 1e15 ? static_cast<size_t>(items) : SIZE_MAX / 2;
  }

  double p_;
  bool independent_;
  Random random_;
  double at_;
};

template <class Work>
void in_chunks(size_t units, int threads, const KeepGoing& keep_going, Work&& work) {
  if (threads > 0) return parallel_chunks(units, kChunk, threads, keep_going, work);
  const std::atomic<bool> never{false};
  for (size_t begin = 0; begin < units; begin += kChunk) work(0, begin, std::min(units, begin + kChunk), never);
}

Population enter_children(std::vector<Node>& nodes, const Graph& graph, const Population& population, size_t depth,
                          double p, bool last_level, std::span<const uint64_t, 3> names, uint64_t before, Chance chance,
                          int threads, const KeepGoing& keep_going) {
  std::vector<Population> parts((population.heads.size() + kChunk - 1) / kChunk);
  in_chunks(population.heads.size(), threads, keep_going,
            [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
              Node& node = nodes[thread];
              Population& part = parts[begin / kChunk];
              uint32_t owner = graph.graph_of(population.members[begin * depth]);
              for (size_t i = begin; i < end && !stop; ++i) {
                const std::span<const uint32_t> members{population.members.data() + i * depth, depth};
                while (members[0] >= graph.end_of(owner)) ++owner;
                node.open(members, graph.begin_of(owner), population.heads[i]);
                Chooser chosen(p, chance, Random{names[0], names[1], names[2], depth, before + i});
                for (size_t j = chosen.skip(); j < node.children(); j += 1 + chosen.skip()) {
                  const size_t children = last_level ? 0 : node.children_of_child(j);
                  if (!last_level && children == 0) continue;  // no leaf below it
                  part.members.insert(part.members.end(), members.begin(), members.end());
                  part.members.push_back(node.child(j));
                  part.heads.push_back(node.head_of_child(j));
                  part.children += children;
                }
              }
            });
  Population entered;
  for (const Population& part : parts) entered.append(part);
  return entered;
}

}  // namespace

Population enter_roots(const Graph& graph, uint32_t first, uint32_t last, double p,
                       std::span<const uint64_t, 3> names, uint64_t before, Chance chance) {
  Population population;
  Chooser chosen(p, chance, Random{names[0], names[1], names[2], 0});
  uint64_t at = p < 1 ? chosen.skip() : before;  // with certainty none is passed over
  while (at < before) at += 1 + chosen.skip();
  for (; at < before + (last - first); at += 1 + chosen.skip()) {
    const auto root = static_cast<uint32_t>(first + (at - before));
    const auto list = graph.neighbours(root);
    const auto end = std::partition_point(list.begin(), list.end(), [&](const Neighbour& n) { return n.node > root; });
    if (end == list.begin()) continue;
    population.members.push_back(root);
    population.heads.push_back(1);
    population.children += static_cast<uint64_t>(end - list.begin());
  }
  return population;
}

Population enter_children(const Graph& graph, const Population& population, size_t depth, double p, bool last_level,
                          std::span<const uint64_t, 3> names, uint64_t before, Chance chance, int threads,
                          const KeepGoing& keep_going) {
  std::vector<Node> nodes(threads, Node(graph));
  return enter_children(nodes, graph, population, depth, p, last_level, names, before, chance, threads, keep_going);
}

Leaves walk_tree(const Graph& graph, uint32_t first, uint32_t last, int k, const TreePlan& plan,
                 std::span<const uint64_t, 3> names, const Crew& crew) {
  std::vector<Node> nodes(std::max(crew.threads, 1), Node(graph));
  Leaves leaves;
  leaves.probabilities.push_back(plan.probabilities[0]);
  double asked = plan.probabilities[0], reached = asked;  // products of the probabilities so far
  Population population = enter_roots(graph, first, last, plan.probabilities[0], names, 0, Chance::kEven);
  for (size_t depth = 1; depth < static_cast<size_t>(k); ++depth) {
    const double wanted = static_cast<double>(plan.capacity), present = static_cast<double>(population.children);
    asked *= plan.probabilities[depth];
    const double p = std::min({1.0, asked / reached, present > wanted ? wanted / present : 1.0});
    reached *= p;
    leaves.probabilities.push_back(p);
    const KeepGoing report = [&](double share) {
      return !crew.keep_going || !*crew.keep_going ||
             (*crew.keep_going)((static_cast<double>(depth) - 1 + share) / (k - 1));
    };
    population = enter_children(nodes, graph, population, depth, p, depth + 1 == static_cast<size_t>(k), names, 0,
                                Chance::kEven, crew.threads, report);
  }
  leaves.members = std::move(population.members);
  leaves.weight = 1 / reached;
  return leaves;
}

}  // namespace grade
