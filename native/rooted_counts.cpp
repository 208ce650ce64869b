#include "rooted_counts.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "random.hpp"

namespace grade {
namespace {

constexpr int kMostBranchNodes = 3;
constexpr size_t kMostRoots = 3;             // parts of a pattern that are tried as roots, those with the shortest lists
constexpr uint64_t kMostWork = 1 << 16;      // steps to count the maps with one root
constexpr size_t kMostSymmetries = 120;      // of a root
constexpr double kTriedPerHit = 8;           // all maps are tried where they are at most so many for each hit wanted
constexpr double kDrawsPerHit = 24;          // at most
constexpr uint64_t kName = 0x8007;           // of the random streams
constexpr uint32_t kApart = UINT32_MAX;      // tag of two nodes that are not adjacent

// Gamma distributed with a shape of at least 1 (Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables",
// 2000).
double gamma(double shape, Random& random) {
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    const double normal = radius * std::cos(2 * std::numbers::pi * random.uniform());
    const double cube = std::pow(1 + c * normal, 3);
    if (cube <= 0) continue;
    if (std::log(1 - random.uniform()) < normal * normal / 2 + d - d * cube + d * std::log(cube)) return d * cube;
  }
}

// Neighbours by tag: those of one node that a branch can go on with are a range.
class NeighboursByTag {
 public:
  explicit NeighboursByTag(const Graph& graph) : graph_(graph) {
    for (uint32_t node = 0; node < graph.nodes(); ++node) {
      const auto list = graph.neighbours(node);
      sorted_.insert(sorted_.end(), list.begin(), list.end());
      std::sort(sorted_.end() - static_cast<int64_t>(list.size()), sorted_.end(),
                [](const Neighbour& x, const Neighbour& y) { return x.tag != y.tag ? x.tag < y.tag : x.node < y.node; });
    }
  }
  std::span<const Neighbour> of(uint32_t node, uint32_t tag) const {
    const auto list = graph_.neighbours(node);
    const auto begin = sorted_.begin() + (list.data() - graph_.neighbours(0).data());
    const auto end = begin + static_cast<int64_t>(list.size());
    const auto first = std::lower_bound(begin, end, tag, [](const Neighbour& n, uint32_t t) { return n.tag < t; });
    auto last = first;
    while (last != end && last->tag == tag) ++last;
    return {first, last};
  }
  uint32_t tag(uint32_t from, uint32_t to) const {  // of `to` among the neighbours of `from`
    const auto list = graph_.neighbours(from);
    const auto found = std::lower_bound(list.begin(), list.end(), to,
                                        [](const Neighbour& n, uint32_t node) { return n.node > node; });
    return found != list.end() && found->node == to ? found->tag : kApart;
  }

 private:
  const Graph& graph_;
  std::vector<Neighbour> sorted_;
};

// All relabellings that leave a small graph as it is; nothing where they are too many.
class Symmetries {
 public:
  using Order = std::array<uint8_t, kMaxSize>;
  bool of(const SmallGraph& graph) {
    graph_ = &graph;
    found_.clear();
    return extend(0, 0);
  }
  const std::vector<Order>& found() const { return found_; }

 private:
  bool extend(int place, uint32_t used) {
    const int k = graph_->k;
    if (place == k) {
      found_.push_back(order_);
      return found_.size() <= kMostSymmetries;
    }
    for (int node = 0; node < k; ++node) {
      if (used >> node & 1 || graph_->types[node] != graph_->types[place]) continue;
      order_[place] = static_cast<uint8_t>(node);
      bool fits = true;
      for (int other = 0; other <= place && fits; ++other) {
        fits = graph_->edges[place * k + other] == graph_->edges[node * k + order_[other]] &&
               graph_->edges[other * k + place] == graph_->edges[order_[other] * k + node];
      }
      if (fits && !extend(place + 1, used | 1u << node)) return false;
    }
    return true;
  }

