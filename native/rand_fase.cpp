#include "rand_fase.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "trie.hpp"

namespace grade {
namespace {

constexpr uint8_t kNoMember = 0xFF;

// Follows paths of the trie. Rows come in the order of the tree, so most begin like the one before.
template <class Conn>
class Path {
 public:
  Path(const Graph& graph, int k) : graph_(graph), k_(k), place_(graph.nodes(), kNoMember) {}

  uint32_t leaf(const uint32_t* members) {
    int shared = 0;
    while (shared < length_ && members[shared] == members_[shared]) ++shared;
    while (length_ > shared) place_[members_[--length_]] = kNoMember;
    for (; length_ < k_; ++length_) {
      const uint32_t node = members[length_];
      Conn label;
      for (const Neighbour& n : graph_.neighbours(node)) {
        const uint8_t place = place_[n.node];
        if (place != kNoMember) label.add(place, graph_.arc_class(graph_.arc(n)).reverse);  // seen from the member
      }
      const uint32_t parent = length_ ? states_[length_ - 1] : Trie<Conn>::kRoot;
      states_[length_] = trie_.step(parent, label, graph_.class_of(node));
      members_[length_] = node;
      place_[node] = static_cast<uint8_t>(length_);
    }
    return states_[k_ - 1];
  }

  const Trie<Conn>& trie() const { return trie_; }

 private:
  const Graph& graph_;
  const int k_;
  Trie<Conn> trie_;
  std::vector<uint8_t> place_;  // [node] its place among the members
  int length_ = 0;
  std::array<uint32_t, kMaxSize> members_{}, states_{};
};

template <class Conn>
ClassifiedLeaves classify_with(const Graph& graph, int k, std::span<const uint32_t> members) {
  const size_t count = members.size() / k;
  ClassifiedLeaves result{std::vector<uint32_t>(count), PatternMap(k), {}, 0};
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  auto row = [&](size_t i) { return members.begin() + i * k; };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::lexicographical_compare(row(a), row(a) + k, row(b), row(b) + k);
  });
  Path<Conn> path(graph, k);
  Canonicalizer canonicalize;
  constexpr uint32_t kUnknown = UINT32_MAX;
  std::vector<uint32_t> pattern_of;  // [state of the trie]
  for (size_t i : order) {
    const uint32_t leaf = path.leaf(members.data() + i * k);
    if (leaf >= pattern_of.size()) pattern_of.resize(path.trie().size(), kUnknown);
    if (pattern_of[leaf] == kUnknown) {
      const SmallGraph raw = path.trie().subgraph(leaf, k, graph);
      const CanonicalForm form = canonicalize(raw);
      const auto [id, fresh] = result.patterns.insert(reordered(raw, form.order));
      if (fresh) result.automorphisms.push_back(form.automorphisms);
      pattern_of[leaf] = id;
      ++result.trie_leaves;
    }
    result.ids[i] = pattern_of[leaf];
  }
  return result;
}

}  // namespace

ClassifiedLeaves classify_by_trie(const Graph& graph, int k, std::span<const uint32_t> members) {
  if (graph.arc_classes() <= NarrowConn::kMaxArc) return classify_with<NarrowConn>(graph, k, members);
  return classify_with<WideConn>(graph, k, members);
}

}  // namespace grade
