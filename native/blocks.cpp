#include "blocks.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "blocks_identity.hpp"
#include "blocks_order.hpp"
#include "blocks_outputs.hpp"
#include "blocks_runs.hpp"
#include "blocks_units.hpp"
#include "graph.hpp"

namespace grade {
namespace {

constexpr size_t kCheckEvery = 64;  // merges of one kind between looks at the caller

class Merging : BlockUnits {
 public:
  Merging(const BlockGraph& graph, const BlockLimits& limits, std::span<const uint32_t> levels, uint32_t types,
          std::span<const uint8_t> cut)
      : BlockUnits(graph),
        limits_(limits),
        levels_(levels),
        table_(graph, levels, types),
        pairs_(graph.nodes()),
        cut_(cut.begin(), cut.end()) {
    const auto nodes = static_cast<uint32_t>(graph.nodes());
    needed_.assign(types, 0);
    for (uint32_t node = 0; node < nodes; ++node) needed_[label_[node]] |= graph.closed[node];
    for (uint32_t node = 0; node < nodes; ++node) classify(node);
  }

  void run(const KeepGoing& keep_going) {
    merge_all(keep_going);
    const int depth = cut_.empty() ? 0 : *std::max_element(cut_.begin(), cut_.end());
    for (int level = depth; level > 0; --level) {
      for (uint32_t node = 0; node < graph_.nodes(); ++node) {
        if (cut_[node] != level) continue;
        cut_[node] = 0;
        if (root_[unit_[node]] == node) classify(unit_[node]);
      }
      merge_all(keep_going);
    }
    any_chain_ = true;
    for (uint32_t kind = 0; kind < pairs_.size(); ++kind) {
      if (pairs_[kind].count && equal_units(kind)) pairs_.touched.push_back(kind);
    }
    merge_all(keep_going);
  }

  const std::vector<uint32_t>& unit_of() const { return unit_; }

  std::vector<uint32_t> units_of_graphs() const {
    std::vector<uint32_t> counts;
    for (size_t g = 0; g + 1 < graph_.node_offsets.size(); ++g) {
      counts.push_back(0);
      for (int64_t node = graph_.node_offsets[g]; node < graph_.node_offsets[g + 1]; ++node) {
        counts.back() += root_[unit_[node]] == node;
      }
    }
    return counts;
  }

  Grammar grammar(const KeepGoing& keep_going) {
    Grammar result;
    result.unit_offsets.push_back(0);
    const auto add = [&](uint32_t label, std::span<const uint32_t> nodes) {
      result.order.insert(result.order.end(), nodes.begin(), nodes.end());
      result.unit_offsets.push_back(result.order.size());
      result.unit_labels.push_back(label);
    };
    std::vector<WideUnit> wide;
    result.order.reserve(graph_.nodes());
    for (uint32_t node = 0; node < graph_.nodes(); ++node) {
      const uint32_t unit = unit_[node];
      if (root_[unit] != node) continue;
      if (limits_.outputs == 1) add(label_[unit], nodes_of(std::array{unit}));
      else wide.push_back({label_[unit], node, nodes_of(std::array{unit}), {}, 0, 0});
    }
    if (limits_.outputs > 1) {
      OutputMerging merging(graph_, limits_, levels_, table_, std::move(wide));
      for (const WideUnit& unit : merging.run(keep_going)) add(unit.label, unit.nodes);
    }
    result.first = table_.firsts;
    result.second = table_.seconds;
    result.copies = table_.copies;
    result.size = table_.sizes;
    result.root = table_.roots;
    result.read_offsets = table_.read_offsets;
    result.reads = table_.reads;
    return result;
  }

 private:
  struct Waiting {
    uint32_t count, size, pair;
  };

