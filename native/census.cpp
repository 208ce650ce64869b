// ESU (Wernicke 2006) enumerates every connected induced subgraph once: a root, its smallest node, grows by nodes
// above the root taken from an extension list. Each partial subgraph is a state of a trie (trie.hpp), so that
// the canonical form is computed once per state and not once per occurrence.
//
// The last two nodes are not enumerated but counted. Below a subgraph S of k - 2 nodes with extension list E, an
// occurrence adds either two nodes u, v of E, or one node w of E and an exclusive neighbour of w. Nodes of E with
// the same ties to S and the same class are interchangeable, so that the non-adjacent pairs {u, v} are products of
// group sizes, and only the edges at E are walked. Around a hub of degree 90 this replaces thousands of
// occurrences by a handful of products.
//
// Further up, a node of E is free if all its neighbours are members, or have left E: nothing hangs on it, so that
// free nodes of the same ties and class are chosen by their number alone. A hub with 5,000 leaves has one way to take
// four of them, with C(5000, 4) occurrences.
#include "census.hpp"

#include <algorithm>

#include "tally.hpp"
#include "trie.hpp"

namespace grade {
namespace {

constexpr int kFew = 8;                         // extension lists up to this length are not worth grouping
constexpr int kMany = 64;                       // lists from this length on are searched for free nodes
constexpr size_t kTrial = size_t{1} << 18;       // new states after which the way of counting is reconsidered

// With `kRepeated` the trie outlives the call: see RepeatedCensus.
template <class Conn, bool kRepeated = false>
class CensusWorker {
 public:
  CensusWorker(const Graph& graph, int k)
      : tally(k),
        graph_(graph),
        k_(k),
        arcs_(static_cast<uint32_t>(graph.arc_classes()) + 1),
        tied_(static_cast<uint32_t>(graph.tags())) {}

  void run(uint32_t begin, uint32_t end, const std::atomic<bool>& stop) {
    uint32_t graph = graph_.graph_of(begin);
    for (uint32_t root = begin; root < end && !stop; ++root) {
      while (root >= graph_.end_of(graph)) ++graph;
      if (graph_.end_of(graph) - root < static_cast<uint32_t>(k_)) continue;
      first_ = graph_.begin_of(graph);
      if (ties_.size() < graph_.end_of(graph) - first_) {
        ties_.resize(graph_.end_of(graph) - first_);
        bin_.resize(ties_.size(), 0);
      }
      stop_ = &stop;
      grow_from(root);
      if (trie_.size() > kMaxStates) {
        flush();
        distinct_before_ = distinct();
      }
      choose_way();
    }
  }

  void flush() {
    if constexpr (kRepeated) {
      hand_over();
      pattern_of_.clear();
    }
    for (uint32_t state = 0; state < counts_.size(); ++state) {
      if (counts_[state]) tally.add(trie_.subgraph(state, k_, graph_), counts_[state]);
    }
    trie_.clear();
    counts_.clear();
    group_stamp_.clear();
    group_of_state_.clear();
    parent_state_ = 0;
  }

  // Moves what was counted to the tally and keeps the trie.
  void hand_over() {
    pattern_of_.resize(counts_.size(), 0);
    for (const uint32_t leaf : leaves_met_) {
      uint32_t& pattern = pattern_of_[leaf];  // + 1
      if (pattern == 0) pattern = tally.number(trie_.subgraph(leaf, k_, graph_)) + 1;
      add_checked(tally.result.counts[pattern - 1], counts_[leaf]);
      counts_[leaf] = 0;
    }
    leaves_met_.clear();
  }

  Tally tally;

 private:
  struct Link {
    uint32_t node;
    int32_t next;
  };
  struct Group {  // nodes of the extension list with the same ties and class
    uint32_t state;
    uint32_t node_class;
    Conn conn;
    int64_t size;
  };

  Conn& ties(uint32_t node) { return ties_[node - first_]; }
  uint32_t& bin(uint32_t node) { return bin_[node - first_]; }

