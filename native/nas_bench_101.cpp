// The cells of NAS-Bench-101 (Ying et al., 2019), enumerated: every directed acyclic graph with at most 7 vertices and
// 9 edges and one of 3 operations at each interior vertex, in which every vertex lies on a path from the input to the
// output, one per isomorphism class: 423,624 cells.
//
// A vertex on a path from input to output makes the input the only source and the output the only sink, so an
// isomorphism permutes interior vertices only. Vertices are numbered in topological order (upper triangular adjacency).
// A structure is kept when its code is the smallest of all its upper triangular renumberings; a labelling of it is kept
// when no automorphism of the structure gives a smaller one. Each class has exactly one such (structure, labelling).

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

namespace nb = nanobind;

namespace {

constexpr int kMaxVertices = 7;
constexpr int kMaxEdges = 9;
constexpr int kOperations = 3;
constexpr std::uint8_t kOutput = 0, kInput = 1, kFirstOperation = 2;  // numbers of the node types

using Order = std::array<std::uint8_t, kMaxVertices>;  // order[v] is the new number of vertex v

struct Cells {
    std::vector<std::int64_t> node_counts;
    std::vector<std::uint8_t> node_types;
    std::vector<std::int64_t> edge_counts;
    std::vector<std::int32_t> edges;  // source, target, source, target, ...
};

// The cells of one number of vertices. A code has one bit for each pair i < j.
class Enumeration {
public:
    explicit Enumeration(int vertices) : n_(vertices) {
        for (int j = 1; j < n_; ++j)
            for (int i = 0; i < j; ++i) pairs_.emplace_back(i, j);
        for (std::size_t bit = 0; bit < pairs_.size(); ++bit)
            bit_[pairs_[bit].first][pairs_[bit].second] = static_cast<int>(bit);
        std::vector<int> numbers(n_);
        std::iota(numbers.begin(), numbers.end(), 0);
        do {
            Order order{};
            for (int i = 0; i < n_; ++i) order[i] = static_cast<std::uint8_t>(numbers[i]);
            orders_.push_back(order);
        } while (n_ > 3 && std::next_permutation(numbers.begin() + 1, numbers.end() - 1));
    }

    void append_to(Cells& cells) {
        for (std::uint32_t code = 0; code < (1U << pairs_.size()); ++code)
            if (std::popcount(code) <= kMaxEdges && every_vertex_on_a_path(code) && smallest_numbering(code))
                append_labellings(code, cells);
    }

private:
    // In topological order it is enough that every vertex but the output has a successor and every one but the input a
    // predecessor: following them leads to the output and back to the input.
    bool every_vertex_on_a_path(std::uint32_t code) const {
        unsigned sources = 0, targets = 0;
        for (std::uint32_t rest = code; rest != 0; rest &= rest - 1) {
            const auto [i, j] = pairs_[static_cast<std::size_t>(std::countr_zero(rest))];
            sources |= 1U << i;
            targets |= 1U << j;
        }
        const unsigned all = (1U << n_) - 1;
        return sources == (all & ~(1U << (n_ - 1))) && targets == (all & ~1U);
    }

    // False when a renumbering has a smaller code; otherwise the automorphisms are in automorphisms_.
    bool smallest_numbering(std::uint32_t code) {
        automorphisms_.clear();
        for (const Order& order : orders_) {
            std::uint32_t renumbered = 0;
            bool topological = true;
            for (std::uint32_t rest = code; rest != 0 && topological; rest &= rest - 1) {
                const auto [i, j] = pairs_[static_cast<std::size_t>(std::countr_zero(rest))];
                topological = order[i] < order[j];
                if (topological) renumbered |= 1U << bit_[order[i]][order[j]];
            }
            if (!topological) continue;
            if (renumbered < code) return false;
            if (renumbered == code) automorphisms_.push_back(order);
        }
        return true;
    }

    void append_labellings(std::uint32_t code, Cells& cells) const {
        Order labels{};
        labels.fill(kFirstOperation);
        labels[0] = kInput;
        labels[n_ - 1] = kOutput;
        for (;;) {
            if (smallest_labelling(labels)) append(code, labels, cells);
            int vertex = n_ - 2;  // count up in base 3 over the interior vertices
            while (vertex > 0 && labels[vertex] == kFirstOperation + kOperations - 1)
                labels[vertex--] = kFirstOperation;
            if (vertex <= 0) return;
            ++labels[vertex];
        }
    }

    bool smallest_labelling(const Order& labels) const {
        return std::none_of(automorphisms_.begin(), automorphisms_.end(), [&](const Order& order) {
            Order image = labels;
            for (int v = 0; v < n_; ++v) image[order[v]] = labels[v];
            return image < labels;
        });
    }

    void append(std::uint32_t code, const Order& labels, Cells& cells) const {
        cells.node_counts.push_back(n_);
        cells.edge_counts.push_back(std::popcount(code));
        cells.node_types.insert(cells.node_types.end(), labels.begin(), labels.begin() + n_);
        for (std::uint32_t rest = code; rest != 0; rest &= rest - 1) {
            const auto [i, j] = pairs_[static_cast<std::size_t>(std::countr_zero(rest))];
            cells.edges.push_back(i);
            cells.edges.push_back(j);
        }
    }

    int n_;
    std::vector<std::pair<int, int>> pairs_;
    int bit_[kMaxVertices][kMaxVertices] = {};
    std::vector<Order> orders_;
    std::vector<Order> automorphisms_;
};

template <typename T, typename Shape>
auto to_numpy(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    return nb::ndarray<nb::numpy, T, Shape, nb::c_contig>(owned->data(), shape, owner);
}

auto cells_as_arrays() {
    Cells cells;
    {
        nb::gil_scoped_release release;
        for (int vertices = 2; vertices <= kMaxVertices; ++vertices) Enumeration(vertices).append_to(cells);
    }
    const std::size_t graphs = cells.node_counts.size(), nodes = cells.node_types.size();
    const std::size_t edges = cells.edges.size() / 2;
    return std::make_tuple(to_numpy<std::int64_t, nb::ndim<1>>(std::move(cells.node_counts), {graphs}),
                           to_numpy<std::uint8_t, nb::ndim<1>>(std::move(cells.node_types), {nodes}),
                           to_numpy<std::int64_t, nb::ndim<1>>(std::move(cells.edge_counts), {graphs}),
                           to_numpy<std::int32_t, nb::ndim<2>>(std::move(cells.edges), {edges, 2}));
}

}  // namespace

void bind_nas_bench_101(nb::module_& module) {
    module.def("nas_bench_101_cells", &cells_as_arrays,
               "Node counts [g], node types [nodes], edge counts [g] and edges [edges, 2] of the 423,624 unique cells.");
}
