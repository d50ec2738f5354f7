#pragma once

#include <adjoint/core/tensor.h>

#include <map>
#include <string>
#include <vector>

namespace adj::optim {

/// What a run needs to go on where it stopped, as an HDF5 file: named tensors (model, optimizer, best
/// weights) and named facts (program, options, epoch, generator state). Numbers are kept to the bit.
/// TrainingState fills it and reads it.
struct Checkpoint {
  std::string program;  ///< "train_gcn": another program's checkpoint is refused
  std::map<std::string, std::string> facts;
  std::map<std::string, Tensor> tensors;

  /// Tensors whose name begins with `prefix`, without it.
  std::map<std::string, Tensor> with_prefix(const std::string& prefix) const;
  /// Throw DataError naming the fact where it is missing, not a number, or not in [low, high].
  int64_t integer(const std::string& fact) const;
  int64_t integer(const std::string& fact, int64_t low, int64_t high) const;
  double number(const std::string& fact) const;
  /// Throws DataError naming the tensor where it is missing, or no table float64 [*, columns]; its elements.
  std::vector<double> table(const std::string& name, int64_t columns) const;
  void set(const std::string& fact, int64_t value);
  void set(const std::string& fact, double value);

  std::string path;  ///< where it was loaded from, for messages
};

/// Replaces `path` in one step: a kill at any moment leaves the old file or the new one, whole. Throws
/// DataError.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& path);
/// Onto the CPU. Throws DataError naming the file and what is wrong with it; `program` must be the one that
/// wrote it.
Checkpoint load_checkpoint(const std::string& path, const std::string& program);
/// Likewise, of any program.
Checkpoint load_checkpoint(const std::string& path);

}  // namespace adj::optim
