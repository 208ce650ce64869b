#include "blocks_runs.hpp"

#include <algorithm>
#include <numeric>

#include "random.hpp"

namespace grade {
namespace {

bool taken(const std::vector<uint32_t>& used, uint32_t node) {
  return std::find(used.begin(), used.end(), node) != used.end();
}

// The way of a copy that all paths through it share: from where the link's paths meet down to the root. `step[q]` is
// the number of the first node of the way that all paths from q pass.
std::vector<uint32_t> shared_way(const Region& region, const Reads& link, uint32_t root, std::vector<uint32_t>& step) {
  const uint32_t n = region.size();
  std::vector<uint32_t> parent(n, kNobody), depth(n, 0);  // the tree of immediate post-dominators
  const auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      if (depth[a] < depth[b]) std::swap(a, b);
      a = parent[a];
    }
    return a;
  };
  for (size_t p = n; p-- > 0;) {
    const uint32_t q = region.order[p];
    if (q == root) continue;
    uint32_t common = kNobody;
    for (uint32_t e = region.out_offsets[q]; e < region.out_offsets[q + 1]; ++e) {
      common = common == kNobody ? region.out_targets[e] : meet(common, region.out_targets[e]);
    }
    parent[q] = common;
    depth[q] = depth[common] + 1;
  }
  uint32_t at = link.front().first;
  for (const auto& read : link) at = meet(at, read.first);
  std::vector<uint32_t> way;
  step.assign(n, kNobody);
  for (; at != kNobody; at = parent[at]) {
    step[at] = static_cast<uint32_t>(way.size());
    way.push_back(at);
  }
  for (size_t p = n; p-- > 0;) {
    const uint32_t q = region.order[p];
    if (step[q] == kNobody) step[q] = step[parent[q]];
  }
  return way;
}

}  // namespace

bool RunFinder::has_edge(uint32_t source, uint32_t target, uint32_t label) const {
  const auto begin = graph_.out_targets.begin() + graph_.out_offsets[source];
  const auto end = graph_.out_targets.begin() + graph_.out_offsets[source + 1];
  const auto found = std::lower_bound(begin, end, target);
  return found != end && *found == target && graph_.out_labels[found - graph_.out_targets.begin()] == label;
}

// Fingerprints of what lies above each node of a graph and of what lies below, each one step wider than the one before.
void RunFinder::look_around(uint32_t begin, uint32_t end) {
  const size_t n = end - begin;
  around_begin_ = begin;
  around_.assign(n * 2 * kLook, 0);
  const auto at = [&](uint32_t node, int side, int step) -> uint32_t& {
    return around_[((node - begin) * 2 + side) * kLook + step];
  };
  for (uint32_t node = begin; node < end; ++node) {
    const auto inputs = static_cast<uint64_t>(graph_.in_offsets[node + 1] - graph_.in_offsets[node]);
    at(node, 0, 0) = at(node, 1, 0) = static_cast<uint32_t>(mixed(uint64_t(graph_.types[node]) << 32 | inputs));
  }
  for (int step = 1; step < kLook; ++step) {
    for (uint32_t node = begin; node < end; ++node) {
      uint64_t above = 0, below = 0;
      for (int64_t e = graph_.in_offsets[node]; e < graph_.in_offsets[node + 1]; ++e) {
        above += mixed(uint64_t(graph_.in_labels[e]) << 32 | at(graph_.in_sources[e], 0, step - 1));
      }
      for (int64_t e = graph_.out_offsets[node]; e < graph_.out_offsets[node + 1]; ++e) {
        below += mixed(uint64_t(graph_.out_labels[e]) << 32 | at(graph_.out_targets[e], 1, step - 1));
      }
      at(node, 0, step) = static_cast<uint32_t>(mixed(at(node, 0, step - 1) + mixed(above)));
      at(node, 1, step) = static_cast<uint32_t>(mixed(at(node, 1, step - 1) + mixed(below)));
    }
  }
}

// How far two nodes agree in what lies above them and in what lies below.
int RunFinder::resemblance(uint32_t node, uint32_t other) const {
  int sum = 0;
  for (size_t side = 0; side < 2; ++side) {
    const uint32_t* one = &around_[((node - around_begin_) * 2 + side) * kLook];
    const uint32_t* two = &around_[((other - around_begin_) * 2 + side) * kLook];
    for (int step = 0; step < kLook && one[step] == two[step]; ++step) ++sum;
  }
  return sum;
}

