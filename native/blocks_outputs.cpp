#include "blocks_outputs.hpp"

#include <algorithm>
#include <array>

namespace grade {
namespace {

constexpr size_t kMostVisits = 5'000;  // of a search for a way back, before the pair counts as not convex
constexpr size_t kCheckEvery = 16;

}  // namespace

OutputMerging::OutputMerging(const BlockGraph& graph, const BlockLimits& limits, std::span<const uint32_t> levels,
                             SymbolTable& table, std::vector<WideUnit> units)
    : graph_(graph),
      limits_(limits),
      levels_(levels),
      table_(table),
      units_(std::move(units)),
      unit_of_(graph.nodes()),
      place_(graph.nodes()) {
  for (uint32_t unit = 0; unit < units_.size(); ++unit) {
    WideUnit& each = units_[unit];
    each.lowest = UINT32_MAX;
    for (uint32_t place = 0; place < each.nodes.size(); ++place) {
      const uint32_t node = each.nodes[place];
      unit_of_[node] = unit;
      place_[node] = place;
      each.lowest = std::min(each.lowest, levels_[node]);
      each.highest = std::max(each.highest, levels_[node]);
      if (node == each.root || graph_.closed[node]) each.outputs.push_back(node);
    }
  }
}

std::vector<WideUnit> OutputMerging::run(const KeepGoing& keep_going) {
  for (uint32_t unit = 0; unit < units_.size(); ++unit) {
    for (uint32_t reader : readers(unit)) classify(unit, reader);
  }
  for (size_t rules = 0; !waiting_.empty(); ++rules) {
    if (rules % kCheckEvery == 0 && keep_going && !keep_going(1.0)) throw Stopped();
    const uint32_t kind = std::get<3>(*waiting_.begin());
    waiting_.erase(waiting_.begin());
    merge(kind);
  }
  fold();
  std::vector<WideUnit> left;
  for (WideUnit& unit : units_) {
    if (!unit.nodes.empty()) left.push_back(std::move(unit));
  }
  std::sort(left.begin(), left.end(), [](const WideUnit& a, const WideUnit& b) { return a.root < b.root; });
  return left;
}

std::set<uint32_t> OutputMerging::readers(uint32_t unit) const {
  std::set<uint32_t> found;
  for (uint32_t node : units_[unit].outputs) {
    for (int64_t e = graph_.out_offsets[node]; e < graph_.out_offsets[node + 1]; ++e) {
      const uint32_t reader = unit_of_[graph_.out_targets[e]];
      if (reader != unit) found.insert(reader);
    }
  }
  return found;
}

std::set<uint32_t> OutputMerging::sources(uint32_t unit) const {
  std::set<uint32_t> found;
  for (uint32_t node : units_[unit].nodes) {
    for (int64_t e = graph_.in_offsets[node]; e < graph_.in_offsets[node + 1]; ++e) {
      const uint32_t source = unit_of_[graph_.in_sources[e]];
      if (source != unit) found.insert(source);
    }
  }
  return found;
}

// What the reader reads of the unit: (place there, place here, label).
Links OutputMerging::links(uint32_t unit, uint32_t reader) const {
  Links found;
  for (uint32_t node : units_[unit].outputs) {
    for (int64_t e = graph_.out_offsets[node]; e < graph_.out_offsets[node + 1]; ++e) {
      const uint32_t target = graph_.out_targets[e];
      if (unit_of_[target] == reader) found.push_back({place_[node], place_[target], graph_.out_labels[e]});
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The outputs of the two together.
std::vector<uint32_t> OutputMerging::outputs_of(uint32_t unit, uint32_t reader) const {
  std::vector<uint32_t> found = units_[reader].outputs;  // what it gives, the unit does not read
  for (uint32_t node : units_[unit].outputs) {
    bool outside = graph_.closed[node] || graph_.out_degree(node) == 0;
    for (int64_t e = graph_.out_offsets[node]; e < graph_.out_offsets[node + 1] && !outside; ++e) {
      const uint32_t other = unit_of_[graph_.out_targets[e]];
      outside = other != unit && other != reader;
    }
    if (outside) found.push_back(node);
  }
  return found;
}

// Whether no way leads from the units to a reader through others. Others are taken as a whole, which may refuse a pair.
bool OutputMerging::convex(std::span<const uint32_t> units, uint32_t reader) const {
  std::vector<uint32_t> waiting;
  std::set<uint32_t> seen(units.begin(), units.end());
  const auto visit = [&](uint32_t other) {
    if (units_[other].lowest < units_[reader].highest && seen.insert(other).second) waiting.push_back(other);
  };
  for (uint32_t unit : units) {
    for (uint32_t other : readers(unit)) {
      if (other != reader) visit(other);
    }
  }
  while (!waiting.empty()) {
    const uint32_t at = waiting.back();
    waiting.pop_back();
    if (seen.size() > kMostVisits) return false;
    for (uint32_t other : readers(at)) {
      if (other == reader) return false;
      visit(other);
    }
  }
  return true;
}

void OutputMerging::queue(uint32_t kind) {
  const Kind& each = kinds_[kind];
  if (each.pairs.size() >= limits_.min_count) waiting_.emplace(each.pairs.size(), each.size, each.content, kind);
}

void OutputMerging::classify(uint32_t unit, uint32_t reader) {
  const uint32_t label = units_[unit].label, other = units_[reader].label;
  if (label == other || units_[unit].nodes.size() + units_[reader].nodes.size() > limits_.max_size) return;
  const std::vector<uint32_t> outputs = outputs_of(unit, reader);
  if (outputs.size() > limits_.outputs) return;
  Content content{label, other};
  Links twins = links(unit, reader);
  for (auto& link : twins) {
    link[0] = table_.twin(label, link[0]);
    link[1] = table_.twin(other, link[1]);
  }
  std::sort(twins.begin(), twins.end());
  for (const auto& link : twins) content.insert(content.end(), link.begin(), link.end());
  Content places;  // of outputs, so that all pairs of a kind have the same
  for (uint32_t node : outputs) {
    const bool here = unit_of_[node] == unit;
    places.push_back(2 * table_.twin(here ? label : other, place_[node]) + here);
  }
  std::sort(places.begin(), places.end());
  content.push_back(UINT32_MAX);
  content.insert(content.end(), places.begin(), places.end());
  const auto [known, fresh] = kind_of_content_.try_emplace(std::move(content), static_cast<uint32_t>(kinds_.size()));
  if (fresh) {
    kinds_.push_back({&known->first, {}, static_cast<uint32_t>(units_[unit].nodes.size() + units_[reader].nodes.size())});
  }
  Kind& kind = kinds_[known->second];
  waiting_.erase({kind.pairs.size(), kind.size, kind.content, known->second});
  kind.pairs.insert({unit, reader});
  kind_of_[{unit, reader}] = known->second;
  queue(known->second);
}

void OutputMerging::forget(uint32_t unit, uint32_t reader) {
  const auto known = kind_of_.find({unit, reader});
  if (known == kind_of_.end()) return;
  Kind& kind = kinds_[known->second];
  const bool waits = waiting_.erase({kind.pairs.size(), kind.size, kind.content, known->second}) > 0;
  kind.pairs.erase({unit, reader});
  if (waits) queue(known->second);
  kind_of_.erase(known);
}

uint32_t OutputMerging::graph_of(uint32_t unit) const {
  const auto after =
      std::upper_bound(graph_.node_offsets.begin(), graph_.node_offsets.end(), int64_t(units_[unit].root));
  return static_cast<uint32_t>(after - graph_.node_offsets.begin());
}

void OutputMerging::merge(uint32_t number) {
  std::vector<Pair> pairs(kinds_[number].pairs.begin(), kinds_[number].pairs.end());
  std::sort(pairs.begin(), pairs.end(), [&](const Pair& a, const Pair& b) {
    return std::pair(units_[a.first].root, units_[a.second].root) < std::pair(units_[b.first].root, units_[b.second].root);
  });
  std::set<uint32_t> used, graphs;
  std::erase_if(pairs, [&](const Pair& pair) {
    if (used.contains(pair.first) || used.contains(pair.second) || !convex(std::array{pair.first}, pair.second)) return true;
    used.insert({pair.first, pair.second});
    graphs.insert(graph_of(pair.first));
    return false;
  });
  if (pairs.size() < limits_.min_count || graphs.size() < limits_.min_graphs) return;
  std::map<Links, SymbolTable::Match> known;
  for (const auto& [unit, reader] : pairs) {
    if (!convex(std::array{unit}, reader)) continue;  // not any more, with what has just been merged
    const Links here = links(unit, reader);
    const WideUnit &one = units_[unit], &other = units_[reader];
    const bool unit_first = one.nodes.size() > other.nodes.size();  // the larger part keeps its numbers
    auto [found, fresh] = known.try_emplace(here);
    if (fresh) {
      const WideUnit &large = unit_first ? one : other, &small = unit_first ? other : one;
      std::vector<uint32_t> nodes = large.nodes;
      nodes.insert(nodes.end(), small.nodes.begin(), small.nodes.end());
      const uint32_t root = place_[other.root] + (unit_first ? static_cast<uint32_t>(large.nodes.size()) : 0);
      found->second = table_.of(nodes, large.label, small.label, 0, root, here);
    }
    join(unit, reader, unit_first, found->second);
  }
}

// Makes one unit of two, which takes the number of the reader.
uint32_t OutputMerging::join(uint32_t unit, uint32_t reader, bool unit_first, const SymbolTable::Match& match) {
  std::set<Pair> around;
  for (uint32_t each : {unit, reader}) {
    for (uint32_t other : readers(each)) forget(each, other);
    for (uint32_t other : sources(each)) forget(other, each);
  }
  std::vector<uint32_t> outputs = outputs_of(unit, reader);
  WideUnit &one = units_[unit], &other = units_[reader];
  std::vector<uint32_t> nodes = unit_first ? one.nodes : other.nodes;
  const std::vector<uint32_t>& rest = unit_first ? other.nodes : one.nodes;
  nodes.insert(nodes.end(), rest.begin(), rest.end());
  other.nodes.resize(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    place_[nodes[i]] = match.image.empty() ? i : match.image[i];
    other.nodes[place_[nodes[i]]] = nodes[i];
    unit_of_[nodes[i]] = reader;
  }
  other.label = match.symbol;
  other.outputs = std::move(outputs);
  other.lowest = std::min(one.lowest, other.lowest);
  other.highest = std::max(one.highest, other.highest);
  one.nodes.clear();
  one.outputs.clear();
  for (uint32_t next : readers(reader)) classify(reader, next);
  for (uint32_t before : sources(reader)) classify(before, reader);
  return reader;
}

// Chains of equal units, each of which reads the one before in the same way.
void OutputMerging::fold() {
  std::vector<uint32_t> order;
  for (uint32_t unit = 0; unit < units_.size(); ++unit) {
    if (!units_[unit].nodes.empty()) order.push_back(unit);
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return units_[a].root < units_[b].root; });
  std::vector<uint8_t> done(units_.size(), 0);
  std::map<std::pair<uint32_t, Links>, std::map<uint32_t, SymbolTable::Match>> known;
  const auto next_of = [&](uint32_t unit) {
    for (uint32_t reader : readers(unit)) {
      if (units_[reader].label == units_[unit].label && !done[reader]) return reader;
    }
    return kNobody;
  };
  for (uint32_t unit : order) {
    if (done[unit]) continue;
    done[unit] = 1;
    std::vector<uint32_t> chain{unit};
    Links link;
    for (uint32_t next = next_of(unit); next != kNobody; next = next_of(chain.back())) {
      const Links here = links(chain.back(), next);
      if (chain.size() > 1 && here != link) break;
      const bool reads_others = std::any_of(chain.begin(), chain.end() - 1,
                                            [&](uint32_t each) { return !links(each, next).empty(); });
      if (reads_others || !convex(chain, next)) break;
      link = here;
      done[next] = 1;
      chain.push_back(next);
    }
    if (chain.size() < 2) continue;
    const uint32_t label = units_[unit].label, size = table_.sizes[label];
    const auto copies = static_cast<uint32_t>(chain.size());
    std::vector<uint32_t> nodes;
    for (uint32_t each : chain) nodes.insert(nodes.end(), units_[each].nodes.begin(), units_[each].nodes.end());
    auto [found, fresh] = known[{label, link}].try_emplace(copies);
    if (fresh) {
      found->second = table_.of(nodes, label, kNobody, copies, (copies - 1) * size + table_.roots[label], link);
    }
    WideUnit whole{found->second.symbol, units_[chain.back()].root, nodes, {}, units_[unit].lowest,
                   units_[chain.back()].highest};
    for (uint32_t each : chain) {
      whole.outputs.insert(whole.outputs.end(), units_[each].outputs.begin(), units_[each].outputs.end());
      units_[each].nodes.clear();
      units_[each].outputs.clear();
    }
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      place_[nodes[i]] = found->second.image.empty() ? i : found->second.image[i];
      whole.nodes[place_[nodes[i]]] = nodes[i];
      unit_of_[nodes[i]] = chain.back();
    }
    units_[chain.back()] = std::move(whole);
  }
}

}  // namespace grade
