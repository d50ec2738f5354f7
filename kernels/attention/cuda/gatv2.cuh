#pragma once

#include <adjoint/kernels/attention/cuda/launch.cuh>
#include <adjoint/kernels/attention/cuda/strategies.h>

namespace adj::kernels::cuda {

/// Arguments common to both passes; `Arguments` and `Args` are those of either.
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

}  // namespace adj::kernels::cuda
