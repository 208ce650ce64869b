// Sums that no test can reach by counting: they start just below 2^64, and the next count must be an error.
// The workers are private to their files, so these are included, with everything in them public.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#define private public
#include "neighbours.cpp"
#undef private

using namespace grade;

template <class Work>
bool is_refused(const char* name, const Work& work) {
  try {
    work();
  } catch (const TooLarge&) {
    return true;
  }
  std::printf("%s wraps round\n", name);
  return false;
}

int main() {
  // One edge, 0 -> 1.
  const std::vector<int64_t> nodes{0, 2}, out{0, 1, 1}, in{0, 0, 1};
  const std::vector<uint16_t> types{0, 0};
  const std::vector<uint32_t> targets{1}, sources{0};
  const std::vector<uint8_t> edge_types{1};
  const Graph graph(GraphArrays{nodes, types, out, targets, edge_types, in, sources, edge_types});

  SmallGraph one;
  one.k = 1;
  bool passed = is_refused("a sum of neighbours", [&] {
    NeighbourWorker<NarrowConn> worker(graph, 1);
    worker.sums_.assign(64, UINT64_MAX);
    worker.run(0, 2, std::atomic<bool>(false));
  });
  passed &= is_refused("a count of one thread", [&] {
    Tally tally(1);
    tally.add(one, UINT64_MAX);
    tally.add(one, 1);
  });
  passed &= is_refused("the counts of two threads", [&] {
    Tally a(1), b(1);
    a.add(one, uint64_t{1} << 63);
    b.add(one, uint64_t{1} << 63);
    a.add(b.result);
  });
  return passed ? 0 : 1;
}
