#pragma once

#include <adjoint/kernels/attention/cuda/launch.cuh>
#include <adjoint/kernels/attention/cuda/rest.h>

namespace adj::kernels::cuda {

template <class S>
const S* operands_of(const OperandFeatures& x) {
  return static_cast<const S*>(x.data);
}

/// Arguments common to both passes.
template <class S, template <class> class Arguments>
void set_rest(Arguments<S>& a, const AttentionOperands& x) {
  set_heads(a, x.heads, x.v.pitch, AttentionDropout{});
  const bool dot = x.score == TileScore::dot;
  a.target = operands_of<S>(x.q);
  a.source = operands_of<S>(dot ? x.k : x.v);
  a.value = operands_of<S>(x.v);
  a.target_scale = x.q.scale();
  a.source_scale = x.k.scale();
  a.scale = x.scale;
  a.l = x.l;
  a.r = x.r;
  a.slope = x.slope;
}

template <class S, class Score>
void run_rest(const char* name, const Csr& rest, const AttentionOperands& x, Tensor& o, Tensor& lse) {
  ForwardArguments<S> a{};
  set_rest(a, x);
  a.o = o.mutable_data<Result<S>>();
  a.lse = lse.mutable_data<float>();
  run_forward<S, Score>(name, {rest, {}, {}}, a, wide_reads<S>(a.width, a.target, a.source, a.value, a.o));
}

template <class S>
RowGradients<S> pointers_of(RestGradients& gradients) {
  using R = Result<S>;
  return {mutable_data_or_null<R>(gradients.row), mutable_data_or_null<R>(gradients.value),
          mutable_data_or_null<float>(gradients.term)};
}

template <class S, class Score>
void run_rest_backward(const char* name, const Csr& rest, const Csr& rest_at, const AttentionOperands& x,
                       const Tensor& lse, Tensor& delta, RestGradients target_rows,
                       RestGradients source_rows) {
  const RowGradients<S> by_target = pointers_of<S>(target_rows), by_source = pointers_of<S>(source_rows);
  BackwardArguments<S> a{};
  set_rest(a, x);
  a.d_o = operands_of<S>(x.d_o);
  a.lse = lse.data<float>();
  a.delta = delta.mutable_data<float>();
  const bool wide = wide_reads<S>(a.width, a.target, a.source, a.value, a.d_o, by_target.row, by_source.row,
                                  by_source.value);
  Tensor none;
  run_backward<S, Score>(name, {rest, {}, {}}, {rest_at, {}, {}}, a, wide, by_target, by_source, none,
                         AttentionGradient::recomputed);
}

}  // namespace adj::kernels::cuda