  void grow_from(uint32_t root) {
    root_ = root;
    const uint32_t state = trie_.step(Trie<Conn>::kRoot, {}, graph_.class_of(root));
    const int32_t head = enter(root, 0, -1);
    if (k_ == 2) {
      for (int32_t i = head; i >= 0; i = links_[i].next) {
        const uint32_t node = links_[i].node;
        count(state, ties(node), graph_.class_of(node), 1);
      }
    } else {
      extend(1, state, head);
    }
    leave(root, 0);
    links_.clear();
  }

  // Makes `node` member number `member`: marks its neighbours and puts the exclusive ones before `tail`.
  int32_t enter(uint32_t node, int member, int32_t tail) {
    for (const Neighbour& n : graph_.neighbours(node)) {
      if (n.node <= root_) break;
      Conn& its_ties = ties(n.node);
      if (its_ties.none()) {
        links_.push_back({n.node, tail});
        tail = static_cast<int32_t>(links_.size()) - 1;
        bin(n.node) = tied_;
      }
      its_ties.add(member, graph_.arc(n));
    }
    return tail;
  }
  void leave(uint32_t node, int member) {
    for (const Neighbour& n : graph_.neighbours(node)) {
      if (n.node <= root_) break;
      Conn& its_ties = ties(n.node);
      its_ties.clear(member);
      if (its_ties.none()) bin(n.node) = 0;
    }
  }

  void extend(int members, uint32_t state, int32_t head) {
    if (members == k_ - 2) return count_last_two(state, head);
    bool look = true;  // nodes become free when a hub leaves the list
    for (int32_t i = head; i >= 0; i = links_[i].next) {
      if (stop_->load(std::memory_order_relaxed)) return;
      if (look && count_free(members, state, i)) return;
      const uint32_t node = links_[i].node;
      look = graph_.degree(node) >= size_t{kMany};
      const uint32_t next = trie_.step(state, ties(node), graph_.class_of(node));
      const size_t top = links_.size();
      extend(members + 1, next, enter(node, members, links_[i].next));
      links_.resize(top);
      leave(node, members);
    }
  }

  // Counts all that grows from the list by choices of its free nodes, where there are many of them.
  bool count_free(int members, uint32_t state, int32_t head) {
    int length = 0;
    for (int32_t i = head; i >= 0 && length < kMany; i = links_[i].next) ++length;
    if (length < kMany) return false;
    for (int32_t i = head; i >= 0; i = links_[i].next) bin(links_[i].node) = tied_ + 1;
    const size_t top = links_.size(), first = free_.size();
    size_t found = 0;
    int32_t rest = -1, last = -1;  // what is not free, in the same order
    groups_.clear();
    ++stamp_;
    for (int32_t i = head; i >= 0; i = links_[i].next) {
      const uint32_t node = links_[i].node;
      if (is_free(node)) {
        ++found;
        ++groups_[find_group(state, ties(node), graph_.class_of(node))].size;
      } else {
        (last >= 0 ? links_[last].next : rest) = static_cast<int32_t>(links_.size());
        last = static_cast<int32_t>(links_.size());
        links_.push_back({node, -1});
      }
    }
    for (int32_t i = head; i >= 0; i = links_[i].next) bin(links_[i].node) = tied_;
    const bool worthwhile = found >= kMany / 4;
    if (worthwhile) {
      free_.insert(free_.end(), groups_.begin(), groups_.end());
      choose_free(first, free_.size(), members, state, rest);
      free_.resize(first);
    }
    links_.resize(top);
    return worthwhile;
  }

  bool is_free(uint32_t node) {
    for (const Neighbour& n : graph_.neighbours(node)) {
      if (n.node <= root_) break;
      if (bin(n.node) != tied_) return false;
    }
    return true;
  }

