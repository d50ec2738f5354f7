#pragma once

#include <adjoint/adjoint.h>
#include <adjoint/training/metric.h>

#include <optional>

namespace adj::apps {

/// Median time of a pass, and the metric (absent: no labels).
struct InferResult {
  double ms;
  std::optional<double> value;
};

/// Result of `infer_qgnn`.
struct InferReport {
  int64_t batches = 0;
  int64_t by_bits = 0;  ///< batches summed by bits
  int64_t bytes = 0;    ///< of the packed batches
  InferResult integers{};
  std::optional<InferResult> floats = {};  ///< of the trained model
};

/// Prints it as text, or as one line of JSON.
void print(const InferReport& report, const IntegerModel& model, const Dataset& data,
           const training::Metric& metric, bool json);

}  // namespace adj::apps