  // Puts the unit among the pairs of its kind; places that look alike count as one.
  void classify(uint32_t unit) {
    pairs_.remove(unit);
    const uint32_t root = root_[unit];
    if (!linked_[unit] || cut_[root]) return;
    const uint32_t consumer = consumer_of(unit), label = label_[consumer];
    if (limits_.outputs == 1) {
      if (graph_.closed[root]) return;
    } else if (label_[unit] != label && needed_of(label_[unit]) + needed_of(label) > 0) {  // a repetition is no block
      // The root of the consumer is an output whether it is needed outside of the graph or not.
      const uint32_t inner = needed_of(label_[unit]) + needed_of(label) - graph_.closed[root_[consumer]];
      if (inner + 1 > limits_.outputs) return;
    }
    if (label_[unit] != label && size_of(unit) + size_of(consumer) > limits_.max_size) return;
    Reads reads = reads_of(unit);
    for (auto& read : reads) read.first = table_.twin(label, read.first);
    std::sort(reads.begin(), reads.end());
    content_.assign({label_[unit], label});
    for (const auto& [place, edge] : reads) {
      content_.push_back(place);
      content_.push_back(edge);
    }
    pairs_.add(unit, pairs_.intern(content_));
  }

  // Nodes of a unit of this label whose output is needed outside of the graph.
  uint32_t needed_of(uint32_t label) {
    while (needed_.size() <= label) {
      const auto next = static_cast<uint32_t>(needed_.size());
      const uint32_t first = needed_[table_.firsts[next]];
      needed_.push_back(table_.copies[next] ? first * table_.copies[next] : first + needed_[table_.seconds[next]]);
    }
    return needed_[label];
  }

  void classify_around(uint32_t unit) {
    for (uint32_t child = child_[unit]; child != kNobody; child = next_child_[child]) classify(child);
    classify(unit);
  }

  // What merging every pair of the kind saves; of equal kinds the smaller comes first, then the lesser content.
  bool later(const Waiting& a, const Waiting& b) const {
    if (a.count != b.count) return a.count < b.count;
    if (a.size != b.size) return a.size > b.size;
    const auto one = pairs_.content(a.pair), other = pairs_.content(b.pair);
    return std::lexicographical_compare(other.begin(), other.end(), one.begin(), one.end());
  }

  void queue_touched() {
    for (uint32_t id : pairs_.touched) {
      auto& pair = pairs_[id];
      const auto content = pairs_.content(id);
      const uint32_t needed = !equal_units(id) ? limits_.min_count : any_chain_ ? 1 : limits_.min_count - 1;
      if (pair.count <= pair.queued || pair.count < std::max(needed, 1u)) continue;
      pair.queued = pair.count;
      heap_.push_back({pair.count, table_.sizes[content[0]] + table_.sizes[content[1]], id});
      std::push_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return later(a, b); });
    }
    pairs_.touched.clear();
  }

