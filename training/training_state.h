#pragma once

#include <adjoint/core/random.h>
#include <adjoint/data/dataset.h>
#include <adjoint/models/checkpoint.h>
#include <adjoint/optim/early_stopping.h>
#include <adjoint/optim/metrics_file.h>
#include <adjoint/optim/optimizer.h>
#include <adjoint/optim/schedule.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace adj::training {

using models::Checkpoint;

/// Complete state of a training, for resuming with bit-identical results: model, optimizers, the default
/// generator, and anything added. Two lines make a program resumable:
///
///   TrainingState state("my_program", model, adam);
///   state.require(data).add(stopping);
///   for (int64_t epoch = state.resume_if_exists(path); epoch < 200;) {
///     const double loss = step().item();
///     state.save(path, ++epoch);
///   }
///
/// Added objects must outlive it, and a resumed training must add the same ones. Throws for repeated names.
class TrainingState {
 public:
  /// `program`: checkpoints of other programs are refused.
  TrainingState(std::string program, nn::Module& model, optim::Optimizer& optimizer);

  TrainingState& add(const std::string& name, optim::Optimizer& optimizer);
  TrainingState& add(const std::string& name, optim::Plateau& plateau);
  /// An additional generator.
  TrainingState& add(const std::string& name, Generator& generator);
  /// For the same model.
  TrainingState& add(optim::EarlyStopping& stopping);
  TrainingState& add(optim::MetricsFile& metrics);
  /// A custom part: `save` writes it to a checkpoint, `load` reads it back or throws.
  TrainingState& add(std::function<void(Checkpoint&)> save, std::function<void(const Checkpoint&)> load);

  /// Refuses checkpoints with another value of `fact`: for options that affect the result. `otherwise` gives
  /// the value for a checkpoint without the fact; if absent, such a checkpoint is refused.
  TrainingState& require(std::string fact, std::string value,
                         std::function<std::string(const Checkpoint&)> otherwise = {});
  /// Refuses checkpoints of other data: name, counts or contents differ (see fingerprint()).
  TrainingState& require(const Dataset& data);

  /// Replaces `path` atomically. `epoch`: number of completed epochs. Throws if a tensor of the model, its
  /// best weights or an optimizer is not finite, as training could not continue from it; the file stays
  /// unchanged.
  void save(const std::string& path, int64_t epoch) const;
  /// Restores everything; returns the epoch. Throws DataError, naming the file and the first entry that is
  /// not finite or of another program, data or model; then nothing is changed.
  int64_t resume(const std::string& path);
  /// The same, or 0 if there is no such file.
  int64_t resume_if_exists(const std::string& path);

 private:
  struct Part {
    std::function<void(Checkpoint&)> save;        ///< as in add()
    std::function<void(const Checkpoint&)> load;  ///< likewise
  };

  struct Required {
    std::string fact, value;                                  ///< as in require()
    std::function<std::string(const Checkpoint&)> otherwise;  ///< likewise; may be absent
  };

  /// Registers `name` as the prefix of a part in the checkpoint.
  std::string take(const std::string& name);
  /// The same, for tensors that must all be finite.
  std::string take_finite(const std::string& name);

  std::string program_;
  nn::Module& model_;
  std::set<std::string> taken_;
  std::vector<std::string> finite_;  // prefixes of the tensors whose elements must all be finite
  std::vector<Part> parts_;
  std::vector<Required> required_;
};

}  // namespace adj::training
