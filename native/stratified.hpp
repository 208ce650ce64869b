// Stratified growth: occurrences of every pattern, rare ones all of them.
//
// From the connected pairs on, each level grows the kept occurrences by every adjacent node and keeps at most M of each
// pattern, so that patterns and not occurrences share the room. Where all occurrences of a pattern are kept, all those
// of any larger pattern that holds it are found: its count is exact.
//
// Weights. Let A_1 .. A_s be the connected patterns that C less one node can be, one for each node that can go, and
// alpha_1 .. alpha_s weights that depend on C alone and add up to 1. An occurrence O of C that was grown from kept
// occurrences O - u gets the sum of their alpha_u w(O - u). If every kept list estimates its pattern without bias, so
// does the list of C. Here alpha follows how well each A was covered in a pilot run with another seed: alpha_u is
// in proportion to 1 / (1 / share - 1), share being that of the occurrences that were kept, and only patterns that
// were kept completely count where there is one.
//
// Lists are thinned by priority sampling (Duffield, Lund and Thorup 2007): each occurrence has the priority W / u with u
// uniform in (0, 1] by a hash of its nodes; those with the M largest are kept with the weight max(W, tau), tau being the
// largest that was dropped. It is unbiased, and what matters stays.
//
// These estimates have no bound on their error. So counts that are not exact are made anew from the complete lists of
// smaller patterns (rooted_counts.hpp), exactly or with a bound, where that takes a bounded number of steps.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"
#include "parallel.hpp"
#include "pattern_map.hpp"
#include "rooted_counts.hpp"

namespace grade {

struct StratifiedSample {
  std::vector<uint32_t> members;  // [n, k] ids of the graph set, ascending
  std::vector<double> weights;    // [n] those of a pattern add up to its estimated count
  std::vector<uint32_t> pattern;  // [n]
  PatternMap patterns;            // canonical forms, in the order of their codes
  std::vector<uint64_t> automorphisms;
  std::vector<double> counts;     // [patterns] estimated
  std::vector<Quality> quality;   // [patterns] of the counts
};

// About `room` occurrences are kept on each level; the lists of all patterns are as long, where they are not complete.
// `hits` are the embeddings drawn for a count with a bound; with 0 there are none of these.
StratifiedSample stratified_sample(const Graph& graph, int k, size_t room, uint64_t hits, uint64_t seed,
                                   uint64_t stream, int threads, const KeepGoing& keep_going);

}  // namespace grade
