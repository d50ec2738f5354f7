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

Var SGConv::operator()(const Graph& graph, const Sides& features, const Var& edge_weight) const {
  const Var x = features.of_sources("SGConv", graph);
  const GcnNorm a("SGConv", graph, norm_, edge_weight);
  if (a.matrix() != nullptr && features.has_cache() && !x.requires_grad())
    return linear(features.propagated(*a.matrix(), hops_), weight, bias);
  if (weight.size(0) < weight.size(1)) return linear(propagate(a, x, {}), weight, bias);
  return propagate(a, linear(x, weight), bias);
}

Var SGConv::operator()(const Graph& graph, const Features& x, const Var& edge_weight) const {
  if (x.is_dense()) return (*this)(graph, Var(x.dense()), edge_weight);
  check_rows("SGConv", graph, x);
  return propagate(GcnNorm("SGConv", graph, norm_, edge_weight), linear(x, weight), bias);
}

Var SGConv::propagate(const GcnNorm& a, Var y, const Var& last_bias) const {
  for (int hop = 0; hop < hops_; ++hop) y = a(y, hop + 1 == hops_ ? last_bias : Var{});
  return y;
}

std::string SGConv::describe() const {
  return fmt::format("SGConv({} -> {}, {} hops)", weight.size(0), weight.size(1), hops_);
}

}  // namespace adj::nn
