#include "graph.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "parallel.hpp"

namespace grade {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw BadInput(what);
}

void check_offsets(std::span<const int64_t> offsets, size_t owners, size_t items, const char* what) {
  require(offsets.size() == owners + 1 && offsets[0] == 0 &&
              offsets[owners] == static_cast<int64_t>(items),
          what);
  for (size_t i = 0; i < owners; ++i) require(offsets[i] <= offsets[i + 1], what);
}

// Keys that were met by one thread; quick for small ones.
class KeySet {
 public:
  static constexpr uint64_t kDirect = 1 << 20;
  void add(uint64_t key) {
    if (key >= kDirect) {
      rest_.insert(key);
      return;
    }
    if (key >= direct_.size()) direct_.resize(key + 1, 0);
    direct_[key] = 1;
  }
  void append_to(std::vector<uint64_t>& keys) const {
    for (uint64_t key = 0; key < direct_.size(); ++key) {
      if (direct_[key]) keys.push_back(key);
    }
    keys.insert(keys.end(), rest_.begin(), rest_.end());
  }

 private:
  std::vector<uint8_t> direct_;
  std::unordered_set<uint64_t> rest_;
};

// Numbers the keys of all threads from 0 in ascending order, so that who met what leaves no trace.
class Numbering {
 public:
  explicit Numbering(const std::vector<KeySet>& sets) {
    for (const KeySet& set : sets) set.append_to(keys_);
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
    for (uint32_t number = 0; number < keys_.size(); ++number) {
      const uint64_t key = keys_[number];
      if (key >= KeySet::kDirect) {
        rest_[key] = number;
        continue;
      }
      direct_.resize(key + 1, 0);
      direct_[key] = number;
    }
  }
  uint32_t operator()(uint64_t key) const { return key < KeySet::kDirect ? direct_[key] : rest_.at(key); }
  const std::vector<uint64_t>& keys() const { return keys_; }

 private:
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> direct_;
  std::unordered_map<uint64_t, uint32_t> rest_;
};

// Calls work(thread, begin, end) for ranges that cover [0, n); a small n is not worth a thread.
template <class Work>
void in_ranges(size_t n, size_t range, int threads, Work&& work) {
  if (threads == 1 || n <= range) return work(0, size_t{0}, n);
  parallel_chunks(n, range, threads, {},
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>&) { work(thread, begin, end); });
}

// Calls visit(other end, type outward, type inward) for all edges of a node, opposite ones together, by ascending id.
template <class Visit>
void each_pair(const GraphArrays& a, uint32_t id, uint32_t begin, uint32_t end, Visit&& visit) {
  int64_t out = a.out_offsets[id], in = a.in_offsets[id], previous = -1;
  const int64_t out_end = a.out_offsets[id + 1], in_end = a.in_offsets[id + 1];
  while (out < out_end || in < in_end) {
    const int64_t target = out < out_end ? int64_t{a.out_targets[out]} : INT64_MAX;
    const int64_t source = in < in_end ? int64_t{a.in_sources[in]} : INT64_MAX;
    const int64_t other = std::min(target, source);
    require(other >= begin && other < end, "an edge leaves its graph");
    require(other > previous, "the edges of a node are not in ascending order, or one is there twice");
    previous = other;
    const uint8_t outward = target == other ? a.out_types[out++] : 0;
    const uint8_t inward = source == other ? a.in_types[in++] : 0;
    require((target != other || outward) && (source != other || inward), "an edge has type 0");
    require(other != id || outward == inward, "in-coming and out-going edges disagree");
    visit(static_cast<uint32_t>(other), outward, inward);
  }
}

constexpr size_t kRange = 1 << 14;  // nodes that a thread takes at a time

}  // namespace

// Fills a graph from arrays, each step in parallel over ranges of nodes.
class Graph::Builder {
 public:
  Builder(Graph& graph, const GraphArrays& arrays, int threads)
      : g_(graph), a_(arrays), nodes_(arrays.node_types.size()), threads_(threads) {}

