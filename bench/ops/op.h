#pragma once

#include <adjoint/core/random.h>
#include <adjoint/core/tensor.h>
#include <adjoint/kernels/aggregate/spmm_coo.h>
#include <adjoint/kernels/norm/norm.h>
#include <adjoint/kernels/types/csr.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

// The table of ops: each once, with its operands, its call and plain loops in float64. tests/op_table.h holds
// every row to the loops on all devices, dtypes and threads, and the program bench times rows.
namespace adj::ops {

using Numbers = std::vector<double>;

/// An index or a size for a standard container.
constexpr size_t uz(int64_t n) { return static_cast<size_t>(n); }

/// All elements as double, on the host.
inline Numbers values(const Tensor& tensor) {
  return tensor.to(Device::cpu()).to(DType::f64).to_vector<double>();
}

/// Tolerance relative to the largest element; for bfloat16 the rounding of stored values, for integers 0.
inline double tolerance(DType dtype) {
  return dtype == DType::f64 ? 1e-12 : dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f32 ? 2e-6 : 0.0;
}

/// f(x) of every element.
template <class F>
Numbers mapped(Numbers x, F f) {
  std::transform(x.begin(), x.end(), x.begin(), f);
  return x;
}
/// f(x, y) of every element; a shorter y repeats, like a row over a matrix.
template <class F>
Numbers zipped(Numbers x, const Numbers& y, F f) {
  for (size_t i = 0; i < x.size(); ++i) x[i] = f(x[i], y[i % y.size()]);
  return x;
}

/// Factors of dropout for the elements of a sequence, as defined in core/random.h: 0 or the rule's scale.
inline Numbers dropout_mask(size_t n, const RandomKey& key, const DropoutRule& rule) {
  Numbers mask(n);
  for (size_t i = 0; i < n; ++i)
    if (dropout_keeps(philox(key.seed, stream_of(key), i / 8), static_cast<int>(i % 8), rule.threshold))
      mask[i] = static_cast<double>(rule.scale);
  return mask;
}

/// act(x)
double activated(Activation activation, double x, double slope);

/// A structure with its transpose; edges may be numbered in another order than the entries'. Or an unsorted
/// list.
struct Links {
  Csr csr = {}, transposed = {};
  Tensor order = {}, transposed_order = {};
  Coo list = {};

  bool listed() const { return bool(list.row); }
  int64_t rows() const { return listed() ? list.rows : csr.rows; }
  int64_t cols() const { return listed() ? list.cols : csr.cols; }
  int64_t entries() const { return listed() ? list.entries() : csr.entries(); }
  CsrMatrix a(const Tensor& weights = {}) const { return {csr, weights, order}; }
  CsrMatrix at(const Tensor& weights = {}) const { return {transposed, weights, transposed_order}; }
  Links turned() const;
  Links to(Device device) const;
};

/// f(target, source, edge) for every edge.
void each_edge(const Links& links, const std::function<void(size_t, size_t, size_t)>& f);

struct Operand {
  std::string name;
  Tensor tensor;
  bool input, of_backward;    ///< drawn, or written by `run` or `backward`
  double tolerance = 0.0;     ///< max |error|, relative to the largest element
  double floor = 1.0;         ///< or to this, if it is larger
  std::string in_place = {};  ///< the input that may be this output
  Tensor copy = {};           ///< of an input, if the call keeps them

  Operand& allow(double error) { return tolerance = error, *this; }
  Operand& to_scale() { return floor = 0.0, *this; }
  Operand& over(const char* other) { return in_place = other, *this; }
  operator Tensor&() { return tensor; }
};

/// The operands of an op, which its first call draws or allocates where it names them.
struct Call {
  std::vector<int64_t> size;
  DType dtype;
  Device device;
  Generator& random;
  Links links = {};
  std::deque<Operand> operands = {};
  bool keeps_inputs = false;
  bool backward = false;  ///< which half runs