// Images of the wanted places, consumers first: a node that the images of all its consumers read, and nobody else.
void RunFinder::match_above(const Region& region, const Images& copy, const std::vector<uint8_t>& wanted,
                            Images& images, Used& used) const {
  for (size_t p = region.size(); p-- > 0;) {
    const uint32_t q = region.order[p];
    const uint32_t begin = region.out_offsets[q], end = region.out_offsets[q + 1];
    if (!wanted[q] || images[q] != kNobody || begin == end) continue;
    const uint32_t consumer = images[region.out_targets[begin]];
    if (consumer == kNobody) continue;
    uint32_t best = kNobody;
    for (int64_t e = graph_.in_offsets[consumer]; e < graph_.in_offsets[consumer + 1]; ++e) {
      const uint32_t node = graph_.in_sources[e];
      if (graph_.in_labels[e] != region.out_labels[begin] || graph_.types[node] != region.types[q] ||
          graph_.out_degree(node) != end - begin || graph_.closed[node] || used.contains(node)) {
        continue;
      }
      bool all = true;
      for (uint32_t r = begin; r < end && all; ++r) {
        const uint32_t reader = images[region.out_targets[r]];
        all = reader != kNobody && has_edge(node, reader, region.out_labels[r]);
      }
      if (all && (best == kNobody || resemblance(node, copy[q]) > resemblance(best, copy[q]))) best = node;
    }
    if (best == kNobody) continue;
    images[q] = best;
    used.insert(best);
  }
}

RunFinder::Images RunFinder::upstream(const Region& region, const std::vector<uint32_t>& copy, const Reads& link,
                                      uint32_t root) const {
  Images images(region.size(), kNobody);
  Used used;
  const uint32_t reader = copy[link.front().first];
  for (int64_t e = graph_.in_offsets[reader]; e < graph_.in_offsets[reader + 1] && images[root] == kNobody; ++e) {
    const uint32_t node = graph_.in_sources[e];
    if (taken(copy, node) || graph_.closed[node] || graph_.types[node] != region.types[root] ||
        graph_.out_degree(node) != link.size()) {
      continue;
    }
    bool all = true;
    for (const auto& [place, label] : link) all = all && has_edge(node, copy[place], label);
    if (all) images[root] = node;
  }
  if (images[root] == kNobody) return images;
  used.insert(images[root]);
  match_above(region, copy, std::vector<uint8_t>(region.size(), 1), images, used);
  return images;
}

RunFinder::Images RunFinder::downstream(const Region& region, const std::vector<uint32_t>& copy, const Reads& link,
                                        uint32_t root) const {
  const uint32_t n = region.size();
  Images images(n, kNobody);
  if (graph_.closed[copy[root]] || graph_.out_degree(copy[root]) != link.size()) return images;
  Used used;
  std::vector<uint8_t> reached(n, 0);  // from the link
  for (const auto& read : link) reached[read.first] = 1;
  for (uint32_t q : region.order) {
    for (uint32_t e = region.in_offsets[q]; e < region.in_offsets[q + 1]; ++e) {
      reached[q] |= reached[region.in_sources[e]];
    }
  }
  for (uint32_t q : region.order) {
    if (!reached[q]) continue;
    Reads needed;  // (node, label) that the image has to read
    bool possible = true;
    for (const auto& [place, label] : link) {
      if (place == q) needed.emplace_back(copy[root], label);
    }
    for (uint32_t e = region.in_offsets[q]; e < region.in_offsets[q + 1]; ++e) {
      const uint32_t source = region.in_sources[e];
      if (!reached[source]) continue;
      possible = possible && images[source] != kNobody;
      needed.emplace_back(images[source], region.in_labels[e]);
    }
    if (!possible) continue;
    const uint32_t from = needed.front().first;
    uint32_t best = kNobody;
    for (int64_t e = graph_.out_offsets[from]; e < graph_.out_offsets[from + 1]; ++e) {
      const uint32_t node = graph_.out_targets[e];
      if (graph_.types[node] != region.types[q] || used.contains(node)) continue;
      bool all = true;
      for (const auto& [source, label] : needed) all = all && has_edge(source, node, label);
      if (all && (best == kNobody || resemblance(node, copy[q]) > resemblance(best, copy[q]))) best = node;
    }
    if (best == kNobody) continue;
    images[q] = best;
    used.insert(best);
  }
  std::vector<uint8_t> wanted(n);
  for (uint32_t q = 0; q < n; ++q) wanted[q] = !reached[q];
  match_above(region, copy, wanted, images, used);
  return images;
}

