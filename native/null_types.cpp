// The null model `types`: what `degrees` keeps, and the number of edges from each type of node to each other.
#include "null_switching.hpp"

namespace grade {

std::unique_ptr<NullChain> types_chain(const NullGraph& graph, const NullOptions& options) {
  return std::make_unique<SwitchChain>(graph, options, graph.node_classes);
}

}  // namespace grade
