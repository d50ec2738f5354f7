#pragma once

#include <adjoint/data/feature_quantization.h>
#include <adjoint/data/feature_scaling.h>
#include <adjoint/models/checkpoint.h>

#include <string>
#include <vector>

namespace adj::optim {

/// What a trained model needs beside its options and weights, to be used on other data: how features were
/// scaled and then quantised, and what classes are called.
struct Preprocessing {
  FeatureScaling scaling;
  std::vector<std::string> class_names;  ///< of outputs, or empty
  FeatureQuantization quantization = {};

  /// The tensors features.mean, features.deviation, features.scale, features.zero, classes.names and
  /// classes.offsets, of those that there are. What kind of scaling it is stands in the fact
  /// features.scaling, in how many bits they are in features.bits; a training requires both.
  void save(Checkpoint& checkpoint) const;
  /// Throws DataError naming what is missing or wrong in it. Checkpoints of before 0.3 say
  /// option.raw-features alone.
  static Preprocessing load(const Checkpoint& checkpoint);
  static FeatureScaling::Kind scaling_kind(const Checkpoint& checkpoint);
  /// 1 to 8, or 32, as in checkpoints that do not say.
  static int feature_bits(const Checkpoint& checkpoint);
};

}  // namespace adj::optim