  // Every choice of nodes from the free groups `group`, ..., `end` - 1, and then of nodes that grow from `rest`.
  void choose_free(size_t group, size_t end, int members, uint32_t state, int32_t rest) {
    if (group == end) {
      if (members < k_ - 1) return extend(members, state, rest);
      for (int32_t i = rest; i >= 0; i = links_[i].next) {
        count(state, ties(links_[i].node), graph_.class_of(links_[i].node), 1);
      }
      return;
    }
    choose_free(group + 1, end, members, state, rest);
    const Group taken = free_[group];  // a copy, for the vector may grow
    const uint64_t before = ways_;
    const int most = static_cast<int>(std::min<int64_t>(taken.size, k_ - members));
    for (int number = 1; number <= most && !stop_->load(std::memory_order_relaxed); ++number) {
      ways_ = times_binomial(before, static_cast<uint64_t>(taken.size), number);
      if (members + number == k_) {
        count(state, taken.conn, taken.node_class, 1);
      } else {
        state = trie_.step(state, taken.conn, taken.node_class);
        choose_free(group + 1, end, members + number, state, rest);
      }
    }
    ways_ = before;
  }

  // ways * C(n, m); 0 where that passes 64 bits, which matters only if something is counted.
  static uint64_t times_binomial(uint64_t ways, uint64_t n, int m) {
    unsigned __int128 product = 1;
    for (int i = 1; i <= m && product <= UINT64_MAX; ++i) product = product * (n - m + i) / i;
    return product > UINT64_MAX || (product *= ways) > UINT64_MAX ? 0 : static_cast<uint64_t>(product);
  }

  void count_last_two(uint32_t state, int32_t head) {
    int length = 0;
    for (int32_t i = head; i >= 0 && length <= kFew; i = links_[i].next) ++length;
    if (length <= kFew) {
      count_few(state, head);
    } else {
      count_many(state, head);
    }
  }

  // A short list: every node is a group of its own, and every pair is looked at.
  void count_few(uint32_t state, int32_t head) {
    groups_.clear();
    for (int32_t i = head; i >= 0; i = links_[i].next) {
      const uint32_t node = links_[i].node;
      groups_.push_back({trie_.step(state, ties(node), graph_.class_of(node)), graph_.class_of(node), ties(node), 1});
      bin(node) = tied_ + static_cast<uint32_t>(groups_.size());
    }
    const uint32_t n = static_cast<uint32_t>(groups_.size());
    std::array<uint32_t, kFew> arc_to;
    uint32_t a = 0;
    for (int32_t i = head; i >= 0; i = links_[i].next, ++a) {
      arc_to.fill(0);
      for (const Neighbour& neighbour : graph_.neighbours(links_[i].node)) {
        if (neighbour.node <= root_) break;
        if (const uint32_t base = bin(neighbour.node)) {
          if (base > tied_) arc_to[base - tied_ - 1] = graph_.arc(neighbour);
        } else {
          const Tag& tag = graph_.tag(neighbour.tag);
          count(groups_[a].state, Conn::at(k_ - 2, tag.arc), tag.node_class, 1);
        }
      }
      for (uint32_t b = a + 1; b < n; ++b) count_pair(a, b, arc_to[b], 1);
    }
    for (int32_t i = head; i >= 0; i = links_[i].next) bin(links_[i].node) = tied_;
  }

