// A graph set as the kernels want it: one neighbour list per node that merges both directions.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace grade {

constexpr int kMaxSize = 16;  // nodes of a pattern

// Raised for arrays that do not describe a graph set, and for sizes out of range.
struct BadInput : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// One end of an edge or of a pair of opposite edges. `tag` names the pair (arc class, class of the node).
struct Neighbour {
  uint32_t node;
  uint32_t tag;
};
struct Tag {
  uint32_t arc;
  uint32_t node_class;
};

struct NodeClass {
  uint16_t type;
  uint8_t loop;  // type of the self-loop, 0 if there is none
};

struct ArcClass {
  uint8_t outward;   // type of the edge from the list's owner to the neighbour, 0 if there is none
  uint8_t inward;    // type of the edge from the neighbour to the owner
  uint32_t reverse;  // the same pair seen from the neighbour
};

// Arrays of a GraphSet as they lie in memory.
struct GraphArrays {
  std::span<const int64_t> node_offsets;
  std::span<const uint16_t> node_types;
  std::span<const int64_t> out_offsets;
  std::span<const uint32_t> out_targets;
  std::span<const uint8_t> out_types;
  std::span<const int64_t> in_offsets;
  std::span<const uint32_t> in_sources;
  std::span<const uint8_t> in_types;
};

// The core numbers nodes in its own way: within each graph by descending degree, so that a hub is the root of the
// subgraphs it lies in and no other root has to walk its long neighbour list. `original` leads back.
class Graph {
 public:
  // Validates every index, since the arrays may come from a damaged file.
  // The result does not depend on the number of threads.
  explicit Graph(const GraphArrays& arrays, int threads = 1);

  size_t nodes() const { return class_of_.size(); }
  size_t graphs() const { return node_offsets_.size() - 1; }
  uint32_t begin_of(size_t graph) const { return node_offsets_[graph]; }
  uint32_t end_of(size_t graph) const { return node_offsets_[graph + 1]; }
  uint32_t graph_of(uint32_t node) const;
  uint32_t original(uint32_t node) const { return original_[node]; }  // id in the graph set
  uint32_t renumbered(uint32_t id) const { return renumbered_[id]; }  // its inverse
  uint32_t largest() const { return largest_; }

  // Neighbours other than the node itself, by DESCENDING id: those above a root are a prefix.
  std::span<const Neighbour> neighbours(uint32_t node) const {
    return {neighbours_.data() + offsets_[node], offsets_[node + 1] - offsets_[node]};
  }
  size_t degree(uint32_t node) const { return offsets_[node + 1] - offsets_[node]; }

  // Nodes of one class agree in type and self-loop. Classes are numbered from 0.
  uint32_t class_of(uint32_t node) const { return class_of_[node]; }
  const NodeClass& node_class(uint32_t id) const { return node_classes_[id]; }

  const Tag& tag(uint32_t id) const { return tags_[id]; }
  size_t tags() const { return tags_.size(); }
  uint32_t arc(const Neighbour& neighbour) const { return tags_[neighbour.tag].arc; }

  // Arc classes are numbered from 1, so that 0 can mean "not adjacent".
  const ArcClass& arc_class(uint32_t id) const { return arc_classes_[id]; }
  size_t arc_classes() const { return arc_classes_.size() - 1; }

 protected:
  class Builder;

  Graph() = default;

  std::vector<uint32_t> node_offsets_, original_, renumbered_;
  std::vector<uint64_t> offsets_;
  std::vector<Neighbour> neighbours_;
  std::vector<uint32_t> class_of_;
  std::vector<NodeClass> node_classes_;
  std::vector<ArcClass> arc_classes_;
  std::vector<Tag> tags_;
  uint32_t largest_ = 0;
};

}  // namespace grade
