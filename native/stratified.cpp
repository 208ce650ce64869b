#include "stratified.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "canonical.hpp"
#include "classify.hpp"
#include "random.hpp"
#include "rooted_counts.hpp"
#include "stratified_levels.hpp"

namespace grade {
namespace {

constexpr double kUnknown = 1e-3;   // share of a pattern that the pilot did not meet
constexpr size_t kPilotShare = 4;   // the pilot has a fourth of the room

// What a level says of patterns, to weigh what grows from them.
class Guide {
 public:
  explicit Guide(const Level& level) : patterns_(level.patterns) {
    for (size_t id = 0; id < level.lists.size(); ++id) covers_.push_back(level.cover(id));
  }
  Cover of(const SmallGraph& canonical) {
    const auto [id, fresh] = patterns_.insert(canonical);
    if (fresh) covers_.push_back({kUnknown, false});
    return covers_[id];
  }

 private:
  PatternMap patterns_;
  std::vector<Cover> covers_;
};

double strength(const Cover& cover) { return 1 / (1 / std::min(cover.share, 0.999) - 1); }

SmallGraph without(const SmallGraph& graph, int gone) {
  SmallGraph rest;
  rest.k = graph.k - 1;
  for (int i = 0, x = 0; i < graph.k; ++i) {
    if (i == gone) continue;
    rest.types[x] = graph.types[i];
    for (int j = 0, y = 0; j < graph.k; ++j) {
      if (j != gone) rest.edges[x * rest.k + y++] = graph.edges[i * graph.k + j];
    }
    ++x;
  }
  return rest;
}

bool connected(const SmallGraph& graph) {
  uint32_t reached = 1, frontier = 1;
  while (frontier) {
    const int node = __builtin_ctz(frontier);
    frontier &= frontier - 1;
    for (int other = 0; other < graph.k; ++other) {
      if (reached >> other & 1) continue;
      if (graph.edges[node * graph.k + other] || graph.edges[other * graph.k + node]) {
        reached |= 1u << other;
        frontier |= 1u << other;
      }
    }
  }
  return reached == (1u << graph.k) - 1;
}

double uniform_of(const Nodes& nodes, int k, uint64_t name) {
  uint64_t value = name;
  for (int i = 0; i < k; ++i) value = mixed(value * 0x9E3779B97F4A7C15ull + nodes[i] + 1);
  return (static_cast<double>(mixed(value) >> 11) + 1) * 0x1p-53;
}

// One thread's patterns of a level with their lists.
class Grower {
 public:
  Grower(const Graph& graph, int k, size_t room, uint64_t name, Guide guide)
      : graph_(graph), k_(k), room_(room), most_(room), name_(name), induced_(graph), guide_(std::move(guide)), memo_(k),
        patterns_(k) {}

  // Occurrences of k - 1 nodes in one graph, with the number of their patterns' covers.
  struct Parent {
    const Kept* kept;
    const Cover* cover;
  };

  void grow(std::span<const Parent> parents) {
    nodes_.clear(), first_part_.clear(), parts_.clear();
    slots_.assign(1024, 0);
    for (uint32_t at = 0; at < parents.size(); ++at) {
      const Nodes& own = parents[at].kept->nodes;
      near_.clear();
      for (int i = 0; i < k_ - 1; ++i) {
        for (const Neighbour& n : graph_.neighbours(own[i])) near_.push_back(n.node);
      }
      std::sort(near_.begin(), near_.end());
      near_.erase(std::unique(near_.begin(), near_.end()), near_.end());
      for (const uint32_t node : near_) {
        if (std::binary_search(own.begin(), own.begin() + k_ - 1, node)) continue;
        Nodes grown;
        const auto end = std::lower_bound(own.begin(), own.begin() + k_ - 1, node);
        auto out = std::copy(own.begin(), end, grown.begin());
        *out++ = node;
        std::copy(end, own.begin() + k_ - 1, out);
        const uint32_t candidate = find(grown);
        parts_.push_back({at, first_part_[candidate]});
        first_part_[candidate] = static_cast<uint32_t>(parts_.size());
      }
    }
    for (uint32_t candidate = 0; candidate < first_part_.size(); ++candidate) {
      Kept kept;
      std::copy_n(nodes_.begin() + size_t{candidate} * k_, k_, kept.nodes.begin());
      const uint32_t pattern = pattern_of(kept.nodes);
      const Rule& rule = rules_[pattern];
      double weight = 0;
      for (uint32_t part = first_part_[candidate]; part; part = parts_[part - 1].next) {
        const Parent& parent = parents[parts_[part - 1].parent];
        if (rule.exact_only) {
          if (parent.cover->exact) weight += parent.kept->weight;
        } else {
          weight += strength(*parent.cover) * parent.kept->weight;
        }
      }
      if (weight > 0) offer(pattern, kept, weight / rule.sum);
    }
  }

