#include <adjoint/autograd/linear.h>
#include <adjoint/nn/conv/sg_conv.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

SGConv::SGConv(int64_t in, int64_t out, const SGConvOptions& options)
    : hops_(options.K), norm_{.add_self_loops = options.add_self_loops} {
  ADJ_CHECK(in > 0 && out > 0 && hops_ >= 1,
            "SGConv: expected positive widths and hops, got {} -> {}, {} hops", in, out, hops_);
  add_parameter("weight", weight, fan_in_uniform(in, out), {.transposed = true, .name = "lin.weight"});
  if (options.bias) add_parameter("bias", bias, fan_in_bias(in, out), {.name = "lin.bias"});
}

Var SGConv::operator()(const Structure& structure, const Sides& features, const Var& edge_weight) const {
  if (hops_ > 1) structure.check_one_set("SGConv");
  if (const Features* x = features.compact("SGConv", structure))
    return propagate(GcnNorm("SGConv", structure, norm_, edge_weight), linear(*x, weight), bias);
  const Sides x = features.dense(*this).of_sources("SGConv", structure);
  const GcnNorm a("SGConv", structure, norm_, edge_weight);
  if (a.matrix() != nullptr && x.has_cache() && !x.src.requires_grad())
    return linear(x.propagated(*a.matrix(), hops_), weight, bias);
  if (weight.size(0) < weight.size(1)) return linear(propagate(a, x.src, {}), weight, bias);
  return propagate(a, linear(x.src, weight), bias);
}

Var SGConv::propagate(const GcnNorm& a, Var y, const Var& last_bias) const {
  for (int hop = 0; hop < hops_; ++hop) y = a(y, hop + 1 == hops_ ? last_bias : Var{});
  return y;
}

std::string SGConv::describe() const {
  return fmt::format("SGConv({} -> {}, {} hops)", weight.size(0), weight.size(1), hops_);
}

}  // namespace adj::nn
