#include "blocks_growth.hpp"

#include <algorithm>

namespace grade {
namespace {

using Keyed = std::vector<std::pair<std::vector<uint32_t>, uint32_t>>;

// The entries of `common` whose keys are as frequent in `other`; both are sorted by key.
Keyed shared(const Keyed& common, const Keyed& other) {
  Keyed both;
  for (size_t i = 0, j = 0; i < common.size();) {
    size_t end = i;
    while (end < common.size() && common[end].first == common[i].first) ++end;
    while (j < other.size() && other[j].first < common[i].first) ++j;
    size_t same = j;
    while (same < other.size() && other[same].first == common[i].first) ++same;
    if (same - j == end - i) both.insert(both.end(), common.begin() + i, common.begin() + end);
    i = end;
    j = same;
  }
  return both;
}

}  // namespace

void RegionGrower::own(const std::vector<uint32_t>& row, uint32_t owner) {
  for (uint32_t place = 0; place < row.size(); ++place) {
    owner_[row[place]] = owner;
    place_[row[place]] = place;
  }
}

std::vector<std::pair<RegionGrower::Key, uint32_t>> RegionGrower::above(const std::vector<uint32_t>& row,
                                                                        uint32_t owner) {
  Keyed found;
  std::vector<uint32_t> seen;
  for (uint32_t node : row) {
    for (int64_t e = graph_.in_offsets[node]; e < graph_.in_offsets[node + 1]; ++e) {
      const uint32_t source = graph_.in_sources[e];
      if (owner_[source] == 0 && !graph_.closed[source]) seen.push_back(source);
    }
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  std::vector<std::pair<uint32_t, uint32_t>> reads;
  for (uint32_t source : seen) {
    reads.clear();
    bool inside = true;
    for (int64_t e = graph_.out_offsets[source]; e < graph_.out_offsets[source + 1] && inside; ++e) {
      inside = owner_[graph_.out_targets[e]] == owner;
      reads.emplace_back(place_[graph_.out_targets[e]], graph_.out_labels[e]);
    }
    if (!inside) continue;
    std::sort(reads.begin(), reads.end());
    Key key{graph_.types[source]};
    for (const auto& [place, label] : reads) key.insert(key.end(), {place, label});
    found.emplace_back(std::move(key), source);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<std::pair<RegionGrower::Key, uint32_t>> RegionGrower::below(uint32_t root) const {
  const int64_t begin = graph_.out_offsets[root], end = graph_.out_offsets[root + 1];
  if (graph_.closed[root] || begin == end) return {};
  const uint32_t reader = graph_.out_targets[begin];
  Key key{graph_.types[reader]};
  for (int64_t e = begin; e < end; ++e) {
    if (graph_.out_targets[e] != reader) return {};
    key.push_back(graph_.out_labels[e]);
  }
  if (owner_[reader] != 0) return {};
  std::sort(key.begin() + 1, key.end());
  return std::pair(std::move(key), reader);
}

bool RegionGrower::step_up(Rows& rows) {
  Keyed common = above(rows[0], 1);
  for (uint32_t i = 1; i < rows.size() && !common.empty(); ++i) common = shared(common, above(rows[i], i + 1));
  if (common.empty() || rows[0].size() + common.size() > max_size_) return false;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    const Keyed here = shared(above(rows[i], i + 1), common);  // in the order of the keys, as in every other row
    for (const auto& [key, node] : here) {
      owner_[node] = i + 1;
      place_[node] = static_cast<uint32_t>(rows[i].size());
      rows[i].push_back(node);
    }
  }
  return true;
}

bool RegionGrower::step_down(Rows& rows, uint32_t& root) {
  if (rows[0].size() == max_size_) return false;
  std::vector<uint32_t> readers;
  Key common;
  for (const auto& row : rows) {
    auto found = below(row[root]);
    if (!found || (!readers.empty() && found->first != common)) return false;
    common = std::move(found->first);
    readers.push_back(found->second);
  }
  std::vector<uint32_t> distinct = readers;
  std::sort(distinct.begin(), distinct.end());
  if (std::adjacent_find(distinct.begin(), distinct.end()) != distinct.end()) return false;
  root = static_cast<uint32_t>(rows[0].size());
  for (uint32_t i = 0; i < rows.size(); ++i) {
    owner_[readers[i]] = i + 1;
    place_[readers[i]] = root;
    rows[i].push_back(readers[i]);
  }
  return true;
}

std::optional<GrownRegion> RegionGrower::grow(std::span<const uint32_t> order, std::span<const int64_t> begins,
                                              uint32_t size, uint32_t root) {
  const auto row_at = [&](size_t i) {
    const auto begin = order.begin() + begins[i];
    return std::vector<uint32_t>(begin, begin + size);
  };
  Rows rows{row_at(0), row_at(begins.size() - 1)};
  for (uint32_t i = 0; i < 2; ++i) own(rows[i], i + 1);
  // Two of them tell most often that there is no step.
  const auto one = below(rows[0][root]), other = below(rows[1][root]);
  const bool may = (one && other && one->first == other->first) || !shared(above(rows[0], 1), above(rows[1], 2)).empty();
  bool grown = false;
  if (may) {
    for (uint32_t i = 0; i < 2; ++i) own(rows[i], 0);
    rows.clear();
    for (size_t i = 0; i < begins.size(); ++i) {
      rows.push_back(row_at(i));
      own(rows.back(), static_cast<uint32_t>(i) + 1);
    }
    while (step_up(rows) || step_down(rows, root)) grown = true;
  }
  for (const auto& row : rows) own(row, 0);
  if (!grown) return {};
  GrownRegion result{static_cast<uint32_t>(rows[0].size()), root, {}};
  for (const auto& row : rows) result.nodes.insert(result.nodes.end(), row.begin(), row.end());
  return result;
}

}  // namespace grade