  // The pairs of one graph, with which everything begins.
  void pairs(uint32_t begin, uint32_t end) {
    for (uint32_t node = begin; node < end; ++node) {
      for (const Neighbour& n : graph_.neighbours(node)) {
        if (n.node <= node) break;
        Kept kept;
        kept.nodes[0] = node, kept.nodes[1] = n.node;
        offer(pattern_of(kept.nodes), kept, 1);
      }
    }
  }

  // Takes over what another thread found.
  void add(const Grower& other) {
    for (uint32_t id = 0; id < other.lists_.size(); ++id) {
      const uint32_t own = number(other.patterns_.at(id), other.automorphisms_[id]);
      const List& from = other.lists_[id];
      List& to = lists_[own];
      to.found += from.found, to.total += from.total;
      to.dropped = std::max(to.dropped, from.dropped);
      to.all_exact &= from.all_exact;
      size_ += from.kept.size();
      to.kept.insert(to.kept.end(), from.kept.begin(), from.kept.end());
    }
    most_ = std::min(most_, other.most_);
    tighten();
  }

  Level finish() {
    tighten();
    Level level{k_, PatternMap(k_), {}, {}};
    for (const uint32_t id : patterns_.sorted()) {
      lists_[id].thin(most_, k_);
      for (Kept& kept : lists_[id].kept) kept.weight = std::max(kept.weight, lists_[id].dropped);
      if (lists_[id].found == 0) continue;
      level.patterns.insert(patterns_.at(id));
      level.automorphisms.push_back(automorphisms_[id]);
      level.lists.push_back(std::move(lists_[id]));
    }
    return level;
  }

 private:
  struct Part {
    uint32_t parent, next;
  };
  struct Rule {  // how the parts of an occurrence of a pattern are weighed
    bool exact_only;
    double sum;
  };

  uint32_t find(const Nodes& grown) {
    if (2 * first_part_.size() >= slots_.size()) {
      slots_.assign(2 * slots_.size(), 0);
      for (uint32_t candidate = 0; candidate < first_part_.size(); ++candidate) {
        size_t slot = hash(nodes_.data() + size_t{candidate} * k_);
        while (slots_[slot & (slots_.size() - 1)]) ++slot;
        slots_[slot & (slots_.size() - 1)] = candidate + 1;
      }
    }
    for (size_t slot = hash(grown.data());; ++slot) {
      uint32_t& entry = slots_[slot & (slots_.size() - 1)];
      if (entry == 0) {
        nodes_.insert(nodes_.end(), grown.begin(), grown.begin() + k_);
        first_part_.push_back(0);
        entry = static_cast<uint32_t>(first_part_.size());
        return entry - 1;
      }
      if (std::equal(grown.begin(), grown.begin() + k_, nodes_.begin() + size_t{entry - 1} * k_)) return entry - 1;
    }
  }
  size_t hash(const uint32_t* nodes) const {
    uint64_t value = 0;
    for (int i = 0; i < k_; ++i) value = (value ^ nodes[i]) * 0x9E3779B97F4A7C15ull;
    return mixed(value);
  }

  uint32_t pattern_of(const Nodes& nodes) {
    induced_({nodes.data(), static_cast<size_t>(k_)}, raw_);
    const auto [seen, fresh] = memo_.insert(raw_);
    if (fresh) {
      const CanonicalForm form = canonicalize_(raw_);
      pattern_of_raw_.push_back(number(reordered(raw_, form.order), form.automorphisms));
    }
    return pattern_of_raw_[seen];
  }

  uint32_t number(const SmallGraph& canonical, uint64_t automorphisms) {
    const auto [id, fresh] = patterns_.insert(canonical);
    if (fresh) {
      automorphisms_.push_back(automorphisms);
      lists_.emplace_back();
      rules_.push_back(k_ == 2 ? Rule{true, 1} : rule_for(canonical));
    }
    return id;
  }

