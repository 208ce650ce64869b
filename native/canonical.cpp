#include "canonical.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace grade {
namespace {

constexpr uint64_t factorial(int n) {
  uint64_t product = 1;
  for (int i = 2; i <= n; ++i) product *= i;
  return product;
}

constexpr uint16_t bit(int i) { return static_cast<uint16_t>(1u << i); }

}  // namespace

SmallGraph reordered(const SmallGraph& graph, const std::array<uint8_t, kMaxSize>& order) {
  const int k = graph.k;
  SmallGraph result;
  result.k = k;
  for (int p = 0; p < k; ++p) {
    result.types[p] = graph.types[order[p]];
    for (int q = 0; q < k; ++q) result.edges[p * k + q] = graph.edges[order[p] * k + order[q]];
  }
  return result;
}

CanonicalForm Canonicalizer::operator()(const SmallGraph& graph) {
  read(graph);

  // First cells: by type, self-loop and degrees.
  const uint16_t all = static_cast<uint16_t>((1u << k_) - 1);
  std::array<std::pair<uint64_t, uint8_t>, kMaxSize> keyed;
  for (int i = 0; i < k_; ++i) {
    std::pair<uint64_t, uint8_t> item{(uint64_t{class_[i]} << 40) | (signature(i, all) & ((1ull << 40) - 1)),
                                      static_cast<uint8_t>(i)};
    int place = i;
    for (; place > 0 && keyed[place - 1].first > item.first; --place) keyed[place] = keyed[place - 1];
    keyed[place] = item;
  }
  Partition root;
  root.starts = 0;
  for (int p = 0; p < k_; ++p) {
    root.nodes[p] = keyed[p].second;
    if (p == 0 || keyed[p].first != keyed[p - 1].first) root.starts |= 1u << p;
  }
  refine(root, root.starts);

  automorphisms_ = 1;
  CanonicalForm form;
  if (std::popcount(root.starts) == k_) {
    form.order = root.nodes;
    form.automorphisms = 1;
    return form;
  }
  find_twins(root);
  have_leaf_ = false;
  generators_.clear();
  std::iota(orbit_.begin(), orbit_.end(), uint8_t{0});
  search(root, 0, 0, true);
  form.order = best_.nodes;
  form.automorphisms = automorphisms_;
  return form;
}

void Canonicalizer::read(const SmallGraph& graph) {
  k_ = graph.k;
  kinds_ = 0;
  int last_type = 0, last_kind = -1;  // most graphs have one edge type: remember it
  std::array<int16_t, 256> kind_of;
  std::array<uint8_t, kMaxSize * kMaxSize> type_of;
  kind_of.fill(-1);
  for (int i = 0; i < k_; ++i) {
    const uint8_t* row = graph.edges.data() + i * k_;
    class_[i] = (uint32_t{graph.types[i]} << 8) | row[i];
    for (int j = 0; j < k_; ++j) {
      const int type = row[j];
      if (type == 0 || i == j) continue;
      if (type != last_type) {
        last_type = type;
        if (kind_of[type] < 0) {
          kind_of[type] = static_cast<int16_t>(kinds_);
          type_of[kinds_] = static_cast<uint8_t>(type);
          for (int node = 0; node < k_; ++node) out_[kinds_][node] = in_[kinds_][node] = 0;
          ++kinds_;
        }
        last_kind = kind_of[type];
      }
      out_[last_kind][i] |= bit(j);
      in_[last_kind][j] |= bit(i);
    }
  }
  // Kinds in the order of their types, not of their appearance.
  for (int a = 1; a < kinds_; ++a) {
    for (int b = a; b > 0 && type_of[b - 1] > type_of[b]; --b) {
      std::swap(type_of[b - 1], type_of[b]);
      std::swap(out_[b - 1], out_[b]);
      std::swap(in_[b - 1], in_[b]);
    }
  }
}

// How a node is tied to a cell. Equal for nodes that an isomorphism maps onto each other; two ties may
// share a value when there are several edge types, which costs refinement but never exactness.
uint64_t Canonicalizer::signature(int node, uint16_t cell) const {
  uint64_t value = 0;
  for (int kind = 0; kind < kinds_; ++kind) {
    value = value * 0x9E3779B97F4A7C15ull + (std::popcount<unsigned>(out_[kind][node] & cell) << 5) +
            std::popcount<unsigned>(in_[kind][node] & cell);
  }
  return value;
}