  void count_many(uint32_t state, int32_t head) {
    const int member = k_ - 2;
    // 1. Group the extension list.
    groups_.clear();
    extension_.clear();
    ++stamp_;
    for (int32_t i = head; i >= 0; i = links_[i].next) {
      const uint32_t node = links_[i].node;
      const uint32_t group = find_group(state, ties(node), graph_.class_of(node));
      ++groups_[group].size;
      bin(node) = tied_ + (group + 1) * arcs_;
      extension_.push_back({node, group});
    }
    const size_t n = groups_.size();
    sort_by_group();
    const size_t bins = tied_ + (n + 1) * arcs_;
    if (histogram_.size() < bins) {
      histogram_.resize(2 * bins, 0);
      touched_.resize(histogram_.size() + 1);
    }
    apart_.resize(n);
    for (uint32_t group = 0, from = 0; group < n; ++group) {
      // 2. The pairs with this group and later ones, as if none were adjacent.
      const int64_t size = groups_[group].size;
      apart_[group] = size * (size - 1) / 2;
      for (uint32_t b = group + 1; b < n; ++b) apart_[b] = size * groups_[b].size;
      // 3. Walk the edges at the group into a histogram.
      const uint32_t to = from + static_cast<uint32_t>(groups_[group].size);
      const size_t used = walk({by_group_.data() + from, by_group_.data() + to});
      from = to;
      for (size_t i = 0; i < used; ++i) {
        const uint32_t bin = touched_[i], times = histogram_[bin];
        histogram_[bin] = 0;
        if (bin < tied_) {
          const Tag& tag = graph_.tag(bin);
          count(groups_[group].state, Conn::at(member, tag.arc), tag.node_class, times);
        } else {
          count_adjacent(group, (bin - tied_) / arcs_, (bin - tied_) % arcs_, times);
        }
      }
      // 4. What is left of the products are non-adjacent pairs.
      for (uint32_t b = group; b < n; ++b) {
        if (apart_[b]) count_pair(group, b, 0, apart_[b]);
      }
    }
    for (const auto& [node, group] : extension_) bin(node) = tied_;
  }

  void sort_by_group() {
    group_begin_.assign(groups_.size(), 0);
    uint32_t begin = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      group_begin_[g] = begin;
      begin += static_cast<uint32_t>(groups_[g].size);
    }
    by_group_.resize(extension_.size());
    for (const auto& [node, group] : extension_) by_group_[group_begin_[group]++] = node;
  }

  // Counts the neighbours of these nodes into the histogram and lists the bins in use: exclusive neighbours by
  // tag, all others at the bin of the neighbour plus the arc.
  size_t walk(std::span<const uint32_t> nodes) {
    uint32_t* const histogram = histogram_.data();
    uint32_t* const touched = touched_.data();
    const uint32_t* const bin_of = bin_.data();
    const uint32_t first = first_;
    size_t used = 0;
    uint32_t last = tied_, run = 0;
    auto close_run = [&] {
      touched[used] = last;
      used += histogram[last] == 0;
      histogram[last] += run;
    };
    for (uint32_t node : nodes) {
      for (const Neighbour& neighbour : graph_.neighbours(node)) {
        if (neighbour.node <= root_) break;
        const uint32_t base = bin_of[neighbour.node - first];
        const uint32_t bin = base ? base + graph_.arc(neighbour) : neighbour.tag;
        if (bin != last) {  // around hubs runs of one bin are the rule
          close_run();
          last = bin;
          run = 0;
        }
        ++run;
      }
    }
    close_run();
    return used;
  }

  // `place` is 0 for nodes that are no longer in the list, else a group + 1. Every adjacent pair was met twice:
  // from the groups of both its nodes.
  void count_adjacent(uint32_t a, uint32_t place, uint32_t arc, int64_t times) {
    if (place <= a) return;
    const uint32_t b = place - 1;
    if (a == b) {
      const uint32_t reverse = graph_.arc_class(arc).reverse;
      if (arc > reverse) return;
      if (arc == reverse) times /= 2;
    }
    if (times == 0) return;
    apart_[b] -= times;
    count_pair(a, b, arc, times);
  }

  // Two nodes of groups a and b, tied by `arc` as seen from a. Either could come first; the one in the lower
  // state does, so that fewer states are made.
  void count_pair(uint32_t a, uint32_t b, uint32_t arc, int64_t times) {
    if (groups_[a].state > groups_[b].state) {
      std::swap(a, b);
      arc = graph_.arc_class(arc).reverse;
    }
    Conn ties = groups_[b].conn;
    ties.add(k_ - 2, arc);
    count(groups_[a].state, ties, groups_[b].node_class, times);
  }