  const SmallGraph* graph_ = nullptr;
  Order order_{};
  std::vector<Order> found_;
};

// One thread's counter.
class RootedCounter {
 public:
  RootedCounter(const NeighboursByTag& near, std::span<const CompleteLists> lists, uint64_t hits)
      : near_(near), lists_(lists), hits_(static_cast<double>(hits)) {}

  RootedCount operator()(const SmallGraph& pattern, const RootedTask& task, Random& random) {
    read(pattern, task);
    for (int size = k_ - 1; size >= std::max(k_ - kMostBranchNodes, 2); --size) {
      find_roots(pattern, size);
      Plan best;
      for (size_t at = 0; at < std::min(roots_.size(), kMostRoots); ++at) {
        if (!symmetries_.of(lists_[size].patterns.at(roots_[at].list))) continue;
        Plan plan = plan_for(roots_[at], size, task);
        if (count_maps(plan) && (best.sums.empty() || plan.maps() < best.maps())) best = std::move(plan);
      }
      if (!best.sums.empty()) return count(best, static_cast<double>(task.automorphisms), random);
    }
    return {};
  }

 private:
  struct Root {
    uint32_t list;
    size_t occurrences;
    std::array<uint8_t, kMaxSize> nodes;  // [place of its canonical form] node of the pattern
  };
  struct Branch {  // one node, and where it hangs
    uint8_t node, parent;
    uint32_t tag;
    std::vector<uint8_t> children;  // branches that go on from here
  };
  struct Plan {
    int size;  // of the root
    std::span<const uint32_t> occurrences;
    std::array<uint8_t, kMaxSize> nodes;
    std::vector<Symmetries::Order> symmetries;
    std::vector<Branch> branches;    // parents before children
    std::vector<uint8_t> first;      // branches that hang on the root
    std::vector<double> sums;        // maps with this or an earlier way to place the root
    double maps() const { return sums.back(); }
  };
  using Image = std::array<uint32_t, kMaxSize>;  // [node of the pattern] core number

  void read(const SmallGraph& pattern, const RootedTask& task) {
    k_ = pattern.k;
    for (int i = 0; i < k_; ++i) {
      linked_[i] = 0;
      for (int j = 0; j < k_; ++j) {
        tags_[i][j] = i == j ? kApart : near_.tag(task.nodes[i], task.nodes[j]);
        if (tags_[i][j] != kApart) linked_[i] |= 1u << j;
      }
    }
  }

  bool connected(uint32_t nodes) const {
    uint32_t reached = nodes & -nodes;
    for (uint32_t before = 0; before != reached;) {
      before = reached;
      for (uint32_t rest = before; rest; rest &= rest - 1) reached |= linked_[__builtin_ctz(rest)] & nodes;
    }
    return reached == nodes;
  }

  // The parts of so many nodes that are listed completely, those with the shortest lists first.
  void find_roots(const SmallGraph& pattern, int size) {
    roots_.clear();
    const CompleteLists& complete = lists_[size];
    if (complete.nodes.empty()) return;
    for (uint32_t nodes = (1u << size) - 1; nodes < 1u << k_; nodes = next_of_as_many(nodes)) {
      if (!connected(nodes)) continue;
      SmallGraph part;
      std::array<uint8_t, kMaxSize> members{};
      part.k = size;
      int count = 0;
      for (uint32_t rest = nodes; rest; rest &= rest - 1) members[count++] = static_cast<uint8_t>(__builtin_ctz(rest));
      for (int i = 0; i < size; ++i) {
        part.types[i] = pattern.types[members[i]];
        for (int j = 0; j < size; ++j) part.edges[i * size + j] = pattern.edges[members[i] * k_ + members[j]];
      }
      const CanonicalForm form = canonicalize_(part);
      const int64_t list = complete.patterns.find(reordered(part, form.order));
      if (list < 0) continue;
      Root root{static_cast<uint32_t>(list), complete.nodes[list].size(), {}};
      for (int place = 0; place < size; ++place) root.nodes[place] = members[form.order[place]];
      roots_.push_back(root);
    }
    std::stable_sort(roots_.begin(), roots_.end(),
                     [](const Root& x, const Root& y) { return x.occurrences < y.occurrences; });
  }

