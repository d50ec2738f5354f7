#pragma once

#include <adjoint/data/hdf5_file.h>
#include <adjoint/nn/module.h>

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

  /// Tensors whose name begins with `prefix`, without it: one at least. Throws DataError, naming the first
  /// parts of the names there are, where there is none.
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

/// Writes parameters and buffers of a module of one's own, as the tensors "model.*" of a checkpoint without a
/// training: whatever it was trained with, a program that makes the same module reads them by load_model().
/// Replaces `path` in one step. Throws DataError.
void save_model(const nn::Module& model, const std::string& path);
/// Reads into `model`, on its device, what save_model() wrote, or the best weights of a TrainingState's
/// checkpoint (the last ones where it knows no best). Throws DataError naming the file and the first tensor
/// that is missing, left over, of another shape or not finite; then nothing was changed.
void load_model(nn::Module& model, const std::string& path);

/// What a file of another format has of a checkpoint: program and facts, without tensors. `file` was opened
/// at `path`; throws DataError unless it is of this format and version.
void write_head(H5Writer& file, const Checkpoint& head, const std::string& format, int64_t version);
Checkpoint read_head(const H5Reader& file, const std::string& path, const std::string& format,
                     int64_t version);

/// Overwrites the module's parameters and buffers with the checkpoint's tensors "PREFIX*". Throws as
/// load_model().
void load_weights(nn::Module& model, const Checkpoint& checkpoint, const std::string& prefix);

/// Replaces `path` in one step: a kill at any moment leaves the old file or the new one, whole. Throws
/// DataError.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& path);
/// Onto the CPU. Throws DataError naming the file and what is wrong with it; `program` must be the one that
/// wrote it.
Checkpoint load_checkpoint(const std::string& path, const std::string& program);
/// Likewise, of any program.
Checkpoint load_checkpoint(const std::string& path);

}  // namespace adj::optim