  uint32_t find_group(uint32_t state, const Conn& ties, uint32_t node_class) {
    if (!groups_.empty() && groups_.back().conn == ties && groups_.back().node_class == node_class) {
      return static_cast<uint32_t>(groups_.size()) - 1;
    }
    const uint32_t next = trie_.step(state, ties, node_class);
    if (next >= group_stamp_.size()) {
      group_stamp_.resize(next + next / 2 + 64, 0);
      group_of_state_.resize(group_stamp_.size());
    }
    if (group_stamp_[next] != stamp_) {
      group_stamp_[next] = stamp_;
      group_of_state_[next] = static_cast<uint32_t>(groups_.size());
      groups_.push_back({next, node_class, ties, 0});
    }
    return group_of_state_[next];
  }

  // Occurrences whose last node is tied like this to a subgraph of k - 1 nodes.
  void count(uint32_t state, const Conn& ties, uint32_t node_class, uint64_t times) {
    ++leaves_;
    if (ways_ != 1) times = ways_ ? multiplied_checked(times, ways_) : throw TooLarge("a count passes 2^64");
    if (rarely_repeats_) {
      if (state != parent_state_) {
        parent_ = trie_.subgraph(state, k_ - 1, graph_, 1);
        parent_state_ = state;
      }
      Trie<Conn>::append(parent_, k_ - 1, ties, node_class, graph_);
      tally.add(parent_, times);
      return;
    }
    const uint32_t leaf = trie_.step(state, ties, node_class);
    if (leaf >= counts_.size()) counts_.resize(leaf + leaf / 2 + 64, 0);
    if constexpr (kRepeated) {
      if (counts_[leaf] == 0) leaves_met_.push_back(leaf);
    }
    add_checked(counts_[leaf], times);
  }

  // Where nearly every leaf is a new state, the trie only costs: then each leaf goes to the table at once.
  void choose_way() {
    if constexpr (kRepeated) return;
    const size_t found = distinct() - distinct_before_;
    if (found < kTrial && leaves_ < 16 * kTrial) return;
    const bool rare = 2 * found > leaves_;
    if (rare != rarely_repeats_) flush();
    rarely_repeats_ = rare;
    leaves_ = 0;
    distinct_before_ = distinct();
  }
  size_t distinct() const { return rarely_repeats_ ? tally.result.counts.size() : trie_.size(); }

  const Graph& graph_;
  const int k_;
  const std::atomic<bool>* stop_ = nullptr;
  uint32_t root_ = 0, first_ = 0;             // first_: first node of the current graph
  const uint32_t arcs_;                       // number of arc classes, and one for none
  const uint32_t tied_;                       // bin of tied nodes outside the extension list; group g: + (g + 1) * arcs_
  std::vector<Conn> ties_;                    // [local node] ties to the members
  std::vector<uint32_t> bin_;                 // [local node] 0 while it has no ties
  std::vector<Link> links_;                   // extension lists of all levels, sharing tails
  std::vector<Group> groups_, free_;          // free_: of all levels
  uint64_t ways_ = 1;                         // to choose the free nodes among the members; 0: more than 2^64
  std::vector<std::pair<uint32_t, uint32_t>> extension_;  // (node, group)
  std::vector<uint32_t> by_group_, group_begin_;
  std::vector<int64_t> apart_;                // [group] pairs of the present group and this one that are not adjacent
  std::vector<uint32_t> histogram_, touched_; // all zero between walks; bins in use
  std::vector<uint64_t> group_stamp_;
  std::vector<uint32_t> group_of_state_;
  uint64_t stamp_ = 0;
  Trie<Conn> trie_;
  std::vector<uint64_t> counts_;              // [state] occurrences that end there
  std::vector<uint32_t> leaves_met_, pattern_of_;  // only if repeated: states with counts, and their patterns + 1
  bool rarely_repeats_ = false;
  size_t leaves_ = 0, distinct_before_ = 0;   // leaves since the way was last chosen, and what was known then
  uint32_t parent_state_ = 0;
  SmallGraph parent_{};                       // subgraph of parent_state_ with room for one more node
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
    worker.hand_over();
  }
  Tally& tally() override { return worker.tally; }
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