  void merge_all(const KeepGoing& keep_going) {
    queue_touched();
    const double most = heap_.empty() ? 1.0 : heap_.front().count;
    for (size_t rules = 0; !heap_.empty(); ++rules) {
      if (rules % kCheckEvery == 0 && keep_going && !keep_going(1.0 - heap_.front().count / most)) throw Stopped();
      std::pop_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return later(a, b); });
      const Waiting top = heap_.back();
      heap_.pop_back();
      auto& pair = pairs_[top.pair];
      if (pair.queued != top.count) continue;  // it waits with a higher count, too
      pair.queued = 0;
      if (pair.count != top.count) {
        if (pair.count) pairs_.touched.push_back(top.pair);
        queue_touched();
        continue;
      }
      std::vector<uint32_t> units = pairs_.units(top.pair);
      std::sort(units.begin(), units.end(), [this](uint32_t a, uint32_t b) { return root_[a] < root_[b]; });
      if (equal_units(top.pair)) fold(units, top.pair);
      else if (enough(units)) merge(units, top.pair);
      queue_touched();
    }
  }

  bool equal_units(uint32_t kind) const { return pairs_.content(kind)[0] == pairs_.content(kind)[1]; }

  bool enough(const std::vector<uint32_t>& units) const {
    return consumers_of(units) >= limits_.min_count &&
           (limits_.min_graphs < 2 || graphs_of(units) >= limits_.min_graphs);
  }

  // A unit that reads several of the kind can be merged with one of them only.
  size_t consumers_of(const std::vector<uint32_t>& units) const {
    std::unordered_set<uint32_t> consumers;
    for (uint32_t unit : units) consumers.insert(consumer_of(unit));
    return consumers.size();
  }

  uint32_t graphs_of(const std::vector<uint32_t>& units) const {
    uint32_t graphs = 0;
    auto last = graph_.node_offsets.end();
    for (uint32_t unit : units) {
      const auto graph = std::upper_bound(graph_.node_offsets.begin(), graph_.node_offsets.end(), int64_t(root_[unit]));
      graphs += graph != last;
      last = graph;
    }
    return graphs;
  }

  void merge(const std::vector<uint32_t>& units, uint32_t kind) {
    std::map<Reads, SymbolTable::Match> known;
    for (uint32_t unit : units) {
      if (pairs_.pair_of[unit] != kind) continue;  // its consumer has just been merged with another one
      const uint32_t consumer = consumer_of(unit);
      const bool above = size_of(unit) > size_of(consumer);  // the larger part keeps its numbers
      const uint32_t large = above ? unit : consumer, small = above ? consumer : unit;
      auto [found, fresh] = known.try_emplace(reads_of(unit));
      SymbolTable::Match& match = found->second;
      const uint32_t shift = size_of(large);
      if (fresh) {
        const uint32_t root = table_.roots[label_[consumer]] + (above ? shift : 0);
        match = table_.of(nodes_of(std::array{large, small}), label_[large], label_[small], 0, root, found->first);
      }
      for_members(small, [&](uint32_t member) { place_[member] += shift; });
      const uint32_t merged = join(unit, consumer);
      renumber(merged, match);
    }
  }

  void renumber(uint32_t unit, const SymbolTable::Match& match) {
    if (!match.image.empty()) for_members(unit, [&](uint32_t member) { place_[member] = match.image[place_[member]]; });
    label_[unit] = match.symbol;
    classify_around(unit);
  }

  // Chains of equal units become one unit each.
  void fold(const std::vector<uint32_t>& units, uint32_t kind) {
    std::unordered_map<uint32_t, uint32_t> before, length;  // the unit that a unit continues, that of the longest chain
    for (uint32_t unit : units) {
      const auto known = before.find(unit);
      length[unit] = known == before.end() ? 1 : length.at(known->second) + 1;
      const auto [best, fresh] = before.try_emplace(consumer_of(unit), unit);
      if (!fresh && length.at(best->second) < length.at(unit)) best->second = unit;
    }
    const Reads link = reads_of(units.front());
    std::map<uint32_t, SymbolTable::Match> known;
    std::vector<std::vector<uint32_t>> chains;
    for (uint32_t unit : units) {
      if (before.contains(unit) || before.at(consumer_of(unit)) != unit) continue;  // not the first of its chain
      std::vector<uint32_t> chain{unit};
      for (;;) {
        const uint32_t last = chain.back();
        if (pairs_.pair_of[last] != kind) break;
        const uint32_t next = consumer_of(last);
        if (before.at(next) != last) break;
        if (!align(next, reads_of(last), link)) {
          chains.push_back(chain);
          chain.clear();
        }
        chain.push_back(next);
      }
      chains.push_back(chain);
    }
    std::vector<uint32_t> loose;  // two of a kind that are no repetition, as the first reads otherwise, may be a block
    for (auto& chain : chains) {
      if (chain.size() < 2) continue;
      if (!starts(chain.front(), link)) {
        if (chain.size() == 2) loose.push_back(chain.front());
        chain.erase(chain.begin());
      }
      if (chain.size() < 2) continue;
      const uint32_t label = label_[chain[0]], size = table_.sizes[label], root = table_.roots[label];
      const auto copies = static_cast<uint32_t>(chain.size());
      auto [found, fresh] = known.try_emplace(copies);
      SymbolTable::Match& match = found->second;
      if (fresh) match = table_.of(nodes_of(chain), label, kNobody, copies, (copies - 1) * size + root, link);
      for (uint32_t i = 0; i < copies; ++i) for_members(chain[i], [&](uint32_t member) { place_[member] += i * size; });
      uint32_t merged = chain[0];
      for (uint32_t i = 1; i < copies; ++i) merged = join(merged, chain[i]);
      renumber(merged, match);
    }
    if (!loose.empty() && enough(loose) && 2 * size_of(loose.front()) <= limits_.max_size &&
        needed_of(label_[loose.front()]) == 0) {
      merge(loose, kind);
    }
  }

  // Whether the first of a chain reads one tensor where the others read the one before them. If it reads several, the
  // chain starts after it: people cut where a single tensor crosses.
  bool reads_one_tensor(uint32_t unit, const Reads& link) const {
    const std::vector<uint32_t> nodes = nodes_of(std::array{unit});
    std::vector<uint32_t> common;
    for (size_t i = 0; i < link.size(); ++i) {
      const uint32_t node = nodes[link[i].first];
      std::vector<uint32_t> sources;
      for (int64_t e = graph_.in_offsets[node]; e < graph_.in_offsets[node + 1]; ++e) {
        const uint32_t source = graph_.in_sources[e];
        if (graph_.in_labels[e] == link[i].second && unit_[source] != unit) sources.push_back(source);
      }
      if (i == 0) {
        common = std::move(sources);
        continue;
      }
      if (common.empty() && sources.empty()) continue;  // an input of the graph, which is no node
      std::erase_if(common, [&](uint32_t s) { return std::find(sources.begin(), sources.end(), s) == sources.end(); });
      if (common.empty()) return false;
    }
    return true;
  }

  // Whether the first of a chain can start it: it reads one tensor as the others read the one before them.
  bool starts(uint32_t unit, const Reads& link) {
    if (reads_one_tensor(unit, link)) return true;
    std::map<uint32_t, Reads> reads;  // by node outside
    for (uint32_t node : nodes_of(std::array{unit})) {
      for (int64_t e = graph_.in_offsets[node]; e < graph_.in_offsets[node + 1]; ++e) {
        const uint32_t source = graph_.in_sources[e];
        if (unit_[source] != unit) reads[source].emplace_back(place_[node], graph_.in_labels[e]);
      }
    }
    for (auto& [source, here] : reads) {
      std::sort(here.begin(), here.end());
      if (here.size() == link.size() && align(unit, here, link)) return true;
    }
    return false;
  }

  // Numbers the nodes of a unit so that what it reads here it reads where the link says; false where no symmetry
  // allows it.
  bool align(uint32_t next, const Reads& reads, const Reads& link) {
    if (reads == link) return true;
    const std::vector<uint32_t> nodes = nodes_of(std::array{next});
    std::vector<uint32_t> image;
    const Region here = table_.reader().read_with_entry(nodes, reads);
    if (!isomorphic(here, table_.reader().read_with_entry(nodes, link), image)) return false;
    for (uint32_t node : nodes) place_[node] = image[place_[node]];
    return true;
  }

  uint32_t join(uint32_t unit, uint32_t consumer) {
    pairs_.remove(unit);
    pairs_.remove(consumer);
    return absorb(unit, consumer);
  }

  const BlockLimits& limits_;
  std::span<const uint32_t> levels_;
  SymbolTable table_;
  PairTable pairs_;
  bool any_chain_ = false;        // at the end: a chain is one unit however rare it is
  std::vector<uint8_t> cut_;      // [nodes] roots that stay for now
  std::vector<uint32_t> needed_;  // by label
  std::vector<Waiting> heap_;
  std::vector<uint32_t> content_;
};

