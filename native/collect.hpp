// Lists of weighted occurrences that come block by block: of each pattern the sums over all of them, and those of the
// highest priorities. Neither depends on the order or the size of the blocks, nor on the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "classify.hpp"
#include "exact_sum.hpp"
#include "graph.hpp"
#include "parallel.hpp"
#include "pattern_map.hpp"

namespace grade {

// What is known of one pattern.
struct Collected {
  std::vector<uint32_t> records;  // the listed ones: k ids, then weight and priority as pairs of words
  double floor = 0;               // no occurrence of a lower priority is wanted any more
  uint64_t met = 0;               // occurrences
  std::unique_ptr<ExactSum> counted, squared, per_node;  // sums of weights where these are not 1; of squares; by graph
  uint64_t covered = 0;           // nodes in some occurrence
  uint32_t graphs = 0, last_graph = UINT32_MAX;
  float divisor = 0;              // the weights that come are divided by this
  bool complete = false;          // all occurrences come: each has weight 1
  bool wanted = false;
  bool cover_known = true;
};

// What a collector knows, as arrays [patterns, ...]: those of collectors of several slices of a set make that of the whole.
struct CollectedArrays {
  std::span<const uint16_t> types;         // [n, k]
  std::span<const uint8_t> edges;          // [n, k, k]
  std::span<const int64_t> automorphisms;  // [n]
  std::span<const uint64_t> met, graphs, covered;
  std::span<const uint8_t> cover_known, complete;
  std::span<const uint64_t> counted, squared, per_node;  // [n, ExactSum::kWords]
  std::span<const int64_t> offsets;                      // [n + 1] of the listed ones
  std::span<const uint32_t> occurrences;                 // [rows, k] ids of the whole set
  std::span<const double> weights, priorities;           // [rows]
};

class Collector {
 public:
  // Lists hold `most` occurrences; fewer, the same for all, where patterns and lists would take more than `room` bytes.
  // `per_node` asks for sums over the graphs of the weights in each by its number of nodes. Priorities are of the ids +
  // first_node: those of a larger set of which the graph set is a slice.
  Collector(const Graph& graph, int k, size_t most, size_t room, uint64_t seed, bool per_node, uint32_t first_node,
            int threads);

  // Takes a block of occurrences [n, k] in the order of their graphs, and their weights (none: 1 for all). `begun` says
  // that the first graph has begun in the block before, `goes_on` that the last one goes on in the next. Patterns from
  // the returned number on are new and must be judged before the block is collected.
  uint32_t take(std::vector<uint32_t> occurrences, std::vector<double> weights, bool begun, bool goes_on,
                const KeepGoing& keep_going);
  void judge(uint32_t first, std::span<const double> divisors, std::span<const uint8_t> complete,
             std::span<const uint8_t> wanted);
  void collect(const KeepGoing& keep_going);

  const PatternMap& patterns() const { return patterns_; }
  const std::vector<uint64_t>& automorphisms() const { return automorphisms_; }
  const Collected& operator[](uint32_t pattern) const { return lists_[pattern]; }
  double count(uint32_t pattern) const;
  std::vector<uint32_t> met() const;  // wanted patterns that occur, in the order of their codes
  // Cuts all lists to the length for which there is room; to be called before they are read.
  void finish();
  size_t most() const { return most_; }
  size_t bytes_per_pattern() const;  // about, in all tables
  size_t listed(uint32_t pattern) const { return std::min(lists_[pattern].records.size() / stride_, most_); }

  // Takes what the collector of another slice of the same set knows. From then on ids are those of the whole set.
  void absorb(const CollectedArrays& other);
  // Ids of the whole set, weights and priorities of a pattern's listed occurrences, in lexicographic order.
  void write_records(uint32_t pattern, uint32_t* occurrences, double* weights, double* priorities);

  // Writes the listed occurrences of some patterns, in lexicographic order, one pattern after the other.
  void write(std::span<const uint32_t> patterns, uint32_t* occurrences, double* weights,
             const KeepGoing& keep_going);

 private:
  void add(uint32_t pattern, std::span<const uint32_t> rows, int thread);
  void trim(Collected& list);
  bool before(const uint32_t* a, const uint32_t* b) const;
  size_t held() const;
  void fit_room();
  size_t affordable() const;

  const Graph& graph_;
  const int k_;
  const size_t asked_;
  size_t most_;
  const size_t room_, stride_;
  const uint64_t seed_;
  const bool per_node_;
  const uint32_t first_node_;
  const int threads_;
  std::vector<Classifier> classifiers_;
  std::vector<std::vector<uint32_t>> number_;  // [classifier][its own number] pattern
  PatternMap patterns_;
  std::vector<uint64_t> automorphisms_;
  std::vector<Collected> lists_;

  // The block that was taken.
  std::vector<uint32_t> occurrences_, ids_, graph_of_row_;
  std::vector<double> weights_;
  uint32_t split_[2];  // graphs that are not whole in it

  struct Marks {
    std::vector<uint32_t> of;  // [local node] the last mark
    uint32_t last = 0;
    std::vector<uint32_t> order;
    std::vector<uint32_t> records;
  };
  std::vector<Marks> marks_;
};

}  // namespace grade
