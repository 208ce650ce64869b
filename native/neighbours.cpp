// ESU as in census.cpp, one occurrence at a time: the number of neighbours differs between occurrences that a census
// would count as one product.
#include "neighbours.hpp"

#include "tally.hpp"
#include "trie.hpp"

namespace grade {
namespace {

template <class Conn>
class NeighbourWorker {
 public:
  NeighbourWorker(const Graph& graph, int k)
      : tally(k), graph_(graph), k_(k), ties_(graph.largest()), member_(graph.largest(), false) {}

  void run(uint32_t begin, uint32_t end, const std::atomic<bool>& stop) {
    uint32_t graph = graph_.graph_of(begin);
    stop_ = &stop;
    for (uint32_t root = begin; root < end && !stop; ++root) {
      while (root >= graph_.end_of(graph)) ++graph;
      first_ = graph_.begin_of(graph);
      root_ = root;
      outside_ = 1;  // the root itself, which is counted until it enters, as later members are
      add(root, 0, Trie<Conn>::kRoot, -1);
      links_.clear();
      if (trie_.size() > kMaxStates) flush();
    }
  }

  void flush() {
    for (uint32_t state = 0; state < sums_.size(); ++state) {
      if (sums_[state]) tally.add(trie_.subgraph(state, k_, graph_), sums_[state]);
    }
    trie_.clear();
    sums_.clear();
  }

  Tally tally;

 private:
  struct Link {
    uint32_t node;
    int32_t next;
  };

  Conn& ties(uint32_t node) { return ties_[node - first_]; }

  // Makes `node` member number `number` of the subgraph in `state`, with the rest of the extension list in `tail`, and
  // goes on from there.
  void add(uint32_t node, int number, uint32_t state, int32_t tail) {
    state = trie_.step(state, ties(node), graph_.class_of(node));
    const uint64_t outside = outside_;
    --outside_;
    if (number + 1 == k_) {  // nothing grows from here: counting the new neighbours is enough
      for (const Neighbour& n : graph_.neighbours(node)) outside_ += is_new(n.node);
      if (state >= sums_.size()) sums_.resize(state + state / 2 + 64, 0);
      add_checked(sums_[state], outside_);
      outside_ = outside;
      return;
    }
    member_[node - first_] = true;
    const size_t top = links_.size();
    for (const Neighbour& n : graph_.neighbours(node)) {
      if (is_new(n.node)) {
        ++outside_;
        if (n.node > root_) {
          links_.push_back({n.node, tail});
          tail = static_cast<int32_t>(links_.size()) - 1;
        }
      }
      ties(n.node).add(number, graph_.arc(n));
    }
    for (int32_t i = tail; i >= 0 && !stop_->load(std::memory_order_relaxed); i = links_[i].next) {
      add(links_[i].node, number + 1, state, links_[i].next);
    }
    links_.resize(top);
    for (const Neighbour& n : graph_.neighbours(node)) ties(n.node).clear(number);
    member_[node - first_] = false;
    outside_ = outside;
  }

  bool is_new(uint32_t node) { return ties(node).none() && !member_[node - first_]; }

  const Graph& graph_;
  const int k_;
  const std::atomic<bool>* stop_ = nullptr;
  uint32_t root_ = 0, first_ = 0;  // first_: first node of the current graph
  uint64_t outside_ = 0;           // neighbours of the members, and the node that is about to be one
  std::vector<Conn> ties_;         // [local node] ties to the members
  std::vector<bool> member_;       // [local node]
  std::vector<Link> links_;        // extension lists of all levels, sharing tails
  Trie<Conn> trie_;
  std::vector<uint64_t> sums_;     // [state] neighbours of the occurrences that end there
};

}  // namespace

PatternCounts neighbours(const Graph& graph, int k, int threads, const KeepGoing& keep_going) {
  if (k < 1 || k >= kMaxSize) throw BadInput("k must be from 1 to 15");
  if (graph.arc_classes() <= NarrowConn::kMaxArc) return tally_all<NeighbourWorker<NarrowConn>>(graph, k, threads, keep_going);
  return tally_all<NeighbourWorker<WideConn>>(graph, k, threads, keep_going);
}

}  // namespace grade
