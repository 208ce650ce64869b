#include "blocks_order.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "random.hpp"

namespace grade {
namespace {

constexpr int kSteps = 4, kRounds = 3;

uint64_t edge_colour(uint64_t colour, uint32_t label, uint64_t side) {
  return mixed(colour + 0x9E3779B97F4A7C15ull * (2ull * label + side + 1));
}

uint64_t above(const BlockGraph& graph, std::span<const uint64_t> colours, uint32_t node) {
  uint64_t sum = 0;
  for (int64_t e = graph.in_offsets[node]; e < graph.in_offsets[node + 1]; ++e) {
    sum += edge_colour(colours[graph.in_sources[e]], graph.in_labels[e], 0);
  }
  return mixed(sum);
}

uint64_t below(const BlockGraph& graph, std::span<const uint64_t> colours, uint32_t node) {
  uint64_t sum = 0;
  for (int64_t e = graph.out_offsets[node]; e < graph.out_offsets[node + 1]; ++e) {
    sum += edge_colour(colours[graph.out_targets[e]], graph.out_labels[e], 1);
  }
  return mixed(sum + 1);
}

std::vector<uint64_t> types_of(const BlockGraph& graph) {
  std::vector<uint64_t> colours(graph.nodes());
  for (uint32_t node = 0; node < graph.nodes(); ++node) {
    colours[node] = mixed(2ull * graph.types[node] + graph.closed[node]);
  }
  return colours;
}

// Fingerprints that compare nodes by what is near them first, below and above: eight bits for each side of each step. So
// equal regions are numbered alike wherever they lie.
std::vector<uint64_t> near_of(const BlockGraph& graph) {
  std::vector<uint64_t> up = types_of(graph), down = up, next(graph.nodes()), near(graph.nodes(), 0);
  for (int step = 0; step < kSteps; ++step) {
    for (uint32_t node = 0; node < graph.nodes(); ++node) next[node] = mixed(down[node] + below(graph, down, node));
    std::swap(down, next);
    for (uint32_t node = 0; node < graph.nodes(); ++node) next[node] = mixed(up[node] + above(graph, up, node));
    std::swap(up, next);
    for (uint32_t node = 0; node < graph.nodes(); ++node) near[node] = near[node] << 16 | down[node] >> 56 << 8 | up[node] >> 56;
  }
  return near;
}

// Fingerprints of the whole graph as seen from a node: each takes in what lies above it, then what lies below, several
// times.
std::vector<uint64_t> far_of(const BlockGraph& graph, std::span<const uint32_t> downward) {
  std::vector<uint64_t> colours = types_of(graph);
  for (int round = 0; round < kRounds; ++round) {
    for (uint32_t node : downward) colours[node] = mixed(colours[node] + above(graph, colours, node));
    for (size_t p = downward.size(); p-- > 0;) {
      const uint32_t node = downward[p];
      colours[node] = mixed(colours[node] + below(graph, colours, node));
    }
  }
  return colours;
}

// The nodes of one graph, each after all that lead to it.
void visit(const BlockGraph& graph, uint32_t begin, uint32_t end, std::span<const uint32_t> levels,
           std::span<const uint64_t> near, std::span<const uint64_t> far, std::vector<uint8_t>& seen, std::vector<uint32_t>& order) {
  std::vector<uint32_t> sinks;
  for (uint32_t node = begin; node < end; ++node) {
    if (graph.out_degree(node) == 0) sinks.push_back(node);
  }
  std::sort(sinks.begin(), sinks.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(levels[a], near[a], far[a], a) < std::tuple(levels[b], near[b], far[b], b);
  });
  struct Input {
    uint32_t label, level;
    uint64_t near, far;
    uint32_t node;
    auto operator<=>(const Input&) const = default;
  };
  std::vector<std::pair<uint32_t, bool>> waiting;
  std::vector<Input> inputs;
  for (auto sink = sinks.rbegin(); sink != sinks.rend(); ++sink) waiting.emplace_back(*sink, false);
  while (!waiting.empty()) {
    const auto [node, ready] = waiting.back();
    waiting.pop_back();
    if (ready) {
      order.push_back(node);
      continue;
    }
    if (seen[node]) continue;
    seen[node] = 1;
    waiting.emplace_back(node, true);
    inputs.clear();
    for (int64_t e = graph.in_offsets[node]; e < graph.in_offsets[node + 1]; ++e) {
      const uint32_t source = graph.in_sources[e];
      if (!seen[source]) inputs.push_back({graph.in_labels[e], levels[source], near[source], far[source], source});
    }
    std::sort(inputs.begin(), inputs.end());
    for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) waiting.emplace_back(input->node, false);
  }
}