  Shape shape() const { return Shape(std::span<const int64_t>(size)); }
  double tolerance() const { return ops::tolerance(dtype); }
  DType accumulator() const { return accumulator_dtype(dtype); }
  Tensor normal(const Shape& extents, DType type) const;
  Tensor normal(const Shape& extents) const { return normal(extents, dtype); }
  /// The numbers in the dtype of the call.
  Tensor tensor(const Numbers& x, const Shape& extents) const {
    return Tensor::from(x, extents).to(dtype).to(device);
  }
  /// int32 numbers in [low, high).
  Tensor ints(int64_t n, int64_t low, int64_t high) const;

  /// An input: draw(), or normal numbers of the size and dtype of the call unless stated otherwise.
  template <class F>
  requires std::is_invocable_v<F> Tensor& in(const std::string& name, F draw) {
    Operand* known = find(name);
    if (known) return known->tensor;
    Operand& drawn = operands.emplace_back(name, draw(), true, backward);
    if (keeps_inputs) drawn.copy = drawn.tensor.clone();
    return drawn.tensor;
  }
  Tensor& in(const std::string& name, const Shape& extents, DType type) {
    return in(name, [&] { return normal(extents, type); });
  }
  Tensor& in(const std::string& name, const Shape& extents) { return in(name, extents, dtype); }
  Tensor& in(const std::string& name) { return in(name, shape()); }
  /// An output.
  Operand& out(const std::string& name, const Shape& extents, DType type);
  Operand& out(const std::string& name, const Shape& extents) { return out(name, extents, dtype); }
  Operand& out(const std::string& name) { return out(name, shape()); }

  Operand* find(std::string_view name);
  Tensor& operator[](std::string_view name);  ///< of a known operand
};

/// What the plain loops read and write: numbers by operand, which are zeros for outputs.
class Plain {
 public:
  explicit Plain(Call& found) : found_(found) {}
  Numbers& operator[](const std::string& name);
  /// What the call wrote, rounded to its dtype: for gradients of a saved result.
  Numbers stored(const std::string& name) const { return values(found_[name]); }
  std::vector<int32_t> ints(const std::string& name) const { return found_[name].to_vector<int32_t>(); }
  const Links& links() const { return found_.links; }
  void each(const std::function<void(size_t, size_t, size_t)>& f) const { each_edge(links(), f); }
  int64_t size(size_t k) const { return found_.size[k]; }
  DType dtype() const { return found_.dtype; }

  std::map<std::string, Numbers>
      bounds;  ///< of an output: the largest error of every element, not a tolerance

 private:
  Call& found_;
  std::map<std::string, Numbers> numbers_;
};

using Sizes = std::vector<std::vector<int64_t>>;

struct Op {
  std::string name;
  Sizes sizes;  ///< of the tests
  std::function<void(Call&)> run;
  std::function<void(Plain&)> plain;
  std::function<void(Call&)> backward = {};
  std::vector<DType> dtypes = {DType::f32, DType::f64, DType::bf16};
  bool f64_on_gpu = true;
};

using Ops = std::vector<Op>;

Ops activations();
Ops dropouts();
Ops elementwise();
Ops unary_functions();
Ops broadcasts();
Ops reductions();
Ops reductions_over_dimension();
Ops softmaxes();
Ops norms();
Ops gathers();
Ops sparse_products();
Ops edge_kernels();
Ops gine_sums();
Ops grouped_products();
Ops list_products();  ///< over lists

/// Rows that the benchmark times.
Op activate(Activation activation);
Op dropout(Activation activation, float rate);
Op batch_norm_statistics(bool running);
Op batch_norm(const kernels::Epilogue& epilogue);
Op spmm(bool weighted);
Op sddmm();
Op edge_softmax();
/// Sizes: rows, K, F, groups, blocks. `picked`: of half as many rows, in any order. `placed`: the last row
/// first.
Op grouped_gemm(bool picked, bool turned, bool biased, bool placed = false);
Op spmm_coo(bool weighted, kernels::ScatterSums sums = kernels::ScatterSums::fixed_point);

}  // namespace adj::ops
