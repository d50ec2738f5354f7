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

namespace adj::optim {

/// Everything that a training needs to go on where it stopped, to the same bits: model, optimizers, the
/// default generator, and what else is added. Two lines make a program one that can be stopped and resumed:
///
///   TrainingState state("my_program", model, adam);
///   state.require(data).add(stopping);
///   for (int64_t epoch = state.resume_if_exists(path); epoch < 200;) {
///     const double loss = step().item();
///     state.save(path, ++epoch);
///   }
///
/// What is added must outlive it, and be the same where the training is resumed. Names that are taken throw.
class TrainingState {
 public:
  /// `program` names what trains: another's checkpoints are refused.
  TrainingState(std::string program, nn::Module& model, Optimizer& optimizer);

  TrainingState& add(const std::string& name, Optimizer& optimizer);
  TrainingState& add(const std::string& name, Plateau& plateau);
  /// One besides the default generator.
  TrainingState& add(const std::string& name, Generator& generator);
  /// Of the same model.
  TrainingState& add(EarlyStopping& stopping);
  TrainingState& add(MetricsFile& metrics);
  /// Anything else: `save` puts it into a checkpoint, `load` takes it back out or throws.
  TrainingState& add(std::function<void(Checkpoint&)> save, std::function<void(const Checkpoint&)> load);

  /// A checkpoint in which `fact` is another is refused: an option that decides the result. `otherwise` says
  /// what it is in a checkpoint without that fact; without it, such a one is refused.
  TrainingState& require(std::string fact, std::string value,
                         std::function<std::string(const Checkpoint&)> otherwise = {});
  /// A checkpoint of other data is refused: another name, other counts or contents (see fingerprint()).
  TrainingState& require(const Dataset& data);

  /// Replaces `path` in one step. `epoch`: how many are done. Throws, and leaves the file as it is, where a
  /// tensor of the model, of its best weights or of an optimizer is not finite: nothing could go on from it.
  void save(const std::string& path, int64_t epoch) const;
  /// Takes everything back; returns the epoch. Throws DataError, naming the file and the first thing in it
  /// that is of another program, data or model, or not finite; then nothing was changed.
  int64_t resume(const std::string& path);
  /// Likewise, or 0 where there is no such file.
  int64_t resume_if_exists(const std::string& path);

 private:
  struct Part {
    std::function<void(Checkpoint&)> save;
    std::function<void(const Checkpoint&)> load;
  };

  struct Required {
    std::string fact, value;
    std::function<std::string(const Checkpoint&)> otherwise;
  };

  /// `name` as the beginning of what a part is called in the checkpoint.
  std::string take(const std::string& name);
  /// Likewise, of tensors that a training can only go on from where all of them are finite.
  std::string take_finite(const std::string& name);

  std::string program_;
  nn::Module& model_;
  std::set<std::string> taken_;
  std::vector<std::string> finite_;  // prefixes of the tensors whose elements must all be finite
  std::vector<Part> parts_;
  std::vector<Required> required_;
};

}  // namespace adj::optim
