// The null model `block`: what `degrees` keeps, and the count of every pattern of 3 nodes, so that a motif of 4 or 5
// nodes is more than its parts.
//
// Single moves nearly always change some count, so the chain makes excursions: moves are proposed as in `degrees` and
// taken by Metropolis' rule for the weight exp(-kCost D), D being the sum of all differences between the counts and
// the observed ones. A step ends as soon as D is 0 again; after kLongest proposals it is given up and taken back.
// This is symmetric: an excursion that ends is as likely backwards as forwards. So the chain is uniform over the
// graphs with exactly the observed counts that it can reach. How many these are depends on the graph: where nodes have
// many types, often only few. The share of steps that change anything is reported, and a chain that hardly
// moves hides motifs, but makes none (see null_ensemble.hpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "null_switching.hpp"

namespace grade {
namespace {

constexpr double kCost = 0.5;
constexpr int kLongest = 24;

// Three nodes in an order that depends on the isomorphism class alone: classes, then the types of the six arcs.
struct Triple {
  std::array<uint32_t, 3> classes;
  std::array<uint8_t, 6> arcs;
  auto operator<=>(const Triple&) const = default;
};

class BlockChain final : public SwitchChain {
 public:
  BlockChain(const NullGraph& graph, const NullOptions& options)
      : SwitchChain(graph, options, graph.node_classes, Keeps::kDegrees), node_classes_(graph.node_classes) {}

  void run(uint64_t steps, Random& random) override {
    if (slots_.size() < 2) return;
    for (uint64_t step = 0; step < steps; ++step) {
      ++steps_;
      accepted_ += excursion(random);
    }
  }

 private:
  bool excursion(Random& random) {
    made_.clear();
    for (int proposals = 0; proposals < kLongest; ++proposals) {
      if (const auto move = propose(random)) try_move(*move, random);
      if (difference_.empty()) return !made_.empty();  // also where the first proposal was refused
    }
    while (!made_.empty()) {
      take_back(made_.back());
      made_.pop_back();
    }
    difference_.clear();
    return false;
  }

  void try_move(const Move& move, Random& random) {
    const int64_t before = distance();
    pairs_of(move);
    count_triples(-1);
    if (!apply(move)) {
      count_triples(+1);
      return;
    }
    count_triples(+1);
    const double change = static_cast<double>(distance() - before);
    if (change <= 0 || random.uniform() < std::exp(-kCost * change)) {
      made_.push_back(move);
      return;
    }
    count_triples(-1);
    take_back(move);
    count_triples(+1);
  }

  // The pairs of nodes between which this move takes an edge away or makes one.
  void pairs_of(const Move& move) {
    pairs_.clear();
    for (const uint32_t from : move.changed()) {
      for (const uint32_t to : move.changed()) {
        const uint32_t u = slots_.source(from), v = slots_.target(to);
        if (u != v) pairs_.push_back(std::minmax(u, v));
      }
    }
    std::sort(pairs_.begin(), pairs_.end());
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  }

  // Counts every connected triple that holds one of the pairs, as the edges are now.
  void count_triples(int64_t sign) {
    triples_.clear();
    for (const auto& [u, v] : pairs_) {
      for (const uint32_t end : {u, v}) {
        for (uint32_t slot = slots_.out_begin(end); slot < slots_.out_end(end); ++slot) add(u, v, slots_.target(slot));
        for (uint32_t place = slots_.in_begin(end); place < slots_.in_end(end); ++place) {
          add(u, v, slots_.source(slots_.slot_at(place)));
        }
      }
    }
    std::sort(triples_.begin(), triples_.end());
    triples_.erase(std::unique(triples_.begin(), triples_.end()), triples_.end());
    for (const auto& nodes : triples_) {
      const auto triple = triple_of(nodes);
      if (!triple) continue;
      const auto entry = difference_.try_emplace(*triple, 0).first;
      if ((entry->second += sign) == 0) difference_.erase(entry);
    }
  }

  void add(uint32_t u, uint32_t v, uint32_t w) {
    if (w == u || w == v) return;
    std::array<uint32_t, 3> nodes{u, v, w};
    std::sort(nodes.begin(), nodes.end());
    triples_.push_back(nodes);
  }

  std::optional<Triple> triple_of(const std::array<uint32_t, 3>& nodes) const {
    uint8_t type[3][3];
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) type[i][j] = i == j ? 0 : slots_.type_between(nodes[i], nodes[j]);
    }
    const int linked = (type[0][1] || type[1][0]) + (type[0][2] || type[2][0]) + (type[1][2] || type[2][1]);
    if (linked < 2) return {};
    std::array<int, 3> order{0, 1, 2};
    std::optional<Triple> best;
    do {
      const auto [a, b, c] = order;
      const Triple triple{{node_classes_[nodes[a]], node_classes_[nodes[b]], node_classes_[nodes[c]]},
                          {type[a][b], type[b][a], type[a][c], type[c][a], type[b][c], type[c][b]}};
      if (!best || triple < *best) best = triple;
    } while (std::next_permutation(order.begin(), order.end()));
    return best;
  }

  int64_t distance() const {
    int64_t sum = 0;
    for (const auto& entry : difference_) sum += std::abs(entry.second);
    return sum;
  }

  std::vector<uint32_t> node_classes_;
  std::map<Triple, int64_t> difference_;  // counts minus those observed, where they differ
  std::vector<Move> made_;                // of this excursion
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;
  std::vector<std::array<uint32_t, 3>> triples_;
};

}  // namespace

std::unique_ptr<NullChain> block_chain(const NullGraph& graph, const NullOptions& options) {
  return std::make_unique<BlockChain>(graph, options);
}

}  // namespace grade
