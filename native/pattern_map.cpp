#include "pattern_map.hpp"

#include <algorithm>
#include <functional>

namespace grade {

std::string_view PatternMap::write(const SmallGraph& graph, Code& code) const {
  for (int i = 0; i < k_; ++i) {
    code[2 * i] = static_cast<uint8_t>(graph.types[i] >> 8);
    code[2 * i + 1] = static_cast<uint8_t>(graph.types[i]);
  }
  std::memcpy(code.data() + 2 * k_, graph.edges.data(), size_t(k_) * k_);
  return {reinterpret_cast<const char*>(code.data()), static_cast<size_t>(width_)};
}

std::pair<uint32_t, bool> PatternMap::insert(const SmallGraph& graph) {
  if (size() * 2 >= slots_.size()) grow();
  Code code;
  const std::string_view wanted = write(graph, code);
  for (size_t slot = std::hash<std::string_view>{}(wanted);; ++slot) {
    uint32_t& entry = slots_[slot & (slots_.size() - 1)];
    if (entry == 0) {
      codes_.insert(codes_.end(), code.begin(), code.begin() + width_);
      entry = static_cast<uint32_t>(size());
      return {entry - 1, true};
    }
    if (this->code(entry - 1) == wanted) return {entry - 1, false};
  }
}

int64_t PatternMap::find(const SmallGraph& graph) const {
  Code code;
  const std::string_view wanted = write(graph, code);
  for (size_t slot = std::hash<std::string_view>{}(wanted);; ++slot) {
    const uint32_t entry = slots_[slot & (slots_.size() - 1)];
    if (entry == 0) return -1;
    if (this->code(entry - 1) == wanted) return entry - 1;
  }
}

void PatternMap::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (uint32_t id = 0; id < size(); ++id) {
    size_t slot = std::hash<std::string_view>{}(code(id));
    while (slots_[slot & (slots_.size() - 1)]) ++slot;
    slots_[slot & (slots_.size() - 1)] = id + 1;
  }
}

SmallGraph PatternMap::at(uint32_t id) const {
  SmallGraph graph;
  graph.k = k_;
  const auto* bytes = codes_.data() + size_t{id} * width_;
  for (int i = 0; i < k_; ++i) graph.types[i] = static_cast<uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  std::memcpy(graph.edges.data(), bytes + 2 * k_, size_t(k_) * k_);
  return graph;
}

std::vector<uint32_t> PatternMap::sorted() const {
  std::vector<uint32_t> ids(size());
  std::iota(ids.begin(), ids.end(), 0u);
  std::sort(ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) { return code(a) < code(b); });
  return ids;
}

}  // namespace grade