int Canonicalizer::cell_end(const Partition& partition, int start) const {
  const uint32_t later = partition.starts >> (start + 1);
  return later ? start + 1 + std::countr_zero(later) : k_;
}

uint16_t Canonicalizer::cell_mask(const Partition& partition, int start, int end) const {
  uint16_t mask = 0;
  for (int p = start; p < end; ++p) mask |= bit(partition.nodes[p]);
  return mask;
}

// Splits cells until all nodes of a cell have the same signature towards every cell.
void Canonicalizer::refine(Partition& partition, uint32_t splitters) const {
  const uint32_t discrete = (1u << k_) - 1;
  std::array<uint64_t, kMaxSize> value;
  while (splitters && partition.starts != discrete) {
    const int splitter = std::countr_zero(splitters);
    splitters &= splitters - 1;
    const uint16_t mask = cell_mask(partition, splitter, cell_end(partition, splitter));
    for (int start = 0; start < k_;) {
      const int end = cell_end(partition, start);
      if (end - start == 1) {
        start = end;
        continue;
      }
      for (int p = start; p < end; ++p) {  // insertion sort of the cell by signature
        const uint8_t node = partition.nodes[p];
        const uint64_t v = signature(node, mask);
        int place = p;
        for (; place > start && value[place - 1] > v; --place) {
          value[place] = value[place - 1];
          partition.nodes[place] = partition.nodes[place - 1];
        }
        value[place] = v;
        partition.nodes[place] = node;
      }
      if (value[start] != value[end - 1]) {
        uint32_t fragments = 1u << start;
        for (int p = start + 1; p < end; ++p) {
          if (value[p] != value[p - 1]) fragments |= 1u << p;
        }
        partition.starts |= fragments;
        splitters |= fragments;
      }
      start = end;
    }
  }
}

// Nodes are twins if swapping them is an automorphism; being twins is an equivalence.
void Canonicalizer::find_twins(const Partition& partition) {
  for (int i = 0; i < k_; ++i) twins_[i] = bit(i);
  for (int start = 0; start < k_;) {
    const int end = cell_end(partition, start);
    for (int p = start; p < end; ++p) {
      const int u = partition.nodes[p];
      for (int q = p + 1; q < end; ++q) {
        const int v = partition.nodes[q];
        const uint16_t others = static_cast<uint16_t>(~(bit(u) | bit(v)));
        bool same = true;
        for (int kind = 0; kind < kinds_ && same; ++kind) {
          same = ((out_[kind][u] ^ out_[kind][v]) & others) == 0 && ((in_[kind][u] ^ in_[kind][v]) & others) == 0 &&
                 ((out_[kind][u] >> v) & 1) == ((out_[kind][v] >> u) & 1);
        }
        if (same) {
          twins_[u] |= bit(v);
          twins_[v] |= bit(u);
        }
      }
    }
    start = end;
  }
}

bool Canonicalizer::all_cells_are_twins(const Partition& partition) const {
  for (int start = 0; start < k_;) {
    const int end = cell_end(partition, start);
    if (end - start > 1 && (cell_mask(partition, start, end) & ~twins_[partition.nodes[start]])) return false;
    start = end;
  }
  return true;
}

