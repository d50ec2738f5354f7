#include <adjoint/nn/hetero_linear.h>
#include <adjoint/nn/init.h>

namespace adj::nn {

HeteroLinear::HeteroLinear(int64_t in, int64_t out, int64_t types, const HeteroLinearOptions& options) {
  ADJ_CHECK(in > 0 && out > 0 && types > 0,
            "HeteroLinear: expected positive widths and types, got {} -> {}, {} types", in, out, types);
  const bool fan_in = options.initial == Initial::fan_in;
  add_parameter("weight", weight,
                fan_in ? fan_in_uniform(in, types * out).reshape({types, in, out})
                       : glorot_matrices(Shape{types, in, out}));
  if (options.bias)
    add_parameter("bias", bias,
                  options.initial == Initial::glorot ? constant({types, out}, 0.0)
                                                     : fan_in_bias(in, types * out).reshape({types, out}));
}

std::string HeteroLinear::describe() const {
  return fmt::format("HeteroLinear({} -> {}, {} types)", weight.size(1), weight.size(2), weight.size(0));
}

}  // namespace adj::nn
