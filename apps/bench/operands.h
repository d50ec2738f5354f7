#pragma once

#include "../../bench/ops/op.h"
#include "measure.h"

#include <set>

// Makes the kernels' operands and counts their bytes.
namespace adj::apps {

inline Tensor random(const Subject& s, Shape shape, DType dtype = DType::f32) {
  return random_normal(shape, 0.0, 1.0, default_generator()).to(dtype).to(s.device());
}

inline double bytes_of(std::initializer_list<Tensor> tensors) {
  double sum = 0.0;
  for (const Tensor& tensor : tensors) sum += static_cast<double>(tensor.bytes());
  return sum;
}

/// Bytes of one feature row per entry.
inline double gathered(const Csr& csr, const Tensor& x) {
  return static_cast<double>(csr.entries()) * static_cast<double>(x.size(1)) *
         static_cast<double>(size_of(x.dtype()));
}

/// A row of the op table over a structure or a list, or its gradient; 0 heads: one weight per edge. Rows of
/// the gathered operands are read once per edge; with {""}, an op of edge values only, columns are not read.
Job links_job(const Subject& s, const ops::Op& op, const ops::Links& links, int64_t heads,
              const std::set<std::string>& gathered_operands, bool backward = false);

inline std::string sparse_shape(const Csr& csr, const Tensor& x) {
  return fmt::format("{} x {}, {} entries", csr.rows, x.size(1), csr.entries());
}

}  // namespace adj::apps
