#include "null_switching.hpp"

namespace grade {
std::unique_ptr<NullChain> block_chain(const NullGraph& graph, const NullOptions& options) {
  return types_chain(graph, options);
}
}  // namespace grade
