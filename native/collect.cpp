#include "collect.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "priorities.hpp"

namespace grade {
namespace {

constexpr size_t kBlock = 4096;  // occurrences that a thread classifies at a time
constexpr size_t kWords = 4;     // of a record beside the nodes: weight and priority

// Subgraphs that each classifier remembers, so that those of all take about as much for any number of threads.
size_t memo_entries(int k, int threads) {
  constexpr size_t kBytes = 96 << 20;
  return std::max<size_t>(kBytes / (threads * (size_t(k) * (k + 2) + 16) * 3 / 2), 1 << 12);
}

double weight_of(const uint32_t* record, int k) {
  double weight;
  std::memcpy(&weight, record + k, sizeof weight);
  return weight;
}

double priority_of(const uint32_t* record, int k) {
  double priority;
  std::memcpy(&priority, record + k + 2, sizeof priority);
  return priority;
}

// The largest limit under which the lengths, each cut to it, add up to the total at most. At least 2: thinning a list to
// one occurrence takes the priority of the next.
size_t even_share(std::vector<size_t> lengths, size_t total) {
  std::sort(lengths.begin(), lengths.end());
  size_t left = total;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const size_t share = left / (lengths.size() - i);
    if (lengths[i] > share) return std::max<size_t>(share, 2);
    left -= lengths[i];
  }
  return lengths.empty() ? 2 : std::max<size_t>(lengths.back(), 2);
}

}  // namespace

Collector::Collector(const Graph& graph, int k, size_t most, size_t room, uint64_t seed, bool per_node,
                     uint32_t first_node, int threads)
    : graph_(graph), k_(k), asked_(most), most_(most), room_(room), stride_(k + kWords), seed_(seed), per_node_(per_node),
      first_node_(first_node), threads_(threads), classifiers_(threads, Classifier(graph, k, memo_entries(k, threads))), number_(threads), patterns_(k), marks_(threads) {
  if (most < 1) throw BadInput("a list keeps one occurrence at least");
}

uint32_t Collector::take(std::vector<uint32_t> occurrences, std::vector<double> weights, bool begun, bool goes_on,
                         const KeepGoing& keep_going) {
  occurrences_ = std::move(occurrences);
  weights_ = std::move(weights);
  const size_t n = occurrences_.size() / k_;
  if (occurrences_.size() % k_ || (!weights_.empty() && weights_.size() != n)) {
    throw BadInput("every occurrence needs a weight");
  }
  ids_.assign(n, 0);
  graph_of_row_.assign(n, 0);
  std::vector<uint32_t> classifier_of((n + kBlock - 1) / kBlock);
  parallel_chunks(n, kBlock, threads_, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
    classifier_of[begin / kBlock] = static_cast<uint32_t>(thread);
    for (size_t row = begin; row < end && !stop; ++row) {
      ids_[row] = classifiers_[thread]({occurrences_.data() + row * k_, size_t(k_)});
      const uint32_t node = graph_.renumbered(occurrences_[row * k_]);
      const bool same = row > begin && node >= graph_.begin_of(graph_of_row_[row - 1]) &&
                        node < graph_.end_of(graph_of_row_[row - 1]);
      graph_of_row_[row] = same ? graph_of_row_[row - 1] : graph_.graph_of(node);
    }
  });
  if (!std::is_sorted(graph_of_row_.begin(), graph_of_row_.end())) {
    throw BadInput("the occurrences are not ordered by graph");
  }
  split_[0] = begun && n ? graph_of_row_.front() : UINT32_MAX;
  split_[1] = goes_on && n ? graph_of_row_.back() : UINT32_MAX;

  const auto first = static_cast<uint32_t>(patterns_.size());
  for (int i = 0; i < threads_; ++i) {
    const PatternMap& own = classifiers_[i].patterns();
    for (auto id = static_cast<uint32_t>(number_[i].size()); id < own.size(); ++id) {
      const auto [number, fresh] = patterns_.insert(own.at(id));
      if (fresh) automorphisms_.push_back(classifiers_[i].automorphisms()[id]);
      number_[i].push_back(number);
    }
  }
  parallel_chunks(n, kBlock, threads_, {}, [&](int, size_t begin, size_t end, const std::atomic<bool>&) {
    const std::vector<uint32_t>& number = number_[classifier_of[begin / kBlock]];
    for (size_t row = begin; row < end; ++row) ids_[row] = number[ids_[row]];
  });
  lists_.resize(patterns_.size());
  return first;
}