  Rule rule_for(const SmallGraph& pattern) {
    Rule rule{false, 0};
    double exact = 0;
    for (int gone = 0; gone < k_; ++gone) {
      const SmallGraph rest = without(pattern, gone);
      if (!connected(rest)) continue;
      const Cover cover = guide_.of(reordered(rest, canonicalize_(rest).order));
      exact += cover.exact;
      rule.sum += strength(cover);
    }
    if (exact > 0) rule = {true, exact};
    return rule;
  }

  void offer(uint32_t pattern, Kept& kept, double weight) {
    List& list = lists_[pattern];
    kept.weight = weight;
    kept.priority = weight / uniform_of(kept.nodes, k_, name_);
    ++list.found;
    list.total += static_cast<unsigned __int128>(std::llround(weight * kUnit));
    list.all_exact &= rules_[pattern].exact_only && weight == 1;
    list.kept.push_back(kept);
    ++size_;
    if (list.kept.size() >= 2 * most_ + 16) {
      size_ -= list.kept.size();
      list.thin(most_, k_);
      size_ += list.kept.size();
    }
    if (size_ > 4 * room_) tighten();
  }

  // Shortens all lists by halves until they fit: the length in the end is the same for any order of the work.
  void tighten() {
    for (;; most_ /= 2) {
      size_ = 0;
      for (List& list : lists_) {
        list.thin(most_, k_);
        size_ += list.kept.size();
      }
      if (size_ <= 2 * room_ || most_ <= 1) return;
    }
  }

  const Graph& graph_;
  const int k_;
  const size_t room_;
  size_t most_, size_ = 0;  // length of a list; kept occurrences
  const uint64_t name_;     // of the hash
  InducedSubgraph induced_;
  Canonicalizer canonicalize_;
  Guide guide_;
  PatternMap memo_;  // subgraphs as they were met
  std::vector<uint32_t> pattern_of_raw_;
  PatternMap patterns_;
  std::vector<uint64_t> automorphisms_;
  std::vector<List> lists_;
  std::vector<Rule> rules_;
  SmallGraph raw_{};
  std::vector<uint32_t> near_, nodes_, first_part_, slots_;  // candidates of one graph
  std::vector<Part> parts_;
};

struct Growth {
  const Graph& graph;
  size_t room;
  int threads;
  const KeepGoing& keep_going;

