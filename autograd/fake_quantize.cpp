#include <adjoint/autograd/fake_quantize.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/graph/features.h>
#include <adjoint/kernels/bits/bit_range.h>

#include <cmath>

namespace adj {

double lsq_gradient_scale(int64_t numbers, int bits) {
  return 1.0 / std::sqrt(std::max(1.0, static_cast<double>(numbers) * ((1 << bits) - 1)));
}

Var fake_quantize(const Var& x, int bits, const Var& scale, const Tensor& zero,
                  const FakeQuantizeOptions& options) {
  const OpScope scope("fake_quantize", x);
  Tensor y = Tensor::empty_like(x.value());
  kernels::fake_quantize({.x = x.value(),
                          .bits = bits,
                          .scale = scale.value(),
                          .zero = zero,
                          .along = options.along,
                          .keep = options.keep,
                          .y = y});
  enum : size_t { kX, kScale };
  return record("fake_quantize", y, {x, scale},
                [x = Saved(x.value()), bits, scale = Saved(scale.value()), zero = Saved(zero), options](
                    Tensor dy, Gradients& out) {
                  Tensor dx, dscale;
                  if (out.wanted(kX)) dx = reuse(dy);
                  if (out.wanted(kScale)) dscale = Tensor::empty_like(scale.get());
                  kernels::fake_quantize_backward({.x = x.get(),
                                                   .bits = bits,
                                                   .scale = scale.get(),
                                                   .zero = zero.get(),
                                                   .along = options.along,
                                                   .keep = options.keep,
                                                   .gradient_scale = options.gradient_scale,
                                                   .dy = dy,
                                                   .dx = dx,
                                                   .dscale = dscale});
                  if (dx) out.add(kX, dx);
                  if (dscale) out.add(kScale, dscale);
                });
}

Features fake_quantize(const Features& x, int bits, const Tensor& scale, const Tensor& zero) {
  const NoGrad no_grad;
  if (!x.is_sparse()) return Features(fake_quantize(Var(x.to_dense()), bits, Var(scale), zero).value());
  ADJ_CHECK(scale.numel() == 1 && zero.numel() == 1 && zero.item() == 0.0,
            "fake_quantize: scale {} and zero {} for sparse features, expected one scale and a zero of 0, so "
            "that absent numbers stay 0",
            scale.str(), zero.numel() == 1 ? fmt::format("{}", zero.item()) : zero.str());
  const SparseMatrix a = x.sparse().for_features(DType::f32);
  const Tensor values =
      a.values() ? a.values() : Tensor::full({a.relation().num_edges()}, 1.0, DType::f32, a.device());
  const Tensor row = values.reshape({1, values.numel()});
  const Tensor y = fake_quantize(Var(row), bits, Var(scale), zero).value();
  return a.with_values(y.reshape({values.numel()}));
}

}  // namespace adj