void Collector::judge(uint32_t first, std::span<const double> divisors, std::span<const uint8_t> complete,
                      std::span<const uint8_t> wanted) {
  const size_t n = patterns_.size() - std::min<size_t>(first, patterns_.size());
  if (divisors.size() != n || complete.size() != n || wanted.size() != n) {
    throw BadInput("every new pattern needs a judgement");
  }
  for (size_t i = 0; i < n; ++i) {
    Collected& list = lists_[first + i];
    list.divisor = static_cast<float>(divisors[i]);  // a small whole number
    list.complete = complete[i] != 0;
    list.wanted = wanted[i] != 0;
  }
}

void Collector::collect(const KeepGoing& keep_going) {
  // Rows by pattern, each pattern's in their order.
  const size_t n = ids_.size();
  std::vector<uint32_t> begin_of(patterns_.size() + 1, 0), rows(n);
  for (uint32_t id : ids_) ++begin_of[id + 1];
  std::partial_sum(begin_of.begin(), begin_of.end(), begin_of.begin());
  std::vector<uint32_t> next(begin_of.begin(), begin_of.end() - 1);
  for (uint32_t row = 0; row < n; ++row) rows[next[ids_[row]]++] = row;
  next.clear();
  std::vector<uint32_t> met;
  for (uint32_t id = 0; id < patterns_.size(); ++id) {
    if (begin_of[id + 1] > begin_of[id] && lists_[id].wanted) met.push_back(id);
  }
  parallel_chunks(met.size(), 16, threads_, keep_going,
                  [&](int thread, size_t begin, size_t end, const std::atomic<bool>& stop) {
    for (size_t i = begin; i < end && !stop; ++i) {
      add(met[i], {rows.data() + begin_of[met[i]], begin_of[met[i] + 1] - begin_of[met[i]]}, thread);
    }
  });
  occurrences_ = {};
  ids_ = graph_of_row_ = {};
  weights_ = {};
  fit_room();
}

void Collector::add(uint32_t pattern, std::span<const uint32_t> rows, int thread) {
  Collected& list = lists_[pattern];
  Marks& marks = marks_[thread];
  marks.of.resize(graph_.largest(), 0);
  if (!list.complete && !list.counted) {
    list.counted = std::make_unique<ExactSum>();
    list.squared = std::make_unique<ExactSum>();
  }
  if (per_node_ && !list.per_node) list.per_node = std::make_unique<ExactSum>();
  uint32_t graph = UINT32_MAX, begin = 0;
  for (uint32_t row : rows) {
    const std::span<const uint32_t> nodes(occurrences_.data() + size_t{row} * k_, k_);
    if (graph_of_row_[row] != graph) {
      graph = graph_of_row_[row];
      begin = graph_.begin_of(graph);
      list.graphs += graph != list.last_graph;
      list.last_graph = graph;
      list.cover_known = list.cover_known && graph != split_[0] && graph != split_[1];
      if (++marks.last == 0) {
        std::fill(marks.of.begin(), marks.of.end(), 0);
        marks.last = 1;
      }
    }
    for (uint32_t node : nodes) {
      uint32_t& mark = marks.of[node - begin];
      list.covered += mark != marks.last;
      mark = marks.last;
    }
    ++list.met;
    const double weight = list.complete ? 1.0 : (weights_.empty() ? 1.0 : weights_[row]) / list.divisor;
    if (!list.complete) {
      list.counted->add(weight);
      list.squared->add(weight * weight);
    }
    if (per_node_) list.per_node->add(weight / (graph_.end_of(graph) - begin));
    const double priority = weight / uniform_of(nodes, seed_, first_node_);
    if (priority < list.floor) continue;
    std::vector<uint32_t>& records = list.records;
    if (records.size() == records.capacity()) {  // by a quarter: most lists are short, and there are many
      records.reserve(records.size() + (records.size() / stride_ / 4 + 1) * stride_);
    }
    records.insert(records.end(), nodes.begin(), nodes.end());
    for (double number : {weight, priority}) {
      const auto words = std::bit_cast<std::array<uint32_t, 2>>(number);
      records.insert(records.end(), words.begin(), words.end());
    }
    if (records.size() >= 2 * most_ * stride_ && records.size() >= 64 * stride_) trim(list);
  }
}

