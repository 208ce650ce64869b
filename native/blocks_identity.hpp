// Exact identity of regions: two are the same when an isomorphism maps the one to the other, with the types of nodes
// and the labels of edges. Colours (a fingerprint of what lies above and below a node) narrow the search; a hash of
// them only chooses what to compare.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "blocks.hpp"

namespace grade {

using Reads = std::vector<std::pair<uint32_t, uint32_t>>;  // (place, edge label), ascending
using Links = std::vector<std::array<uint32_t, 3>>;        // (place that is read, place that reads, edge label)

// A region with its nodes numbered from 0, and the edges inside it.
struct Region {
  std::vector<uint32_t> types;
  std::vector<uint32_t> order;  // numbers, sources first
  std::vector<uint32_t> out_offsets, out_targets, out_labels;
  std::vector<uint32_t> in_offsets, in_sources, in_labels;
  std::vector<uint64_t> colours;
  uint64_t hash = 0;

  uint32_t size() const { return static_cast<uint32_t>(types.size()); }
};

class RegionReader {
 public:
  RegionReader(const BlockGraph& graph, std::span<const uint32_t> levels);
  // The region of these nodes, numbered in the order given.
  Region read(std::span<const uint32_t> nodes);
  // The same with `marked`, a node of its own colour that points at some of them, put in front as a source.
  Region read_with_entry(std::span<const uint32_t> nodes, const Reads& entry);

 private:
  const BlockGraph& graph_;
  std::span<const uint32_t> levels_;
  std::vector<uint32_t> number_;  // [nodes] number in the region that is read, plus 1
};

// Fills `image` with an isomorphism from `a` to `b` if there is one. Gives up, as if there were none, after a number of
// steps that only regions full of look-alikes reach: what is found is always right.
bool isomorphic(const Region& a, const Region& b, std::vector<uint32_t>& image);

// The symbols: isomorphism classes of regions with an example of each.
class SymbolTable {
 public:
  SymbolTable(const BlockGraph& graph, std::span<const uint32_t> levels, uint32_t types);

  struct Match {
    uint32_t symbol;
    std::vector<uint32_t> image;  // the symbol's place of each node; empty when that is its number
  };
  // The symbol of a region, a new one if it is none of the known.
  Match of(std::span<const uint32_t> nodes, uint32_t first, uint32_t second, uint32_t copies, uint32_t root,
           const Links& links);
  // The same where one part reads the root of the other.
  Match of(std::span<const uint32_t> nodes, uint32_t first, uint32_t second, uint32_t copies, uint32_t root,
           const Reads& reads);

  // The least place that has the same colour: equal for places that an automorphism exchanges.
  uint32_t twin(uint32_t symbol, uint32_t place) const {
    return twins_[symbol].empty() ? place : twins_[symbol][place];
  }
  size_t size() const { return sizes.size(); }
  RegionReader& reader() { return reader_; }

  std::vector<uint32_t> firsts, seconds, copies, sizes, roots;
  std::vector<uint64_t> read_offsets;
  std::vector<uint32_t> reads;  // where one part reads the other, one of Links after the other

 private:
  std::span<const uint32_t> example(uint32_t symbol) const {
    return {examples_.data() + example_offsets_[symbol], sizes[symbol]};
  }

  RegionReader reader_;
  std::vector<std::vector<uint32_t>> twins_;
  std::vector<uint64_t> example_offsets_;
  std::vector<uint32_t> examples_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_hash_;
};

}  // namespace grade
