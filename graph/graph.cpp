#include <adjoint/core/capture.h>
#include <adjoint/graph/graph.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/index/range.h>

#include <algorithm>
#include <limits>

namespace adj {

namespace {

constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();

/// Made by the first thread that asks, kept for all.
template <class T>
class Lazy {
 public:
  template <class Make>
  const T& get(Make&& make) const {
    std::call_once(once_, [&] {
      const OutsideCapture for_all_steps;
      value_ = make();
    });
    return value_;
  }

 private:
  mutable std::once_flag once_;
  mutable T value_{};
};

Tensor checked_index(const char* what, const Tensor& index, int64_t nodes) {
  ADJ_CHECK(index.dims() == 1 && (index.dtype() == DType::i32 || index.dtype() == DType::i64),
            "graph: {} is {}, expected [M] int32 or int64", what, index.str());
  Tensor position = Tensor::empty({}, DType::i64, index.device());
  kernels::first_outside({.index = index, .limit = nodes, .position = position});
  if (const int64_t e = position.to_vector<int64_t>()[0]; e < index.numel())
    fail("graph of {} nodes: {}[{}] is {}, expected 0 to {}", nodes, what, e,
         index.rows(e, e + 1).to(Device::cpu()).to(DType::i64).to_vector<int64_t>()[0], nodes - 1);
  return index.to(DType::i32);
}

/// Whether two runs of parallel edges carry the same weights, in whatever order.
bool same_weights(std::vector<float> a, std::vector<float> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

bool weights_symmetric(const SparsePattern& pattern, const Tensor& weight) {
  Tensor turned = Tensor::empty_like(weight);
  kernels::permute({.x = weight, .order = pattern.order(), .y = turned});
  const std::vector<float> a = weight.to_vector<float>(), b = turned.to_vector<float>();
  if (a == b) return true;
  const std::vector<int64_t> offsets = pattern.csr().offsets.to_vector<int64_t>();
  const std::vector<int32_t> indices = pattern.csr().indices.to_vector<int32_t>();
  for (size_t row = 0; row + 1 < offsets.size(); ++row) {
    const auto end = static_cast<size_t>(offsets[row + 1]);
    for (auto first = static_cast<size_t>(offsets[row]), last = first; first < end; first = last) {
      while (last < end && indices[last] == indices[first]) ++last;
      const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(last);
      if (!same_weights({a.begin() + from, a.begin() + to}, {b.begin() + from, b.begin() + to})) return false;
    }
  }
  return true;
}

}  // namespace

struct Graph::Impl {
  std::shared_ptr<const SparsePattern> pattern;
  Tensor weight;
  Tensor input_order;
  Lazy<Tensor> in_degrees, out_degrees;
  Lazy<bool> symmetric;
  Lazy<Tensor> looped_offsets;
  Lazy<SparseMatrix> adjacency, gcn, mean;

  const Csr& csr() const { return pattern->csr(); }

  /// Row offsets of A + I, int64 [N + 1].
  const Tensor& diagonal_offsets() const {
    return looped_offsets.get([this] {
      Tensor offsets = Tensor::empty({csr().rows + 1}, DType::i64, csr().device());
      kernels::diagonal_offsets({.a = csr(), .offsets = offsets});
      return offsets;
    });
  }

  int64_t entries_with_diagonal() const {
    return diagonal_offsets().rows(csr().rows, csr().rows + 1).to_vector<int64_t>()[0];
  }

  bool is_symmetric() const {
    return symmetric.get(
        [this] { return pattern->symmetric() && (!weight || weights_symmetric(*pattern, weight)); });
  }