  // The next larger number with as many bits (Gosper).
  static uint32_t next_of_as_many(uint32_t bits) {
    const uint32_t low = bits & -bits, carried = bits + low;
    return carried | (((bits ^ carried) >> 2) / low);
  }

  // Hangs the other nodes on the root one by one, each time where the occurrence at hand offers the fewest ways.
  Plan plan_for(const Root& root, int size, const RootedTask& task) const {
    Plan plan{size, lists_[size].nodes[root.list], root.nodes, symmetries_.found(), {}, {}, {}};
    std::array<int, kMaxSize> branch_of;
    branch_of.fill(-1);
    uint32_t placed = 0;
    for (int place = 0; place < size; ++place) placed |= 1u << root.nodes[place];
    while (plan.branches.size() + size < static_cast<size_t>(k_)) {
      Branch best{};
      size_t fewest = SIZE_MAX;
      for (uint32_t rest = placed; rest; rest &= rest - 1) {
        const auto parent = static_cast<uint8_t>(__builtin_ctz(rest));
        for (uint32_t open = linked_[parent] & ~placed; open; open &= open - 1) {
          const auto node = static_cast<uint8_t>(__builtin_ctz(open));
          const size_t ways = near_.of(task.nodes[parent], tags_[parent][node]).size();
          if (ways >= fewest) continue;
          fewest = ways;
          best = {node, parent, tags_[parent][node], {}};
        }
      }
      const auto number = static_cast<uint8_t>(plan.branches.size());
      if (branch_of[best.parent] < 0) {
        plan.first.push_back(number);
      } else {
        plan.branches[branch_of[best.parent]].children.push_back(number);
      }
      branch_of[best.node] = number;
      placed |= 1u << best.node;
      plan.branches.push_back(std::move(best));
    }
    return plan;
  }

  // Puts the root where a number says: an occurrence and a symmetry.
  Image root_image(const Plan& plan, size_t number) const {
    const auto occurrence = plan.occurrences.subspan(number / plan.symmetries.size() * plan.size, plan.size);
    const auto& symmetry = plan.symmetries[number % plan.symmetries.size()];
    Image image{};
    for (int place = 0; place < plan.size; ++place) image[plan.nodes[place]] = occurrence[symmetry[place]];
    return image;
  }

  // In how many ways a branch, with all that goes on from it, can be placed if its parent is there.
  double ways(const Plan& plan, uint8_t number, uint32_t parent) {
    const Branch& branch = plan.branches[number];
    const auto near = near_.of(parent, branch.tag);
    work_ += near.size() + 1;
    if (branch.children.empty()) return static_cast<double>(near.size());
    double sum = 0;
    for (const Neighbour& n : near) sum += ways_on(plan, branch.children, n.node);
    return sum;
  }
  double ways_on(const Plan& plan, const std::vector<uint8_t>& children, uint32_t node) {
    double product = 1;
    for (const uint8_t child : children) product *= ways(plan, child, node);
    return product;
  }

  // False where that is too much work.
  bool count_maps(Plan& plan) {
    work_ = 0;
    const size_t placings = plan.occurrences.size() / plan.size * plan.symmetries.size();
    if (placings > kMostWork) return false;
    double sum = 0;
    for (size_t number = 0; number < placings; ++number) {
      const Image image = root_image(plan, number);
      double product = 1;
      for (const uint8_t branch : plan.first) product *= ways(plan, branch, image[plan.branches[branch].parent]);
      plan.sums.push_back(sum += product);
      if (work_ > kMostWork) return plan.sums.clear(), false;
    }
    return true;
  }

