#include "classify.hpp"

#include <algorithm>

namespace grade {
namespace {

constexpr size_t kHub = 32;                 // longer neighbour lists are not walked
constexpr size_t kBlock = 4096;            // occurrences that a thread classifies at a time

}  // namespace

void InducedSubgraph::operator()(std::span<const uint32_t> nodes, SmallGraph& result) {
  const int k = static_cast<int>(nodes.size());
  const uint32_t graph = graph_.graph_of(nodes[0]);
  const uint32_t begin = graph_.begin_of(graph), end = graph_.end_of(graph);
  result.k = k;
  std::fill_n(result.edges.begin(), k * k, uint8_t{0});
  bool legal = true;
  int marked = 0;
  for (; marked < k && legal; ++marked) {
    legal = nodes[marked] >= begin && nodes[marked] < end && place_[nodes[marked] - begin] == 0;
    if (!legal) break;
    place_[nodes[marked] - begin] = static_cast<uint8_t>(marked + 1);
  }
  auto connect = [&](int i, int j, uint32_t arc) {
    result.edges[i * k + j] = graph_.arc_class(arc).outward;
    result.edges[j * k + i] = graph_.arc_class(arc).inward;
  };
  for (int i = 0; legal && i < k; ++i) {
    const NodeClass& node = graph_.node_class(graph_.class_of(nodes[i]));
    result.types[i] = node.type;
    result.edges[i * k + i] = node.loop;
    const auto list = graph_.neighbours(nodes[i]);
    if (list.size() <= kHub) {
      for (const Neighbour& n : list) {
        if (const int place = place_[n.node - begin]) connect(i, place - 1, graph_.arc(n));
      }
      continue;
    }
    for (int j = 0; j < i; ++j) {  // a hub is found from its small neighbours, and from other hubs like this
      if (graph_.degree(nodes[j]) <= kHub) continue;
      const auto at = std::lower_bound(list.begin(), list.end(), nodes[j],
                                       [](const Neighbour& n, uint32_t node) { return n.node > node; });
      if (at != list.end() && at->node == nodes[j]) connect(i, j, graph_.arc(*at));
    }
  }
  for (int i = 0; i < marked; ++i) place_[nodes[i] - begin] = 0;
  if (!legal) throw BadInput("the nodes of an occurrence must be distinct and lie in one graph");
}

uint32_t Classifier::operator()(std::span<const uint32_t> ids) {
  std::array<uint32_t, kMaxSize> nodes;
  for (int j = 0; j < k_; ++j) {
    if (ids[j] >= graph_.nodes()) throw BadInput("an occurrence names a node that the graph set does not have");
    nodes[j] = graph_.renumbered(ids[j]);
  }
  std::sort(nodes.begin(), nodes.begin() + k_);  // one way to write a node set: more hits in the memo
  induced_({nodes.data(), size_t(k_)}, raw_);
  if (memo_.size() >= remembered_) {
    memo_ = PatternMap(k_);
    pattern_of_raw_.clear();
  }
  const auto [raw_id, fresh] = memo_.insert(raw_);
  if (fresh) {
    const CanonicalForm form = canonicalize_(raw_);
    const auto [id, new_pattern] = patterns_.insert(reordered(raw_, form.order));
    if (new_pattern) automorphisms_.push_back(form.automorphisms);
    pattern_of_raw_.push_back(id);
  }
  return pattern_of_raw_[raw_id];
}

SharedPatterns numbered_together(std::span<const Classifier> classifiers, int k) {
  PatternMap met(k);
  std::vector<uint64_t> automorphisms;
  std::vector<std::vector<uint32_t>> number(classifiers.size());
  for (size_t i = 0; i < classifiers.size(); ++i) {
    const PatternMap& own = classifiers[i].patterns();
    for (uint32_t id = 0; id < own.size(); ++id) {
      const auto [shared, fresh] = met.insert(own.at(id));
      if (fresh) automorphisms.push_back(classifiers[i].automorphisms()[id]);
      number[i].push_back(shared);
    }
  }
  SharedPatterns result{PatternMap(k), {}, std::move(number)};
  const std::vector<uint32_t> order = met.sorted();
  std::vector<uint32_t> place(order.size());
  for (uint32_t row = 0; row < order.size(); ++row) {
    place[order[row]] = row;
    result.patterns.insert(met.at(order[row]));
    result.automorphisms.push_back(automorphisms[order[row]]);
  }
  for (std::vector<uint32_t>& numbers : result.number) {
    for (uint32_t& id : numbers) id = place[id];
  }
  return result;
}

Classification classify(const Graph& graph, int k, std::span<const uint32_t> occurrences, int threads,
                        const KeepGoing& keep_going) {
  const size_t n = occurrences.size() / k;
  std::vector<Classifier> classifiers(threads, Classifier(graph, k));
  std::vector<uint32_t> ids(n);
  std::vector<uint32_t> classifier_of((n + kBlock - 1) / kBlock);
  parallel_chunks(n, kBlock, threads, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
                    classifier_of[begin / kBlock] = static_cast<uint32_t>(thread);
                    for (size_t i = begin; i < end && !stop; ++i) {
                      ids[i] = classifiers[thread](occurrences.subspan(i * k, k));
                    }
                  });
  SharedPatterns shared = numbered_together(classifiers, k);
  for (size_t i = 0; i < n; ++i) ids[i] = shared.number[classifier_of[i / kBlock]][ids[i]];
  return {std::move(ids), std::move(shared.patterns), std::move(shared.automorphisms)};
}

}  // namespace grade
