#include "canonical.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "mixing.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace grade {
namespace {

constexpr uint64_t factorial(int n) {
  uint64_t product = 1;
  for (int i = 2; i <= n; ++i) product *= i;
  return product;
}

constexpr uint16_t bit(int i) { return static_cast<uint16_t>(1u << i); }

// Fixed random numbers for signatures: one for each direction and colour.
constexpr auto kWeights = [] {
  std::array<std::array<uint64_t, kMaxSize>, 2> weights{};
  uint64_t state = 0x243F6A8885A308D3ull;
  for (auto& row : weights) {
    for (uint64_t& weight : row) {
      state += kGolden;
      weight = mixed(state);
    }
  }
  return weights;
}();

struct RowMasks {
  uint16_t present;  // columns that hold an edge
  uint16_t common;   // columns that hold an edge of the wanted type
};

// Rows are read 16 columns at a time: the matrix of a SmallGraph has room for that in every row.
RowMasks row_masks(const uint8_t* row, uint8_t type) {
#ifdef __SSE2__
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row));
  return {static_cast<uint16_t>(~_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()))),
          static_cast<uint16_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(static_cast<char>(type)))))};
#else
  RowMasks masks{0, 0};
  for (int j = 0; j < kMaxSize; ++j) {
    masks.present |= static_cast<uint16_t>((row[j] != 0) << j);
    masks.common |= static_cast<uint16_t>((row[j] == type) << j);
  }
  return masks;
#endif
}

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
  Partition root = by_class_and_degree();
  automorphisms_ = 1;
  have_leaf_ = false;
  // Twins are never told apart: where only twins are left together, there is nothing to refine.
  if (!all_cells_are_twins(root)) {
    refine(root);
    if (!all_cells_are_twins(root)) {
      find_twins(root);
      generators_.clear();
      std::iota(orbit_.begin(), orbit_.end(), uint8_t{0});
    }
  }
  search(root, 0, 0, true);
  return {best_.nodes, automorphisms_};
}

void Canonicalizer::write(const std::array<uint8_t, kMaxSize>& order, uint16_t* types, uint8_t* edges) const {
  std::array<uint8_t, kMaxSize> place;
  std::fill_n(edges, k_ * k_, uint8_t{0});
  for (int p = 0; p < k_; ++p) {
    place[order[p]] = static_cast<uint8_t>(p);
    types[p] = static_cast<uint16_t>(class_[order[p]] >> 8);
    edges[p * k_ + p] = static_cast<uint8_t>(class_[order[p]]);
  }
  for (int kind = 0; kind < kinds_; ++kind) {
    for (int p = 0; p < k_; ++p) {
      for (uint16_t rest = out_[kind][order[p]]; rest; rest &= rest - 1) {
        edges[p * k_ + place[std::countr_zero(rest)]] = type_of_kind_[kind];
      }
    }
  }
}

void Canonicalizer::read(const SmallGraph& graph) {
  k_ = graph.k;
  kinds_ = 1;
  const uint16_t all = static_cast<uint16_t>((1u << k_) - 1);
  uint8_t type = 0;
  for (int i = 0; i < k_; ++i) in_[0][i] = 0;
  for (int i = 0; i < k_; ++i) {
    const uint8_t* row = graph.edges.data() + i * k_;
    class_[i] = (uint32_t{graph.types[i]} << 8) | row[i];
    const uint16_t others = static_cast<uint16_t>(all & ~bit(i));
    RowMasks masks = row_masks(row, type);
    const uint16_t edges = masks.present & others;
    if (edges && type == 0) {
      type = row[std::countr_zero(edges)];
      masks = row_masks(row, type);
    }
    if (edges & ~masks.common) return read_mixed_types(graph);
    out_[0][i] = edges;
    for (uint16_t rest = edges; rest; rest &= rest - 1) in_[0][std::countr_zero(rest)] |= bit(i);
  }
  type_of_kind_[0] = type;
  if (type == 0) kinds_ = 0;
}

void Canonicalizer::read_mixed_types(const SmallGraph& graph) {
  std::array<int16_t, 256> kind_of;
  kind_of.fill(-1);
  for (int i = 0; i < k_; ++i) {
    for (int j = 0; j < k_; ++j) {
      if (i != j && graph.edges[i * k_ + j]) kind_of[graph.edges[i * k_ + j]] = 0;
    }
  }
  kinds_ = 0;
  for (int type = 1; type < 256; ++type) {
    if (kind_of[type] < 0) continue;
    for (int node = 0; node < k_; ++node) out_[kinds_][node] = in_[kinds_][node] = 0;
    type_of_kind_[kinds_] = static_cast<uint8_t>(type);
    kind_of[type] = static_cast<int16_t>(kinds_++);
  }
  for (int i = 0; i < k_; ++i) {
    class_[i] = (uint32_t{graph.types[i]} << 8) | graph.edges[i * k_ + i];
    for (int j = 0; j < k_; ++j) {
      const int type = graph.edges[i * k_ + j];
      if (i == j || type == 0) continue;
      out_[kind_of[type]][i] |= bit(j);
      in_[kind_of[type]][j] |= bit(i);
    }
  }
}

