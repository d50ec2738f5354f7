#pragma once

#include <adjoint/core/convert.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

// Inputs of metrics, read and checked; errors name the metric.

namespace adj::nn::detail {

/// The selected nodes, all n without `index`. Throws if there is none.
inline std::vector<int32_t> selection(const char* metric, const Tensor& index, int64_t n) {
  std::vector<int32_t> chosen(static_cast<size_t>(n));
  std::iota(chosen.begin(), chosen.end(), 0);
  if (index) chosen = to_int32(metric, "index", index, n).to_vector<int32_t>();
  ADJ_CHECK(!chosen.empty(), "{}: no nodes selected", metric);
  for (int32_t i : chosen)
    ADJ_CHECK(i >= 0 && i < n, "{}: index {} is outside of the {} nodes", metric, i, n);
  return chosen;
}

/// int32 [N]: the class of the largest logit.
inline Tensor predictions(const char* metric, const Tensor& logits) {
  ADJ_CHECK(logits.dims() == 2, "{}: expected logits [N, C], got {}", metric, logits.shape().str());
  Tensor best = Tensor::empty({logits.size(0)}, DType::i32, logits.device());
  kernels::argmax_columns({.x = logits, .y = best});
  return best;
}

/// Label and prediction of every selected node.
inline std::vector<std::pair<int32_t, int32_t>> outcomes(const char* metric, const Tensor& logits,
                                                         const Tensor& label, const Tensor& index) {
  ADJ_CHECK(logits.dims() == 2 && label.dims() == 1 && logits.size(0) == label.size(0),
            "{}: logits {} for labels {}, expected [N, C] and [N]", metric, logits.str(), label.str());
  const int64_t classes = logits.size(1);
  const auto predicted = predictions(metric, logits).to_vector<int32_t>(),
             truth = to_int32(metric, "label", label, classes).to_vector<int32_t>();
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (int32_t i : selection(metric, index, label.size(0))) {
    const int32_t t = truth[static_cast<size_t>(i)];
    ADJ_CHECK(t >= 0 && t < classes, "{}: label {} of node {} is not one of {} classes", metric, t, i,
              classes);
    pairs.emplace_back(t, predicted[static_cast<size_t>(i)]);
  }
  return pairs;
}

/// Inputs of a metric of several columns, on the host.
class Columns {
 public:
  Columns(const char* metric, const Tensor& outputs, const Tensor& truth, const Tensor& index) {
    ADJ_CHECK(outputs.dims() == 2 && outputs.size(1) > 0 && outputs.shape() == truth.shape(),
              "{}: {} for targets {}, expected [N, T] of both", metric, outputs.str(), truth.str());
    count = outputs.size(1);
    chosen = selection(metric, index, outputs.size(0));
    outputs_ = outputs.to(DType::f64).to_vector<double>();
    truth_ = truth.to(DType::f64).to_vector<double>();
  }
  double output(int32_t i, int64_t t) const { return outputs_[at(i, t)]; }
  double truth(int32_t i, int64_t t) const { return truth_[at(i, t)]; }
  /// The selected nodes with a target in column t.
  std::vector<int32_t> labelled(int64_t t) const {
    std::vector<int32_t> nodes = chosen;
    std::erase_if(nodes, [&](int32_t i) { return std::isnan(truth(i, t)); });
    return nodes;
  }

  int64_t count;
  std::vector<int32_t> chosen;

 private:
  size_t at(int32_t i, int64_t t) const { return static_cast<size_t>(i * count + t); }
  std::vector<double> outputs_, truth_;
};

}  // namespace adj::nn::detail
