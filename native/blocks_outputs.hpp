// Blocks with several outputs: units that more than one unit reads are merged, too.
//
// The pair (unit, one of its readers, what is read where) that occurs most is merged everywhere, as with one output
// (blocks.hpp), as long as a block keeps at most the given number of outputs and stays convex: nothing that it computes
// leaves it and comes back. A chain of equal units becomes a repetition at the end.
#pragma once

#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "blocks.hpp"
#include "blocks_identity.hpp"
#include "parallel.hpp"

namespace grade {

struct WideUnit {
  uint32_t label = 0, root = 0;   // `root` is a node
  std::vector<uint32_t> nodes;    // by place; none once it is part of another unit
  std::vector<uint32_t> outputs;  // nodes that are read outside, or needed there
  uint32_t lowest = 0, highest = 0;  // levels
};

class OutputMerging {
 public:
  OutputMerging(const BlockGraph& graph, const BlockLimits& limits, std::span<const uint32_t> levels, SymbolTable& table,
                std::vector<WideUnit> units);
  // The units that are left, by root.
  std::vector<WideUnit> run(const KeepGoing& keep_going);

 private:
  using Pair = std::pair<uint32_t, uint32_t>;  // a unit and its reader
  using Content = std::vector<uint32_t>;
  struct Kind {
    const Content* content;
    std::set<Pair> pairs;
    uint32_t size;
  };

  std::vector<uint32_t> outputs_of(uint32_t unit, uint32_t reader) const;
  Links links(uint32_t unit, uint32_t reader) const;
  std::set<uint32_t> readers(uint32_t unit) const;
  std::set<uint32_t> sources(uint32_t unit) const;
  bool convex(std::span<const uint32_t> units, uint32_t reader) const;
  void classify(uint32_t unit, uint32_t reader);
  void forget(uint32_t unit, uint32_t reader);
  void queue(uint32_t kind);
  void merge(uint32_t kind);
  uint32_t graph_of(uint32_t unit) const;
  uint32_t join(uint32_t unit, uint32_t reader, bool unit_first, const SymbolTable::Match& match);
  void fold();

  const BlockGraph& graph_;
  const BlockLimits& limits_;
  std::span<const uint32_t> levels_;
  SymbolTable& table_;
  std::vector<WideUnit> units_;
  std::vector<uint32_t> unit_of_, place_;  // [nodes]
  std::map<Content, uint32_t> kind_of_content_;
  std::vector<Kind> kinds_;
  std::map<Pair, uint32_t> kind_of_;
  struct Later {
    bool operator()(const std::tuple<size_t, uint32_t, const Content*, uint32_t>& a,
                    const std::tuple<size_t, uint32_t, const Content*, uint32_t>& b) const {
      if (std::get<0>(a) != std::get<0>(b)) return std::get<0>(a) > std::get<0>(b);  // more pairs first
      if (std::get<1>(a) != std::get<1>(b)) return std::get<1>(a) < std::get<1>(b);  // then smaller ones
      return *std::get<2>(a) < *std::get<2>(b);
    }
  };
  std::set<std::tuple<size_t, uint32_t, const Content*, uint32_t>, Later> waiting_;
};

}  // namespace grade
