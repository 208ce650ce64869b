#include "orders.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "graph.hpp"

namespace grade {

OrderCounts count_orders(int k, std::span<const uint8_t> edges) {
  std::array<uint32_t, kMaxSize> reach{};  // bit j: j can be reached from i
  for (int i = 0; i < k; ++i) {
    for (int j = 0; j < k; ++j) {
      if (i != j && edges[i * k + j]) reach[i] |= 1u << j;
    }
  }
  for (int via = 0; via < k; ++via) {
    for (int i = 0; i < k; ++i) {
      if (reach[i] >> via & 1) reach[i] |= reach[via];
    }
  }
  std::array<uint32_t, kMaxSize> before{};  // nodes that must precede i
  for (int i = 0; i < k; ++i) {
    for (int j = 0; j < k; ++j) {
      if ((reach[j] >> i & 1) && !(reach[i] >> j & 1)) before[i] |= 1u << j;
    }
  }

  // ways[set] = number of orders of a set that is closed under `before`; other sets keep 0.
  std::vector<int64_t> ways(size_t{1} << k, 0);
  ways[0] = 1;
  for (uint32_t set = 0; set < ways.size(); ++set) {
    if (ways[set] == 0) continue;
    for (int i = 0; i < k; ++i) {
      if (!(set >> i & 1) && (before[i] & ~set) == 0) ways[set | 1u << i] += ways[set];
    }
  }

  // level(v) = longest chain of predecessors; nodes of one component share their predecessors, so their level.
  std::array<int, kMaxSize> level{}, width{};
  for (int round = 0; round < k; ++round) {
    for (int i = 0; i < k; ++i) {
      for (uint32_t rest = before[i]; rest; rest &= rest - 1) {
        level[i] = std::max(level[i], level[std::countr_zero(rest)] + 1);
      }
    }
  }
  int64_t level_orders = 1;
  for (int i = 0; i < k; ++i) level_orders *= ++width[level[i]];
  return {ways.back(), level_orders};
}

}  // namespace grade
