#pragma once

#include "model_description.h"
#include <adjoint/kernels/bits/bit_tensor.h>
#include <adjoint/kernels/elementwise/activation.h>
#include <adjoint/nn/module.h>

// What an IntegerModel computes with, and where each part of it stands in a training's state.

namespace adj::detail {

/// What integers of so many bits stand for, of activations.
struct IntegerRange {
  int bits = 0;
  Tensor scale, zero;  ///< float32 [1]
};

/// A linear map and what is fused into it.
struct IntegerLinear {
  Tensor input_scale, input_shift;  ///< float32 [in]: of a batch norm on the sums that it takes, or absent
  IntegerRange input;
  BitTensor weight;     ///< along columns, of [in, out]
  BitTensor bytes;      ///< the same, a byte a number
  Tensor scale, shift;  ///< float32 [out]: of a batch norm and a bias; scale may be absent
  Activation activation = Activation::none;
};

struct IntegerParts {
  std::vector<IntegerRange> inputs;   ///< of each layer; of a model of graphs also of what the last one makes
  std::vector<IntegerLinear> sums;    ///< of each layer: what takes sums over neighbours
  std::vector<IntegerLinear> hidden;  ///< of each layer of a GIN: its second
  std::vector<IntegerLinear> readouts;  ///< of a model of graphs: what takes each of `inputs`, pooled
};

/// Where such a part stands, and what it has to be.
struct RangePlace {
  std::string name;  ///< "inputs.0."
  int bits;
};
struct LinearPlace {
  std::string name;        ///< "sums.0."
  std::string input_norm;  ///< "sum_norms.0.", the batch norm on what it takes; empty: none
  std::string norm;        ///< "norms.0.", the batch norm behind it; likewise
  bool relu;
  int64_t in, out;
  int weight_bits, input_bits;
};
struct IntegerPlan {
  std::vector<RangePlace> inputs;
  std::vector<LinearPlace> sums, hidden, readouts;

  /// The parts, of which `range(place)` and `linear(place)` make each.
  template <class Range, class Linear>
  IntegerParts parts(Range&& range, Linear&& linear) const {
    IntegerParts made;
    for (const RangePlace& place : inputs) made.inputs.push_back(range(place));
    for (const LinearPlace& place : sums) made.sums.push_back(linear(place));
    for (const LinearPlace& place : hidden) made.hidden.push_back(linear(place));
    for (const LinearPlace& place : readouts) made.readouts.push_back(linear(place));
    return made;
  }
};

/// Throws adj::Error unless train_qgnn or train_graph_qgin trains such a model, and for layers that are not
/// quantised.
IntegerPlan integer_plan(const ModelDescription& model);

/// What is wrong with numbers on the CPU that are to be scales, or zeros of so many bits, of weights or of
/// activations: "-1, expected a finite number above 0". Empty: nothing.
std::string problem_of_scales(const Tensor& scales);
std::string problem_of_zeros(const Tensor& zeros, int bits, bool of_weights);

/// Throws adj::Error, naming the entry, where the model's state lacks one, or holds numbers that no training
/// writes.
IntegerParts parts_of_state(const IntegerPlan& plan, const nn::Module& model);

}  // namespace adj::detail
