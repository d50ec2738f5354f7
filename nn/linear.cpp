#include <adjoint/nn/init.h>
#include <adjoint/nn/linear.h>

namespace adj::nn {

Linear::Linear(int64_t in, int64_t out, const LinearOptions& options) : activation_(options.activation) {
  ADJ_CHECK(in > 0 && out > 0, "Linear: expected positive widths, got {} -> {}", in, out);
  const Initial initial = options.initial;
  add_parameter("weight", weight,
                initial == Initial::fan_in ? fan_in_uniform(in, out) : glorot_uniform(in, out),
                {.transposed = true});
  if (options.bias)
    add_parameter("bias", bias, initial == Initial::glorot ? constant({out}, 0.0) : fan_in_bias(in, out));
}

std::string Linear::describe() const {
  return fmt::format("Linear({} -> {})", weight.size(0), weight.size(1));
}

}  // namespace adj::nn
