#pragma once

#include <adjoint/kernels/attention/cuda/launch.cuh>
#include <adjoint/kernels/attention/cuda/strategies.h>

namespace adj::kernels::cuda {

/// Arguments common to both passes; `Arguments` and `Args` are those of either.
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

}  // namespace adj::kernels::cuda
