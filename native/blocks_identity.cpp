#include "blocks_identity.hpp"

#include <algorithm>
#include <numeric>

#include "random.hpp"

namespace grade {
namespace {

constexpr uint64_t kStepsPerNode = 200, kLeastSteps = 100'000;

uint64_t edge_colour(uint64_t colour, uint32_t label, uint64_t side) {
  return mixed(colour + 0x9E3779B97F4A7C15ull * (2 * uint64_t(label) + side + 1));
}

// Compressed lists from edges (owner, other, label) in any order.
void compress(uint32_t nodes, std::span<const uint32_t> owners, std::span<const uint32_t> others,
              std::span<const uint32_t> labels, std::vector<uint32_t>& offsets, std::vector<uint32_t>& list,
              std::vector<uint32_t>& list_labels) {
  offsets.assign(nodes + 1, 0);
  for (uint32_t owner : owners) ++offsets[owner + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  list.resize(owners.size());
  list_labels.resize(owners.size());
  std::vector<uint32_t> next(offsets.begin(), offsets.end() - 1);
  for (size_t e = 0; e < owners.size(); ++e) {
    const uint32_t at = next[owners[e]]++;
    list[at] = others[e];
    list_labels[at] = labels[e];
  }
}

// Each node's colour takes in what lies above it, then what lies below, then both once more.
void colour(Region& region) {
  auto& colours = region.colours;
  colours.resize(region.size());
  for (uint32_t i = 0; i < region.size(); ++i) colours[i] = mixed(region.types[i] + 1);
  const auto down = [&](uint32_t i) {
    uint64_t sum = 0;
    for (uint32_t e = region.in_offsets[i]; e < region.in_offsets[i + 1]; ++e) {
      sum += edge_colour(colours[region.in_sources[e]], region.in_labels[e], 0);
    }
    colours[i] = mixed(colours[i] + mixed(sum));
  };
  const auto up = [&](uint32_t i) {
    uint64_t sum = 0;
    for (uint32_t e = region.out_offsets[i]; e < region.out_offsets[i + 1]; ++e) {
      sum += edge_colour(colours[region.out_targets[e]], region.out_labels[e], 1);
    }
    colours[i] = mixed(colours[i] + mixed(sum));
  };
  for (uint32_t i : region.order) down(i);
  for (size_t p = region.size(); p-- > 0;) up(region.order[p]);
  for (uint32_t i : region.order) down(i);
  region.hash = mixed(region.size()) + mixed(region.out_targets.size() + 0x51ull);
  for (uint64_t c : colours) region.hash += mixed(c);
}

// One try to extend a partial isomorphism by the node `x` of `a`.
class Search {
 public:
  Search(const Region& a, const Region& b, std::vector<uint32_t>& image) : a_(a), b_(b), image_(image) {}

  bool run() {
    const uint32_t n = a_.size();
    image_.assign(n, kNobody);
    used_.assign(n, 0);
    for (uint32_t i = 0; i < n; ++i) {
      if (b_.out_offsets[i] == b_.out_offsets[i + 1]) exits_.push_back(i);
    }
    std::vector<uint32_t> cursor(n + 1, 0);
    uint64_t steps = std::max(kLeastSteps, kStepsPerNode * n);
    uint32_t depth = 0;  // consumers first: the nodes that read x have their images before x gets one
    while (depth < n) {
      const uint32_t x = a_.order[n - 1 - depth];
      if (steps-- == 0) return false;
      const uint32_t y = next_image(x, cursor[depth]);
      if (y != kNobody) {
        image_[x] = y;
        used_[y] = 1;
        cursor[++depth] = 0;
        continue;
      }
      if (depth == 0) return false;
      --depth;
      const uint32_t undone = a_.order[n - 1 - depth];
      used_[image_[undone]] = 0;
      image_[undone] = kNobody;
    }
    return true;
  }

 private:
  // The next node of `b` at or after the cursor that can be the image of x.
  uint32_t next_image(uint32_t x, uint32_t& cursor) {
    const bool exit = a_.out_offsets[x] == a_.out_offsets[x + 1];
    const uint32_t consumer = exit ? 0 : image_[a_.out_targets[a_.out_offsets[x]]];
    const uint32_t begin = exit ? 0 : b_.in_offsets[consumer];
    const uint32_t end = exit ? static_cast<uint32_t>(exits_.size()) : b_.in_offsets[consumer + 1];
    while (begin + cursor < end) {
      const uint32_t y = exit ? exits_[cursor] : b_.in_sources[begin + cursor];
      ++cursor;
      if (!used_[y] && a_.colours[x] == b_.colours[y] && a_.types[x] == b_.types[y] && same_readers(x, y)) return y;
    }
    return kNobody;
  }

  bool same_readers(uint32_t x, uint32_t y) {
    const uint32_t degree = a_.out_offsets[x + 1] - a_.out_offsets[x];
    if (degree != b_.out_offsets[y + 1] - b_.out_offsets[y]) return false;
    mine_.clear();
    theirs_.clear();
    for (uint32_t e = 0; e < degree; ++e) {
      const uint32_t p = a_.out_offsets[x] + e, q = b_.out_offsets[y] + e;
      mine_.emplace_back(image_[a_.out_targets[p]], a_.out_labels[p]);
      theirs_.emplace_back(b_.out_targets[q], b_.out_labels[q]);
    }
    std::sort(mine_.begin(), mine_.end());
    std::sort(theirs_.begin(), theirs_.end());
    return mine_ == theirs_;
  }

  const Region &a_, &b_;
  std::vector<uint32_t>& image_;
  std::vector<uint8_t> used_;
  std::vector<uint32_t> exits_;
  std::vector<std::pair<uint32_t, uint32_t>> mine_, theirs_;
};

}  // namespace

RegionReader::RegionReader(const BlockGraph& graph, std::span<const uint32_t> levels)
    : graph_(graph), levels_(levels), number_(graph.nodes(), 0) {}

Region RegionReader::read(std::span<const uint32_t> nodes) { return read_with_entry(nodes, {}); }

Region RegionReader::read_with_entry(std::span<const uint32_t> nodes,
                                     const Reads& entry) {
  Region region;
  std::vector<uint32_t> sources, targets, labels;
  for (size_t i = 0; i < nodes.size(); ++i) number_[nodes[i]] = static_cast<uint32_t>(i) + 1;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (int64_t e = graph_.in_offsets[nodes[i]]; e < graph_.in_offsets[nodes[i] + 1]; ++e) {
      const uint32_t source = number_[graph_.in_sources[e]];
      if (source == 0) continue;
      sources.push_back(source - 1);
      targets.push_back(static_cast<uint32_t>(i));
      labels.push_back(graph_.in_labels[e]);
    }
    region.types.push_back(graph_.types[nodes[i]]);
  }
  for (uint32_t node : nodes) number_[node] = 0;
  region.order.resize(nodes.size());
  std::iota(region.order.begin(), region.order.end(), 0u);
  std::sort(region.order.begin(), region.order.end(), [&](uint32_t i, uint32_t j) {
    return std::pair(levels_[nodes[i]], i) < std::pair(levels_[nodes[j]], j);
  });
  if (!entry.empty()) {
    const uint32_t mark = region.size();
    region.types.push_back(kNobody);
    region.order.insert(region.order.begin(), mark);
    for (const auto& [place, label] : entry) {
      sources.push_back(mark);
      targets.push_back(place);
      labels.push_back(label);
    }
  }
  compress(region.size(), sources, targets, labels, region.out_offsets, region.out_targets, region.out_labels);
  compress(region.size(), targets, sources, labels, region.in_offsets, region.in_sources, region.in_labels);
  colour(region);
  return region;
}

bool isomorphic(const Region& a, const Region& b, std::vector<uint32_t>& image) {
  if (a.size() != b.size() || a.out_targets.size() != b.out_targets.size() || a.hash != b.hash) return false;
  return Search(a, b, image).run();
}

SymbolTable::SymbolTable(const BlockGraph& graph, std::span<const uint32_t> levels, uint32_t types)
    : reader_(graph, levels), twins_(types), example_offsets_(types, 0) {
  for (uint32_t type = 0; type < types; ++type) {
    firsts.push_back(kNobody);
    seconds.push_back(kNobody);
    copies.push_back(0);
    sizes.push_back(1);
    roots.push_back(0);
  }
  read_offsets.assign(types + 1, 0);
}

SymbolTable::Match SymbolTable::of(std::span<const uint32_t> nodes, uint32_t first, uint32_t second, uint32_t times,
                                   uint32_t root, const Reads& link) {
  const bool whole = first == kNobody;
  const uint32_t read = whole || times || root >= sizes[first] ? first : second;
  Links links;
  for (const auto& [place, label] : link) links.push_back({roots[read], place, label});
  return of(nodes, first, second, times, root, links);
}

SymbolTable::Match SymbolTable::of(std::span<const uint32_t> nodes, uint32_t first, uint32_t second, uint32_t times,
                                   uint32_t root, const Links& links) {
  const Region region = reader_.read(nodes);
  Match match{kNobody, {}};
  auto& same_hash = by_hash_[region.hash];
  for (uint32_t symbol : same_hash) {
    const Region known = reader_.read(example(symbol));
    if (!isomorphic(region, known, match.image)) continue;
    match.symbol = symbol;
    bool identity = true;
    for (uint32_t i = 0; i < region.size() && identity; ++i) identity = match.image[i] == i;
    if (identity) match.image.clear();
    return match;
  }
  match.image.clear();
  match.symbol = static_cast<uint32_t>(size());
  same_hash.push_back(match.symbol);
  firsts.push_back(first);
  seconds.push_back(second);
  copies.push_back(times);
  sizes.push_back(region.size());
  roots.push_back(root);
  for (const auto& link : links) reads.insert(reads.end(), link.begin(), link.end());
  read_offsets.push_back(reads.size() / 3);
  example_offsets_.push_back(examples_.size());
  examples_.insert(examples_.end(), nodes.begin(), nodes.end());

  std::unordered_map<uint64_t, uint32_t> least;
  std::vector<uint32_t> twin(region.size());
  bool any = false;
  for (uint32_t i = 0; i < region.size(); ++i) {
    twin[i] = least.try_emplace(region.colours[i], i).first->second;
    any |= twin[i] != i;
  }
  twins_.push_back(any ? std::move(twin) : std::vector<uint32_t>());
  return match;
}

}  // namespace grade
