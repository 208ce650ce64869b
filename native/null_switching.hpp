// The Markov chain that the null models share: targets change places, two or three at a time.
//
// Every move is proposed with the same probability as the move that leads back, and one that is not allowed counts as a
// step without a change. So the chain is symmetric, and its stationary distribution is uniform over all graphs that it
// can reach. Four kinds of moves:
//
//   switch     a -> b, c -> d          becomes  a -> d, c -> b
//   rotate     a -> b, c -> d, e -> f  becomes  a -> d, c -> f, e -> b. It reverses triangles, which no sequence of
//              switches can do (Rao, Jana and Bandyopadhyay 1996), and it moves a stretch of a chain of nodes.
//   exchange   (where there may be no cycle) a rotation of the ends of two consecutive walks:
//              a -> [b .. c] -> [d .. e] -> f  becomes  a -> [d .. e] -> [b .. c] -> f
//   siblings   (where there may be no cycle) a switch of edges that leave two children of one node
//
// In deep acyclic graphs nearly every switch of two edges drawn at random would close a cycle; the last two look where a
// change is possible. They are symmetric because the walks choose among edges in a way that depends on degrees
// alone, and these never change.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "null_order.hpp"
#include "null_slots.hpp"
#include "random.hpp"

namespace grade {

struct NullOptions {
  bool allow_cycles = false;  // also where the graph has none
  bool keep_pairs = false;    // keep the number of mutual edges of every node
};

// A chain over the graphs of a null model, from the graph that was observed.
class NullChain {
 public:
  virtual ~NullChain() = default;
  virtual void run(uint64_t steps, Random& random) = 0;
  virtual const Slots& slots() const = 0;
  virtual void restore(std::span<const uint32_t> state) = 0;
  uint64_t steps() const { return steps_; }
  uint64_t accepted() const { return accepted_; }

 protected:
  uint64_t steps_ = 0, accepted_ = 0;
};

class SwitchChain : public NullChain {
 public:
  enum class Keeps { kDegrees, kClassPairs };
  // Moves are often among edges from, or to, nodes of one of the `classes` [nodes]. With `kClassPairs` all states have
  // as many edges from each class to each other, for each kind of edge.
  SwitchChain(const NullGraph& graph, const NullOptions& options, std::vector<uint32_t> classes,
              Keeps keeps = Keeps::kClassPairs);

  void run(uint64_t steps, Random& random) override;
  const Slots& slots() const override { return slots_; }
  void restore(std::span<const uint32_t> state) override;

 protected:
  // Slots whose targets rotate: two (a switch) or three.
  struct Move {
    uint32_t slots[3];
    int size;
    std::span<const uint32_t> changed() const { return {slots, static_cast<size_t>(size)}; }
  };
  std::optional<Move> propose(Random& random) const;  // nothing where the proposal is not allowed
  bool apply(const Move& move);                       // false, and nothing is changed, where it closes a cycle
  void take_back(const Move& move);                   // the last one that was applied

  Slots slots_;

 private:
  std::optional<Move> near_move(Random& random) const;
  uint32_t another(uint32_t slot, uint64_t family, Random& random) const;
  uint32_t random_out(uint32_t node, Random& random) const;
  bool keeps_classes(const Move& move) const;
  void revert_targets(const Move& move);

  const Keeps keeps_;

  std::vector<uint32_t> classes_;
  std::optional<TopologicalOrder> order_;  // where there may be no cycle
  // Slots by (kind, class of the source), places by (kind, class of the target), slots by kind: which slot belongs to
  // which group never changes, nor does which place.
  struct Groups {
    std::vector<uint32_t> members, group_of, offsets;
  };
  Groups by_source_, by_target_, by_kind_;
};

std::unique_ptr<NullChain> degrees_chain(const NullGraph& graph, const NullOptions& options);
std::unique_ptr<NullChain> types_chain(const NullGraph& graph, const NullOptions& options);
std::unique_ptr<NullChain> levels_chain(const NullGraph& graph, const NullOptions& options);
std::unique_ptr<NullChain> block_chain(const NullGraph& graph, const NullOptions& options);

}  // namespace grade