Canonicalizer::Partition Canonicalizer::by_class_and_degree() const {
  std::array<uint64_t, kMaxSize> key;  // class, degrees, node: all different
  for (int i = 0; i < k_; ++i) {
    unsigned out_degree = 0, in_degree = 0;
    for (int kind = 0; kind < kinds_; ++kind) {
      out_degree += std::popcount(out_[kind][i]);
      in_degree += std::popcount(in_[kind][i]);
    }
    key[i] = uint64_t{class_[i]} << 16 | out_degree << 10 | in_degree << 4 | static_cast<unsigned>(i);
  }
  // Ranks instead of a sort: comparisons whose outcome nothing has to guess.
  Partition partition;
  std::array<uint64_t, kMaxSize> sorted;
  for (int i = 0; i < k_; ++i) {
    int rank = 0;
    for (int j = 0; j < k_; ++j) rank += key[j] < key[i];
    sorted[rank] = key[i];
    partition.nodes[rank] = static_cast<uint8_t>(i);
  }
  partition.starts = 1;
  for (int p = 1; p < k_; ++p) partition.starts |= uint32_t{(sorted[p] >> 4) != (sorted[p - 1] >> 4)} << p;
  return partition;
}

// Starts of the cells that hold more than one node.
uint32_t Canonicalizer::open_cells(const Partition& partition) const {
  return partition.starts & ~((partition.starts | 1u << k_) >> 1);
}

int Canonicalizer::cell_end(const Partition& partition, int start) const {
  return start + 1 + std::countr_zero((partition.starts | 1u << k_) >> (start + 1));
}

// How a node is tied to the colours of its neighbours. Equal for nodes that an isomorphism maps onto each other;
// if two different ties ever share a value, that costs refinement but not exactness.
uint64_t Canonicalizer::signature(int node, const std::array<uint8_t, kMaxSize>& colour) const {
  uint64_t value = 0;
  for (int kind = 0; kind < kinds_; ++kind) {
    uint64_t sum = 0;
    for (uint16_t rest = out_[kind][node]; rest; rest &= rest - 1) sum += kWeights[0][colour[std::countr_zero(rest)]];
    for (uint16_t rest = in_[kind][node]; rest; rest &= rest - 1) sum += kWeights[1][colour[std::countr_zero(rest)]];
    value += sum * (2 * uint64_t{type_of_kind_[kind]} + 1);
  }
  return value;
}

// Splits cells by signature, all at once per round, until a round splits none.
void Canonicalizer::refine(Partition& partition) const {
  std::array<uint8_t, kMaxSize> colour;
  std::array<uint64_t, kMaxSize> value;
  for (uint32_t open = open_cells(partition); open;) {
    for (int p = 0, start = 0; p < k_; ++p) {
      if (partition.starts >> p & 1) start = p;
      colour[partition.nodes[p]] = static_cast<uint8_t>(start);
    }
    uint32_t splits = 0;
    for (uint32_t cells = open; cells; cells &= cells - 1) {
      const int start = std::countr_zero(cells), end = cell_end(partition, start);
      for (int p = start; p < end; ++p) {  // insertion sort of the cell by signature
        const uint8_t node = partition.nodes[p];
        const uint64_t v = signature(node, colour);
        int place = p;
        for (; place > start && value[place - 1] > v; --place) {
          value[place] = value[place - 1];
          partition.nodes[place] = partition.nodes[place - 1];
        }
        value[place] = v;
        partition.nodes[place] = node;
      }
      for (int p = start + 1; p < end; ++p) splits |= uint32_t{value[p] != value[p - 1]} << p;
    }
    if (!splits) break;
    partition.starts |= splits;
    open = open_cells(partition);
  }
}

// Nodes are twins if swapping them is an automorphism; being twins is an equivalence.
bool Canonicalizer::twins(int u, int v) const {
  const uint16_t others = static_cast<uint16_t>(~(bit(u) | bit(v)));
  for (int kind = 0; kind < kinds_; ++kind) {
    if (((out_[kind][u] ^ out_[kind][v]) & others) || ((in_[kind][u] ^ in_[kind][v]) & others) ||
        (out_[kind][u] >> v & 1) != (out_[kind][v] >> u & 1)) {
      return false;
    }
  }
  return true;
}

bool Canonicalizer::twin_cell(const Partition& partition, int start) const {
  for (int p = start + 1; p < cell_end(partition, start); ++p) {
    if (!twins(partition.nodes[start], partition.nodes[p])) return false;
  }
  return true;
}

bool Canonicalizer::all_cells_are_twins(const Partition& partition) const {
  for (uint32_t open = open_cells(partition); open; open &= open - 1) {
    if (!twin_cell(partition, std::countr_zero(open))) return false;
  }
  return true;
}

void Canonicalizer::find_twins(const Partition& partition) {
  for (int i = 0; i < k_; ++i) twins_[i] = bit(i);
  for (uint32_t open = open_cells(partition); open; open &= open - 1) {
    const int start = std::countr_zero(open), end = cell_end(partition, start);
    for (int p = start; p < end; ++p) {
      for (int q = p + 1; q < end; ++q) {
        const int u = partition.nodes[p], v = partition.nodes[q];
        if (!twins(u, v)) continue;
        twins_[u] |= bit(v);
        twins_[v] |= bit(u);
      }
    }
  }
}

// Explores the subtree below a partition; `fixed` are the nodes individualised so far. Returns the depth to
// go back to: after an automorphism is found, everything below the common ancestor of the two leaves is known.
int Canonicalizer::search(const Partition& partition, int depth, uint16_t fixed, bool first_path) {
  if (all_cells_are_twins(partition)) return leaf(partition, depth);

  int target = -1, target_end = -1;  // the smallest cell that is not all twins
  for (uint32_t open = open_cells(partition); open; open &= open - 1) {
    const int start = std::countr_zero(open), end = cell_end(partition, start);
    if ((target < 0 || end - start < target_end - target) && !twin_cell(partition, start)) {
      target = start;
      target_end = end;
    }
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
    refine(child);
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
    for (uint32_t open = open_cells(partition); open; open &= open - 1) {
      const int start = std::countr_zero(open);  // twins only: any order gives the same code
      automorphisms_ *= factorial(cell_end(partition, start) - start);
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
