#pragma once

#include <adjoint/data/hdf5_file.h>
#include <adjoint/nn/module.h>

#include <map>
#include <string>
#include <vector>

namespace adj::models {

/// State of a run for resuming, as an HDF5 file: named tensors (model, optimizer, best weights) and named
/// facts (program, options, epoch, generator state). Numbers are kept to the bit. Filled and read by
/// TrainingState.
struct Checkpoint {
  std::string program;  ///< "train_gcn"; checkpoints of another program are refused
  std::map<std::string, std::string> facts;
  std::map<std::string, Tensor> tensors;

  /// Tensors whose name begins with `prefix`, without the prefix. Throws DataError if there are none, listing
  /// the existing first name parts.
  std::map<std::string, Tensor> with_prefix(const std::string& prefix) const;
  /// The fact of this name. Throws DataError naming it if there is none.
  const std::string& text(const std::string& fact) const;
  const Tensor& tensor(const std::string& name) const;  ///< of this name; throws likewise
  /// Throw DataError naming the fact if it is missing, not a number, or not in [low, high].
  int64_t integer(const std::string& fact) const;
  int64_t integer(const std::string& fact, int64_t low, int64_t high) const;
  double number(const std::string& fact) const;  ///< likewise; may be infinite or NaN
  /// Elements of a tensor float64 [*, columns]. Throws DataError naming the tensor if it is missing or
  /// different.
  std::vector<double> table(const std::string& name, int64_t columns) const;
  /// Sets a fact to text from which integer() or number() reads the same bits.
  void set(const std::string& fact, int64_t value);
  void set(const std::string& fact, double value);

  std::string path;  ///< source file, for messages
};

/// Writes parameters and buffers of a module as the tensors "model.*" of a checkpoint without training state.
/// Any program that constructs the same module can load_model() it. Replaces `path` atomically. Throws
/// DataError.
void save_model(const nn::Module& model, const std::string& path);
/// Reads into `model`, on its device, a file of save_model(), or the best weights of a TrainingState's
/// checkpoint (the last ones if it has no best). Throws DataError naming the file and the first tensor that
/// is missing, left over, of another shape or not finite; then nothing is changed.
void load_model(nn::Module& model, const std::string& path);

/// Writes program and facts, without tensors, to a file of another format.
void write_head(H5Writer& file, const Checkpoint& head, const std::string& format, int64_t version);
/// Reads them from `file`, opened at `path`. Throws DataError for another format or version.
Checkpoint read_head(const H5Reader& file, const std::string& path, const std::string& format,
                     int64_t version);

/// Overwrites the module's parameters and buffers with the checkpoint's tensors "PREFIX*". Throws like
/// load_model().
void load_weights(nn::Module& model, const Checkpoint& checkpoint, const std::string& prefix);

/// Replaces `path` atomically: the old or the new file survives a kill at any moment. Throws DataError.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& path);
/// Loads onto the CPU. Throws DataError naming the file and the fault; `program`, unless empty, must be the
/// one that wrote it.
Checkpoint load_checkpoint(const std::string& path, const std::string& program = {});
/// The program that wrote a checkpoint, without reading its tensors. Throws likewise.
std::string program_of(const std::string& path);

}  // namespace adj::models