// The node outside of a copy that one of its nodes reads by an edge of this label.
uint32_t RunFinder::reader_of(uint32_t node, uint32_t label, const Images& copy) const {
  for (int64_t e = graph_.in_offsets[node]; e < graph_.in_offsets[node + 1]; ++e) {
    if (graph_.in_labels[e] == label && !taken(copy, graph_.in_sources[e])) return graph_.in_sources[e];
  }
  return kNobody;
}

// The node that feeds the first copy in the place of the cut.
uint32_t RunFinder::entry_of(const Region& region, const Images& above, const std::vector<uint32_t>& step,
                             uint32_t cut) const {
  for (uint32_t q = 0; q < region.size(); ++q) {
    if (step[q] <= cut) continue;
    for (uint32_t e = region.in_offsets[q]; e < region.in_offsets[q + 1]; ++e) {
      if (step[region.in_sources[e]] > cut) continue;
      const uint32_t entry = reader_of(above[q], region.in_labels[e], above);
      if (entry != kNobody) return entry;
    }
  }
  return kNobody;
}

std::optional<Run> RunFinder::longest(const std::vector<uint32_t>& copy, const Reads& link, uint32_t root) {
  const Region region = reader_.read(copy);
  const uint32_t n = region.size();
  std::vector<uint32_t> step;
  const std::vector<uint32_t> way = shared_way(region, link, root, step);
  const auto last = static_cast<uint32_t>(way.size()) - 1;
  const auto inner_degree = [&](uint32_t q) { return region.out_offsets[q + 1] - region.out_offsets[q]; };
  // Whether the images hold all that leads to a node of the way, and nothing of it is read elsewhere.
  const auto holds = [&](const Images& images, uint32_t cut) {
    for (uint32_t q = 0; q < n; ++q) {
      if (step[q] > cut) continue;
      if (images[q] == kNobody) return false;
      if (q == way[cut]) continue;
      if (graph_.closed[images[q]] || graph_.out_degree(images[q]) != inner_degree(q)) return false;
    }
    return true;
  };
  std::vector<Images> copies{copy};
  Images above = upstream(region, copy, link, root), below = downstream(region, copy, link, root);
  while (std::find(above.begin(), above.end(), kNobody) == above.end()) {
    copies.push_back(above);
    above = upstream(region, copies.back(), link, root);
  }
  std::reverse(copies.begin(), copies.end());
  while (holds(below, last)) {
    copies.push_back(below);
    below = downstream(region, copies.back(), link, root);
  }
  Run run;
  for (uint32_t cut = 0; cut < last; ++cut) {
    bool rest = true;
    for (uint32_t q = 0; q < n; ++q) rest = rest && (step[q] <= cut || above[q] != kNobody);
    if (!rest || !holds(below, cut)) continue;
    copies.insert(copies.begin(), above);
    copies.push_back(below);
    for (size_t i = 1; i < copies.size(); ++i) {
      auto& nodes = run.copies.emplace_back();
      for (uint32_t q = 0; q < n; ++q) nodes.push_back(copies[step[q] <= cut ? i : i - 1][q]);
      run.cuts.push_back(copies[i][way[cut]]);
    }
    const uint32_t entry = entry_of(region, above, step, cut);
    if (entry != kNobody) run.cuts.push_back(entry);
    return run;
  }
  if (copies.size() < 2) return {};
  for (const auto& nodes : copies) run.cuts.push_back(nodes[root]);
  for (const auto& [place, label] : link) {
    const uint32_t entry = reader_of(copies.front()[place], label, copies.front());
    if (entry != kNobody) run.cuts.push_back(entry);
  }
  run.copies = std::move(copies);
  return run;
}

// Immediate post-dominators of the nodes of one graph: the first node that all paths from a node to the end pass.
// `sizes` counts the nodes that each node dominates so, itself included.
struct RunFinder::Tree {
  std::vector<uint32_t> parent, depth, sizes, heavy;  // by node less `begin`; kNobody for the end
};

