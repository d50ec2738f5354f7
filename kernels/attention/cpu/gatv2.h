#pragma once

#include <adjoint/kernels/attention/cpu/attend.h>
#include <adjoint/kernels/attention/gatv2.h>

// Shared by the passes of GATv2 without edge features (gatv2.cpp) and with them (gatv2_features.cpp).
namespace adj::kernels::cpu {

template <class S>
struct Gatv2Operands : Outputs<S> {
  const S* l;
  const S* r;
  const S* att;
  Scalar<S> slope;

  template <class Args>
  explicit Gatv2Operands(const Args& args)
      : Outputs<S>(args, args.heads()),
        l(args.l.template data<S>()),
        r(args.r.template data<S>()),
        att(args.att.template data<S>()),
        slope(static_cast<Scalar<S>>(args.slope)) {}
};

void gatv2_with_features(const Gatv2Args& args);
void gatv2_backward_with_features(const Gatv2BackwardArgs& args);

}  // namespace adj::kernels::cpu
