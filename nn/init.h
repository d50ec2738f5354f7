#pragma once

#include <adjoint/core/random.h>

#include <limits>

namespace adj::nn {

/// Within its scope, on its thread, initialisers leave their tensors uninitialised and generators unchanged:
/// for a module whose state is loaded next. Scopes do not nest.
///
///   std::unique_ptr<models::Model> model;
///   {
///     const nn::NoInit no_init;
///     model = family.make(in, out, options);
///   }
///   model->load_state(state);
class NoInit {
 public:
  /// `most`: bound on the number of elements of all initialisers; one beyond it throws adj::Error naming its
  /// shape, before it takes memory.
  explicit NoInit(int64_t most = std::numeric_limits<int64_t>::max());
  ~NoInit();
  NoInit(const NoInit&) = delete;
  NoInit& operator=(const NoInit&) = delete;
};

// Initial weights [in, out] from the default generator, in float32, float64 or bfloat16 (the same numbers,
// rounded).

/// Uniform in ±bound.
Tensor uniform(const Shape& shape, double bound, Generator& generator = default_generator(),
               DType dtype = DType::f32);
/// Uniform in ±sqrt(6 / (in + out)) (Glorot & Bengio 2010), as in GCN.
Tensor glorot_uniform(int64_t in, int64_t out, Generator& generator = default_generator(),
                      DType dtype = DType::f32);
/// glorot_uniform() of several matrices [..., in, out].
Tensor glorot_matrices(const Shape& matrices, Generator& generator = default_generator(),
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
/// All `value`, float32.
Tensor constant(const Shape& shape, double value);

}  // namespace adj::nn
