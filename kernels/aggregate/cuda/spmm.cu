// Y = act(A X + bias) by the method of plan/spmm_method.h.

#include <adjoint/kernels/aggregate/cuda/spmm_launch.cuh>
#include <adjoint/kernels/aggregate/cuda/strategies.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/plan/explain.h>
#include <adjoint/kernels/plan/spmm_method.h>

namespace adj::kernels::cuda {

template <>
void own_spmm<double>(const SpmmArgs& args) {
  args.local ? run_own_spmm<double, true>(ScalarLayouts(), args)
             : run_own_spmm<double, false>(ScalarLayouts(), args);
}

void plan_rows(const PlanRowsArgs& args) { (void)spmm_plan(args.a); }

void spmm(const SpmmArgs& args) {
  const auto say = [&](const char* choice) {
    explain_sparse("spmm", args.a.csr, args.x.size(1), heads_of(args.a.values), args.x.dtype(), "{}", choice);
  };
  const auto method = args.is_slice() || args.local
                          ? plan::SpmmMethod::items
                          : plan::spmm_method(args.a, args.x.size(1), args.x.dtype());
  switch (method) {
    case plan::SpmmMethod::heads:
      say("all heads in one pass");
      return spmm_by_head(args);
    case plan::SpmmMethod::small:
      say("a warp a row, for a small product (by rule)");
      return small_spmm(args);
    case plan::SpmmMethod::items:
      return dispatch_features(args.x.dtype(), [&]<class S>() { own_spmm<S>(args); });
  }
}

}  // namespace adj::kernels::cuda