// Explores the subtree below a partition; `fixed` are the nodes individualised so far. Returns the depth to
// go back to: after an automorphism is found, everything below the common ancestor of the two leaves is known.
int Canonicalizer::search(const Partition& partition, int depth, uint16_t fixed, bool first_path) {
  if (all_cells_are_twins(partition)) return leaf(partition, depth);

  int target = -1, target_end = -1;
  for (int start = 0; start < k_;) {  // the smallest cell that is not all twins
    const int end = cell_end(partition, start);
    if (end - start > 1 && (target < 0 || end - start < target_end - target) &&
        (cell_mask(partition, start, end) & ~twins_[partition.nodes[start]])) {
      target = start;
      target_end = end;
    }
    start = end;
  }

  uint16_t done = 0;  // nodes tried, or equivalent to one that was
  size_t known = 0;   // generators already used for pruning here
  for (int p = target; p < target_end; ++p) {
    const int node = partition.nodes[p];
    // Close `done` under the automorphisms that fix all individualised nodes.
    for (bool grown = known != generators_.size(); grown;) {
      grown = false;
      known = generators_.size();
      for (const Permutation& g : generators_) {
        bool fixes = true;
        for (uint16_t rest = fixed; rest && fixes; rest &= rest - 1) {
          const int f = std::countr_zero(rest);
          fixes = g[f] == f;
        }
        if (!fixes) continue;
        uint16_t image = 0;
        for (uint16_t rest = done; rest; rest &= rest - 1) image |= bit(g[std::countr_zero(rest)]);
        if (image & ~done) {
          done |= image;
          grown = true;
        }
      }
    }
    if (done & bit(node)) continue;

    Partition child = partition;
    std::swap(child.nodes[target], child.nodes[p]);
    child.starts |= 1u << (target + 1);
    refine(child, (1u << target) | (1u << (target + 1)));
    path_[depth] = static_cast<uint8_t>(node);
    const int back_to = search(child, depth + 1, fixed | bit(node), first_path && p == target);
    if (back_to < depth) return back_to;
    done |= twins_[node] & ~fixed;
    known = SIZE_MAX;  // `done` grew: close it again
  }

  if (first_path) {
    // All automorphisms found so far fix the nodes above this level, so their orbits, joined with the
    // twins that are free here, are those of the stabiliser: its index is the orbit of the first child.
    for (int i = 0; i < k_; ++i) {
      if (fixed & bit(i)) continue;
      for (uint16_t rest = twins_[i] & ~fixed; rest; rest &= rest - 1) join(i, std::countr_zero(rest));
    }
    const int root = orbit(first_path_nodes_[depth]);
    int size = 0;
    for (int i = 0; i < k_; ++i) size += orbit(i) == root;
    automorphisms_ *= size;
  }
  return depth - 1;
}

int Canonicalizer::leaf(const Partition& partition, int depth) {
  auto common_depth = [&](const auto& other, int other_depth) {
    int d = 0;
    while (d < depth && d < other_depth && path_[d] == other[d]) ++d;
    return d;
  };
  if (!have_leaf_) {
    have_leaf_ = true;
    for (int start = 0; start < k_;) {  // cells that are left hold twins only: any order gives the same code
      const int end = cell_end(partition, start);
      automorphisms_ *= factorial(end - start);
      start = end;
    }
    first_ = best_ = partition;
    first_path_nodes_ = best_path_ = path_;
    first_depth_ = best_depth_ = depth;
    if (depth > 0) {
      write_code(partition, first_code_);
      best_code_ = first_code_;
    }
    return depth - 1;
  }
  write_code(partition, code_);
  if (code_ == first_code_) {
    add_automorphism(first_, partition);
    return common_depth(first_path_nodes_, first_depth_);
  }
  if (code_ == best_code_) {
    add_automorphism(best_, partition);
    return common_depth(best_path_, best_depth_);
  }
  if (code_ < best_code_) {
    best_ = partition;
    best_path_ = path_;
    best_depth_ = depth;
    best_code_ = code_;
  }
  return depth - 1;
}

void Canonicalizer::write_code(const Partition& partition, Code& code) const {
  std::array<uint8_t, kMaxSize> place;
  for (int p = 0; p < k_; ++p) place[partition.nodes[p]] = static_cast<uint8_t>(p);
  code.clear();
  for (int kind = 0; kind < kinds_; ++kind) {
    for (int p = 0; p < k_; ++p) {
      uint16_t row = 0;
      for (uint16_t rest = out_[kind][partition.nodes[p]]; rest; rest &= rest - 1) {
        row |= bit(place[std::countr_zero(rest)]);
      }
      code.push_back(row);
    }
  }
}

void Canonicalizer::add_automorphism(const Partition& from, const Partition& to) {
  Permutation map;
  for (int p = 0; p < k_; ++p) map[from.nodes[p]] = to.nodes[p];
  for (int i = 0; i < k_; ++i) join(i, map[i]);
  generators_.push_back(map);
}

int Canonicalizer::orbit(int node) {
  while (orbit_[node] != node) node = orbit_[node] = orbit_[orbit_[node]];
  return node;
}

void Canonicalizer::join(int a, int b) {
  a = orbit(a);
  b = orbit(b);
  orbit_[std::max(a, b)] = static_cast<uint8_t>(std::min(a, b));
}

}  // namespace grade
