#include <adjoint/core/cuda/stream.h>
#include <adjoint/kernels/aggregate/cuda/spmm_choice.h>
#include <adjoint/kernels/aggregate/explain.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace adj::kernels::cuda {

namespace {

bool fits(const SpmmShape& shape, const SpmmProblem& problem) {
  const auto bytes = static_cast<size_t>(shape.vector) * problem.element_bytes;
  if (problem.width % shape.vector != 0 || problem.alignment % bytes != 0) return false;
  return !shape.whole || problem.width % shape.slab() == 0;
}

/// Lanes that have nothing to do in the last slab, as a share of all.
double idle_share(const SpmmShape& shape, int64_t width) {
  const int64_t slabs = (width + shape.slab() - 1) / shape.slab();
  return 1.0 - static_cast<double>(width) / static_cast<double>(slabs * shape.slab());
}

/// Bytes of a row that one pass should take: all of it, up to 512; less where X is larger than the L2 cache,
/// rows are gathered several times, and narrower slabs of X would stay in it.
int64_t wanted_bytes(const SpmmProblem& problem, int64_t l2_bytes) {
  const int64_t row = problem.width * static_cast<int64_t>(problem.element_bytes), cols = problem.csr.cols;
  int64_t wanted = std::min<int64_t>(row, 512);
  if (problem.csr.entries() < 4 * cols || cols * wanted <= l2_bytes) return wanted;
  while (wanted > 128 && cols * wanted * 2 > l2_bytes) wanted /= 2;
  return wanted;
}

}  // namespace

size_t alignment_of(const Tensor& x, const Tensor& y) {
  const auto bits =
      reinterpret_cast<uintptr_t>(x.raw_data()) | reinterpret_cast<uintptr_t>(y.raw_data()) | 16u;
  return size_t{1} << std::countr_zero(bits);
}

size_t choose_shape(const SpmmProblem& problem, std::span<const SpmmShape> shapes) {
  const int64_t l2_bytes = adj::cuda::properties(problem.csr.device().index).l2_bytes;
  const double wanted = static_cast<double>(wanted_bytes(problem, l2_bytes));
  size_t best = shapes.size();
  double best_cost = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!fits(shapes[i], problem)) continue;
    const double slab = static_cast<double>(shapes[i].slab() * problem.element_bytes);
    const double miss = slab > wanted ? slab / wanted : wanted / slab;
    // Wide reads first, then the wanted slab, then few idle lanes.
    const double cost = miss * (1.0 + idle_share(shapes[i], problem.width)) *
                        (1.0 + 2.0 / static_cast<double>(shapes[i].vector * problem.element_bytes));
    if (cost < best_cost) {
      best_cost = cost;
      best = i;
    }
  }
  ADJ_CHECK(best < shapes.size(), "{}: no kernel for width {}", problem.op, problem.width);
  const SpmmShape& shape = shapes[best];
  const DType dtype = problem.element_bytes == 2   ? DType::bf16
                      : problem.element_bytes == 8 ? DType::f64
                                                   : DType::f32;
  explain_sparse(problem.op, problem.csr, problem.width, 1, dtype,
                 "{} lanes a row, {} x {} features each (by rule)", shape.lanes, shape.chunks, shape.vector);
  return best;
}

}  // namespace adj::kernels::cuda
