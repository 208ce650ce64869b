// ESU (Wernicke 2006) enumerates every connected induced subgraph once: a root, its smallest node, grows by nodes
// above the root taken from an extension list (frontier.hpp). Each partial subgraph is a state of a trie (trie.hpp), so
// that the canonical form is computed once per state and not once per occurrence.
//
// The last two nodes are not enumerated but counted (last_two.hpp). Further up, parts that hang on one node of the
// list alone are branches (branches.hpp), and branches that are alike are chosen by their number: a hub with 5,000
// leaves, or with 5,000 neighbours that have a tail each, has one way to take four of them, with C(5000, 4)
// occurrences.
#include "census.hpp"

#include <algorithm>

#include "branches.hpp"
#include "frontier.hpp"
#include "last_two.hpp"
#include "state_counts.hpp"
#include "tally.hpp"

namespace grade {
namespace {

template <class Conn, bool kRepeated = false>
class CensusWorker {
 public:
  CensusWorker(const Graph& graph, int k)
      : counts(graph, k),
        graph_(graph),
        k_(k),
        frontier_(graph),
        finder_(graph, frontier_, counts.trie),
        last_two_(graph, k, frontier_, counts) {}
  CensusWorker(const CensusWorker&) = delete;  // its parts refer to each other

  void run(uint32_t begin, uint32_t end, const std::atomic<bool>& stop) {
    stop_ = &stop;
    uint32_t graph = graph_.graph_of(begin);
    for (uint32_t root = begin; root < end && !stop; ++root) {
      while (root >= graph_.end_of(graph)) ++graph;
      if (graph_.end_of(graph) - root < static_cast<uint32_t>(k_)) continue;
      frontier_.begin_graph(graph);
      grow_from(root);
      if (counts.settle()) last_two_.forget_states();
    }
  }
  void flush() { counts.flush(); }

  StateCounts<Conn, kRepeated> counts;
  Tally& tally = counts.tally;

 private:
  void grow_from(uint32_t root) {
    frontier_.begin_root(root);
    const uint32_t state = counts.trie.step(Trie<Conn>::kRoot, {}, graph_.class_of(root));
    const int32_t head = frontier_.enter(root, 0, Frontier<Conn>::kEnd);
    if (k_ == 2) {
      count_each(state, head);
    } else {
      extend(1, state, head);
    }
    frontier_.leave(root, 0);
  }

  // Counts the occurrences that end with one node of the list.
  void count_each(uint32_t state, int32_t head) {
    for (int32_t i = head; i >= 0; i = frontier_.links[i].next) {
      const uint32_t node = frontier_.links[i].node;
      counts.count(state, frontier_.ties(node), graph_.class_of(node), 1);
    }
  }

  void extend(int members, uint32_t state, int32_t head) {
    if (members == k_ - 2) return last_two_.count(state, head);
    auto& links = frontier_.links;
    bool look = true;  // there are more branches when a hub leaves the list
    for (int32_t i = head; i >= 0; i = links[i].next) {
      if (stop_->load(std::memory_order_relaxed)) return;
      if (look && count_branches(members, state, i)) return;
      const uint32_t node = links[i].node;
      look = graph_.degree(node) >= size_t{BranchFinder<Conn>::kMany};
      const uint32_t next = counts.trie.step(state, frontier_.ties(node), graph_.class_of(node));
      const size_t top = links.size();
      extend(members + 1, next, frontier_.enter(node, members, links[i].next));
      links.resize(top);
      frontier_.leave(node, members);
    }
  }

  // Counts all that grows from the list by choices of interchangeable branches, where there are many of them.
  bool count_branches(int members, uint32_t state, int32_t head) {
    if (frontier_.length(head, finder_.kMany) < finder_.kMany || !finder_.find(k_ - members, state, head)) return false;
    const size_t top = frontier_.links.size(), first = chosen_.size();
    const int32_t rest = finder_.split(head, chosen_);
    choose_branches(first, chosen_.size(), members, state, rest);
    chosen_.resize(first);
    frontier_.links.resize(top);
    return true;
  }

