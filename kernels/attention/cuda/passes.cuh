#pragma once

#include <adjoint/kernels/attention/cuda/launch.cuh>
#include <adjoint/kernels/attention/cuda/strategies.h>

namespace adj::kernels::cuda {

// set_…(): arguments common to both passes; `Arguments` and `Args` are those of either.

template <class S, template <class> class Arguments, class Args>
void set_gat(Arguments<S>& a, const Args& args) {
  using A = Accumulator<S>;
  set_heads(a, args.heads(), args.head_width(), args.dropout);
  a.source = args.x.template data<S>();
  a.l = args.l.template data<A>();
  a.r = args.r.template data<A>();
  a.c = data_or_null<A>(args.c);
  a.bias = data_or_null<S>(args.bias);
  a.slope = static_cast<A>(args.slope);
}

template <class S>
void run_gat(const GatArgs& args) {
  using A = Accumulator<S>;
  ForwardArguments<S> a{};
  set_gat(a, args);
  a.o = args.o.mutable_data<S>();
  a.lse = args.lse.mutable_data<A>();
  run_forward<S, GatScore>("gat", args.a, a, wide_reads<S>(a.width, a.source, a.bias, a.o));
}

template <class S>
void run_gat_backward(const GatBackwardArgs& args) {
  using A = Accumulator<S>;
  BackwardArguments<S> a{};
  set_gat(a, args);
  a.o = args.o.data<S>();
  a.d_o = args.d_o.data<S>();
  a.lse = args.lse.data<A>();
  a.delta = args.delta.mutable_data<A>();
  a.logit_gradient = mutable_data_or_null<A>(args.dc);
  a.by_source = data_or_null<S>(args.source);
  a.by_target = data_or_null<S>(args.target);
  a.dl = data_or_null<A>(args.dl);
  S* const dx = mutable_data_or_null<S>(args.dx);
  Tensor none;
  run_backward<S, GatScore>(
      "gat_backward", args.a, args.at, a,
      wide_reads<S>(a.width, a.source, a.bias, a.o, a.d_o, dx, a.by_source, a.by_target),
      {.term = mutable_data_or_null<A>(args.dl)}, {.row = dx, .term = mutable_data_or_null<A>(args.dr)},
      none);
}

template <class S, template <class> class Arguments, class Args>
void set_gatv2(Arguments<S>& a, const Args& args) {
  set_heads(a, args.heads(), args.head_width(), args.dropout);
  a.target = args.l.template data<S>();
  a.source = args.r.template data<S>();
  a.att = args.att.template data<S>();
  a.bias = data_or_null<S>(args.bias);
  a.slope = static_cast<Accumulator<S>>(args.slope);
}

template <class S>
void run_gatv2(const Gatv2Args& args) {
  using A = Accumulator<S>;
  ForwardArguments<S> a{};
  set_gatv2(a, args);
  a.o = args.o.mutable_data<S>();
  a.lse = args.lse.mutable_data<A>();
  run_forward<S, Gatv2Score>("gatv2", args.a, a,
                             wide_reads<S>(a.width, a.target, a.source, a.att, a.bias, a.o));
}

template <class S>
void run_gatv2_backward(const Gatv2BackwardArgs& args) {
  using A = Accumulator<S>;
  BackwardArguments<S> a{};
  set_gatv2(a, args);
  a.o = args.o.data<S>();
  a.d_o = args.d_o.data<S>();
  a.lse = args.lse.data<A>();
  a.delta = args.delta.mutable_data<A>();
  S* const dl = mutable_data_or_null<S>(args.dl);
  S* const dr = mutable_data_or_null<S>(args.dr);
  run_backward<S, Gatv2Score>("gatv2_backward", args.a, args.at, a,
                              wide_reads<S>(a.width, a.target, a.source, a.att, a.bias, a.o, a.d_o, dl, dr),
                              {.row = dl}, {.row = dr}, args.datt, args.gradient);
}

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
