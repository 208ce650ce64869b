// The null model `levels`: what `degrees` keeps, and the number of edges from each level to each other, so that a layered
// architecture stays layered. The level of a node is the length of the longest path that ends there in the graph
// that was observed; strongly connected nodes share a level. Edges that lead upwards stay so, so no cycle can arise
// that was not there, and no order has to be kept.
#include <algorithm>

#include "null_switching.hpp"

namespace grade {
namespace {

// Tarjan's algorithm without recursion: components come out in the reverse of a topological order.
std::vector<uint32_t> levels_of(const Slots& slots) {
  const uint32_t nodes = slots.nodes();
  constexpr uint32_t kNew = UINT32_MAX;
  std::vector<uint32_t> index(nodes, kNew), low(nodes, 0), next(nodes, 0), component(nodes, kNew), stack, path, order;
  uint32_t last = 0, components = 0;
  for (uint32_t root = 0; root < nodes; ++root) {
    if (index[root] != kNew) continue;
    path.assign(1, root);
    while (!path.empty()) {
      const uint32_t node = path.back();
      if (index[node] == kNew) {
        index[node] = low[node] = last++;
        next[node] = slots.out_begin(node);
        stack.push_back(node);
      }
      bool deeper = false;
      for (; next[node] < slots.out_end(node) && !deeper; ++next[node]) {
        const uint32_t target = slots.target(next[node]);
        if (index[target] == kNew) {
          path.push_back(target);
          deeper = true;
          break;
        }
        if (component[target] == kNew) low[node] = std::min(low[node], index[target]);
      }
      if (deeper) continue;
      path.pop_back();
      if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[node]);
      if (low[node] != index[node]) continue;
      uint32_t member;
      do {
        member = stack.back();
        stack.pop_back();
        component[member] = components;
        order.push_back(member);
      } while (member != node);
      ++components;
    }
  }
  std::vector<uint32_t> level_of(components, 0);
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    const uint32_t own = component[*node];
    for (uint32_t slot = slots.out_begin(*node); slot < slots.out_end(*node); ++slot) {
      const uint32_t other = component[slots.target(slot)];
      if (other != own) level_of[other] = std::max(level_of[other], level_of[own] + 1);
    }
  }
  std::vector<uint32_t> levels(nodes);
  for (uint32_t node = 0; node < nodes; ++node) levels[node] = level_of[component[node]];
  return levels;
}

}  // namespace

std::unique_ptr<NullChain> levels_chain(const NullGraph& graph, const NullOptions& options) {
  const NullOptions free{true, options.keep_pairs};
  return std::make_unique<SwitchChain>(graph, free, levels_of(Slots(graph, false)));
}

}  // namespace grade