// Whether record a ranks before b: by priority, and where that is equal by the nodes.
bool Collector::before(const uint32_t* a, const uint32_t* b) const {
  const double one = priority_of(a, k_), other = priority_of(b, k_);
  return one != other ? one > other : std::lexicographical_compare(a, a + k_, b, b + k_);
}

void Collector::trim(Collected& list) {
  const size_t n = list.records.size() / stride_;
  if (n <= most_) return;
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  const uint32_t* const records = list.records.data();
  std::nth_element(order.begin(), order.begin() + (most_ - 1), order.end(), [&](uint32_t a, uint32_t b) {
    return before(records + a * stride_, records + b * stride_);
  });
  list.floor = priority_of(records + order[most_ - 1] * stride_, k_);
  std::vector<uint32_t> kept;
  kept.reserve(most_ * stride_);
  for (size_t i = 0; i < most_; ++i) {
    kept.insert(kept.end(), records + order[i] * stride_, records + (order[i] + 1) * stride_);
  }
  list.records = std::move(kept);
}

size_t Collector::bytes_per_pattern() const {
  const size_t code = size_t(k_) * (k_ + 2);  // here, in the classifiers, and twice where they are told to Python
  return sizeof(Collected) + 3 * sizeof(ExactSum) + 160 + code * 8;
}

// Bytes of patterns and lists, as they follow from the occurrences alone.
size_t Collector::held() const {
  size_t words = 0;
  for (const Collected& list : lists_) words += list.records.size();
  return words * sizeof(uint32_t) / 4 * 5 + lists_.size() * bytes_per_pattern();
}

// The length of lists for which there is room. It follows from how often each pattern was met, and never grows: so
// lists may be cut to it at any time, and it is the same in the end whatever the blocks were, here or on other machines.
size_t Collector::affordable() const {
  std::vector<size_t> lengths;
  size_t rows = 0;
  for (const Collected& list : lists_) {
    if (list.met) lengths.push_back(std::min<size_t>(list.met, asked_)), rows += lengths.back();
  }
  const size_t row = stride_ * sizeof(uint32_t) / 4 * 5, patterns = lengths.size() * bytes_per_pattern();
  if (patterns + rows * row <= room_ / 8 * 7) return asked_;
  const size_t wanted = room_ / 4 * 3;
  return std::min(asked_, even_share(std::move(lengths), wanted > patterns ? (wanted - patterns) / row : 0));
}

// Where patterns and lists take more than there is room for, the lists are cut.
void Collector::fit_room() {
  if (held() > room_) finish();
}

void Collector::finish() {
  most_ = affordable();
  for (Collected& list : lists_) trim(list);
}

std::vector<uint32_t> Collector::met() const {
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < lists_.size(); ++id) {
    if (lists_[id].met) ids.push_back(id);
  }
  const auto before = [&](uint32_t a, uint32_t b) { return patterns_.code(a) < patterns_.code(b); };
  size_t sorted = ids.size() / threads_ + 1;  // runs of this length
  const auto at = [&](size_t place) { return ids.begin() + std::min(place, ids.size()); };
  parallel_chunks(ids.size(), sorted, threads_, {}, [&](int, size_t begin, size_t end, const std::atomic<bool>&) {
    std::sort(at(begin), at(end), before);
  });
  for (; sorted < ids.size(); sorted *= 2) {
    parallel_chunks(ids.size(), 2 * sorted, threads_, {}, [&](int, size_t begin, size_t end, const std::atomic<bool>&) {
      std::inplace_merge(at(begin), at(begin + sorted), at(end), before);
    });
  }
  return ids;
}

double Collector::count(uint32_t pattern) const {
  const Collected& list = lists_[pattern];
  return list.counted ? list.counted->value() : static_cast<double>(list.met);
}

void Collector::write(std::span<const uint32_t> patterns, uint32_t* occurrences, double* weights,
                      const KeepGoing& keep_going) {
  std::vector<size_t> begin_of(patterns.size() + 1, 0);
  for (size_t i = 0; i < patterns.size(); ++i) begin_of[i + 1] = begin_of[i] + listed(patterns[i]);
  parallel_chunks(patterns.size(), 8, threads_, keep_going,
                  [&](int thread, size_t first, size_t last, const std::atomic<bool>& stop) {
    std::vector<uint32_t>& order = marks_[thread].order;
    for (size_t i = first; i < last && !stop; ++i) {
      Collected& list = lists_[patterns[i]];
      trim(list);
      order.resize(list.records.size() / stride_);
      std::iota(order.begin(), order.end(), 0u);
      const uint32_t* const records = list.records.data();
      std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return std::lexicographical_compare(records + a * stride_, records + a * stride_ + k_, records + b * stride_,
                                            records + b * stride_ + k_);
      });
      for (size_t place = 0; place < order.size(); ++place) {
        const uint32_t* const record = records + order[place] * stride_;
        std::copy_n(record, k_, occurrences + (begin_of[i] + place) * k_);
        weights[begin_of[i] + place] = weight_of(record, k_);
      }
    }
  });
}

