#include "ars.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace grade {
namespace {

// log C(n, k)
double log_choose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

std::vector<double> graph_weights(const Graph& graph, int k, Weighting weighting) {
  const std::vector<uint32_t> largest = largest_components(graph, component_sizes(graph));
  const double top = log_choose(graph.largest(), k);
  std::vector<double> weights(graph.graphs(), 0.0);
  for (size_t g = 0; g < graph.graphs(); ++g) {
    if (largest[g] < static_cast<uint32_t>(k)) continue;
    if (weighting == Weighting::kOccurrences) {
      weights[g] = std::exp(log_choose(graph.end_of(g) - graph.begin_of(g), k) - top);
    } else if (weighting == Weighting::kGraphs) {
      weights[g] = 1;
    } else {
      for (uint32_t node = graph.begin_of(g); node < graph.end_of(g); ++node) {
        for (const Neighbour& n : graph.neighbours(node)) weights[g] += graph.arc_class(graph.arc(n)).outward != 0;
      }
    }
  }
  return weights;
}

// One thread's attempts.
class Attempt {
 public:
  Attempt(const Graph& graph, int k) : graph_(graph), k_(k), member_(graph.largest(), false) {}

  // k random nodes of the graph `owner` (by Floyd's algorithm: every subset is equally likely). Are they connected?
  bool operator()(uint32_t owner, Random& random) {
    const uint32_t first = graph_.begin_of(owner), nodes = graph_.end_of(owner) - first;
    for (int i = 0; i < k_; ++i) {
      const uint32_t last = nodes - static_cast<uint32_t>(k_ - i);
      uint32_t local = static_cast<uint32_t>(random.below(last + 1));
      if (member_[local]) local = last;
      member_[local] = true;
      members_[i] = first + local;
    }
    int reached = 1;  // members_[0, reached) are connected; the marks of the reached are cleared
    std::array<uint32_t, kMaxSize> queue;
    queue[0] = members_[0];
    member_[members_[0] - first] = false;
    for (int i = 0; i < reached && reached < k_; ++i) {
      for (const Neighbour& n : graph_.neighbours(queue[i])) {
        if (!member_[n.node - first]) continue;
        member_[n.node - first] = false;
        queue[reached++] = n.node;
      }
    }
    for (int i = 0; i < k_; ++i) member_[members_[i] - first] = false;
    return reached == k_;
  }

  const std::array<uint32_t, kMaxSize>& members() const { return members_; }

 private:
  const Graph& graph_;
  const int k_;
  std::vector<uint8_t> member_;  // [local node]
  std::array<uint32_t, kMaxSize> members_{};
};

}  // namespace

ArsReport ars(const Graph& graph, int k, Weighting weighting, uint64_t seed, uint64_t stream, uint64_t most_attempts,
              int threads, const KeepGoing& keep_going, std::span<uint32_t> result) {
  const size_t count = result.size() / k;
  const std::vector<double> weights = graph_weights(graph, k, weighting);
  const WeightedChoice choose(weights);
  std::vector<uint32_t> owners;  // fixed for each draw when every graph counts the same
  if (weighting == Weighting::kGraphs) {
    std::vector<uint32_t> eligible;
    for (uint32_t g = 0; g < weights.size(); ++g) {
      if (weights[g] > 0) eligible.push_back(g);
    }
    owners = shared_out(eligible, count, Random{seed, stream, 1});
  }

  std::vector<Random> generators;
  generators.reserve(count);
  for (size_t i = 0; i < count; ++i) generators.push_back(Random{seed, stream, 0, i});
  std::vector<size_t> open(count);  // draws without a connected subgraph so far
  std::iota(open.begin(), open.end(), size_t{0});
  std::vector<uint8_t> accepted(count, 0);
  std::vector<Attempt> attempts(threads, Attempt(graph, k));
  ArsReport report{0, 0, false};

  // In rounds, each twice as long, so that a hopeless request is known after a few of them.
  for (uint64_t tries = 16; !open.empty(); tries = std::min<uint64_t>(2 * tries, 1 << 20)) {
    std::vector<uint64_t> used(threads, 0);
    parallel_chunks(
        open.size(), 64, threads,
        [&](double) { return !keep_going || keep_going(double(report.accepted) / double(count)); },
        [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
          Attempt& attempt = attempts[thread];
          for (size_t at = begin; at < end && !stop; ++at) {
            const size_t i = open[at];
            Random& random = generators[i];
            for (uint64_t t = 0; t < tries && !accepted[i]; ++t) {
              accepted[i] = attempt(owners.empty() ? choose(random) : owners[i], random);
              ++used[thread];
            }
            if (!accepted[i]) continue;
            uint32_t* row = result.data() + i * k;
            std::transform(attempt.members().begin(), attempt.members().begin() + k, row,
                           [&](uint32_t node) { return graph.original(node); });
            std::sort(row, row + k);
          }
        });
    std::erase_if(open, [&](size_t i) { return accepted[i]; });
    report.attempts += std::accumulate(used.begin(), used.end(), uint64_t{0});
    report.accepted = count - open.size();
    const double each = double(report.attempts) / double(std::max<uint64_t>(report.accepted, 1));
    if (!open.empty() && double(report.attempts) + each * double(open.size()) > double(most_attempts)) {
      report.hopeless = true;
      return report;
    }
  }
  return report;
}

}  // namespace grade
