// Neighbours of all occurrences of each pattern, which tell how often it is a part of something larger.
#pragma once

#include "census.hpp"

namespace grade {

// For each class of connected induced k-subgraphs, the sum over its occurrences of the number of nodes outside that
// are adjacent to it; classes whose occurrences have none are left out. Every occurrence and one of its neighbours
// are a connected subgraph of k + 1 nodes.
PatternCounts neighbours(const Graph& graph, int k, int threads, const KeepGoing& keep_going);

}  // namespace grade
