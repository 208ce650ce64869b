// Branches of an extension list: parts that hang on one node of it and on nothing else, and which of them are alike.
#pragma once

#include <algorithm>
#include <iterator>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "frontier.hpp"
#include "trie.hpp"

namespace grade {

// Branches of one code are isomorphic and tied alike to the members, so that they are interchangeable.
template <class Conn>
struct Branches {
  std::vector<uint32_t> code;
  Conn conn;  // of their roots
  uint32_t node_class;
  std::array<uint32_t, kMaxSize> roots;  // of as many as one occurrence can hold
  uint64_t size = 0;
};

template <class Conn>
class BranchFinder {
 public:
  static constexpr int kMany = 64;  // shorter lists are not worth a look

  BranchFinder(const Graph& graph, Frontier<Conn>& frontier, Trie<Conn>& trie)
      : graph_(graph), frontier_(frontier), trie_(trie) {}

  // Looks for branches of at most `reach` levels in the list; true if their numbers are worth using.
  bool find(int reach, uint32_t state, int32_t head) {
    for (int32_t i = head; i >= 0; i = frontier_.links[i].next) frontier_.bin(frontier_.links[i].node) = listed();
    found_.clear();
    alike_.clear();
    branches_of_.clear();
    size_t successes = 0;
    for (int32_t i = head; i >= 0; i = frontier_.links[i].next) {
      const uint32_t node = frontier_.links[i].node;
      branches_of_.push_back(kNone);
      // Nodes of small degree come first; where many of them are no branches, hardly any of the others is one.
      if (branches_of_.size() > kMany && 4 * successes < branches_of_.size()) continue;
      if (!describe(node, reach)) continue;
      ++successes;
      code_[0] = trie_.step(state, frontier_.ties(node), graph_.class_of(node));
      const auto [at, fresh] = alike_.try_emplace(code_, static_cast<uint32_t>(found_.size()));
      if (fresh) found_.push_back({code_, frontier_.ties(node), graph_.class_of(node), {}});
      Branches<Conn>& branches = found_[at->second];
      if (branches.size < static_cast<uint64_t>(reach)) branches.roots[branches.size] = node;
      ++branches.size;
      branches_of_.back() = at->second;
    }
    for (int32_t i = head; i >= 0; i = frontier_.links[i].next) {
      frontier_.bin(frontier_.links[i].node) = frontier_.tied;
    }
    uint64_t used = 0;
    for (const Branches<Conn>& branches : found_) used += is_used(branches) ? branches.size : 0;
    return used >= kMany / 4;
  }

  // Appends the branches that are to be chosen by number, and returns the list of all other nodes, in its order.
  int32_t split(int32_t head, std::vector<Branches<Conn>>& used) {
    auto& links = frontier_.links;
    int32_t rest = Frontier<Conn>::kEnd, last = rest;
    size_t place = 0;
    for (int32_t i = head; i >= 0; i = links[i].next, ++place) {
      if (branches_of_[place] != kNone && is_used(found_[branches_of_[place]])) continue;
      (last >= 0 ? links[last].next : rest) = static_cast<int32_t>(links.size());
      last = static_cast<int32_t>(links.size());
      links.push_back({links[i].node, Frontier<Conn>::kEnd});
    }
    std::ranges::copy_if(found_, std::back_inserter(used), is_used);
    return rest;
  }

 private:
  static constexpr uint64_t kAlike = 8;  // fewer branches of more than one node are not worth a choice by number
  static constexpr size_t kEdges = 32;   // of a branch; larger ones are taken for none
  static constexpr uint32_t kNone = UINT32_MAX;

  static bool is_used(const Branches<Conn>& branches) {
    return branches.code.size() == 1 || branches.size >= kAlike;
  }
  uint32_t listed() const { return frontier_.tied + 1; }

  // Whether a node of the list is the root of a branch, and its code: places, arcs and classes of all edges, breadth
  // first. A branch is all that is within `reach` levels of its root, where that is nothing of the list: then nodes
  // of two branches are adjacent only if the ways to them from their roots are too long for one occurrence.
  bool describe(uint32_t root, int reach) {
    code_.assign(1, 0);
    nodes_.assign(1, {root, 1});
    frontier_.bin(root) = listed() + 1;
    bool is_branch = true, wide = false;
    size_t edges = 0;
    for (size_t at = 0; is_branch && at < nodes_.size(); ++at) {
      const auto [node, level] = nodes_[at];
      if (level == reach && graph_.degree(node) > kEdges) {  // its edges are seen from the other side
        is_branch = !wide;
        wide = true;
        continue;
      }
      near_.clear();
      for (const Neighbour& n : graph_.neighbours(node)) {
        if (frontier_.is_past(n)) break;
        const uint32_t bin = frontier_.bin(n.node);
        if (bin == frontier_.tied) continue;                    // a member, or out of the list
        if (level == reach && bin <= listed()) continue;        // too far
        if (bin == listed() || ++edges > kEdges) {
          is_branch = false;
          break;
        }
        near_.push_back(n);
      }
      if (is_branch) add_edges(static_cast<uint32_t>(at), level);
    }
    for (const auto& [node, level] : nodes_) frontier_.bin(node) = 0;
    frontier_.bin(root) = listed();
    return is_branch;
  }

  void add_edges(uint32_t at, int level) {
    std::stable_sort(near_.begin(), near_.end(), [](const auto& a, const auto& b) { return a.tag < b.tag; });
    for (const Neighbour& n : near_) {
      uint32_t& bin = frontier_.bin(n.node);
      if (bin == 0) {
        nodes_.push_back({n.node, level + 1});
        bin = listed() + static_cast<uint32_t>(nodes_.size());
      }
      code_.insert(code_.end(), {at, bin, n.tag});
    }
  }

  const Graph& graph_;
  Frontier<Conn>& frontier_;
  Trie<Conn>& trie_;
  std::vector<Branches<Conn>> found_;
  std::map<std::vector<uint32_t>, uint32_t> alike_;  // code -> number in found_
  std::vector<uint32_t> branches_of_;                // [place in the list] number in found_
  std::vector<uint32_t> code_;
  std::vector<std::pair<uint32_t, int>> nodes_;      // (node, level) of a branch, the root at level 1
  std::vector<Neighbour> near_;
};

}  // namespace grade
