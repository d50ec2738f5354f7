#include <adjoint/autograd/linear.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

GCNConv::GCNConv(int64_t in, int64_t out, const GCNConvOptions& options)
    : norm_{options.normalize, options.add_self_loops.value_or(options.normalize), options.improved},
      activation_(options.activation) {
  ADJ_CHECK(in > 0 && out > 0, "GCNConv: expected positive widths, got {} -> {}", in, out);
  ADJ_CHECK(norm_.normalize || !norm_.add_self_loops,
            "GCNConv: self-loops are added where the adjacency is normalised, which was turned off");
  add_parameter("weight", weight, glorot_uniform(in, out), {.transposed = true, .name = "lin.weight"});
  if (options.bias) add_parameter("bias", bias, constant({out}, 0.0));
}

Var GCNConv::operator()(const Structure& structure, const Sides& features, const Var& edge_weight) const {
  if (const Features* x = features.compact("GCNConv", structure))
    return GcnNorm("GCNConv", structure, norm_, edge_weight)(linear(*x, weight), bias, activation_);
  const Sides x = features.dense(*this).of_sources("GCNConv", structure);
  const GcnNorm a("GCNConv", structure, norm_, edge_weight);
  if (weight.size(0) > weight.size(1)) return a(linear(x.src, weight), bias, activation_);
  return linear(a.matrix() != nullptr ? x.propagated(*a.matrix()) : a(x.src), weight, bias, activation_);
}

std::string GCNConv::describe() const {
  return fmt::format("GCNConv({} -> {})", weight.size(0), weight.size(1));
}

}  // namespace adj::nn
