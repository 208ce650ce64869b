// The ESU tree walked level by level with a bounded number of partial subgraphs: what Rand-ESU and Rand-FaSE share.
//
// A node of the tree is a connected subgraph of d nodes, and every connected k-subgraph is exactly one leaf. Rand-ESU
// enters a node of depth d with probability p_d; how many are entered grows with the product of degrees, and around
// hubs it explodes. Here all nodes of one depth are held together as a population. The number of their children is
// known before any of them is made, so p_d can be lowered to what makes about `capacity` of them: the work is at most
// k * capacity nodes, whatever the hubs do. (What was lowered at one depth is made up for at later ones where there is
// room, so that p_1 ... p_k is the product asked for or as near below it as the capacity allows.) Lowering p_d by what
// has been drawn so far leaves the weight 1 / (p_1 ... p_k) unbiased: given the population, each child has exactly the
// probability that its weight is divided by. All leaves of one walk have the same weight.
//
// The children of one node are chosen together, as many as the sum of their probabilities says, rounded up or down at
// random (systematic sampling): each still has exactly its probability, and the numbers vary less than with a coin
// for each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"
#include "parallel.hpp"

namespace grade {

struct TreePlan {
  std::span<const double> probabilities;  // [k] the p_d asked for; all 1 to let the capacity alone decide
  size_t capacity;                        // of the population of each depth
};

struct Leaves {
  std::vector<uint32_t> members;      // [n, k] core ids, those of a leaf in the order in which the tree adds them
  std::vector<double> probabilities;  // [k] the p_d that were used
  double weight = 1;                  // 1 / (p_1 ... p_k)
  size_t size() const { return members.size() / probabilities.size(); }
};

// Partial subgraphs of one depth in the order of the tree, so by ascending root.
struct Population {
  std::vector<uint32_t> members;  // [n, depth] in the order in which the tree adds them
  std::vector<uint32_t> heads;    // [n] where the extension set of each begins among its candidates
  uint64_t children = 0;          // of all of them together

  void append(const Population& other) {
    members.insert(members.end(), other.members.begin(), other.members.end());
    heads.insert(heads.end(), other.heads.begin(), other.heads.end());
    children += other.children;
  }
};

// How the children of one node are entered: one in every 1 / p, which spreads them, or each by itself, as published.
enum class Chance { kEven, kIndependent };

// Where the work is done: on so many threads, or in the calling thread for 0.
struct Crew {
  int threads;
  const KeepGoing* keep_going = nullptr;  // gets the share of the levels done
};

// The roots first .. last - 1 that are entered, each with probability p. `before`: roots of the walk that precede them,
// where the graph is a slice of the set that is walked through.
Population enter_roots(const Graph& graph, uint32_t first, uint32_t last, double p,
                       std::span<const uint64_t, 3> names, uint64_t before, Chance chance);

// The children that are entered, of partial subgraphs of `depth` nodes. `before`: of them those in slices that precede
// this one.
Population enter_children(const Graph& graph, const Population& population, size_t depth, double p, bool last_level,
                          std::span<const uint64_t, 3> names, uint64_t before, Chance chance, int threads,
                          const KeepGoing& keep_going);

// The leaves reached from the roots first .. last - 1: all nodes of one graph, or of several. `names` seed the
// generators.
Leaves walk_tree(const Graph& graph, uint32_t first, uint32_t last, int k, const TreePlan& plan,
                 std::span<const uint64_t, 3> names, const Crew& crew);

}  // namespace grade