  void check_outlines() {
    const size_t edges = a_.out_targets.size();
    require(nodes_ < UINT32_MAX, "more nodes than the core can number");
    require(!a_.node_offsets.empty(), "the node offsets are empty");
    check_offsets(a_.node_offsets, a_.node_offsets.size() - 1, nodes_, "the node offsets do not fit the nodes");
    check_offsets(a_.out_offsets, nodes_, edges, "the offsets of out-going edges do not fit the edges");
    check_offsets(a_.in_offsets, nodes_, edges, "the offsets of in-coming edges do not fit the edges");
    require(a_.out_types.size() == edges && a_.in_sources.size() == edges && a_.in_types.size() == edges,
            "the edge arrays differ in length");
    g_.node_offsets_.assign(a_.node_offsets.begin(), a_.node_offsets.end());
    for (size_t graph = 0; graph < g_.graphs(); ++graph) {
      const uint32_t begin = g_.begin_of(graph), end = g_.end_of(graph);
      g_.largest_ = std::max(g_.largest_, end - begin);
      // The census adds up the neighbours within a graph in 32 bits.
      require(a_.out_offsets[end] - a_.out_offsets[begin] <= INT32_MAX, "a graph has more edges than the core can count");
    }
  }

  void renumber() {
    auto degree_of = [&](uint32_t id) {
      return a_.out_offsets[id + 1] - a_.out_offsets[id] + a_.in_offsets[id + 1] - a_.in_offsets[id];
    };
    std::vector<uint32_t>& original = g_.original_;
    original.resize(nodes_);
    g_.renumbered_.resize(nodes_);
    std::iota(original.begin(), original.end(), 0u);
    in_ranges(g_.graphs(), std::max<size_t>(g_.graphs() / 256, 1), nodes_ <= kRange ? 1 : threads_,
              [&](int, size_t first, size_t last) {
                for (size_t graph = first; graph < last; ++graph) {
                  std::stable_sort(original.begin() + g_.begin_of(graph), original.begin() + g_.end_of(graph),
                                   [&](uint32_t u, uint32_t v) { return degree_of(u) > degree_of(v); });
                  for (uint32_t node = g_.begin_of(graph); node < g_.end_of(graph); ++node) {
                    g_.renumbered_[original[node]] = node;
                  }
                }
              });
  }

  // First pass over the edges: which classes there are, and how long each neighbour list is.
  void number_classes() {
    std::vector<KeySet> classes(threads_);
    std::vector<std::vector<uint8_t>> arcs(threads_);  // [thread][outward * 256 + inward] is there such a pair?
    g_.class_of_.resize(nodes_);  // keys of the classes, until these have numbers
    g_.offsets_.assign(nodes_ + 1, 0);
    each_node([&](int thread, uint32_t node, uint32_t begin, uint32_t end) {
      const uint32_t id = g_.original_[node];
      arcs[thread].resize(256 * 256, 0);
      uint32_t loop = 0;
      each_pair(a_, id, begin, end, [&](uint32_t other, uint8_t outward, uint8_t inward) {
        if (other == id) {
          loop = outward;
        } else {
          arcs[thread][outward * 256 + inward] = 1;
          ++g_.offsets_[node + 1];
        }
      });
      classes[thread].add(g_.class_of_[node] = loop << 16 | a_.node_types[id]);
    });
    std::partial_sum(g_.offsets_.begin(), g_.offsets_.end(), g_.offsets_.begin());

    const Numbering numbers(classes);
    for (uint64_t key : numbers.keys()) {
      g_.node_classes_.push_back({static_cast<uint16_t>(key), static_cast<uint8_t>(key >> 16)});
    }
    each_node([&](int, uint32_t node, uint32_t, uint32_t) { g_.class_of_[node] = numbers(g_.class_of_[node]); });

    g_.arc_classes_.push_back({0, 0, 0});
    arc_ids_.assign(256 * 256, 0);
    for (uint32_t pair = 0; pair < arc_ids_.size(); ++pair) {
      const bool met = std::any_of(arcs.begin(), arcs.end(), [&](const auto& of) { return !of.empty() && of[pair]; });
      if (!met || arc_ids_[pair]) continue;
      const auto outward = static_cast<uint8_t>(pair / 256), inward = static_cast<uint8_t>(pair % 256);
      const auto id = arc_ids_[pair] = static_cast<uint32_t>(g_.arc_classes_.size());
      g_.arc_classes_.push_back({outward, inward, id});
      if (outward == inward) continue;
      g_.arc_classes_[id].reverse = arc_ids_[inward * 256 + outward] = id + 1;
      g_.arc_classes_.push_back({inward, outward, id});
    }
  }