// The grammar with the nodes and the graphs as they were numbered.
Grammar as_given(Grammar made, const BlockGraph& given, const CanonicalOrder& order) {
  const size_t graphs = given.node_offsets.size() - 1, units = made.unit_labels.size();
  const std::span<const int64_t> node_offsets = order.graph().node_offsets;
  std::vector<size_t> first_unit{0};  // of each graph
  for (size_t g = 0, unit = 0; g < graphs; ++g) {
    while (unit < units && made.order[made.unit_offsets[unit]] < node_offsets[g + 1]) ++unit;
    first_unit.push_back(unit);
  }
  std::vector<uint32_t> labels, nodes;
  std::vector<uint64_t> offsets{0};
  labels.reserve(units);
  nodes.reserve(made.order.size());
  for (size_t g = 0; g < graphs; ++g) {
    const uint32_t place = order.graph_place[g];
    for (size_t unit = first_unit[place]; unit < first_unit[place + 1]; ++unit) {
      labels.push_back(made.unit_labels[unit]);
      for (uint64_t i = made.unit_offsets[unit]; i < made.unit_offsets[unit + 1]; ++i) {
        nodes.push_back(order.node_of[made.order[i]]);
      }
      offsets.push_back(nodes.size());
    }
  }
  made.unit_labels = std::move(labels);
  made.unit_offsets = std::move(offsets);
  made.order = std::move(nodes);
  return made;
}

}  // namespace

