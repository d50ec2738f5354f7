#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/triple/queries.h>
#include <adjoint/kernels/triple/rules.h>

namespace adj::kernels::cpu {

namespace {

/// y = x m, or with `turned` m x; m [width, width].
template <class T>
void multiply(const T* m, const T* x, T* y, int64_t width, bool turned) {
  if (turned) {
    for (int64_t i = 0; i < width; ++i)
      y[i] = sum_of<T>(width, [=](int64_t j) { return m[i * width + j] * x[j]; });
    return;
  }
  std::fill(y, y + width, T{0});
  for (int64_t i = 0; i < width; ++i) {
    const T factor = x[i];
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) y[j] += factor * m[i * width + j];
  }
}

}  // namespace

void triple_queries(const TripleQueriesArgs& args) {
  const int64_t width = args.x.size(1), rows = args.x.size(0), count = args.relation.size(0),
                step = args.relation.size(1), units = units_of(is_complex(args.model), width);
  dispatch_float(args.x.dtype(), "triple_queries", [&]<class T>() {
    const T *x = args.x.data<T>(), *relation = args.relation.data<T>();
    T* q = args.q.mutable_data<T>();
    for_rows(rows, std::max(width, step), [=, model = args.model, inverse = args.inverse](int64_t i) {
      const T* r = relation + i % count * step;
      if (model == TripleModel::rescal) return multiply(r, x + i * width, q + i * width, width, i >= inverse);
      for (int64_t d = 0; d < units; ++d)
        query_unit(model, i >= inverse, x + i * width, r, q + i * width, d, units);
    });
  });
}

void triple_queries_backward(const TripleQueriesBackwardArgs& args) {
  const int64_t width = args.x.size(1), rows = args.x.size(0), count = args.relation.size(0),
                step = args.relation.size(1), units = units_of(is_complex(args.model), width);
  dispatch_float(args.x.dtype(), "triple_queries", [&]<class T>() {
    const T *x = args.x.data<T>(), *relation = args.relation.data<T>(), *dq = args.dq.data<T>();
    T *dx = args.dx.mutable_data<T>(), *dr = args.drelation.mutable_data<T>();
    for_rows(count, std::max(width, step), [=, model = args.model, inverse = args.inverse](int64_t b) {
      std::fill(dr + b * step, dr + (b + 1) * step, T{0});
      for (int64_t i = b; i < rows; i += count) {
        const int64_t row = i * width;
        if (model == TripleModel::rescal) {
          multiply(relation + b * step, dq + row, dx + row, width, i < inverse);
          const T *left = i < inverse ? x + row : dq + row, *right = i < inverse ? dq + row : x + row;
          for (int64_t k = 0; k < width; ++k) {
            T* out = dr + b * step + k * width;
#pragma omp simd
            for (int64_t j = 0; j < width; ++j) out[j] += left[k] * right[j];
          }
          continue;
        }
        for (int64_t d = 0; d < units; ++d) {
          T none = 0;
          T& im = model == TripleModel::complex ? dr[b * step + d + units] : none;
          query_unit_backward(model, i >= inverse, x + row, relation + b * step, dq + row, dx + row,
                              dr[b * step + d], im, d, units);
        }
      }
    });
  });
}

}  // namespace adj::kernels::cpu
