#include "rand_esu.hpp"

#include <algorithm>
#include <array>

#include "population.hpp"

namespace grade {
namespace {

constexpr uint64_t kMostPasses = 2'000;
constexpr size_t kLeastLeaves = 500;       // to choose from, so that even a single draw is as good as uniform
constexpr size_t kGraphCapacity = 4'096;  // the least for the walk through one graph

// Enough leaves below the roots of one stratum (the whole set, or one graph) and a random choice among them.
class Stratum {
 public:
  Stratum(const Graph& graph, const TreeRequest& request, uint32_t first, uint32_t last, size_t capacity)
      : graph_(graph), request_(request), first_(first), last_(last), capacity_(capacity) {}

  // Passes that reach `count` leaves; false when that would take for ever.
  //
  // Stopping at the pass that brings enough would favour large passes, and so bias every estimate upwards. Where one
  // planned pass is not enough, a first series therefore only tells how many passes it takes, and is thrown away. The
  // second series has that fixed number: each of its passes estimates without bias, and so does their mean.
  bool gather(size_t count, const Crew& crew) {
    const auto certain = [](double p) { return p == 1; };
    const bool planned = std::all_of(request_.probabilities.begin(), request_.probabilities.end(), certain);
    Leaves first = walk(0, crew);
    // A pass that reached every leaf need not be walked again.
    const bool complete = std::all_of(first.probabilities.begin(), first.probabilities.end(), certain);
    if (complete && first.size()) copies_ = (count + first.size() - 1) / first.size();
    if ((complete && first.size()) || (planned && first.size() >= count)) {
      leaves_ = first.size() * copies_;
      passes_.push_back(std::move(first));
      return true;
    }
    uint64_t pass = 1, reached = first.size();
    const size_t ample = std::max(2 * count, kLeastLeaves);
    while (reached < ample && (pass < kMostPasses || reached < 2 * count)) {
      if (pass >= 64 && hopeless(count, pass, reached)) {
        passes_.push_back(std::move(first));
        leaves_ = reached;
        return false;
      }
      reached += walk(pass++, crew).size();
    }
    const uint64_t series = pass;
    for (uint64_t made = 0; made < series || leaves_ < count; ++made) {  // twice enough is all but never too few
      if (made >= 64 && hopeless(count, made, leaves_)) return false;
      passes_.push_back(walk(pass++, crew));
      leaves_ += passes_.back().size();
    }
    return true;
  }

  // visit(members, weight) for `count` of the leaves in random order. With these weights the sum over the choice
  // estimates the sum over all occurrences without bias.
  template <class Visit>
  void choose(size_t count, Visit&& visit) const {
    Random random{request_.seed, request_.stream, first_, 2};
    const double passes = static_cast<double>(this->passes());
    const double share = static_cast<double>(count) / static_cast<double>(leaves_);
    for (uint64_t place : random_places(leaves_, count, random)) {
      auto pass = passes_.begin();
      for (; copies_ == 1 && place >= pass->size(); ++pass) place -= pass->size();
      place %= pass->size();
      visit(std::span<const uint32_t>(pass->members).subspan(place * request_.k, request_.k),
            pass->weight / (passes * share));
    }
  }

  uint64_t leaves() const { return leaves_; }
  uint64_t passes() const { return passes_.size() * copies_; }
  const std::vector<double>& probabilities() const { return passes_.front().probabilities; }

 private:
  Leaves walk(uint64_t pass, const Crew& crew) const {
    const std::array<uint64_t, 3> names{request_.seed, request_.stream, pass << 32 | first_};
    return walk_tree(graph_, first_, last_, request_.k, {request_.probabilities, capacity_}, names, crew);
  }

  static bool hopeless(size_t count, uint64_t passes, uint64_t leaves) {
    return static_cast<double>(count) * static_cast<double>(passes) >
           static_cast<double>(kMostPasses) * static_cast<double>(std::max<uint64_t>(leaves, 1));
  }

  const Graph& graph_;
  const TreeRequest& request_;
  const uint32_t first_, last_;
  const size_t capacity_;
  std::vector<Leaves> passes_;
  uint64_t copies_ = 1;  // of every pass: more than 1 only for one that reached every leaf
  uint64_t leaves_ = 0;
};

void from_whole_set(const Graph& graph, const TreeRequest& request, const KeepGoing& keep_going, TreeSample& sample) {
  Stratum stratum(graph, request, 0, static_cast<uint32_t>(graph.nodes()), request.capacity);
  sample.hopeless = !stratum.gather(request.count, {request.threads, &keep_going});
  sample.leaves = stratum.leaves();
  sample.passes = stratum.passes();
  sample.probabilities = stratum.probabilities();
  if (sample.hopeless) return;
  stratum.choose(request.count, [&](std::span<const uint32_t> members, double weight) {
    sample.members.insert(sample.members.end(), members.begin(), members.end());
    sample.weights.push_back(weight);
  });
}

void from_each_graph(const Graph& graph, const TreeRequest& request, const KeepGoing& keep_going, TreeSample& sample) {
  const std::vector<uint32_t> largest = largest_components(graph, component_sizes(graph));
  std::vector<uint32_t> eligible;
  for (uint32_t g = 0; g < graph.graphs(); ++g) {
    if (largest[g] >= static_cast<uint32_t>(request.k)) eligible.push_back(g);
  }
  const std::vector<uint32_t> owners = shared_out(eligible, request.count, Random{request.seed, request.stream, 1});
  std::vector<std::vector<size_t>> rows(graph.graphs());
  for (size_t i = 0; i < owners.size(); ++i) rows[owners[i]].push_back(i);
  std::erase_if(eligible, [&](uint32_t g) { return rows[g].empty(); });
  sample.members.resize(request.count * request.k);
  sample.weights.assign(request.count, 1.0);
  std::atomic<uint64_t> leaves{0}, passes{0};
  std::atomic<bool> hopeless{false};
  const size_t chunk = std::clamp<size_t>(eligible.size() / (64 * request.threads), 1, 256);
  parallel_chunks(eligible.size(), chunk, request.threads, keep_going,
                  [&](int, size_t begin, size_t end, const std::atomic<bool>& stop) {
                    for (size_t at = begin; at < end && !stop && !hopeless; ++at) {
                      const uint32_t g = eligible[at];
                      const size_t wanted = rows[g].size(), capacity = std::max(4 * wanted, kGraphCapacity);
                      Stratum stratum(graph, request, graph.begin_of(g), graph.end_of(g), capacity);
                      if (!stratum.gather(wanted, Crew{0})) hopeless = true;
                      leaves += stratum.leaves();
                      passes += stratum.passes();
                      if (hopeless) return;
                      size_t next = 0;
                      stratum.choose(wanted, [&](std::span<const uint32_t> members, double) {
                        std::copy(members.begin(), members.end(), sample.members.begin() + rows[g][next++] * request.k);
                      });
                    }
                  });
  sample.hopeless = hopeless;
  sample.leaves = leaves;
  sample.passes = passes;
}

}  // namespace

TreeSample rand_esu(const Graph& graph, const TreeRequest& request, const KeepGoing& keep_going) {
  TreeSample sample;
  const bool each = request.weighting == Weighting::kGraphs;
  (each ? from_each_graph : from_whole_set)(graph, request, keep_going, sample);
  return sample;
}

}  // namespace grade