  RootedCount count(const Plan& plan, double automorphisms, Random& random) {
    if (plan.maps() <= kTriedPerHit * hits_) {
      uint64_t embeddings = 0;
      for (size_t number = 0; number < plan.sums.size(); ++number) {
        Image image = root_image(plan, number);
        embeddings += embeddings_from(plan, 0, image);
      }
      return {static_cast<double>(embeddings) / automorphisms, Quality::kExact};
    }
    double hit = 0;
    for (double draws = 1; draws <= kDrawsPerHit * hits_; ++draws) {
      hit += draw(plan, random);
      if (hit < hits_) continue;
      const double share = (hits_ - 1) / gamma(draws, random);
      return {share * plan.maps() / automorphisms, Quality::kBounded};
    }
    return {};
  }

  uint64_t embeddings_from(const Plan& plan, size_t at, Image& image) {
    if (at == plan.branches.size()) return 1;
    const Branch& branch = plan.branches[at];
    uint64_t sum = 0;
    for (const Neighbour& n : near_.of(image[branch.parent], branch.tag)) {
      image[branch.node] = n.node;
      if (fits(plan, at, image)) sum += embeddings_from(plan, at + 1, image);
    }
    return sum;
  }

  // Whether the image of a branch's node is new and adjacent to those before it as in the pattern.
  bool fits(const Plan& plan, size_t at, const Image& image) const {
    const Branch& branch = plan.branches[at];
    auto agrees = [&](uint8_t other) {
      if (other == branch.parent) return true;
      return image[other] != image[branch.node] &&
             near_.tag(image[other], image[branch.node]) == tags_[other][branch.node];
    };
    for (int place = 0; place < plan.size; ++place) {
      if (!agrees(plan.nodes[place])) return false;
    }
    for (size_t before = 0; before < at; ++before) {
      if (!agrees(plan.branches[before].node)) return false;
    }
    return true;
  }

  // A uniform map: is it an embedding?
  bool draw(const Plan& plan, Random& random) {
    const double chosen = random.uniform() * plan.maps();
    const auto number = std::upper_bound(plan.sums.begin(), plan.sums.end(), chosen) - plan.sums.begin();
    Image image = root_image(plan, static_cast<size_t>(number));
    for (size_t at = 0; at < plan.branches.size(); ++at) {
      const Branch& branch = plan.branches[at];
      const auto near = near_.of(image[branch.parent], branch.tag);
      size_t way = 0;
      if (branch.children.empty()) {
        way = random.below(near.size());
      } else {
        weights_.clear();
        double sum = 0;
        for (const Neighbour& n : near) weights_.push_back(sum += ways_on(plan, branch.children, n.node));
        const double mark = random.uniform() * sum;
        way = static_cast<size_t>(std::upper_bound(weights_.begin(), weights_.end(), mark) - weights_.begin());
      }
      image[branch.node] = near[way].node;
      if (!fits(plan, at, image)) return false;
    }
    return true;
  }

  const NeighboursByTag& near_;
  std::span<const CompleteLists> lists_;
  const double hits_;
  int k_ = 0;
  uint64_t work_ = 0;
  std::array<std::array<uint32_t, kMaxSize>, kMaxSize> tags_{};  // of the second node among neighbours of the first
  std::array<uint32_t, kMaxSize> linked_{};
  std::vector<double> weights_;
  Canonicalizer canonicalize_;
  Symmetries symmetries_;
  std::vector<Root> roots_;
};

}  // namespace

std::vector<RootedCount> rooted_counts(const Graph& graph, std::span<const CompleteLists> lists,
                                       const PatternMap& patterns, std::span<const RootedTask> tasks, uint64_t hits,
                                       uint64_t seed, uint64_t stream, int threads, const KeepGoing& keep_going) {
  const NeighboursByTag near(graph);
  std::vector<std::unique_ptr<RootedCounter>> counters;
  for (int thread = 0; thread < threads; ++thread) {
    counters.push_back(std::make_unique<RootedCounter>(near, lists, hits));
  }
  std::vector<RootedCount> counts(tasks.size());
  parallel_chunks(tasks.size(), 16, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
                    for (size_t at = begin; at < end && !stop; ++at) {
                      Random random{seed, stream, kName, at};
                      counts[at] = (*counters[thread])(patterns.at(tasks[at].pattern), tasks[at], random);
                    }
                  });
  return counts;
}

}  // namespace grade