RunFinder::Tree RunFinder::post_dominators(uint32_t begin, std::span<const uint32_t> downstream_first) const {
  const size_t n = downstream_first.size();
  Tree tree{std::vector<uint32_t>(n, kNobody), std::vector<uint32_t>(n, 0), std::vector<uint32_t>(n, 1),
            std::vector<uint32_t>(n, kNobody)};
  for (uint32_t node : downstream_first) {
    const uint32_t i = node - begin;
    if (graph_.closed[node]) continue;
    uint32_t common = kNobody;
    bool first = true;
    for (int64_t e = graph_.out_offsets[node]; e < graph_.out_offsets[node + 1]; ++e) {
      uint32_t other = graph_.out_targets[e] - begin;
      if (first) common = other;
      first = false;
      while (common != other && common != kNobody) {
        if (other == kNobody || tree.depth[common] > tree.depth[other]) common = tree.parent[common];
        else other = tree.parent[other];
      }
    }
    tree.parent[i] = common;
    tree.depth[i] = common == kNobody ? 0 : tree.depth[common] + 1;
  }
  std::vector<uint32_t> lowest(n);  // level that a node dominates: the way from the sources is the main one
  for (uint32_t node : downstream_first) lowest[node - begin] = levels_[node];
  for (size_t p = n; p-- > 0;) {
    const uint32_t i = downstream_first[p] - begin, up = tree.parent[i];
    if (up == kNobody) continue;
    tree.sizes[up] += tree.sizes[i];
    lowest[up] = std::min(lowest[up], lowest[i]);
    const uint32_t known = tree.heavy[up];
    if (known == kNobody || lowest[i] < lowest[known] ||
        (lowest[i] == lowest[known] && tree.sizes[i] > tree.sizes[known])) {
      tree.heavy[up] = i;
    }
  }
  return tree;
}

// The nodes that pass `to` but not `from`, `to` first.
std::vector<uint32_t> RunFinder::between(const Tree& tree, uint32_t begin, uint32_t from, uint32_t to) const {
  std::vector<uint32_t> nodes{begin + to};
  for (size_t done = 0; done < nodes.size(); ++done) {
    for (int64_t e = graph_.in_offsets[nodes[done]]; e < graph_.in_offsets[nodes[done] + 1]; ++e) {
      const uint32_t source = graph_.in_sources[e];
      if (source - begin == from || seen_[source]) continue;
      if (tree.parent[source - begin] == kNobody) continue;
      // Inside when its way down meets a node that is inside already: its immediate post-dominator.
      const uint32_t next = begin + tree.parent[source - begin];
      if (next != begin + to && !seen_[next]) continue;
      seen_[source] = 1;
      nodes.push_back(source);
    }
  }
  for (uint32_t node : nodes) seen_[node] = 0;
  return nodes;
}

bool RunFinder::covers(const Run& run, uint32_t begin, std::span<const uint32_t> chain) {
  for (const auto& copy : run.copies) for (uint32_t node : copy) seen_[node] = 1;
  const bool all = std::all_of(chain.begin(), chain.end(), [&](uint32_t i) { return seen_[begin + i]; });
  for (const auto& copy : run.copies) for (uint32_t node : copy) seen_[node] = 0;
  return all;
}

void RunFinder::runs_of_chain(const Tree& tree, uint32_t begin, std::span<const uint32_t> chain,
                              std::vector<Run>& found) {
  const size_t length = chain.size();
  struct Stretch {
    size_t from, to, period;
  };
  std::vector<Stretch> known;
  for (size_t period = 1; 2 * period <= length; ++period) {
    for (size_t from = 0; from + period < length;) {
      size_t to = from;  // types repeat on [from, to + period)
      while (to + period < length && graph_.types[begin + chain[to]] == graph_.types[begin + chain[to + period]]) ++to;
      const size_t start = from;
      from = to + 1;
      if (to - start < period) continue;
      const bool multiple = std::any_of(known.begin(), known.end(), [&](const Stretch& s) {
        return period % s.period == 0 && s.from <= start && to + period <= s.to;
      });
      if (multiple) continue;
      // The copy with the fewest nodes beside the chain, of these the one farthest from the ends.
      const auto worse = [&](size_t i) {
        const uint32_t size = tree.sizes[chain[i + period]] - tree.sizes[chain[i]];
        return std::pair(size, std::max(i - start, to - i));
      };
      size_t best = start;
      for (size_t i = start; i < to; ++i) {
        if (worse(i) < worse(best)) best = i;
      }
      const uint32_t entry = begin + chain[best];
      const auto copy = between(tree, begin, chain[best], chain[best + period]);
      Reads link;
      for (int64_t e = graph_.out_offsets[entry]; e < graph_.out_offsets[entry + 1]; ++e) {
        const auto place = std::find(copy.begin(), copy.end(), graph_.out_targets[e]) - copy.begin();
        link.emplace_back(static_cast<uint32_t>(place), graph_.out_labels[e]);
      }
      std::sort(link.begin(), link.end());
      if (auto run = longest(copy, link, 0)) {
        if (covers(*run, begin, chain.subspan(start + 1, to + period - start - 1))) {
          known.push_back({start, to + period, period});
        }
        found.push_back(std::move(*run));
      }
    }
  }
}

