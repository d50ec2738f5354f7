#include <adjoint/autograd/arithmetic.h>
#include <adjoint/nn/conv/tag_conv.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

TAGConv::TAGConv(int64_t in, int64_t out, const TAGConvOptions& options)
    : norm_{.normalize = options.normalize, .add_self_loops = false} {
  const int K = options.K;
  ADJ_CHECK(in > 0 && out > 0 && K >= 0, "TAGConv: expected positive widths, got {} -> {}, {} hops", in, out,
            K);
  for (int k = 0; k <= K; ++k) lins.add(in, out, LinearOptions{.bias = false, .initial = Initial::fan_in});
  if (options.bias) add_parameter("bias", bias, constant({out}, 0.0));
}

// Z_k = X W_k; Z_0 + A (Z_1 + A (Z_2 + …)).
template <class X>
Var TAGConv::after_product(const GcnNorm& a, const X& x) const {
  Var y = lins.back()(x);
  for (size_t k = lins.size() - 1; k-- > 0;) y = a(y, k == 0 ? bias : Var{}) + lins[k](x);
  return lins.size() == 1 && bias ? y + bias : y;
}

Var TAGConv::operator()(const Structure& structure, const Sides& features, const Var& edge_weight) const {
  structure.check_one_set("TAGConv");
  if (const Features* x = features.compact("TAGConv", structure))
    return after_product(GcnNorm("TAGConv", structure, norm_, edge_weight), *x);
  const Var x = features.dense(*this).of_sources("TAGConv", structure).src;
  const GcnNorm a("TAGConv", structure, norm_, edge_weight);
  const Var& first = lins[0].weight;
  if (first.size(0) > first.size(1)) return after_product(a, x);
  Var y = linear(x, first, bias), power = x;
  for (size_t k = 1; k < lins.size(); ++k) {
    power = a(power);
    y = y + lins[k](power);
  }
  return y;
}

std::string TAGConv::describe() const {
  return fmt::format("TAGConv({} -> {}, K={})", lins[0].weight.size(0), lins[0].weight.size(1),
                     lins.size() - 1);
}

}  // namespace adj::nn
