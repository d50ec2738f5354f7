#pragma once

#include <adjoint/core/random.h>

namespace adj::nn {

// Initial weights [in, out] from the default generator, in float32, float64 or bfloat16 (the same numbers,
// rounded).

/// Uniform in ±sqrt(6 / (in + out)) (Glorot & Bengio 2010), as in GCN.
Tensor glorot_uniform(int64_t in, int64_t out, Generator& generator = default_generator(),
                      DType dtype = DType::f32);
/// Normal with variance 2 / (in + out).
Tensor glorot_normal(int64_t in, int64_t out, Generator& generator = default_generator(),
                     DType dtype = DType::f32);
/// Uniform in ±sqrt(6 / in) (He et al. 2015), for layers before a ReLU.
Tensor kaiming_uniform(int64_t in, int64_t out, Generator& generator = default_generator(),
                       DType dtype = DType::f32);
/// Uniform in ±1 / sqrt(in): the default of torch.nn.Linear and of PyG's layers; equals kaiming_uniform for a
/// leaky ReLU of slope sqrt(5).
Tensor fan_in_uniform(int64_t in, int64_t out, Generator& generator = default_generator(),
                      DType dtype = DType::f32);
/// The bias [out] of such a weight, with the same distribution.
Tensor fan_in_bias(int64_t in, int64_t out, Generator& generator = default_generator(),
                   DType dtype = DType::f32);
/// Normal with variance 2 / in.
Tensor kaiming_normal(int64_t in, int64_t out, Generator& generator = default_generator(),
                      DType dtype = DType::f32);

}  // namespace adj::nn