void Collector::write_records(uint32_t pattern, uint32_t* occurrences, double* weights, double* priorities) {
  Collected& list = lists_[pattern];
  trim(list);
  std::vector<uint32_t> order(list.records.size() / stride_);
  std::iota(order.begin(), order.end(), 0u);
  const uint32_t* const records = list.records.data();
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::lexicographical_compare(records + a * stride_, records + a * stride_ + k_, records + b * stride_,
                                        records + b * stride_ + k_);
  });
  for (size_t place = 0; place < order.size(); ++place) {
    const uint32_t* const record = records + order[place] * stride_;
    std::transform(record, record + k_, occurrences + place * k_, [&](uint32_t id) { return id + first_node_; });
    weights[place] = weight_of(record, k_);
    priorities[place] = priority_of(record, k_);
  }
}

void Collector::absorb(const CollectedArrays& other) {
  const size_t n = other.automorphisms.size();
  auto sized = [&](size_t size, size_t each) { return size == n * each; };
  const size_t words = ExactSum::kWords;
  if (!sized(other.types.size(), k_) || !sized(other.edges.size(), size_t(k_) * k_) || !sized(other.met.size(), 1) ||
      !sized(other.graphs.size(), 1) || !sized(other.covered.size(), 1) || !sized(other.cover_known.size(), 1) ||
      !sized(other.complete.size(), 1) || !sized(other.counted.size(), words) ||
      !sized(other.squared.size(), words) || !sized(other.per_node.size(), words) || other.offsets.size() != n + 1 ||
      other.offsets[0] != 0 || other.offsets[n] < 0 || !std::is_sorted(other.offsets.begin(), other.offsets.end()) ||
      static_cast<size_t>(other.offsets[n]) != other.weights.size() ||
      other.weights.size() != other.priorities.size() || other.weights.size() * k_ != other.occurrences.size()) {
    throw BadInput("these are not the arrays of a collector of this size");
  }
  for (size_t row = 0; row < n; ++row) {
    SmallGraph pattern;
    pattern.k = k_;
    std::copy_n(other.types.begin() + row * k_, k_, pattern.types.begin());
    std::copy_n(other.edges.begin() + row * k_ * k_, k_ * k_, pattern.edges.begin());
    const auto [id, fresh] = patterns_.insert(pattern);
    if (fresh) {
      automorphisms_.push_back(static_cast<uint64_t>(other.automorphisms[row]));
      lists_.resize(patterns_.size());
    }
    Collected& list = lists_[id];
    list.wanted = true;
    list.complete = other.complete[row] != 0;
    list.met += other.met[row];
    list.graphs += static_cast<uint32_t>(other.graphs[row]);
    list.covered += other.covered[row];
    list.cover_known = list.cover_known && other.cover_known[row];
    if (!list.complete && !list.counted) {
      list.counted = std::make_unique<ExactSum>();
      list.squared = std::make_unique<ExactSum>();
    }
    if (!list.complete) {
      list.counted->add_words(other.counted.data() + row * words);
      list.squared->add_words(other.squared.data() + row * words);
    }
    if (per_node_ && !list.per_node) list.per_node = std::make_unique<ExactSum>();
    if (per_node_) list.per_node->add_words(other.per_node.data() + row * words);
    for (auto at = static_cast<size_t>(other.offsets[row]); at < static_cast<size_t>(other.offsets[row + 1]); ++at) {
      if (other.priorities[at] < list.floor) continue;
      const uint32_t* const nodes = other.occurrences.data() + at * k_;
      list.records.insert(list.records.end(), nodes, nodes + k_);
      for (double number : {other.weights[at], other.priorities[at]}) {
        const auto halves = std::bit_cast<std::array<uint32_t, 2>>(number);
        list.records.insert(list.records.end(), halves.begin(), halves.end());
      }
    }
    trim(list);
  }
  fit_room();
}

}  // namespace grade
