#include "priorities.hpp"

#include <algorithm>
#include <numeric>

#include "graph.hpp"
#include "random.hpp"

namespace grade {

double uniform_of(std::span<const uint32_t> nodes, uint64_t seed, uint32_t first_node) {
  const uint64_t key = mixed(seed + kGolden);
  uint64_t sum = 0;
  for (uint32_t node : nodes) sum += mixed(first_node + node + key);
  return (static_cast<double>(mixed(sum) >> 11) + 1) * 0x1p-53;
}

void hash_node_sets(int k, std::span<const uint32_t> occurrences, uint64_t seed, std::span<double> result) {
  for (size_t row = 0; row < result.size(); ++row) result[row] = uniform_of(occurrences.subspan(row * k, k), seed);
}

Thinned thin_lists(int k, std::span<const int64_t> offsets, std::span<const uint32_t> occurrences,
                   std::span<const double> weights, size_t most, uint64_t seed, int threads,
                   const KeepGoing& keep_going) {
  const auto rows = static_cast<int64_t>(weights.size());
  if (offsets.empty() || occurrences.size() != weights.size() * k) throw BadInput("every occurrence needs a weight");
  if (most < 1) throw BadInput("a list keeps one occurrence at least");
  std::vector<int64_t> begin_of(offsets.size(), 0);  // where the kept rows of each list go
  for (size_t list = 0; list + 1 < offsets.size(); ++list) {
    if (offsets[list] < 0 || offsets[list] > offsets[list + 1] || offsets[list + 1] > rows) {
      throw BadInput("the offsets do not fit the occurrences");
    }
    begin_of[list + 1] = begin_of[list] + std::min<int64_t>(offsets[list + 1] - offsets[list], most);
  }
  Thinned result{std::vector<int64_t>(begin_of.back()), std::vector<double>(begin_of.back())};
  struct Room {
    std::vector<double> priority;
    std::vector<int64_t> order;
  };
  std::vector<Room> rooms(threads);
  parallel_chunks(offsets.size() - 1, 8, threads, keep_going,
                  [&](int thread, size_t first, size_t last, const std::atomic<bool>& stop) {
    auto& [priority, order] = rooms[thread];
    for (size_t list = first; list < last && !stop; ++list) {
      const int64_t begin = offsets[list], length = offsets[list + 1] - begin, kept = begin_of[list + 1] - begin_of[list];
      int64_t* const out = result.rows.data() + begin_of[list];
      double threshold = 0;
      if (kept == length) {
        std::iota(out, out + kept, begin);
      } else {
        priority.resize(length);
        order.resize(length);
        for (int64_t i = 0; i < length; ++i) {
          priority[i] = weights[begin + i] / uniform_of(occurrences.subspan((begin + i) * k, k), seed);
        }
        std::iota(order.begin(), order.end(), 0);
        std::nth_element(order.begin(), order.begin() + kept, order.end(), [&](int64_t a, int64_t b) {
          return priority[a] != priority[b] ? priority[a] > priority[b] : a < b;
        });
        threshold = priority[order[kept]];
        std::sort(order.begin(), order.begin() + kept);
        for (int64_t i = 0; i < kept; ++i) out[i] = begin + order[i];
      }
      for (int64_t i = 0; i < kept; ++i) {
        result.weights[begin_of[list] + i] = std::max(weights[out[i]], threshold);
      }
    }
  });
  return result;
}

}  // namespace grade
