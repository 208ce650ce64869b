#include "describe.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "mixing.hpp"

namespace grade {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw BadInput(what);
}

void check_offsets(std::span<const int64_t> offsets, size_t owners, size_t items, const char* what) {
  require(offsets.size() == owners + 1 && offsets[0] == 0 && offsets[owners] == static_cast<int64_t>(items), what);
  for (size_t i = 0; i < owners; ++i) require(offsets[i] <= offsets[i + 1], what);
}

// One thread's work on one graph after another; nodes are numbered from 0 in each.
class Describer {
 public:
  explicit Describer(const GraphArrays& arrays) : a_(arrays) {}

  void operator()(size_t graph, const GraphFacts& facts) {
    begin_ = a_.node_offsets[graph];
    n_ = static_cast<uint32_t>(a_.node_offsets[graph + 1] - begin_);
    check_edges();
    facts.loops[graph] = loops_;
    facts.isolated[graph] = isolated_;
    facts.components[graph] = components();
    facts.cyclic[graph] = loops_ > 0 || cyclic();
    facts.fingerprints[graph] = fingerprint();
  }

 private:
  std::span<const uint32_t> targets(uint32_t node) const { return part(a_.out_offsets, a_.out_targets, node); }
  std::span<const uint32_t> sources(uint32_t node) const { return part(a_.in_offsets, a_.in_sources, node); }
  std::span<const uint8_t> out_types(uint32_t node) const { return part(a_.out_offsets, a_.out_types, node); }
  std::span<const uint8_t> in_types(uint32_t node) const { return part(a_.in_offsets, a_.in_types, node); }

  template <class T>
  std::span<const T> part(std::span<const int64_t> offsets, std::span<const T> items, uint32_t node) const {
    const int64_t first = offsets[begin_ + node];
    return items.subspan(first, offsets[begin_ + node + 1] - first);
  }

  // Nodes are taken by ascending number, so that the next edge to each of them must be the next of its in-coming ones:
  // this shows that both directions tell the same, in ascending order and without an edge that is there twice.
  void check_edges() {
    next_.assign(n_, 0);
    loops_ = isolated_ = 0;
    for (uint32_t node = 0; node < n_; ++node) {
      const auto ends = targets(node);
      const auto types = out_types(node);
      bool loop = false;
      for (size_t i = 0; i < ends.size(); ++i) {
        require(ends[i] >= begin_ && ends[i] < begin_ + n_, "an edge leaves its graph");
        require(i == 0 || ends[i] > ends[i - 1], "the edges of a node are not in ascending order, or one is there twice");
        require(types[i] != 0, "an edge has type 0");
        const auto end = static_cast<uint32_t>(ends[i] - begin_);
        const uint32_t at = next_[end]++;
        require(at < sources(end).size() && sources(end)[at] == begin_ + node && in_types(end)[at] == types[i],
                "in-coming and out-going edges disagree");
        loop = loop || end == node;
      }
      loops_ += loop;
      isolated_ += ends.size() == size_t{loop} && sources(node).size() == size_t{loop};
    }
    for (uint32_t node = 0; node < n_; ++node) {
      require(next_[node] == sources(node).size(), "in-coming and out-going edges disagree");
    }
  }

  uint32_t components() {
    parent_.resize(n_);
    std::iota(parent_.begin(), parent_.end(), 0u);
    auto root = [&](uint32_t node) {
      while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
      return node;
    };
    uint32_t found = n_;
    for (uint32_t node = 0; node < n_; ++node) {
      for (uint32_t target : targets(node)) {
        const uint32_t a = root(node), b = root(static_cast<uint32_t>(target - begin_));
        if (a == b) continue;
        parent_[std::max(a, b)] = std::min(a, b);
        --found;
      }
    }
    return found;
  }

  // Whether nodes are left when those without a source among the rest are taken away one by one.
  bool cyclic() {
    ready_.clear();
    for (uint32_t node = 0; node < n_; ++node) {
      if (next_[node] == 0) ready_.push_back(node);
    }
    for (size_t i = 0; i < ready_.size(); ++i) {
      for (uint32_t target : targets(ready_[i])) {
        if (--next_[target - begin_] == 0) ready_.push_back(static_cast<uint32_t>(target - begin_));
      }
    }
    return ready_.size() < n_;
  }

  // Two rounds of colour refinement.
  uint64_t fingerprint() {
    colours_.resize(n_);
    for (uint32_t node = 0; node < n_; ++node) colours_[node] = mixed(a_.node_types[begin_ + node] + kGolden);
    uint64_t sum = mixed(n_);
    for (uint32_t node = 0; node < n_; ++node) {
      uint64_t from = 0, to = 0;
      const auto into = sources(node), out = targets(node);
      for (size_t i = 0; i < into.size(); ++i) from += mixed(colours_[into[i] - begin_] + in_types(node)[i]);
      for (size_t i = 0; i < out.size(); ++i) to += mixed(colours_[out[i] - begin_] + 1000 + out_types(node)[i]);
      sum += mixed(colours_[node] * 5 + mixed(from) + to);
    }
    return sum;
  }

  const GraphArrays& a_;
  int64_t begin_ = 0;
  uint32_t n_ = 0, loops_ = 0, isolated_ = 0;
  std::vector<uint32_t> next_, parent_, ready_;  // [nodes]
  std::vector<uint64_t> colours_;
};

}  // namespace

void describe_graphs(const GraphArrays& arrays, int threads, const KeepGoing& keep_going, const GraphFacts& facts) {
  const size_t nodes = arrays.node_types.size(), edges = arrays.out_targets.size();
  require(!arrays.node_offsets.empty(), "the node offsets are empty");
  const size_t graphs = arrays.node_offsets.size() - 1;
  check_offsets(arrays.node_offsets, graphs, nodes, "the node offsets do not fit the nodes");
  check_offsets(arrays.out_offsets, nodes, edges, "the offsets of out-going edges do not fit the edges");
  check_offsets(arrays.in_offsets, nodes, edges, "the offsets of in-coming edges do not fit the edges");
  require(arrays.out_types.size() == edges && arrays.in_sources.size() == edges && arrays.in_types.size() == edges,
          "the edge arrays differ in length");
  std::vector<Describer> describers(threads, Describer(arrays));
  parallel_chunks(graphs, 4, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
    for (size_t graph = begin; graph < end && !stop; ++graph) describers[thread](graph, facts);
  });
}

}  // namespace grade
