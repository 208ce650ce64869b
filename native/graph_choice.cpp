#include "graph_choice.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace grade {

std::vector<uint32_t> component_sizes(const Graph& graph) {
  std::vector<uint32_t> sizes(graph.nodes(), 0), component;
  for (uint32_t start = 0; start < graph.nodes(); ++start) {
    if (sizes[start]) continue;
    component.assign(1, start);
    sizes[start] = 1;  // seen; the size follows
    for (size_t i = 0; i < component.size(); ++i) {
      for (const Neighbour& n : graph.neighbours(component[i])) {
        if (sizes[n.node]) continue;
        sizes[n.node] = 1;
        component.push_back(n.node);
      }
    }
    for (uint32_t node : component) sizes[node] = static_cast<uint32_t>(component.size());
  }
  return sizes;
}

std::vector<uint32_t> largest_components(const Graph& graph, const std::vector<uint32_t>& sizes) {
  std::vector<uint32_t> largest(graph.graphs(), 0);
  for (size_t g = 0; g < graph.graphs(); ++g) {
    for (uint32_t node = graph.begin_of(g); node < graph.end_of(g); ++node) {
      largest[g] = std::max(largest[g], sizes[node]);
    }
  }
  return largest;
}

WeightedChoice::WeightedChoice(const std::vector<double>& weights) : cumulative_(weights.size()) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) cumulative_[i] = sum += weights[i];
}

uint32_t WeightedChoice::operator()(Random& random) const {
  // A point below the total lies below the first cumulative weight that exceeds it, and that weight is not zero.
  const double point = random.uniform() * cumulative_.back();
  const auto at = std::upper_bound(cumulative_.begin(), cumulative_.end(), point);
  if (at != cumulative_.end()) return static_cast<uint32_t>(at - cumulative_.begin());
  return static_cast<uint32_t>(std::lower_bound(cumulative_.begin(), cumulative_.end(), cumulative_.back()) -
                               cumulative_.begin());  // rounding put the point on the total
}

std::vector<uint32_t> shared_out(const std::vector<uint32_t>& eligible, size_t count, Random random) {
  std::vector<uint32_t> owners;
  owners.reserve(count);
  for (size_t round = 0; round < count / eligible.size(); ++round) {
    owners.insert(owners.end(), eligible.begin(), eligible.end());
  }
  for (uint64_t place : random_places(eligible.size(), count - owners.size(), random)) {
    owners.push_back(eligible[place]);
  }
  for (size_t i = owners.size(); i > 1; --i) std::swap(owners[i - 1], owners[random.below(i)]);
  return owners;
}

std::vector<uint64_t> random_places(uint64_t total, uint64_t chosen, Random& random) {
  // Fisher and Yates's shuffle, as far as it is needed.
  std::vector<uint64_t> places;
  if (total <= 8 * chosen) {
    places.resize(total);
    std::iota(places.begin(), places.end(), uint64_t{0});
    for (uint64_t i = 0; i < chosen; ++i) std::swap(places[i], places[i + random.below(total - i)]);
    places.resize(chosen);
    return places;
  }
  std::unordered_map<uint64_t, uint64_t> moved;  // the same, but only places that differ from the identity are stored
  auto at = [&](uint64_t i) {
    const auto found = moved.find(i);
    return found == moved.end() ? i : found->second;
  };
  for (uint64_t i = 0; i < chosen; ++i) {
    const uint64_t j = i + random.below(total - i);
    places.push_back(at(j));
    if (j != i) moved[j] = at(i);
  }
  return places;
}

}  // namespace grade
