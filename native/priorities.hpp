// Priority sampling (Duffield, Lund and Thorup, 2007) of lists of weighted occurrences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel.hpp"

namespace grade {

// A number in (0, 1] from the seed and the node set of ids + first_node, whatever the order of the nodes.
double uniform_of(std::span<const uint32_t> nodes, uint64_t seed, uint32_t first_node = 0);

// The same of each of the node sets [n, k].
void hash_node_sets(int k, std::span<const uint32_t> occurrences, uint64_t seed, std::span<double> result);

struct Thinned {
  std::vector<int64_t> rows;    // kept ones, ascending
  std::vector<double> weights;  // of these
};

// Of each list, rows offsets[p] .. offsets[p + 1] - 1 of [n, k], the `most` of the highest priority w / u, each with
// weight max(w, t), where t is the next priority. Equal priorities rank by row.
Thinned thin_lists(int k, std::span<const int64_t> offsets, std::span<const uint32_t> occurrences,
                   std::span<const double> weights, size_t most, uint64_t seed, int threads,
                   const KeepGoing& keep_going);

}  // namespace grade
