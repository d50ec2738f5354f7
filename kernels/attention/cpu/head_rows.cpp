// The products and sums of rows that all attentions share.

#include <adjoint/kernels/attention/cpu/head_rows.h>

namespace adj::kernels::cpu {

namespace {

/// ⟨operand - less, x⟩; `less` may be null.
template <class S>
struct DotWithout {
  using V = Vector<S>;
  using Held = V;
  const S* operand;
  const S* less;

  Held hold(auto&& load) const { return less == nullptr ? load(operand) : load(operand) - load(less); }
  V operator()(V sum, V held, V x) const { return sum + held * x; }
};

}  // namespace

template <class S>
void HeadRows<S>::gathered_dots(int64_t count, const S* x, const int32_t* columns, const int32_t* last,
                                const S* operand, T* out) const {
  const GatheredRows<S> rows{x, columns, pitch, last};
  dots<GatheredRows<S>, DotWith<S>>(count, rows, DotWith<S>{operand}, out);
}

template <class S>
template <class R>
void HeadRows<S>::dot(const R* row, const S* operand, const S* less, T* out) const {
  dot_groups(1, ConsecutiveRows<R>{row, pitch}, DotWithout<S>{operand, less}, out);
}

template <class S>
void HeadRows<S>::gathered_sums(int64_t count, const T* w, const S* x, const int32_t* columns,
                                const int32_t* last, bool fresh, T* sum) const {
  accumulate(count, w, GatheredRows<S>{x, columns, pitch, last}, Weighted<S>{}, fresh, sum);
}
template <class S>
void HeadRows<S>::accumulate_two(int64_t count, const T* w, const T* w2, const GatheredRows<S>& rows,
                                 bool fresh, T* sum, T* sum2) const {
  accumulate<2>(count, {w, w2}, rows, Weighted<S>{}, fresh, {sum, sum2});
}

template struct HeadRows<float>;
template struct HeadRows<double>;
template struct HeadRows<bfloat16>;
template void HeadRows<float>::dot(const float*, const float*, const float*, float*) const;
template void HeadRows<double>::dot(const double*, const double*, const double*, double*) const;
template void HeadRows<bfloat16>::dot(const float*, const bfloat16*, const bfloat16*, float*) const;
template void HeadRows<bfloat16>::dot(const bfloat16*, const bfloat16*, const bfloat16*, float*) const;

}  // namespace adj::kernels::cpu
