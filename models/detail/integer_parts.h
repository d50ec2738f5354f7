#pragma once

#include <adjoint/kernels/bits/bit_tensor.h>
#include <adjoint/kernels/types/activation.h>
#include <adjoint/models/model_description.h>
#include <adjoint/nn/module.h>

// Components of an IntegerModel, and their names in a training's state.

namespace adj::detail {

/// Quantisation range of activations.
struct IntegerRange {
  int bits = 0;
  Tensor scale, zero;  ///< float32 [1]
};

/// A linear map and its fused epilogue.
struct IntegerLinear {
  Tensor input_scale, input_shift;  ///< float32 [in]: batch norm on the input sums, or absent
  IntegerRange input;
  BitTensor weight;     ///< [in, out], along columns
  BitTensor bytes;      ///< the same as bytes, one per number
  Tensor scale, shift;  ///< float32 [out]: folded batch norm and bias; scale may be absent
  Activation activation = Activation::none;
};

struct IntegerParts {
  IntegerRange packed_by;               ///< the first of `inputs`, on the CPU
  std::vector<IntegerRange> inputs;     ///< per layer; for a model of graphs also of the last layer's output
  std::vector<IntegerLinear> sums;      ///< per layer: maps of the sums over neighbours
  std::vector<IntegerLinear> hidden;    ///< per layer of a GIN: the second map
  std::vector<IntegerLinear> readouts;  ///< of a model of graphs: maps of each of `inputs`, pooled
};

/// Name and expected properties of a component.
struct RangePlace {
  std::string name;  ///< "inputs.0."
  int bits;
};
struct LinearPlace {
  std::string name;        ///< "sums.0."
  std::string input_norm;  ///< "sum_norms.0.", batch norm on its input; empty: none
  std::string norm;        ///< "norms.0.", batch norm on its output; empty: none
  bool relu;
  int64_t in, out;
  int weight_bits, input_bits;
};
struct IntegerPlan {
  std::vector<RangePlace> inputs;
  std::vector<LinearPlace> sums, hidden, readouts;

  /// The components, constructed by `range(place)` and `linear(place)`.
  template <class Range, class Linear>
  IntegerParts parts(Range&& range, Linear&& linear) const {
    IntegerParts result;
    for (const RangePlace& place : inputs) result.inputs.push_back(range(place));
    for (const LinearPlace& place : sums) result.sums.push_back(linear(place));
    for (const LinearPlace& place : hidden) result.hidden.push_back(linear(place));
    for (const LinearPlace& place : readouts) result.readouts.push_back(linear(place));
    return result;
  }
};

/// Throws adj::Error unless train_qgnn or train_graph_qgin trains such a model, or if a layer is not
/// quantised, or too wide for sums of 32 bits.
IntegerPlan integer_plan(const ModelDescription& model);

/// Describes what is invalid in scales, or in zeros for these bits of weights or activations: "-1, expected a
/// finite number above 0". Empty: valid.
std::string problem_of_scales(const Tensor& scales);
std::string problem_of_zeros(const Tensor& zeros, int bits, bool of_weights);

/// Throws adj::Error, naming the entry, if the model's state lacks one or holds numbers that no training
/// writes.
IntegerParts parts_of_state(const IntegerPlan& plan, const nn::Module& model);

}  // namespace adj::detail
