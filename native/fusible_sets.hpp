// All fusible node sets of one size (fusible.hpp), each met once.
//
// A fusible set S has one unit T where its results leave. Take away a unit of S, other than T, that no edge enters from
// S: what is left is fusible again. A path into that unit cannot come from S, every other unit still leads to T, and
// nothing new leaves. So S grows from T by units all of whose consumers are inside and none of whose nodes drains, and
// whatever grows so is fusible: what such a unit feeds lies inside, and a path from T back to it would close a cycle.
// A unit that may be added may still be added after others were. Hence each set is met once when every candidate is
// either taken or passed over for good. The work is in proportion to the number of sets; only wide fan-in (a
// concatenation of 90) makes that explode.
#pragma once

#include <cstdint>
#include <vector>

#include "expand.hpp"
#include "fusible.hpp"

namespace grade {

struct FusibleSets {
  std::vector<uint32_t> occurrences;  // [n, k] ascending ids of the graph set; graph by graph in a fixed order
  bool complete = true;               // false: there are more than asked for, and `occurrences` is empty
};

// The limits on types and degrees hold for every part of a set that satisfies them; the distance is not looked at.
FusibleSets list_fusible(const FusibleIndex& index, int k, size_t most, const GrowthLimits& limits, int threads,
                         const KeepGoing& keep_going);

}  // namespace grade