  // All levels from 2 to k; the weights follow the levels of a pilot, or, in the pilot itself, its own.
  std::vector<Level> run(int k, uint64_t name, const std::vector<Level>* pilot) const {
    std::vector<Level> levels;
    const Level none{1, PatternMap(1), {}, {}};
    for (int size = 2; size <= k; ++size) {
      const Level& last = levels.empty() ? none : levels.back();
      const Level& guiding = pilot && !levels.empty() ? (*pilot)[size - 3] : last;
      Guide guide(guiding);
      std::vector<Cover> covers;  // of the patterns of the last level, as the guide sees them
      for (uint32_t id = 0; id < last.lists.size(); ++id) {
        covers.push_back(guide.of(last.patterns.at(id)));
        // A list that is complete in the pilot and not here has weights of its own; the sum stays unbiased.
      }
      std::vector<std::vector<Grower::Parent>> parents(graph.graphs());
      for (uint32_t id = 0; id < last.lists.size(); ++id) {
        for (const Kept& kept : last.lists[id].kept) {
          parents[graph.graph_of(kept.nodes[0])].push_back({&kept, &covers[id]});
        }
      }
      for (auto& row : parents) {
        std::sort(row.begin(), row.end(), [size](const auto& x, const auto& y) {
          return std::lexicographical_compare(x.kept->nodes.begin(), x.kept->nodes.begin() + size - 1,
                                              y.kept->nodes.begin(), y.kept->nodes.begin() + size - 1);
        });
      }
      std::vector<std::unique_ptr<Grower>> growers;
      for (int thread = 0; thread < threads; ++thread) {
        growers.push_back(std::make_unique<Grower>(graph, size, room, mixed(name + size), guide));
      }
      parallel_chunks(graph.graphs(), 1, threads, keep_going, [&](int thread, size_t g, size_t, const auto&) {
        if (size == 2) {
          growers[thread]->pairs(graph.begin_of(g), graph.end_of(g));
        } else {
          growers[thread]->grow(parents[g]);
        }
      });
      for (int thread = 1; thread < threads; ++thread) growers[0]->add(*growers[thread]);
      levels.push_back(growers[0]->finish());
    }
    return levels;
  }
};

// The occurrences of the patterns of a level that are all kept, in the order of their canonical forms.
CompleteLists complete_lists(const Graph& graph, const Level& level) {
  CompleteLists complete(level.k);
  InducedSubgraph induced(graph);
  Canonicalizer canonicalize;
  SmallGraph raw;
  for (uint32_t id = 0; id < level.lists.size(); ++id) {
    if (!level.exact(id)) continue;
    complete.patterns.insert(level.patterns.at(id));
    std::vector<uint32_t>& nodes = complete.nodes.emplace_back();
    for (const Kept& kept : level.lists[id].kept) {
      induced({kept.nodes.data(), static_cast<size_t>(level.k)}, raw);
      const CanonicalForm form = canonicalize(raw);
      for (int place = 0; place < level.k; ++place) nodes.push_back(kept.nodes[form.order[place]]);
    }
  }
  return complete;
}

// Better counts of the patterns of the last level that are not exact, where there is one.
std::vector<RootedCount> better_counts(const Graph& graph, std::vector<Level>& levels, uint64_t hits, uint64_t seed,
                                       uint64_t stream, int threads, const KeepGoing& keep_going) {
  Level& last = levels.back();
  std::vector<RootedCount> better(last.lists.size());
  std::vector<CompleteLists> complete(2, CompleteLists(1));  // [size]
  for (size_t at = 0; at + 1 < levels.size(); ++at) {
    complete.push_back(complete_lists(graph, levels[at]));
    levels[at].lists.clear();
  }
  std::vector<RootedTask> tasks;
  InducedSubgraph induced(graph);
  Canonicalizer canonicalize;
  SmallGraph raw;
  for (uint32_t id = 0; id < last.lists.size(); ++id) {
    if (last.lists[id].all_exact) continue;
    const Nodes& nodes = last.lists[id].kept.front().nodes;
    induced({nodes.data(), static_cast<size_t>(last.k)}, raw);
    const CanonicalForm form = canonicalize(raw);
    RootedTask task{id, last.automorphisms[id], {}};
    for (int place = 0; place < last.k; ++place) task.nodes[place] = nodes[form.order[place]];
    tasks.push_back(task);
  }
  const auto counts = rooted_counts(graph, complete, last.patterns, tasks, hits, seed, stream, threads, keep_going);
  for (size_t at = 0; at < tasks.size(); ++at) better[tasks[at].pattern] = counts[at];
  return better;
}

}  // namespace

StratifiedSample stratified_sample(const Graph& graph, int k, size_t room, uint64_t hits, uint64_t seed,
                                   uint64_t stream, int threads, const KeepGoing& keep_going) {
  Random names{seed, stream, 0x5741};
  const std::vector<Level> pilot =
      Growth{graph, std::max<size_t>(room / kPilotShare, 1), threads, keep_going}.run(k - 1, names.bits(), nullptr);
  std::vector<Level> levels = Growth{graph, room, threads, keep_going}.run(k, names.bits(), &pilot);
  Level& last = levels.back();
  for (List& list : last.lists) {
    std::sort(list.kept.begin(), list.kept.end(), [k](const Kept& x, const Kept& y) {
      return std::lexicographical_compare(x.nodes.begin(), x.nodes.begin() + k, y.nodes.begin(), y.nodes.begin() + k);
    });
  }
  std::vector<RootedCount> better(last.lists.size());
  if (hits > 0) better = better_counts(graph, levels, hits, seed, stream, threads, keep_going);
  StratifiedSample result{{}, {}, {}, last.patterns, last.automorphisms, {}, {}};
  for (uint32_t id = 0; id < last.lists.size(); ++id) {
    List& list = last.lists[id];
    const bool improved = better[id].quality != Quality::kNone;
    const double total = improved ? better[id].count : list.sum();
    result.counts.push_back(total);
    result.quality.push_back(list.all_exact ? Quality::kExact : better[id].quality);
    double kept_total = 0;
    for (const Kept& kept : list.kept) kept_total += kept.weight;
    for (const Kept& kept : list.kept) {
      std::array<uint32_t, kMaxSize> ids;
      for (int i = 0; i < k; ++i) ids[i] = graph.original(kept.nodes[i]);
      std::sort(ids.begin(), ids.begin() + k);
      result.members.insert(result.members.end(), ids.begin(), ids.begin() + k);
      result.weights.push_back(kept.weight * total / kept_total);
      result.pattern.push_back(id);
    }
  }
  return result;
}

}  // namespace grade
