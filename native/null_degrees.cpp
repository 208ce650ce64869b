// The null model `degrees`: every node keeps its type, its self-loop and, for each type of edge, its in-degree and its
// out-degree; a graph without cycles stays without. Uniform over the graphs of that kind that switches and rotations
// reach: all of them where cycles are allowed and there is one type of edge.
#include "null_switching.hpp"

namespace grade {

std::unique_ptr<NullChain> degrees_chain(const NullGraph& graph, const NullOptions& options) {
  return std::make_unique<SwitchChain>(graph, options, std::vector<uint32_t>(graph.nodes(), 0));
}

}  // namespace grade