// One list of neighbours as the nodes are numbered now; each node's neighbours ascend.
void renumber(std::span<const uint32_t> node_of, std::span<const uint32_t> number, std::span<const int64_t> offsets,
              std::span<const uint32_t> others, std::span<const uint32_t> labels, std::vector<int64_t>& new_offsets,
              std::vector<uint32_t>& new_others, std::vector<uint32_t>& new_labels) {
  new_offsets.assign(1, 0);
  new_offsets.reserve(node_of.size() + 1);
  new_others.reserve(others.size());
  new_labels.reserve(others.size());
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t node : node_of) {
    edges.clear();
    for (int64_t e = offsets[node]; e < offsets[node + 1]; ++e) edges.emplace_back(number[others[e]], labels[e]);
    std::sort(edges.begin(), edges.end());
    for (const auto& [other, label] : edges) {
      new_others.push_back(other);
      new_labels.push_back(label);
    }
    new_offsets.push_back(static_cast<int64_t>(new_others.size()));
  }
}

}  // namespace

std::vector<uint32_t> levels_or_nobody(const BlockGraph& graph) {
  std::vector<uint32_t> level(graph.nodes(), 0), open(graph.nodes()), ready;
  for (uint32_t node = 0; node < graph.nodes(); ++node) {
    open[node] = static_cast<uint32_t>(graph.in_offsets[node + 1] - graph.in_offsets[node]);
    if (open[node] == 0) ready.push_back(node);
  }
  for (size_t done = 0; done < ready.size(); ++done) {
    const uint32_t node = ready[done];
    for (int64_t e = graph.out_offsets[node]; e < graph.out_offsets[node + 1]; ++e) {
      const uint32_t target = graph.out_targets[e];
      level[target] = std::max(level[target], level[node] + 1);
      if (--open[target] == 0) ready.push_back(target);
    }
  }
  if (ready.size() < graph.nodes()) {
    for (uint32_t node = 0; node < graph.nodes(); ++node) {
      if (open[node] > 0) level[node] = kNobody;
    }
  }
  return level;
}

CanonicalOrder::CanonicalOrder(const BlockGraph& graph, std::span<const uint32_t> given_levels) {
  const size_t nodes = graph.nodes(), graphs = graph.node_offsets.size() - 1;
  std::vector<uint32_t> number(nodes);  // first the nodes by level
  {
    std::vector<uint32_t> starts(nodes ? *std::max_element(given_levels.begin(), given_levels.end()) + 2 : 1, 0);
    for (uint32_t level : given_levels) ++starts[level + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    for (uint32_t node = 0; node < nodes; ++node) number[starts[given_levels[node]]++] = node;
  }
  const std::vector<uint64_t> near = near_of(graph), far = far_of(graph, number);
  std::vector<uint64_t> sums(graphs, 0);
  for (size_t g = 0; g < graphs; ++g) {
    for (int64_t node = graph.node_offsets[g]; node < graph.node_offsets[g + 1]; ++node) sums[g] += mixed(far[node]);
  }
  std::vector<uint32_t> order(graphs);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return sums[a] < sums[b]; });
  graph_place.resize(graphs);
  node_of.reserve(nodes);
  node_offsets_.assign(1, 0);
  std::vector<uint8_t> seen(nodes, 0);
  for (uint32_t g : order) {
    graph_place[g] = static_cast<uint32_t>(node_offsets_.size() - 1);
    visit(graph, static_cast<uint32_t>(graph.node_offsets[g]), static_cast<uint32_t>(graph.node_offsets[g + 1]), given_levels, near, far,
          seen, node_of);
    node_offsets_.push_back(static_cast<int64_t>(node_of.size()));
  }
  for (uint32_t place = 0; place < nodes; ++place) {
    const uint32_t node = node_of[place];
    number[node] = place;
    types_.push_back(graph.types[node]);
    closed_.push_back(graph.closed[node]);
    levels.push_back(given_levels[node]);
  }
  renumber(node_of, number, graph.out_offsets, graph.out_targets, graph.out_labels, out_offsets_, out_targets_,
           out_labels_);
  renumber(node_of, number, graph.in_offsets, graph.in_sources, graph.in_labels, in_offsets_, in_sources_, in_labels_);
}

BlockGraph CanonicalOrder::graph() const {
  return {node_offsets_, types_, out_offsets_, out_targets_, out_labels_, in_offsets_, in_sources_, in_labels_, closed_};
}

}  // namespace grade