std::vector<uint8_t> RunFinder::cuts(std::span<const uint32_t> unit_of, std::span<const uint8_t> graphs,
                                     const KeepGoing& keep_going) {
  std::vector<uint8_t> cut(graph_.nodes(), 0);
  std::vector<uint32_t> owner(graph_.nodes(), 0);  // the innermost copy that a node lies in, 0 for none
  for (size_t g = 0; g + 1 < graph_.node_offsets.size(); ++g) {
    if (!graphs[g]) continue;
    if (g % 64 == 0 && keep_going && !keep_going(0.0)) throw Stopped();
    const auto begin = static_cast<uint32_t>(graph_.node_offsets[g]);
    std::vector<uint32_t> nodes(static_cast<size_t>(graph_.node_offsets[g + 1]) - begin);
    std::iota(nodes.begin(), nodes.end(), begin);
    std::stable_sort(nodes.begin(), nodes.end(), [&](uint32_t a, uint32_t b) { return levels_[a] > levels_[b]; });
    const Tree tree = post_dominators(begin, nodes);
    look_around(begin, begin + static_cast<uint32_t>(nodes.size()));
    std::vector<Run> found;
    std::vector<const Run*> run_of{nullptr};  // by copy, and the copy around that run
    std::vector<uint32_t> outer{0};
    for (uint32_t node : nodes) {  // each chain once, from its last node
      uint32_t at = node - begin;
      if (tree.parent[at] != kNobody && tree.heavy[tree.parent[at]] == at) continue;
      std::vector<uint32_t> chain;
      for (; at != kNobody; at = tree.heavy[at]) chain.push_back(at);
      std::reverse(chain.begin(), chain.end());
      runs_of_chain(tree, begin, chain, found);
    }
    const auto saved = [](const Run& run) { return (run.copies.size() - 1) * run.copies.front().size(); };
    std::stable_sort(found.begin(), found.end(), [&](const Run& a, const Run& b) { return saved(a) > saved(b); });
    for (const Run& run : found) {
      const uint32_t around = owner[run.copies.front().front()];
      bool within = true;  // one copy of another run, or none
      for (const auto& copy : run.copies) {
        for (uint32_t node : copy) within = within && owner[node] == around;
      }
      if (!within) continue;
      for (const auto& copy : run.copies) {
        for (uint32_t node : copy) owner[node] = static_cast<uint32_t>(run_of.size());
        run_of.push_back(&run);
        outer.push_back(around);
      }
      const uint32_t unit = unit_of[run.copies.front().front()];
      bool one = true;  // the merging has found it without help
      for (const auto& copy : run.copies) {
        for (uint32_t node : copy) one = one && unit_of[node] == unit;
      }
      if (one) continue;
      std::vector<uint32_t> cuts = run.cuts;  // the same in all copies of the runs around
      for (uint32_t at = around; at != 0; at = outer[at]) {
        for (size_t c = 0, end = cuts.size(); c < end; ++c) {
          for (const auto& copy : run_of[at]->copies) {
            const auto place = std::find(copy.begin(), copy.end(), cuts[c]) - copy.begin();
            if (place == std::ssize(copy)) continue;
            for (const auto& other : run_of[at]->copies) cuts.push_back(other[place]);
          }
        }
      }
      uint8_t depth = 1;
      for (uint32_t at = around; at != 0 && depth < UINT8_MAX; at = outer[at]) ++depth;
      for (uint32_t node : cuts) {
        if (cut[node] == 0) cut[node] = depth;
      }
    }
  }
  return cut;
}

}  // namespace grade
