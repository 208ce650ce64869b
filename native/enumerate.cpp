#include "enumerate.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "checked.hpp"

namespace grade {
namespace {

// One thread's enumeration. A node is `seen` if it is a member or has been put on an extension list.
class Walker {
 public:
  Walker(const Graph& graph, int k) : graph_(graph), k_(k), seen_(graph.largest(), false) {}

  // Calls visit(members, extension) for every connected subgraph of k - 1 nodes whose smallest node is `root`; each
  // node of `extension` completes one subgraph of k nodes.
  template <class Visit>
  void from(uint32_t root, uint32_t first, Visit&& visit, const std::atomic<bool>& stop) {
    root_ = root;
    first_ = first;
    stop_ = &stop;
    members_[0] = root;
    seen_[root - first] = true;
    extension_.clear();
    for (const Neighbour& n : graph_.neighbours(root)) {
      if (n.node <= root) break;
      extension_.push_back(n.node);
      seen_[n.node - first] = true;
    }
    const std::vector<uint32_t> touched = extension_;
    extend(1, 0, visit);
    for (uint32_t node : touched) seen_[node - first] = false;
    seen_[root - first] = false;
  }

 private:
  // Extension list of this level: extension_[begin, end of the vector).
  template <class Visit>
  void extend(int members, size_t begin, Visit&& visit) {
    if (members == k_ - 1) {
      visit(std::span<const uint32_t>(members_.data(), members),
            std::span<const uint32_t>(extension_.data() + begin, extension_.size() - begin));
      return;
    }
    const size_t end = extension_.size();
    for (size_t i = begin; i < end && !stop_->load(std::memory_order_relaxed); ++i) {
      const uint32_t node = extension_[i];
      members_[members] = node;
      // The child's list: what is left of this one, then the exclusive neighbours of `node`.
      for (size_t j = i + 1; j < end; ++j) extension_.push_back(extension_[j]);
      const size_t fresh = extension_.size();
      for (const Neighbour& n : graph_.neighbours(node)) {
        if (n.node <= root_) break;
        if (seen_[n.node - first_]) continue;
        seen_[n.node - first_] = true;
        extension_.push_back(n.node);
      }
      const size_t fresh_end = extension_.size();
      extend(members + 1, end, visit);
      for (size_t j = fresh; j < fresh_end; ++j) seen_[extension_[j] - first_] = false;
      extension_.resize(end);
    }
  }

  const Graph& graph_;
  const int k_;
  std::vector<bool> seen_;
  std::vector<uint32_t> extension_;
  std::array<uint32_t, kMaxSize> members_{};
  uint32_t root_ = 0, first_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
};

// Calls visit(thread, root, members, extension) for all (k-1)-subgraphs of the roots in [first, last); k >= 2. Those of
// one root come from one thread, in a fixed order.
template <class Visit>
void walk(const Graph& graph, int k, uint32_t first, uint32_t last, int threads, const KeepGoing& keep_going,
          Visit&& visit) {
  if (k < 2 || k > kMaxSize) throw BadInput("k must be from 2 to 16");
  std::vector<Walker> walkers(threads, Walker(graph, k));
  const size_t roots = last - first, chunk = std::clamp<size_t>(roots / (1024 * threads), 1, 256);
  parallel_chunks(roots, chunk, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
                    uint32_t owner = graph.graph_of(static_cast<uint32_t>(first + begin));
                    for (auto root = static_cast<uint32_t>(first + begin); root < first + end && !stop; ++root) {
                      while (root >= graph.end_of(owner)) ++owner;
                      walkers[thread].from(
                          root, graph.begin_of(owner),
                          [&](auto members, auto extension) { visit(thread, root, members, extension); }, stop);
                    }
                  });
}

template <class Visit>
void walk(const Graph& graph, int k, int threads, const KeepGoing& keep_going, Visit&& visit) {
  walk(graph, k, 0, static_cast<uint32_t>(graph.nodes()), threads, keep_going, std::forward<Visit>(visit));
}

}  // namespace