  // Every choice of branches from `group`, ..., `end` - 1, and then of nodes that grow from those and from `rest`.
  // The first branches of a group stand for any others.
  void choose_branches(size_t group, size_t end, int members, uint32_t state, int32_t rest) {
    if (group == end) return members < k_ - 1 ? extend(members, state, rest) : count_each(state, rest);
    choose_branches(group + 1, end, members, state, rest);
    const Branches<Conn> taken = chosen_[group];  // a copy, for the vector may grow
    const uint64_t before = counts.ways;
    const size_t top = frontier_.links.size();
    const int most = static_cast<int>(std::min<uint64_t>(taken.size, k_ - members));
    int number = 0;
    while (number < most && !stop_->load(std::memory_order_relaxed)) {
      counts.ways = times_binomial(before, taken.size, number + 1);
      if (members + number == k_ - 1) {
        counts.count(state, taken.conn, taken.node_class, 1);
        break;
      }
      state = counts.trie.step(state, taken.conn, taken.node_class);
      rest = frontier_.enter(taken.roots[number], members + number, rest);
      ++number;
      choose_branches(group + 1, end, members + number, state, rest);
    }
    for (int i = number - 1; i >= 0; --i) frontier_.leave(taken.roots[i], members + i);
    frontier_.links.resize(top);
    counts.ways = before;
  }

  // ways * C(n, m); 0 where that passes 64 bits, which matters only if something is counted.
  static uint64_t times_binomial(uint64_t ways, uint64_t n, int m) {
    unsigned __int128 product = 1;
    for (int i = 1; i <= m && product <= UINT64_MAX; ++i) product = product * (n - m + i) / i;
    return product > UINT64_MAX || (product *= ways) > UINT64_MAX ? 0 : static_cast<uint64_t>(product);
  }

  const Graph& graph_;
  const int k_;
  const std::atomic<bool>* stop_ = nullptr;
  Frontier<Conn> frontier_;
  BranchFinder<Conn> finder_;
  LastTwo<Conn, StateCounts<Conn, kRepeated>> last_two_;
  std::vector<Branches<Conn>> chosen_;  // of all levels
};

}  // namespace

struct RepeatedCensus::Worker {
  virtual ~Worker() = default;
  virtual void count(uint32_t begin, uint32_t end, const std::atomic<bool>& stop) = 0;
  virtual Tally& tally() = 0;
};

template <class Conn>
struct RepeatedWorker final : RepeatedCensus::Worker {
  RepeatedWorker(const Graph& graph, int k) : worker(graph, k) {}
  void count(uint32_t begin, uint32_t end, const std::atomic<bool>& stop) override {
    worker.run(begin, end, stop);
    worker.counts.hand_over();
  }
  Tally& tally() override { return worker.counts.tally; }
  CensusWorker<Conn, true> worker;
};

RepeatedCensus::RepeatedCensus(const Graph& graph, int k) {
  if (k < 2 || k > kMaxSize) throw BadInput("k must be from 2 to 16");
  if (graph.arc_classes() <= NarrowConn::kMaxArc) {
    worker_ = std::make_unique<RepeatedWorker<NarrowConn>>(graph, k);
  } else {
    worker_ = std::make_unique<RepeatedWorker<WideConn>>(graph, k);
  }
}

RepeatedCensus::~RepeatedCensus() = default;

void RepeatedCensus::count(uint32_t begin, uint32_t end, const std::atomic<bool>& stop) {
  worker_->count(begin, end, stop);
}

PatternCounts& RepeatedCensus::table() { return worker_->tally().result; }

PatternCounts census(const Graph& graph, int k, int threads, const KeepGoing& keep_going) {
  if (k < 2 || k > kMaxSize) throw BadInput("k must be from 2 to 16");
  if (graph.arc_classes() <= NarrowConn::kMaxArc) return tally_all<CensusWorker<NarrowConn>>(graph, k, threads, keep_going);
  return tally_all<CensusWorker<WideConn>>(graph, k, threads, keep_going);
}

}  // namespace grade