  // Second pass. The tags hold bare arc classes until they have numbers.
  void fill_neighbours() {
    g_.neighbours_.resize(g_.offsets_.back());
    each_node([&](int, uint32_t node, uint32_t begin, uint32_t end) {
      const uint32_t id = g_.original_[node];
      Neighbour* const list = g_.neighbours_.data() + g_.offsets_[node];
      Neighbour* next = list;
      each_pair(a_, id, begin, end, [&](uint32_t other, uint8_t outward, uint8_t inward) {
        if (other != id) *next++ = {g_.renumbered_[other], arc_ids_[outward * 256 + inward]};
      });
      std::sort(list, next, [](const Neighbour& x, const Neighbour& y) { return x.node > y.node; });
    });
  }

  // Both directions must tell the same story: every neighbour lists this node with the reverse arc.
  void check_symmetry() {
    each_node([&](int, uint32_t node, uint32_t, uint32_t) {
      for (const Neighbour& n : g_.neighbours(node)) {
        const auto back = g_.neighbours(n.node);
        const auto at = std::lower_bound(back.begin(), back.end(), node,
                                         [](const Neighbour& x, uint32_t wanted) { return x.node > wanted; });
        require(at != back.end() && at->node == node && at->tag == g_.arc_classes_[n.tag].reverse,
                "in-coming and out-going edges disagree");
      }
    });
  }

  void number_tags() {
    const uint64_t arcs = g_.arc_classes_.size();
    auto key_of = [&](const Neighbour& n) { return g_.class_of_[n.node] * arcs + n.tag; };
    std::vector<KeySet> keys(threads_);
    in_ranges(g_.neighbours_.size(), 4 * kRange, threads_, [&](int thread, size_t first, size_t last) {
      for (size_t i = first; i < last; ++i) keys[thread].add(key_of(g_.neighbours_[i]));
    });
    const Numbering numbers(keys);
    for (uint64_t key : numbers.keys()) {
      g_.tags_.push_back({static_cast<uint32_t>(key % arcs), static_cast<uint32_t>(key / arcs)});
    }
    in_ranges(g_.neighbours_.size(), 4 * kRange, threads_, [&](int, size_t first, size_t last) {
      for (size_t i = first; i < last; ++i) g_.neighbours_[i].tag = numbers(key_of(g_.neighbours_[i]));
    });
  }

 private:
  // Calls work(thread, node, begin and end of its graph) for all nodes.
  template <class Work>
  void each_node(Work&& work) {
    in_ranges(nodes_, kRange, threads_, [&](int thread, size_t first, size_t last) {
      if (first == last) return;
      uint32_t graph = g_.graph_of(static_cast<uint32_t>(first));
      for (auto node = static_cast<uint32_t>(first); node < last; ++node) {
        while (node >= g_.end_of(graph)) ++graph;
        work(thread, node, g_.begin_of(graph), g_.end_of(graph));
      }
    });
  }

  Graph& g_;
  const GraphArrays& a_;
  const size_t nodes_;
  const int threads_;
  std::vector<uint32_t> arc_ids_;  // [outward * 256 + inward] number of the arc class
};

Graph::Graph(const GraphArrays& arrays, int threads) {
  Builder builder(*this, arrays, threads);
  builder.check_outlines();
  builder.renumber();
  builder.number_classes();
  builder.fill_neighbours();
  builder.check_symmetry();
  builder.number_tags();
}

uint32_t Graph::graph_of(uint32_t node) const {
  return static_cast<uint32_t>(
      std::upper_bound(node_offsets_.begin(), node_offsets_.end(), node) - node_offsets_.begin() - 1);
}

}  // namespace grade