  SparseMatrix make_gcn() const {
    const int64_t entries = entries_with_diagonal();
    const bool complete = entries == csr().entries();
    Csr with_loops;
    Tensor values;
    if (!complete) {
      with_loops.rows = with_loops.cols = csr().rows;
      with_loops.offsets = diagonal_offsets();
      with_loops.indices = Tensor::empty({entries}, DType::i32, csr().device());
      values = Tensor::empty({entries}, DType::f32, csr().device());
      kernels::insert_diagonal({.a = {csr(), weight, {}},
                                .fill = 1.0f,
                                .offsets = with_loops.offsets,
                                .indices = with_loops.indices,
                                .values = values});
    }
    const auto structure =
        complete ? pattern
                 : std::make_shared<const SparsePattern>(std::move(with_loops), pattern->symmetric());
    Tensor degree = Tensor::empty({csr().rows}, DType::f32, csr().device());
    Tensor weights = Tensor::empty({entries}, DType::f32, csr().device());
    kernels::gcn_normalize(
        {.a = {structure->csr(), complete ? weight : values, {}}, .degree = degree, .weights = weights});
    SparseMatrix normalized(structure, std::move(weights));
    normalized.keep_adjoint(is_symmetric());
    return normalized;
  }
};

Graph Graph::from_coo(int64_t num_nodes, const Tensor& src, const Tensor& dst, const Tensor& weight) {
  ADJ_CHECK(num_nodes >= 0 && num_nodes < kLimit, "graph: {} nodes, expected 0 to {}", num_nodes, kLimit - 1);
  ADJ_CHECK(src.numel() == dst.numel(), "graph: {} sources but {} targets", src.numel(), dst.numel());
  ADJ_CHECK(src.numel() < kLimit, "graph: {} edges, expected fewer than {}", src.numel(), kLimit);
  ADJ_CHECK(src.device() == dst.device(), "graph: src on {} but dst on {}", src.device().str(),
            dst.device().str());
  ADJ_CHECK(!weight || (weight.dims() == 1 && weight.numel() == src.numel() && weight.dtype() == DType::f32 &&
                        weight.device() == src.device()),
            "graph: weights are {}, expected [{}] float32 on {}", weight.str(), src.numel(),
            src.device().str());
  const Tensor col = checked_index("src", src, num_nodes), row = checked_index("dst", dst, num_nodes);
  const Device device = src.device();
  const int64_t edges = src.numel();
  Csr csr;
  csr.rows = csr.cols = num_nodes;
  csr.offsets = Tensor::empty({num_nodes + 1}, DType::i64, device);
  csr.indices = Tensor::empty({edges}, DType::i32, device);
  Graph graph;
  graph.impl_ = std::make_shared<Impl>();
  graph.impl_->input_order = Tensor::empty({edges}, DType::i32, device);
  kernels::coo_to_csr({.row = row,
                       .col = col,
                       .cols = num_nodes,
                       .offsets = csr.offsets,
                       .indices = csr.indices,
                       .order = graph.impl_->input_order});
  if (weight) {
    graph.impl_->weight = Tensor::empty({edges}, DType::f32, device);
    kernels::permute({.x = weight, .order = graph.impl_->input_order, .y = graph.impl_->weight});
  }
  graph.impl_->pattern = std::make_shared<SparsePattern>(std::move(csr));
  return graph;
}

int64_t Graph::num_nodes() const { return impl_ ? impl_->pattern->rows() : 0; }
int64_t Graph::num_edges() const { return impl_ ? impl_->pattern->entries() : 0; }
Device Graph::device() const { return impl_ ? impl_->csr().device() : Device::cpu(); }
const Csr& Graph::in_edges() const { return impl_->csr(); }
const Csr& Graph::out_edges() const { return impl_->pattern->transposed(); }
const std::shared_ptr<const SparsePattern>& Graph::pattern() const { return impl_->pattern; }
const Tensor& Graph::edge_weight() const { return impl_->weight; }
const Tensor& Graph::input_order() const { return impl_->input_order; }
bool Graph::is_symmetric() const { return impl_->is_symmetric(); }

namespace {

Tensor degrees(const Csr& csr) {
  Tensor counts = Tensor::empty({csr.rows}, DType::f32, csr.device());
  kernels::row_sums({.a = {csr, {}, {}}, .y = counts});
  return counts;
}

}  // namespace

const Tensor& Graph::in_degrees() const {
  return impl_->in_degrees.get([this] { return degrees(in_edges()); });
}

const Tensor& Graph::out_degrees() const {
  return impl_->out_degrees.get([this] { return degrees(out_edges()); });
}

bool Graph::has_self_loops() const { return impl_->entries_with_diagonal() < num_edges() + num_nodes(); }

const SparseMatrix& Graph::adjacency() const {
  return impl_->adjacency.get([this] {
    SparseMatrix matrix(pattern(), edge_weight());
    if (edge_weight()) matrix.keep_adjoint(is_symmetric());
    return matrix;
  });
}

const SparseMatrix& Graph::gcn_adjacency() const {
  return impl_->gcn.get([this] { return impl_->make_gcn(); });
}

const SparseMatrix& Graph::mean_adjacency() const {
  return impl_->mean.get([this] {
    SparseMatrix matrix = adjacency().row_normalized();
    matrix.keep_adjoint();
    return matrix;
  });
}

Graph Graph::to(Device device) const {
  if (!impl_ || device == this->device()) return *this;
  Graph moved;
  moved.impl_ = std::make_shared<Impl>();
  moved.impl_->pattern = std::make_shared<SparsePattern>(in_edges().to(device), pattern()->symmetric());
  moved.impl_->weight = edge_weight().to(device);
  moved.impl_->input_order = input_order().to(device);
  return moved;
}

}  // namespace adj
