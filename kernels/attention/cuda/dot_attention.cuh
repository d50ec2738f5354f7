#pragma once

#include <adjoint/kernels/attention/cuda/launch.cuh>
#include <adjoint/kernels/attention/cuda/strategies.h>

namespace adj::kernels::cuda {

/// Arguments common to both passes; `Arguments` and `Args` are those of either.
template <class S, template <class> class Arguments, class Args>
void set_dot_attention(Arguments<S>& a, const Args& args, const EdgeTerms& edges) {
  using A = Accumulator<S>;
  set_heads(a, args.heads, args.head_width(), args.dropout);
  a.target = args.q.template data<S>();
  a.source = args.k.template data<S>();
  a.value = data_or_null<S>(args.v);
  a.s = data_or_null<A>(args.s);
  a.scale = static_cast<A>(args.scale);
  a.c = data_or_null<A>(edges.c);
}

template <class S>
void run_dot_attention(const DotAttentionArgs& args, const EdgeTerms& edges) {
  using A = Accumulator<S>;
  ForwardArguments<S> a{};
  set_dot_attention(a, args, edges);
  Tensor logits = edges.logits;
  a.logits = mutable_data_or_null<A>(logits);
  a.o = args.o.mutable_data<S>();
  a.lse = args.lse.mutable_data<A>();
  const bool wide = wide_reads<S>(a.width, a.target, a.source, a.value, a.o);
  if (args.v)
    run_forward<S, DotScore>("dot_attention", args.a, a, wide);
  else
    run_forward<S, KeyedScore>("dot_attention", args.a, a, wide);
}

template <class S>
void run_dot_attention_backward(const DotAttentionBackwardArgs& args, const EdgeTerms& edges) {
  using A = Accumulator<S>;
  BackwardArguments<S> a{};
  set_dot_attention(a, args, edges);
  a.o = args.o.data<S>();
  a.d_o = args.d_o.data<S>();
  a.lse = args.lse.data<A>();
  a.delta = args.delta.mutable_data<A>();
  a.g = data_or_null<A>(edges.g);
  a.delta_more = data_or_null<A>(edges.delta);
  Tensor d_logits = edges.d_logits, weights = edges.weights;
  a.logit_gradient = mutable_data_or_null<A>(d_logits);
  a.weight = mutable_data_or_null<A>(weights);
  S* const dq = mutable_data_or_null<S>(args.dq);
  S* const dk = mutable_data_or_null<S>(args.dk);
  S* const dv = mutable_data_or_null<S>(args.dv);
  const bool wide = wide_reads<S>(a.width, a.target, a.source, a.value, a.o, a.d_o, dq, dk, dv);
  const RowGradients<S> by_source{dk, dv, mutable_data_or_null<A>(args.ds)};
  Tensor none;
  if (args.v)
    run_backward<S, DotScore>("dot_attention_backward", args.a, args.at, a, wide, {.row = dq}, by_source,
                              none, args.gradient);
  else
    run_backward<S, KeyedScore>("dot_attention_backward", args.a, args.at, a, wide, {.row = dq}, by_source,
                                none, args.gradient);
}

}  // namespace adj::kernels::cuda
