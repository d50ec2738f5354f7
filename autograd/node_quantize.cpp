#include <adjoint/autograd/node_quantize.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/bits/node_quantize.h>

namespace adj {

Var node_quantize(const Var& x, const Var& scale, const Var& bits, const Tensor& is_signed, bool local) {
  const OpScope scope("node_quantize", x);
  Tensor y = Tensor::empty_like(x.value());
  kernels::node_quantize(
      {.x = x.value(), .scale = scale.value(), .bits = bits.value(), .is_signed = is_signed, .y = y});
  return record("node_quantize", y, {x, scale, bits},
                [x = Saved(x.value()), scale = Saved(scale.value()), bits = Saved(bits.value()),
                 sign = Saved(is_signed), local](Tensor dy, Gradients& out) {
                  Tensor dx, dscale = Tensor::empty_like(scale.get()), dbits = Tensor::empty_like(bits.get());
                  if (out.wanted(0)) dx = reuse(dy);
                  kernels::node_quantize_backward({.x = x.get(),
                                                   .scale = scale.get(),
                                                   .bits = bits.get(),
                                                   .is_signed = sign.get(),
                                                   .local = local,
                                                   .dy = dy,
                                                   .dx = dx,
                                                   .dscale = dscale,
                                                   .dbits = dbits});
                  if (dx) out.add(0, dx);
                  if (out.wanted(1)) out.add(1, dscale);
                  if (out.wanted(2)) out.add(2, dbits);
                });
}

}  // namespace adj