uint64_t count_instances(const Graph& graph, int k, int threads, const KeepGoing& keep_going) {
  std::vector<uint64_t> counts(threads, 0);
  walk(graph, k, threads, keep_going,
       [&](int thread, uint32_t, auto, auto extension) { counts[thread] += extension.size(); });
  uint64_t sum = 0;
  for (uint64_t count : counts) add_checked(sum, count);
  return sum;
}

void enumerate(const Graph& graph, int k, int threads, const KeepGoing& keep_going, std::span<uint32_t> result) {
  // First pass: rows per root, so that every root knows where to write, whatever thread it falls to.
  std::vector<uint64_t> row(graph.nodes() + 1, 0);
  walk(graph, k, threads, keep_going,
       [&](int, uint32_t root, auto, auto extension) { row[root + 1] += extension.size(); });
  std::partial_sum(row.begin(), row.end(), row.begin());
  if (row.back() * k != result.size()) throw BadInput("there are more or fewer occurrences than room was made for");
  walk(graph, k, threads, keep_going, [&](int, uint32_t root, auto members, auto extension) {
    for (uint32_t last : extension) {
      uint32_t* out = result.data() + row[root]++ * k;
      std::transform(members.begin(), members.end(), out, [&](uint32_t node) { return graph.original(node); });
      out[k - 1] = graph.original(last);
      std::sort(out, out + k);
    }
  });
}

Block enumerate_block(const Graph& graph, int k, Place from, size_t most, int threads, const KeepGoing& keep_going) {
  if (most < 1) throw BadInput("a block holds one occurrence at least");
  const auto nodes = static_cast<uint32_t>(graph.nodes());
  Block block;
  block.next = from;
  if (from.root >= nodes) return block;
  // Most roots have a few occurrences, so that no more roots than these are looked at.
  const auto looked = static_cast<uint32_t>(std::min<uint64_t>(nodes, uint64_t{from.root} + most / 3 + 1));
  std::vector<uint64_t> row(looked - from.root + 1, 0);  // where the rows of each root begin
  walk(graph, k, from.root, looked, threads, keep_going,
       [&](int, uint32_t root, auto, auto extension) { row[root - from.root + 1] += extension.size(); });
  row[1] -= std::min(row[1], from.skip);
  uint32_t last = from.root;
  uint64_t rows = 0;
  while (last < looked && rows + row[last - from.root + 1] <= most) rows += row[++last - from.root];
  if (last < nodes) {  // to where a graph begins, if it has not begun in an earlier block
    const uint32_t begin = graph.begin_of(graph.graph_of(last));
    if (begin > from.root) {
      for (; last > begin; --last) rows -= row[last - from.root];
    }
  }
  std::partial_sum(row.begin(), row.end(), row.begin());
  auto write = [&](uint32_t* out, auto members, uint32_t end) {
    std::transform(members.begin(), members.end(), out, [&](uint32_t node) { return graph.original(node); });
    out[k - 1] = graph.original(end);
    std::sort(out, out + k);
  };
  if (last == from.root) {  // not even one root: a part of it
    block.occurrences.resize(most * k);
    uint64_t met = 0;
    walk(graph, k, from.root, from.root + 1, 1, keep_going, [&](int, uint32_t, auto members, auto extension) {
      const uint64_t before = met;
      met += extension.size();
      const uint64_t begin = std::max(before, from.skip), end = std::min(met, from.skip + most);
      for (uint64_t i = begin; i < end; ++i) {
        write(block.occurrences.data() + (i - from.skip) * k, members, extension[i - before]);
      }
    });
    block.next = {from.root, from.skip + most};
    return block;
  }
  block.occurrences.resize(rows * k);
  uint64_t skip = from.skip;  // of the first root, which one thread does
  walk(graph, k, from.root, last, threads, keep_going, [&](int, uint32_t root, auto members, auto extension) {
    uint64_t dropped = 0;
    if (root == from.root) {
      dropped = std::min<uint64_t>(skip, extension.size());
      skip -= dropped;
    }
    for (uint64_t i = dropped; i < extension.size(); ++i) {
      write(block.occurrences.data() + row[root - from.root]++ * k, members, extension[i]);
    }
  });
  block.next = {last, 0};
  return block;
}

}  // namespace grade