std::vector<uint32_t> block_levels(const BlockGraph& graph) {
  std::vector<uint32_t> levels = levels_or_nobody(graph);
  const auto found = std::find(levels.begin(), levels.end(), kNobody);
  if (found != levels.end()) throw BadInput("cycle at node " + std::to_string(found - levels.begin()));
  return levels;
}

Grammar make_grammar(const BlockGraph& given, const BlockLimits& limits, const KeepGoing& keep_going) {
  std::vector<uint32_t> given_levels = block_levels(given);
  const CanonicalOrder order(given, given_levels);  // where something is equal, its number decides
  const BlockGraph graph = order.graph();
  const std::vector<uint32_t>& levels = order.levels;
  const uint32_t types = graph.types.empty() ? 0 : *std::max_element(graph.types.begin(), graph.types.end()) + 1;
  const size_t graphs = graph.node_offsets.size() - 1;
  std::vector<uint8_t> cuts(graph.nodes(), 0), asked(graphs, 1);
  Grammar best;
  std::vector<uint32_t> fewest;  // units of each graph without cuts
  // First without cuts, then with them, then with those only that left fewer units of their graph.
  for (int round = 0; round < 3; ++round) {
    Merging merging(graph, limits, levels, types, cuts);
    merging.run(keep_going);
    Grammar made = merging.grammar(keep_going);
    if (round == 0 || made.unit_labels.size() < best.unit_labels.size()) best = std::move(made);
    if (round == 2) break;
    const std::vector<uint32_t> units = merging.units_of_graphs();
    if (round == 0) fewest = units;
    else for (size_t g = 0; g < graphs; ++g) asked[g] = asked[g] && units[g] < fewest[g];
    if (round == 0) cuts = RunFinder(graph, levels).cuts(merging.unit_of(), asked, keep_going);
    bool any = false, dropped = false;
    for (size_t g = 0; g < graphs; ++g) {
      for (int64_t node = graph.node_offsets[g]; node < graph.node_offsets[g + 1]; ++node) {
        if (!asked[g] && cuts[node]) {
          cuts[node] = 0;
          dropped = true;
        }
        any |= cuts[node] != 0;
      }
    }
    if (!any || (round == 1 && !dropped)) break;
  }
  best = as_given(std::move(best), given, order);
  best.levels = std::move(given_levels);
  return best;
}

}  // namespace grade
