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

// Calls visit(thread, root, members, extension) for all (k-1)-subgraphs; k >= 2.
template <class Visit>
void walk(const Graph& graph, int k, int threads, const KeepGoing& keep_going, Visit&& visit) {
  if (k < 2 || k > kMaxSize) throw BadInput("k must be from 2 to 16");
  std::vector<Walker> walkers(threads, Walker(graph, k));
  const size_t chunk = std::clamp<size_t>(graph.nodes() / (1024 * threads), 1, 256);
  parallel_chunks(graph.nodes(), chunk, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
                    uint32_t owner = graph.graph_of(static_cast<uint32_t>(begin));
                    for (uint32_t root = begin; root < end && !stop; ++root) {
                      while (root >= graph.end_of(owner)) ++owner;
                      walkers[thread].from(
                          root, graph.begin_of(owner),
                          [&](auto members, auto extension) { visit(thread, root, members, extension); }, stop);
                    }
                  });
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

Block enumerate_block(const Graph& graph, int k, uint32_t first, size_t most, const KeepGoing& keep_going) {
  if (k < 2 || k > kMaxSize) throw BadInput("k must be from 2 to 16");
  Block block;
  block.next = first;
  if (first >= graph.nodes()) return block;
  Walker walker(graph, k);
  // One unit of work for the one thread that does it, so that the caller's signals are looked at meanwhile.
  parallel_chunks(1, 1, 1, keep_going, [&](int, size_t, size_t, const std::atomic<bool>& stop) {
    uint32_t owner = graph.graph_of(first);
    for (; block.next < graph.nodes() && block.occurrences.size() < most * k && !stop; ++block.next) {
      while (block.next >= graph.end_of(owner)) ++owner;
      walker.from(block.next, graph.begin_of(owner), [&](auto members, auto extension) {
        for (uint32_t last : extension) {
          const auto at = static_cast<int64_t>(block.occurrences.size());
          for (uint32_t node : members) block.occurrences.push_back(graph.original(node));
          block.occurrences.push_back(graph.original(last));
          std::sort(block.occurrences.begin() + at, block.occurrences.end());
        }
      }, stop);
    }
  });
  return block;
}

}  // namespace grade
